//! Apply: refuse what is stale, write intent and claims in one transaction, carry it out.
//!
//! The host lock is taken first, so that an unfinished intent seen under it belongs to a process
//! that died, and claims are never made between somebody else's claim and its outcome.

use crate::error::{EngineError, Staleness};
use crate::intent::{HostState, Intent, IntentId, IntentKind, IntentStatus, Manner};
use crate::ledger_view::KnownGuest;
use crate::loop_parts::{CrashPoint, Engine, Situation};
use crate::ports::GuestSummary;
use crate::predicates::{broken, taken};
use crate::reconcile::{Outcome, planned_xml};
use numawise_audit::judge_plan;
use numawise_documents::{frozen_digest, topology_digest};
use numawise_model::{
    Claim, CpuPools, Event, ForeignOwner, FrozenTopology, GuestUuid, HostId, Ledger, MoveRefusal,
    Owner, PageCounts, Plan, Predicate, Refusal, Severity,
};

#[derive(Clone, Debug)]
pub struct ApplyOptions {
    pub intent: IntentId,
    pub manner: Manner,
    /// Guests that are off lose claims that stand in the way.
    pub ignore_stopped: bool,
    /// As the operator has divided the CPUs today.
    pub pools: CpuPools,
}

/// A guest that a plan may be applied to.
struct Cleared {
    summary: GuestSummary,
    /// Told to go on although it is theirs.
    overridden: Option<ForeignOwner>,
}

impl Engine<'_> {
    pub fn apply(&self, plan: &Plan, options: &ApplyOptions) -> Result<Outcome, EngineError> {
        let guest = plan.guest.as_ref().ok_or(EngineError::PlanWithoutGuest)?;
        let here = self.planned_host(plan)?;
        let lock = self.lock(&here)?;
        self.recover_under(&here)?;
        let situation = self.situation(options.ignore_stopped)?;
        let Cleared { summary, overridden } = self.cleared(plan, &situation, options)?;
        let intent = Intent {
            id: options.intent.clone(),
            guest: guest.uuid.clone(),
            guest_name: guest.name.clone(),
            kind: IntentKind::Apply { plan: Box::new(plan.clone()) },
            restart: options.manner.restart,
            live: options.manner.live,
            overridden,
            base_revision: situation.state.revision,
            status: IntentStatus::Pending,
            created_unix_sec: self.clock.now_unix_sec(),
        };
        self.write_intent(&situation, &intent, &plan.claims)?;
        let outcome = self.reconcile(situation, &summary, &intent);
        drop(lock);
        outcome
    }

    /// Whether an apply would be refused as things are now; changes nothing.
    pub fn check(&self, plan: &Plan, options: &ApplyOptions) -> Result<GuestSummary, EngineError> {
        self.planned_host(plan)?;
        let situation = self.situation(options.ignore_stopped)?;
        Ok(self.cleared(plan, &situation, options)?.summary)
    }

    /// Others' say in the guest comes first: a guest that must be left alone is told before a plan
    /// that would have to be made anew.
    fn cleared(
        &self,
        plan: &Plan,
        situation: &Situation,
        options: &ApplyOptions,
    ) -> Result<Cleared, EngineError> {
        let guest = plan.guest.as_ref().ok_or(EngineError::PlanWithoutGuest)?;
        let known = situation.guest(&guest.uuid).filter(|g| g.summary.name == guest.name);
        let Some(known) = known else {
            let guest = guest.name.clone();
            return Err(EngineError::Stale(Staleness::GuestGone { guest }));
        };
        let after_xml = match planned_xml(self.editor, plan, &known.xml) {
            Ok(after_xml) => after_xml,
            Err(cannot) => {
                // What cannot be written was edited, and the judge says where.
                self.fresh(plan, known, situation, &options.pools)?;
                return Err(cannot);
            }
        };
        let overridden = self.may_change(known, &after_xml, options.manner)?;
        self.fresh(plan, known, situation, &options.pools)?;
        Ok(Cleared { summary: known.summary.clone(), overridden })
    }

    fn planned_host(&self, plan: &Plan) -> Result<HostId, EngineError> {
        let here = self.hypervisor.host_id()?;
        if here == plan.host.id {
            return Ok(here);
        }
        let (planned, here) = (plan.host.id.to_string(), here.to_string());
        Err(EngineError::Stale(Staleness::OtherHost { planned, here }))
    }

    /// Everything the plan was made from still holds, and the plan still is one: a plan is a file,
    /// and files are edited.
    fn fresh(
        &self,
        plan: &Plan,
        known: &KnownGuest,
        situation: &Situation,
        pools: &CpuPools,
    ) -> Result<(), EngineError> {
        let stale = |why| Err(EngineError::Stale(why));
        let guest = &known.summary;
        if topology_digest(&situation.host.topology) != plan.host.topology_digest {
            return stale(Staleness::Topology);
        }
        if let Some(why) = taken(plan, &situation.host.topology) {
            return stale(why);
        }
        if !self.is_as_planned(plan, &known.xml, situation.record(&guest.uuid))? {
            return stale(Staleness::GuestChanged { guest: guest.name.clone() });
        }
        let needs_pages = |p: &Predicate| matches!(p, Predicate::PagesAvailable { .. });
        let held = match plan.requires.iter().any(needs_pages) {
            true => self.held_pages(known)?,
            false => PageCounts::new(),
        };
        let (host, ledger) = (&situation.host, &situation.view.ledger);
        let frozen = situation.frozen(&guest.uuid);
        let broken = broken(plan, &guest.uuid, host, ledger, frozen.as_ref(), &held);
        if !broken.is_empty() {
            return stale(Staleness::Predicates(broken));
        }
        let others = ledger.without_guest(&guest.uuid);
        let config = Some(&known.inactive);
        // A guest that runs with what this very plan gave was not frozen when the plan was made.
        let frozen = frozen.filter(|frozen| plan.requires.contains(&seen_frozen(frozen)));
        let mut judged = judge_plan(host, &others, pools, config, frozen.as_ref(), plan);
        judged.retain(|finding| finding.severity == Severity::Error);
        if !judged.is_empty() {
            return Err(EngineError::PlanEdited(judged));
        }
        Ok(())
    }

    /// One transaction: the intent, the new claims, and the end of claims that no longer count.
    pub(crate) fn write_intent(
        &self,
        situation: &Situation,
        intent: &Intent,
        claims: &[Claim],
    ) -> Result<(), EngineError> {
        let undefined = &situation.view.undefined;
        let mut released: Vec<GuestUuid> = Vec::new();
        self.update_state(&situation.host_id, |state| {
            refuse_unfinished(state, intent)?;
            released.clone_from(undefined);
            for uuid in undefined {
                state.ledger = state.ledger.without_guest(uuid);
                state.guests.remove(uuid);
            }
            let others = state.ledger.without_guest(&intent.guest);
            released.extend(release_ignored(&others, situation, claims));
            state.ledger = others;
            state.ledger.claims.retain(|c| !released.iter().any(|uuid| c.owner.is_guest(uuid)));
            refuse_taken(state, claims)?;
            state.ledger.claims.extend(claims.iter().cloned());
            state
                .intents
                .retain(|old| old.status == IntentStatus::Pending || old.guest != intent.guest);
            state.intents.push(intent.clone());
            Ok(())
        })?;
        for uuid in released {
            let name = situation.record(&uuid).map(|record| record.name.clone());
            self.emit(Event::ClaimsReleased { guest: name.unwrap_or(uuid.0) });
        }
        let (guest, id) = (intent.guest_name.clone(), intent.id.to_string());
        self.emit(Event::Claimed { guest, intent: id });
        self.probe(CrashPoint::Claimed);
        Ok(())
    }
}

