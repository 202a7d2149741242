//! `cargo xtask bench oltp`: `numawise oltp` beside sysbench 1.0, on one server and the same tables.
//!
//! Both tools run in turn, pair after pair, each pair in an order that is drawn. What is judged is the ratio
//! within pairs: its median, and the 95 % interval of its logarithm's mean. Client and server share this
//! machine's CPUs, so throughput says more about the server than about the client; the client's own CPU time
//! is what decides how much load one machine can make. It is taken from the kernel for the whole process,
//! less what the same process uses to connect and to do one event.

mod cells;
mod sample;

use super::{build_release, timing::Coin};
use crate::machine::find_program;
use anyhow::{Context, Result, bail};
use cells::{Cell, Goal, Kind};
use comfy_table::{Table, presets};
use numawise_experiment::stats::{Bootstrap, median, t_interval};
use numawise_testkit::servers::PrivateMariaDb;
use sample::{Sample, Server, Tool};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(clap::Args, Clone)]
pub struct OltpArgs {
    /// Few pairs, for a first look; too few for a claim.
    #[arg(long)]
    quick: bool,
    /// Only the cells with this in their name.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Pairs of each cell [default: 15; of filling tables 5].
    #[arg(long, value_name = "N")]
    pairs: Option<usize>,
    /// Seconds of each run.
    #[arg(long, value_name = "N", default_value_t = 4)]
    seconds: u64,
    /// Also write every single run to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draws the order within each pair.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measure this program, and build none.
    #[arg(long, value_name = "FILE")]
    numawise: Option<PathBuf>,
    /// Passed on to `numawise oltp run`, as in --ours=--workers=2.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    ours: Vec<String>,
}

/// Both samples of one pair.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ours: Sample,
    theirs: Sample,
}

/// A ratio over all pairs: ours by theirs.
struct Ratio {
    median: f64,
    low: f64,
    high: f64,
}

impl Ratio {
    /// The wider of two intervals, since a bootstrap of few pairs is too narrow.
    fn of(pairs: &[Pair], value: fn(&Sample) -> f64, seed: u64) -> Option<Self> {
        let logs: Vec<f64> =
            pairs.iter().map(|pair| (value(&pair.ours) / value(&pair.theirs)).ln()).collect();
        if logs.iter().any(|log| !log.is_finite()) {
            return None;
        }
        let t = t_interval(&logs, 0.95);
        let bca = Bootstrap::of(&logs, seed).map(|mut drawn| drawn.interval(0.95));
        let bounds = match (t, bca) {
            (Some(t), Some(bca)) => t.hull(bca),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return None,
        };
        Some(Self { median: median(&logs).exp(), low: bounds.low.exp(), high: bounds.high.exp() })
    }

    fn is_met(&self, goal: Goal) -> bool {
        match goal {
            Goal::AtMost(limit) => self.median <= limit,
            Goal::LowAtLeast(limit) => self.low >= limit,
            Goal::MedianAtLeast(limit) => self.median >= limit && self.low > 1.0,
        }
    }
}

pub fn run(root: &Path, args: &OltpArgs) -> Result<bool> {
    if find_program("sysbench").is_none() {
        bail!("sysbench is not installed: there is nothing to compare with");
    }
    let numawise = match &args.numawise {
        Some(program) => program.clone(),
        None => build_release(root)?,
    };
    let options = [
        "--max-connections=2000",
        "--max-prepared-stmt-count=1000000",
        "--innodb-buffer-pool-size=2G",
        "--innodb-log-file-size=1G",
        "--local-infile=1",
        "--back-log=2000",
    ];
    let Some(server) = PrivateMariaDb::start(&options) else {
        bail!("there is no MariaDB to put load on");
    };
    let server = Server::new(&server, numawise, args.ours.clone());
    server.fill()?;
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["cell", "figure", "ours", "sysbench", "ratio", "95 %", "goal", "verdict"]);
    let (mut met, mut runs) = (true, Vec::new());
    for cell in cells::all().into_iter().filter(|cell| args.takes(cell)) {
        let pairs = measure(&server, &cell, args).with_context(|| cell.name())?;
        for figure in cell.figures() {
            let ratio = Ratio::of(&pairs, figure.value, args.seed);
            let verdict = match &ratio {
                Some(ratio) if ratio.is_met(figure.goal) => "met",
                Some(_) => "missed",
                None => "not measured",
            };
            met &= verdict == "met";
            let mid = |tool: fn(&Pair) -> Sample| {
                let values: Vec<f64> = pairs.iter().map(|p| (figure.value)(&tool(p))).collect();
                format!("{:.2}", median(&values))
            };
            let row = [
                cell.name(),
                figure.name.to_owned(),
                mid(|pair| pair.ours),
                mid(|pair| pair.theirs),
                ratio.as_ref().map_or_else(String::new, |r| format!("{:.2}", r.median)),
                ratio.as_ref().map_or_else(String::new, |r| format!("{:.2}-{:.2}", r.low, r.high)),
                figure.goal.to_string(),
                verdict.to_owned(),
            ];
            eprintln!("{}", row.join("  "));
            table.add_row(row);
        }
        runs.push(as_json(&cell, &pairs));
    }
    println!("{table}");
    println!(
        "interleaved pairs, order drawn from seed {}; ratios are ours by sysbench's",
        args.seed
    );
    if let Some(file) = &args.json {
        let document = json!({"schema": "numawise-bench-oltp", "version": 1, "cells": runs});
        std::fs::write(file, format!("{document:#}\n"))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(met)
}

impl OltpArgs {
    fn takes(&self, cell: &Cell) -> bool {
        self.only.as_ref().is_none_or(|only| cell.name().contains(only.as_str()))
    }

    fn pairs(&self, cell: &Cell) -> usize {
        let usual = match cell.kind {
            Kind::Run { .. } => 15,
            Kind::Fill { .. } => 5,
            Kind::Memory => 3,
        };
        self.pairs.unwrap_or(if self.quick { 3 } else { usual })
    }
}

fn measure(server: &Server, cell: &Cell, args: &OltpArgs) -> Result<Vec<Pair>> {
    let idle = server.idle(cell)?;
    let mut coin = Coin(args.seed);
    (0..args.pairs(cell))
        .map(|_| {
            let one = |tool| server.sample(cell, tool, args.seconds, &idle);
            if coin.toss() {
                let ours = one(Tool::Ours)?;
                Ok(Pair { ours, theirs: one(Tool::Sysbench)? })
            } else {
                let theirs = one(Tool::Sysbench)?;
                Ok(Pair { ours: one(Tool::Ours)?, theirs })
            }
        })
        .collect()
}

fn as_json(cell: &Cell, pairs: &[Pair]) -> Value {
    let sample = |sample: &Sample| {
        json!({"per_second": sample.per_second, "cpu_usec_each": sample.cpu_usec_each,
               "seconds": sample.seconds, "resident_mib": sample.resident_mib})
    };
    let pair = |pair: &Pair| json!({"ours": sample(&pair.ours), "sysbench": sample(&pair.theirs)});
    json!({"cell": cell.name(), "pairs": pairs.iter().map(pair).collect::<Vec<_>>()})
}
