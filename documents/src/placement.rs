//! What is asked of the search for the best place, and what it tells, as they are written.

use crate::wire::{Wire, wire};
use numawise_model::placement::{
    Best, DevicePolicy, EmulatorPolicy, Footprint, L3Policy, Lost, MemoryReach, NodeConstraint,
    NodeLack, PartingFound, Preference, Proof, Score, SmtPolicy, Split,
};
use numawise_model::{CpuSet, NodeSet, Pnode};
use serde::{Deserialize, Serialize};

wire! {
    struct BestDoc = Best {
        l3: L3Policy,
        smt: SmtPolicy,
        split: Split,
        vnodes: Option<u32>,
        emulator: EmulatorPolicy,
        devices: DevicePolicy,
        near: Vec<String>,
    }
}

/// `compact`, `spread`, or a number of L3 domains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum L3PolicyDoc {
    Compact,
    Spread,
    Exactly(u32),
}

impl Wire for L3Policy {
    type Doc = L3PolicyDoc;
    fn to_doc(&self) -> L3PolicyDoc {
        match *self {
            Self::Compact => L3PolicyDoc::Compact,
            Self::Spread => L3PolicyDoc::Spread,
            Self::Exactly(domains) => L3PolicyDoc::Exactly(domains),
        }
    }
    fn from_doc(doc: L3PolicyDoc) -> Self {
        match doc {
            L3PolicyDoc::Compact => Self::Compact,
            L3PolicyDoc::Spread => Self::Spread,
            L3PolicyDoc::Exactly(domains) => Self::Exactly(domains),
        }
    }
}

/// `even-first`, `even`, `uneven`, or the sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SplitDoc {
    EvenFirst,
    Even,
    Uneven,
    Exact(Vec<u32>),
}

impl Wire for Split {
    type Doc = SplitDoc;
    fn to_doc(&self) -> SplitDoc {
        match self {
            Self::EvenFirst => SplitDoc::EvenFirst,
            Self::Even => SplitDoc::Even,
            Self::Uneven => SplitDoc::Uneven,
            Self::Exact(parts) => SplitDoc::Exact(parts.clone()),
        }
    }
    fn from_doc(doc: SplitDoc) -> Self {
        match doc {
            SplitDoc::EvenFirst => Self::EvenFirst,
            SplitDoc::Even => Self::Even,
            SplitDoc::Uneven => Self::Uneven,
            SplitDoc::Exact(parts) => Self::Exact(parts),
        }
    }
}

wire! { enum SmtPolicyDoc = SmtPolicy { Prefer, Require, Isolate, Avoid } }
wire! { enum EmulatorPolicyDoc = EmulatorPolicy { Housekeeping, Isolate } }
wire! { enum DevicePolicyDoc = DevicePolicy { Preferred, Required, Legacy, Socket } }
wire! { enum PartingFoundDoc = PartingFound { Even, WholeCores, Any } }

wire! {
    /// One number for each preference, the most important first.
    struct ScoreDoc = Score {
        sharing_cells: u32,
        areas: u32,
        parting: PartingFound,
        distance: u64,
        sharing_areas: u64,
        l3: [u64; 3],
        broken_cores: u64,
        device_distance: u64,
        whole_cores_lost: u64,
        lost_by_largest_area: u32,
        lost_by_largest_l3: u32,
        use_steps: u64,
        id_sum: u64,
    }
}

wire! {
    enum PreferenceDoc = Preference {
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
}

wire! {
    struct FootprintDoc = Footprint {
        nodes: u32,
        cores: u32,
        l3_domains: u32,
        l3_bytes: Option<u64>,
        on_shared_cores: u32,
    }
}

wire! {
    struct MemoryReachDoc = MemoryReach {
        #[serde(rename = "remote_without_vnuma_permille")]
        remote_without_vnuma: u32,
        #[serde(rename = "remote_with_vnuma_permille")]
        remote_with_vnuma: u32,
        #[serde(rename = "mean_distance_without_hundredths")]
        mean_distance_without: Option<u32>,
        #[serde(rename = "mean_distance_with_hundredths")]
        mean_distance_with: Option<u32>,
    }
}

wire! { enum NodeConstraintDoc = NodeConstraint { Seats, Memory, Devices, L3Domains, EmulatorCpu, Other } }

wire! {
    struct NodeLackDoc = NodeLack {
        node: Pnode,
        free: CpuSet,
        seats: u32,
        pages: Option<u64>,
        binding: NodeConstraint,
    }
}

wire! {
    struct LostDoc = Lost { nodes: NodeSet, on: Preference, ours: u64, theirs: u64 }
}

wire! {
    #[serde(tag = "kind")]
    enum ProofDoc = Proof { Optimal, BestFound { bound: u64 } }
}
