//! `numawise.audit`: what an audit of a host came to. Printed and never read back.

use crate::error::{VERSION, pretty};
use crate::finding::FindingDoc;
use crate::wire::Wire;
use numawise_model::{Audit, AuditRule, KernelFact, NotLookedAt, Severity, Sight, Unread};
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditDoc {
    schema: &'static str,
    version: u32,
    host: String,
    /// The host is only modelled.
    simulated: bool,
    guests: u32,
    errors: u32,
    warnings: u32,
    notes: u32,
    /// What the findings say nothing about.
    not_looked_at: Vec<NotLookedAtDoc>,
    findings: Vec<AuditFindingDoc>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AuditFindingDoc {
    /// The name for `--rule` and `--explain`; `rule` is the kind of finding.
    audit_rule: Option<&'static str>,
    #[serde(flatten)]
    finding: FindingDoc,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NotLookedAtDoc {
    what: &'static str,
    /// Null for what is the host's.
    guest: Option<String>,
    /// `not-in-capture`, `elsewhere`, `unreadable`, `nonsense`; `not-seen` for a guest's.
    reason: &'static str,
    /// The file and what is wrong with it, or why nobody could look.
    detail: Option<String>,
}

pub fn audit_to_json(audit: &Audit) -> String {
    let count = |severity| u32::try_from(audit.count(severity)).unwrap_or(u32::MAX);
    pretty(&AuditDoc {
        schema: "numawise.audit",
        version: VERSION,
        host: audit.host.0.clone(),
        simulated: audit.simulated,
        guests: audit.guests,
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        notes: count(Severity::Info),
        not_looked_at: audit.not_looked_at.iter().map(not_looked_at).collect(),
        findings: audit
            .findings
            .iter()
            .map(|finding| AuditFindingDoc {
                audit_rule: AuditRule::of(&finding.kind).map(AuditRule::name),
                finding: finding.to_doc(),
            })
            .collect(),
    })
}

fn not_looked_at(unseen: &NotLookedAt) -> NotLookedAtDoc {
    match unseen {
        NotLookedAt::Kernel { fact, why } => {
            let (reason, detail) = match why {
                Unread::NotOnHost => ("not-on-host", None),
                Unread::NotInCapture => ("not-in-capture", None),
                Unread::Elsewhere => ("elsewhere", None),
                Unread::Unreadable { file, why } => ("unreadable", Some(format!("{file}: {why}"))),
                Unread::Nonsense { file, value, wanted } => {
                    ("nonsense", Some(format!("{file}: '{value}' where {wanted} is wanted")))
                }
            };
            NotLookedAtDoc { what: fact_word(*fact), guest: None, reason, detail }
        }
        NotLookedAt::Guest { name, what, why } => NotLookedAtDoc {
            what: match what {
                Sight::Threads => "threads",
                Sight::Pages => "pages",
                Sight::GuestNodes => "guest-nodes",
            },
            guest: Some(name.clone()),
            reason: "not-seen",
            detail: Some(why.clone()),
        },
    }
}

fn fact_word(fact: KernelFact) -> &'static str {
    match fact {
        KernelFact::Interrupts => "interrupts",
        KernelFact::KernelThreads => "kernel-threads",
        KernelFact::Workqueues => "workqueues",
        KernelFact::Ksm => "ksm",
        KernelFact::ZoneReclaim => "zone-reclaim",
        KernelFact::NumaBalancing => "numa-balancing",
    }
}
