//! The tuning of a host, carried out: plan, apply, undo, and what became of it.
//!
//! The same promises as for guests. A plan decides everything and is refused when what it was made
//! from has changed. The whole record, with every old value, is in the store before the first file
//! is written, and how far the writing got before each one; so a command that was killed is taken
//! back by the next one (an undo that was killed is finished). All of it happens under the host's
//! lock.
//!
//! What the kernel takes and makes something else of (fewer hugepages than asked, a partition that
//! it calls invalid) is kept and told: half of the pages are worth having, and the boot file asks
//! for the rest. What it refuses with an error takes everything back that was written before.

mod carry_out;
mod error;
mod status;

pub use error::{TuningConflict, TuningError, TuningStale};

use crate::ports::{Cancel, HostFiles, HostLock, PortError, Store};
use numawise_model::{
    Host, HostId, HostSettings, PlanId, TuningEntry, TuningFinding, TuningOperation, TuningPlan,
    TuningRecord, TuningRequest,
};
use numawise_planner::tuning::{
    SYSCTL_FOLDERS, TuningInputs, ordered, plan_tuning, same_value, tuning_paths,
};
use std::cell::RefCell;
use std::sync::atomic::Ordering;

/// The tuning of one host. Every port is borrowed.
pub struct Tuner<'a> {
    pub store: &'a dyn Store,
    pub files: &'a dyn HostFiles,
    pub cancel: &'a Cancel,
    pub host_id: &'a HostId,
    pub host: &'a Host,
    pub emit: RefCell<Box<dyn FnMut(TuningEvent) + 'a>>,
    /// Called after everything that a crash could come after; does nothing outside tests.
    pub probe: Box<dyn Fn() + 'a>,
}

/// What happens on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TuningEvent {
    WaitingForHostLock,
    /// A killed command was brought to an end.
    Recovered {
        plan: PlanId,
        /// It was an undo, and is finished.
        undo: bool,
    },
}

/// How an apply or an undo ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningOutcome {
    /// The plan in force now.
    pub plan: Option<PlanId>,
    pub written: usize,
    pub findings: Vec<TuningFinding>,
}

