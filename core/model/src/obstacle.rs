//! What about a guest stands in the way of changing it, beside constraints of the host.

/// Somebody else's work on a guest that a new definition or a restart would collide with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A saved state that the next start resumes, old definition and all.
    ManagedSave,
    /// A copy, commit or mirror of a disk is running; a shutdown would break it off.
    BlockJob { disk: String },
    /// The guest is on its way to another host, or another job holds it.
    Job { what: String },
    /// Reverting to it would bring another virtual topology back.
    SnapshotOfOtherTopology { name: String },
}

/// The software that made a guest and puts its definition back whenever it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manager {
    Nova,
    Ovirt,
    KubeVirt,
    Proxmox,
    OpenNebula,
    ZStack,
}

impl Manager {
    pub const ALL: [Self; 6] =
        [Self::Nova, Self::Ovirt, Self::KubeVirt, Self::Proxmox, Self::OpenNebula, Self::ZStack];

    /// As its makers write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nova => "OpenStack Nova",
            Self::Ovirt => "oVirt",
            Self::KubeVirt => "KubeVirt",
            Self::Proxmox => "Proxmox VE",
            Self::OpenNebula => "OpenNebula",
            Self::ZStack => "ZStack",
        }
    }
}

/// Why only somebody else may change a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignOwner {
    /// By the note that it leaves in the domain's metadata.
    Managed { by: Manager },
    /// No stored definition: whoever created the guest keeps it elsewhere.
    Transient,
}
