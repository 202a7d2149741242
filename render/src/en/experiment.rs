//! What is said of experiments: [`doubts`], why a design is [refused](designs), and the words of tables.

pub mod designs;
pub mod doubts;

use crate::quantity::count;
use numawise_experiment::gain::Impossible;
use numawise_experiment::imported::Tool;
use numawise_experiment::targets::{Against, Ends, Latency, Together};
use numawise_experiment::{Cell, Comparison, Doubt, Interval95, Mechanism, Metric, Tier, Verdict};

pub const NOTHING: &str = "-";
/// What stands in the row that others are held against.
pub const AGAINST: &str = "/";

pub const COMPARISON_TABLE: [&str; 8] =
    ["scenario", "at", "metric", "baseline", "with it", "change", "95 % interval", "pairs"];
pub const PANEL_TABLE: [&str; 6] =
    ["baseline against itself", "metric", "change", "95 % interval", "pairs", "noise floor"];
pub const GAIN_TABLE: [&str; 7] =
    ["scenario", "host", "threads", "TPS", "TPS gain", "p95 ms", "p95 fall"];
pub const TARGET_TABLE: [&str; 6] =
    ["target", "TPS", "against average", "mean ms", "p99 ms", "max ms"];
pub const PROCEDURE_TABLE: [&str; 8] =
    ["procedure", "calls", "min ms", "mean ms", "p50 ms", "p95 ms", "p99 ms", "max ms"];
pub const HAMMER_TABLE: [&str; 5] = ["scenario", "host", "users", "NOPM", "TPM"];

pub fn metric(metric: Metric) -> &'static str {
    match metric {
        Metric::Tps => "TPS",
        Metric::Qps => "QPS",
        Metric::Nopm => "NOPM",
        Metric::Tpm => "TPM",
        Metric::EventsPerSec => "events/s",
        Metric::LatencyMean => "mean latency ms",
        Metric::LatencyP50 => "p50 ms",
        Metric::LatencyP95 => "p95 ms",
        Metric::LatencyP99 => "p99 ms",
        Metric::LatencyP999 => "p99.9 ms",
        Metric::LatencyMax => "max latency ms",
    }
}

/// `read-write, 16 threads`.
pub fn cell(cell: &Cell) -> String {
    let threads = (cell.threads > 0).then(|| count(cell.threads.into(), "thread"));
    let workload = (!cell.workload.is_empty()).then(|| cell.workload.clone());
    let parts: Vec<String> = workload.into_iter().chain(threads).collect();
    if parts.is_empty() { NOTHING.to_owned() } else { parts.join(", ") }
}

pub fn tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Client => "the client",
        Tier::Nic => "the network card",
        Tier::Proxy => "the proxy",
        Tier::SqlProcess => "the SQL process",
        Tier::StorageProcess => "the storage process",
        Tier::Disk => "the disk",
    }
}

pub fn mechanism(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::RemotePages => "remote pages",
        Mechanism::L3Crossings => "threads going between L3 domains",
    }
}

pub fn changed(percent: f64) -> String {
    format!("{percent:+.2} %")
}

pub fn interval(interval: Option<Interval95>) -> String {
    interval.map_or_else(|| NOTHING.to_owned(), |i| format!("{:+.2} .. {:+.2} %", i.low, i.high))
}

pub fn share(of_one: f64) -> String {
    format!("{:.1} %", of_one * 100.0)
}

/// The verdict in a word, for a table of one's own.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::ProvenGain => "proven gain",
        Verdict::ProvenLoss => "proven loss",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive { .. } => "inconclusive",
    }
}

/// The verdict with its reason: what bars it, or how many pairs are missing.
pub fn verdict_line(comparison: &Comparison, worth: f64) -> String {
    let word = verdict(comparison.verdict);
    let chance = comparison.effect.as_ref().map(|effect| effect.chance_adjusted);
    match comparison.verdict {
        Verdict::ProvenGain | Verdict::ProvenLoss => match chance {
            Some(chance) => {
                format!(
                    "{word} (chance alone would do it in {:.2} % of experiments)",
                    chance * 100.0
                )
            }
            None => word.to_owned(),
        },
        Verdict::Equivalent => {
            format!("{word}: any difference is smaller than {}", share(worth))
        }
        Verdict::Inconclusive { pairs } => {
            let barred = comparison.doubts.iter().filter(|doubt| doubt.bars());
            let mut why: Vec<String> = barred.map(doubts::in_short).collect();
            why.dedup();
            if comparison.effect.is_none() {
                why.push("no pair of runs that counts".to_owned());
            }
            if let Some(pairs) = pairs {
                why.push(format!("{pairs} pairs in all would settle it"));
            }
            if why.is_empty() {
                // The spread asks for more pairs than anybody makes.
                why.push("the runs lie too far apart: look for what disturbs them".to_owned());
            }
            format!("{word}: {}", why.join(", "))
        }
    }
}

/// `vNUMA on, 300 threads, TPS`.
pub fn about(comparison: &Comparison) -> String {
    let cell = cell(&comparison.cell);
    let at = if cell == NOTHING { String::new() } else { format!(", {cell}") };
    format!("{}{at}, {}", comparison.scenario, metric(comparison.metric))
}

/// Above the verdicts: what everything is held against.
pub fn against(baseline: &str, worth: f64) -> String {
    format!("against {baseline}, where {} is the smallest change worth claiming:", share(worth))
}

pub const NOTE: &str = "note";

pub fn is_barring(doubt: &Doubt) -> &'static str {
    if doubt.bars() { "no verdict" } else { NOTE }
}

pub fn together(all: &Together) -> Vec<String> {
    let against = |against: &Against| format!("{} {:+.1} %", against.name, against.change);
    let mut lines = vec![
        format!("TPS: {} in all, {} on average", tps(all.total_tps), whole(all.average_tps)),
        format!(
            "against the average: slowest {}, fastest {}",
            against(&all.slowest),
            against(&all.fastest)
        ),
    ];
    if let Some(Latency { average, spread }) = all.latency_mean {
        lines.push(format!(
            "mean latency: {average:.2} ms on average of targets, spread (max - min) / max {spread:.1} %"
        ));
    }
    let ends = |name: &str, ends: Option<Ends>| {
        ends.map(|ends| format!("{name}: {:.2} to {:.2} ms", ends.least, ends.most))
    };
    lines.extend(ends("p99", all.latency_p99));
    lines.extend(ends("maximum", all.latency_max));
    lines
}

/// As it was measured: whole where it is whole.
pub fn tps(tps: f64) -> String {
    if tps.fract() == 0.0 { whole(tps) } else { format!("{tps:.2}") }
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

/// A latency that a closed loop of so many threads cannot have.
pub fn impossible(scenario: &str, found: &Impossible) -> String {
    let Impossible { threads, tps: rate, mean, told, thousandth } = found;
    let mut said = format!(
        "{scenario}: {threads} threads at {} TPS are {mean:.0} ms a transaction on average (Little's law), so a 95th percentile of {:.2} s cannot be",
        tps(*rate),
        told / 1e3,
    );
    match thousandth {
        Some(msec) => {
            said += &format!("; it is taken as {msec:.2} ms: the seconds are milliseconds")
        }
        None => said += "; it is printed as it was told",
    }
    said
}

pub fn tool(tool: &Tool) -> String {
    match tool {
        Tool::Sysbench { version: Some(version) } => format!("sysbench {version}"),
        Tool::Sysbench { version: None } => "sysbench".to_owned(),
        Tool::HammerDb => "HammerDB".to_owned(),
        Tool::Report => "a report".to_owned(),
    }
}
