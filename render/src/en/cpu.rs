//! What a load on CPUs found, in words.

use crate::quantity::{count, seconds};
use numawise_experiment::{CpuRun, Frequency, FrequencySource, NoFrequency};
use numawise_model::Pcpu;

pub const THREAD_TABLE: [&str; 5] = ["thread", "CPU", "events", "events/s", "MHz (lowest-highest)"];
pub const FLOATING: &str = "any";
pub const UNKNOWN: &str = "-";

pub fn title(run: &CpuRun) -> String {
    format!(
        "primes up to {}: {} for {} s",
        run.max_prime,
        count(run.threads.len() as u64, "thread"),
        seconds(run.measured.elapsed)
    )
}

pub fn events(run: &CpuRun) -> String {
    let rate = run.measured.transactions_per_second();
    let rate = rate.map_or_else(|| UNKNOWN.to_owned(), |rate| format!("{rate:.2}"));
    format!("events/s  {rate}  ({} events)", run.measured.counts.transactions)
}

pub fn place(pinned: Option<Pcpu>) -> String {
    pinned.map_or_else(|| FLOATING.to_owned(), |cpu| cpu.to_string())
}

pub fn frequency(frequency: Option<Frequency>) -> String {
    let mhz = |khz: u64| format!("{:.0}", khz as f64 / 1e3);
    frequency.map_or_else(
        || UNKNOWN.to_owned(),
        |it| format!("{} ({}-{})", mhz(it.mean_khz), mhz(it.lowest_khz), mhz(it.highest_khz)),
    )
}

/// A figure of CPUs without their frequency compares with nothing but itself.
pub fn source(source: FrequencySource) -> &'static str {
    match source {
        FrequencySource::CpuFreq => {
            "Frequencies are the kernel's (scaling_cur_freq), twice a second."
        }
        FrequencySource::CpuInfo => {
            "Frequencies are the kernel's (cpu MHz of /proc/cpuinfo), twice a second."
        }
        FrequencySource::NotAvailable { why: NoFrequency::NominalOnly } => {
            "Frequency: not available. This kernel has no cpufreq and its CPUs show no counters of cycles, as in \
             most guests; what /proc/cpuinfo shows is nominal. A difference may be one of boost."
        }
        FrequencySource::NotAvailable { why: NoFrequency::NothingTold } => {
            "Frequency: not available. This kernel tells none. A difference may be one of boost."
        }
    }
}

pub const LATENCY_TABLE: [&str; 7] = ["an event, ms", "avg", "p50", "p95", "p99", "p99.9", "max"];
