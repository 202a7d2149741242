//! A database server as it says it is set, and as the kernel sees it.

use crate::id_set::{CpuSet, NodeSet};
use crate::ids::Pnode;
use std::collections::BTreeMap;

/// What one server told, and what the kernel tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseFacts {
    /// How it is named, without a password.
    pub target: String,
    pub product: DatabaseProduct,
    pub version: String,
    /// Its variables by their lower-case names. One that is not there is one that it does not have, which
    /// is not the same as off.
    pub settings: BTreeMap<String, String>,
    pub process: Result<ServerProcess, ServerUnseen>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseProduct {
    MariaDb,
    MySql,
    TiDb,
    PostgreSql,
    Sqlite,
}

/// A server on this machine, with all processes that it has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerProcess {
    pub pid: u32,
    pub threads: u64,
    /// CPUs that any of its threads may run on.
    pub cpus: CpuSet,
    /// Nodes that it may take memory from.
    pub nodes: NodeSet,
    /// Memory that is there, by node. What processes share is counted once.
    pub bytes_on: BTreeMap<Pnode, u64>,
    /// How its largest mapping asked for its pages: usually the buffer pool.
    pub pool_policy: Option<PoolPolicy>,
}

/// What the kernel keeps of a mapping's wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolPolicy {
    Default,
    Bound { nodes: NodeSet },
    Interleaved { nodes: NodeSet },
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerUnseen {
    /// A library in the program that uses it.
    NoServer,
    /// It answers over a network.
    NotHere,
    /// It is here, and which process it is cannot be found out.
    NotFound,
    NoAccess {
        why: String,
    },
}

/// One thing about a database server that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseCheck {
    Answers {
        product: DatabaseProduct,
        version: String,
    },
    DoesNotAnswer {
        why: String,
    },
    /// Where the kernel says that it is.
    Place {
        pid: u32,
        threads: u64,
        cpus: CpuSet,
        nodes: NodeSet,
        bytes_on: BTreeMap<Pnode, u64>,
    },
    Unseen {
        why: ServerUnseen,
    },
    /// Memory on nodes with CPUs of which none of its threads may use any.
    MemoryAway {
        bytes: u64,
        nodes: NodeSet,
    },
    /// InnoDB spreads its buffer pool page by page over the nodes that it may use.
    Interleaves {
        nodes: Option<NodeSet>,
    },
    InterleavesNot,
    /// There is no such variable: it was built without libnuma.
    InterleaveUnknown {
        pool_policy: Option<PoolPolicy>,
    },
    PoolTooLarge {
        setting: String,
        pool_bytes: u64,
        nodes: NodeSet,
        nodes_bytes: u64,
    },
    PoolFits {
        setting: String,
        pool_bytes: u64,
        nodes: NodeSet,
        nodes_bytes: u64,
    },
    /// Data passes through the page cache, which takes memory of whichever node read it.
    ThroughPageCache {
        setting: String,
        value: String,
    },
    /// More groups of its thread pool than CPUs.
    TooManyThreadGroups {
        groups: u64,
        cpus: u64,
    },
    /// The server watches itself, which costs: all arms of a comparison must do so, or none.
    WatchesItself,
    /// A large pool in small pages.
    SmallPages {
        setting: String,
        value: String,
        pool_bytes: u64,
    },
    /// A commit is not on disk when it is confirmed.
    NotDurable {
        setting: String,
        value: String,
    },
    /// Two targets are not set alike: what is measured on them is not only their placement.
    Differs {
        setting: String,
        values: BTreeMap<String, String>,
    },
}
