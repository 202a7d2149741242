//! How a tuning stands: what the kernel made of what was written, and who changed it since.

use super::{Tuner, TuningError, TuningOutcome, same_value};
use numawise_model::{
    ChangeKind, CpuSet, PageSize, PathState, Pnode, TuningChange, TuningEntry, TuningFinding,
    TuningPlan, TuningReason, parse_list,
};

/// An entry of the record against what its path says today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    InForce,
    /// As before numawise, or gone with a boot.
    Back,
    /// By somebody else.
    Changed,
}

pub(super) fn of(entry: &TuningEntry, now: &PathState) -> Standing {
    let is = |state: &PathState| same_value(&entry.path, now, state);
    let gone = entry.kind == ChangeKind::Runtime && *now == PathState::Absent;
    if gone || is(&entry.before) {
        Standing::Back
    } else if is(&entry.wrote) || is(&entry.seen) {
        Standing::InForce
    } else {
        Standing::Changed
    }
}

/// What a change was read back as.
pub(super) fn read_back(change: &TuningChange, seen: &PathState) -> Option<TuningFinding> {
    let PathState::Text(wanted) = &change.after else { return None };
    if same_value(&change.path, &change.after, seen) {
        return None;
    }
    let seen_text = seen.text().map(|text| text.trim().to_owned());
    if let (TuningReason::Hugepages { node, size, pages }, Some(got)) =
        (&change.why, seen_text.as_deref().and_then(|text| text.parse().ok()))
    {
        return Some(short(*node, *size, *pages, got));
    }
    let path = change.path.clone();
    if let (TuningReason::Partition { .. }, Some(seen)) = (&change.why, seen_text.clone()) {
        return Some(TuningFinding::PartitionInvalid { path, seen });
    }
    let wanted = wanted.trim().to_owned();
    Some(TuningFinding::NotAsWritten { path, wanted, seen: seen_text })
}

fn short(node: Pnode, size: PageSize, wanted: u64, got: u64) -> TuningFinding {
    TuningFinding::HugepagesShort { node, size, wanted, got }
}

impl Tuner<'_> {
    /// What is in force, held against the host as it is today.
    pub fn status(&self) -> Result<TuningOutcome, TuningError> {
        self.recover()?;
        let record = self.store.tuning(self.host_id)?;
        let mut findings = Vec::new();
        for entry in &record.in_force {
            let now = self.files.look(&entry.path)?;
            if of(entry, &now) != Standing::InForce {
                findings.push(TuningFinding::NotAsWritten {
                    path: entry.path.clone(),
                    wanted: shown(&entry.wrote),
                    seen: now.text().map(|text| text.trim().to_owned()),
                });
            }
        }
        if let Some(id) = &record.plan
            && let Some(plan) = self.store.tuning_plan(id)?
        {
            findings.extend(self.effects(&plan)?);
        }
        Ok(TuningOutcome { plan: record.plan, written: record.in_force.len(), findings })
    }

    /// The sets that hold, where a kernel says so.
    pub(super) fn effects(&self, plan: &TuningPlan) -> Result<Vec<TuningFinding>, TuningError> {
        let mut findings = Vec::new();
        if !self.files.is_live() {
            return Ok(findings);
        }
        for expected in &plan.expects {
            let folder = expected.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            // A slice without guests is not there yet; it will be made with its limits.
            if self.files.look(folder)? != PathState::Folder {
                continue;
            }
            let seen = self.files.look(&expected.path)?;
            let seen = seen.text().map(|text| text.trim().to_owned());
            let set: Option<CpuSet> = seen.as_deref().and_then(|text| parse_list(text).ok());
            if set.as_ref() != Some(&expected.cpus) {
                let (path, wanted) = (expected.path.clone(), expected.cpus.clone());
                findings.push(TuningFinding::NotInEffect { path, wanted, seen });
            }
        }
        Ok(findings)
    }
}

fn shown(state: &PathState) -> String {
    match state {
        PathState::Text(text) => text.trim().to_owned(),
        PathState::Folder => "a folder".to_owned(),
        PathState::Absent => "nothing".to_owned(),
    }
}
