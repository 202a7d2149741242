//! The rules by which a whole host is audited. Each has a name that stays, for filters and for
//! people who ask what it is about; several kinds of finding may belong to one rule.

use crate::finding::FindingKind as K;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditRule {
    BookedTwice,
    CpusGone,
    PagesPromisedTwice,
    Drift,
    StaleTopology,
    UnreadableGuest,
    VcpuSpansNodes,
    MemoryAway,
    MemoryOnASlice,
    CoreShared,
    HelpersOnPinnedCpus,
    IsolatedInMask,
    GuestL3,
    DistancesTold,
    ResizingWithVnuma,
    UnpinnedGuest,
    ForeignGuest,
    InterruptsOnPinnedCpus,
    KernelThreadsOnPinnedCpus,
    WorkqueuesOnPinnedCpus,
    NumaBalancing,
    KsmAcrossNodes,
    ZoneReclaim,
    HostDescription,
}

impl AuditRule {
    pub const ALL: [Self; 24] = [
        Self::BookedTwice,
        Self::CpusGone,
        Self::PagesPromisedTwice,
        Self::Drift,
        Self::StaleTopology,
        Self::UnreadableGuest,
        Self::VcpuSpansNodes,
        Self::MemoryAway,
        Self::MemoryOnASlice,
        Self::CoreShared,
        Self::HelpersOnPinnedCpus,
        Self::IsolatedInMask,
        Self::GuestL3,
        Self::DistancesTold,
        Self::ResizingWithVnuma,
        Self::UnpinnedGuest,
        Self::ForeignGuest,
        Self::InterruptsOnPinnedCpus,
        Self::KernelThreadsOnPinnedCpus,
        Self::WorkqueuesOnPinnedCpus,
        Self::NumaBalancing,
        Self::KsmAcrossNodes,
        Self::ZoneReclaim,
        Self::HostDescription,
    ];

