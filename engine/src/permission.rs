//! Whether a guest may be changed at all: whose it is, and what others are doing with it. Looked at
//! under the host lock before anything is written, and by dry runs.

use crate::error::EngineError;
use crate::intent::Manner;
use crate::ledger_view::KnownGuest;
use crate::loop_parts::Engine;
use crate::ports::GuestSummary;
use numawise_model::{Event, ForeignOwner, GuestConfig, GuestUuid, Obstacle, Refusal};

/// Who else may change the guest, and numawise therefore not. A domain without a stored definition
/// has nothing that a change could be written into.
pub fn foreign_owner(guest: &GuestSummary, config: &GuestConfig) -> Option<ForeignOwner> {
    match config.manager {
        _ if !guest.persistent => Some(ForeignOwner::Transient),
        Some(by) => Some(ForeignOwner::Managed { by }),
        None => None,
    }
}

impl Engine<'_> {
    /// Refuses what somebody else's ownership or work stands against, with every reason. Gives the
    /// owner who is overridden, if one is.
    pub(crate) fn may_change(
        &self,
        guest: &KnownGuest,
        after_xml: &str,
        manner: Manner,
    ) -> Result<Option<ForeignOwner>, EngineError> {
        let (summary, name) = (&guest.summary, &guest.summary.name);
        let mut refusals = Vec::new();
        let mut overridden = None;
        match foreign_owner(summary, &guest.inactive) {
            Some(owner @ ForeignOwner::Managed { .. }) if manner.override_owner => {
                overridden = Some(owner);
            }
            Some(owner) => refusals.push(Refusal::OwnedByAnother(owner)),
            None => {}
        }
        let (stands, noticed): (Vec<Obstacle>, Vec<Obstacle>) = self
            .obstacles(guest, after_xml)?
            .into_iter()
            .partition(|obstacle| stands_against(obstacle, manner));
        refusals.extend(stands.into_iter().map(Refusal::Blocked));
        if !refusals.is_empty() {
            return Err(EngineError::Refused(refusals));
        }
        for obstacle in noticed {
            self.emit(Event::ObstacleNoticed { guest: name.clone(), obstacle });
        }
        if let Some(owner) = overridden {
            self.emit(Event::OwnerOverridden { guest: name.clone(), owner });
        }
        Ok(overridden)
    }

    /// What others do with the guest, and the snapshots that would bring another topology back.
    /// Snapshots are read only where the topology changes: each is a whole definition.
    pub(crate) fn obstacles(
        &self,
        guest: &KnownGuest,
        after_xml: &str,
    ) -> Result<Vec<Obstacle>, EngineError> {
        let uuid = &guest.summary.uuid;
        let mut obstacles = self.hypervisor.obstacles(uuid)?;
        if after_xml != guest.xml {
            let after = self.editor.read(after_xml)?;
            if !is_same_topology(&after, &guest.inactive) {
                obstacles.extend(self.other_snapshots(uuid, &after)?);
            }
        }
        Ok(obstacles)
    }

    /// A snapshot that cannot be read is none that is known to agree.
    fn other_snapshots(
        &self,
        guest: &GuestUuid,
        after: &GuestConfig,
    ) -> Result<Vec<Obstacle>, EngineError> {
        let differs = |xml: &str| {
            self.editor.read(xml).map_or(true, |config| !is_same_topology(&config, after))
        };
        let snapshots = self.hypervisor.snapshots(guest)?;
        let other = snapshots.into_iter().filter(|snapshot| differs(&snapshot.domain_xml));
        Ok(other.map(|s| Obstacle::SnapshotOfOtherTopology { name: s.name }).collect())
    }
}

fn is_same_topology(a: &GuestConfig, b: &GuestConfig) -> bool {
    a.cells == b.cells && a.cpu_topology == b.cpu_topology
}

fn stands_against(obstacle: &Obstacle, manner: Manner) -> bool {
    match obstacle {
        Obstacle::ManagedSave | Obstacle::Job { .. } => true,
        Obstacle::BlockJob { .. } => manner.restart,
        Obstacle::SnapshotOfOtherTopology { .. } => false,
    }
}
