//! The writing: one change after the other, each noted before it is made; the way back; and the end
//! of what a killed command began.

use super::{Tuner, TuningError, TuningEvent, same_value};
use crate::ports::{PortError, Removal};
use numawise_model::{
    PathState, TuningChange, TuningEntry, TuningFinding, TuningOperation, TuningRecord,
};

const UNITS: &str = "/etc/systemd/system/";

/// What was seen once everything was written.
pub(super) struct Done {
    pub findings: Vec<TuningFinding>,
}

impl Tuner<'_> {
    /// What every command begins with. Another process that holds the host is left to it.
    pub fn recover(&self) -> Result<(), TuningError> {
        let is_unfinished = self.store.tuning(self.host_id)?.operation.is_some();
        if is_unfinished && let Some(lock) = self.try_lock()? {
            self.recover_under()?;
            drop(lock);
        }
        Ok(())
    }

    /// The caller holds the host lock, so whoever began the operation is dead.
    pub(super) fn recover_under(&self) -> Result<(), TuningError> {
        const DIED: &str = "the command that carried it out was killed";
        let mut record = self.store.tuning(self.host_id)?;
        let Some(operation) = record.operation.clone() else { return Ok(()) };
        let (plan, undo) = (operation.plan.clone(), operation.undo);
        if undo {
            // It was wanted, and every step of it can be made twice.
            self.carry_out(record, operation)?;
        } else {
            self.put_back(&mut record).map_err(|again| TuningError::Stuck {
                because: DIED.to_owned(),
                again: again.to_string(),
            })?;
        }
        (self.emit.borrow_mut())(TuningEvent::Recovered { plan, undo });
        Ok(())
    }

    /// The record is in the store, with every old value, before anything is written.
    pub(super) fn carry_out(
        &self,
        mut record: TuningRecord,
        operation: TuningOperation,
    ) -> Result<Done, TuningError> {
        record.operation = Some(operation);
        self.save(&record)?;
        let findings = match self.write_all(&mut record) {
            Ok(findings) => findings,
            Err((path, error)) => return Err(self.take_back(&mut record, path, error)),
        };
        self.finish(&mut record)?;
        Ok(Done { findings })
    }

    fn save(&self, record: &TuningRecord) -> Result<(), TuningError> {
        self.store.save_tuning(self.host_id, record)?;
        (self.probe)();
        Ok(())
    }

    /// The path that failed, and why.
    fn write_all(
        &self,
        record: &mut TuningRecord,
    ) -> Result<Vec<TuningFinding>, (String, PortError)> {
        let changes = changes_of(record);
        let mut findings = Vec::new();
        for (index, change) in changes.iter().enumerate() {
            let failed = |error| (change.path.clone(), error);
            if self.cancel.is_set() {
                return Err(failed(PortError::Cancelled));
            }
            if let Some(operation) = &mut record.operation {
                operation.begun = index as u64 + 1;
            }
            self.store.save_tuning(self.host_id, record).map_err(failed)?;
            (self.probe)();
            findings.extend(self.set(&change.path, change, &change.after).map_err(failed)?);
            (self.probe)();
        }
        self.reload(&changes).map_err(|error| (UNITS.to_owned(), error))?;
        for change in &changes {
            let seen = self.files.look(&change.path).map_err(|e| (change.path.clone(), e))?;
            if seen == PathState::Absent && went_with_its_folder(&changes, change) {
                continue;
            }
            findings.extend(super::status::read_back(change, &seen));
        }
        Ok(findings)
    }

    /// Makes a path say something, unless it does already.
    fn set(
        &self,
        path: &str,
        change: &TuningChange,
        wanted: &PathState,
    ) -> Result<Option<TuningFinding>, PortError> {
        let now = self.files.look(path)?;
        if same_value(path, &now, wanted) {
            return Ok(None);
        }
        match wanted {
            PathState::Text(text) => self.files.write(path, text, change.kind)?,
            PathState::Folder => self.files.make_folder(path)?,
            PathState::Absent => {
                if self.files.remove(path)? == Removal::Kept {
                    return Ok(Some(TuningFinding::FolderKept { path: path.to_owned() }));
                }
            }
        }
        Ok(None)
    }

    fn reload(&self, changes: &[TuningChange]) -> Result<(), PortError> {
        match changes.iter().any(|change| change.path.starts_with(UNITS)) {
            true => self.files.reload_units(),
            false => Ok(()),
        }
    }

    fn take_back(&self, record: &mut TuningRecord, path: String, cause: PortError) -> TuningError {
        match self.put_back(record) {
            Ok(()) => TuningError::RolledBack { path, cause },
            Err(again) => {
                TuningError::Stuck { because: cause.to_string(), again: again.to_string() }
            }
        }
    }

    /// Everything that may have been written, the last first. One value that cannot be put back
    /// does not keep the others from it.
    fn put_back(&self, record: &mut TuningRecord) -> Result<(), TuningError> {
        let changes = changes_of(record);
        let begun = record.operation.as_ref().map_or(0, |operation| operation.begun);
        let begun = usize::try_from(begun).unwrap_or(usize::MAX).min(changes.len());
        let mut failed: Option<PortError> = None;
        for change in changes[..begun].iter().rev() {
            if let Err(error) = self.put_one_back(change) {
                failed.get_or_insert(error);
            }
            (self.probe)();
        }
        if let Err(error) = self.reload(&changes[..begun]) {
            failed.get_or_insert(error);
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        record.operation = None;
        self.save(record)
    }

    /// A value of the kernel whose file is not there has gone with a boot, or with its folder.
    fn put_one_back(&self, change: &TuningChange) -> Result<(), PortError> {
        let now = self.files.look(&change.path)?;
        let is_text = matches!(change.before, PathState::Text(_));
        if is_text && now == PathState::Absent && is_runtime(change) {
            return Ok(());
        }
        self.set(&change.path, change, &change.before).map(|_| ())
    }

    /// The new record: what is in force now, without what is back to what it was.
    fn finish(&self, record: &mut TuningRecord) -> Result<(), TuningError> {
        let Some(operation) = record.operation.take() else { return Ok(()) };
        let mut kept = Vec::new();
        if !operation.undo {
            let mut entries = std::mem::take(&mut record.in_force);
            for change in &operation.changes {
                entries = merged(entries, change);
            }
            for mut entry in entries {
                let seen = self.files.look(&entry.path)?;
                if !same_value(&entry.path, &seen, &entry.before) {
                    entry.seen = seen;
                    kept.push(entry);
                }
            }
        }
        record.in_force = kept;
        record.plan = (!record.in_force.is_empty()).then_some(operation.plan);
        self.save(record)
    }
}

