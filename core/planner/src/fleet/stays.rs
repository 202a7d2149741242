//! Guests that have something of a host and cannot be moved by a plan: what they have is held, so that
//! nobody else gets it, and they are named where a host is to be emptied.

use numawise_model::{CpuSet, NodeSet};

/// A guest that stays where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staying {
    pub host: usize,
    pub name: String,
    pub why: Stays,
}

/// Why it cannot be told what a guest would need elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stays {
    /// It shares them with others, or others hold them too.
    SharesCpus { cpus: CpuSet },
    /// It has none of its own.
    NoCpus,
    /// The host has no such CPUs.
    UnknownCpus { cpus: CpuSet },
    /// Nothing is said of its memory.
    NoMemory,
    /// Its memory is in pages of several sizes.
    SeveralPageSizes,
    /// It has memory of nodes that the host does not have.
    UnknownNodes { nodes: NodeSet },
    /// It has memory of nodes that places are not looked for with (CXL, HBM).
    MemoryOnly { nodes: NodeSet },
}
