//! Carrying an intent out, step by step.
//!
//! Each step is journaled before the next one begins, and the whole old XML is in the journal
//! before anything is changed. Where a process died, `recover` looks at the world and at the
//! journal and goes on from there with the same functions.

use crate::error::{EngineError, Staleness};
use crate::intent::{AppliedPlan, GuestRecord, HostState, Intent, IntentKind, IntentStatus, Step};
use crate::loop_parts::{CrashPoint, Engine, Situation};
use crate::ports::{Depth, DomainEditor, GuestSummary, PortError, Stopped};
use crate::recover::backup_in;
use numawise_documents::frozen_to_json;
use numawise_model::{Event, Finding, FrozenTopology, GuestConfig, HostId, Pins, Plan};

/// How a plan ended up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub guest: GuestSummary,
    /// The running guest is older than its definition.
    pub pending_restart: bool,
    /// What verify saw.
    pub findings: Vec<Finding>,
}

/// What the journal holds of the state before.
pub(crate) struct Backup {
    pub before_xml: String,
    pub after_xml: String,
    pub was_running: bool,
    /// Where the threads could run, if they were to be moved.
    pub live_pins: Option<Pins>,
}

/// The XML as the plan wants it, with the note that the topology is numawise's.
pub fn planned_xml(
    editor: &dyn DomainEditor,
    plan: &Plan,
    before_xml: &str,
) -> Result<String, EngineError> {
    let note = plan.vnuma.as_ref().map(|topology| {
        let (cells, cpu) = (topology.cells(), topology.cpu);
        frozen_to_json(&FrozenTopology { cells, cpu, cpu_before: None })
    });
    Ok(editor.apply(before_xml, &plan.edit(), note.as_deref())?)
}

/// How many plans back an undo can go.
const UNDO_DEPTH: usize = 8;

