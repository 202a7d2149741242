//! The plan as it is written: the document that `plan` makes and `apply` takes.

use crate::error::{DocumentError, VERSION, pretty, read};
use crate::finding::FindingDoc;
use crate::guest::{CacheLevelDoc, GuestCpuTopologyDoc, GuestFixDoc};
use crate::ledger::{ClaimDoc, ModeDoc};
use crate::levels::LevelsDoc;
use crate::reason::ReasonDoc;
use crate::request::RequestDoc;
use crate::wire::{IdDoc, ListDoc, Wire, by_vnode, wire};
use numawise_model::{
    Binding, Change, ChangedPart, CpuSet, Effect, GuestRef, GuestUuid, HelperPlacement, HostId,
    HostRef, MAX_ID, Mode, NodeSet, PageSize, Pcpu, Plan, PlanId, Pnode, Predicate, Vcpu,
    VirtualTopology, Vnode, VnumaNode,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const PLAN_SCHEMA: &str = "numawise.plan";

/// A plan. `binding` maps each vCPU to its pCPUs. `vnuma` is null when the guest sees no NUMA;
/// `guest_topology` and `emulate_l3` are null with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanDoc {
    pub schema: String,
    pub version: u32,
    pub id: String,
    pub host: HostRefDoc,
    pub guest: Option<GuestRefDoc>,
    pub request: RequestDoc,
    pub binding: BTreeMap<IdDoc<Vcpu>, ListDoc<Pcpu>>,
    pub binding_mode: ModeDoc,
    pub vnuma: Option<Vec<VnumaNodeDoc>>,
    pub guest_topology: Option<GuestCpuTopologyDoc>,
    pub emulate_l3: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest_l3_level: Option<CacheLevelDoc>,
    pub guest_topology_before: Option<GuestCpuTopologyDoc>,
    pub helpers: HelperPlacementDoc,
    pub claims: Vec<ClaimDoc>,
    pub fixes: Vec<GuestFixDoc>,
    pub changes: Vec<ChangeDoc>,
    pub requires: Vec<PredicateDoc>,
    pub levels: LevelsDoc,
    pub reasons: Vec<ReasonDoc>,
    pub findings: Vec<FindingDoc>,
}

wire! { struct HostRefDoc = HostRef { id: HostId, topology_digest: String } }
wire! { struct GuestRefDoc = GuestRef { name: String, uuid: GuestUuid, digest: String } }

wire! {
    struct HelperPlacementDoc = HelperPlacement {
        emulator: Option<CpuSet>,
        iothreads: BTreeMap<u32, CpuSet>,
    }
}

wire! {
    #[serde(tag = "predicate")]
    enum PredicateDoc = Predicate {
        CpusUnclaimed { cpus: CpuSet, mode: Mode },
        PagesAvailable {
            node: Pnode,
            #[serde(rename = "page_size_bytes")]
            size: PageSize,
            pages: u64,
        },
        FrozenTopology { digest: Option<String> },
    }
}

wire! { struct ChangeDoc = Change { what: ChangedPart, effect: Effect } }

wire! { enum EffectDoc = Effect { Live, NextBoot } }

/// The parts of a guest by name; a fix by its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ChangedPartDoc {
    VcpuPins,
    EmulatorPin,
    IothreadPins,
    VnumaNodes,
    GuestCpuTopology,
    MemoryBinding,
    Hugepages,
    Fix(GuestFixDoc),
}

impl Wire for ChangedPart {
    type Doc = ChangedPartDoc;
    fn to_doc(&self) -> ChangedPartDoc {
        match self {
            Self::VcpuPins => ChangedPartDoc::VcpuPins,
            Self::EmulatorPin => ChangedPartDoc::EmulatorPin,
            Self::IothreadPins => ChangedPartDoc::IothreadPins,
            Self::VnumaNodes => ChangedPartDoc::VnumaNodes,
            Self::GuestCpuTopology => ChangedPartDoc::GuestCpuTopology,
            Self::MemoryBinding => ChangedPartDoc::MemoryBinding,
            Self::Hugepages => ChangedPartDoc::Hugepages,
            Self::Fix(fix) => ChangedPartDoc::Fix(fix.to_doc()),
        }
    }
    fn from_doc(doc: ChangedPartDoc) -> Self {
        match doc {
            ChangedPartDoc::VcpuPins => Self::VcpuPins,
            ChangedPartDoc::EmulatorPin => Self::EmulatorPin,
            ChangedPartDoc::IothreadPins => Self::IothreadPins,
            ChangedPartDoc::VnumaNodes => Self::VnumaNodes,
            ChangedPartDoc::GuestCpuTopology => Self::GuestCpuTopology,
            ChangedPartDoc::MemoryBinding => Self::MemoryBinding,
            ChangedPartDoc::Hugepages => Self::Hugepages,
            ChangedPartDoc::Fix(fix) => Self::Fix(Wire::from_doc(fix)),
        }
    }
}

/// One vNUMA node with its place on the host; `distances` in the order of vNUMA node ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct VnumaNodeDoc {
    pub id: IdDoc<Vnode>,
    pub vcpus: ListDoc<Vcpu>,
    pub memory_bytes: u64,
    pub host_node: IdDoc<Pnode>,
    pub memory_node: IdDoc<Pnode>,
    /// Given only where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_nodes: Option<ListDoc<Pnode>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_nodes: Option<ListDoc<Pnode>>,
    pub distances: by_vnode::ByVnode,
}

