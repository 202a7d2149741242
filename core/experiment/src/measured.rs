//! One run of a load: what it did, how long that took, and what the generator itself cost.

use crate::latencies::Latencies;
use core::time::Duration;

/// What one run measured, after its warm-up. Runs of several generators become one by [`Measured::merge`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The window that counts: from the end of the warm-up to the end, as the clock said.
    pub elapsed: Duration,
    pub counts: Counts,
    /// From the intended start in an open loop, from the real start in a closed one.
    pub latencies: Latencies,
    /// Each kind of transaction by its name, where a load has several: "new-order".
    pub kinds: Vec<KindMeasured>,
    /// What an open loop had scheduled, and what came of it.
    pub schedule: Option<Schedule>,
    pub intervals: Vec<Interval>,
    pub generator: GeneratorUsage,
    pub steadiness: Steadiness,
}

/// What was done. Reads, writes and others are statements; their sum is the number of queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub transactions: u64,
    pub reads: u64,
    pub writes: u64,
    /// Transaction control, and writes that met no row.
    pub others: u64,
    /// Errors after which the transaction was tried again: deadlocks, lost races.
    pub ignored_errors: u64,
    pub reconnects: u64,
    /// Transactions that were rolled back on purpose.
    pub rollbacks: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct KindMeasured {
    pub name: String,
    pub counts: Counts,
    pub latencies: Latencies,
}

/// An open loop accounts for each request that it meant to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The sum of the next three.
    pub intended: u64,
    /// Done, and begun when intended.
    pub done: u64,
    /// Done, but begun later than intended, since no connection was free.
    pub late: u64,
    /// Given up: its connection was lost, or the run ended before its turn came.
    pub failed: u64,
    /// The longest that a request waited for its turn.
    pub longest_wait: Duration,
}

/// One interval of a run, usually a second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Since the start of the run, warm-up included.
    pub begin: Duration,
    pub length: Duration,
    pub counts: Counts,
    pub latencies: Latencies,
    /// Belongs to the warm-up, and not to the figures.
    pub warm_up: bool,
}

/// What the generator used while it measured: a generator at its limit measures itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeneratorUsage {
    pub user: Duration,
    pub system: Duration,
    pub threads: u32,
    pub connections: u32,
    pub resident_peak_bytes: Option<u64>,
}

/// How the warm-up ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steadiness {
    /// None was asked for.
    #[default]
    NotWarmedUp,
    /// So long was asked for, and nobody looked whether the load was steady then.
    Assumed { after: Duration },
    /// The load was steady after this long.
    Steady { after: Duration },
    /// The time for it ran out. The run is kept and says so; no verdict rests on it.
    NotSteady { after: Duration },
}
