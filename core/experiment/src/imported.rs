//! What logs of other tools say of a run: their figures, and nothing that they do not have.
//!
//! A log has one percentile, or a few, and no histogram. Such runs stand in the same tables as measured ones,
//! and cannot be merged.

use crate::gain::Figures;
use crate::metric::Metric;
use crate::order::Arm;
use crate::targets::TargetFigures;
use crate::trial::{Cell, Conditions, Trial};
use core::time::Duration;
use std::collections::BTreeMap;

/// One run of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedRun {
    pub tool: Tool,
    /// The line that it begins at, from 1.
    pub line: usize,
    /// Threads, or virtual users.
    pub threads: Option<u32>,
    pub elapsed: Option<Duration>,
    pub transactions: Option<u64>,
    pub ignored_errors: Option<u64>,
    pub reconnects: Option<u64>,
    pub values: BTreeMap<Metric, f64>,
    /// Percentiles that no metric has, in milliseconds.
    pub percentiles: BTreeMap<u32, f64>,
    pub intervals: Vec<ImportedInterval>,
    /// Stored procedures, as a time profile has them.
    pub procedures: Vec<Procedure>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tool {
    /// With its version, where the log has it.
    Sysbench {
        version: Option<String>,
    },
    HammerDb,
    /// Figures that somebody has copied from a report.
    #[default]
    Report,
}

/// One interval's line. Latencies are in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedInterval {
    /// Since the start.
    pub end: Duration,
    pub tps: f64,
    pub percentile: Option<(u32, f64)>,
}

/// Latencies in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Procedure {
    pub name: String,
    pub calls: u64,
    pub min: f64,
    pub mean: f64,
    pub max: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

/// A run with the names that whoever imports it gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled {
    pub scenario: String,
    pub host: Option<String>,
    pub run: ImportedRun,
}

impl Labelled {
    /// For the short table; `None` of a run without throughput.
    pub fn figures(&self) -> Option<Figures> {
        Some(Figures {
            scenario: self.scenario.clone(),
            host: self.host.clone(),
            threads: self.run.threads,
            tps: self.run.throughput()?,
            latency_p95: self.run.values.get(&Metric::LatencyP95).copied(),
        })
    }

    /// As one of several targets; `None` of a run without throughput.
    pub fn target(&self) -> Option<TargetFigures> {
        let value = |metric| self.run.values.get(&metric).copied();
        Some(TargetFigures {
            name: self.scenario.clone(),
            tps: self.run.throughput()?,
            latency_mean: value(Metric::LatencyMean),
            latency_p99: value(Metric::LatencyP99),
            latency_max: value(Metric::LatencyMax),
        })
    }
}

impl ImportedRun {
    /// Transactions per second, or events where there are no transactions.
    pub fn throughput(&self) -> Option<f64> {
        let value = |metric| self.values.get(&metric).copied();
        value(Metric::Tps).or_else(|| value(Metric::EventsPerSec))
    }
}

/// Runs as trials: each scenario an arm, in the order in which they first come, and the n-th run of one
/// paired with the n-th of another. Nobody knows whether they were interleaved, so a
/// [question](crate::Question) about them says that they were not.
pub fn trials(runs: &[Labelled]) -> (Vec<String>, Vec<Trial>) {
    let mut scenarios: Vec<String> = Vec::new();
    let mut seen: BTreeMap<(u32, Option<u32>), u32> = BTreeMap::new();
    let mut trials = Vec::new();
    for labelled in runs {
        let known = scenarios.iter().position(|name| *name == labelled.scenario);
        let index = known.unwrap_or_else(|| {
            scenarios.push(labelled.scenario.clone());
            scenarios.len() - 1
        });
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let block = seen.entry((index, labelled.run.threads)).or_default();
        let run = &labelled.run;
        let error_share = run
            .transactions
            .filter(|transactions| *transactions > 0)
            .and_then(|transactions| Some(run.ignored_errors? as f64 / transactions as f64));
        trials.push(Trial {
            block: *block,
            arm: Arm::Scenario { index },
            // A log does not say which script it ran.
            cell: Cell { workload: String::new(), threads: run.threads.unwrap_or(0) },
            host: labelled.host.clone(),
            values: run.values.clone(),
            conditions: Conditions { error_share, ..Conditions::default() },
        });
        *block += 1;
    }
    (scenarios, trials)
}
