//! The tuning of a host as it is written: the plan that `host tune plan` makes, what the store keeps
//! of it, and what the commands print.

use crate::error::{DocumentError, VERSION, compact, pretty, read};
use crate::wire::{Wire, wire};
use numawise_model::{
    ChangeKind, CpuSet, Expectation, Isolation, Moment, PageSize, PathState, Place, PlanId, Pnode,
    Setting, Switch, TuningChange, TuningEntry, TuningFinding, TuningOperation, TuningPlan,
    TuningReason, TuningRecord, TuningRequest,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const TUNING_PLAN_SCHEMA: &str = "numawise.tuning-plan";
pub const TUNING_RECORD_SCHEMA: &str = "numawise.tuning-record";

/// Exactly what would be written, in the order in which it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TuningPlanDoc {
    pub schema: String,
    pub version: u32,
    pub id: String,
    pub host_id: String,
    pub request: TuningRequestDoc,
    pub changes: Vec<TuningChangeDoc>,
    pub expects: Vec<ExpectationDoc>,
    pub findings: Vec<TuningFindingDoc>,
}

wire! {
    /// `hugepages` counts pages by page size in bytes, then by node.
    struct TuningRequestDoc = TuningRequest {
        hugepages: BTreeMap<PageSize, BTreeMap<Pnode, u64>>,
        guest_cpus: CpuSet,
        isolation: Isolation,
        guest_cgroup: Option<String>,
        workqueues: Place,
        interrupts: Place,
        numa_balancing: Switch,
        ksm_across_nodes: Switch,
        zone_reclaim: Switch,
        moment: Moment,
    }
}

wire! { enum IsolationDoc = Isolation { None, Partition, PartitionIsolated, Systemd } }
wire! { enum PlaceDoc = Place { HostCpus, Keep } }
wire! { enum SwitchDoc = Switch { On, Off, Keep } }
wire! { enum MomentDoc = Moment { Both, Now, Boot } }
wire! { enum ChangeKindDoc = ChangeKind { Runtime, Persistent } }
wire! {
    enum SettingDoc = Setting {
        Workqueues, Interrupts, NumaBalancing, KsmAcrossNodes, ZoneReclaim, Hugepages,
    }
}

/// `"absent"`, `"folder"` or `{"text": ".."}`, byte for byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PathStateDoc {
    Absent,
    Folder,
    Text(String),
}

impl Wire for PathState {
    type Doc = PathStateDoc;
    fn to_doc(&self) -> PathStateDoc {
        match self {
            Self::Absent => PathStateDoc::Absent,
            Self::Folder => PathStateDoc::Folder,
            Self::Text(text) => PathStateDoc::Text(text.clone()),
        }
    }
    fn from_doc(doc: PathStateDoc) -> Self {
        match doc {
            PathStateDoc::Absent => Self::Absent,
            PathStateDoc::Folder => Self::Folder,
            PathStateDoc::Text(text) => Self::Text(text),
        }
    }
}

wire! {
    struct TuningChangeDoc = TuningChange {
        path: String,
        kind: ChangeKind,
        before: PathState,
        after: PathState,
        why: TuningReason,
    }
}

wire! { struct ExpectationDoc = Expectation { path: String, cpus: CpuSet } }

