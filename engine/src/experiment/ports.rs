//! What an experiment needs of the outside: something to put placements in place and run loads, and a
//! place for results.

use super::Cell;
use crate::ports::{Cancel, HostLock, PortError};
use core::time::Duration;
use numawise_documents::experiment::ExperimentRecord;
use numawise_experiment::{Observed, Run};

/// How a run stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    pub elapsed: Duration,
    pub warming_up: bool,
    pub transactions_per_sec: f64,
    pub p95: Option<Duration>,
    pub errors: u64,
}

/// Puts scenarios in place, and runs workloads.
pub trait Bench {
    /// In place, and seen to be in place, when it returns.
    fn apply(&mut self, scenario: &str, host: &str, cancel: &Cancel) -> Result<(), PortError>;
    /// As it was before.
    fn leave(&mut self, scenario: &str, host: &str) -> Result<(), PortError>;
    /// Warms up, measures, and looks at what stood beside it.
    fn run(
        &mut self,
        cell: &Cell<'_>,
        cancel: &Cancel,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Observed, PortError>;
}

/// Experiments and their raw runs. They stay on the machine that made them.
pub trait Results {
    /// Held by whoever carries an experiment out.
    fn lock_experiment(&self, name: &str, cancel: &Cancel) -> Result<Box<dyn HostLock>, PortError>;
    fn experiment(&self, name: &str) -> Result<Option<ExperimentRecord>, PortError>;
    /// Names with the time at which they were begun, the newest last.
    fn experiments(&self) -> Result<Vec<(String, i64)>, PortError>;
    /// A name that is there already is refused.
    fn begin(&self, experiment: &ExperimentRecord) -> Result<(), PortError>;
    /// Puts a design of more blocks in the place of the one that is there.
    fn extend(&self, experiment: &ExperimentRecord) -> Result<(), PortError>;
    fn run_ids(&self, experiment: &str) -> Result<Vec<String>, PortError>;
    /// In the order in which they were made.
    fn runs(&self, experiment: &str) -> Result<Vec<Run>, PortError>;
    /// Durable when it returns. A run that is recorded already is refused, and stays as it is.
    fn record(&self, experiment: &str, run: &Run) -> Result<(), PortError>;
    /// With all of its runs.
    fn forget(&self, experiment: &str) -> Result<(), PortError>;
}

/// Time as an experiment needs it.
pub trait ExperimentClock {
    fn now_unix_sec(&self) -> i64;
    fn wait(&self, time: Duration, cancel: &Cancel) -> Result<(), PortError>;
}