impl Engine<'_> {
    /// Runs an intent that has just been written, to its end or back to the old state.
    pub(crate) fn reconcile(
        &self,
        situation: Situation,
        guest: &GuestSummary,
        intent: &Intent,
    ) -> Result<Outcome, EngineError> {
        let host = &situation.host_id.clone();
        let backup = match self.back_up(&situation, guest, intent) {
            Ok(backup) => backup,
            Err(error) => {
                self.release(host, intent, &error.to_string())?;
                return Err(error);
            }
        };
        if let Err(error) = self.carry_out(guest, intent, &backup) {
            return self.roll_back(host, guest, intent, &backup, error);
        }
        // From here on the new state is there: what fails now is writing it down, and the next
        // command does that.
        self.record(situation, guest, intent, &backup)
            .map_err(|error| EngineError::NotRecorded { because: error.to_string() })
    }

    fn back_up(
        &self,
        situation: &Situation,
        guest: &GuestSummary,
        intent: &Intent,
    ) -> Result<Backup, EngineError> {
        if let Some(owner) = intent.overridden {
            self.store.append_step(&intent.id, &Step::OwnerOverridden { owner })?;
        }
        let before_xml = self.hypervisor.inactive_xml(&guest.uuid)?;
        let after_xml = match &intent.kind {
            IntentKind::Apply { plan } => {
                let record = situation.record(&guest.uuid);
                if !self.is_as_planned(plan, &before_xml, record)? {
                    let guest = guest.name.clone();
                    return Err(EngineError::Stale(Staleness::GuestChanged { guest }));
                }
                planned_xml(self.editor, plan, &before_xml)?
            }
            IntentKind::Undo { applied } => self.undone_xml(guest, applied, &before_xml)?,
            // A move goes its own way, with both definitions.
            IntentKind::MoveOut { .. } | IntentKind::MoveIn { .. } => before_xml.clone(),
        };
        let was_running = self.hypervisor.live_xml(&guest.uuid)?.is_some();
        let step = Step::Backup {
            before_xml: before_xml.clone(),
            after_xml: after_xml.clone(),
            was_running,
        };
        self.store.append_step(&intent.id, &step)?;
        self.probe(CrashPoint::BackupJournaled);
        let live_pins = self.journal_live_pins(guest, intent)?;
        Ok(Backup { before_xml, after_xml, was_running, live_pins })
    }

    /// Whether the plan may be written into this definition: it was made from it, it says so
    /// already, or the plan is in force and only what it owns was changed since (by somebody else;
    /// writing it again mends that). What was plugged in beside it makes no difference.
    pub(crate) fn is_as_planned(
        &self,
        plan: &Plan,
        xml: &str,
        record: Option<&GuestRecord>,
    ) -> Result<bool, EngineError> {
        let digest = self.guest_digest(xml)?;
        if plan.guest.as_ref().is_some_and(|planned| planned.digest == digest) {
            return Ok(true);
        }
        let after = planned_xml(self.editor, plan, xml)?;
        if after == xml {
            return Ok(true);
        }
        let in_force = record.and_then(|record| record.applied.as_ref());
        let Some(applied) = in_force.filter(|applied| applied.plan.id == plan.id) else {
            return Ok(false);
        };
        let Some(written) = backup_in(&self.store.steps(&applied.intent)?) else {
            return Ok(false);
        };
        Ok(self.placement(&after)? == self.placement(&written.after_xml)?)
    }

    /// What placement depends on, without the devices passed through.
    pub(crate) fn placement(&self, xml: &str) -> Result<GuestConfig, EngineError> {
        let config = self.editor.read(xml)?;
        Ok(GuestConfig { host_devices: Vec::new(), ..config })
    }

    /// Everything that changes the guest. Safe to run again from the top: a step whose effect is
    /// there already is not repeated.
    pub(crate) fn carry_out(
        &self,
        guest: &GuestSummary,
        intent: &Intent,
        backup: &Backup,
    ) -> Result<(), EngineError> {
        self.define_new(guest, intent, backup)?;
        if intent.live {
            self.move_threads(guest, intent, backup)?;
        }
        if intent.restart && backup.was_running {
            self.restart(guest, intent)?;
        }
        Ok(())
    }

    /// Looks at what was done, and writes it down. Of all guests only this one has changed, so only
    /// it is read again.
    pub(crate) fn record(
        &self,
        mut situation: Situation,
        guest: &GuestSummary,
        intent: &Intent,
        backup: &Backup,
    ) -> Result<Outcome, EngineError> {
        self.read_again(&mut situation, guest)?;
        let host = &situation.host_id;
        let live = situation.guest(&guest.uuid).and_then(|known| known.live.as_ref());
        let record = self.finished_record(host, guest, live, intent, backup)?;
        // Memory stays where it is until a restart, and looking at it takes the kernel its time.
        let depth = if intent.restart { Depth::Pages } else { Depth::Threads };
        let findings = self.verify_record(guest, &record, &situation, depth)?;
        let seen = u32::try_from(findings.len()).map_or(u32::MAX, |n| n);
        self.store.append_step(&intent.id, &Step::Verified { findings: seen })?;
        self.probe(CrashPoint::VerifiedJournaled);
        self.finish(host, guest, intent, record)?;
        let name = guest.name.clone();
        self.emit(Event::Verified { guest: name, findings: findings.clone() });
        let pending_restart = self.is_older_than_definition(live, backup)?;
        if pending_restart {
            self.emit(Event::TakesEffectAtNextBoot { guest: guest.name.clone() });
        }
        Ok(Outcome { guest: guest.clone(), pending_restart, findings })
    }

    fn define_new(
        &self,
        guest: &GuestSummary,
        intent: &Intent,
        backup: &Backup,
    ) -> Result<(), EngineError> {
        self.stop_if_cancelled()?;
        let name = guest.name.clone();
        if self.hypervisor.inactive_xml(&guest.uuid)? == backup.after_xml {
            self.emit(Event::NothingToDefine { guest: name });
        } else {
            self.hypervisor.define(&backup.after_xml)?;
            self.emit(Event::Defined { guest: name });
        }
        self.probe(CrashPoint::DefineDone);
        self.store.append_step(&intent.id, &Step::Defined)?;
        self.probe(CrashPoint::DefinedJournaled);
        Ok(())
    }

    /// A full stop and start. When the guest is down already (a died process stopped it), only the
    /// start is left to do.
    fn restart(&self, guest: &GuestSummary, intent: &Intent) -> Result<(), EngineError> {
        let started = self.store.steps(&intent.id)?.contains(&Step::Started);
        if started {
            return Ok(());
        }
        if self.hypervisor.live_xml(&guest.uuid)?.is_some() {
            self.stop_if_cancelled()?;
            self.emit(Event::ShuttingDown { guest: guest.name.clone() });
            self.store.append_step(&intent.id, &Step::ShutdownAsked)?;
            let stopped = self.hypervisor.shutdown(&guest.uuid, self.shutdown, self.cancel)?;
            if stopped == Stopped::Forced {
                self.emit(Event::ForcedOff { guest: guest.name.clone() });
            }
            self.probe(CrashPoint::ShutDownDone);
            self.store.append_step(&intent.id, &Step::ShutDown)?;
            self.probe(CrashPoint::ShutDownJournaled);
        }
        self.emit(Event::Starting { guest: guest.name.clone() });
        self.hypervisor.start(&guest.uuid)?;
        self.emit(Event::Running { guest: guest.name.clone() });
        self.probe(CrashPoint::StartDone);
        self.store.append_step(&intent.id, &Step::Started)?;
        self.probe(CrashPoint::StartedJournaled);
        Ok(())
    }

    pub(crate) fn stop_if_cancelled(&self) -> Result<(), EngineError> {
        if self.cancel.is_set() { Err(PortError::Cancelled.into()) } else { Ok(()) }
    }

    /// Whether the running guest has other placement than its definition. libvirt puts much into
    /// the XML of what runs, so whole definitions are not compared.
    pub(crate) fn is_older_than_definition(
        &self,
        live: Option<&GuestConfig>,
        backup: &Backup,
    ) -> Result<bool, EngineError> {
        let Some(live) = live else { return Ok(false) };
        let after = self.editor.read(&backup.after_xml)?;
        Ok(live.cells != after.cells
            || live.cpu_topology != after.cpu_topology
            || live.numatune != after.numatune
            || live.hugepages != after.hugepages
            || live.l3_cache_mode != after.l3_cache_mode
            || live.smp_cache != after.smp_cache
            || live.balloon != after.balloon
            || live.max_memory != after.max_memory
            || self.pins_differ(live, &after)?)
    }

    /// The guest's record as it will be when the intent has ended well.
    fn finished_record(
        &self,
        host: &HostId,
        guest: &GuestSummary,
        live: Option<&GuestConfig>,
        intent: &Intent,
        backup: &Backup,
    ) -> Result<GuestRecord, EngineError> {
        let state = self.store.load(host)?;
        let old = state.guests.get(&guest.uuid).cloned();
        let mut record = old.unwrap_or_else(GuestRecord::default);
        record.name.clone_from(&guest.name);
        let in_force = record.applied.as_ref().map(|applied| applied.plan.id.clone());
        record.applied = match &intent.kind {
            IntentKind::Apply { plan } if in_force.as_ref() == Some(&plan.id) => record.applied,
            // Nothing was written, so there is nothing that an undo should take back: it goes to
            // the change before.
            IntentKind::Apply { plan }
                if backup.before_xml == backup.after_xml && record.applied.is_some() =>
            {
                record.applied.map(|applied| AppliedPlan { plan: plan.clone(), ..applied })
            }
            IntentKind::Apply { plan } => Some(AppliedPlan {
                intent: intent.id.clone(),
                plan: plan.clone(),
                previous: record.applied.take().map(|old| Box::new(trim(old, UNDO_DEPTH - 1))),
            }),
            IntentKind::Undo { .. } => {
                record.applied.take().and_then(|applied| applied.previous).map(|boxed| *boxed)
            }
            IntentKind::MoveOut { .. } | IntentKind::MoveIn { .. } => record.applied,
        };
        self.freeze(guest, live, &mut record)?;
        Ok(record)
    }

    /// Freezes the topology once the guest is seen running with it.
    pub(crate) fn freeze(
        &self,
        guest: &GuestSummary,
        live: Option<&GuestConfig>,
        record: &mut GuestRecord,
    ) -> Result<bool, EngineError> {
        let given = record.applied.as_ref().and_then(|applied| applied.plan.vnuma.as_ref());
        let Some(topology) = given else { return Ok(false) };
        if record.frozen.as_ref().is_some_and(|frozen| frozen.same_for_guest(topology)) {
            return Ok(false);
        }
        if live.is_none_or(|live| live.cells != topology.cells()) {
            return Ok(false);
        }
        let cpu_before = match &record.frozen {
            Some(frozen) => frozen.cpu_before,
            None => self.cpu_before_applied(record)?,
        };
        let (cells, cpu) = (topology.cells(), topology.cpu);
        record.frozen = Some(FrozenTopology { cells, cpu, cpu_before });
        self.emit(Event::TopologyFrozen { guest: guest.name.clone() });
        Ok(true)
    }

    fn finish(
        &self,
        host: &HostId,
        guest: &GuestSummary,
        intent: &Intent,
        record: GuestRecord,
    ) -> Result<(), EngineError> {
        self.update_state(host, |state| {
            state.guests.insert(guest.uuid.clone(), record.clone());
            set_status(state, intent, IntentStatus::Done);
            Ok(())
        })?;
        self.probe(CrashPoint::StatusCommitted);
        self.store.append_step(&intent.id, &Step::Finished)?;
        self.probe(CrashPoint::FinishedJournaled);
        Ok(())
    }
}

pub(crate) fn set_status(state: &mut HostState, intent: &Intent, status: IntentStatus) {
    for kept in state.intents.iter_mut().filter(|kept| kept.id == intent.id) {
        kept.status = status.clone();
    }
}

/// Cuts the chain of earlier plans: each has a whole plan in it.
fn trim(mut applied: AppliedPlan, depth: usize) -> AppliedPlan {
    applied.previous = match applied.previous {
        Some(previous) if depth > 0 => Some(Box::new(trim(*previous, depth - 1))),
        _ => None,
    };
    applied
}
