//! A batch that is known beforehand: how many of its guests are placed, beside the most that a solver
//! finds and the bound that it proves (OR-tools' CP-SAT).
//!
//! The batch is the first guests of a trace whose vCPUs are so many more than the hosts have; none
//! leaves. Sizes that not even an empty host can hold are left out. Ours is [`place_most`], which is
//! `fleet plan --most`; beside it the same guests one by one in their order, as `--in-order` does.

use super::Make;
use super::trace::{Event, Size, Trace};
use crate::bench::python;
use anyhow::{Context, Result, bail};
use numawise_model::{HostId, PageSize};
use numawise_planner::fit::fit;
use numawise_planner::fleet::groups::{Allowed, Groups};
use numawise_planner::fleet::{Bound, Fleet, Held, Item, choose, place_most};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SOLVER: &str = "ortools==9.15.6755";
const SCRIPT: &str = include_str!("bound.py");

/// The vCPUs of the batch to those of the hosts, in percent.
const WANTED_PERCENT: u32 = 130;

pub struct Solver {
    python: PathBuf,
    seconds: u32,
}

pub struct Outcome {
    pub trace: String,
    pub guests: usize,
    pub ours: usize,
    pub took: Duration,
    pub one_by_one: usize,
    pub solver: Option<Solved>,
}

pub struct Solved {
    pub best: usize,
    pub bound: usize,
    pub closed: bool,
}

impl Solver {
    pub fn start(seconds: u32) -> Result<Self> {
        Ok(Self { python: python::with(SOLVER)?, seconds })
    }

    pub fn name() -> &'static str {
        SOLVER
    }

    fn solve(&self, make: &Make, hosts: usize, batch: &[Size]) -> Result<Solved> {
        let mut child = Command::new(&self.python)
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", self.python.display()))?;
        let mut input = child.stdin.take().context("the solver has no input")?;
        write!(input, "{}", question(make, hosts, batch, self.seconds))?;
        drop(input);
        let output = child.wait_with_output()?;
        if !output.status.success() {
            bail!("the solver ended with {}", output.status);
        }
        let answer: Value =
            serde_json::from_slice(&output.stdout).context("the solver's answer")?;
        let number = |key: &str| answer[key].as_u64().with_context(|| format!("no '{key}'"));
        Ok(Solved {
            best: number("best")? as usize,
            bound: number("bound")? as usize,
            closed: answer["closed"] == json!(true),
        })
    }
}

fn question(make: &Make, hosts: usize, batch: &[Size], seconds: u32) -> Value {
    let (layout, whole) = (&make.layout, &make.whole);
    let node = |area: usize| {
        let mib = [PageSize::BASE_4K, PageSize::HUGE_2M].map(|size| {
            let pages = whole.pages(size, layout.areas[area].pool).unwrap_or(0);
            (pages * size.bytes()) >> 20
        });
        json!({"threads": whole.area(area).threads, "smt": layout.smt_width(), "mib": mib})
    };
    let guest = |size: &Size| {
        json!({
            "vcpus": size.vcpus,
            "memory_mib": size.memory_mib,
            "huge": size.huge,
            "isolate": size.smt == 2,
            "cells": size.cells,
        })
    };
    json!({
        "hosts": hosts,
        "nodes": (0..layout.areas.len()).map(node).collect::<Vec<_>>(),
        "guests": batch.iter().map(guest).collect::<Vec<_>>(),
        "seconds": seconds,
    })
}

/// `deadline` is how long ours may take.
pub fn compare(
    trace: &Trace,
    make: &Make,
    hosts: usize,
    deadline: Duration,
    solver: Option<&Solver>,
) -> Result<Outcome> {
    let batch = batch_of(trace, make, hosts);
    let items: Vec<Item> =
        batch.iter().map(|size| Item { wanted: size.wanted(), groups: Vec::new() }).collect();
    let empty = fleet(make, hosts);
    let start = Instant::now();
    let mut late = || start.elapsed() > deadline;
    let mut bound = Bound::new(u32::MAX, &mut late);
    let mut most = empty.clone();
    let placed =
        place_most(&mut most, &mut Groups::default(), &items, &Allowed::default(), &mut bound);
    let took = start.elapsed();
    Ok(Outcome {
        trace: trace.name.clone(),
        guests: batch.len(),
        ours: placed.placed.iter().flatten().count(),
        took,
        one_by_one: one_by_one(empty, &items),
        solver: solver.map(|solver| solver.solve(make, hosts, &batch)).transpose()?,
    })
}

fn batch_of(trace: &Trace, make: &Make, hosts: usize) -> Vec<Size> {
    let threads: u32 = make.whole.areas().iter().map(|places| places.threads).sum();
    let enough = threads * hosts as u32 / 100 * WANTED_PERCENT;
    let mut wanted = 0;
    let arrivals = trace.events.iter().filter_map(|event| match event {
        Event::Arrive { size, .. } => Some(*size),
        Event::Depart { .. } => None,
    });
    arrivals
        .filter(|size| fit(&make.layout, &make.whole, &size.wanted()).is_ok())
        .take_while(|size| {
            wanted += size.vcpus;
            wanted <= enough
        })
        .collect()
}

fn fleet(make: &Make, hosts: usize) -> Fleet {
    let mut fleet = Fleet::new();
    for host in 0..hosts {
        fleet.add_host(HostId(format!("host-{host}")), None, &make.layout, &make.whole);
    }
    fleet
}

/// Those that find a place when they come; others go away.
fn one_by_one(mut fleet: Fleet, items: &[Item]) -> usize {
    let place = |item: &&Item| {
        let mut never = || false;
        let mut bound = Bound::new(super::scale::FITS, &mut never);
        let Ok(choice) = choose(&fleet, &item.wanted, &Allowed::default(), &mut bound) else {
            return false;
        };
        let held = Held::of(&choice.fit, fleet.layout(choice.host), &item.wanted);
        fleet.take(choice.host, &held);
        true
    };
    items.iter().filter(place).count()
}
