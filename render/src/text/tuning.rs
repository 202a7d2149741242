//! The tuning of a host: what would be written, value by value and file by file.

use super::said::paragraph;
use crate::diff::{Names, unified};
use crate::en::{self, Said, labels, tuning as words};
use crate::look::Look;
use crate::style::Meaning;
use numawise_model::{
    ChangeKind, PathState, TuningChange, TuningFinding, TuningPlan, TuningRefusal,
};

/// A plan: what it is for, the values of the running kernel in a table, the files as diffs, and what
/// to know about it.
pub fn tuning_plan(plan: &TuningPlan, look: &Look) -> String {
    let title = words::title(&plan.id.0, &plan.host.0);
    let mut text = changes(&title, &plan.changes, look);
    if !plan.findings.is_empty() {
        text += &format!("\n{}", tuning_findings(&plan.findings, look));
    }
    text
}

/// What an undo would write.
pub fn tuning_undo(plan: &str, undone: &[TuningChange], look: &Look) -> String {
    changes(&words::title_undo(plan), undone, look)
}

fn changes(title: &str, changes: &[TuningChange], look: &Look) -> String {
    let mut text = look.paint(Meaning::Title, title) + "\n";
    if changes.is_empty() {
        return text + words::NOTHING + "\n";
    }
    for sentence in changes.iter().filter_map(words::reason) {
        text += &format!("- {sentence}\n");
    }
    let (files, values): (Vec<_>, Vec<_>) = changes.iter().partition(|change| is_file(change));
    if !values.is_empty() {
        text += &format!("\n{}", table(&values));
    }
    for file in files {
        text += &format!("\n{}", file_diff(file, look));
    }
    text
}

/// Shown line by line.
fn is_file(change: &TuningChange) -> bool {
    let has_text = change.before.text().or(change.after.text()).is_some();
    change.kind == ChangeKind::Persistent && has_text
}

/// Paths are not wrapped: they are there to be found with grep, and to be copied.
fn table(changes: &[&TuningChange]) -> String {
    let row = |change: &&TuningChange| {
        [change.path.clone(), words::state(&change.before), words::state(&change.after)]
    };
    let mut rows = vec![words::TABLE.map(str::to_owned)];
    rows.extend(changes.iter().map(row));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let (first, second) = (width(0).unwrap_or(0), width(1).unwrap_or(0));
    rows.iter()
        .map(|[path, now, planned]| {
            let line = format!("{path:first$}  {now:second$}  {planned}");
            line.trim_end().to_owned() + "\n"
        })
        .collect()
}

fn file_diff(change: &TuningChange, look: &Look) -> String {
    let text = |state: &PathState| state.text().unwrap_or("").to_owned();
    let name = |state: &PathState, when: &str| match state {
        PathState::Text(_) => format!("{} ({when})", change.path),
        _ => "/dev/null".to_owned(),
    };
    let (before, after) = (name(&change.before, words::NOW), name(&change.after, words::PLANNED));
    let names = Names { before: &before, after: &after };
    unified(&text(&change.before), &text(&change.after), names, look)
}

pub fn tuning_findings(findings: &[TuningFinding], look: &Look) -> String {
    findings
        .iter()
        .map(|finding| {
            let (meaning, word) = match severity(finding) {
                numawise_model::Severity::Info => (Meaning::Note, "note:"),
                numawise_model::Severity::Warning => (Meaning::Warning, "warning:"),
                numawise_model::Severity::Error => (Meaning::Error, "error:"),
            };
            let head = format!("{} ", look.paint(meaning, word));
            paragraph(&head, &words::finding(finding), look)
        })
        .collect()
}

fn severity(finding: &TuningFinding) -> numawise_model::Severity {
    use numawise_model::Severity::{Error, Info, Warning};
    match finding {
        _ if finding.is_drift() => Error,
        TuningFinding::Missing { .. } | TuningFinding::KernelArgument { .. } => Info,
        _ => Warning,
    }
}

pub fn tuning_refusals(refusals: &[TuningRefusal], look: &Look) -> String {
    let head = format!("{} ", look.paint(Meaning::Error, &format!("{}:", labels::REFUSED)));
    refusals.iter().map(|refusal| paragraph(&head, &words::refusal(refusal), look)).collect()
}

/// A value that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningValue {
    pub path: String,
    pub before: PathState,
    pub wrote: PathState,
    pub now: PathState,
}

/// Values that numawise wrote and somebody changed since.
pub fn tuning_undo_conflicts(values: &[TuningValue], look: &Look) -> String {
    let said = Said { sentence: words::undo_conflicts(values.len()), ..Said::default() };
    let head = format!("{} ", look.paint(Meaning::Error, &format!("{}:", labels::REFUSED)));
    let mut text = paragraph(&head, &said, look);
    for value in values {
        text += &format!("    {}\n", value.path);
        let ways = [
            (en::undo::BEFORE, &value.before),
            (en::undo::WRITTEN, &value.wrote),
            (en::undo::TODAY, &value.now),
        ];
        for (word, state) in ways {
            text += &format!("      {word} {}\n", one_line(state));
        }
    }
    for (index, way) in words::UNDO_WAYS.iter().enumerate() {
        let word = if index == 0 { labels::TO_DO } else { labels::OR };
        text += &format!("  {} {way}\n", look.paint(Meaning::ToDo, &format!("{word:>5}:")));
    }
    text
}

/// Values that are no longer what a plan was made from.
pub fn tuning_stale(values: &[TuningValue]) -> String {
    let line = |value: &TuningValue| {
        let (before, now) = (one_line(&value.before), one_line(&value.now));
        format!("    {}: planned from '{before}', today '{now}'\n", value.path)
    };
    values.iter().map(line).collect()
}

fn one_line(state: &PathState) -> String {
    let text = words::state(state);
    match text.lines().count() {
        0 | 1 => text,
        lines => format!("{} of {lines} lines", words::FILE),
    }
}

/// What may help a value to be taken.
pub fn tuning_hint(path: &str) -> Option<&'static str> {
    words::hint(path)
}

pub fn tuning_recovered(plan: &str, undo: bool) -> String {
    words::recovered(plan, undo)
}

pub fn tuning_waiting() -> &'static str {
    words::WAITING
}

pub fn tuning_applied(plan: &str, written: usize) -> String {
    words::applied(plan, written)
}

pub fn tuning_undone(written: usize) -> String {
    words::undone(written)
}

/// Whether a tuning is in force, and which.
pub fn tuning_status(plan: Option<&str>, values: usize) -> String {
    plan.map_or_else(|| words::NOT_TUNED.to_owned(), |plan| words::in_force(plan, values))
}
