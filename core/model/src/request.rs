//! What is asked for.

use crate::id_set::{CpuSet, NodeSet, VcpuSet};
use crate::ids::Pnode;
use crate::levels::PageSize;
use crate::placement::Best;
use crate::plan::MemoryMode;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub vcpus: u32,
    pub memory_bytes: u64,
    pub page_size: PageSize,
    pub policy: Policy,
    /// The published rule verbatim: several guests may use a pCPU.
    pub shared: bool,
    /// More vCPUs than pCPUs, or several vCPUs of this guest on one pCPU.
    pub overcommit: bool,
    /// Give the guest vNUMA; off keeps the binding alone.
    pub vnuma: bool,
    /// vNUMA nodes per pNUMA node; more than 1 is for trying a topology on a small machine.
    pub cells_per_node: u32,
    /// Licences that count sockets.
    pub max_sockets: Option<u32>,
    pub memory_mode: MemoryMode,
    /// The frozen virtual topology may change.
    pub new_topology: bool,
    /// Put the edits that vNUMA needs (no balloon, no hot-plug) into the plan.
    pub fix_guest: bool,
    /// Memory of nodes without CPUs (CXL, HBM); they are left out when absent.
    pub memory_only: Option<MemoryOnly>,
    /// How the guest is told of its L3 caches; by dies, when absent.
    pub guest_cache: Option<GuestCache>,
}

/// What memory-only nodes are asked to give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryOnly {
    /// All memory of a vNUMA node, from the nearest such node.
    Near,
    /// What the node of its vCPUs is short of, from the nearest such node.
    Spill,
    /// All memory, from the nearest of these; from several where they are equally near.
    Nodes(NodeSet),
}

/// How the guest is told which of its vCPUs share an L3 cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestCache {
    /// By QEMU's `smp-cache` where dies cannot say it, or can be spared; libvirt has no element for
    /// it, so the guest gets QEMU arguments of its own.
    SmpCache,
    /// Not at all: one die a socket, and no L3 element.
    Off,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The published rule: nodes by descending id, cores ascending, siblings adjacent.
    Smart,
    /// vCPUs by node; inside a node as `Smart` goes.
    OnNode(Vec<(Pnode, VcpuSet)>),
    /// The best place by ordered preferences: compact, spread, or a number of L3 domains.
    Best(Best),
    /// Several rules for a vCPU are united.
    Rules(Vec<BindRule>),
    /// No binding at all: what `unbind` asks for.
    Unbound,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindRule {
    pub vcpus: VcpuSet,
    pub pcpus: CpuSet,
}

/// How the operator has divided the host's CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuPools {
    /// Kept for the host itself.
    pub reserved: CpuSet,
    /// When given, exclusive bindings come from here only.
    pub dedicated: Option<CpuSet>,
    /// When given, shared bindings come from here only.
    pub shared: Option<CpuSet>,
}
