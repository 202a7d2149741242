//! Findings, refusals, events and other sentences, one under the other.

use super::simulated_suffix;
use crate::captions::printable;
use crate::en::{self, Said, labels};
use crate::look::Look;
use crate::style::Meaning;
use numawise_model::event::WatchEvent;
use numawise_model::{Check, Event, Finding, Predicate, Refusal, Severity, Unseen, Verdict};

/// One line per finding, the gravest first, and under it what to do.
pub fn findings(findings: &[Finding], look: &Look) -> String {
    if findings.is_empty() {
        return format!("{}{}\n", labels::NO_FINDINGS, simulated_suffix(look));
    }
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|f| std::cmp::Reverse(f.severity));
    sorted.into_iter().map(|f| finding(f, look)).collect()
}

pub(super) fn meaning(severity: Severity) -> Meaning {
    match severity {
        Severity::Info => Meaning::Note,
        Severity::Warning => Meaning::Warning,
        Severity::Error => Meaning::Error,
    }
}

fn finding(finding: &Finding, look: &Look) -> String {
    let head = look.paint(
        meaning(finding.severity),
        &format!("{}:", en::findings::severity(finding.severity)),
    );
    let said = en::findings::of(finding, look.simulated);
    let subject = en::findings::subject(&finding.subject).map_or_else(String::new, |s| s + ": ");
    paragraph(&format!("{head} {}", printable(&subject)), &said, look)
}

/// A check-up in the order in which it was made.
pub fn checks(checks: &[Check], look: &Look) -> String {
    let one = |check: &Check| {
        let meaning = match check.verdict {
            Verdict::Good | Verdict::Untried => Meaning::Note,
            Verdict::Warning => Meaning::Warning,
            Verdict::Bad => Meaning::Error,
        };
        let head = look.paint(meaning, &format!("{:>7}:", en::checks::verdict(check.verdict)));
        paragraph(&format!("{head} "), &en::checks::check(&check.kind), look)
    };
    checks.iter().map(one).collect()
}

/// Every reason why a request cannot be met, and for each what would fit.
pub fn refusals(refusals: &[Refusal], look: &Look) -> String {
    let head = look.paint(Meaning::Error, &format!("{}:", labels::REFUSED));
    let said = refusals.iter().map(en::refusals::refusal);
    said.map(|said| paragraph(&format!("{head} "), &said, look)).collect()
}

/// The same for a command: what it has no option for is to be done in the guest's definition, or with
/// `bind`, and is told so. `has` and `bind_has` know options by name, like `--memory`.
pub fn refusals_for(
    refusals: &[Refusal],
    has: &dyn Fn(&str) -> bool,
    bind_has: &dyn Fn(&str) -> bool,
    look: &Look,
) -> String {
    let head = look.paint(Meaning::Error, &format!("{}:", labels::REFUSED));
    let told = |refusal: &Refusal| {
        let mut said = en::refusals::refusal(refusal);
        said.ways = said.ways.iter().map(|way| en::way_for(way, has, bind_has)).collect();
        paragraph(&format!("{head} "), &said, look)
    };
    refusals.iter().map(told).collect()
}

/// What a stale plan needed and no longer finds.
pub fn predicates(predicates: &[Predicate], look: &Look) -> String {
    let head = look.paint(Meaning::Error, &format!("{}:", labels::STALE));
    let said = predicates.iter().map(en::predicates::predicate);
    said.map(|said| paragraph(&format!("{head} "), &said, look)).collect()
}

pub(super) fn paragraph(head: &str, said: &Said, look: &Look) -> String {
    let mut text = format!("{head}{}{}\n", printable(&said.sentence), simulated_suffix(look));
    for fact in &said.facts {
        text += &format!("    {}\n", printable(fact));
    }
    for (index, way) in said.ways.iter().enumerate() {
        let word = if index == 0 { labels::TO_DO } else { labels::OR };
        let way = way.strip_prefix("or ").unwrap_or(way);
        let word = look.paint(Meaning::ToDo, &format!("{word:>5}:"));
        text += &format!("  {word} {}\n", printable(way));
    }
    text
}

