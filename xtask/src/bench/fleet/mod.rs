//! `cargo xtask bench fleet`: speed, size and quality of placement over many hosts.
//!
//! Runs in the release profile, in this process: nothing is asked of a machine but its clock.

mod batch;
mod peer;
mod quality;
mod scale;
mod trace;

pub(super) use scale::own_time;
pub(super) use trace::Chance;

use crate::process::{cargo, succeeds};
use anyhow::Result;
use comfy_table::{Table, presets};
use numawise_model::{CpuSet, PageSize};
use numawise_planner::fit::{Layout, Stock};
use numawise_testkit::Shape;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use trace::Trace;

#[derive(clap::Args, Clone)]
pub struct FleetArgs {
    /// Numbers of hosts to grow over.
    #[arg(long, value_delimiter = ',', default_value = "100,1000,10000")]
    hosts: Vec<usize>,
    /// Requests placed one by one on each.
    #[arg(long, default_value_t = 100_000)]
    requests: usize,
    #[arg(long, value_enum, default_value_t = trace::Mix::Mixed)]
    mix: trace::Mix,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Quality against the peer instead, on so many traces of each mix from this seed on.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "8")]
    quality: Option<u64>,
    /// A batch known beforehand beside a solver's bound instead, on so many traces of each mix.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "4")]
    #[arg(conflicts_with = "quality")]
    batch: Option<u64>,
    /// How long the solver may take for each batch.
    #[arg(long, default_value_t = 60)]
    solver_seconds: u32,
    /// Traces to read for it instead of making them.
    #[arg(long, value_name = "FILE")]
    trace: Vec<PathBuf>,
}

pub fn run(root: &Path, args: &FleetArgs) -> Result<bool> {
    if cfg!(debug_assertions) {
        let mut release = cargo(root);
        release.args(["run", "--quiet", "--release", "--package", "xtask", "--"]);
        release.args(std::env::args_os().skip(1));
        return succeeds(&mut release);
    }
    match (args.quality, args.batch) {
        (Some(seeds), _) => quality_table(args, seeds),
        (None, Some(seeds)) => batch_table(args, seeds),
        (None, None) => scale_table(args),
    }
}

/// Those given as files, or so many of each mix.
fn traces(args: &FleetArgs, seeds: u64) -> Result<Vec<Trace>> {
    if !args.trace.is_empty() {
        return args.trace.iter().map(|file| trace::read(file)).collect();
    }
    let of = |mix| (0..seeds).map(move |seed| trace::make(mix, args.seed + seed, 5000));
    Ok(trace::MIXES.into_iter().flat_map(of).collect())
}

/// Hosts of the batches: as many as a solver can still bound.
const BATCH_HOSTS: [usize; 2] = [12, 5];
/// How long ours may take for a batch.
const BATCH_DEADLINE: Duration = Duration::from_secs(2);

/// Whether ours is within 3 % of the bound wherever the solver proves one that it reaches.
fn batch_table(args: &FleetArgs, seeds: u64) -> Result<bool> {
    let solver = match batch::Solver::start(args.solver_seconds) {
        Ok(solver) => Some(solver),
        Err(error) => {
            println!("the solver is left out, so nothing is bounded: {error:#}");
            None
        }
    };
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "trace",
        "make",
        "guests",
        "ours",
        "took",
        "CP-SAT",
        "bound",
        "",
        "gap",
        "one by one",
        "gap",
    ]);
    let (mut missed, mut closed, mut rows) = (0, 0, 0);
    let traces = traces(args, seeds)?;
    for ((name, make), hosts) in makes().into_iter().zip(BATCH_HOSTS) {
        for trace in &traces {
            let outcome = batch::compare(trace, &make, hosts, BATCH_DEADLINE, solver.as_ref())?;
            let dash = || "-".to_owned();
            let solved = outcome.solver.as_ref();
            let gap = |placed: usize| solved.map(|s| 1.0 - placed as f64 / s.bound.max(1) as f64);
            let percent = |gap: f64| format!("{:.1} %", gap * 100.0);
            rows += 1;
            closed += usize::from(solved.is_some_and(|solved| solved.closed));
            missed += usize::from(
                solved.is_some_and(|s| s.closed) && gap(outcome.ours).is_some_and(|gap| gap > 0.03),
            );
            table.add_row([
                outcome.trace.clone(),
                format!("{hosts} of {name}"),
                outcome.guests.to_string(),
                outcome.ours.to_string(),
                format!("{:.0} ms", outcome.took.as_secs_f64() * 1e3),
                solved.map_or_else(dash, |solved| solved.best.to_string()),
                solved.map_or_else(dash, |solved| solved.bound.to_string()),
                solved.map_or_else(dash, |s| if s.closed { "closed" } else { "open" }.to_owned()),
                gap(outcome.ours).map_or_else(dash, percent),
                outcome.one_by_one.to_string(),
                gap(outcome.one_by_one).map_or_else(dash, percent),
            ]);
        }
    }
    println!("{table}");
    if solver.is_some() {
        let (solver, seconds) = (batch::Solver::name(), args.solver_seconds);
        println!(
            "{solver}, {seconds} s a batch: closed on {closed} of {rows}; more than 3 % below it on {missed}"
        );
    }
    Ok(missed == 0)
}

