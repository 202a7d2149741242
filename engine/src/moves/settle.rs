//! Where the guest is, and so which way a move ends: on to the new host, or back to the old one.
//!
//! Hypervisors hand a running guest over by themselves, and at each moment at most one of the two
//! copies runs; the other stands still or is gone. So the one that runs is the guest, and a copy that
//! stands still while the other runs is what is left of it. Of a guest that is off, the new
//! definition is the guest once it is there whole and nobody has touched the old one since.
//!
//! | at the source | at the destination | then |
//! | --- | --- | --- |
//! | anything | not there | back |
//! | runs or stands still | stands still, or is off | back |
//! | is off or gone | runs or stands still | on |
//! | stands still | runs | on |
//! | gone | is off | on |
//! | off, as it was, and was off | off, as it was to be | on |
//! | off otherwise | off | back |
//! | runs | runs | nobody's to decide: both claims stand, and it is said |

use super::Move;
use super::carry_out::end;
use crate::error::EngineError;
use crate::intent::{AppliedPlan, GuestRecord, IntentStatus, Step};
use crate::ledger_view::KnownGuest;
use crate::loop_parts::{CrashPoint, Engine};
use crate::ports::{Depth, PortError};
use crate::reconcile::Outcome;
use numawise_model::{Event, GuestUuid, Obstacle};
use std::time::{Duration, Instant};

/// A job that was broken off is gone in this time.
const JOB_ENDS_WITHIN: Duration = Duration::from_secs(30);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// What the journal holds of a move.
pub(super) struct Journal {
    pub before_xml: String,
    pub after_xml: String,
    pub was_running: bool,
}

pub(super) enum Settled {
    There(Outcome),
    Here,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    Absent,
    Off,
    StandsStill,
    Runs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    On,
    Back,
    /// Both definitions are there and off: what they say decides.
    ByDefinition,
    Unclear,
}

pub(super) fn way(here: Whereabouts, there: Whereabouts, was_running: bool) -> Way {
    use Whereabouts::{Absent, Off, Runs, StandsStill};
    match (here, there) {
        (Runs, Runs) => Way::Unclear,
        (_, Absent) | (Runs | StandsStill, StandsStill | Off) => Way::Back,
        (Off | Absent, Runs | StandsStill) | (StandsStill, Runs) | (Absent, Off) => Way::On,
        (Off, Off) if was_running => Way::Back,
        (Off, Off) => Way::ByDefinition,
    }
}

