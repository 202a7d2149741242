//! One result of looking closely: at firmware, at a plan, at a running guest.

mod parts;

pub use parts::{FrozenPart, Helper, L3Untold, PinnedThreads, Resizing, SetKind, Unusable};

use crate::guest::GuestUuid;
use crate::id_set::{CpuSet, NodeSet, VcpuSet};
use crate::ids::{Pcpu, Pnode, Vcpu, Vnode};
use crate::ledger::Owner;
use crate::levels::PageSize;
use crate::observed::Sight;
use crate::obstacle::{ForeignOwner, Obstacle};
use crate::plan::MemoryMode;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    pub subject: Subject,
    pub kind: FindingKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing to do.
    Info,
    /// Works, but not as well as it could, or is believed less.
    Warning,
    /// A rule is broken, or what was promised is not so.
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Host,
    Guest { uuid: Option<GuestUuid>, name: String },
    Plan,
}

/// What was found. The name of a variant is a rule; its fields are what was expected and seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingKind {
    // Of a host: what its firmware, kernel or file says.
    /// A `_list` and a `_map` file disagree; the map is used.
    ListMapMismatch {
        file: String,
        list: String,
        map: String,
    },
    CpusInSeveralNodes {
        cpus: CpuSet,
        nodes: NodeSet,
    },
    CpusInNoNode {
        cpus: CpuSet,
    },
    DistanceColumns {
        node: Pnode,
        columns: u32,
        online_nodes: u32,
    },
    SelfDistanceNotSmallest {
        node: Pnode,
    },
    DistanceAsymmetric {
        a: Pnode,
        b: Pnode,
        there: u32,
        back: u32,
    },
    DistancesMissing,
    /// A node that must have one has no meminfo.
    NodeMemoryUnknown {
        nodes: NodeSet,
    },
    CpuNodeWithoutMemory {
        nodes: NodeSet,
    },
    MemoryOnlyNodes {
        nodes: NodeSet,
    },
    /// A mask names CPUs that are not online; they are left out. `CpuSet` of the readers' CPUs.
    MaskNamesOffline {
        file: String,
        cpus: CpuSet,
    },
    /// A cache or sibling mask that does not contain the CPU it belongs to, or is empty.
    BadMask {
        file: String,
        cpu: Pcpu,
    },
    /// Two sets that should be equal or disjoint overlap.
    OverlappingSets {
        what: SetKind,
        a: CpuSet,
        b: CpuSet,
    },
    NoL3 {
        cpus: CpuSet,
    },
    L3SpansNodes {
        cpus: CpuSet,
        nodes: NodeSet,
    },
    NodeSpansPackages {
        node: Pnode,
        packages: u32,
    },
    MixedSmtWidths {
        widths: Vec<u32>,
    },
    UnequalL3 {
        sizes: Vec<u32>,
    },
    /// L3-as-NUMA: every node is one L3 of many in a package.
    NodesAreL3Domains,
    RunsUnderHypervisor {
        vendor: Option<String>,
    },
    FakeNuma {
        argument: String,
    },
    AllowedCpusOutsideAllowedNodes {
        cpus: CpuSet,
        memory_nodes: NodeSet,
    },
    /// `online` names CPUs that have no directory or no topology.
    OnlineWithoutDirectory {
        cpus: CpuSet,
    },
    /// A file is there and cannot be believed; it was passed over.
    NotBelieved {
        file: String,
        value: String,
        wanted: String,
    },

    // Of a plan.
    /// `avoid` could not be kept on these nodes: vCPUs share cores there.
    SmtNotAvoided {
        nodes: NodeSet,
    },
    /// The guest's shares of its L3 domains differ.
    L3SharesUnequal {
        vcpus: Vec<u32>,
    },
    /// The search was cut short.
    NotProvenBest {
        distance: u64,
        bound: u64,
    },
    /// Helper threads on the sibling of a vCPU's pCPU.
    EmulatorBesideVcpus {
        cpus: CpuSet,
    },
    UsesReservedCpus {
        cpus: CpuSet,
    },
    UsesIsolatedCpus {
        cpus: CpuSet,
    },
    /// A multi-CPU mask with isolated CPUs in it: the scheduler does not balance there.
    IsolatedInWideMask {
        vcpu: Vcpu,
        cpus: CpuSet,
    },
    Overcommitted {
        cpus: CpuSet,
        vcpus: VcpuSet,
    },
    SharesCpus {
        cpus: CpuSet,
        with: Vec<Owner>,
    },
    EmulatorOnVcpuCpus {
        cpus: CpuSet,
    },
    /// Hugepages with an emulator pin that lacks a memory node's CPUs: QEMU refuses to start.
    EmulatorLacksMemoryNode {
        node: Pnode,
    },
    /// Memory that is filled before the guest starts, on a node without CPUs for the thread that
    /// fills it.
    PrefillWithoutCpus {
        node: Pnode,
    },
    MaxSocketsCrossesNodes {
        sockets: u32,
        vnode: Vnode,
    },
    /// The guest's L3 picture is not the host's.
    GuestL3Differs {
        host_domains: u32,
        guest_domains: u32,
    },
    /// `smp-cache` was asked for, and the guest's L3 is told no better.
    GuestL3Untold {
        why: L3Untold,
    },
    GuestSmtHidden {
        host_threads: u32,
    },
    VcpusInterleaved {
        vnode: Vnode,
    },
    CellsShareNode {
        node: Pnode,
        cells: u32,
    },
    MemoryUnchecked {
        node: Pnode,
    },
    MemoryOnOtherNode {
        vnode: Vnode,
        cpu_node: Pnode,
        memory_node: Pnode,
    },
    RuleOrder {
        rule: String,
        cpus: String,
    },
    SmtSiblingOfAnother {
        cpu: Pcpu,
        sibling: Pcpu,
        owner: Owner,
    },
    /// A guest is there that nobody pinned: it may run anywhere, its memory is counted.
    UnpinnedGuest {
        name: String,
    },
    /// The planner and the judge disagree: a defect of numawise.
    PlanBreaksRule {
        rule: &'static str,
        detail: String,
    },

    // Of a guest: what should be, and what was seen.
    StoredPin {
        vcpu: Vcpu,
        expected: CpuSet,
        seen: Option<CpuSet>,
    },
    StoredVnuma {
        what: &'static str,
        expected: String,
        seen: String,
    },
    /// The definition is right and the running guest older.
    PendingRestart {
        what: &'static str,
    },
    ThreadAffinity {
        vcpu: Vcpu,
        expected: CpuSet,
        seen: Option<CpuSet>,
    },
    EmulatorAffinity {
        expected: CpuSet,
        seen: Option<CpuSet>,
    },
    IothreadAffinity {
        iothread: u32,
        expected: CpuSet,
        seen: Option<CpuSet>,
    },
    MemoryElsewhere {
        expected: Pnode,
        seen: Pnode,
        page_size: PageSize,
        pages: u64,
        of: u64,
    },
    GuestSeesOtherNodes {
        expected: u32,
        seen: u32,
    },
    /// The guest sees as many nodes as it should, and other vCPUs in one.
    GuestNodeVcpus {
        vnode: Vnode,
        expected: VcpuSet,
        seen: VcpuSet,
    },
    /// Distances from one node to each, in the order of the nodes.
    GuestNodeDistances {
        vnode: Vnode,
        expected: Vec<u32>,
        seen: Vec<u32>,
    },
    /// More memory than the node was given, or less than a guest kernel keeps for itself.
    /// vCPUs by the L3 that they share, as planned and as the guest's kernel has them.
    GuestSeesOtherL3 {
        expected: Vec<VcpuSet>,
        seen: Vec<VcpuSet>,
    },
    GuestNodeMemory {
        vnode: Vnode,
        expected_bytes: u64,
        seen_bytes: u64,
    },
    GuestUndefined,
    ExclusiveCpusShared {
        cpus: CpuSet,
        with: Owner,
    },
    /// Its definition cannot be read; what it holds is not known.
    GuestUnreadable {
        why: String,
    },
    /// The host is no longer the one that the plan was made for.
    HostTopologyChanged,
    /// Claimed, and not online any more.
    ClaimedCpusGone {
        cpus: CpuSet,
    },
    VnodeWithoutMemory {
        vnode: Vnode,
    },
    /// Nobody could look; what was asked of verify is not answered there.
    NotVerified {
        what: Sight,
        why: String,
    },
    /// The cgroup of a vCPU thread leaves out pCPUs that it is bound to.
    CgroupKeepsOut {
        vcpu: Vcpu,
        expected: CpuSet,
        cgroup: CpuSet,
    },
    /// The vCPUs move at once, their memory is bound where it is until the next boot.
    MemoryStaysBehind {
        vnode: Vnode,
        /// How it is bound: only `restrictive` memory can be moved while the guest runs.
        mode: MemoryMode,
        memory_nodes: NodeSet,
        cpu_node: Pnode,
    },
    /// Another manager's guest: shown and audited, not changed.
    ForeignGuest {
        owner: ForeignOwner,
    },
    /// Reverting, saving or copying that a change would collide with.
    Obstructed {
        obstacle: Obstacle,
    },

    // Of a whole host, where nobody asked for a plan.
    /// vCPUs that may run on CPUs of several nodes.
    VcpusSpanNodes {
        vcpus: VcpuSet,
        cpus: CpuSet,
        nodes: NodeSet,
    },
    /// Cores of which one thread is one guest's alone and another thread somebody else's.
    CoresShared {
        cpus: CpuSet,
        siblings: CpuSet,
        with: Owner,
    },
    /// Bound by the definition to other nodes than the vCPUs' own. Without a vNUMA node it is the
    /// memory of the whole guest.
    MemoryAwayFromVcpus {
        vnode: Option<Vnode>,
        cpu_nodes: NodeSet,
        memory_nodes: NodeSet,
    },
    /// Memory that is there, on other nodes than those of the vCPUs.
    PagesAwayFromVcpus {
        vnode: Option<Vnode>,
        cpu_nodes: NodeSet,
        seen: NodeSet,
        away_bytes: u64,
        of_bytes: u64,
    },
    /// Every node is a slice of a package's memory, and the guest is tied to some of the slices.
    MemoryBoundToSlice {
        vnode: Option<Vnode>,
        nodes: NodeSet,
        of: NodeSet,
    },
    ResizingWithVnuma {
        what: Resizing,
    },
    /// The guest believes that these vCPUs share an L3; the host runs them under several.
    GuestL3Spread {
        vcpus: VcpuSet,
        host_domains: u32,
        /// Guest L3s of which that is so, this one included.
        guest_domains: u32,
    },
    /// A helper thread may run on CPUs that vCPUs are pinned to one by one.
    HelpersOnPinnedCpus {
        helper: Helper,
        cpus: CpuSet,
        of: Vec<Owner>,
    },
    /// Pinned to CPUs that the thread cannot have.
    PinnedCpusUnusable {
        threads: PinnedThreads,
        cpus: CpuSet,
        why: Unusable,
    },
    PagesPromisedTwice {
        node: Pnode,
        page_size: PageSize,
        promised: u64,
        total: u64,
        to: Vec<Owner>,
    },
    /// One guest alone is bound to more memory than a node has.
    MemoryLargerThanNode {
        node: Pnode,
        bound_bytes: u64,
        node_bytes: u64,
    },
    IsolatedCpusInMask {
        vcpus: VcpuSet,
        cpus: CpuSet,
        isolated: CpuSet,
    },
    DistancesTold {
        vnode: Vnode,
        told: Vec<u32>,
        host: Vec<u32>,
    },
    /// Frozen for a guest that is not defined any more.
    FrozenWithoutGuest,
    /// The definition says something else than what the guest is frozen to.
    FrozenOtherwise {
        parts: Vec<FrozenPart>,
    },
    InterruptsOnPinnedCpus {
        cpus: CpuSet,
        interrupts: Vec<String>,
    },
    KernelThreadsOnPinnedCpus {
        cpus: CpuSet,
        threads: Vec<String>,
        /// They may run nowhere else.
        confined: bool,
    },
    WorkqueuesOnPinnedCpus {
        cpus: CpuSet,
        mask: CpuSet,
    },
    NumaBalancingOn,
    KsmMergesAcrossNodes,
    ZoneReclaimOn {
        mode: u32,
    },
}

impl Finding {
    pub fn host(severity: Severity, kind: FindingKind) -> Self {
        Self { severity, subject: Subject::Host, kind }
    }

    pub fn is_about(&self, guest: &GuestUuid) -> bool {
        matches!(&self.subject, Subject::Guest { uuid: Some(uuid), .. } if uuid == guest)
    }

    pub fn plan(severity: Severity, kind: FindingKind) -> Self {
        Self { severity, subject: Subject::Plan, kind }
    }
}
