//! Per-pCPU use over the last 15 minutes, from counters that only grow.

use numawise_model::{Pcpu, Utilisation};
use std::collections::BTreeMap;

/// The window that averages are made over.
pub const WINDOW_SEC: i64 = 15 * 60;

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