    /// The name on the command line and in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::BookedTwice => "booked-twice",
            Self::CpusGone => "cpus-gone",
            Self::PagesPromisedTwice => "pages-promised-twice",
            Self::Drift => "drift",
            Self::StaleTopology => "stale-topology",
            Self::UnreadableGuest => "unreadable-guest",
            Self::VcpuSpansNodes => "vcpu-spans-nodes",
            Self::MemoryAway => "memory-away",
            Self::MemoryOnASlice => "memory-on-a-slice",
            Self::CoreShared => "core-shared",
            Self::HelpersOnPinnedCpus => "helpers-on-pinned-cpus",
            Self::IsolatedInMask => "isolated-in-mask",
            Self::GuestL3 => "guest-l3",
            Self::DistancesTold => "distances-told",
            Self::ResizingWithVnuma => "resizing-with-vnuma",
            Self::UnpinnedGuest => "unpinned-guest",
            Self::ForeignGuest => "foreign-guest",
            Self::InterruptsOnPinnedCpus => "interrupts-on-pinned-cpus",
            Self::KernelThreadsOnPinnedCpus => "kernel-threads-on-pinned-cpus",
            Self::WorkqueuesOnPinnedCpus => "workqueues-on-pinned-cpus",
            Self::NumaBalancing => "numa-balancing",
            Self::KsmAcrossNodes => "ksm-across-nodes",
            Self::ZoneReclaim => "zone-reclaim",
            Self::HostDescription => "host-description",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// The rule that a kind of finding belongs to; `None` for what is only ever said of a plan.
    #[expect(
        clippy::too_many_lines,
        reason = "one line for each kind; cut in two, the compiler would no longer see that none is missing"
    )]
    pub fn of(kind: &K) -> Option<Self> {
        Some(match kind {
            K::ListMapMismatch { .. }
            | K::CpusInSeveralNodes { .. }
            | K::CpusInNoNode { .. }
            | K::DistanceColumns { .. }
            | K::SelfDistanceNotSmallest { .. }
            | K::DistanceAsymmetric { .. }
            | K::DistancesMissing
            | K::NodeMemoryUnknown { .. }
            | K::CpuNodeWithoutMemory { .. }
            | K::MemoryOnlyNodes { .. }
            | K::MaskNamesOffline { .. }
            | K::BadMask { .. }
            | K::OverlappingSets { .. }
            | K::NoL3 { .. }
            | K::L3SpansNodes { .. }
            | K::NodeSpansPackages { .. }
            | K::MixedSmtWidths { .. }
            | K::UnequalL3 { .. }
            | K::NodesAreL3Domains
            | K::RunsUnderHypervisor { .. }
            | K::FakeNuma { .. }
            | K::AllowedCpusOutsideAllowedNodes { .. }
            | K::OnlineWithoutDirectory { .. }
            | K::NotBelieved { .. } => Self::HostDescription,
            K::StoredPin { .. }
            | K::StoredVnuma { .. }
            | K::PendingRestart { .. }
            | K::ThreadAffinity { .. }
            | K::EmulatorAffinity { .. }
            | K::IothreadAffinity { .. }
            | K::GuestSeesOtherNodes { .. }
            | K::GuestNodeVcpus { .. }
            | K::GuestNodeDistances { .. }
            | K::GuestSeesOtherL3 { .. }
            | K::GuestNodeMemory { .. }
            | K::NotVerified { .. }
            | K::CgroupKeepsOut { .. } => Self::Drift,
            K::MemoryElsewhere { .. }
            | K::MemoryAwayFromVcpus { .. }
            | K::PagesAwayFromVcpus { .. } => Self::MemoryAway,
            K::GuestUndefined
            | K::HostTopologyChanged
            | K::FrozenWithoutGuest
            | K::FrozenOtherwise { .. } => Self::StaleTopology,
            K::GuestUnreadable { .. } => Self::UnreadableGuest,
            K::ExclusiveCpusShared { .. } => Self::BookedTwice,
            K::ClaimedCpusGone { .. } | K::PinnedCpusUnusable { .. } => Self::CpusGone,
            K::PagesPromisedTwice { .. } | K::MemoryLargerThanNode { .. } => {
                Self::PagesPromisedTwice
            }
            K::VcpusSpanNodes { .. } => Self::VcpuSpansNodes,
            K::CoresShared { .. } => Self::CoreShared,
            K::MemoryBoundToSlice { .. } => Self::MemoryOnASlice,
            K::HelpersOnPinnedCpus { .. } => Self::HelpersOnPinnedCpus,
            K::IsolatedCpusInMask { .. } => Self::IsolatedInMask,
            K::GuestL3Spread { .. } => Self::GuestL3,
            K::DistancesTold { .. } => Self::DistancesTold,
            K::ResizingWithVnuma { .. } => Self::ResizingWithVnuma,
            K::UnpinnedGuest { .. } => Self::UnpinnedGuest,
            K::ForeignGuest { .. } => Self::ForeignGuest,
            K::InterruptsOnPinnedCpus { .. } => Self::InterruptsOnPinnedCpus,
            K::KernelThreadsOnPinnedCpus { .. } => Self::KernelThreadsOnPinnedCpus,
            K::WorkqueuesOnPinnedCpus { .. } => Self::WorkqueuesOnPinnedCpus,
            K::NumaBalancingOn => Self::NumaBalancing,
            K::KsmMergesAcrossNodes => Self::KsmAcrossNodes,
            K::ZoneReclaimOn { .. } => Self::ZoneReclaim,
            K::UsesReservedCpus { .. }
            | K::UsesIsolatedCpus { .. }
            | K::SmtNotAvoided { .. }
            | K::L3SharesUnequal { .. }
            | K::NotProvenBest { .. }
            | K::EmulatorBesideVcpus { .. }
            | K::IsolatedInWideMask { .. }
            | K::Overcommitted { .. }
            | K::SharesCpus { .. }
            | K::EmulatorOnVcpuCpus { .. }
            | K::EmulatorLacksMemoryNode { .. }
            | K::PrefillWithoutCpus { .. }
            | K::MaxSocketsCrossesNodes { .. }
            | K::GuestL3Differs { .. }
            | K::GuestL3Untold { .. }
            | K::GuestSmtHidden { .. }
            | K::VcpusInterleaved { .. }
            | K::CellsShareNode { .. }
            | K::MemoryUnchecked { .. }
            | K::MemoryOnOtherNode { .. }
            | K::RuleOrder { .. }
            | K::SmtSiblingOfAnother { .. }
            | K::PlanBreaksRule { .. }
            | K::VnodeWithoutMemory { .. }
            | K::MemoryStaysBehind { .. }
            | K::Obstructed { .. } => return None,
        })
    }
}
