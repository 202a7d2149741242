//! Why a plan is as it is, as data: what was considered, what bound, what decided.

use crate::guest::CacheLevel;
use crate::id_set::{CpuSet, NodeSet, VcpuSet};
use crate::ids::{Pnode, Vnode};
use crate::ledger::Owner;
use crate::levels::PageSize;
use crate::placement::{Footprint, Lost, MemoryReach, NodeLack, Proof, Score};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The order in which nodes were filled.
    NodeOrder {
        nodes: Vec<Pnode>,
    },
    /// What a node had to give.
    NodeFree {
        node: Pnode,
        free: CpuSet,
    },
    /// What was not given, and why.
    Excluded {
        cpus: CpuSet,
        why: Exclusion,
    },
    /// vCPUs bound to pCPUs of a node, in the order of the fill.
    Filled {
        node: Pnode,
        vcpus: VcpuSet,
        pcpus: CpuSet,
    },
    /// All pCPUs were taken and the fill began again.
    WrappedTo {
        node: Pnode,
        vcpus: VcpuSet,
    },
    /// The binding came from rules, word for word.
    RulesTaken {
        rules: usize,
        vcpus: VcpuSet,
    },
    /// Memory by vCPU count in whole pages, the largest remainder first.
    MemoryShared {
        vnode: Vnode,
        pages: u64,
        page_size: PageSize,
        node: Pnode,
    },
    /// The CPUs' node has no memory; the nearest one that has some serves.
    MemoryFromNeighbour {
        vnode: Vnode,
        cpu_node: Pnode,
        memory_node: Pnode,
        distance: Option<u32>,
    },
    /// sockets = vCPUs / gcd of the runs, so that no guest package crosses a vNUMA node.
    Sockets {
        sockets: u32,
        vcpus_each: u32,
        vnode_sizes: Vec<u32>,
    },
    /// `--max-sockets` bound.
    SocketsCapped {
        wanted: u32,
        given: u32,
    },
    /// Each die of the guest is an L3 domain of the host.
    DiesAreL3Domains {
        dies: u32,
        vcpus_each: u32,
    },
    /// Threads of a guest core are siblings on the host.
    ThreadsAreSiblings {
        threads: u32,
    },
    EmulatorPlaced {
        cpus: CpuSet,
        why: EmulatorChoice,
    },
    /// vNUMA is off as asked; the binding stands alone.
    VnumaOff,
    /// The guest keeps the topology it was first seen running with.
    KeepsFrozenTopology,
    /// The best place: its score, and whether it is known to be the best.
    BestPlace {
        nodes: NodeSet,
        score: Score,
        proof: Proof,
    },
    /// A place that was possible, and the first preference on which it is worse.
    WorsePlace {
        place: Lost,
    },
    /// A node that could not have the whole guest.
    NodeCannot {
        lack: NodeLack,
    },
    /// Both ways to use the L3 domains, for this request and this host as it is.
    SideBySide {
        compact: Option<Footprint>,
        spread: Option<Footprint>,
    },
    MemoryReach {
        reach: MemoryReach,
    },
    /// Siblings that are kept idle, so that nobody else sits on the cores.
    SiblingsKeptIdle {
        cpus: CpuSet,
    },
    /// CPUs that the kernel leaves alone are for guests that are bound one to one.
    IsolatedFirst {
        cpus: CpuSet,
    },
    /// No nodes take part: a request to unbind.
    Unbound,
    /// QEMU's `smp-cache` says where the L3 is.
    L3BySmpCache {
        level: CacheLevel,
        vcpus_each: u32,
    },
    /// Nodes that hold only memory take part only when asked for.
    MemoryOnlyNodesLeftOut {
        nodes: NodeSet,
    },
    /// Asked for; the distance is from the CPUs to the first of them.
    MemoryOnlyUsed {
        vnode: Vnode,
        cpu_node: Pnode,
        nodes: NodeSet,
        distance: Option<u32>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exclusion {
    Offline,
    /// A cgroup does not allow them; the file that says so.
    NotAllowed {
        limited_by: Option<String>,
    },
    Reserved,
    OutsidePool,
    Claimed {
        owner: Owner,
    },
    InNoNode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmulatorChoice {
    /// Reserved CPUs on the guest's nodes.
    Housekeeping,
    /// The guest's own CPUs: nothing else is set aside there.
    GuestsOwn,
    /// Housekeeping, and the guest's own CPUs of nodes that have none: preallocation on a bound
    /// node fails when the emulator may not run there.
    HousekeepingAndOwn,
    /// A pCPU of its own.
    Isolated,
}