impl Engine<'_> {
    /// Brings a move to an end by where the guest is. The caller holds both locks.
    pub(super) fn settle(
        &self,
        there: &Engine<'_>,
        route: &Move,
        because: &str,
    ) -> Result<Settled, EngineError> {
        let Some(journal) = self.journal_of(route)? else {
            self.end_back(there, route, because)?;
            return Ok(Settled::Here);
        };
        if self.whereabouts(&route.guest)? != Whereabouts::Absent {
            self.end_job(&route.guest)?;
        }
        let here = self.whereabouts(&route.guest)?;
        let at = there.whereabouts(&route.guest)?;
        let way = match way(here, at, journal.was_running) {
            Way::ByDefinition if self.is_whole_there(there, route, &journal)? => Way::On,
            Way::ByDefinition => Way::Back,
            way => way,
        };
        match way {
            Way::On => self.arrive(there, route, &journal).map(Settled::There),
            Way::Unclear => {
                let (from, to) = (&route.from.uri, &route.to.uri);
                Err(PortError::Failed(format!(
                    "guest '{}' runs at {from} and at {to}; stop the one that is not to go on, and \
                     run any numawise command",
                    route.name
                ))
                .into())
            }
            Way::Back | Way::ByDefinition => {
                self.stay(there, route, &journal, [here, at], because)?;
                Ok(Settled::Here)
            }
        }
    }

    fn journal_of(&self, route: &Move) -> Result<Option<Journal>, EngineError> {
        let steps = self.store.steps(&route.id)?;
        Ok(steps.into_iter().find_map(|step| match step {
            Step::Backup { before_xml, after_xml, was_running } => {
                Some(Journal { before_xml, after_xml, was_running })
            }
            _ => None,
        }))
    }

    pub(super) fn whereabouts(&self, guest: &GuestUuid) -> Result<Whereabouts, EngineError> {
        let guests = self.hypervisor.guests()?;
        Ok(match guests.iter().find(|one| &one.uuid == guest) {
            None => Whereabouts::Absent,
            Some(one) if !one.running => Whereabouts::Off,
            Some(_) => match self.hypervisor.is_paused(guest) {
                Ok(true) => Whereabouts::StandsStill,
                Ok(false) => Whereabouts::Runs,
                // It went away in between.
                Err(PortError::NotFound(_)) => Whereabouts::Absent,
                Err(error) => return Err(error.into()),
            },
        })
    }

    /// A hypervisor may still be moving a guest whose mover has died.
    fn end_job(&self, guest: &GuestUuid) -> Result<(), EngineError> {
        let until = Instant::now() + JOB_ENDS_WITHIN;
        let moves = |obstacle: &Obstacle| matches!(obstacle, Obstacle::Job { .. });
        while self.hypervisor.obstacles(guest)?.iter().any(moves) {
            if Instant::now() >= until {
                let text = format!("a job still holds guest {guest} at {}", self.hypervisor.uri());
                return Err(PortError::Failed(text).into());
            }
            self.hypervisor.abort_job(guest)?;
            std::thread::sleep(BETWEEN_LOOKS);
        }
        Ok(())
    }

    /// Whether the new definition is there as it was to be, and the old one as it was.
    fn is_whole_there(
        &self,
        there: &Engine<'_>,
        route: &Move,
        journal: &Journal,
    ) -> Result<bool, EngineError> {
        let here = self.hypervisor.inactive_xml(&route.guest)?;
        let untouched = self.guest_digest(&here)? == self.guest_digest(&journal.before_xml)?;
        Ok(untouched && there.is_ours(route, journal)?)
    }

    /// Another libvirt may spell a definition out otherwise, so only what placement depends on is
    /// compared.
    fn is_ours(&self, route: &Move, journal: &Journal) -> Result<bool, EngineError> {
        let there = self.hypervisor.inactive_xml(&route.guest)?;
        Ok(self.placement(&there)? == self.placement(&journal.after_xml)?)
    }

    /// The guest is there: what is left of it here goes, and the documents follow.
    pub(super) fn arrive(
        &self,
        there: &Engine<'_>,
        route: &Move,
        journal: &Journal,
    ) -> Result<Outcome, EngineError> {
        there.complete(route, journal)?;
        if self.whereabouts(&route.guest)? != Whereabouts::Absent {
            if self.hypervisor.autostarts(&route.guest)? {
                there.hypervisor.set_autostart(&route.guest, true)?;
            }
            self.leave(route)?;
        }
        self.probe(CrashPoint::SourceUndefined);
        self.store.append_step(&route.id, &Step::SourceUndefined)?;
        self.probe(CrashPoint::SourceUndefinedJournaled);
        // From here on the guest is there and nowhere else; what fails now is writing it down.
        self.write_arrival(there, route, journal)
            .map_err(|error| EngineError::NotRecorded { because: error.to_string() })
    }

    fn complete(&self, route: &Move, journal: &Journal) -> Result<(), EngineError> {
        if self.whereabouts(&route.guest)? == Whereabouts::StandsStill {
            self.hypervisor.resume(&route.guest)?;
        }
        let guests = self.hypervisor.guests()?;
        if guests.iter().any(|one| one.uuid == route.guest && !one.persistent) {
            self.hypervisor.define(&journal.after_xml)?;
        }
        Ok(())
    }

    fn leave(&self, route: &Move) -> Result<(), EngineError> {
        if self.whereabouts(&route.guest)? == Whereabouts::StandsStill {
            self.hypervisor.power_off(&route.guest)?;
        }
        if self.whereabouts(&route.guest)? == Whereabouts::Absent {
            return Ok(());
        }
        match route.keep_source {
            // Started with its host, it would be there twice.
            true => self.hypervisor.set_autostart(&route.guest, false)?,
            false => self.hypervisor.undefine(&route.guest)?,
        }
        Ok(())
    }

    fn write_arrival(
        &self,
        there: &Engine<'_>,
        route: &Move,
        journal: &Journal,
    ) -> Result<Outcome, EngineError> {
        if !route.keep_source {
            let (guest, from) = (route.name.clone(), route.from.uri.clone());
            self.emit(Event::LeftSource { guest, from });
        }
        let outcome = there.record_arrival(route, journal)?;
        self.update_state(&route.from.host, |state| {
            state.ledger = state.ledger.without_guest(&route.guest);
            state.guests.remove(&route.guest);
            end(state, route, IntentStatus::Done);
            Ok(())
        })?;
        self.probe(CrashPoint::SourceReleased);
        self.end_arriving(route)?;
        if route.plan.is_some() {
            let findings = outcome.findings.clone();
            self.emit(Event::Verified { guest: route.name.clone(), findings });
        }
        Ok(outcome)
    }

    /// The last document.
    pub(super) fn end_arriving(&self, route: &Move) -> Result<(), EngineError> {
        self.update_state(&route.to.host, |state| {
            end(state, route, IntentStatus::Done);
            Ok(())
        })?;
        self.probe(CrashPoint::StatusCommitted);
        self.store.append_step(&route.id, &Step::Finished)?;
        self.probe(CrashPoint::FinishedJournaled);
        Ok(())
    }

    /// Looks at the guest where it is now, and writes down what is in force for it.
    fn record_arrival(&self, route: &Move, journal: &Journal) -> Result<Outcome, EngineError> {
        let situation = self.read_situation(false)?;
        let uuid = &route.guest;
        let known: &KnownGuest = situation.find(&uuid.0, &self.hypervisor.uri())?;
        let applied = route.plan.clone().map(|plan| AppliedPlan {
            intent: route.id.clone(),
            plan,
            previous: None,
        });
        let (name, frozen) = (route.name.clone(), route.frozen.clone());
        let mut record = GuestRecord { name, frozen, applied };
        self.freeze(&known.summary, known.live.as_ref(), &mut record)?;
        let depth = if journal.was_running { Depth::Pages } else { Depth::Threads };
        let findings = self.verify_record(&known.summary, &record, &situation, depth)?;
        let seen = u32::try_from(findings.len()).map_or(u32::MAX, |n| n);
        self.store.append_step(&route.id, &Step::Verified { findings: seen })?;
        self.probe(CrashPoint::VerifiedJournaled);
        self.update_state(&route.to.host, |state| {
            if record.applied.is_some() || record.frozen.is_some() {
                state.guests.insert(uuid.clone(), record.clone());
            }
            Ok(())
        })?;
        self.probe(CrashPoint::DestinationRecorded);
        Ok(Outcome { guest: known.summary.clone(), pending_restart: false, findings })
    }

    /// The guest is here: what is there of it goes, and the documents follow.
    fn stay(
        &self,
        there: &Engine<'_>,
        route: &Move,
        journal: &Journal,
        [here, at]: [Whereabouts; 2],
        because: &str,
    ) -> Result<(), EngineError> {
        let because_text = because.to_owned();
        self.store.append_step(&route.id, &Step::RollBack { because: because_text })?;
        if at == Whereabouts::StandsStill {
            there.hypervisor.power_off(&route.guest)?;
        }
        if there.whereabouts(&route.guest)? == Whereabouts::Off && there.is_ours(route, journal)? {
            there.hypervisor.undefine(&route.guest)?;
        }
        if here == Whereabouts::StandsStill {
            self.hypervisor.resume(&route.guest)?;
        }
        self.end_back(there, route, because)?;
        self.store.append_step(&route.id, &Step::RolledBack)?;
        self.emit(Event::RolledBack { guest: route.name.clone() });
        Ok(())
    }

    /// The destination's document first: see the order in [`super`].
    fn end_back(&self, there: &Engine<'_>, route: &Move, because: &str) -> Result<(), EngineError> {
        there.update_state(&route.to.host, |state| {
            state.ledger = state.ledger.without_guest(&route.guest);
            state.guests.remove(&route.guest);
            end(state, route, IntentStatus::RolledBack { because: because.to_owned() });
            Ok(())
        })?;
        self.end_leaving(route, because)
    }
}

#[cfg(test)]
mod tests {
    use super::{Way, Whereabouts, way};
    use Whereabouts::{Absent, Off, Runs, StandsStill};

    #[test]
    fn the_copy_that_runs_is_the_guest() {
        let cases = [
            ((Runs, Absent), Way::Back),
            ((StandsStill, Absent), Way::Back),
            ((Absent, Absent), Way::Back),
            ((Runs, StandsStill), Way::Back),
            ((StandsStill, StandsStill), Way::Back),
            ((Runs, Off), Way::Back),
            ((StandsStill, Runs), Way::On),
            ((Off, Runs), Way::On),
            ((Absent, Runs), Way::On),
            ((Absent, StandsStill), Way::On),
            ((Absent, Off), Way::On),
            ((Runs, Runs), Way::Unclear),
        ];
        for ((here, there), wanted) in cases {
            for was_running in [false, true] {
                assert_eq!(way(here, there, was_running), wanted, "{here:?} and {there:?}");
            }
        }
        assert_eq!(way(Off, Off, false), Way::ByDefinition);
        assert_eq!(way(Off, Off, true), Way::Back);
    }
}
