//! How a host stands now: free memory, free pages, use. Recorded in plans, never digested.

use crate::ids::{Pcpu, Pnode};
use std::collections::BTreeMap;
use std::fmt;

/// The size of a memory page in bytes: 4 KiB, 2 MiB, 1 GiB on x86.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageSize(pub u64);

impl PageSize {
    pub const BASE_4K: Self = Self(4096);
    pub const HUGE_2M: Self = Self(2 << 20);
    pub const HUGE_1G: Self = Self(1 << 30);

    pub fn bytes(self) -> u64 {
        self.0
    }

    /// Whether it comes from a hugepage pool. Base pages go up to 64 KiB (arm64, POWER).
    pub fn is_huge(self) -> bool {
        self.0 > 64 << 10
    }
}

/// `4K`, `2M`, `1G`.
impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            n if n % (1 << 30) == 0 => format!("{}G", n >> 30),
            n if n % (1 << 20) == 0 => format!("{}M", n >> 20),
            n => format!("{}K", n >> 10),
        };
        f.pad(&text)
    }
}

/// A number of pages per node and page size.
pub type PageCounts = BTreeMap<Pnode, BTreeMap<PageSize, u64>>;

/// The changing facts of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    pub nodes: BTreeMap<Pnode, NodeLevels>,
    /// Average use over the last 15 minutes, where it has been sampled.
    pub utilisation: BTreeMap<Pcpu, Utilisation>,
}

/// What one node has left. `None` is "this source does not say".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeLevels {
    /// MemFree.
    pub memory_free_bytes: Option<u64>,
    /// MemFree and what the kernel gives back when asked: file pages and reclaimable slab.
    pub memory_available_bytes: Option<u64>,
    pub hugepages: BTreeMap<PageSize, HugepageLevels>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HugepageLevels {
    pub total: u64,
    pub free: u64,
    /// Promised to mappings that have not touched them. Kernels give it only for the whole host.
    pub reserved: Option<u64>,
}

/// A share of a CPU's time in thousandths, 0 to 1000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Utilisation(pub u16);

impl Utilisation {
    pub fn percent(self) -> f64 {
        f64::from(self.0) / 10.0
    }
}
