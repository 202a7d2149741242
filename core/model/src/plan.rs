//! The answer to a request: an immutable document that holds every decision and its reason.
//! Applying it decides nothing.

use crate::finding::Finding;
use crate::guest::{
    CacheLevel, GuestCell, GuestCpuTopology, GuestEdit, GuestFix, GuestUuid, PinEdit, VnumaEdit,
};
use crate::id_set::{CpuSet, NodeSet, VcpuSet};
use crate::ids::{Pnode, Vcpu, Vnode};
use crate::ledger::{Claim, Mode};
use crate::levels::{Levels, PageCounts, PageSize};
use crate::reason::Reason;
use crate::request::Request;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanId(pub String);

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A salted hash of machine-id, or a name that was given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub String);

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRef {
    pub id: HostId,
    pub topology_digest: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestRef {
    pub name: String,
    pub uuid: GuestUuid,
    /// Of the inactive XML without the parts that libvirt generates.
    pub digest: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub id: PlanId,
    pub host: HostRef,
    /// Absent when only a size was planned for; such a plan cannot be applied.
    pub guest: Option<GuestRef>,
    pub request: Request,
    pub binding: Binding,
    /// `None`: the guest sees no NUMA.
    pub vnuma: Option<VirtualTopology>,
    /// With `vnuma: None`, the topology element to put back.
    pub cpu_before: Option<GuestCpuTopology>,
    pub helpers: HelperPlacement,
    pub claims: Vec<Claim>,
    pub fixes: Vec<GuestFix>,
    /// What the guest has otherwise today, and when each part takes effect.
    pub changes: Vec<Change>,
    /// What must still hold when the claims are made.
    pub requires: Vec<Predicate>,
    /// As they were when the plan was made; recorded, not digested.
    pub levels: Levels,
    pub reasons: Vec<Reason>,
    pub findings: Vec<Finding>,
}

/// A part of a guest that a plan changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    pub what: ChangedPart,
    pub effect: Effect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangedPart {
    VcpuPins,
    EmulatorPin,
    IothreadPins,
    /// vNUMA nodes: their vCPUs, memory and distances.
    VnumaNodes,
    /// Sockets, dies, cores, threads, and the L3 element.
    GuestCpuTopology,
    /// Which pNUMA node each vNUMA node's memory comes from.
    MemoryBinding,
    Hugepages,
    Fix(GuestFix),
}

/// When a change reaches the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// At once, with `apply --live`; else at the next boot.
    Live,
    /// Guest ABI, or memory that is taken at start.
    NextBoot,
}

impl Plan {
    /// What the plan writes into the domain XML.
    pub fn edit(&self) -> GuestEdit {
        let pins = if self.binding.cpus.is_empty() {
            PinEdit::Remove
        } else {
            PinEdit::Set {
                vcpus: self.binding.cpus.clone(),
                emulator: self.helpers.emulator.clone(),
                iothreads: self.helpers.iothreads.clone(),
            }
        };
        let vnuma = match &self.vnuma {
            Some(topology) => VnumaEdit::Set {
                topology: topology.clone(),
                mode: self.request.memory_mode,
                page_size: self.request.page_size,
            },
            None => VnumaEdit::Remove { cpu_topology: self.cpu_before },
        };
        GuestEdit { pins, vnuma, fixes: self.fixes.clone() }
    }
}

/// For each vCPU the pCPUs it may run on, and whether anybody else may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub cpus: BTreeMap<Vcpu, CpuSet>,
    pub mode: Mode,
}

impl Binding {
    /// Every pCPU that is used.
    pub fn pcpus(&self) -> CpuSet {
        let mut all = CpuSet::new();
        for cpus in self.cpus.values() {
            all.extend(cpus);
        }
        all
    }

    /// pCPUs that several vCPUs are bound to one to one: over-commit inside the guest. A vCPU that
    /// has several pCPUs to choose from counts only where there are more vCPUs than pCPUs.
    pub fn overcommitted(&self) -> BTreeMap<CpuSet, VcpuSet> {
        let mut by_set: BTreeMap<CpuSet, VcpuSet> = BTreeMap::new();
        for (vcpu, cpus) in &self.cpus {
            by_set.entry(cpus.clone()).or_default().insert(*vcpu);
        }
        by_set.retain(|cpus, vcpus| vcpus.len() > cpus.len());
        by_set
    }
}

/// What the guest sees: frozen at its first boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualTopology {
    /// By ascending id, 0..n.
    pub nodes: Vec<VnumaNode>,
    pub cpu: GuestCpuTopology,
    /// The L3 picture needs `<cache level='3' mode='emulate'/>`.
    pub emulate_l3: bool,
    /// Where the L3 is by QEMU's `smp-cache`; at each die, when absent.
    pub l3_level: Option<CacheLevel>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VnumaNode {
    pub id: Vnode,
    pub vcpus: VcpuSet,
    pub memory_bytes: u64,
    /// Where its vCPUs are bound: one node, or under L3-as-NUMA the nodes of a package, whose memory
    /// is not divided.
    pub host_nodes: NodeSet,
    /// Where its memory is: of those the ones with memory, else the nearest that have.
    pub memory_nodes: NodeSet,
    /// To every vNUMA node, itself included.
    pub distances: BTreeMap<Vnode, u32>,
}

impl VnumaNode {
    /// The lowest of the nodes that its vCPUs are bound to; distances are told from there.
    pub fn host_node(&self) -> Pnode {
        self.host_nodes.first().unwrap_or(Pnode(0))
    }

    /// The lowest of the nodes that its memory is from.
    pub fn memory_node(&self) -> Pnode {
        self.memory_nodes.first().unwrap_or_else(|| self.host_node())
    }
}

impl VirtualTopology {
    /// Every node that memory is from.
    pub fn memory_nodes(&self) -> NodeSet {
        let mut nodes = NodeSet::new();
        self.nodes.iter().for_each(|node| nodes.extend(&node.memory_nodes));
        nodes
    }

    /// The guest's view alone.
    pub fn cells(&self) -> Vec<GuestCell> {
        self.nodes
            .iter()
            .map(|node| GuestCell {
                id: node.id,
                vcpus: node.vcpus.clone(),
                memory_bytes: node.memory_bytes,
                distances: node.distances.clone(),
            })
            .collect()
    }
}

/// libvirt's `numatune` modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryMode {
    #[default]
    Strict,
    Preferred,
    Restrictive,
    Interleave,
}

impl MemoryMode {
    pub const ALL: [Self; 4] = [Self::Strict, Self::Preferred, Self::Restrictive, Self::Interleave];

    /// libvirt's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Preferred => "preferred",
            Self::Restrictive => "restrictive",
            Self::Interleave => "interleave",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}

/// Where the emulator and I/O threads run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HelperPlacement {
    pub emulator: Option<CpuSet>,
    pub iothreads: BTreeMap<u32, CpuSet>,
}

/// Tested again when the plan is claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// Nobody else holds them in a way that stands against `mode`.
    CpusUnclaimed { cpus: CpuSet, mode: Mode },
    /// Free and not promised to others, what the guest holds now counted as free.
    PagesAvailable { node: Pnode, size: PageSize, pages: u64 },
    /// The guest's frozen topology is what the plan saw (`None`: it had none).
    FrozenTopology { digest: Option<String> },
}

/// Memory a running guest gives back when it stops.
pub type HeldPages = PageCounts;
