//! Reasons as they are written: tagged with `reason`, the fields beside it.

use crate::wire::wire;
use numawise_model::guest::CacheLevel;
use numawise_model::placement::{Footprint, Lost, MemoryReach, NodeLack, Proof, Score};
use numawise_model::reason::{EmulatorChoice, Exclusion};
use numawise_model::{CpuSet, NodeSet, Owner, PageSize, Pnode, Reason, VcpuSet, Vnode};

wire! {
    #[serde(tag = "reason")]
    enum ReasonDoc = Reason {
        NodeOrder { nodes: Vec<Pnode> },
        NodeFree { node: Pnode, free: CpuSet },
        Excluded { cpus: CpuSet, why: Exclusion },
        Filled { node: Pnode, vcpus: VcpuSet, pcpus: CpuSet },
        WrappedTo { node: Pnode, vcpus: VcpuSet },
        RulesTaken { rules: usize, vcpus: VcpuSet },
        MemoryShared {
            vnode: Vnode,
            pages: u64,
            #[serde(rename = "page_size_bytes")]
            page_size: PageSize,
            node: Pnode,
        },
        MemoryFromNeighbour {
            vnode: Vnode,
            cpu_node: Pnode,
            memory_node: Pnode,
            distance: Option<u32>,
        },
        Sockets { sockets: u32, vcpus_each: u32, vnode_sizes: Vec<u32> },
        SocketsCapped { wanted: u32, given: u32 },
        DiesAreL3Domains { dies: u32, vcpus_each: u32 },
        ThreadsAreSiblings { threads: u32 },
        EmulatorPlaced { cpus: CpuSet, why: EmulatorChoice },
        VnumaOff,
        KeepsFrozenTopology,
        Unbound,
        L3BySmpCache { level: CacheLevel, vcpus_each: u32 },
        MemoryOnlyNodesLeftOut { nodes: NodeSet },
        MemoryOnlyUsed { vnode: Vnode, cpu_node: Pnode, nodes: NodeSet, distance: Option<u32> },
        BestPlace { nodes: NodeSet, score: Score, proof: Proof },
        WorsePlace { place: Lost },
        NodeCannot { lack: NodeLack },
        SideBySide { compact: Option<Footprint>, spread: Option<Footprint> },
        MemoryReach { reach: MemoryReach },
        SiblingsKeptIdle { cpus: CpuSet },
        IsolatedFirst { cpus: CpuSet },
    }
}

wire! {
    #[serde(tag = "kind")]
    enum ExclusionDoc = Exclusion {
        Offline,
        NotAllowed { limited_by: Option<String> },
        Reserved,
        OutsidePool,
        Claimed { owner: Owner },
        InNoNode,
    }
}

wire! { enum EmulatorChoiceDoc = EmulatorChoice { Housekeeping, GuestsOwn, HousekeepingAndOwn, Isolated } }
