//! What an experiment is to find out, and by which runs.
//!
//! # The problem
//!
//! The published comparisons of placements measure one state of a guest on one host and another state on
//! another host, once each. Such a difference is of the hosts as much as of the states, and nobody can say
//! how large it would be the next time.
//!
//! # The approach
//!
//! A design is a value that is complete before the first run: which scenarios, under which load, how many
//! times, in which order (it follows from the seed), which one metric decides, and how small a gain is
//! still worth claiming. Nothing of it is chosen after a figure has been seen.
//!
//! # Terms
//!
//! - *Scenario*: a state that can be applied. *Arm*: a scenario in the order of runs, or the control.
//! - *Control*: the baseline once more under another name. What differs between it and the baseline is
//!   noise, and no claim may be smaller (the A/A panel).
//! - *Block*: each arm once for each cell, on one host. It is the unit of repetition.
//! - *Cell*: a workload at a number of threads.
//! - *Crossover*: each arm runs on each host, and blocks alternate between hosts, so that both sides of a
//!   pair have always run on the same one.
//!
//! # Properties
//!
//! - Arms that live on different hosts are refused, unless each lives on each of them.
//! - Every refusal that applies is told, not the first one only.

use crate::metric::Metric;
use crate::steady::SteadyRule;
use crate::trial::Mechanism;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// 1 %.
pub const DEFAULT_WORTH: f64 = 0.01;
/// So many blocks, unless a pilot recommends another number.
pub const DEFAULT_BLOCKS: u32 = 10;
/// A ladder of more steps, or more blocks than these, is a slip of the hand.
const MOST_BLOCKS: u32 = 10_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    pub name: String,
    /// At least two.
    pub scenarios: Vec<Scenario>,
    /// By name, the one that others are held against.
    pub baseline: String,
    pub workloads: Vec<String>,
    /// In the order in which they are run in one applied placement: 32, 16, 8, 4, 2.
    pub threads: Vec<u32>,
    pub blocks: u32,
    pub seed: u64,
    /// The metric that decides; the others only accompany it.
    pub primary: Metric,
    pub secondary: Vec<Metric>,
    /// The smallest gain worth claiming, as a share: 0.01 is 1 %.
    pub worth: f64,
    /// Whether the baseline is run a second time in each block. Without it nothing can be proven.
    pub control: bool,
    pub warm_up: WarmUp,
    pub measure: Duration,
    /// Before each run.
    pub cool_down: Duration,
    /// What the scenarios are meant to change: a gain without it is no gain of theirs.
    pub mechanisms: BTreeSet<Mechanism>,
    /// Settings that differ between scenarios on purpose.
    pub may_differ: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    pub name: String,
    /// Where it can be applied, by name.
    pub hosts: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmUp {
    pub at_least: Duration,
    /// A run that is not steady by then is measured all the same, says so, and carries no verdict.
    pub at_most: Duration,
    pub rule: SteadyRule,
}

impl Default for WarmUp {
    fn default() -> Self {
        Self {
            at_least: Duration::from_secs(30),
            at_most: Duration::from_secs(300),
            rule: SteadyRule::default(),
        }
    }
}

/// Why a design cannot answer its question.
#[derive(Clone, Debug, PartialEq)]
pub enum DesignRefused {
    /// Fewer than two scenarios: nothing to compare.
    NothingToCompare,
    NoWorkload,
    NoThreads,
    /// A name, a workload or a number of threads stands there twice.
    Twice {
        what: DesignPart,
        name: String,
    },
    /// A name that the rest of the design uses and that is not there.
    BaselineUnknown {
        name: String,
        scenarios: Vec<String>,
    },
    /// These arms do not live on the same hosts, so the host explains what differs as well as the arm does.
    ArmConfoundedWithHost {
        hosts: BTreeMap<String, BTreeSet<String>>,
    },
    NoHost {
        scenario: String,
    },
    /// Each host of a crossover has to see as many mirrored pairs of blocks as any other.
    BlocksNotEven {
        blocks: u32,
        multiple_of: u32,
    },
    BlocksOutOfRange {
        blocks: u32,
        most: u32,
    },
    WorthOutOfRange {
        worth: f64,
    },
    /// Its shortest time is above its longest one.
    WarmUpEndsBeforeItBegins {
        at_least: Duration,
        at_most: Duration,
    },
    NothingMeasured,
}

