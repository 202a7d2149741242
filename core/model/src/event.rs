//! What happens while a plan is carried out. The engine emits these; only the command line prints.

use crate::finding::Finding;
use crate::migration::MoveProgress;
use crate::obstacle::{ForeignOwner, Obstacle};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Intent and claims are written.
    Claimed {
        guest: String,
        intent: String,
    },
    /// Somebody else was first; the ledger is read again.
    ClaimRaced {
        attempt: u32,
    },
    /// Another process holds the host.
    WaitingForHostLock,
    Defined {
        guest: String,
    },
    /// The XML already says so.
    NothingToDefine {
        guest: String,
    },
    ShuttingDown {
        guest: String,
    },
    /// It did not stop in time, and `--force` was given.
    ForcedOff {
        guest: String,
    },
    /// The threads of the running guest were moved.
    PinnedLive {
        guest: String,
    },
    /// Asked to move threads of a guest that is off.
    NothingToMove {
        guest: String,
    },
    /// Told to go on although somebody else owns the guest.
    OwnerOverridden {
        guest: String,
        owner: ForeignOwner,
    },
    /// In nobody's way now, but worth knowing.
    ObstacleNoticed {
        guest: String,
        obstacle: Obstacle,
    },
    Starting {
        guest: String,
    },
    Running {
        guest: String,
    },
    /// The definition is new, the running guest is not.
    TakesEffectAtNextBoot {
        guest: String,
    },
    TopologyFrozen {
        guest: String,
    },
    Verified {
        guest: String,
        findings: Vec<Finding>,
    },
    RollingBack {
        guest: String,
        because: String,
    },
    RolledBack {
        guest: String,
    },
    /// Somebody has changed what was to be taken back: theirs stays.
    LeftAsEdited {
        guest: String,
    },
    /// It was asked to shut down, which cannot be taken back, and has not done so yet.
    MayStillShutDown {
        guest: String,
    },
    /// An interrupted intent was found and brought to its end.
    Recovered {
        guest: String,
        intent: String,
        outcome: Recovery,
    },
    ClaimsReleased {
        guest: String,
    },
    /// The guest is on its way to another host.
    Moving {
        guest: String,
        to: String,
        live: bool,
    },
    MoveProgressed {
        guest: String,
        progress: MoveProgress,
    },
    /// It is defined there, and runs there if it ran.
    Arrived {
        guest: String,
        at: String,
    },
    /// Its definition is gone from the host that it left.
    LeftSource {
        guest: String,
        from: String,
    },
    /// An interrupted move whose other end cannot be reached now: both claims stand until it can.
    MoveWaits {
        guest: String,
        intent: String,
        peer: String,
        why: String,
    },
}

/// What changes while guests are watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// A guest is there that was not.
    Appeared {
        guest: String,
    },
    Vanished {
        guest: String,
    },
    Started {
        guest: String,
    },
    Stopped {
        guest: String,
    },
    /// A finding that was not there at the look before.
    Found {
        finding: Finding,
    },
    Gone {
        finding: Finding,
    },
    /// Nothing can be looked at; it is tried again.
    Blind {
        why: String,
    },
    SeesAgain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// It was carried on to the new state.
    Finished,
    /// It was taken back to the old state.
    Reverted,
}