fn changes_of(record: &TuningRecord) -> Vec<TuningChange> {
    record.operation.as_ref().map_or_else(Vec::new, |operation| operation.changes.clone())
}

/// A cgroup's files are the kernel's, and go when the cgroup does.
fn went_with_its_folder(changes: &[TuningChange], change: &TuningChange) -> bool {
    let is_inside = |folder: &TuningChange| {
        let below = change.path.strip_prefix(&folder.path);
        below.is_some_and(|rest| rest.starts_with('/'))
    };
    changes.iter().any(|other| {
        other.before == PathState::Folder && other.after == PathState::Absent && is_inside(other)
    })
}

fn is_runtime(change: &TuningChange) -> bool {
    change.kind == numawise_model::ChangeKind::Runtime
}

/// The first `before` of a path stays: that is what an undo leads back to.
fn merged(mut entries: Vec<TuningEntry>, change: &TuningChange) -> Vec<TuningEntry> {
    match entries.iter_mut().find(|entry| entry.path == change.path) {
        Some(entry) => entry.wrote = change.after.clone(),
        None => entries.push(TuningEntry {
            path: change.path.clone(),
            kind: change.kind,
            before: change.before.clone(),
            wrote: change.after.clone(),
            seen: PathState::Absent,
        }),
    }
    entries
}