impl Tuner<'_> {
    /// The exact changes, kept in the store under the plan's id.
    pub fn plan(&self, id: PlanId, request: &TuningRequest) -> Result<TuningPlan, TuningError> {
        self.recover()?;
        let record = self.store.tuning(self.host_id)?;
        let plan = self.planned(id, request, &record.in_force)?;
        self.store.save_tuning_plan(&plan)?;
        Ok(plan)
    }

    /// Whether an apply would be refused as things are now; changes nothing.
    pub fn check(&self, plan: &TuningPlan) -> Result<(), TuningError> {
        self.recover()?;
        let record = self.store.tuning(self.host_id)?;
        self.fresh(plan, &record).map(|_| ())
    }

    pub fn apply(&self, plan: &TuningPlan) -> Result<TuningOutcome, TuningError> {
        let lock = self.lock()?;
        self.recover_under()?;
        let record = self.store.tuning(self.host_id)?;
        let changes = self.fresh(plan, &record)?;
        let written = changes.len();
        let operation = TuningOperation { undo: false, plan: plan.id.clone(), changes, begun: 0 };
        let mut findings = Vec::new();
        if written > 0 {
            let done = self.carry_out(record, operation)?;
            findings = done.findings;
        }
        findings.extend(self.effects(plan)?);
        drop(lock);
        Ok(TuningOutcome { plan: Some(plan.id.clone()), written, findings })
    }

    /// Every value back as it was before the first tuning. Values that somebody else changed since
    /// are refused, or with `force` put back all the same.
    pub fn undo(&self, force: bool) -> Result<TuningOutcome, TuningError> {
        let lock = self.lock()?;
        self.recover_under()?;
        let operation = self.undoing(force)?;
        let written = operation.changes.len();
        let record = self.store.tuning(self.host_id)?;
        let done = self.carry_out(record, operation)?;
        drop(lock);
        Ok(TuningOutcome { plan: None, written, findings: done.findings })
    }

    /// What an undo would write; changes nothing.
    pub fn preview_undo(&self, force: bool) -> Result<TuningOperation, TuningError> {
        self.recover()?;
        self.undoing(force)
    }

    /// The plan as it would be made now.
    fn planned(
        &self,
        id: PlanId,
        request: &TuningRequest,
        in_force: &[TuningEntry],
    ) -> Result<TuningPlan, TuningError> {
        let settings = self.settings(request, in_force)?;
        let inputs = TuningInputs {
            id,
            host_id: self.host_id,
            host: self.host,
            settings: &settings,
            request,
            in_force,
        };
        plan_tuning(&inputs).map_err(TuningError::Refused)
    }

    fn settings(
        &self,
        request: &TuningRequest,
        in_force: &[TuningEntry],
    ) -> Result<HostSettings, TuningError> {
        let mut paths = tuning_paths(&self.host.topology, request, in_force);
        for folder in SYSCTL_FOLDERS {
            let names = self.files.names(folder)?;
            let names = names.iter().filter(|name| name.ends_with(".conf"));
            paths.extend(names.map(|name| format!("{folder}/{name}")));
        }
        let mut settings = HostSettings::default();
        for path in paths {
            let state = self.files.look(&path)?;
            settings.paths.insert(path, state);
        }
        Ok(settings)
    }

    /// The plan's changes, if the same plan would be made today. A plan is a file, and files are
    /// edited: what is written is what this request leads to, or nothing.
    fn fresh(
        &self,
        plan: &TuningPlan,
        record: &TuningRecord,
    ) -> Result<Vec<numawise_model::TuningChange>, TuningError> {
        if plan.host != *self.host_id {
            let (planned, here) = (plan.host.clone(), self.host_id.clone());
            return Err(TuningError::Stale(TuningStale::OtherHost { planned, here }));
        }
        let today = self.planned(plan.id.clone(), &plan.request, &record.in_force)?;
        // Carrying out what is in force already is nothing to do, not a conflict.
        let in_force = record.plan.as_ref() == Some(&plan.id) && today.changes.is_empty();
        if in_force || (today.changes == plan.changes && today.expects == plan.expects) {
            return Ok(today.changes);
        }
        let mut changed = Vec::new();
        for change in &plan.changes {
            let now = self.files.look(&change.path)?;
            let as_planned = today.changes.iter().any(|other| other == change);
            if !as_planned && !same_value(&change.path, &now, &change.before) {
                let (path, before) = (change.path.clone(), change.before.clone());
                changed.push(TuningConflict { path, before, wrote: change.after.clone(), now });
            }
        }
        Err(TuningError::Stale(match changed.is_empty() {
            true => TuningStale::OtherChanges,
            false => TuningStale::Values(changed),
        }))
    }

    fn undoing(&self, force: bool) -> Result<TuningOperation, TuningError> {
        let record = self.store.tuning(self.host_id)?;
        let Some(plan) = record.plan.clone().filter(|_| !record.in_force.is_empty()) else {
            return Err(TuningError::NothingApplied);
        };
        let (mut changes, mut conflicts) = (Vec::new(), Vec::new());
        for entry in &record.in_force {
            let now = self.files.look(&entry.path)?;
            match status::of(entry, &now) {
                status::Standing::Back => continue,
                status::Standing::Changed if !force => {
                    conflicts.push(TuningConflict {
                        path: entry.path.clone(),
                        before: entry.before.clone(),
                        wrote: entry.wrote.clone(),
                        now,
                    });
                }
                status::Standing::Changed | status::Standing::InForce => {
                    changes.push(numawise_model::TuningChange {
                        path: entry.path.clone(),
                        kind: entry.kind,
                        before: now,
                        after: entry.before.clone(),
                        why: numawise_model::TuningReason::NoLongerAsked,
                    });
                }
            }
        }
        if !conflicts.is_empty() {
            return Err(TuningError::UndoConflicts(conflicts));
        }
        Ok(TuningOperation { undo: true, plan, changes: ordered(changes), begun: 0 })
    }

    fn lock(&self) -> Result<Box<dyn HostLock>, TuningError> {
        let mut on_wait = || (self.emit.borrow_mut())(TuningEvent::WaitingForHostLock);
        Ok(self.store.lock_host(self.host_id, &mut on_wait, self.cancel)?)
    }

    /// The lock if nobody has it, without waiting.
    fn try_lock(&self) -> Result<Option<Box<dyn HostLock>>, TuningError> {
        let at_once = Cancel::default();
        let flag = at_once.flag();
        let mut give_up = || flag.store(true, Ordering::Relaxed);
        match self.store.lock_host(self.host_id, &mut give_up, &at_once) {
            Ok(lock) => Ok(Some(lock)),
            Err(PortError::Cancelled) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
