//! An audit: each finding with the rule it belongs to, why that costs and what to do; a line that sums
//! up; what was not looked at. And the essays of the rules.

use super::frame::wrap;
use super::said::{meaning, paragraph};
use super::simulated_suffix;
use crate::captions::printable;
use crate::en::{self, audits, rules as words};
use crate::look::Look;
use numawise_model::{Audit, AuditRule, Finding};

pub fn audit(audit: &Audit, look: &Look) -> String {
    let mut text: String = audit.findings.iter().map(|found| finding(found, look)).collect();
    text += &format!("{}{}\n", printable(&audits::summary(audit)), simulated_suffix(look));
    for line in audits::not_looked_at(&audit.not_looked_at) {
        text += &format!("{}\n", printable(&line));
    }
    text
}

fn finding(finding: &Finding, look: &Look) -> String {
    let severity = en::findings::severity(finding.severity);
    let head = look.paint(meaning(finding.severity), &format!("{severity}:"));
    let subject = en::findings::subject(&finding.subject).map_or_else(String::new, |s| s + ": ");
    let mut said = en::findings::of(finding, look.simulated);
    if let Some(rule) = AuditRule::of(&finding.kind) {
        said.sentence = format!("{} [{}]", said.sentence, rule.name());
        said.facts.push(words::essay(rule).costs.to_owned());
    }
    // The host is said once, in the last line.
    let plain = Look { simulated: false, ..*look };
    paragraph(&format!("{head} {}", printable(&subject)), &said, &plain)
}

/// All there is to say of one rule.
pub fn essay(rule: AuditRule, look: &Look) -> String {
    let essay = words::essay(rule);
    let parts = [
        (words::LOOKS_AT, essay.looks_at),
        (words::COSTS, essay.costs),
        (words::DO, essay.to_do),
        (words::SOURCE, essay.source),
    ];
    let mut text = format!("{}\n", rule.name());
    for (word, sentence) in parts {
        let indent = 12;
        let lines = wrap(sentence, look.width.saturating_sub(indent), 0);
        for (n, line) in lines.iter().enumerate() {
            let head = if n == 0 { format!("{word}:") } else { String::new() };
            text += &format!("  {head:<10}{}\n", line.trim_start());
        }
    }
    text
}

/// Every rule by name, with what it looks at.
pub fn rules(look: &Look) -> String {
    AuditRule::ALL.iter().map(|rule| essay(*rule, look)).collect::<Vec<_>>().join("\n")
}
