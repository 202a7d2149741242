//! Beside the allocators that know L3 caches: the kubelet's and the NRI plugins', which place
//! containers. The same hosts, the same guests coming and going, only CPUs (they give no memory).
//!
//! A guest that comes finds room wherever that many CPUs are free, for all three; so all three hold
//! the same guests at any time, and what differs is only which CPUs. Counted are guests that lie in more
//! L3 domains than their size needs on an empty host, those in more nodes than it needs, and, before
//! each arrival that has room, the CPUs that are *stranded* for it: free, in domains that have too
//! few for it. Each placement is timed alone, ours
//! with taking the CPUs from its stock, theirs with counting what is free; who goes first changes with each
//! guest.
//!
//! Containers have no vNUMA, so ours is asked for parts of any size, not for even ones.

mod hosts;
mod kubelet;
mod machine;
mod nri;

use super::{median, usec};
use comfy_table::{Table, presets};
use hosts::Event;
use machine::{Free, Level, Machine};
use numawise_model::{CpuSet, Id, L3Policy, PageSize, Pcpu, SmtPolicy};
use numawise_planner::fit::{Cells, Layout, Parting, Stock, Wanted, fit};
use numawise_testkit::Shape;
use std::collections::BTreeMap;
use std::time::Instant;

const SEEDS: u64 = 8;
const ARRIVALS: usize = 4000;

/// Who places.
const NAMES: [&str; 3] = ["ours", "kubelet", "NRI"];

/// What one of them came to on one host.
#[derive(Default)]
struct Outcome {
    placed: usize,
    straddling: usize,
    across_nodes: usize,
    /// Summed over arrivals.
    stranded: usize,
    usec: Vec<f64>,
}

/// Whether ours is ahead of both on every host: where neither leaves a guest straddling or a CPU stranded
/// that need not be, there is nothing to be ahead of.
pub fn compare(is_quick: bool) -> bool {
    let (seeds, arrivals) = if is_quick { (2, 1000) } else { (SEEDS, ARRIVALS) };
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "host",
        "guests",
        "L3: ours",
        "kubelet",
        "NRI",
        "nodes: ours",
        "kubelet",
        "NRI",
        "stranded: ours",
        "kubelet",
        "NRI",
        "time: ours",
        "kubelet",
        "NRI",
        "",
    ]);
    let mut all_met = true;
    for (name, shape) in hosts::all() {
        let outcomes = on_host(&shape, seeds, arrivals);
        let (row, met) = shown(name, &outcomes, seeds as usize * arrivals);
        table.add_row(row);
        all_met &= met;
    }
    println!("{table}");
    println!(
        "{seeds} streams of {arrivals} guests on each host, the same for all; L3, nodes: \
         guests in more than their size needs; stranded: CPUs, the mean over all arrivals; time: the median of one placement, theirs restated in Rust"
    );
    all_met
}

fn shown(name: &str, outcomes: &[Outcome; 3], arrivals: usize) -> (Vec<String>, bool) {
    let [ours, others @ ..] = outcomes;
    let fewer = |of: fn(&Outcome) -> usize| {
        others.iter().all(|other| of(ours) < of(other) || of(other) == 0)
    };
    let mut missed = Vec::new();
    if !fewer(|outcome| outcome.straddling) {
        missed.push("straddling");
    }
    if !fewer(|outcome| outcome.stranded) {
        missed.push("stranded");
    }
    if others.iter().any(|other| median(&ours.usec) > median(&other.usec)) {
        missed.push("time");
    }
    let mut row = vec![name.to_owned(), ours.placed.to_string()];
    row.extend(outcomes.iter().map(|outcome| outcome.straddling.to_string()));
    row.extend(outcomes.iter().map(|outcome| outcome.across_nodes.to_string()));
    let mean = |outcome: &Outcome| format!("{:.2}", outcome.stranded as f64 / arrivals as f64);
    row.extend(outcomes.iter().map(mean));
    row.extend(outcomes.iter().map(|outcome| usec(median(&outcome.usec))));
    row.push(match missed.is_empty() {
        true => "met".to_owned(),
        false => format!("missed: {}", missed.join(", ")),
    });
    (row, missed.is_empty())
}

/// One host in three states of mind.
struct Trial<'a> {
    machine: &'a Machine,
    layout: &'a Layout,
    stock: Stock,
    free: [Free; 3],
    guests: [BTreeMap<usize, Vec<usize>>; 3],
}

