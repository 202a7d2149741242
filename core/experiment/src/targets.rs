//! Several targets under the same load at once: together, and each against the others.
//!
//! A sum of throughputs is exact. An average of latencies over targets is what such reports print, and is
//! of targets, not of transactions; percentiles are given as their range, since their average means nothing.

use crate::measured::Measured;
use crate::metric::Metric;

/// What one target got done. Latencies are in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetFigures {
    pub name: String,
    pub tps: f64,
    pub latency_mean: Option<f64>,
    pub latency_p99: Option<f64>,
    pub latency_max: Option<f64>,
}

impl TargetFigures {
    /// `None` of a run that took no time.
    pub fn of(name: &str, run: &Measured) -> Option<Self> {
        Some(Self {
            name: name.to_owned(),
            tps: Metric::Tps.of(run)?,
            latency_mean: Metric::LatencyMean.of(run),
            latency_p99: Metric::LatencyP99.of(run),
            latency_max: Metric::LatencyMax.of(run),
        })
    }
}

/// All of them together.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    pub targets: Vec<TargetFigures>,
    pub total_tps: f64,
    pub average_tps: f64,
    pub slowest: Against,
    pub fastest: Against,
    pub latency_mean: Option<Latency>,
    pub latency_p99: Option<Ends>,
    pub latency_max: Option<Ends>,
}

/// One target against the average.
#[derive(Clone, Debug, PartialEq)]
pub struct Against {
    pub name: String,
    /// In per cent.
    pub change: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Of the targets, not of the transactions.
    pub average: f64,
    /// (max − min) / max, in per cent.
    pub spread: f64,
}

/// The smallest and the largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    pub least: f64,
    pub most: f64,
}

/// `None` of no target. A figure that one of them lacks is given for none.
pub fn together(targets: Vec<TargetFigures>) -> Option<Together> {
    let count = targets.len() as f64;
    let total_tps: f64 = targets.iter().map(|target| target.tps).sum();
    let average_tps = total_tps / count;
    let against = |target: &TargetFigures| Against {
        name: target.name.clone(),
        change: 100.0 * (target.tps / average_tps - 1.0),
    };
    let slowest = against(targets.iter().min_by(|a, b| a.tps.total_cmp(&b.tps))?);
    let fastest = against(targets.iter().max_by(|a, b| a.tps.total_cmp(&b.tps))?);
    let all = |of: fn(&TargetFigures) -> Option<f64>| targets.iter().map(of).collect();
    let means: Option<Vec<f64>> = all(|target| target.latency_mean);
    let latency_mean = means.and_then(|means| {
        let Ends { least, most } = ends(&means)?;
        let average = means.iter().sum::<f64>() / count;
        Some(Latency { average, spread: 100.0 * (most - least) / most })
    });
    let p99: Option<Vec<f64>> = all(|target| target.latency_p99);
    let max: Option<Vec<f64>> = all(|target| target.latency_max);
    Some(Together {
        total_tps,
        average_tps,
        slowest,
        fastest,
        latency_mean,
        latency_p99: p99.as_deref().and_then(ends),
        latency_max: max.as_deref().and_then(ends),
        targets,
    })
}

fn ends(values: &[f64]) -> Option<Ends> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    Some(Ends { least, most })
}
