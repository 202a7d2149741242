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
//! - [`Measured`]: one run. Its latencies are whole [histograms](Latencies), never percentiles: those of
//!   several generators can then be merged exactly.
//! - [`design`]: the whole experiment as a value, complete before the first run; [`mod@order`]: its runs,
//!   interleaved, each with an id that a resumed experiment finds again.
//! - [`Run`]: one run whole, with its place in the design and what stood beside it.
//! - [`steady`]: when a warm-up is over, and whether it was.
//! - [`trial`]: a run as the judge sees it, with what was seen beside it; [`verdict`]: the judge.
//! - [`stats`]: what the judge counts with; [`sample_size`]: how many pairs it will need.
//! - [`cpu`]: what a load on CPUs found beside that: how fast each was.
//! - [`tpcc`]: what a run in the manner of TPC-C found beside that.
//! - [`targets`], [`gain`]: the tables that reports print; [`imported`]: runs of other tools in them.

mod cpu;
pub mod design;
pub mod gain;
pub mod imported;
mod latencies;
mod measured;
mod metric;
pub mod order;
mod run;
pub mod sample_size;
pub mod stats;
pub mod steady;
pub mod targets;
mod tpcc;
pub mod trial;
pub mod verdict;

pub use cpu::{CpuRun, CpuThread, Frequency, FrequencySource, NoFrequency};
pub use design::{Design, DesignPart, DesignRefused, Scenario, WarmUp};
pub use latencies::{LARGEST_NSEC, Latencies, SMALLEST_NSEC};
pub use measured::{
    Counts, GeneratorUsage, Interval, KindMeasured, Measured, Schedule, Steadiness,
};
pub use metric::{Better, Metric};
pub use order::{Arm, PlannedRun, RunId, order};
pub use run::{Observed, Part, Run, ServerSeen};
pub use steady::{Standing, SteadyRule, standing};
pub use tpcc::{
    ConditionResult, Mix, NoServerCounters, Orders, OrdersAgreement, RandomChoice, Route,
    ServerTransactions, TpccRun, TransactionKind,
};
pub use trial::{Cell, Conditions, LostGenerator, Mechanism, MechanismSeen, Tier, Trial};
pub use verdict::{
    Comparison, Doubt, Effect, Interval95, Judgement, LimitedTier, Panel, Point, Question, Verdict,
    judge,
};
