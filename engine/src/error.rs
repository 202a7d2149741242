//! What can go wrong in the loop, one variant per thing a user would do something different about.

use crate::ports::{PortError, UndoConflict};
use numawise_model::{CpuSet, Finding, NodeSet, Predicate, Refusal};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum EngineError {
    #[error(transparent)]
    Port(#[from] PortError),
    /// A constraint binds; nothing was written.
    #[error("the request is refused")]
    Refused(Vec<Refusal>),
    /// The plan was made from a state that has changed, or another claim was first.
    #[error("the plan is stale: {0}")]
    Stale(Staleness),
    /// Elements that numawise wrote say something else today.
    #[error("elements that numawise wrote were changed since")]
    UndoConflicts(Vec<UndoConflict>),
    #[error("no numawise plan is in force for guest '{guest}'")]
    NothingApplied { guest: String },
    /// The plan is for a size, not for a guest.
    #[error("this plan names no guest, so there is nothing to apply it to")]
    PlanWithoutGuest,
    /// The judge found what the planner should not have given: a defect, and nothing was written.
    #[error("the plan breaks numawise's own rules")]
    Judged(Vec<Finding>),
    /// A plan document that says what no plan of numawise says.
    #[error(
        "the plan breaks the rules that every plan keeps: it was edited, or made for other pools"
    )]
    PlanEdited(Vec<Finding>),
    /// Of a guest that is to come from another host; nothing was written.
    #[error("guest '{guest}' does not fit on the host at {at}")]
    NoRoomThere { guest: String, at: String, refusals: Vec<Refusal> },
    /// What was written before was written into the definition on another host.
    #[error("guest '{guest}' came with a move from {from_uri}, which undo does not take back")]
    CameWithMove { guest: String, from_uri: String },
    /// The old state is back.
    #[error("{because}; the old state was put back")]
    RolledBack { because: String, cancelled: bool },
    /// The new state is in force, and the store does not know it yet.
    #[error("the new state is in force, but could not be recorded: {because}")]
    NotRecorded { because: String },
    /// Not even that worked.
    #[error("{because}; putting the old state back failed too: {again}")]
    Stuck { because: String, again: String },
}

/// In which way the world is no longer the plan's.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Staleness {
    #[error("it was made for host {planned}, this is host {here}")]
    OtherHost { planned: String, here: String },
    #[error("the host's topology has changed since")]
    Topology,
    /// A cgroup keeps guests off these.
    #[error("pCPUs {cpus} are not left to guests any more (by {by})")]
    CpusTaken { cpus: CpuSet, by: String },
    #[error("memory of nodes {nodes} is not left to guests any more (by {by})")]
    MemoryTaken { nodes: NodeSet, by: String },
    #[error("the definition of guest '{guest}' has changed since")]
    GuestChanged { guest: String },
    #[error("guest '{guest}' is gone, or another one has its name")]
    GuestGone { guest: String },
    #[error("guest '{guest}' has moved to {to}")]
    MovedAway { guest: String, to: String },
    #[error("guest '{guest}' is being moved to {to}, or an interrupted move of it waits")]
    BeingMoved { guest: String, to: String },
    #[error("guest '{guest}' was started or stopped since")]
    StartedOrStopped { guest: String },
    #[error("it needs what is no longer so")]
    Predicates(Vec<Predicate>),
    #[error("the frozen topology of the guest has changed since")]
    Frozen,
}
