//! Small words that findings are made of.

use crate::id_set::VcpuSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    Package,
    L3Domain,
    Core,
}

/// A part of what a guest is frozen to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrozenPart {
    /// The vNUMA nodes and their vCPUs.
    Nodes,
    Memory,
    Distances,
    /// Sockets, dies, cores, threads.
    CpuTopology,
}

/// What changes a guest's size while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resizing {
    Balloon,
    MemoryHotplug,
    VcpuHotplug,
}

/// A thread of a guest beside its vCPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Helper {
    Emulator,
    Iothread { id: u32 },
}

/// Threads of a guest that have a pin in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PinnedThreads {
    Vcpus { vcpus: VcpuSet },
    Helper { helper: Helper },
}

/// Why a pinned thread cannot have a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unusable {
    Offline,
    NotThere,
    OutsideCgroup,
}

/// Why a guest cannot be told which of its vCPUs share an L3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum L3Untold {
    /// Every level of a topology is of one size; these are the vCPUs on each L3 domain.
    Unequal { vcpus: Vec<u32> },
    /// vCPUs of one L3 domain are not neighbours, or may run on several.
    Scattered,
    /// An L3 domain is larger than a guest socket, or does not divide it.
    OtherThanSockets { vcpus_each: u32, in_socket: u32 },
    /// Only `smp-cache` could say it, and this QEMU does not take it.
    NoSmpCache { why: String },
}
