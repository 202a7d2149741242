//! In which order the runs of a design are made.
//!
//! # The problem
//!
//! A machine does not stay as it is: it warms up, its page cache fills, neighbours come and go, a data set
//! grows. Runs of one arm that are all made before those of the other measure that as well.
//!
//! # The approach
//!
//! Blocks come one after the other; in each, every arm runs once in every cell. Applying a placement is
//! what is repeated, and it is dear, so the threads of a ladder run one after the other in one applied
//! placement. Blocks belong together in twos: the order of the arms in the first is drawn, and the second
//! has it the other way round (ABBA). What grows steadily then weighs as much on one side as on the other.
//!
//! In a crossover, the two mirrored blocks are on one host, and hosts take turns from pair to pair.
//!
//! # Terms
//!
//! *Application*: one placement applied, with the runs that are made in it.
//!
//! # Properties
//!
//! - Every arm, the control too, runs exactly once in each cell of each block.
//! - The same design gives the same order, and more blocks only add to its end: an experiment that was
//!   killed, or that needs more pairs, goes on where it stands.
//! - Over two mirrored blocks each arm comes as often before any other as after it.
//! - Runs of one block and workload are on one host.

use crate::design::{Design, DesignRefused};
use core::fmt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A scenario by its place in the design, or the baseline once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arm {
    Scenario { index: u32 },
    Control,
}

/// Which run of a design this is. It does not depend on the order, and is written as `b03-a1-w0-t32`, or
/// `b03-ac-w0-t32` for the control: blocks, arms and workloads by their place, threads by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId {
    pub block: u32,
    pub arm: Arm,
    pub workload: u32,
    pub threads: u32,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{:02}-a", self.block)?;
        match self.arm {
            Arm::Scenario { index } => write!(f, "{index}")?,
            Arm::Control => f.write_str("c")?,
        }
        write!(f, "-w{}-t{}", self.workload, self.threads)
    }
}

impl RunId {
    /// Reads what [`fmt::Display`] writes, and nothing else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut part = |letter: char| parts.next().and_then(|part| part.strip_prefix(letter));
        let block = part('b')?.parse().ok()?;
        let arm = match part('a')? {
            "c" => Arm::Control,
            index => Arm::Scenario { index: index.parse().ok()? },
        };
        let workload = part('w')?.parse().ok()?;
        let threads = part('t')?.parse().ok()?;
        let id = Self { block, arm, workload, threads };
        (id.to_string() == text).then_some(id)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRun {
    pub id: RunId,
    /// Its number in the whole order. Whoever runs them applies the arm when this changes.
    pub application: u32,
    pub host: String,
}

/// All runs, in order, or every reason why there are none.
pub fn order(design: &Design) -> Result<Vec<PlannedRun>, Vec<DesignRefused>> {
    let refusals = design.refusals();
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let hosts = design.hosts();
    let mut runs = Vec::new();
    let mut application = 0;
    for block in 0..design.blocks {
        let host = hosts[host_of_block(block, hosts.len())];
        for (workload, arms) in order_of_block(design, block) {
            for arm in arms {
                let id = |threads: &u32| RunId { block, arm, workload, threads: *threads };
                runs.extend(design.threads.iter().map(|threads| PlannedRun {
                    id: id(threads),
                    application,
                    host: host.to_owned(),
                }));
                application += 1;
            }
        }
    }
    Ok(runs)
}

/// Two blocks on one host, two on the next: mirrored blocks share their host.
fn host_of_block(block: u32, hosts: usize) -> usize {
    (block / 2) as usize % hosts
}

/// Each workload of a block with its arms, both in the order that the pair of blocks drew.
fn order_of_block(design: &Design, block: u32) -> Vec<(u32, Vec<Arm>)> {
    let pair = u64::from(block / 2);
    let mut rng =
        Xoshiro256PlusPlus::seed_from_u64(design.seed ^ pair.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let scenarios = u32::try_from(design.scenarios.len()).unwrap_or(0);
    let workloads = u32::try_from(design.workloads.len()).unwrap_or(0);
    let arms: Vec<Arm> = (0..scenarios)
        .map(|index| Arm::Scenario { index })
        .chain(design.control.then_some(Arm::Control))
        .collect();
    let mut drawn: Vec<(u32, Vec<Arm>)> = (0..workloads).map(|w| (w, arms.clone())).collect();
    shuffle(&mut drawn, &mut rng);
    for (_, arms) in &mut drawn {
        shuffle(arms, &mut rng);
        if block % 2 == 1 {
            arms.reverse();
        }
    }
    drawn
}

/// Fisher and Yates. The modulo favours nothing by more than one in 2^60 at these sizes.
fn shuffle<T>(all: &mut [T], rng: &mut Xoshiro256PlusPlus) {
    for last in (1..all.len()).rev() {
        let chosen = rng.next_u64() % (last as u64 + 1);
        all.swap(last, chosen as usize);
    }
}
