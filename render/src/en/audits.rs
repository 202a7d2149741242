//! What an audit says as a whole.

use super::findings::sight;
use crate::quantity::count;
use numawise_model::{Audit, KernelFact, NotLookedAt, Severity, Unread};

/// `host db-1: 2 guests, 1 error, 0 warnings, 3 notes`.
pub fn summary(audit: &Audit) -> String {
    let found = |severity, noun| count(audit.count(severity) as u64, noun);
    format!(
        "host {}: {}, {}, {}, {}",
        audit.host,
        count(u64::from(audit.guests), "guest"),
        found(Severity::Error, "error"),
        found(Severity::Warning, "warning"),
        found(Severity::Info, "note"),
    )
}

/// One line for each reason.
pub fn not_looked_at(unseen: &[NotLookedAt]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for one in unseen {
        let (what, why) = match one {
            NotLookedAt::Kernel { fact, why } => (self::fact(*fact).to_owned(), unread(why)),
            NotLookedAt::Guest { name, what, why } => {
                (format!("{} of guest {name}", sight(*what)), why.clone())
            }
        };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, whats)) if whats.contains(&what) => {}
            Some((_, whats)) => whats.push(what),
            None => reasons.push((why, vec![what])),
        }
    }
    let line =
        |(why, whats): (String, Vec<String>)| format!("not looked at: {}: {why}", whats.join(", "));
    reasons.into_iter().map(line).collect()
}

fn fact(fact: KernelFact) -> &'static str {
    match fact {
        KernelFact::Interrupts => "interrupts",
        KernelFact::KernelThreads => "kernel threads",
        KernelFact::Workqueues => "workqueues",
        KernelFact::Ksm => "KSM",
        KernelFact::ZoneReclaim => "zone reclaim",
        KernelFact::NumaBalancing => "NUMA balancing",
    }
}

fn unread(why: &Unread) -> String {
    match why {
        Unread::NotOnHost => "the host has none".to_owned(),
        Unread::NotInCapture => {
            "the capture does not hold it (make a new one: numawise host capture FILE)".to_owned()
        }
        Unread::Elsewhere => "the host is reached over the network".to_owned(),
        Unread::Unreadable { file, why } if file.is_empty() => why.clone(),
        Unread::Unreadable { file, why } => format!("{file}: {why}"),
        Unread::Nonsense { file, value, wanted } => {
            format!("{file} says '{value}' where {wanted} is wanted")
        }
    }
}