/// A move whose other end could not be reached waits: until it has ended nothing else is done with
/// the guest.
pub(crate) fn refuse_unfinished(state: &HostState, new: &Intent) -> Result<(), EngineError> {
    let waiting = state.intents.iter().find(|old| {
        old.guest == new.guest && old.status == IntentStatus::Pending && old.id != new.id
    });
    match waiting.map(|old| &old.kind) {
        Some(IntentKind::MoveOut { to: peer, .. } | IntentKind::MoveIn { from: peer, .. }) => {
            let peer = peer.uri.clone();
            let refusal = Refusal::CannotMove(MoveRefusal::Unfinished { peer });
            Err(EngineError::Refused(vec![refusal]))
        }
        _ => Ok(()),
    }
}

fn seen_frozen(frozen: &FrozenTopology) -> Predicate {
    Predicate::FrozenTopology { digest: Some(frozen_digest(frozen)) }
}

/// Owners of stored claims that stand in the way and that the view did not count (they are off).
fn release_ignored(others: &Ledger, situation: &Situation, claims: &[Claim]) -> Vec<GuestUuid> {
    let counted = |uuid: &GuestUuid| situation.view.ledger.of_guest(uuid).next().is_some();
    let mut released = Vec::new();
    for claim in claims {
        for conflict in others.conflicts(&claim.owner, &claim.cpus, claim.mode) {
            if let Owner::Guest { uuid, .. } = conflict.held_by
                && !counted(&uuid)
                && !released.contains(&uuid)
            {
                released.push(uuid);
            }
        }
    }
    released
}

/// The last word on "no exclusive CPU is given twice": in the very transaction that gives it.
fn refuse_taken(state: &HostState, claims: &[Claim]) -> Result<(), EngineError> {
    let taken = claims
        .iter()
        .any(|claim| !state.ledger.conflicts(&claim.owner, &claim.cpus, claim.mode).is_empty());
    if taken {
        let needs = claims
            .iter()
            .map(|claim| Predicate::CpusUnclaimed { cpus: claim.cpus.clone(), mode: claim.mode });
        return Err(EngineError::Stale(Staleness::Predicates(needs.collect())));
    }
    Ok(())
}
