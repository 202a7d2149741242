//! What is said of what a run measured.

use crate::quantity::{count, msec, per_second, seconds};
use core::time::Duration;
use numawise_experiment::{GeneratorUsage, Schedule, Steadiness};

pub const KIND_TABLE: [&str; 8] =
    ["transaction", "count", "per second", "mean ms", "p50 ms", "p95 ms", "p99 ms", "max ms"];
pub const LATENCY_TABLE: [&str; 8] = ["", "mean", "p50", "p95", "p99", "p99.9", "min", "max"];
pub const TRANSACTIONS: &str = "transactions";
pub const QUERIES: &str = "queries";
pub const READS: &str = "  reads";
pub const WRITES: &str = "  writes";
pub const OTHERS: &str = "  others";
pub const IGNORED_ERRORS: &str = "errors, tried again";
pub const RECONNECTS: &str = "reconnects";
pub const ROLLBACKS: &str = "rollbacks meant";
pub const LATENCY: &str = "latency ms";
pub const COUNT_TABLE: [&str; 3] = ["", "count", "per second"];
pub const UNKNOWN: &str = "-";

pub fn window(elapsed: Duration, usage: &GeneratorUsage) -> String {
    format!(
        "measured for {} s with {} on {}",
        seconds(elapsed),
        count(usage.connections.into(), "connection"),
        count(usage.threads.into(), "thread"),
    )
}

pub fn steadiness(steadiness: Steadiness) -> String {
    match steadiness {
        Steadiness::NotWarmedUp => "no warm-up: the first seconds are in the figures".to_owned(),
        Steadiness::Steady { after } => format!("steady after {} s", seconds(after)),
        Steadiness::NotSteady { after } => format!(
            "NOT STEADY after {} s of warm-up: no verdict rests on this run; give it a longer --warm-up",
            seconds(after)
        ),
    }
}

pub fn schedule(schedule: &Schedule) -> String {
    format!(
        "open loop: {} intended, {} done in time, {} done late, {} failed; the longest wait for a turn was {} ms",
        schedule.intended,
        schedule.done,
        schedule.late,
        schedule.failed,
        msec(schedule.longest_wait),
    )
}

pub fn generator(usage: &GeneratorUsage, cpus: Option<f64>, transactions: u64) -> String {
    let used = usage.user + usage.system;
    let cpus = cpus.map_or_else(|| UNKNOWN.to_owned(), |cpus| format!("{cpus:.2}"));
    let mut said = format!("the generator used {cpus} CPUs");
    if transactions > 0 {
        let each = used.as_secs_f64() * 1e6 / transactions as f64;
        said += &format!(", {each:.1} us a transaction");
    }
    if let Some(peak) = usage.resident_peak_bytes {
        said += &format!(", and {} of memory at most", crate::quantity::bytes(peak));
    }
    said
}

pub fn rate(rate: Option<f64>) -> String {
    rate.map_or_else(|| UNKNOWN.to_owned(), per_second)
}
