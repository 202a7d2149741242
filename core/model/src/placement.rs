//! What can be asked of the search for the best place, and what it tells of its choice.

use crate::id_set::{CpuSet, NodeSet};
use crate::ids::Pnode;
use crate::levels::PageSize;

/// What is asked of the search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Best {
    pub l3: L3Policy,
    pub smt: SmtPolicy,
    pub split: Split,
    /// So many vNUMA nodes; as many as it takes, when absent.
    pub vnodes: Option<u32>,
    pub emulator: EmulatorPolicy,
    pub devices: DevicePolicy,
    /// PCI addresses to be near to, beside the guest's own.
    pub near: Vec<String>,
}

/// Which L3 domains a guest gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum L3Policy {
    /// As few as can be.
    #[default]
    Compact,
    /// As many as there are in its nodes, with equal shares.
    Spread,
    /// So many in all.
    Exactly(u32),
}

/// How vCPUs sit on the threads of cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SmtPolicy {
    /// Siblings together where there are any, else any thread.
    #[default]
    Prefer,
    /// Siblings together, or refused.
    Require,
    /// A core for each vCPU, and nobody on the sibling.
    Isolate,
    /// A core for each vCPU as far as there are; the sibling may be others'.
    Avoid,
}

/// How the vCPUs are divided between nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Evenly where that fits, else unevenly.
    #[default]
    EvenFirst,
    Even,
    /// As the nodes have room, even or not.
    Uneven,
    /// These many vCPUs on the vNUMA nodes, in their order.
    Exact(Vec<u32>),
}

/// Where the emulator's threads run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmulatorPolicy {
    /// On what is kept for the host, else on the guest's own.
    #[default]
    Housekeeping,
    /// On one pCPU that nobody else has.
    Isolate,
}

/// How near a guest must be to its devices, as Nova's users know the words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DevicePolicy {
    /// Near where nothing more important decides.
    #[default]
    Preferred,
    /// On its node; a device whose node is not known will not do.
    Required,
    /// On its node, or anywhere where the node is not known.
    Legacy,
    /// On a node of its package.
    Socket,
}

/// How good a placement is: one number for each preference, the most important first. Smaller is
/// better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score {
    /// vNUMA nodes that share a pNUMA node with another, where their number was given.
    pub sharing_cells: u32,
    /// pNUMA nodes (under L3-as-NUMA, packages).
    pub areas: u32,
    pub parting: PartingFound,
    /// Over all pairs of vCPUs in different areas, there and back; and for each vCPU how much farther
    /// its memory is than its area's own would be, times the vCPUs of the guest.
    pub distance: u64,
    /// Areas where cores are shared against the SMT policy.
    pub sharing_areas: u64,
    /// Compact: domains used, free ones opened and not filled, places left over in them. Spread: 1
    /// when shares are unequal, domains not used, how unequal.
    pub l3: [u64; 3],
    /// Cores of which the guest has only a part.
    pub broken_cores: u64,
    /// By vCPU.
    pub device_distance: u64,
    pub whole_cores_lost: u64,
    pub lost_by_largest_area: u32,
    pub lost_by_largest_l3: u32,
    /// Use over 15 minutes in steps of 10 %, summed over the pCPUs.
    pub use_steps: u64,
    pub id_sum: u64,
}

/// How even the parts came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartingFound {
    #[default]
    Even,
    WholeCores,
    Any,
}

/// A field of [`Score`], by the name that reasons give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preference {
    SharingCells,
    FewestNodes,
    EvenSplit,
    Distance,
    SmtPolicy,
    L3Policy,
    WholeCores,
    Devices,
    Fragmentation,
    Use,
    LowestIds,
}

impl Score {
    /// The first preference on which `other` is worse or better, with this value and the other's.
    pub fn first_difference(&self, other: &Self) -> Option<(Preference, u64, u64)> {
        use Preference as P;
        let rows = |score: &Self| {
            [
                (P::SharingCells, u64::from(score.sharing_cells)),
                (P::FewestNodes, u64::from(score.areas)),
                (P::EvenSplit, score.parting as u64),
                (P::Distance, score.distance),
                (P::SmtPolicy, score.sharing_areas),
                (P::L3Policy, score.l3[0]),
                (P::L3Policy, score.l3[1]),
                (P::L3Policy, score.l3[2]),
                (P::WholeCores, score.broken_cores),
                (P::Devices, score.device_distance),
                (P::Fragmentation, score.whole_cores_lost),
                (P::Fragmentation, u64::from(score.lost_by_largest_area)),
                (P::Fragmentation, u64::from(score.lost_by_largest_l3)),
                (P::Use, score.use_steps),
                (P::LowestIds, score.id_sum),
            ]
        };
        let pairs = rows(self).into_iter().zip(rows(other));
        let mut differing = pairs.filter(|((_, ours), (_, theirs))| ours != theirs);
        differing.next().map(|((preference, ours), (_, theirs))| (preference, ours, theirs))
    }
}

/// What a placement takes of the host, for setting two of them side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    pub nodes: u32,
    pub cores: u32,
    pub l3_domains: u32,
    /// Of those domains; absent when a size is not known.
    pub l3_bytes: Option<u64>,
    /// vCPUs whose core runs another vCPU, of this guest or of another.
    pub on_shared_cores: u32,
}

/// How far memory is, for an access to any page of the guest from any of its vCPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryReach {
    /// In thousandths: the guest sees no nodes, and its processes use memory anywhere.
    pub remote_without_vnuma: u32,
    /// In thousandths: processes stay with the memory of their vNUMA node.
    pub remote_with_vnuma: u32,
    /// In hundredths of a SLIT distance; absent when the host tells none.
    pub mean_distance_without: Option<u32>,
    pub mean_distance_with: Option<u32>,
}

/// Why a node, by itself, cannot have the guest (or the part of it that it was asked for).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLack {
    pub node: Pnode,
    /// pCPUs that can be given.
    pub free: CpuSet,
    /// vCPUs that could be seated under the SMT policy.
    pub seats: u32,
    /// Pages that can be promised; absent when not known.
    pub pages: Option<u64>,
    pub binding: NodeConstraint,
}

/// Which constraint binds on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeConstraint {
    /// Fewer seats than vCPUs.
    Seats,
    Memory,
    /// It is not near a device that the guest must be near.
    Devices,
    /// Not so many L3 domains, or not with room for their shares.
    L3Domains,
    /// No pCPU is left for the emulator alone.
    EmulatorCpu,
    /// Each is there; they do not come together.
    Other,
}

/// A change after which a refused request fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WouldFit {
    FewerVcpus(u32),
    LessMemory(u64),
    PageSize(PageSize),
    /// Even splits only were asked for.
    UnevenSplit,
    /// One guest gone from this host.
    WithoutGuest {
        name: String,
    },
    Smt(SmtPolicy),
    /// Devices anywhere.
    DevicesPreferred,
    /// Any number of L3 domains.
    L3Compact,
    /// The emulator on housekeeping CPUs.
    SharedEmulator,
    /// As many vNUMA nodes as it takes.
    AnyVnodes,
}

/// A placement that was possible and is worse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub nodes: NodeSet,
    pub on: Preference,
    pub ours: u64,
    pub theirs: u64,
}

/// Whether a placement is known to be the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing better exists.
    Optimal,
    /// The search was cut short; no placement has a smaller distance than the bound.
    BestFound { bound: u64 },
}
