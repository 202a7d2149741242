//! `cargo xtask bench place`: one placement on one host, beside Nova's `numa_fit_instance_to_host`.
//!
//! Both answer the same questions in the same run, in turn, round after round; what is judged is the
//! ratio of the medians. Hosts are prepared beforehand on both sides. Times are CPU time of the
//! thread. Every answer is held against what trying everything says.

mod caches;
mod peer;
mod planned;
mod rows;
mod truth;

use super::fleet::own_time;
use crate::process::{cargo, succeeds};
use anyhow::Result;
use comfy_table::{Table, presets};
use numawise_planner::fit::{Stock, fit};
use peer::Peer;
use rows::Row;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;
use truth::Truth;

#[derive(clap::Args, Clone)]
pub struct PlaceArgs {
    /// Few rounds, for a first look; too few for a claim.
    #[arg(long)]
    quick: bool,
    /// Ours alone: no Python, no ratios.
    #[arg(long)]
    alone: bool,
    /// Only the rows with this in their name, and not the many hosts.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Only beside the allocators that know L3 caches.
    #[arg(long, conflicts_with_all = ["alone", "only"])]
    caches: bool,
}

/// Calls that are timed together: one is shorter than reading the clock.
const BATCH: u32 = 32;
/// A round of one row, on either side.
const ROUND: Duration = Duration::from_millis(200);
const HOSTS: usize = 1000;

pub fn run(root: &Path, args: &PlaceArgs) -> Result<bool> {
    if cfg!(debug_assertions) {
        let mut release = cargo(root);
        release.args(["run", "--quiet", "--release", "--package", "xtask", "--"]);
        release.args(std::env::args_os().skip(1));
        return succeeds(&mut release);
    }
    if args.caches {
        return Ok(caches::compare(args.quick));
    }
    let mut peer = match args.alone {
        true => None,
        false => match Peer::start() {
            Ok(peer) => Some(peer),
            Err(error) => {
                println!("the peer is left out, so nothing is compared: {error:#}");
                None
            }
        },
    };
    let mut met = one_host(args, peer.as_mut())?;
    if args.only.is_none() {
        met &= many_hosts(args, peer.as_mut())?;
    }
    if let Some(peer) = peer {
        println!("{}, medians of interleaved rounds, CPU time of the thread", peer.version);
        peer.end()?;
    }
    if args.only.is_none() {
        met &= caches::compare(args.quick);
    }
    Ok(met)
}

/// What one row came to.
struct Measured {
    row: Row,
    stock: Stock,
    truth: Truth,
    ours: Vec<f64>,
    peer: Vec<f64>,
    plan: Vec<f64>,
    ours_right: bool,
    peer_right: Option<bool>,
}

fn one_host(args: &PlaceArgs, mut peer: Option<&mut Peer>) -> Result<bool> {
    let chosen = |row: &Row| args.only.as_ref().is_none_or(|text| row.name.contains(text));
    let start = |row: Row| Measured {
        stock: row.host.stock(),
        truth: Truth::of(&row),
        row,
        ours: Vec::new(),
        peer: Vec::new(),
        plan: Vec::new(),
        ours_right: true,
        peer_right: None,
    };
    let mut all: Vec<Measured> = rows::all().into_iter().filter(chosen).map(start).collect();
    for _ in 0..if args.quick { 1 } else { 5 } {
        for measured in &mut all {
            measured.round(peer.as_deref_mut())?;
        }
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["guest on host", "peer", "ours", "ratio", "goal", "", "plan()", "answers"]);
    table.add_rows(all.iter().map(Measured::shown));
    println!("{table}");
    let wrong = all.iter().filter(|measured| !measured.ours_right).count();
    let peer_wrong = all.iter().filter(|measured| measured.peer_right == Some(false)).count();
    println!("wrong answers: ours {wrong}, the peer's {peer_wrong}, of {}", all.len());
    let mut met = wrong == 0;
    if peer.is_some() {
        let missed: Vec<&Measured> = all.iter().filter(|m| m.ratio() < m.goal()).collect();
        println!("goals met: {} of {}", all.len() - missed.len(), all.len());
        missed.iter().for_each(|measured| println!("  missed: {}", measured.row.name));
        met &= missed.is_empty();
    }
    Ok(met)
}

impl Measured {
    fn round(&mut self, peer: Option<&mut Peer>) -> Result<()> {
        let (row, stock) = (&self.row, &self.stock);
        if let Some(peer) = peer {
            let guest = rows::guest_json(&row.cells);
            let answer = peer.fit(&row.host.as_json(), &guest, ROUND.as_secs_f64())?;
            self.peer.extend(&answer.usec);
            let right = truth::peer_is_right(row, self.truth, answer.cells.as_deref());
            self.peer_right = Some(right && self.peer_right != Some(false));
        }
        let (wanted, layout) = (rows::wanted(&row.cells), &row.host.make.layout);
        let call = || fit(black_box(layout), black_box(stock), black_box(&wanted));
        self.ours_right &= truth::ours_is_right(row, self.truth, &call());
        self.ours.extend(batches(BATCH, || drop(black_box(call()))));
        if let Some(planned) = planned::Planned::of(row) {
            self.plan.extend(batches(1, || drop(black_box(planned.plan()))));
        }
        Ok(())
    }

