//! A binding in as few lines as it can be told in: "vCPUs 0-31 to pCPUs 32-63, one to one" is one
//! line, not 32. What is told is exact: reading the lines back gives the binding.

use numawise_model::{CpuSet, Pcpu};

/// A stretch of a binding that can be told in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub first: u32,
    pub last: u32,
    pub onto: Onto,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Onto {
    /// One vCPU to one pCPU, both counting up by one.
    InOrder { first: Pcpu, last: Pcpu },
    /// One to one, from the two (or more) ranges in turn: thread siblings next to each other.
    InTurn(Vec<(Pcpu, Pcpu)>),
    /// Each of the vCPUs may run on all of these.
    AnyOf(CpuSet),
}

/// The binding in as few runs as possible, greedily from vCPU 0.
pub fn runs(binding: &[(u32, CpuSet)]) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut at = 0;
    while at < binding.len() {
        let (len, onto) = longest_run(&binding[at..]);
        runs.push(Run { first: binding[at].0, last: binding[at + len - 1].0, onto });
        at += len;
    }
    runs
}

fn longest_run(rest: &[(u32, CpuSet)]) -> (usize, Onto) {
    let neighbours = 1 + rest.windows(2).take_while(|w| w[1].0 == w[0].0 + 1).count();
    let rest = &rest[..neighbours];
    let same = rest.iter().take_while(|(_, cpus)| *cpus == rest[0].1).count();
    let singles: Vec<u32> =
        rest.iter().map_while(|(_, cpus)| single(cpus)).map(|cpu| cpu.0).collect();
    let mut best = (same, Onto::AnyOf(rest[0].1.clone()));
    for ways in 1..=8 {
        let len = in_turn(&singles, ways);
        if len > best.0 || (len == best.0 && ways == 1) {
            best = (len, onto(&singles[..len], ways));
        }
    }
    best
}

/// How far the pCPUs are `ways` ranges taken in turn, in whole rounds (two rounds at least).
fn in_turn(cpus: &[u32], ways: usize) -> usize {
    let good = cpus.iter().zip(cpus.iter().skip(ways)).take_while(|(a, b)| **b == **a + 1).count();
    let len = if ways == 1 { (good + 1).min(cpus.len()) } else { (good + ways) / ways * ways };
    if ways > 1 && len < 2 * ways { 0 } else { len.min(cpus.len()) }
}

fn onto(cpus: &[u32], ways: usize) -> Onto {
    let range = |way: usize| (Pcpu(cpus[way]), Pcpu(cpus[cpus.len() - ways + way]));
    match ways {
        1 => Onto::InOrder { first: range(0).0, last: range(0).1 },
        _ => Onto::InTurn((0..ways).map(range).collect()),
    }
}

fn single(cpus: &CpuSet) -> Option<Pcpu> {
    cpus.first().filter(|_| cpus.len() == 1)
}
