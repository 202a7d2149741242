//! Figures that somebody has copied out of a report, as TOML: tables of old results without their logs.

use crate::LogError;
use numawise_experiment::Metric;
use numawise_experiment::gain::{Impossible, possible_p95};
use numawise_experiment::imported::{ImportedRun, Labelled, Tool};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What a report has: runs that are held against each other, and the same load on several targets at once.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportTargets {
    pub runs: Vec<Labelled>,
    pub targets: Vec<Labelled>,
    /// Latencies that cannot be as they are told, by scenario. Where a thousandth can be, it was taken.
    pub impossible: Vec<(String, Impossible)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    #[serde(default)]
    run: Vec<Entry>,
    #[serde(default)]
    target: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    scenario: String,
    host: Option<String>,
    threads: Option<u32>,
    tps: Option<f64>,
    nopm: Option<f64>,
    tpm: Option<f64>,
    latency_p95_sec: Option<f64>,
    latency_p95_msec: Option<f64>,
    latency_mean_msec: Option<f64>,
    latency_p99_msec: Option<f64>,
    latency_max_msec: Option<f64>,
}

pub fn parse_report(text: &str) -> Result<ReportTargets, LogError> {
    let refused = |path: String, reason: String| LogError::Report { path, reason };
    let document = toml::Deserializer::parse(text)
        .map_err(|error| refused("it is no TOML".to_owned(), error.message().to_owned()))?;
    let report: Report = serde_path_to_error::deserialize(document)
        .map_err(|error| refused(error.path().to_string(), error.inner().message().to_owned()))?;
    let mut impossible = Vec::new();
    let mut all = |entries: Vec<Entry>| -> Vec<Labelled> {
        entries.into_iter().map(|entry| labelled(entry, &mut impossible)).collect()
    };
    let (runs, targets) = (all(report.run), all(report.target));
    if runs.is_empty() && targets.is_empty() {
        let reason = "[[run]] or [[target]] is wanted".to_owned();
        return Err(refused("it is empty".to_owned(), reason));
    }
    Ok(ReportTargets { runs, targets, impossible })
}

fn labelled(entry: Entry, impossible: &mut Vec<(String, Impossible)>) -> Labelled {
    let mut p95 = entry.latency_p95_msec.or(entry.latency_p95_sec.map(|seconds| seconds * 1e3));
    if let (Some(threads), Some(tps), Some(told)) = (entry.threads, entry.tps, p95)
        && let Err(found) = possible_p95(threads, tps, told)
    {
        p95 = found.thousandth.or(p95);
        impossible.push((entry.scenario.clone(), found));
    }
    let values = [
        (Metric::Tps, entry.tps),
        (Metric::Nopm, entry.nopm),
        (Metric::Tpm, entry.tpm),
        (Metric::LatencyMean, entry.latency_mean_msec),
        (Metric::LatencyP95, p95),
        (Metric::LatencyP99, entry.latency_p99_msec),
        (Metric::LatencyMax, entry.latency_max_msec),
    ];
    let values: BTreeMap<Metric, f64> =
        values.into_iter().filter_map(|(metric, value)| Some((metric, value?))).collect();
    let run = ImportedRun {
        tool: Tool::Report,
        threads: entry.threads,
        values,
        ..ImportedRun::default()
    };
    Labelled { scenario: entry.scenario, host: entry.host, run }
}