wire! {
    #[serde(tag = "reason")]
    enum TuningReasonDoc = TuningReason {
        Hugepages { node: Pnode, #[serde(rename = "page_size_bytes")] size: PageSize, pages: u64 },
        Workqueues { cpus: CpuSet },
        Interrupts { cpus: CpuSet },
        NumaBalancing { on: bool },
        KsmAcrossNodes { on: bool },
        ZoneReclaim { on: bool },
        GuestCgroup,
        GuestCpus { cpus: CpuSet },
        Partition { balanced: bool },
        Slice { slice: String, cpus: CpuSet },
        AtBoot,
        Folder,
        NoLongerAsked,
    }
}

wire! {
    #[serde(tag = "rule")]
    enum TuningFindingDoc = TuningFinding {
        Missing { path: String, what: Setting },
        HugepagesMayFallShort { node: Pnode, wanted_bytes: u64, available_bytes: u64 },
        HugepagesInUse {
            node: Pnode,
            #[serde(rename = "page_size_bytes")]
            size: PageSize,
            in_use: u64,
            wanted: u64,
        },
        KernelArgument { argument: String },
        KsmShares { pages: u64 },
        NoHostCpus,
        OverriddenAtBoot { file: String, key: String, value: String },
        PartitionNotAtBoot { cgroup: String },
        HugepagesShort {
            node: Pnode,
            #[serde(rename = "page_size_bytes")]
            size: PageSize,
            wanted: u64,
            got: u64,
        },
        PartitionInvalid { path: String, seen: String },
        NotAsWritten { path: String, wanted: String, seen: Option<String> },
        NotInEffect { path: String, wanted: CpuSet, seen: Option<String> },
        FolderKept { path: String },
    }
}

/// What the store keeps of a host's tuning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TuningRecordDoc {
    pub schema: String,
    pub version: u32,
    pub plan: Option<String>,
    pub in_force: Vec<TuningEntryDoc>,
    pub operation: Option<TuningOperationDoc>,
}

wire! {
    struct TuningEntryDoc = TuningEntry {
        path: String,
        kind: ChangeKind,
        before: PathState,
        wrote: PathState,
        seen: PathState,
    }
}

wire! {
    struct TuningOperationDoc = TuningOperation {
        undo: bool,
        plan: PlanId,
        changes: Vec<TuningChange>,
        begun: u64,
    }
}

pub fn tuning_plan_to_json(plan: &TuningPlan) -> String {
    pretty(&TuningPlanDoc {
        schema: TUNING_PLAN_SCHEMA.to_owned(),
        version: VERSION,
        id: plan.id.to_doc(),
        host_id: plan.host.to_doc(),
        request: plan.request.to_doc(),
        changes: plan.changes.to_doc(),
        expects: plan.expects.to_doc(),
        findings: plan.findings.to_doc(),
    })
}

pub fn parse_tuning_plan(text: &str) -> Result<TuningPlan, DocumentError> {
    let doc: TuningPlanDoc = read(text, TUNING_PLAN_SCHEMA)?;
    Ok(TuningPlan {
        id: Wire::from_doc(doc.id),
        host: Wire::from_doc(doc.host_id),
        request: Wire::from_doc(doc.request),
        changes: Wire::from_doc(doc.changes),
        expects: Wire::from_doc(doc.expects),
        findings: Wire::from_doc(doc.findings),
    })
}

pub fn tuning_record_to_json(record: &TuningRecord) -> String {
    compact(&TuningRecordDoc {
        schema: TUNING_RECORD_SCHEMA.to_owned(),
        version: VERSION,
        plan: record.plan.to_doc(),
        in_force: record.in_force.to_doc(),
        operation: record.operation.to_doc(),
    })
}

pub fn parse_tuning_record(text: &str) -> Result<TuningRecord, DocumentError> {
    let doc: TuningRecordDoc = read(text, TUNING_RECORD_SCHEMA)?;
    Ok(TuningRecord {
        plan: Wire::from_doc(doc.plan),
        in_force: Wire::from_doc(doc.in_force),
        operation: Wire::from_doc(doc.operation),
    })
}

#[derive(Serialize)]
struct OutcomeDoc<'a> {
    schema: &'static str,
    version: u32,
    host_id: &'a str,
    /// The plan in force; null when there is none.
    plan_id: Option<&'a str>,
    agrees: bool,
    findings: Vec<TuningFindingDoc>,
}

/// `numawise.tuning-outcome`: how an apply or an undo ended, or how a tuning stands.
pub fn tuning_outcome_to_json(
    host_id: &str,
    plan_id: Option<&str>,
    findings: &[TuningFinding],
) -> String {
    pretty(&OutcomeDoc {
        schema: "numawise.tuning-outcome",
        version: VERSION,
        host_id,
        plan_id,
        agrees: !findings.iter().any(TuningFinding::is_drift),
        findings: findings.iter().map(Wire::to_doc).collect(),
    })
}