fn on_host(shape: &Shape, seeds: u64, arrivals: usize) -> [Outcome; 3] {
    let topology = shape.host().topology;
    let (machine, layout) = (Machine::of(&topology), Layout::of(&topology));
    let mut outcomes = [(); 3].map(|()| Outcome::default());
    for seed in 0..seeds {
        let mut stock = Stock::new(&layout, &topology.online);
        stock.set_pages(PageSize::BASE_4K, vec![Some(u64::MAX / 4); layout.pools()]);
        let mut trial = Trial {
            machine: &machine,
            layout: &layout,
            stock,
            free: [(); 3].map(|()| Free::all(&machine)),
            guests: Default::default(),
        };
        for event in hosts::stream(machine.cpus, arrivals, seed) {
            match event {
                Event::Arrive { id, vcpus } => trial.arrive(id, vcpus, &mut outcomes),
                Event::Depart { id } => trial.depart(id),
            }
        }
    }
    outcomes
}

impl Trial<'_> {
    fn arrive(&mut self, id: usize, vcpus: usize, outcomes: &mut [Outcome; 3]) {
        let machine = self.machine;
        for turn in 0..NAMES.len() {
            let who = (turn + id) % NAMES.len();
            let outcome = &mut outcomes[who];
            if self.free[who].total() >= vcpus {
                outcome.stranded += self.free[who].stranded_for(machine, vcpus);
            }
            let start = Instant::now();
            let cpus = match who {
                0 => ours(self.layout, &mut self.stock, vcpus),
                1 => kubelet::place(machine, &self.free[who], vcpus),
                _ => nri::place(machine, &self.free[who], vcpus),
            };
            let took = start.elapsed();
            let Some(cpus) = cpus else { continue };
            outcome.usec.push(took.as_secs_f64() * 1e6);
            self.free[who].take(machine, &cpus);
            outcome.placed += 1;
            outcome.straddling += usize::from(machine.straddles(Level::Cache, &cpus));
            outcome.across_nodes += usize::from(machine.straddles(Level::Node, &cpus));
            self.guests[who].insert(id, cpus);
        }
    }

    fn depart(&mut self, id: usize) {
        for who in 0..NAMES.len() {
            let Some(cpus) = self.guests[who].remove(&id) else { continue };
            self.free[who].give_back(self.machine, &cpus);
            if who == 0 {
                self.stock.give_back(self.layout, &set(&cpus));
            }
        }
    }
}

fn set(cpus: &[usize]) -> CpuSet {
    cpus.iter().map(|cpu| Pcpu::new(*cpu as u32)).collect()
}

fn ours(layout: &Layout, stock: &mut Stock, vcpus: usize) -> Option<Vec<usize>> {
    let wanted = Wanted {
        vcpus: vcpus as u32,
        pages: vcpus as u64,
        page_size: PageSize::BASE_4K,
        smt: SmtPolicy::Prefer,
        l3: L3Policy::Compact,
        cells: Cells::Free(Parting::Uneven),
        emulator_cpus: 0,
        devices: Vec::new(),
    };
    let found = fit(layout, stock, &wanted).ok()?;
    let cpus: Vec<usize> =
        found.parts.iter().flat_map(|part| &part.pcpus).map(|cpu| cpu.get() as usize).collect();
    stock.take(layout, &set(&cpus));
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All three hold the same guests, on CPUs of their own, and give back what they took.
    #[test]
    fn all_place_the_same_guests() {
        for (name, shape) in hosts::all() {
            let outcomes = on_host(&shape, 1, 300);
            assert!(outcomes[0].placed > 200, "{name}");
            assert!(outcomes.iter().all(|o| o.placed == outcomes[0].placed), "{name}");
        }
    }

    #[test]
    fn stranded_is_what_a_guest_of_the_size_cannot_use() {
        let machine = Machine::of(&hosts::shape(1, 1, (3, 4), 1).host().topology);
        let mut free = Free::all(&machine);
        free.take(&machine, &[0, 4, 8, 9]);
        // 3, 3 and 2 are free.
        assert_eq!(free.stranded_for(&machine, 2), 0);
        assert_eq!(free.stranded_for(&machine, 3), 2);
        assert_eq!(free.stranded_for(&machine, 4), 8);
        assert_eq!(free.stranded_for(&machine, 5), 0);
        assert_eq!(free.stranded_for(&machine, 6), 2);
        assert_eq!(free.stranded_for(&machine, 8), 8);
    }
}
