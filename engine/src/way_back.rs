//! The way back: the old definition, the guest running if it ran, the claims that it had.
//!
//! What others have changed meanwhile is not ours to take back: only what was written goes, element
//! by element. A shutdown that was asked for cannot be recalled, so the guest is looked at for a
//! while before it is believed to stay.

use crate::error::EngineError;
use crate::intent::{Intent, IntentStatus, Step};
use crate::loop_parts::Engine;
use crate::ports::{GuestSummary, PortError, RevertError};
use crate::reconcile::{Backup, Outcome, set_status};
use numawise_model::{Event, HostId};
use std::time::{Duration, Instant};

const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

impl Engine<'_> {
    /// Puts the old definition back, starts the guest again if it ran, and gives the claims back.
    /// The error says why, and that the old state is there.
    pub(crate) fn roll_back(
        &self,
        host: &HostId,
        guest: &GuestSummary,
        intent: &Intent,
        backup: &Backup,
        error: EngineError,
    ) -> Result<Outcome, EngineError> {
        let because = error.to_string();
        let cancelled = matches!(error, EngineError::Port(PortError::Cancelled));
        self.emit(Event::RollingBack { guest: guest.name.clone(), because: because.clone() });
        match self.put_back(host, guest, intent, backup, &because) {
            Ok(()) => Err(EngineError::RolledBack { because, cancelled }),
            Err(again) => Err(EngineError::Stuck { because, again: again.to_string() }),
        }
    }

    pub(crate) fn put_back(
        &self,
        host: &HostId,
        guest: &GuestSummary,
        intent: &Intent,
        backup: &Backup,
        because: &str,
    ) -> Result<(), EngineError> {
        self.store.append_step(&intent.id, &Step::RollBack { because: because.to_owned() })?;
        self.define_old(guest, backup)?;
        if backup.was_running && self.is_off_or_goes_off(guest, intent)? {
            self.hypervisor.start(&guest.uuid)?;
        } else if let Some(before) = &backup.live_pins {
            self.move_threads_back(guest, before)?;
        }
        self.release(host, intent, because)?;
        self.store.append_step(&intent.id, &Step::RolledBack)?;
        self.emit(Event::RolledBack { guest: guest.name.clone() });
        Ok(())
    }

    /// Takes back what was written, on the definition of today: what others have changed meanwhile
    /// stays. Where they have changed the very elements that were written, those are theirs now.
    fn define_old(&self, guest: &GuestSummary, backup: &Backup) -> Result<(), EngineError> {
        let today = self.hypervisor.inactive_xml(&guest.uuid)?;
        if today == backup.before_xml {
            return Ok(());
        }
        match self.editor.revert(&today, &backup.before_xml, &backup.after_xml) {
            Ok(xml) if xml == today => {}
            Ok(xml) => self.hypervisor.define(&xml)?,
            Err(RevertError::Conflicts(_)) => {
                self.emit(Event::LeftAsEdited { guest: guest.name.clone() });
            }
            Err(RevertError::Unreadable(error)) => return Err(error.into()),
        }
        Ok(())
    }

    /// A guest that was asked to shut down may do so only now: it is looked at for a while.
    fn is_off_or_goes_off(
        &self,
        guest: &GuestSummary,
        intent: &Intent,
    ) -> Result<bool, EngineError> {
        let steps = self.store.steps(&intent.id)?;
        let asked = steps.contains(&Step::ShutdownAsked) && !steps.contains(&Step::Started);
        let until = Instant::now() + if asked { self.settle } else { Duration::ZERO };
        loop {
            if self.hypervisor.live_xml(&guest.uuid)?.is_none() {
                return Ok(true);
            }
            if Instant::now() >= until {
                break;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        if asked {
            self.emit(Event::MayStillShutDown { guest: guest.name.clone() });
        }
        Ok(false)
    }

    /// The claims that the guest had before the intent come back; nobody can have taken the pCPUs
    /// meanwhile, since claims are made under the host lock, after recovery.
    pub(crate) fn release(
        &self,
        host: &HostId,
        intent: &Intent,
        because: &str,
    ) -> Result<(), EngineError> {
        self.update_state(host, |state| {
            state.ledger = state.ledger.without_guest(&intent.guest);
            let applied = state.guests.get(&intent.guest).and_then(|r| r.applied.as_ref());
            if let Some(applied) = applied {
                state.ledger.claims.extend(applied.plan.claims.iter().cloned());
            }
            let because = because.to_owned();
            set_status(state, intent, IntentStatus::RolledBack { because });
            Ok(())
        })
    }
}
