//! Others that have a say in a guest: whose it is, and what they are doing with it.

use crate::en::{Said, say};
use numawise_model::{ForeignOwner, Obstacle};

/// As it stands in a sentence: "it belongs to OpenStack Nova".
pub fn owner(owner: ForeignOwner) -> String {
    match owner {
        ForeignOwner::Managed { by } => format!("it belongs to {}", by.name()),
        ForeignOwner::Transient => {
            "it is transient: it has no stored definition, and whoever created it keeps one elsewhere"
                .to_owned()
        }
    }
}

/// Why numawise leaves the guest alone, and how to change that.
pub fn owned_by_another(of: ForeignOwner) -> Said {
    let said = say(format!("the guest can be planned and audited, not changed: {}", owner(of)));
    match of {
        ForeignOwner::Managed { by } => said
            .way(format!(
                "set it up there; {} puts its own definition back whenever it acts on the guest",
                by.name()
            ))
            .way("or change it all the same, which is noted in the journal: --override-owner"),
        ForeignOwner::Transient => said
            .way("give the definition to whoever creates it: numawise plan --xml FILE --xml-out FILE")
            .way("or make it persistent first: virsh define FILE"),
    }
}

pub fn foreign_guest(of: ForeignOwner) -> Said {
    say(format!("numawise shows and audits this guest and does not change it: {}", owner(of)))
}

pub fn obstacle(obstacle: &Obstacle) -> Said {
    match obstacle {
        Obstacle::ManagedSave => say(
            "the guest has a saved state, and its next start resumes that with the old definition",
        )
        .way("start it and shut it down properly")
        .way("or give the saved state up: virsh managedsave-remove GUEST"),
        Obstacle::BlockJob { disk } => {
            say(format!("a block job runs on disk {disk}; a shutdown would break it off"))
                .way(format!("wait for it, or end it: virsh blockjob GUEST {disk} --info"))
        }
        Obstacle::Job { what } => say(format!("another job holds the guest: {what}"))
            .way("wait until it is done: virsh domjobinfo GUEST"),
        Obstacle::SnapshotOfOtherTopology { name } => say(format!(
            "snapshot '{name}' was taken with another virtual topology"
        ))
        .way("reverting to it brings the old topology back; delete it when it is not needed"),
    }
}
