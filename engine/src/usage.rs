//! Per-pCPU use over the last 15 minutes, from counters that only grow.
//!
//! Two readings of the kernel's counters give the exact average between them, so nothing has to run
//! all the time: every command leaves a sample in the store, and the average is taken against the
//! one that is nearest to 15 minutes old. The length of time is always told, since it is rarely 15
//! minutes to the second.

use numawise_model::{Pcpu, Utilisation};
use std::collections::BTreeMap;

/// The window that averages are wanted over.
pub const WINDOW_SEC: i64 = 15 * 60;

/// A sample older than this says too little about now.
const OLDEST_SEC: i64 = 2 * WINDOW_SEC;

/// The kernel's counters at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageSample {
    pub at_unix_sec: i64,
    /// Boot time: counters of another boot are never subtracted.
    pub boot_unix_sec: i64,
    pub cpus: BTreeMap<Pcpu, CpuTicks>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    pub busy: u64,
    pub total: u64,
}

/// Averages and the length of time they were made over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageAverage {
    pub window_sec: i64,
    pub cpus: BTreeMap<Pcpu, Utilisation>,
}

/// The average up to `now`; `None` when no sample of this boot is old enough to compare with.
pub fn average(earlier: &[UsageSample], now: &UsageSample) -> Option<UsageAverage> {
    let age = |sample: &UsageSample| now.at_unix_sec - sample.at_unix_sec;
    let base = earlier
        .iter()
        // btime is rounded and may differ by a second from reading to reading.
        .filter(|s| (s.boot_unix_sec - now.boot_unix_sec).abs() <= 2)
        .filter(|s| (1..=OLDEST_SEC).contains(&age(s)))
        .min_by_key(|s| ((age(s) - WINDOW_SEC).abs(), age(s)))?;
    let cpus = now
        .cpus
        .iter()
        .filter_map(|(cpu, ticks)| Some((*cpu, share(base.cpus.get(cpu)?, ticks)?)))
        .collect();
    Some(UsageAverage { window_sec: age(base), cpus })
}

/// `None` when no time has passed on this CPU, or its counters ran backwards (it was offline).
fn share(before: &CpuTicks, after: &CpuTicks) -> Option<Utilisation> {
    let total = after.total.checked_sub(before.total).filter(|&total| total > 0)?;
    let busy = after.busy.checked_sub(before.busy)?;
    let thousandths = (u128::from(busy) * 1000 / u128::from(total)).min(1000);
    u16::try_from(thousandths).ok().map(Utilisation)
}
