//! The steps of a move, from the first document to the last.

use super::ports::{Carrier, CarryOrder};
use super::settle::{Journal, Settled};
use super::{Move, MoveOptions, PlannedMove};
use crate::apply::refuse_unfinished;
use crate::error::EngineError;
use crate::intent::{Intent, IntentKind, IntentStatus, Peer, Step};
use crate::loop_parts::{CrashPoint, Engine, Situation};
use crate::ports::{HostLock, PortError};
use crate::reconcile::{Outcome, set_status};
use numawise_model::{Claim, Event, ForeignOwner, HostId};

impl Engine<'_> {
    /// Takes the guest from this host to that one, or leaves it where it is.
    pub fn migrate(
        &self,
        there: &Engine<'_>,
        carrier: &dyn Carrier,
        planned: &PlannedMove,
        options: &MoveOptions,
    ) -> Result<Outcome, EngineError> {
        let (from, to) = (self.hypervisor.host_id()?, there.hypervisor.host_id()?);
        // Before the locks: one host has one.
        if from == to {
            self.check_move(there, &planned.guest, options)?;
        }
        let locks = self.lock_both(&from, &to)?;
        self.recover_with(&from, Some(there))?;
        there.recover_with(&to, Some(self))?;
        let here = self.situation(false)?;
        self.still_moving(planned, &here)?;
        let overridden = self.check_move(there, &planned.guest, options)?;
        let at = there.situation(options.ignore_stopped)?;
        there.still_room(planned, &at)?;
        let route = planned.route(options);
        self.note_leaving(&here, &route, overridden)?;
        let claims = route.plan.as_ref().map(|plan| plan.claims.clone()).unwrap_or_default();
        if let Err(error) = there.note_arriving(&at, &route, overridden, &claims) {
            self.end_leaving(&route, &error.to_string())?;
            return Err(error);
        }
        let outcome = self.go(there, carrier, planned, &route, options);
        drop(locks);
        outcome
    }

    /// In the order of the ids, so that two moves that cross do not wait for one another.
    fn lock_both(&self, from: &HostId, to: &HostId) -> Result<[Box<dyn HostLock>; 2], EngineError> {
        let (first, second) = if from < to { (from, to) } else { (to, from) };
        Ok([self.lock(first)?, self.lock(second)?])
    }

    fn intent(
        &self,
        route: &Move,
        kind: IntentKind,
        situation: &Situation,
        overridden: Option<ForeignOwner>,
    ) -> Intent {
        Intent {
            id: route.id.clone(),
            guest: route.guest.clone(),
            guest_name: route.name.clone(),
            kind,
            restart: false,
            live: false,
            overridden,
            base_revision: situation.state.revision,
            status: IntentStatus::Pending,
            created_unix_sec: self.clock.now_unix_sec(),
        }
    }

    /// The source's half. Nothing is claimed by it, and nothing released.
    fn note_leaving(
        &self,
        situation: &Situation,
        route: &Move,
        overridden: Option<ForeignOwner>,
    ) -> Result<(), EngineError> {
        let kind = IntentKind::MoveOut { to: route.to.clone(), keep_source: route.keep_source };
        let intent = self.intent(route, kind, situation, overridden);
        self.update_state(&situation.host_id, |state| {
            refuse_unfinished(state, &intent)?;
            let kept =
                |old: &Intent| old.status == IntentStatus::Pending || old.guest != intent.guest;
            state.intents.retain(kept);
            state.intents.push(intent.clone());
            Ok(())
        })?;
        self.probe(CrashPoint::MoveNoted);
        Ok(())
    }

    fn note_arriving(
        &self,
        situation: &Situation,
        route: &Move,
        overridden: Option<ForeignOwner>,
        claims: &[Claim],
    ) -> Result<(), EngineError> {
        let (from, plan, frozen) = (route.from.clone(), route.plan.clone(), route.frozen.clone());
        let kind = IntentKind::MoveIn { from, plan, frozen };
        let intent = self.intent(route, kind, situation, overridden);
        self.write_intent(situation, &intent, claims)
    }

    pub(super) fn end_leaving(&self, route: &Move, because: &str) -> Result<(), EngineError> {
        self.update_state(&route.from.host, |state| {
            let because = because.to_owned();
            end(state, route, IntentStatus::RolledBack { because });
            Ok(())
        })
    }

    /// From the journal on: every failure is looked at where the guest is.
    fn go(
        &self,
        there: &Engine<'_>,
        carrier: &dyn Carrier,
        planned: &PlannedMove,
        route: &Move,
        options: &MoveOptions,
    ) -> Result<Outcome, EngineError> {
        let gone = self.journal(planned, route).and_then(|journal| {
            self.carry(there, carrier, planned, route, options)?;
            Ok(journal)
        });
        let error = match gone {
            Ok(journal) => return self.arrive(there, route, &journal),
            Err(error) => error,
        };
        let because = error.to_string();
        let cancelled = matches!(error, EngineError::Port(PortError::Cancelled));
        self.emit(Event::RollingBack { guest: route.name.clone(), because: because.clone() });
        match self.settle(there, route, &because) {
            Ok(Settled::There(outcome)) => Ok(outcome),
            Ok(Settled::Here) => Err(EngineError::RolledBack { because, cancelled }),
            Err(again) => Err(EngineError::Stuck { because, again: again.to_string() }),
        }
    }

    fn journal(&self, planned: &PlannedMove, route: &Move) -> Result<Journal, EngineError> {
        let (from_uri, to_uri) = (route.from.uri.clone(), route.to.uri.clone());
        self.store.append_step(&route.id, &Step::Moved { from_uri, to_uri })?;
        let known = &planned.guest.known;
        let journal = Journal {
            before_xml: self.hypervisor.inactive_xml(&route.guest)?,
            after_xml: planned.after_xml.clone(),
            was_running: known.summary.running,
        };
        self.store.append_step(
            &route.id,
            &Step::Backup {
                before_xml: journal.before_xml.clone(),
                after_xml: journal.after_xml.clone(),
                was_running: journal.was_running,
            },
        )?;
        self.probe(CrashPoint::BackupJournaled);
        Ok(journal)
    }

    fn carry(
        &self,
        there: &Engine<'_>,
        carrier: &dyn Carrier,
        planned: &PlannedMove,
        route: &Move,
        options: &MoveOptions,
    ) -> Result<(), EngineError> {
        self.stop_if_cancelled()?;
        let (guest, to) = (route.name.clone(), route.to.uri.clone());
        let live = planned.after_live_xml.is_some();
        self.emit(Event::Moving { guest: guest.clone(), to: to.clone(), live });
        match &planned.after_live_xml {
            Some(live_xml) => {
                let order = CarryOrder {
                    live_xml: live_xml.clone(),
                    stored_xml: planned.after_xml.clone(),
                    // A definition that starts with its host is read once more before it goes.
                    undefine_source: !route.keep_source && !planned.guest.autostart,
                    travel: options.travel.clone(),
                };
                let mut told = |progress| {
                    self.emit(Event::MoveProgressed { guest: guest.clone(), progress });
                };
                carrier.carry(&route.guest, &order, &mut told, self.cancel)?;
            }
            None => there.hypervisor.define(&planned.after_xml)?,
        }
        self.probe(CrashPoint::Arrived);
        self.store.append_step(&route.id, &Step::Arrived)?;
        self.probe(CrashPoint::ArrivedJournaled);
        self.emit(Event::Arrived { guest, at: to });
        Ok(())
    }
}

impl PlannedMove {
    fn route(&self, options: &MoveOptions) -> Move {
        let summary = &self.guest.known.summary;
        let peer = |host: &HostId, uri: &String| Peer { host: host.clone(), uri: uri.clone() };
        Move {
            id: options.intent.clone(),
            guest: summary.uuid.clone(),
            name: summary.name.clone(),
            from: peer(&self.guest.host, &options.from_uri),
            to: peer(&self.to, &options.to_uri),
            keep_source: options.keep_source,
            plan: self.plan.clone().map(Box::new),
            frozen: self.guest.told_frozen.clone(),
        }
    }
}

/// Sets the status of the move's half in one document.
pub(super) fn end(state: &mut crate::intent::HostState, route: &Move, status: IntentStatus) {
    let half = state.intents.iter().find(|intent| intent.id == route.id).cloned();
    if let Some(half) = half {
        set_status(state, &half, status);
    }
}
