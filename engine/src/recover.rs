//! After a crash: every unfinished intent is brought to an end, in whichever direction is near.
//!
//! Forward, when the new state is there already, or when the guest is down on our account (it must
//! not stay down, and the new definition is what its owner wanted it to start from). Back, in all
//! other cases: a guest that still runs as before is not interrupted by whatever command comes next.

use crate::error::EngineError;
use crate::intent::{Intent, IntentKind, IntentStatus, Step};
use crate::live_pins::live_pins_in;
use crate::loop_parts::{Engine, Situation};
use crate::ports::GuestSummary;
use crate::reconcile::Backup;
use numawise_model::{Event, HostId, event::Recovery};

impl Engine<'_> {
    /// What every command begins with. Another process that holds the host is left to it.
    pub fn recover(&self) -> Result<(), EngineError> {
        let host = self.hypervisor.host_id()?;
        let state = self.store.load(&host)?;
        if state.intents.iter().any(|intent| intent.status == IntentStatus::Pending)
            && let Some(lock) = self.try_lock(&host)?
        {
            self.recover_under(&host)?;
            drop(lock);
        }
        Ok(())
    }

    /// The caller holds the host lock, so whoever wrote a pending intent is dead.
    pub(crate) fn recover_under(&self, host: &HostId) -> Result<(), EngineError> {
        self.recover_with(host, None)
    }

    /// The same where the lock of another host is held as well.
    pub(crate) fn recover_with(
        &self,
        host: &HostId,
        held: Option<&Engine<'_>>,
    ) -> Result<(), EngineError> {
        let state = self.store.load(host)?;
        for intent in state.intents.iter().filter(|i| i.status == IntentStatus::Pending) {
            let outcome = match &intent.kind {
                IntentKind::MoveOut { to: peer, .. } | IntentKind::MoveIn { from: peer, .. } => {
                    match self.recover_move(host, intent, peer, held)? {
                        Some(outcome) => outcome,
                        None => continue,
                    }
                }
                _ => self.recover_intent(host, intent)?,
            };
            let (guest, id) = (intent.guest_name.clone(), intent.id.to_string());
            self.emit(Event::Recovered { guest, intent: id, outcome });
        }
        Ok(())
    }

    fn recover_intent(&self, host: &HostId, intent: &Intent) -> Result<Recovery, EngineError> {
        const DIED: &str = "the process that carried it out was killed";
        let steps = self.store.steps(&intent.id)?;
        let guests = self.hypervisor.guests()?;
        let guest = guests.into_iter().find(|guest| guest.uuid == intent.guest);
        let (Some(guest), Some(backup)) = (guest, backup_in(&steps)) else {
            // Nothing was changed yet, or there is no guest left to change.
            self.release(host, intent, DIED)?;
            return Ok(Recovery::Reverted);
        };
        let going_back = steps.iter().any(|step| matches!(step, Step::RollBack { .. }));
        if !going_back && self.is_new_state_near(&guest, intent, &backup, &steps)? {
            self.note_start(&guest, intent, &backup, &steps)?;
            match self.carry_out(&guest, intent, &backup) {
                Ok(()) => {
                    self.record(self.read_situation(false)?, &guest, intent, &backup)?;
                    return Ok(Recovery::Finished);
                }
                Err(error) => self.put_back(host, &guest, intent, &backup, &error.to_string())?,
            }
        } else {
            self.put_back(host, &guest, intent, &backup, DIED)?;
        }
        Ok(Recovery::Reverted)
    }

    /// A guest that runs in the new state was started right before the process died, or by
    /// somebody since: it is not to be stopped again for that.
    fn note_start(
        &self,
        guest: &GuestSummary,
        intent: &Intent,
        backup: &Backup,
        steps: &[Step],
    ) -> Result<(), EngineError> {
        let restarts = intent.restart && backup.was_running && !steps.contains(&Step::Started);
        if restarts && self.hypervisor.live_xml(&guest.uuid)?.is_some() {
            self.store.append_step(&intent.id, &Step::Started)?;
        }
        Ok(())
    }

    fn is_new_state_near(
        &self,
        guest: &GuestSummary,
        intent: &Intent,
        backup: &Backup,
        steps: &[Step],
    ) -> Result<bool, EngineError> {
        let inactive = self.hypervisor.inactive_xml(&guest.uuid)?;
        let defined = self.guest_digest(&inactive)? == self.guest_digest(&backup.after_xml)?;
        if !defined || !intent.restart || !backup.was_running {
            return Ok(defined);
        }
        let started = steps.contains(&Step::Started);
        Ok(match self.hypervisor.live_xml(&guest.uuid)? {
            None => true,
            Some(live) => {
                let live = self.editor.read(&live)?;
                started || !self.is_older_than_definition(Some(&live), backup)?
            }
        })
    }

    /// Guests that were started by somebody else since: their topology freezes now.
    pub(crate) fn freeze_seen(&self, situation: &mut Situation) -> Result<(), EngineError> {
        let mut changed = false;
        for guest in &situation.guests.known {
            let uuid = &guest.summary.uuid;
            let Some(record) = situation.state.guests.get(uuid) else { continue };
            let mut record = record.clone();
            if self.freeze(&guest.summary, guest.live.as_ref(), &mut record)? {
                changed = true;
                self.update_state(&situation.host_id, |state| {
                    if let Some(kept) = state.guests.get_mut(uuid) {
                        kept.frozen.clone_from(&record.frozen);
                    }
                    Ok(())
                })?;
            }
        }
        if changed {
            situation.state = self.store.load(&situation.host_id)?;
        }
        Ok(())
    }
}

pub(crate) fn backup_in(steps: &[Step]) -> Option<Backup> {
    steps.iter().find_map(|step| match step {
        Step::Backup { before_xml, after_xml, was_running } => Some(Backup {
            before_xml: before_xml.clone(),
            after_xml: after_xml.clone(),
            was_running: *was_running,
            live_pins: live_pins_in(steps),
        }),
        _ => None,
    })
}
