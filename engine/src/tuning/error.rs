//! What can go wrong in a tuning, one variant per thing a user would do something different about.

use crate::ports::PortError;
use numawise_model::{HostId, PathState, TuningRefusal};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum TuningError {
    #[error(transparent)]
    Port(#[from] PortError),
    #[error("the request is refused")]
    Refused(Vec<TuningRefusal>),
    #[error("the plan is stale: {0}")]
    Stale(TuningStale),
    #[error("values that numawise wrote were changed since")]
    UndoConflicts(Vec<TuningConflict>),
    #[error("no tuning of numawise is in force on this host")]
    NothingApplied,
    /// Everything is as it was before the command.
    #[error("{cause}; everything that was written before was put back")]
    RolledBack { path: String, cause: PortError },
    /// Not even that worked; the record is kept, and the next command tries again.
    #[error("{because}; putting the old values back failed too: {again}")]
    Stuck { because: String, again: String },
}

/// A value that is no longer what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningConflict {
    pub path: String,
    pub before: PathState,
    /// Or would have written.
    pub wrote: PathState,
    pub now: PathState,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum TuningStale {
    #[error("it was made for host {planned}, this is host {here}")]
    OtherHost { planned: HostId, here: HostId },
    #[error("files of the host say something else today")]
    Values(Vec<TuningConflict>),
    /// Nothing that it names differs: more or fewer files would be written, or it was edited.
    #[error("what it asks for leads to other changes today, or it was edited")]
    OtherChanges,
}
