//! Why a request cannot be met, with what would make it fit. A planner gives all that apply, not
//! the first.

use crate::guest::GuestCpuTopology;
use crate::id_set::{CpuSet, NodeSet, VcpuSet};
use crate::ids::{Pnode, Vcpu, Vnode};
use crate::ledger::{ClaimConflict, Owner};
use crate::levels::PageSize;
use crate::migration::MoveRefusal;
use crate::obstacle::{ForeignOwner, Obstacle};
use crate::placement::{NodeLack, WouldFit};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// More vCPUs than pCPUs that can be given.
    NotEnoughCpus {
        wanted: u32,
        free: Vec<(Pnode, CpuSet)>,
        held: Vec<(Owner, CpuSet)>,
        reserved: CpuSet,
        overcommit_would_fit: bool,
    },
    /// Nowhere on this host: what each node lacks, and what would fit.
    NoPlace {
        vcpus: u32,
        pages: u64,
        page_size: PageSize,
        nodes: Vec<NodeLack>,
        held: Vec<(Owner, CpuSet)>,
        /// The search was cut short: there may be a place.
        gave_up: bool,
        would_fit: Vec<WouldFit>,
    },
    /// Parts that do not add up to the guest's vCPUs, or are none.
    SplitDoesNotAddUp {
        parts: Vec<u32>,
        vcpus: u32,
    },
    /// A device to be near to that this host does not have.
    DeviceUnknown {
        address: String,
    },
    /// A named node has fewer free pCPUs than vCPUs asked of it.
    NodeTooSmall {
        node: Pnode,
        wanted: u32,
        free: CpuSet,
        overcommit_would_fit: bool,
    },
    /// vNUMA (and any binding) needs every vCPU bound.
    UnboundVcpus {
        vcpus: VcpuSet,
        of: u32,
    },
    /// A vCPU's pCPUs lie in several nodes.
    VcpuSpansNodes {
        vcpu: Vcpu,
        cpus: CpuSet,
        nodes: NodeSet,
    },
    /// A rule names vCPUs that the guest does not have.
    VcpusOutOfRange {
        vcpus: VcpuSet,
        guest_has: u32,
    },
    /// A vCPU was given to two nodes.
    VcpusNamedTwice {
        vcpus: VcpuSet,
    },
    /// CPUs that this host does not have.
    CpusUnknown {
        cpus: CpuSet,
    },
    CpusOffline {
        cpus: CpuSet,
    },
    CpusNotAllowed {
        cpus: CpuSet,
        limited_by: Option<String>,
        allowed: CpuSet,
    },
    CpusInNoNode {
        cpus: CpuSet,
    },
    CpusTaken(ClaimConflict),
    /// Outside the set the operator dedicated (or shared out).
    CpusOutsidePool {
        cpus: CpuSet,
        pool: CpuSet,
        exclusive: bool,
    },
    /// Kept for the host; only `smart` may take them.
    CpusReserved {
        cpus: CpuSet,
    },
    /// Rules that leave a vCPU without any pCPU.
    EmptyRule {
        vcpus: VcpuSet,
    },
    UnknownNode {
        node: Pnode,
        nodes: NodeSet,
    },
    NodeWithoutCpus {
        node: Pnode,
    },
    /// Several vCPUs on one pCPU without `--overcommit`.
    OvercommitNotAsked {
        cpus: CpuSet,
        vcpus: VcpuSet,
    },
    NoVcpus,
    /// The guest's vCPUs and the request disagree with the most there can be.
    TooManyVcpus {
        wanted: u32,
        most: u32,
    },
    PageSizeUnknown {
        size: PageSize,
        known: Vec<PageSize>,
    },
    MemoryNotWholePages {
        memory_bytes: u64,
        page_size: PageSize,
        lower_bytes: u64,
        higher_bytes: u64,
    },
    /// Fewer pages than vNUMA nodes.
    FewerPagesThanNodes {
        pages: u64,
        page_size: PageSize,
        vnodes: u32,
    },
    NotEnoughMemory {
        node: Pnode,
        page_size: PageSize,
        wanted_pages: u64,
        free_pages: u64,
        promised_pages: u64,
        available_pages: u64,
    },
    /// The memory of this node may not be used here.
    MemoryNotAllowed {
        node: Pnode,
        allowed: NodeSet,
        limited_by: Option<String>,
    },
    /// Memory-only nodes were asked for (none by number: any), and only these can be used here.
    NotMemoryOnly {
        asked: NodeSet,
        usable: NodeSet,
    },
    NoMemoryAnywhere {
        vnode: Vnode,
    },
    /// `<vcpu current=...>` below the maximum.
    VcpuHotplug {
        current: u32,
        maximum: u32,
    },
    /// `<maxMemory slots=...>`.
    MemoryHotplug {
        slots: u32,
    },
    /// `<devices><memory>`: plugged modules belong to no vNUMA node of a plan, and which node they
    /// would go to is not for us to say.
    MemoryModules {
        modules: u32,
    },
    Balloon {
        model: String,
    },
    PlacementAuto,
    /// The guest would see another topology than it has been running with.
    TopologyFrozen {
        differences: Vec<TopologyDifference>,
    },
    CellsPerNode {
        asked: u32,
        node: Pnode,
        vcpus: u32,
    },
    MaxSockets {
        asked: u32,
    },
    /// Whoever made the guest would undo what numawise writes.
    OwnedByAnother(ForeignOwner),
    Blocked(Obstacle),
    /// The guest cannot go to the host that was named.
    CannotMove(MoveRefusal),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyDifference {
    NodeCount { frozen: u32, planned: u32 },
    Vcpus { vnode: Vnode, frozen: VcpuSet, planned: VcpuSet },
    Memory { vnode: Vnode, frozen_bytes: u64, planned_bytes: u64 },
    Distances { vnode: Vnode },
    Sockets { frozen: GuestCpuTopology, planned: GuestCpuTopology },
}
