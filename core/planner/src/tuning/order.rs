//! In which order changes are made: a partition gets its CPUs before it closes and opens before it
//! loses them, memory is given back before it is taken, a folder is there before what is in it.

use numawise_model::{ChangeKind, PathState, TuningChange};

pub fn ordered(mut changes: Vec<TuningChange>) -> Vec<TuningChange> {
    changes.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| by_path(a, b)));
    changes
}

fn by_path(a: &TuningChange, b: &TuningChange) -> std::cmp::Ordering {
    // A folder goes after the folders in it.
    if a.before == PathState::Folder { b.path.cmp(&a.path) } else { a.path.cmp(&b.path) }
}

fn rank(change: &TuningChange) -> u8 {
    let text = change.after.text().map(str::trim);
    let name = change.path.rsplit('/').next().unwrap_or(&change.path);
    match (change.kind, name) {
        _ if change.after == PathState::Folder => 0,
        _ if change.before == PathState::Folder => 8,
        (ChangeKind::Runtime, "cpuset.cpus.partition") if text == Some("member") => 1,
        (ChangeKind::Runtime, "cpuset.cpus") => 2,
        (ChangeKind::Runtime, "cpuset.cpus.partition") => 3,
        (ChangeKind::Runtime, "nr_hugepages") if shrinks(change) => 4,
        (ChangeKind::Runtime, "nr_hugepages") => 5,
        (ChangeKind::Runtime, _) => 6,
        (ChangeKind::Persistent, _) => 7,
    }
}

fn shrinks(change: &TuningChange) -> bool {
    let number = |state: &PathState| state.text()?.trim().parse::<u64>().ok();
    number(&change.after) < number(&change.before)
}
