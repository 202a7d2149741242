//! A process as the kernel sees it: where its threads may run, and where its memory is.

use crate::id_set::{CpuSet, NodeSet};
use crate::ids::Pnode;
use crate::levels::PageSize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadFacts {
    pub tid: u32,
    /// `/proc/PID/task/TID/comm`: `CPU 0/KVM`, `IO iothread1`.
    pub name: String,
    /// `Cpus_allowed_list`.
    pub cpus_allowed: CpuSet,
    /// `Mems_allowed_list`: nodes that its cgroup lets it take memory from.
    pub nodes_allowed: Option<NodeSet>,
    /// CPUs of the cpuset that it is in, of either cgroup version; `None` without such a controller.
    pub cgroup_cpus: Option<CpuSet>,
}

/// One line of `/proc/PID/numa_maps`, with its length from `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingFacts {
    pub start: u64,
    pub bytes: u64,
    pub policy: MappingPolicy,
    /// The file behind it (hugetlbfs, memfd); `None` for anonymous memory.
    pub file: Option<String>,
    pub page_size: PageSize,
    /// Pages that are there, by node.
    pub pages: BTreeMap<Pnode, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MappingPolicy {
    Default,
    Bind(NodeSet),
    Prefer(NodeSet),
    Interleave(NodeSet),
    /// `local`, or a word that a newer kernel has.
    Other(String),
}