impl Wire for VnumaNode {
    type Doc = VnumaNodeDoc;
    fn to_doc(&self) -> VnumaNodeDoc {
        let Self { id, vcpus, memory_bytes, host_nodes, memory_nodes, distances } = self;
        let several = |nodes: &NodeSet| (nodes.len() > 1).then(|| nodes.to_doc());
        VnumaNodeDoc {
            id: id.to_doc(),
            vcpus: vcpus.to_doc(),
            memory_bytes: *memory_bytes,
            host_node: self.host_node().to_doc(),
            memory_node: self.memory_node().to_doc(),
            host_nodes: several(host_nodes),
            memory_nodes: several(memory_nodes),
            distances: by_vnode::to_doc(distances),
        }
    }
    fn from_doc(doc: VnumaNodeDoc) -> Self {
        Self {
            id: doc.id.0,
            vcpus: doc.vcpus.0,
            memory_bytes: doc.memory_bytes,
            host_nodes: all_of(doc.host_nodes, doc.host_node.0),
            memory_nodes: all_of(doc.memory_nodes, doc.memory_node.0),
            distances: by_vnode::from_doc(doc.distances),
        }
    }
}

fn all_of(several: Option<ListDoc<Pnode>>, one: Pnode) -> NodeSet {
    several.map_or_else(|| NodeSet::single(one), |nodes| nodes.0)
}

impl PlanDoc {
    pub fn new(plan: &Plan) -> Self {
        let Plan {
            id,
            host,
            guest,
            request,
            binding,
            vnuma,
            cpu_before,
            helpers,
            claims,
            fixes,
            changes,
            requires,
            levels,
            reasons,
            findings,
        } = plan;
        Self {
            schema: PLAN_SCHEMA.to_owned(),
            version: VERSION,
            id: id.to_doc(),
            host: host.to_doc(),
            guest: guest.to_doc(),
            request: request.to_doc(),
            binding: binding.cpus.to_doc(),
            binding_mode: binding.mode.to_doc(),
            vnuma: vnuma.as_ref().map(|topology| topology.nodes.to_doc()),
            guest_topology: vnuma.as_ref().map(|topology| topology.cpu.to_doc()),
            emulate_l3: vnuma.as_ref().map(|topology| topology.emulate_l3),
            guest_l3_level: vnuma.as_ref().and_then(|topology| topology.l3_level.to_doc()),
            guest_topology_before: cpu_before.to_doc(),
            helpers: helpers.to_doc(),
            claims: claims.to_doc(),
            fixes: fixes.to_doc(),
            changes: changes.to_doc(),
            requires: requires.to_doc(),
            levels: levels.to_doc(),
            reasons: reasons.to_doc(),
            findings: findings.to_doc(),
        }
    }

    /// Fails where fields that belong together do not agree.
    pub fn into_plan(self) -> Result<Plan, DocumentError> {
        if self.schema != PLAN_SCHEMA {
            let found = self.schema;
            return Err(DocumentError::OtherSchema { wanted: PLAN_SCHEMA, found });
        }
        if self.version != VERSION {
            let found = self.version.to_string();
            return Err(DocumentError::UnknownVersion { schema: PLAN_SCHEMA, found });
        }
        // Sets are made of these numbers, and sets have room for so many ids.
        for (path, number) in [
            ("request.vcpus", self.request.vcpus),
            ("request.cells_per_node", self.request.cells_per_node),
        ] {
            if number > MAX_ID + 1 {
                let reason = format!("{number} is more than {}", MAX_ID + 1);
                return Err(DocumentError::field(PLAN_SCHEMA, path, reason));
            }
        }
        let mut vnuma = virtual_topology(self.vnuma, self.guest_topology, self.emulate_l3)?;
        if let Some(topology) = &mut vnuma {
            topology.l3_level = Wire::from_doc(self.guest_l3_level);
        }
        Ok(Plan {
            id: PlanId(self.id),
            host: Wire::from_doc(self.host),
            guest: Wire::from_doc(self.guest),
            request: Wire::from_doc(self.request),
            binding: Binding {
                cpus: Wire::from_doc(self.binding),
                mode: Wire::from_doc(self.binding_mode),
            },
            vnuma,
            cpu_before: Wire::from_doc(self.guest_topology_before),
            helpers: Wire::from_doc(self.helpers),
            claims: Wire::from_doc(self.claims),
            fixes: Wire::from_doc(self.fixes),
            changes: Wire::from_doc(self.changes),
            requires: Wire::from_doc(self.requires),
            levels: Wire::from_doc(self.levels),
            reasons: Wire::from_doc(self.reasons),
            findings: Wire::from_doc(self.findings),
        })
    }
}

fn virtual_topology(
    vnuma: Option<Vec<VnumaNodeDoc>>,
    cpu: Option<GuestCpuTopologyDoc>,
    emulate_l3: Option<bool>,
) -> Result<Option<VirtualTopology>, DocumentError> {
    let wrong = |path, reason| DocumentError::field(PLAN_SCHEMA, path, reason);
    match (vnuma, cpu, emulate_l3) {
        (None, None, None) => Ok(None),
        (Some(nodes), Some(cpu), Some(emulate_l3)) => Ok(Some(VirtualTopology {
            nodes: Wire::from_doc(nodes),
            cpu: Wire::from_doc(cpu),
            emulate_l3,
            l3_level: None,
        })),
        (None, Some(_), _) => Err(wrong("guest_topology", "null is wanted where vnuma is null")),
        (None, None, Some(_)) => Err(wrong("emulate_l3", "null is wanted where vnuma is null")),
        (Some(_), None, _) => Err(wrong("guest_topology", "it is missing, and vnuma is there")),
        (Some(_), Some(_), None) => Err(wrong("emulate_l3", "it is missing, and vnuma is there")),
    }
}

pub fn plan_to_json(plan: &Plan) -> String {
    pretty(&PlanDoc::new(plan))
}

pub fn parse_plan(text: &str) -> Result<Plan, DocumentError> {
    read::<PlanDoc>(text, PLAN_SCHEMA)?.into_plan()
}
