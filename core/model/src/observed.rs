//! What was seen of a running guest: by the kernel's word, not by the plan's.

use crate::guest::GuestCell;
use crate::id_set::{CpuSet, VcpuSet};
use crate::ids::{Vcpu, Vnode};
use crate::levels::PageCounts;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestFacts {
    /// Cpus_allowed_list of each vCPU thread.
    pub vcpu_affinity: BTreeMap<Vcpu, CpuSet>,
    pub emulator_affinity: Option<CpuSet>,
    pub iothread_affinity: BTreeMap<u32, CpuSet>,
    /// Where the guest's memory is, by node and page size.
    pub pages: PageCounts,
    /// The same by vNUMA node, where the source can tell them apart.
    pub pages_by_vnode: Option<BTreeMap<Vnode, PageCounts>>,
    /// The guest's own view of its nodes, where something inside answers.
    pub guest_cells: Option<Vec<GuestCell>>,
    /// vCPUs by the L3 that the guest's kernel puts them under; absent where it shows none.
    pub guest_l3: Option<Vec<VcpuSet>>,
    /// What the cpuset cgroup of each vCPU thread leaves it, where there is one.
    pub vcpu_cgroup: BTreeMap<Vcpu, CpuSet>,
    /// What could not be looked at.
    pub unseen: Vec<Unseen>,
}

/// Something that nobody looked at: neither right nor wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    pub what: Sight,
    pub why: String,
}

/// What verify looks at beyond the definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sight {
    Threads,
    Pages,
    /// The guest's own view of its nodes.
    GuestNodes,
}
