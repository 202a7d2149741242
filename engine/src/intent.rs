//! What the store keeps of a host: the ledger, what is to be done, and what became of it.

use numawise_model::{ForeignOwner, FrozenTopology, GuestUuid, HostId, Ledger, Pins, Plan};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IntentId(pub String);

impl fmt::Display for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// One host's document under compare-and-set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostState {
    pub revision: u64,
    pub ledger: Ledger,
    /// Unfinished ones, and the last finished one of each guest.
    pub intents: Vec<Intent>,
    pub guests: BTreeMap<GuestUuid, GuestRecord>,
}

/// How far a change is to go beyond the stored definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    pub restart: bool,
    /// Move the threads of the running guest at once.
    pub live: bool,
    /// Go on although another manager owns the guest.
    pub override_owner: bool,
}

/// A wish that is to be carried out: written together with its claims, in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    pub id: IntentId,
    pub guest: GuestUuid,
    pub guest_name: String,
    pub kind: IntentKind,
    pub restart: bool,
    /// The threads of the running guest are moved, without a restart. Never together with one.
    pub live: bool,
    /// Who else owns the guest, where the operator went on all the same.
    pub overridden: Option<ForeignOwner>,
    /// Revision of the host's document that the intent was written on.
    pub base_revision: u64,
    pub status: IntentStatus,
    pub created_unix_sec: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntentKind {
    Apply {
        plan: Box<Plan>,
    },
    /// Takes back what `applied` wrote.
    Undo {
        applied: IntentId,
    },
    /// On the host that the guest leaves. The two halves of a move have one id.
    MoveOut {
        to: Peer,
        /// The definition stays where it was, off.
        keep_source: bool,
    },
    /// On the host that it comes to.
    MoveIn {
        from: Peer,
        /// `None` for a guest that is tied to nothing.
        plan: Option<Box<Plan>>,
        /// Goes with the guest.
        frozen: Option<FrozenTopology>,
    },
}

/// The other end of a move: which host it is, and how it was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub host: HostId,
    pub uri: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntentStatus {
    Pending,
    Done,
    RolledBack { because: String },
}

/// What numawise knows of a guest beyond its XML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestRecord {
    pub name: String,
    /// Seen running with it under a numawise plan.
    pub frozen: Option<FrozenTopology>,
    /// The plan in force, if any, and the intent that brought it.
    pub applied: Option<AppliedPlan>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedPlan {
    pub intent: IntentId,
    pub plan: Box<Plan>,
    /// What stood in the guest's record before, so that undo can put it back.
    pub previous: Option<Box<AppliedPlan>>,
}

/// One step of carrying out an intent. A step is journaled before the next one begins; `Backup`
/// is journaled before anything is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Whole XML before and after (mode 0600 wherever it is kept), and whether the guest ran.
    Backup {
        before_xml: String,
        after_xml: String,
        was_running: bool,
    },
    /// Kept in the journal beyond the intent, for whoever wonders later.
    OwnerOverridden {
        owner: ForeignOwner,
    },
    /// Where the threads of the running guest were allowed to run; journaled before any is moved.
    LivePins {
        before: Pins,
    },
    Defined,
    PinnedLive,
    /// The guest was asked to go; nobody can take that back.
    ShutdownAsked,
    ShutDown,
    Started,
    Verified {
        findings: u32,
    },
    /// The status in the host's document says how it ended.
    Finished,
    /// From here on the old state is wanted.
    RollBack {
        because: String,
    },
    RolledBack,
    /// The plan of this intent was made for another host than `Backup::before_xml` comes from.
    Moved {
        from_uri: String,
        to_uri: String,
    },
    /// The guest is on the host that it was to come to.
    Arrived,
    SourceUndefined,
}
