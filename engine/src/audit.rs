//! Audit: the judge on a whole host, whoever placed its guests. Changes nothing.
//!
//! A host that is there is looked at with its guests: definitions, threads, pages, claims, what is
//! frozen. Of a capture there is the host alone, and the definitions that were put beside it.

use crate::error::EngineError;
use crate::intent::HostState;
use crate::ledger_view::{Guests, KnownGuest, LedgerView, view};
use crate::loop_parts::{Engine, Situation};
use crate::permission::foreign_owner;
use crate::ports::{Depth, GuestSummary};
use crate::verify::{Look, changed_host};
use numawise_audit::{AuditedGuest, AuditedHost, UndefinedGuest, judge_host};
use numawise_documents::parse_frozen;
use numawise_model::{
    Audit, Finding, FindingKind, FrozenTopology, GuestUuid, Host, HostId, NotLookedAt, Severity,
    Subject, Surroundings, Unseen,
};

/// A guest with what was read of it.
struct Seen {
    summary: GuestSummary,
    look: Look,
    frozen: Option<FrozenTopology>,
    is_planned: bool,
}

impl Engine<'_> {
    /// Looks at everything. `surroundings` are those of the hypervisor's host.
    pub fn audit(&self, surroundings: &Surroundings) -> Result<Audit, EngineError> {
        let situation = self.situation(false)?;
        let mut known = situation.host.findings.clone();
        known.extend(situation.view.findings.iter().cloned());
        let mut seen = Vec::new();
        for guest in &situation.guests.known {
            seen.push(self.see(guest, &situation, &mut known)?);
        }
        let undefined = undefined(&situation);
        Ok(judged(&Facts {
            host_id: &situation.host_id,
            simulated: self.hypervisor.is_simulated(),
            host: &situation.host,
            surroundings,
            view: &situation.view,
            seen: &seen,
            undefined: &undefined,
            known,
        }))
    }

    /// What a guest with a plan is not as it should be is known from holding it against that.
    fn see(
        &self,
        guest: &KnownGuest,
        situation: &Situation,
        known: &mut Vec<Finding>,
    ) -> Result<Seen, EngineError> {
        let summary = &guest.summary;
        let record = situation.record(&summary.uuid);
        let applied = record.and_then(|record| record.applied.as_ref());
        // The guest agent is asked where there is something to hold its answer against.
        let depth = if applied.is_some() { Depth::Guest } else { Depth::Pages };
        let look = self.read_all_of(summary, situation, Some(depth))?;
        if let Some(applied) = applied {
            known.extend(self.judge_applied(applied, &look, situation)?);
            known.extend(changed_host(&applied.plan, &situation.host, summary));
        }
        known.extend(foreign(guest));
        Ok(Seen {
            summary: summary.clone(),
            look,
            frozen: situation.frozen(&summary.uuid),
            is_planned: applied.is_some(),
        })
    }
}

/// A host that is not there, with definitions of guests for it. All of them count as off.
pub fn audit_capture(
    host_id: &HostId,
    host: &Host,
    surroundings: &Surroundings,
    guests: Vec<KnownGuest>,
) -> Audit {
    let guests = Guests { known: guests, unreadable: Vec::new() };
    let view = view(&HostState::default(), &guests, &host.topology.online, false);
    let mut known = host.findings.clone();
    known.extend(view.findings.iter().cloned());
    known.extend(guests.known.iter().filter_map(foreign));
    let seen: Vec<Seen> = guests
        .known
        .into_iter()
        .map(|guest| Seen {
            summary: guest.summary,
            frozen: guest.inactive.frozen_note.as_deref().and_then(|n| parse_frozen(n).ok()),
            look: Look { stored: guest.inactive, live: None, facts: None },
            is_planned: false,
        })
        .collect();
    judged(&Facts {
        host_id,
        simulated: false,
        host,
        surroundings,
        view: &view,
        seen: &seen,
        undefined: &[],
        known,
    })
}

struct Facts<'a> {
    host_id: &'a HostId,
    simulated: bool,
    host: &'a Host,
    surroundings: &'a Surroundings,
    view: &'a LedgerView,
    seen: &'a [Seen],
    undefined: &'a [UndefinedGuest],
    known: Vec<Finding>,
}

fn judged(facts: &Facts<'_>) -> Audit {
    let guests: Vec<AuditedGuest<'_>> = facts.seen.iter().map(audited).collect();
    // What nobody could look at is told apart from what was found.
    let is_unseen = |f: &&Finding| matches!(f.kind, FindingKind::NotVerified { .. });
    let known: Vec<Finding> =
        facts.known.iter().filter(|finding| !is_unseen(finding)).cloned().collect();
    let findings = judge_host(&AuditedHost {
        host: facts.host,
        surroundings: facts.surroundings,
        ledger: &facts.view.ledger,
        guests: &guests,
        undefined: facts.undefined,
        known: &known,
    });
    let kernel = facts.surroundings.not_looked_at().into_iter();
    let mut not_looked_at: Vec<NotLookedAt> =
        kernel.map(|(fact, why)| NotLookedAt::Kernel { fact, why }).collect();
    for guest in facts.seen {
        let unseen = guest.look.facts.iter().flat_map(|facts| &facts.unseen);
        not_looked_at.extend(unseen.map(|Unseen { what, why }| NotLookedAt::Guest {
            name: guest.summary.name.clone(),
            what: *what,
            why: why.clone(),
        }));
    }
    Audit {
        host: facts.host_id.clone(),
        simulated: facts.simulated,
        guests: u32::try_from(facts.seen.len()).unwrap_or(u32::MAX),
        findings,
        not_looked_at,
    }
}

fn audited(seen: &Seen) -> AuditedGuest<'_> {
    AuditedGuest {
        uuid: &seen.summary.uuid,
        name: &seen.summary.name,
        stored: &seen.look.stored,
        live: seen.look.live.as_ref(),
        facts: seen.look.facts.as_ref(),
        frozen: seen.frozen.as_ref(),
        is_planned: seen.is_planned,
    }
}

fn foreign(guest: &KnownGuest) -> Option<Finding> {
    let owner = foreign_owner(&guest.summary, &guest.inactive)?;
    let (uuid, name) = (Some(guest.summary.uuid.clone()), guest.summary.name.clone());
    let kind = FindingKind::ForeignGuest { owner };
    Some(Finding { severity: Severity::Info, subject: Subject::Guest { uuid, name }, kind })
}

/// Guests that the store knows and the hypervisor does not.
fn undefined(situation: &Situation) -> Vec<UndefinedGuest> {
    let is_there = |uuid: &GuestUuid| {
        situation.guest(uuid).is_some()
            || situation.guests.unreadable.iter().any(|(guest, _)| guest.uuid == *uuid)
    };
    let mut undefined: Vec<UndefinedGuest> = Vec::new();
    for (uuid, record) in situation.state.guests.iter().filter(|(uuid, _)| !is_there(uuid)) {
        let holds = situation.view.undefined.contains(uuid);
        if holds || record.frozen.is_some() {
            undefined.push(UndefinedGuest { uuid: uuid.clone(), name: record.name.clone(), holds });
        }
    }
    // A claim of which no record is left still holds.
    for uuid in situation.view.undefined.iter().filter(|uuid| !is_there(uuid)) {
        if !undefined.iter().any(|known| known.uuid == *uuid) {
            let (uuid, name) = (uuid.clone(), uuid.to_string());
            undefined.push(UndefinedGuest { uuid, name, holds: true });
        }
    }
    undefined
}
