//! Undo: takes back the elements that the last plan wrote, on today's XML, and the claims with it.

use crate::error::EngineError;
use crate::intent::{GuestRecord, Intent, IntentId, IntentKind, IntentStatus};
use crate::loop_parts::Engine;
use crate::ports::{GuestSummary, PortError, RevertError, find_guest};
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
    /// The XML as undo would leave it; changes nothing.
    pub fn preview_undo(&self, wanted: &str) -> Result<UndoPreview, EngineError> {
        let guest = find_guest(self.hypervisor, wanted)?;
        let state = self.store.load(&self.hypervisor.host_id()?)?;
        let applied = state.guests.get(&guest.uuid).and_then(|record| record.applied.as_ref());
        let applied = applied
            .ok_or_else(|| EngineError::NothingApplied { guest: guest.name.clone() })?
            .intent
            .clone();
        let today_xml = self.hypervisor.inactive_xml(&guest.uuid)?;
        let after_xml = self.undone_xml(&guest, &applied, &today_xml)?;
        Ok(UndoPreview { guest, today_xml, after_xml })
    }

    pub fn undo(&self, wanted: &str, id: &IntentId, restart: bool) -> Result<Outcome, EngineError> {
        let host = self.hypervisor.host_id()?;
        let lock = self.lock(&host)?;
        self.recover_under(&host)?;
        let guest = self.preview_undo(wanted)?.guest;
        let situation = self.situation(false)?;
        let applied = situation.record(&guest.uuid).and_then(|record| record.applied.as_ref());
        let applied =
            applied.ok_or_else(|| EngineError::NothingApplied { guest: guest.name.clone() })?;
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
            restart,
            base_revision: situation.state.revision,
            status: IntentStatus::Pending,
            created_unix_sec: self.clock.now_unix_sec(),
        };
        self.write_intent(&situation, &intent, &claims)?;
        let outcome = self.reconcile(&host, &guest, &intent);
        drop(lock);
        outcome
    }

    pub(crate) fn undone_xml(
        &self,
        guest: &GuestSummary,
        applied: &IntentId,
        today: &str,
    ) -> Result<String, EngineError> {
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
