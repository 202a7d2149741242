//! What the store keeps, as it is written. The engine has the types these stand for and goes
//! between the two; here are only their shapes and texts.

use crate::error::{DocumentError, VERSION, compact, read};
use crate::finding::ForeignOwnerDoc;
use crate::guest::FrozenDoc;
use crate::ledger::LedgerDoc;
use crate::plan::PlanDoc;
use crate::wire::{IdDoc, wire};
use numawise_model::{CpuSet, Pcpu, Pins, Vcpu};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const HOST_STATE_SCHEMA: &str = "numawise.host-state";
pub const STEP_SCHEMA: &str = "numawise.step";
pub const USAGE_SCHEMA: &str = "numawise.usage-sample";

/// One host's document under compare-and-set. Guests by UUID.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HostStateDoc {
    pub schema: String,
    pub version: u32,
    pub revision: u64,
    pub ledger: LedgerDoc,
    pub intents: Vec<IntentDoc>,
    pub guests: BTreeMap<String, GuestRecordDoc>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IntentDoc {
    pub id: String,
    pub guest: String,
    pub guest_name: String,
    pub kind: IntentKindDoc,
    pub restart: bool,
    #[serde(default)]
    pub live: bool,
    /// Who else owns the guest, where the change was made all the same.
    #[serde(default)]
    pub overridden: Option<ForeignOwnerDoc>,
    pub base_revision: u64,
    pub status: IntentStatusDoc,
    pub created_unix_sec: i64,
}

/// `{"apply": {"plan": {..}}}` or `{"undo": {"applied": "<intent>"}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum IntentKindDoc {
    Apply {
        plan: Box<PlanDoc>,
    },
    Undo {
        applied: String,
    },
    /// On the host that the guest leaves. Its claims there stand until it has arrived.
    MoveOut {
        to: PeerDoc,
        keep_source: bool,
    },
    /// On the host that it comes to, together with the claims there.
    MoveIn {
        from: PeerDoc,
        plan: Option<Box<PlanDoc>>,
        frozen: Option<FrozenDoc>,
    },
}

/// The other end of a move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PeerDoc {
    pub host: String,
    pub uri: String,
}

/// `"pending"`, `"done"` or `{"rolled-back": {"because": ".."}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum IntentStatusDoc {
    Pending,
    Done,
    RolledBack { because: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GuestRecordDoc {
    pub name: String,
    pub frozen: Option<FrozenDoc>,
    /// The plan in force first, then those before it: a list, since parsers limit how deep a
    /// document may nest.
    pub applied: Vec<AppliedPlanDoc>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AppliedPlanDoc {
    pub intent: String,
    pub plan: PlanDoc,
}

/// A step of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StepDoc {
    pub schema: String,
    pub version: u32,
    pub step: StepKindDoc,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum StepKindDoc {
    Backup { before_xml: String, after_xml: String, was_running: bool },
    OwnerOverridden { owner: ForeignOwnerDoc },
    LivePins { before: PinsDoc },
    Defined,
    PinnedLive,
    ShutdownAsked,
    ShutDown,
    Started,
    Verified { findings: u32 },
    Finished,
    RollBack { because: String },
    RolledBack,
    Moved { from_uri: String, to_uri: String },
    Arrived,
    SourceUndefined,
}

wire! {
    /// Where the threads of a running guest may run.
    struct PinsDoc = Pins {
        vcpus: BTreeMap<Vcpu, CpuSet>,
        emulator: Option<CpuSet>,
        iothreads: BTreeMap<u32, CpuSet>,
    }
}

/// The kernel's counters of every pCPU at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UsageSampleDoc {
    pub schema: String,
    pub version: u32,
    pub at_unix_sec: i64,
    pub boot_unix_sec: i64,
    pub cpus: BTreeMap<IdDoc<Pcpu>, CpuTicksDoc>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CpuTicksDoc {
    pub busy_ticks: u64,
    pub total_ticks: u64,
}

impl HostStateDoc {
    pub fn new(revision: u64, ledger: LedgerDoc) -> Self {
        Self {
            schema: HOST_STATE_SCHEMA.to_owned(),
            version: VERSION,
            revision,
            ledger,
            intents: Vec::new(),
            guests: BTreeMap::new(),
        }
    }

    pub fn to_json(&self) -> String {
        compact(self)
    }

    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        read(text, HOST_STATE_SCHEMA)
    }
}

impl StepDoc {
    pub fn new(step: StepKindDoc) -> Self {
        Self { schema: STEP_SCHEMA.to_owned(), version: VERSION, step }
    }

    pub fn to_json(&self) -> String {
        compact(self)
    }

    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        read(text, STEP_SCHEMA)
    }
}

impl UsageSampleDoc {
    pub fn new(
        at_unix_sec: i64,
        boot_unix_sec: i64,
        cpus: BTreeMap<IdDoc<Pcpu>, CpuTicksDoc>,
    ) -> Self {
        Self { schema: USAGE_SCHEMA.to_owned(), version: VERSION, at_unix_sec, boot_unix_sec, cpus }
    }

    pub fn to_json(&self) -> String {
        compact(self)
    }

    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        read(text, USAGE_SCHEMA)
    }
}
