//! What a check-up of a hypervisor host found: one value per thing that was tried.

use crate::database::DatabaseCheck;
use crate::ids::Pnode;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub verdict: Verdict,
    pub kind: CheckKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Good,
    /// It was not tried, or could not be.
    Untried,
    /// Works, but costs something.
    Warning,
    Bad,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckKind {
    Connection {
        uri: String,
        /// What answers there; `None` when nothing does.
        answer: Option<Platform>,
        why: Option<String>,
    },
    /// A guest without any disk was started, ran its firmware and reset itself.
    ProbeGuest {
        accelerator: Accelerator,
        outcome: ProbeOutcome,
    },
    /// The hypervisor does not offer it: with a device file or without.
    NoKvm {
        device_file: bool,
    },
    /// Preallocated guest memory on a node outside the emulator's pin does not start (libvirt 9.0
    /// with QEMU 7.1 or newer, unless patched).
    EmulatorPinDefect {
        outcome: DefectOutcome,
    },
    /// The threads and pages of guests, by the kernel's word.
    KernelFacts {
        why_not: Option<String>,
    },
    Nodes {
        nodes: Vec<Pnode>,
    },
    /// A kernel setting that works against a binding.
    AgainstBinding {
        setting: HostSetting,
    },
    /// One of several things about a database server.
    Database {
        target: String,
        check: DatabaseCheck,
    },
    State {
        folder: String,
        why_not: Option<String>,
    },
}

/// Versions as `major.minor.release`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    pub libvirt_client: String,
    pub libvirt_daemon: String,
    /// `QEMU 7.2.22`.
    pub hypervisor: String,
    /// Reached over the network: its kernel cannot be asked.
    pub remote: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    Kvm,
    Software,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    Booted { took_msec: u64 },
    NotBooted { why: String },
    NotTried { why: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefectOutcome {
    Absent,
    Present { said: String },
    NotTried { why: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostSetting {
    /// Moves pages and threads by its own idea.
    NumaBalancing,
    /// Merges equal pages of guests on different nodes.
    KsmAcrossNodes,
}
