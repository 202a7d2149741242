//! How a host is prepared for guests: what is asked, what its files say now, what would be written.
//!
//! Everything is a path and what is there: kernel files, files that are read at boot, folders. So a
//! plan is a list of changes that a person can read, and undoing it is the same list backwards.

use crate::id_set::CpuSet;
use crate::ids::Pnode;
use crate::levels::PageSize;
use crate::plan::{HostId, PlanId};
use std::collections::BTreeMap;

/// What is asked for. It describes the whole tuning: what an earlier one set and this one does not
/// name goes back to what it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuningRequest {
    /// Pages each pool shall have; pools that are not named are left alone.
    pub hugepages: BTreeMap<PageSize, BTreeMap<Pnode, u64>>,
    pub guest_cpus: CpuSet,
    pub isolation: Isolation,
    /// The cgroup that the guests run in, by its path below the mount; `None`: the host's usual one.
    pub guest_cgroup: Option<String>,
    pub workqueues: Place,
    pub interrupts: Place,
    pub numa_balancing: Switch,
    pub ksm_across_nodes: Switch,
    pub zone_reclaim: Switch,
    pub moment: Moment,
}

/// How the guests' CPUs are kept from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    #[default]
    None,
    /// A cpuset partition of cgroup v2: the kernel takes the CPUs from everybody else, and still
    /// balances load among them.
    Partition,
    /// The same without load balancing: only for guests whose every thread has one pCPU.
    PartitionIsolated,
    /// `AllowedCPUs=` of systemd's slices.
    Systemd,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// On the CPUs that are not the guests'.
    #[default]
    HostCpus,
    Keep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Switch {
    On,
    #[default]
    Off,
    Keep,
}

/// When a setting shall hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moment {
    /// From now on, boots included.
    #[default]
    Both,
    /// Until the next boot.
    Now,
    /// From the next boot on: for pages that a running kernel cannot find any more.
    Boot,
}

impl Moment {
    pub fn is_now(self) -> bool {
        self != Self::Boot
    }

    pub fn is_boot(self) -> bool {
        self != Self::Now
    }
}

/// What is found at a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PathState {
    #[default]
    Absent,
    Folder,
    /// Byte for byte, line ends included.
    Text(String),
}

impl PathState {
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Absent | Self::Folder => None,
        }
    }
}

/// What the host's files say now, by path. A path that was asked for and is not there is `Absent`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSettings {
    pub paths: BTreeMap<String, PathState>,
}

impl HostSettings {
    pub fn at(&self, path: &str) -> &PathState {
        const ABSENT: &PathState = &PathState::Absent;
        self.paths.get(path).unwrap_or(ABSENT)
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.at(path).text()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Of the running kernel; gone at the next boot.
    Runtime,
    /// A file on a disk.
    Persistent,
}

/// One thing that is written, made or taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningChange {
    /// From the root of the host.
    pub path: String,
    pub kind: ChangeKind,
    pub before: PathState,
    pub after: PathState,
    pub why: TuningReason,
}

/// What a change is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TuningReason {
    Hugepages {
        node: Pnode,
        size: PageSize,
        pages: u64,
    },
    /// Work of the kernel that may run anywhere runs on the host's CPUs.
    Workqueues {
        cpus: CpuSet,
    },
    /// Interrupts that come up from now on.
    Interrupts {
        cpus: CpuSet,
    },
    NumaBalancing {
        on: bool,
    },
    KsmAcrossNodes {
        on: bool,
    },
    ZoneReclaim {
        on: bool,
    },
    /// The guests' cgroup, made before the first guest is.
    GuestCgroup,
    GuestCpus {
        cpus: CpuSet,
    },
    Partition {
        balanced: bool,
    },
    /// Confines a slice of systemd.
    Slice {
        slice: String,
        cpus: CpuSet,
    },
    /// Everything else that shall hold after a boot.
    AtBoot,
    /// A folder for one of the files.
    Folder,
    /// An earlier tuning set it, this one does not ask for it: it goes back to what it was.
    NoLongerAsked,
}

/// What the kernel should say after an apply, beside the values that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    pub path: String,
    pub cpus: CpuSet,
}

