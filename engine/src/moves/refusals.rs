//! What stands against a move, asked at both ends before anything is written, and again under the
//! locks.

use super::{MoveOptions, MovingGuest, PlannedMove, Wanted};
use crate::error::{EngineError, Staleness};
use crate::intent::Manner;
use crate::loop_parts::{Engine, Situation};
use crate::predicates::{broken, taken};
use numawise_documents::topology_digest;
use numawise_model::{ForeignOwner, GuestConfig, MoveRefusal, PageCounts, Refusal};

impl Engine<'_> {
    /// Whether the guest may go from this host to that one at all; changes nothing. Gives the owner
    /// who is overridden, if one is.
    pub fn check_move(
        &self,
        there: &Engine<'_>,
        guest: &MovingGuest,
        options: &MoveOptions,
    ) -> Result<Option<ForeignOwner>, EngineError> {
        let checked = self.against_move(there, guest, options);
        let uuid = &guest.known.summary.uuid;
        checked.map_err(|error| self.unless_moved(&guest.host, &uuid.0, error))
    }

    fn against_move(
        &self,
        there: &Engine<'_>,
        guest: &MovingGuest,
        options: &MoveOptions,
    ) -> Result<Option<ForeignOwner>, EngineError> {
        let machine = self.hypervisor.machine()?;
        let one_ledger = self.hypervisor.host_id()? == there.hypervisor.host_id()?;
        if one_ledger || machine == there.hypervisor.machine()? {
            return Err(refused([MoveRefusal::SameHost { machine }]));
        }
        let runs = guest.known.summary.running;
        // A disk that is being copied stands against a move as against a restart, where it runs.
        let (restart, override_owner) = (runs, options.override_owner);
        let manner = Manner { restart, live: false, override_owner };
        let mut refusals = Vec::new();
        let mut overridden = None;
        match self.may_change(&guest.known, &guest.known.xml, manner) {
            Ok(owner) => overridden = owner,
            Err(EngineError::Refused(more)) => refusals.extend(more),
            Err(error) => return Err(error),
        }
        let mut against = self.against_leaving(guest, options)?;
        against.extend(self.against_arriving(there, guest, options)?);
        refusals.extend(against.into_iter().map(Refusal::CannotMove));
        if refusals.is_empty() { Ok(overridden) } else { Err(EngineError::Refused(refusals)) }
    }

    fn against_leaving(
        &self,
        guest: &MovingGuest,
        options: &MoveOptions,
    ) -> Result<Vec<MoveRefusal>, EngineError> {
        let known = &guest.known;
        let uuid = &known.summary.uuid;
        let mut against = Vec::new();
        match (options.wanted, known.summary.running) {
            (Wanted::Off, true) => against.push(MoveRefusal::IsRunning),
            (Wanted::Running, false) => against.push(MoveRefusal::IsOff),
            _ => {}
        }
        if known.summary.running && self.hypervisor.is_paused(uuid)? {
            against.push(MoveRefusal::IsPaused);
        }
        let live = known.live.as_ref();
        let mut addresses = known.inactive.host_devices.clone();
        let plugged = live.into_iter().flat_map(|live| live.host_devices.clone());
        addresses.extend(plugged.filter(|one| !known.inactive.host_devices.contains(one)));
        if !addresses.is_empty() {
            against.push(MoveRefusal::HostDevices { addresses });
        }
        if live.is_some_and(|live| sees_other(live, &known.inactive)) {
            against.push(MoveRefusal::OlderThanDefinition);
        }
        let snapshots = self.hypervisor.snapshots(uuid)?;
        if !snapshots.is_empty() {
            let names = snapshots.into_iter().map(|snapshot| snapshot.name).collect();
            against.push(MoveRefusal::Snapshots { names });
        }
        Ok(against)
    }

    fn against_arriving(
        &self,
        there: &Engine<'_>,
        guest: &MovingGuest,
        options: &MoveOptions,
    ) -> Result<Vec<MoveRefusal>, EngineError> {
        let known = &guest.known;
        let summary = &known.summary;
        let mut against = Vec::new();
        for other in there.hypervisor.guests()? {
            if other.uuid == summary.uuid {
                against.push(MoveRefusal::AlreadyThere { name: other.name });
            } else if other.name == summary.name {
                against.push(MoveRefusal::NameTaken { name: other.name });
            }
        }
        // What runs brings its state along, and the hypervisors look after its disks themselves.
        if !summary.running && !options.assume_files {
            let files = self.editor.files(&known.xml)?;
            if files.tpm {
                against.push(MoveRefusal::TpmState);
            }
            for path in files.paths {
                if there.hypervisor.has_file(&path)? == Some(false) {
                    against.push(MoveRefusal::FileMissing { path });
                }
            }
        }
        let xml = guest.live_xml.as_ref().unwrap_or(&known.xml);
        let host_cpu = self.hypervisor.host_cpu()?;
        let misfits = there.hypervisor.misfits(xml, host_cpu.as_deref())?;
        against.extend(misfits.into_iter().map(|why| MoveRefusal::NotThere { why }));
        Ok(against)
    }

    /// The guest as it is now, if it still is what was planned for.
    pub(super) fn still_moving(
        &self,
        planned: &PlannedMove,
        situation: &Situation,
    ) -> Result<(), EngineError> {
        let was = &planned.guest.known;
        let name = || was.summary.name.clone();
        let known = situation.guest(&was.summary.uuid).filter(|g| g.summary.name == name());
        let Some(known) = known else {
            return Err(EngineError::Stale(Staleness::GuestGone { guest: name() }));
        };
        if known.summary.running != was.summary.running {
            return Err(EngineError::Stale(Staleness::StartedOrStopped { guest: name() }));
        }
        if self.guest_digest(&known.xml)? != self.guest_digest(&was.xml)? {
            return Err(EngineError::Stale(Staleness::GuestChanged { guest: name() }));
        }
        Ok(())
    }

    /// Whether the plan still fits this host, which the guest is to come to.
    pub(super) fn still_room(
        &self,
        planned: &PlannedMove,
        situation: &Situation,
    ) -> Result<(), EngineError> {
        let Some(plan) = &planned.plan else { return Ok(()) };
        let topology = &situation.host.topology;
        if topology_digest(topology) != plan.host.topology_digest {
            return Err(EngineError::Stale(Staleness::Topology));
        }
        if let Some(why) = taken(plan, topology) {
            return Err(EngineError::Stale(why));
        }
        let uuid = &planned.guest.known.summary.uuid;
        let (host, ledger) = (&situation.host, &situation.view.ledger);
        let frozen = planned.guest.frozen.as_ref();
        let broken = broken(plan, uuid, host, ledger, frozen, &PageCounts::new());
        match broken.is_empty() {
            true => Ok(()),
            false => Err(EngineError::Stale(Staleness::Predicates(broken))),
        }
    }
}

fn refused(against: impl IntoIterator<Item = MoveRefusal>) -> EngineError {
    EngineError::Refused(against.into_iter().map(Refusal::CannotMove).collect())
}

/// Whether the guest would wake up on other hardware than it runs on. Where its threads and its
/// memory are on the host is not part of that.
fn sees_other(live: &GuestConfig, stored: &GuestConfig) -> bool {
    live.cells != stored.cells
        || live.cpu_topology != stored.cpu_topology
        || live.hugepages != stored.hugepages
        || live.l3_cache_mode != stored.l3_cache_mode
        || live.smp_cache != stored.smp_cache
        || live.max_memory != stored.max_memory
}
