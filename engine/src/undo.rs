//! Undo: takes back the elements that the last plan wrote, on today's XML, and the claims with it.

use crate::error::EngineError;
use crate::intent::{
    AppliedPlan, GuestRecord, Intent, IntentId, IntentKind, IntentStatus, Manner, Step,
};
use crate::ledger_view::KnownGuest;
use crate::loop_parts::{Engine, Situation};
use crate::ports::{GuestSummary, PortError, RevertError};
use crate::reconcile::{Backup, Outcome};
use crate::recover::backup_in;
use numawise_model::{Claim, GuestCpuTopology, Refusal};

/// What an undo would write.
pub struct UndoPreview {
    pub guest: GuestSummary,
    pub today_xml: String,
    pub after_xml: String,
}

impl Engine<'_> {
    /// The XML as undo would leave it, or why it would be refused; changes nothing.
    pub fn preview_undo(&self, wanted: &str, manner: Manner) -> Result<UndoPreview, EngineError> {
        let situation = self.situation(false)?;
        let known = situation.find(wanted, &self.hypervisor.uri())?;
        let after_xml = self.undone(known, &situation)?;
        self.may_change(known, &after_xml, manner)?;
        let (guest, today_xml) = (known.summary.clone(), known.xml.clone());
        Ok(UndoPreview { guest, today_xml, after_xml })
    }

    fn undone(&self, known: &KnownGuest, situation: &Situation) -> Result<String, EngineError> {
        let applied = applied(known, situation)?;
        self.undone_xml(&known.summary, &applied.intent, &known.xml)
    }

    pub fn undo(
        &self,
        wanted: &str,
        id: &IntentId,
        manner: Manner,
    ) -> Result<Outcome, EngineError> {
        let host = self.hypervisor.host_id()?;
        let lock = self.lock(&host)?;
        self.recover_under(&host)?;
        let situation = self.situation(false)?;
        let known = situation.find(wanted, &self.hypervisor.uri())?;
        let guest = known.summary.clone();
        let applied = applied(known, &situation)?;
        let overridden = self.may_change(known, &self.undone(known, &situation)?, manner)?;
        let claims: Vec<Claim> =
            applied.previous.iter().flat_map(|previous| previous.plan.claims.clone()).collect();
        let others = situation.view.ledger.without_guest(&guest.uuid);
        let taken: Vec<Refusal> = claims
            .iter()
            .flat_map(|claim| others.conflicts(&claim.owner, &claim.cpus, claim.mode))
            .map(Refusal::CpusTaken)
            .collect();
        if !taken.is_empty() {
            return Err(EngineError::Refused(taken));
        }
        let intent = Intent {
            id: id.clone(),
            guest: guest.uuid.clone(),
            guest_name: guest.name.clone(),
            kind: IntentKind::Undo { applied: applied.intent.clone() },
            restart: manner.restart,
            live: manner.live,
            overridden,
            base_revision: situation.state.revision,
            status: IntentStatus::Pending,
            created_unix_sec: self.clock.now_unix_sec(),
        };
        self.write_intent(&situation, &intent, &claims)?;
        let outcome = self.reconcile(situation, &guest, &intent);
        drop(lock);
        outcome
    }

    pub(crate) fn undone_xml(
        &self,
        guest: &GuestSummary,
        applied: &IntentId,
        today: &str,
    ) -> Result<String, EngineError> {
        let moved = self.store.steps(applied)?.into_iter().find_map(|step| match step {
            Step::Moved { from_uri, .. } => Some(from_uri),
            _ => None,
        });
        if let Some(from_uri) = moved {
            let guest = guest.name.clone();
            return Err(EngineError::CameWithMove { guest, from_uri });
        }
        let backup = self.backup_of(guest, applied)?;
        match self.editor.revert(today, &backup.before_xml, &backup.after_xml) {
            Ok(xml) => Ok(xml),
            Err(RevertError::Conflicts(conflicts)) => Err(EngineError::UndoConflicts(conflicts)),
            Err(RevertError::Unreadable(error)) => Err(error.into()),
        }
    }

    fn backup_of(&self, guest: &GuestSummary, intent: &IntentId) -> Result<Backup, EngineError> {
        backup_in(&self.store.steps(intent)?).ok_or_else(|| {
            let text = format!(
                "the journal of intent {intent} is gone, so what it wrote for guest '{}' is not \
                 known; bind the guest anew, or restore its XML from a backup",
                guest.name
            );
            PortError::NotFound(text).into()
        })
    }

    /// The topology element that stood there before vNUMA was first switched on.
    pub(crate) fn cpu_before(&self, xml: &str) -> Result<Option<GuestCpuTopology>, EngineError> {
        let config = self.editor.read(xml)?;
        Ok(if config.cells.is_empty() { config.cpu_topology } else { None })
    }

    /// The same, looked for in the journals of the plans in force: the oldest that switched on.
    pub(crate) fn cpu_before_applied(
        &self,
        record: &GuestRecord,
    ) -> Result<Option<GuestCpuTopology>, EngineError> {
        let mut found = None;
        let mut applied = record.applied.as_ref();
        while let Some(plan) = applied {
            if plan.plan.vnuma.is_none() {
                break;
            }
            if let Some(backup) = backup_in(&self.store.steps(&plan.intent)?) {
                found = self.cpu_before(&backup.before_xml)?;
            }
            applied = plan.previous.as_deref();
        }
        Ok(found)
    }
}

fn applied<'s>(
    known: &KnownGuest,
    situation: &'s Situation,
) -> Result<&'s AppliedPlan, EngineError> {
    let record = situation.record(&known.summary.uuid);
    record
        .and_then(|record| record.applied.as_ref())
        .ok_or_else(|| EngineError::NothingApplied { guest: known.summary.name.clone() })
}
