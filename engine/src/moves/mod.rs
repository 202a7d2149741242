//! Moving a guest to another host, with new pins and nodes, such that one host holds claims for it.
//!
//! # The problem
//!
//! Pins and memory nodes name things of one host. Copied to another they name other things, which
//! somebody else may have: two guests on one pCPU. So the guest is planned for on the other host, by
//! that host's ledger, and what it sees stays as it is: the frozen topology is kept to the letter, and
//! only pins and the nodes that its memory comes from are new.
//!
//! # Approach
//!
//! Each host has a document of its own, and no transaction spans two. A move is an intent in both,
//! under one id, and the order in which they are written makes every moment readable:
//!
//! 1. the source's document: the intent. Its claims stand.
//! 2. the destination's: the intent with the claims there. Both claims stand.
//! 3. the journal: both definitions, and whether the guest ran.
//! 4. the guest goes: its definition alone, or running.
//! 5. its definition goes from the source.
//! 6. the destination's document: the guest's record.
//! 7. the source's: record and claims go, the intent is done.
//! 8. the destination's: the intent is done.
//!
//! On the way back the destination's document comes first, then the source's. So an intent that
//! waits at the source alone means that nothing is left to take back, and one that waits at the
//! destination alone that all is done: neither needs the other host. Where both wait, both hosts are
//! looked at, and where the guest is decides ([`settle`]). Until that is possible both claims stand,
//! and no pCPU is given to anybody else.
//!
//! The locks of both hosts are held from before the first to after the last, taken in the order of
//! their ids.
//!
//! To read: [`planning`] (for one guest or many), [`refusals`], [`carry_out`], [`settle`] (forward or
//! back), [`recover`] (after a crash).

mod carry_out;
mod planning;
pub mod ports;
mod recover;
mod refusals;
mod requests;
mod settle;

pub use planning::{MovingGuest, PlannedMove};

use crate::intent::{IntentId, Peer};
use numawise_model::{FrozenTopology, GuestUuid, Plan};
use ports::Travel;

/// What the operator wants of a move.
#[derive(Clone, Debug)]
pub struct MoveOptions {
    pub intent: IntentId,
    pub wanted: Wanted,
    /// Addresses by which a later command reaches either end.
    pub from_uri: String,
    pub to_uri: String,
    /// The definition stays at the source, off. The claims there go all the same.
    pub keep_source: bool,
    /// The guest's files are taken to be there, whether they are seen or not.
    pub assume_files: bool,
    pub override_owner: bool,
    /// Guests of the destination that are off lose claims that stand in the way.
    pub ignore_stopped: bool,
    pub travel: Travel,
}

/// Which kind of move is right for the guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Running if it runs, its definition alone if it is off.
    #[default]
    AsItIs,
    Running,
    Off,
}

/// A move that has begun, by its documents and its journal.
pub(crate) struct Move {
    pub id: IntentId,
    pub guest: GuestUuid,
    pub name: String,
    pub from: Peer,
    pub to: Peer,
    pub keep_source: bool,
    pub plan: Option<Box<Plan>>,
    pub frozen: Option<FrozenTopology>,
}
