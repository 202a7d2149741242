//! What is said while an experiment is carried out, and of what is recorded of one.

use crate::quantity::{count, per_second};
use core::time::Duration;

pub const RUN_TABLE: [&str; 8] =
    ["run", "scenario", "workload", "threads", "per second", "p95 ms", "p99 ms", "warm-up"];
pub const PLAN_TABLE: [&str; 6] = ["", "run", "scenario", "workload", "threads", "host"];
pub const LIST_TABLE: [&str; 4] = ["experiment", "begun", "recorded", "of"];
pub const NO_RUNS: &str = "No run is recorded.";
pub const NO_EXPERIMENTS: &str = "No experiment is recorded.";
pub const CONTROL: &str = "again";

pub fn begun(runs: usize, recorded: usize) -> String {
    match recorded {
        0 => format!("{} to make", count(runs as u64, "run")),
        recorded if recorded == runs => format!("all {} are recorded", count(runs as u64, "run")),
        recorded => format!("{recorded} of {} are recorded; going on", count(runs as u64, "run")),
    }
}

pub fn applying(scenario: &str, host: &str) -> String {
    format!("putting {scenario} in place on {host}")
}

pub fn running(number: usize, of: usize, run: &str, threads: u32) -> String {
    format!("[{number}/{of}] {run} with {}", count(threads.into(), "thread"))
}

pub fn recorded(number: usize, of: usize, run: &str, rate: Option<f64>) -> String {
    let rate =
        rate.map_or_else(|| "no throughput".to_owned(), |rate| per_second(rate) + " per second");
    format!("[{number}/{of}] {run}: {rate}")
}

pub fn not_taken_back(scenario: &str, why: &str) -> String {
    format!("{scenario} could not be taken back, and may still stand: {why}")
}

pub fn head(name: &str, question: Option<&str>, recorded: usize, planned: usize) -> String {
    let mut head = format!("{name}: {recorded} of {} recorded", count(planned as u64, "run"));
    if let Some(question) = question {
        head += &format!("\n{question}");
    }
    head
}

pub fn duration(least: Duration, most: Duration) -> String {
    let text = |time: Duration| {
        let minutes = time.as_secs().div_ceil(60);
        match minutes {
            0..=119 => format!("{minutes} min"),
            _ => format!("{:.1} h", minutes as f64 / 60.0),
        }
    };
    match (text(least), text(most)) {
        (least, most) if least == most => {
            format!("takes {least}, without putting scenarios in place")
        }
        (least, most) => {
            format!("takes {least} to {most}, as warm-ups last, without putting scenarios in place")
        }
    }
}
