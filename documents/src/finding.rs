//! Findings as they are written: severity, subject, the rule's name and its fields.

use crate::wire::{Wire, wire};
use numawise_model::finding::{
    FrozenPart, Helper, L3Untold, PinnedThreads, Resizing, SetKind, Unusable,
};
use numawise_model::{
    CpuSet, Finding, FindingKind, ForeignOwner, GuestUuid, Manager, MemoryMode, NodeSet, Obstacle,
    Owner, PageSize, Pcpu, Pnode, Severity, Sight, Subject, Vcpu, VcpuSet, Vnode,
};
use serde::{Deserialize, Serialize};

/// `{"severity": "error", "subject": {..}, "rule": "stored-pin", "fields": {..}}`; a rule without
/// fields has no `fields`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FindingDoc {
    pub severity: SeverityDoc,
    pub subject: SubjectDoc,
    #[serde(flatten)]
    pub kind: FindingKindDoc,
}

impl Wire for Finding {
    type Doc = FindingDoc;
    fn to_doc(&self) -> FindingDoc {
        let Self { severity, subject, kind } = self;
        FindingDoc { severity: severity.to_doc(), subject: subject.to_doc(), kind: kind.to_doc() }
    }
    fn from_doc(doc: FindingDoc) -> Self {
        Self {
            severity: Wire::from_doc(doc.severity),
            subject: Wire::from_doc(doc.subject),
            kind: Wire::from_doc(doc.kind),
        }
    }
}

wire! { enum SeverityDoc = Severity { Info, Warning, Error } }

wire! {
    #[serde(tag = "kind")]
    enum SubjectDoc = Subject { Host, Guest { uuid: Option<GuestUuid>, name: String }, Plan }
}

wire! { enum ResizingDoc = Resizing { Balloon, MemoryHotplug, VcpuHotplug } }

wire! { enum FrozenPartDoc = FrozenPart { Nodes, Memory, Distances, CpuTopology } }

wire! { enum UnusableDoc = Unusable { Offline, NotThere, OutsideCgroup } }

wire! {
    #[serde(tag = "kind")]
    enum HelperDoc = Helper { Emulator, Iothread { id: u32 } }
}

wire! {
    #[serde(tag = "kind")]
    enum PinnedThreadsDoc = PinnedThreads { Vcpus { vcpus: VcpuSet }, Helper { helper: Helper } }
}

wire! { enum SetKindDoc = SetKind { Package, L3Domain, Core } }

wire! {
    enum ManagerDoc = Manager { Nova, Ovirt, KubeVirt, Proxmox, OpenNebula, ZStack }
}

wire! {
    #[serde(tag = "kind")]
    enum ForeignOwnerDoc = ForeignOwner { Managed { by: Manager }, Transient }
}

wire! {
    #[serde(tag = "kind")]
    enum ObstacleDoc = Obstacle {
        ManagedSave,
        BlockJob { disk: String },
        Job { what: String },
        SnapshotOfOtherTopology { name: String },
    }
}

