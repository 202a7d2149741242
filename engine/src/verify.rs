//! Verify: the judge on live facts. Changes nothing.

use crate::error::EngineError;
use crate::intent::{AppliedPlan, GuestRecord};
use crate::loop_parts::{Engine, Situation};
use crate::permission::foreign_owner;
use crate::ports::{Depth, GuestSummary};
use crate::recover::backup_in;
use numawise_audit::{Seen, judge_guest, judge_ledger};
use numawise_documents::topology_digest;
use numawise_model::{
    Finding, FindingKind, FrozenTopology, GuestConfig, GuestFacts, Host, Ledger, Plan, Severity,
    Subject,
};

/// A guest with all that is known of it, for pictures and verdicts.
pub struct GuestState {
    pub summary: GuestSummary,
    pub host: Host,
    pub ledger: Ledger,
    pub stored: GuestConfig,
    pub live: Option<GuestConfig>,
    pub facts: Option<GuestFacts>,
    pub plan: Option<Box<Plan>>,
    pub frozen: Option<FrozenTopology>,
    pub findings: Vec<Finding>,
}

/// What a guest is held against its plan by.
pub(crate) struct Look {
    pub stored: GuestConfig,
    pub live: Option<GuestConfig>,
    pub facts: Option<GuestFacts>,
}

impl GuestState {
    /// Whether the running guest was started from an older definition.
    pub fn is_pending_restart(&self) -> bool {
        self.findings.iter().any(|f| matches!(f.kind, FindingKind::PendingRestart { .. }))
    }
}

impl Engine<'_> {
    /// Looks at one guest; without a plan in force there is nothing to hold it against, and no
    /// findings.
    pub fn look(&self, wanted: &str) -> Result<GuestState, EngineError> {
        let situation = self.situation(false)?;
        let summary = situation.find(wanted, &self.hypervisor.uri())?.summary.clone();
        self.look_at(&summary, &situation, Depth::Guest)
    }

    /// The same for a guest and a host that have been read already. Threads and pages are looked at
    /// only where a plan is in force that they can be held against.
    pub fn look_at(
        &self,
        summary: &GuestSummary,
        situation: &Situation,
        depth: Depth,
    ) -> Result<GuestState, EngineError> {
        let record = situation.record(&summary.uuid);
        let applied = record.and_then(|record| record.applied.as_ref());
        // A quick look is for holding a guest against its plan; a close one is for pictures too.
        let wanted = applied.is_some() || depth > Depth::Threads;
        let look = self.read_all_of(summary, situation, wanted.then_some(depth))?;
        let mut findings = Vec::new();
        if let Some(applied) = applied {
            findings = self.judge_applied(applied, &look, situation)?;
            findings.extend(changed_host(&applied.plan, &situation.host, summary));
        }
        findings.extend(foreign_owner(summary, &look.stored).map(|owner| Finding {
            severity: Severity::Info,
            subject: Subject::Guest {
                uuid: Some(summary.uuid.clone()),
                name: summary.name.clone(),
            },
            kind: FindingKind::ForeignGuest { owner },
        }));
        Ok(GuestState {
            summary: summary.clone(),
            host: situation.host.clone(),
            ledger: situation.view.ledger.clone(),
            stored: look.stored,
            live: look.live,
            facts: look.facts,
            plan: applied.map(|applied| applied.plan.clone()),
            frozen: record.and_then(|record| record.frozen.clone()),
            findings,
        })
    }

    /// Findings about the claims of the host as a whole: nothing is given twice, nothing is gone.
    pub fn judge_claims(&self, situation: &Situation) -> Vec<Finding> {
        let mut findings = judge_ledger(&situation.view.ledger, &situation.host);
        let unreadable = |f: &&Finding| matches!(f.kind, FindingKind::GuestUnreadable { .. });
        findings.extend(situation.view.findings.iter().filter(unreadable).cloned());
        findings
    }

    /// Findings of a guest against its plan in force.
    pub fn verify(&self, wanted: &str) -> Result<GuestState, EngineError> {
        let state = self.look(wanted)?;
        if state.plan.is_none() {
            return Err(EngineError::NothingApplied { guest: state.summary.name });
        }
        Ok(state)
    }

    pub(crate) fn verify_record(
        &self,
        guest: &GuestSummary,
        record: &GuestRecord,
        situation: &Situation,
        depth: Depth,
    ) -> Result<Vec<Finding>, EngineError> {
        let Some(applied) = &record.applied else { return Ok(Vec::new()) };
        let look = self.read_all_of(guest, situation, Some(depth))?;
        self.judge_applied(applied, &look, situation)
    }

    pub(crate) fn judge_applied(
        &self,
        applied: &AppliedPlan,
        look: &Look,
        situation: &Situation,
    ) -> Result<Vec<Finding>, EngineError> {
        // Only what runs can be older than its definition; most guests of a list do not.
        let earlier = match &look.live {
            Some(_) => self.earlier_configs(applied)?,
            None => Vec::new(),
        };
        let seen = Seen {
            stored: &look.stored,
            live: look.live.as_ref(),
            facts: look.facts.as_ref(),
            earlier: &earlier,
        };
        Ok(judge_guest(&applied.plan, seen, &situation.view.ledger, &situation.host))
    }

    pub(crate) fn read_all_of(
        &self,
        guest: &GuestSummary,
        situation: &Situation,
        depth: Option<Depth>,
    ) -> Result<Look, EngineError> {
        let (stored, live) = match situation.guest(&guest.uuid) {
            Some(known) => (known.inactive.clone(), known.live.clone()),
            // It is not among those that could be read: reading it again says why.
            None => (self.read_guest(guest)?.1, self.live_config(guest)?),
        };
        let facts = match depth.filter(|_| live.is_some()) {
            Some(depth) => self.hypervisor.observe(&guest.uuid, depth)?,
            None => None,
        };
        Ok(Look { stored, live, facts })
    }

    /// The definitions that the plan in force and those before it replaced.
    fn earlier_configs(&self, applied: &AppliedPlan) -> Result<Vec<GuestConfig>, EngineError> {
        let mut earlier = Vec::new();
        for applied in std::iter::successors(Some(applied), |newer| newer.previous.as_deref()) {
            if let Some(backup) = backup_in(&self.store.steps(&applied.intent)?) {
                earlier.push(self.editor.read(&backup.before_xml)?);
            }
        }
        Ok(earlier)
    }

    fn live_config(&self, guest: &GuestSummary) -> Result<Option<GuestConfig>, EngineError> {
        match self.hypervisor.live_xml(&guest.uuid)? {
            Some(xml) => Ok(Some(self.editor.read(&xml)?)),
            None => Ok(None),
        }
    }
}

/// A plan speaks of one topology; on another its numbers mean something else.
pub(crate) fn changed_host(plan: &Plan, host: &Host, guest: &GuestSummary) -> Option<Finding> {
    let bound = !plan.binding.cpus.is_empty();
    let changed = topology_digest(&host.topology) != plan.host.topology_digest;
    (bound && changed).then(|| Finding {
        severity: Severity::Error,
        subject: Subject::Guest { uuid: Some(guest.uuid.clone()), name: guest.name.clone() },
        kind: FindingKind::HostTopologyChanged,
    })
}
