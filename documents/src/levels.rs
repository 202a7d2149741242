//! Changing facts as they are written.

use crate::wire::wire;
use numawise_model::{HugepageLevels, Levels, NodeLevels, PageSize, Pcpu, Pnode, Utilisation};
use std::collections::BTreeMap;

wire! {
    /// How a host stood: nodes by id, use of pCPUs in thousandths over the last 15 minutes.
    struct LevelsDoc = Levels {
        nodes: BTreeMap<Pnode, NodeLevels>,
        #[serde(rename = "utilisation_permille")]
        utilisation: BTreeMap<Pcpu, Utilisation>,
    }
}

wire! {
    /// One node; hugepages by their size in bytes.
    struct NodeLevelsDoc = NodeLevels {
        memory_free_bytes: Option<u64>,
        memory_available_bytes: Option<u64>,
        hugepages: BTreeMap<PageSize, HugepageLevels>,
    }
}

wire! {
    /// Numbers of pages.
    struct HugepageLevelsDoc = HugepageLevels {
        #[serde(rename = "total_pages")]
        total: u64,
        #[serde(rename = "free_pages")]
        free: u64,
        #[serde(rename = "reserved_pages")]
        reserved: Option<u64>,
    }
}
