//! The claims of a host, against one another and against the host.
//!
//! The rules:
//! - A pCPU has one exclusive owner or any number of shared ones, never both. Claims of one owner
//!   never stand against each other (a guest's vCPUs and its emulator may share).
//! - What is claimed is there: CPUs that went offline or away cannot be anybody's.

use numawise_model::{
    Claim, CpuSet, Finding, FindingKind, Host, Ledger, Mode, Owner, Severity, Subject,
};

/// Findings in the order of the claims; of two claims that cannot both stand, the later one is
/// named as the one in the way.
pub fn judge_ledger(ledger: &Ledger, host: &Host) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (n, claim) in ledger.claims.iter().enumerate() {
        let gone = claim.cpus.difference(&host.topology.online);
        if !gone.is_empty() {
            findings.push(gone_finding(claim, &gone));
        }
        for later in &ledger.claims[n + 1..] {
            if let Some(cpus) = clash(claim, later) {
                let kind = FindingKind::ExclusiveCpusShared { cpus, with: later.owner.clone() };
                findings.push(of_owner(&claim.owner, Severity::Error, kind));
            }
        }
    }
    findings
}

/// CPUs that two claims cannot both have.
fn clash(a: &Claim, b: &Claim) -> Option<CpuSet> {
    if same_owner(&a.owner, &b.owner) || (a.mode == Mode::Shared && b.mode == Mode::Shared) {
        return None;
    }
    let both = a.cpus.intersection(&b.cpus);
    (!both.is_empty()).then_some(both)
}

/// A guest stays itself when it is renamed.
pub(crate) fn same_owner(a: &Owner, b: &Owner) -> bool {
    match (a, b) {
        (Owner::Guest { uuid: a, .. }, Owner::Guest { uuid: b, .. }) => a == b,
        (a, b) => a == b,
    }
}

fn gone_finding(claim: &Claim, gone: &CpuSet) -> Finding {
    let kind = FindingKind::ClaimedCpusGone { cpus: gone.clone() };
    of_owner(&claim.owner, Severity::Error, kind)
}

pub(crate) fn of_owner(owner: &Owner, severity: Severity, kind: FindingKind) -> Finding {
    let subject = match owner {
        Owner::Guest { uuid, name } => {
            Subject::Guest { uuid: Some(uuid.clone()), name: name.clone() }
        }
        Owner::Process { .. } | Owner::Irq { .. } | Owner::Reserved => Subject::Host,
    };
    Finding { severity, subject, kind }
}
