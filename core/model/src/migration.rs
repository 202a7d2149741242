//! Why a guest cannot go to another host, and how far one is that does. What the other host has no
//! room for is a planner's refusal; here is what stands against the way itself.

use crate::ids::Pnode;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveRefusal {
    /// Both connections lead to one machine, by the hypervisor's own word.
    SameHost { machine: String },
    /// Another guest has its name there.
    NameTaken { name: String },
    /// A guest with its UUID is there: the same one, or a copy.
    AlreadyThere { name: String },
    /// Asked for by `--offline`, and it runs.
    IsRunning,
    /// Asked for by `--live`, and it is off.
    IsOff,
    /// Nobody could tell afterwards whether it was paused by the move.
    IsPaused,
    /// PCI devices of this host in the guest.
    HostDevices { addresses: Vec<String> },
    /// The running guest sees another topology than its definition would give it.
    OlderThanDefinition,
    /// Snapshots stay behind.
    Snapshots { names: Vec<String> },
    /// A file that the guest needs and that the other host does not have.
    FileMissing { path: String },
    /// The emulated TPM keeps its state in files of this host.
    TpmState,
    /// What the other hypervisor says of the guest: its CPU, its machine type.
    NotThere { why: String },
    /// No two pNUMA nodes may take what one had, so each of these needs a node of its own.
    NoNodesFor { vcpus: Vec<u32>, free: Vec<(Pnode, u32)> },
    /// An earlier move of the guest has not come to its end.
    Unfinished { peer: String },
}

/// How far a running guest is on its way, by the hypervisor's count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MoveProgress {
    pub total_bytes: u64,
    /// Still to go. It grows again when the guest writes faster than it is moved.
    pub left_bytes: u64,
}