/// Whether ours is nowhere worse than the better of the peer's two, and better in the sum.
fn quality_table(args: &FleetArgs, seeds: u64) -> Result<bool> {
    let traces = traces(args, seeds)?;
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "trace",
        "make",
        "hosts",
        "ours",
        "pack",
        "spread",
        "stranded: ours",
        "pack",
        "spread",
        "",
    ]);
    let (mut worse, mut sums) = (0, [0i64; 4]);
    for (name, make) in makes() {
        for trace in &traces {
            let compared = quality::compare(trace, &make, hosts_for(trace, &make));
            let quality::Compared { ours, pack, spread, .. } = &compared;
            let most = pack.placed.max(spread.placed);
            let least = pack.stranded.min(spread.stranded);
            let is_worse = ours.placed < most || (ours.placed == most && ours.stranded > least);
            worse += usize::from(is_worse);
            let gained = [ours.placed as i64, most as i64, ours.stranded.into(), least.into()];
            sums.iter_mut().zip(gained).for_each(|(sum, more)| *sum += more);
            let placed = |outcome: &quality::Outcome| {
                format!("{}{}", outcome.placed, if outcome.to_the_end { " (all)" } else { "" })
            };
            table.add_row([
                compared.trace.clone(),
                name.to_owned(),
                compared.hosts.to_string(),
                placed(ours),
                placed(pack),
                placed(spread),
                ours.stranded.to_string(),
                pack.stranded.to_string(),
                spread.stranded.to_string(),
                if is_worse { "worse" } else { "" }.to_owned(),
            ]);
        }
    }
    println!("{table}");
    println!(
        "placed before the first refusal: {} against {}; stranded CPUs: {} against {}; worse on {worse}",
        sums[0], sums[1], sums[2], sums[3]
    );
    Ok(worse == 0 && sums[0] > sums[1])
}

/// Two nodes of 24 cores, and eight nodes of two L3 domains each.
fn makes() -> [(&'static str, Make); 2] {
    let two = Shape {
        packages: 2,
        nodes_per_package: 1,
        l3_per_node: 1,
        cores_per_l3: 24,
        threads: 2,
        numbering: numawise_testkit::Numbering::SiblingsApart,
        node_bytes: 512 << 30,
        hugepages: half_huge(512),
    };
    [("2 x 48", Make::of(two)), ("8 x 32", scale::make())]
}

/// Hosts for seven tenths of the most vCPUs that there are at one time: every trace ends in a refusal.
fn hosts_for(trace: &Trace, make: &Make) -> usize {
    let mut sizes = BTreeMap::new();
    let (mut now, mut most) = (0u64, 0u64);
    for event in &trace.events {
        match event {
            trace::Event::Arrive { id, size } => {
                now += u64::from(size.vcpus);
                sizes.insert(*id, size.vcpus);
            }
            trace::Event::Depart { id } => now -= u64::from(sizes.remove(id).unwrap_or(0)),
        }
        most = most.max(now);
    }
    let threads: u64 = make.whole.areas().iter().map(|places| u64::from(places.threads)).sum();
    (most * 7 / 10 / threads).max(2) as usize
}

fn scale_table(args: &FleetArgs) -> Result<bool> {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "hosts",
        "placed",
        "refused",
        "not proven best",
        "a second",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "departure",
        "bytes a host",
        "empty",
    ]);
    for hosts in &args.hosts {
        let scale = scale::measure(*hosts, args.requests, args.mix, args.seed)?;
        let at = |share| format!("{:.0} us", scale.at(share).as_secs_f64() * 1e6);
        table.add_row([
            hosts.to_string(),
            scale.placed.to_string(),
            scale.refused.to_string(),
            scale.uncertain.to_string(),
            format!("{:.0}", scale.per_second()),
            at(0.5),
            at(0.9),
            at(0.99),
            at(0.999),
            format!("{:.1} us", (scale.departure / scale.departures.max(1)).as_secs_f64() * 1e6),
            (scale.full_bytes / *hosts as u64).to_string(),
            (scale.empty_bytes / *hosts as u64).to_string(),
        ]);
    }
    println!("{table}");
    Ok(true)
}

/// Hosts of one shape.
pub struct Make {
    pub layout: Rc<Layout>,
    pub whole: Rc<Stock>,
}

impl Make {
    pub fn of(shape: Shape) -> Self {
        let host = shape.host();
        let layout = Layout::of(&host.topology);
        let free: CpuSet = host.topology.online.clone();
        let mut stock = Stock::new(&layout, &free);
        let huge = shape.hugepages.get(&PageSize::HUGE_2M).copied().unwrap_or(0);
        let rest = shape.node_bytes - huge * PageSize::HUGE_2M.bytes();
        stock.set_pages(PageSize::BASE_4K, vec![Some(rest / 4096); layout.pools()]);
        stock.set_pages(PageSize::HUGE_2M, vec![Some(huge); layout.pools()]);
        Self { layout: Rc::new(layout), whole: Rc::new(stock) }
    }
}

/// Half of a node of so many GiB as 2M pages.
pub fn half_huge(gib: u64) -> BTreeMap<PageSize, u64> {
    BTreeMap::from([(PageSize::HUGE_2M, gib * 512 / 2)])
}