/// Exactly what would be written. Applying it decides nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningPlan {
    pub id: PlanId,
    pub host: HostId,
    pub request: TuningRequest,
    /// In the order in which they are made.
    pub changes: Vec<TuningChange>,
    pub expects: Vec<Expectation>,
    pub findings: Vec<TuningFinding>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TuningFinding {
    /// This kernel has no such file: what was asked of it is left out.
    Missing {
        path: String,
        what: Setting,
    },
    /// More memory than the node has free or can free.
    HugepagesMayFallShort {
        node: Pnode,
        wanted_bytes: u64,
        available_bytes: u64,
    },
    /// Fewer pages than are in use: the kernel gives up what is free and counts the rest down later.
    HugepagesInUse {
        node: Pnode,
        size: PageSize,
        in_use: u64,
        wanted: u64,
    },
    /// Pages of this size are often to be had at boot only, by a kernel argument.
    KernelArgument {
        argument: String,
    },
    /// Same-page merging has merged: the kernel changes this only while no page is shared.
    KsmShares {
        pages: u64,
    },
    /// No CPU is the host's own, so nothing can be moved there.
    NoHostCpus,
    /// A file read later at boot sets the same key.
    OverriddenAtBoot {
        file: String,
        key: String,
        value: String,
    },
    /// On a host of systemd nothing puts the partition back at boot.
    PartitionNotAtBoot {
        cgroup: String,
    },

    // After an apply: what the kernel made of it.
    HugepagesShort {
        node: Pnode,
        size: PageSize,
        wanted: u64,
        got: u64,
    },
    PartitionInvalid {
        path: String,
        seen: String,
    },
    NotAsWritten {
        path: String,
        wanted: String,
        seen: Option<String>,
    },
    /// The set that holds is another one.
    NotInEffect {
        path: String,
        wanted: CpuSet,
        seen: Option<String>,
    },
    /// Something is in it by now.
    FolderKept {
        path: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Workqueues,
    Interrupts,
    NumaBalancing,
    KsmAcrossNodes,
    ZoneReclaim,
    Hugepages,
}

impl TuningFinding {
    /// Whether the host is not as was asked: exit code 5.
    pub fn is_drift(&self) -> bool {
        matches!(
            self,
            Self::HugepagesShort { .. }
                | Self::PartitionInvalid { .. }
                | Self::NotAsWritten { .. }
                | Self::NotInEffect { .. }
        )
    }
}

/// Why a tuning cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TuningRefusal {
    UnknownNode {
        node: Pnode,
        nodes: Vec<Pnode>,
    },
    PageSizeUnknown {
        size: PageSize,
        known: Vec<PageSize>,
    },
    /// All pools of the node together.
    MoreThanNode {
        node: Pnode,
        wanted_bytes: u64,
        total_bytes: u64,
    },
    CpusUnknown {
        cpus: CpuSet,
        online: CpuSet,
    },
    NoGuestCpus,
    /// Isolation would leave no CPU to the host.
    NoHostCpus {
        guest_cpus: CpuSet,
    },
    NoCgroupV2,
    /// The controller is not switched on for the guests' cgroup.
    CpusetNotDelegated {
        cgroup: String,
    },
    /// This kernel has no partitions.
    NoPartitions {
        cgroup: String,
    },
    /// A partition needs a parent that is one; only the root is by itself.
    NestedCgroup {
        cgroup: String,
    },
    NotSystemd,
}

/// What one tuning command is on the way to, so that a killed one can be brought to an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningOperation {
    pub undo: bool,
    /// The plan that is carried out, or undone.
    pub plan: PlanId,
    pub changes: Vec<TuningChange>,
    /// How many of them may have been written.
    pub begun: u64,
}

/// A value that numawise set and that is still in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningEntry {
    pub path: String,
    pub kind: ChangeKind,
    /// Before the first tuning.
    pub before: PathState,
    pub wrote: PathState,
    /// What was read back: a kernel may make something else of it.
    pub seen: PathState,
}

/// All that is remembered of a host's tuning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuningRecord {
    /// The plan in force.
    pub plan: Option<PlanId>,
    pub in_force: Vec<TuningEntry>,
    pub operation: Option<TuningOperation>,
}

impl TuningRecord {
    pub fn is_empty(&self) -> bool {
        self.in_force.is_empty() && self.operation.is_none()
    }
}
