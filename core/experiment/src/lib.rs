//! Experiments: what one run of a load measured, which runs an experiment needs and in which order, and
//! what can be said of their difference.
//!
//! # The problem
//!
//! Two placements are to be compared by the work that a database gets done under each. Runs on one machine
//! differ by more than most placements do: neighbours, temperature, page cache and the age of checkpoints
//! all move while the experiment goes on. So a single run under each is worth nothing, and seconds inside
//! one run are no repetitions, since they share the placement.
//!
//! # The parts
//!
//! - [`measured`]: one run. Its latencies are whole [histograms](latencies), never percentiles: those of
//!   several generators can then be merged exactly.
//! - [`cpu`]: what a load on CPUs found beside that: how fast each was.
//! - [`tpcc`]: what a run in the manner of TPC-C found beside that.

mod cpu;
mod latencies;
mod measured;
mod tpcc;

pub use cpu::{CpuRun, CpuThread, Frequency, FrequencySource, NoFrequency};
pub use latencies::{LARGEST_NSEC, Latencies, SMALLEST_NSEC};
pub use measured::{
    Counts, GeneratorUsage, Interval, KindMeasured, Measured, Schedule, Steadiness,
};
pub use tpcc::{
    ConditionResult, Mix, NoServerCounters, Orders, OrdersAgreement, RandomChoice, Route,
    ServerTransactions, TpccRun, TransactionKind,
};