/// A guest that moves without a plan.
pub fn moves_as_it_is(guest: &str, look: &Look) -> String {
    format!("{}{}\n", printable(&en::events::moves_as_it_is(guest)), simulated_suffix(look))
}

/// What happens while a plan is carried out, one line each.
pub fn event(event: &Event, look: &Look) -> String {
    format!("{}{}\n", printable(&en::events::event(event)), simulated_suffix(look))
}

/// What a running guest agrees in, and what nobody could look at.
pub fn agreement(unseen: &[Unseen]) -> String {
    printable(&en::findings::agreement(unseen))
}

/// What changed while guests are watched, in a line; what to do about a finding, verify says.
pub fn watch_event(event: &WatchEvent, look: &Look) -> String {
    let line = match event {
        WatchEvent::Found { finding } => {
            let meaning = meaning(finding.severity);
            let head = look.paint(meaning, en::findings::severity(finding.severity));
            format!("{head}: {}", about(finding, look))
        }
        WatchEvent::Gone { finding } => {
            format!("{}: {}", look.paint(Meaning::Note, en::watch::GONE), about(finding, look))
        }
        other => printable(&en::watch::event(other)),
    };
    format!("{line}{}\n", simulated_suffix(look))
}

/// Whom a finding is about, and its sentence.
fn about(finding: &Finding, look: &Look) -> String {
    let subject = en::findings::subject(&finding.subject).map_or_else(String::new, |s| s + ": ");
    printable(&format!(
        "{subject}{}",
        en::findings::finding(&finding.kind, look.simulated).sentence
    ))
}

/// An element that numawise wrote and somebody changed since; `None` where it is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoElement {
    pub element: String,
    pub before: Option<String>,
    pub written: Option<String>,
    pub today: Option<String>,
}

/// The three ways an element has been, and what can be done now.
pub fn undo_conflicts(conflicts: &[UndoElement], look: &Look) -> String {
    let refused = look.paint(Meaning::Error, &format!("{}:", labels::REFUSED));
    let mut text =
        format!("{refused} {}{}\n", en::undo::sentence(conflicts.len()), simulated_suffix(look));
    for conflict in conflicts {
        text += &format!("    {}\n", conflict.element);
        let ways = [
            (en::undo::BEFORE, &conflict.before),
            (en::undo::WRITTEN, &conflict.written),
            (en::undo::TODAY, &conflict.today),
        ];
        for (word, value) in ways {
            let value = value.as_deref().unwrap_or(en::undo::ABSENT);
            text += &format!("      {word} {value}\n");
        }
    }
    for (index, way) in en::undo::WAYS.iter().enumerate() {
        let word = if index == 0 { labels::TO_DO } else { labels::OR };
        text += &format!("  {} {way}\n", look.paint(Meaning::ToDo, &format!("{word:>5}:")));
    }
    text
}

/// The text, a caret under the place (a byte offset), and what is wrong there. Long texts are cut
/// around the place.
pub fn list_error(text: &str, at: usize, message: &str, look: &Look) -> String {
    const BEFORE: usize = 30;
    const AFTER: usize = 40;
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let place = text.char_indices().take_while(|(byte, _)| *byte < at).count();
    let skip = place.saturating_sub(BEFORE);
    let shown: String = clean.chars().skip(skip).take(BEFORE + AFTER).collect();
    let cut_left = if skip > 0 { "..." } else { "" };
    let cut_right = if clean.chars().count() > skip + BEFORE + AFTER { "..." } else { "" };
    let indent = " ".repeat(cut_left.len() + place - skip);
    let caret = look.paint(Meaning::Error, &format!("^ {message}"));
    format!("  {cut_left}{shown}{cut_right}\n  {indent}{caret}\n")
}
