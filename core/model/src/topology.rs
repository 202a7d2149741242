//! What a host is: nodes, caches, cores, devices. Sockets, nodes and L3 domains are three
//! independent partitions of the CPUs; nothing here assumes that one contains another.

use crate::finding::Finding;
use crate::id_set::{CpuSet, NodeSet};
use crate::ids::{CoreId, L3Id, PackageId, Pcpu, Pnode};
use crate::levels::{Levels, PageSize};
use std::collections::BTreeMap;

/// Everything a reader learns of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    pub topology: Topology,
    pub levels: Levels,
    /// What the firmware or the kernel says that cannot be, or can be believed less.
    pub findings: Vec<Finding>,
}

/// The lasting facts of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    pub model_name: Option<String>,
    pub architecture: Option<String>,
    pub online: CpuSet,
    /// CPUs that are there but switched off.
    pub offline: CpuSet,
    pub possible: Option<CpuSet>,
    /// `isolcpus=`; `None` when the source does not say.
    pub isolated: Option<CpuSet>,
    pub nohz_full: Option<CpuSet>,
    /// Online nodes, by ascending id.
    pub nodes: Vec<Node>,
    /// By lowest CPU.
    pub packages: Vec<Package>,
    /// By lowest CPU. Empty when no cache of level 3 is described.
    pub l3_domains: Vec<L3Domain>,
    /// By lowest CPU.
    pub cores: Vec<Core>,
    pub allowed: Allowed,
    /// By address.
    pub devices: Vec<PciDevice>,
    /// Set when this host is itself a guest: its caches are then believed less.
    pub hypervisor: Option<Hypervisor>,
    /// Page sizes of the host, the base page first.
    pub page_sizes: Vec<PageSize>,
    pub memory_total_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub id: Pnode,
    /// Its online CPUs; empty for a memory-only node (CXL, HBM, GPU memory).
    pub cpus: CpuSet,
    /// `Some(0)` is a node with CPUs and no memory of its own.
    pub memory_total_bytes: Option<u64>,
    /// By node, one entry per online node; empty when the source has none.
    pub distances: BTreeMap<Pnode, u32>,
}

impl Node {
    pub fn is_memory_only(&self) -> bool {
        self.cpus.is_empty()
    }

    /// Unknown counts as having memory: a source without meminfo must not rule a node out.
    pub fn has_memory(&self) -> bool {
        self.memory_total_bytes != Some(0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    pub cpus: CpuSet,
    pub firmware_id: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L3Domain {
    pub cpus: CpuSet,
    pub size_bytes: Option<u64>,
    /// The kernel's id; not contiguous, not in CPU order.
    pub kernel_id: Option<u32>,
}

/// A physical core; its online SMT threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    pub cpus: CpuSet,
}

/// What guests may use: cgroup limits, for CPUs and memory separately (they may be disjoint).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Online CPUs within the limit.
    pub cpus: CpuSet,
    /// Online nodes whose memory may be used.
    pub memory_nodes: NodeSet,
    /// The file that limits, when one does.
    pub limited_by: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PciDevice {
    /// `0000:41:00.0`; domains of 32 bits occur.
    pub address: String,
    pub kind: DeviceKind,
    /// The PCI class code, 24 bits.
    pub class: u32,
    pub vendor: Option<u16>,
    pub device: Option<u16>,
    pub locality: Locality,
    /// `eth0`, `nvme0`: names the kernel gives it, where the source has them.
    pub names: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceKind {
    Nic,
    Nvme,
    Gpu,
    Other,
}

/// Where a device is. A `numa_node` of -1 stays unknown; it is never node 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Locality {
    Node(Pnode),
    /// No node is named, but the kernel lists some, not all, CPUs as near.
    NearCpus(CpuSet),
    Unknown,
}

/// Who runs below this kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hypervisor {
    /// `KVM`, `VMware`, ... where it can be told.
    pub vendor: Option<String>,
}

impl Topology {
    pub fn node(&self, id: Pnode) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// The node a CPU belongs to: the first that lists it (firmware may name several; then there is
    /// a finding), `None` for a CPU in no node.
    pub fn node_of(&self, cpu: Pcpu) -> Option<Pnode> {
        self.nodes.iter().find(|node| node.cpus.contains(cpu)).map(|node| node.id)
    }

    /// All nodes the CPUs belong to.
    pub fn nodes_of(&self, cpus: &CpuSet) -> NodeSet {
        self.nodes.iter().filter(|n| !n.cpus.is_disjoint(cpus)).map(|n| n.id).collect()
    }

    pub fn core_of(&self, cpu: Pcpu) -> Option<CoreId> {
        position(self.cores.iter().map(|c| &c.cpus), cpu).map(CoreId)
    }

    pub fn l3_of(&self, cpu: Pcpu) -> Option<L3Id> {
        position(self.l3_domains.iter().map(|d| &d.cpus), cpu).map(L3Id)
    }

    pub fn package_of(&self, cpu: Pcpu) -> Option<PackageId> {
        position(self.packages.iter().map(|p| &p.cpus), cpu).map(PackageId)
    }

    /// The SMT siblings of a CPU, itself among them.
    pub fn siblings(&self, cpu: Pcpu) -> CpuSet {
        match self.core_of(cpu) {
            Some(core) => self.cores[core.0 as usize].cpus.clone(),
            None => CpuSet::single(cpu),
        }
    }

    /// SLIT distance, where the source has it.
    pub fn distance(&self, from: Pnode, to: Pnode) -> Option<u32> {
        self.node(from)?.distances.get(&to).copied()
    }

    /// The most threads any core has.
    pub fn smt_width(&self) -> usize {
        self.cores.iter().map(|core| core.cpus.len()).max().unwrap_or(1)
    }
}

fn position<'a>(mut sets: impl Iterator<Item = &'a CpuSet>, cpu: Pcpu) -> Option<u32> {
    sets.position(|set| set.contains(cpu)).map(|index| index as u32)
}
