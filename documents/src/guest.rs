//! What a guest sees and what was seen of it, as it is written.

use crate::error::{DocumentError, VERSION, compact, read};
use crate::wire::{IdDoc, ListDoc, Wire, by_vnode, wire};
use numawise_model::guest::{CacheLevel, GuestCell};
use numawise_model::{
    CpuSet, FrozenTopology, GuestCpuTopology, GuestFacts, GuestFix, MemoryMode, PageCounts, Sight,
    Unseen, Vcpu, VcpuSet, Vnode,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const FROZEN_SCHEMA: &str = "numawise.frozen-topology";

wire! {
    struct GuestCpuTopologyDoc = GuestCpuTopology {
        sockets: u32,
        dies: u32,
        clusters: u32,
        cores: u32,
        threads: u32,
    }
}

wire! { enum MemoryModeDoc = MemoryMode { Strict, Preferred, Restrictive, Interleave } }

wire! {
    enum GuestFixDoc = GuestFix { BalloonOff, AllVcpusAtBoot, NoMemoryHotplug, StaticPlacement }
}

/// One vNUMA node as the guest sees it; `distances` in the order of vNUMA node ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GuestCellDoc {
    pub id: IdDoc<Vnode>,
    pub vcpus: ListDoc<Vcpu>,
    pub memory_bytes: u64,
    pub distances: by_vnode::ByVnode,
}

impl Wire for GuestCell {
    type Doc = GuestCellDoc;
    fn to_doc(&self) -> GuestCellDoc {
        GuestCellDoc {
            id: self.id.to_doc(),
            vcpus: self.vcpus.to_doc(),
            memory_bytes: self.memory_bytes,
            distances: by_vnode::to_doc(&self.distances),
        }
    }
    fn from_doc(doc: GuestCellDoc) -> Self {
        Self {
            id: doc.id.0,
            vcpus: doc.vcpus.0,
            memory_bytes: doc.memory_bytes,
            distances: by_vnode::from_doc(doc.distances),
        }
    }
}

/// The topology that a guest keeps. It is also the text of the `<numawise:topology>` note.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FrozenDoc {
    pub schema: String,
    pub version: u32,
    pub vnuma: Vec<GuestCellDoc>,
    pub guest_topology: GuestCpuTopologyDoc,
    pub guest_topology_before: Option<GuestCpuTopologyDoc>,
}

impl Wire for FrozenTopology {
    type Doc = FrozenDoc;
    fn to_doc(&self) -> FrozenDoc {
        FrozenDoc {
            schema: FROZEN_SCHEMA.to_owned(),
            version: VERSION,
            vnuma: self.cells.to_doc(),
            guest_topology: self.cpu.to_doc(),
            guest_topology_before: self.cpu_before.to_doc(),
        }
    }
    fn from_doc(doc: FrozenDoc) -> Self {
        Self {
            cells: Wire::from_doc(doc.vnuma),
            cpu: Wire::from_doc(doc.guest_topology),
            cpu_before: Wire::from_doc(doc.guest_topology_before),
        }
    }
}

/// One line, fit for the metadata of a domain once its quotes are escaped.
pub fn frozen_to_json(frozen: &FrozenTopology) -> String {
    compact(&frozen.to_doc())
}

pub fn parse_frozen(text: &str) -> Result<FrozenTopology, DocumentError> {
    read::<FrozenDoc>(text, FROZEN_SCHEMA).map(FrozenTopology::from_doc)
}

wire! { enum CacheLevelDoc = CacheLevel { Core, Cluster, Die, Socket } }

wire! {
    /// What was seen of a running guest. Pages count by node, then by page size in bytes.
    struct GuestFactsDoc = GuestFacts {
        vcpu_affinity: BTreeMap<Vcpu, CpuSet>,
        emulator_affinity: Option<CpuSet>,
        iothread_affinity: BTreeMap<u32, CpuSet>,
        pages: PageCounts,
        pages_by_vnode: Option<BTreeMap<Vnode, PageCounts>>,
        guest_cells: Option<Vec<GuestCell>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        guest_l3: Option<Vec<VcpuSet>>,
        vcpu_cgroup: BTreeMap<Vcpu, CpuSet>,
        unseen: Vec<Unseen>,
    }
}

wire! { struct UnseenDoc = Unseen { what: Sight, why: String } }

wire! { enum SightDoc = Sight { Threads, Pages, GuestNodes } }
