//! The hosts, and the guests that come and go.

use super::super::super::fleet::Chance;
use numawise_testkit::{Numbering, Shape};
use std::collections::BTreeMap;

pub fn all() -> [(&'static str, Shape); 9] {
    [
        ("EPYC, 12 CCDs of 8, NPS1, SMT", shape(2, 1, (12, 8), 2)),
        ("EPYC, 12 CCDs of 8, NPS4, SMT", shape(2, 4, (3, 8), 2)),
        ("EPYC, 12 CCDs of 8, NPS1, no SMT", shape(2, 1, (12, 8), 1)),
        ("EPYC, 12 CCDs of 8, NPS4, no SMT", shape(2, 4, (3, 8), 1)),
        ("EPYC, 16 CCXs of 4, NPS1, SMT", shape(2, 1, (16, 4), 2)),
        ("EPYC, 16 CCXs of 4, NPS1, no SMT", shape(2, 1, (16, 4), 1)),
        ("EPYC, 16 CCXs of 4, NPS4, no SMT", shape(2, 4, (4, 4), 1)),
        ("Xeon, one L3 a socket, SMT", shape(2, 1, (1, 32), 2)),
        ("Xeon, one L3 a socket, no SMT", shape(2, 1, (1, 32), 1)),
    ]
}

pub fn shape(packages: u32, nodes: u32, l3: (u32, u32), threads: u32) -> Shape {
    Shape {
        packages,
        nodes_per_package: nodes,
        l3_per_node: l3.0,
        cores_per_l3: l3.1,
        threads,
        numbering: Numbering::SiblingsApart,
        node_bytes: 1 << 40,
        hugepages: BTreeMap::new(),
    }
}

/// vCPUs, odd ones among them, and how often of 100.
const SIZES: [usize; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32];
const WEIGHTS: [u32; 16] = [6, 18, 5, 18, 4, 7, 3, 15, 2, 3, 5, 2, 6, 2, 2, 2];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Arrive { id: usize, vcpus: usize },
    Depart { id: usize },
}

/// As many guests at a time as the host has CPUs for, by their mean size and how long they stay: so the
/// host is full most of the time, and some find no room.
pub fn stream(cpus: usize, arrivals: usize, seed: u64) -> Vec<Event> {
    let mut chance = Chance::new(seed);
    let each: f64 = SIZES.iter().zip(WEIGHTS).map(|(v, w)| *v as f64 * f64::from(w)).sum();
    let mean_stay = cpus as f64 / (each / 100.0);
    let mut events: Vec<(f64, Event)> = Vec::new();
    for id in 0..arrivals {
        let vcpus = chance.weighted(&SIZES, &WEIGHTS);
        let now = id as f64;
        events.push((now, Event::Arrive { id, vcpus }));
        events.push((now + chance.exponential(mean_stay).max(0.5), Event::Depart { id }));
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    events.into_iter().map(|(_, event)| event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_of_a_hundred_and_a_seed_gives_one_stream() {
        assert_eq!(WEIGHTS.iter().sum::<u32>(), 100);
        assert_eq!(stream(64, 50, 3), stream(64, 50, 3));
        assert_ne!(stream(64, 50, 3), stream(64, 50, 4));
    }
}