/// What can be named twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DesignPart {
    Scenario,
    Workload,
    Threads,
}

impl Design {
    /// Every reason why it cannot be run as it is.
    pub fn refusals(&self) -> Vec<DesignRefused> {
        let mut found = self.missing_parts();
        found.extend(self.named_twice());
        found.extend(self.host_refusals());
        if self.blocks == 0 || self.blocks > MOST_BLOCKS {
            found.push(DesignRefused::BlocksOutOfRange { blocks: self.blocks, most: MOST_BLOCKS });
        }
        if !(0.0..1.0).contains(&self.worth) {
            found.push(DesignRefused::WorthOutOfRange { worth: self.worth });
        }
        let WarmUp { at_least, at_most, .. } = self.warm_up;
        if at_least > at_most {
            found.push(DesignRefused::WarmUpEndsBeforeItBegins { at_least, at_most });
        }
        if self.measure.is_zero() {
            found.push(DesignRefused::NothingMeasured);
        }
        found
    }

    /// Where blocks are run, each name once, in order. Only sound for a design without refusals.
    pub fn hosts(&self) -> Vec<&str> {
        let first = self.scenarios.first();
        first.map_or(Vec::new(), |s| s.hosts.iter().map(String::as_str).collect())
    }

    /// What the number of blocks must be a multiple of: two for each host of a crossover.
    pub fn block_multiple(&self) -> u32 {
        match u32::try_from(self.hosts().len()) {
            Ok(0 | 1) => 1,
            Ok(hosts) => hosts.saturating_mul(2),
            Err(_) => u32::MAX,
        }
    }

    /// The place of the baseline among the scenarios.
    pub fn baseline_index(&self) -> Option<usize> {
        self.scenarios.iter().position(|s| s.name == self.baseline)
    }

    /// Each metric once, the primary one first.
    pub fn metrics(&self) -> Vec<Metric> {
        let mut all = vec![self.primary];
        for metric in &self.secondary {
            if !all.contains(metric) {
                all.push(*metric);
            }
        }
        all
    }

    fn missing_parts(&self) -> Vec<DesignRefused> {
        let mut found = Vec::new();
        if self.scenarios.len() < 2 {
            found.push(DesignRefused::NothingToCompare);
        }
        if self.baseline_index().is_none() {
            let scenarios = self.scenarios.iter().map(|s| s.name.clone()).collect();
            found.push(DesignRefused::BaselineUnknown { name: self.baseline.clone(), scenarios });
        }
        if self.workloads.is_empty() {
            found.push(DesignRefused::NoWorkload);
        }
        if self.threads.is_empty() || self.threads.contains(&0) {
            found.push(DesignRefused::NoThreads);
        }
        found
    }

    fn named_twice(&self) -> Vec<DesignRefused> {
        let scenarios = self.scenarios.iter().map(|s| s.name.clone());
        let threads = self.threads.iter().map(u32::to_string);
        let mut found = twice(DesignPart::Scenario, scenarios);
        found.extend(twice(DesignPart::Workload, self.workloads.iter().cloned()));
        found.extend(twice(DesignPart::Threads, threads));
        found
    }

    fn host_refusals(&self) -> Vec<DesignRefused> {
        let homeless = self.scenarios.iter().filter(|s| s.hosts.is_empty());
        let mut found: Vec<DesignRefused> =
            homeless.map(|s| DesignRefused::NoHost { scenario: s.name.clone() }).collect();
        let Some(first) = self.scenarios.first() else { return found };
        if self.scenarios.iter().any(|s| s.hosts != first.hosts) {
            let hosts = self.scenarios.iter().map(|s| (s.name.clone(), s.hosts.clone()));
            found.push(DesignRefused::ArmConfoundedWithHost { hosts: hosts.collect() });
        } else {
            let multiple_of = self.block_multiple();
            if multiple_of > 1 && !self.blocks.is_multiple_of(multiple_of) {
                found.push(DesignRefused::BlocksNotEven { blocks: self.blocks, multiple_of });
            }
        }
        found
    }
}

fn twice(what: DesignPart, names: impl Iterator<Item = String>) -> Vec<DesignRefused> {
    let mut seen = BTreeSet::new();
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for name in names {
        if !seen.insert(name.clone()) && told.insert(name.clone()) {
            found.push(DesignRefused::Twice { what, name });
        }
    }
    found
}