wire! {
    #[serde(tag = "rule", content = "fields")]
    enum FindingKindDoc = FindingKind {
        ListMapMismatch { file: String, list: String, map: String },
        CpusInSeveralNodes { cpus: CpuSet, nodes: NodeSet },
        CpusInNoNode { cpus: CpuSet },
        DistanceColumns { node: Pnode, columns: u32, online_nodes: u32 },
        SelfDistanceNotSmallest { node: Pnode },
        DistanceAsymmetric { a: Pnode, b: Pnode, there: u32, back: u32 },
        DistancesMissing,
        NodeMemoryUnknown { nodes: NodeSet },
        CpuNodeWithoutMemory { nodes: NodeSet },
        MemoryOnlyNodes { nodes: NodeSet },
        MaskNamesOffline { file: String, cpus: CpuSet },
        BadMask { file: String, cpu: Pcpu },
        OverlappingSets { what: SetKind, a: CpuSet, b: CpuSet },
        NoL3 { cpus: CpuSet },
        L3SpansNodes { cpus: CpuSet, nodes: NodeSet },
        NodeSpansPackages { node: Pnode, packages: u32 },
        MixedSmtWidths { widths: Vec<u32> },
        UnequalL3 { sizes: Vec<u32> },
        NodesAreL3Domains,
        RunsUnderHypervisor { vendor: Option<String> },
        FakeNuma { argument: String },
        AllowedCpusOutsideAllowedNodes { cpus: CpuSet, memory_nodes: NodeSet },
        OnlineWithoutDirectory { cpus: CpuSet },
        NotBelieved { file: String, value: String, wanted: String },
        SmtNotAvoided { nodes: NodeSet },
        L3SharesUnequal { vcpus: Vec<u32> },
        NotProvenBest { distance: u64, bound: u64 },
        EmulatorBesideVcpus { cpus: CpuSet },
        UsesReservedCpus { cpus: CpuSet },
        UsesIsolatedCpus { cpus: CpuSet },
        IsolatedInWideMask { vcpu: Vcpu, cpus: CpuSet },
        Overcommitted { cpus: CpuSet, vcpus: VcpuSet },
        SharesCpus { cpus: CpuSet, with: Vec<Owner> },
        EmulatorOnVcpuCpus { cpus: CpuSet },
        EmulatorLacksMemoryNode { node: Pnode },
        PrefillWithoutCpus { node: Pnode },
        MaxSocketsCrossesNodes { sockets: u32, vnode: Vnode },
        GuestL3Differs { host_domains: u32, guest_domains: u32 },
        GuestL3Untold { why: L3Untold },
        GuestSmtHidden { host_threads: u32 },
        VcpusInterleaved { vnode: Vnode },
        CellsShareNode { node: Pnode, cells: u32 },
        MemoryUnchecked { node: Pnode },
        MemoryOnOtherNode { vnode: Vnode, cpu_node: Pnode, memory_node: Pnode },
        RuleOrder { rule: String, cpus: String },
        SmtSiblingOfAnother { cpu: Pcpu, sibling: Pcpu, owner: Owner },
        UnpinnedGuest { name: String },
        PlanBreaksRule { rule: &'static str, detail: String },
        StoredPin { vcpu: Vcpu, expected: CpuSet, seen: Option<CpuSet> },
        StoredVnuma { what: &'static str, expected: String, seen: String },
        PendingRestart { what: &'static str },
        ThreadAffinity { vcpu: Vcpu, expected: CpuSet, seen: Option<CpuSet> },
        EmulatorAffinity { expected: CpuSet, seen: Option<CpuSet> },
        IothreadAffinity { iothread: u32, expected: CpuSet, seen: Option<CpuSet> },
        MemoryElsewhere {
            expected: Pnode,
            seen: Pnode,
            #[serde(rename = "page_size_bytes")]
            page_size: PageSize,
            pages: u64,
            of: u64,
        },
        GuestSeesOtherNodes { expected: u32, seen: u32 },
        GuestNodeVcpus { vnode: Vnode, expected: VcpuSet, seen: VcpuSet },
        GuestNodeDistances { vnode: Vnode, expected: Vec<u32>, seen: Vec<u32> },
        GuestSeesOtherL3 { expected: Vec<VcpuSet>, seen: Vec<VcpuSet> },
        GuestNodeMemory { vnode: Vnode, expected_bytes: u64, seen_bytes: u64 },
        GuestUndefined,
        ExclusiveCpusShared { cpus: CpuSet, with: Owner },
        GuestUnreadable { why: String },
        HostTopologyChanged,
        ClaimedCpusGone { cpus: CpuSet },
        VnodeWithoutMemory { vnode: Vnode },
        NotVerified { what: Sight, why: String },
        CgroupKeepsOut { vcpu: Vcpu, expected: CpuSet, cgroup: CpuSet },
        MemoryStaysBehind { vnode: Vnode, mode: MemoryMode, memory_nodes: NodeSet, cpu_node: Pnode },
        ForeignGuest { owner: ForeignOwner },
        Obstructed { obstacle: Obstacle },
        VcpusSpanNodes { vcpus: VcpuSet, cpus: CpuSet, nodes: NodeSet },
        CoresShared { cpus: CpuSet, siblings: CpuSet, with: Owner },
        MemoryAwayFromVcpus { vnode: Option<Vnode>, cpu_nodes: NodeSet, memory_nodes: NodeSet },
        PagesAwayFromVcpus {
            vnode: Option<Vnode>,
            cpu_nodes: NodeSet,
            seen: NodeSet,
            away_bytes: u64,
            of_bytes: u64,
        },
        MemoryBoundToSlice { vnode: Option<Vnode>, nodes: NodeSet, of: NodeSet },
        ResizingWithVnuma { what: Resizing },
        GuestL3Spread { vcpus: VcpuSet, host_domains: u32, guest_domains: u32 },
        HelpersOnPinnedCpus { helper: Helper, cpus: CpuSet, of: Vec<Owner> },
        PinnedCpusUnusable { threads: PinnedThreads, cpus: CpuSet, why: Unusable },
        PagesPromisedTwice {
            node: Pnode,
            #[serde(rename = "page_size_bytes")]
            page_size: PageSize,
            promised: u64,
            total: u64,
            to: Vec<Owner>,
        },
        MemoryLargerThanNode { node: Pnode, bound_bytes: u64, node_bytes: u64 },
        IsolatedCpusInMask { vcpus: VcpuSet, cpus: CpuSet, isolated: CpuSet },
        DistancesTold { vnode: Vnode, told: Vec<u32>, host: Vec<u32> },
        FrozenWithoutGuest,
        FrozenOtherwise { parts: Vec<FrozenPart> },
        InterruptsOnPinnedCpus { cpus: CpuSet, interrupts: Vec<String> },
        KernelThreadsOnPinnedCpus { cpus: CpuSet, threads: Vec<String>, confined: bool },
        WorkqueuesOnPinnedCpus { cpus: CpuSet, mask: CpuSet },
        NumaBalancingOn,
        KsmMergesAcrossNodes,
        ZoneReclaimOn { mode: u32 },
    }
}

/// The findings alone, as a one-line array: what `verify --json` and the like put into their output.
pub fn findings_to_json(findings: &[Finding]) -> String {
    let docs: Vec<FindingDoc> = findings.iter().map(Wire::to_doc).collect();
    crate::error::compact(&docs)
}

wire! {
    #[serde(tag = "kind")]
    enum L3UntoldDoc = L3Untold {
        Unequal { vcpus: Vec<u32> },
        Scattered,
        OtherThanSockets { vcpus_each: u32, in_socket: u32 },
        NoSmpCache { why: String },
    }
}