    fn ratio(&self) -> f64 {
        median(&self.peer) / median(&self.ours)
    }

    /// How many times faster ours should be: refusals that make the peer walk through every
    /// permutation of eight, those that do not, and placements (also those that it should refuse).
    fn goal(&self) -> f64 {
        let peer_places = self.truth.alone || self.peer_right == Some(false);
        match (peer_places, self.row.cells.len()) {
            (true, _) => 100.0,
            (false, 8) => 10_000.0,
            (false, _) => 50.0,
        }
    }

    fn shown(&self) -> [String; 8] {
        let ours = match (self.truth.sharing, self.truth.alone) {
            (_, true) => "fits",
            (true, false) => "fits, sharing",
            (false, false) => "no",
        };
        let wrong = |is: bool| if is { " WRONG" } else { "" };
        let peer = match self.peer_right {
            Some(false) => "; peer WRONG",
            _ => "",
        };
        let compared = !self.peer.is_empty();
        let or_dash = |text: String| if compared { text } else { "-".to_owned() };
        let verdict = if self.ratio() >= self.goal() { "met" } else { "missed" };
        [
            self.row.name.clone(),
            or_dash(usec(median(&self.peer))),
            usec(median(&self.ours)),
            or_dash(format!("{:.0} x", self.ratio())),
            format!("{:.0} x", self.goal()),
            or_dash(verdict.to_owned()),
            if self.plan.is_empty() { "-".to_owned() } else { usec(median(&self.plan)) },
            format!("{ours}{}{peer}", wrong(!self.ours_right)),
        ]
    }
}

/// For about a round: microseconds of one call, each the mean of a batch.
fn batches(batch: u32, mut call: impl FnMut()) -> Vec<f64> {
    let (mut times, begin) = (Vec::new(), own_time());
    while times.len() < 3 || own_time().saturating_sub(begin) < ROUND {
        let start = own_time();
        (0..batch).for_each(|_| call());
        let took = own_time().saturating_sub(start);
        times.push(took.as_secs_f64() * 1e6 / f64::from(batch));
    }
    times
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn usec(time: f64) -> String {
    if time < 100.0 { format!("{time:.2} us") } else { format!("{time:.0} us") }
}

/// A thousand hosts in three states, each asked by itself: nothing is shared between them.
fn many_hosts(args: &PlaceArgs, mut peer: Option<&mut Peer>) -> Result<bool> {
    let hosts = rows::mixed(HOSTS);
    let stocks: Vec<Stock> = hosts.iter().map(rows::Host::stock).collect();
    let as_json: Vec<_> = hosts.iter().map(rows::Host::as_json).collect();
    let mut met = true;
    for (vcpus, count, goal) in [(8, 1, None), (64, 2, None), (64, 8, Some(2000.0))] {
        let cells = rows::alike(vcpus, u64::from(vcpus) * 1024, count);
        let wanted = rows::wanted(&cells);
        let (mut ours, mut theirs, mut fitting) = (Vec::new(), Vec::new(), (0, None));
        for _ in 0..if args.quick { 1 } else { 3 } {
            if let Some(peer) = peer.as_deref_mut() {
                let (fits, took) = peer.fit_many(&as_json, &rows::guest_json(&cells))?;
                theirs.push(took);
                fitting.1 = Some(fits);
            }
            for _ in 0..5 {
                let start = own_time();
                let fits = hosts.iter().zip(&stocks).filter(|(host, stock)| {
                    fit(black_box(&host.make.layout), black_box(stock), black_box(&wanted)).is_ok()
                });
                fitting.0 = fits.count() as u64;
                ours.push(own_time().saturating_sub(start).as_secs_f64() * 1e6);
            }
        }
        let ratio = median(&theirs) / median(&ours);
        let verdict = match goal {
            Some(goal) if ratio >= goal => format!(" (goal {goal:.0} x: met)"),
            Some(goal) if ratio < goal => format!(" (goal {goal:.0} x: missed)"),
            _ => String::new(),
        };
        met &= goal.is_none_or(|goal| peer.is_none() || ratio >= goal)
            && fitting.1.is_none_or(|n| n == fitting.0);
        println!(
            "{HOSTS} hosts of 8 x 32, {vcpus} on {count}: ours {:.2} ms ({} fit), peer {:.1} ms ({}), {ratio:.0} x{verdict}",
            median(&ours) / 1e3,
            fitting.0,
            median(&theirs) / 1e3,
            fitting.1.map_or_else(|| "-".to_owned(), |n| format!("{n} fit")),
        );
    }
    Ok(met)
}
