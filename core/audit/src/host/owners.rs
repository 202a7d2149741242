//! Who has what: claims against each other, against the host, and against the cores that they share.

use super::{Case, union};
use crate::ledger::{judge_ledger, of_owner, same_owner};
use numawise_model::{CpuSet, Finding, FindingKind, Mode, Owner, Purpose, Severity, Subject};

impl Case<'_> {
    pub(super) fn owners(&mut self) {
        self.findings.extend(judge_ledger(self.audited.ledger, self.audited.host));
        self.shared_cores();
    }

    /// CPUs that a guest or a process has alone, by owner. What is kept for the host or for
    /// interrupts is there to be disturbed.
    pub(super) fn alone(&self) -> Vec<(Owner, CpuSet)> {
        let mut alone: Vec<(Owner, CpuSet)> = Vec::new();
        for claim in &self.audited.ledger.claims {
            let theirs = matches!(claim.owner, Owner::Guest { .. } | Owner::Process { .. });
            if !theirs || claim.mode != Mode::Exclusive || claim.purpose != Purpose::Vcpus {
                continue;
            }
            match alone.iter_mut().find(|(owner, _)| same_owner(owner, &claim.owner)) {
                Some((_, cpus)) => cpus.extend(&claim.cpus),
                None => alone.push((claim.owner.clone(), claim.cpus.clone())),
            }
        }
        alone.retain(|(_, cpus)| !cpus.is_empty());
        alone
    }

    pub(super) fn all_alone(&self) -> CpuSet {
        union(self.alone().iter().map(|(_, cpus)| cpus))
    }

    /// One finding for each two owners, however many cores they share.
    fn shared_cores(&mut self) {
        let alone = self.alone();
        for (n, (owner, cpus)) in alone.iter().enumerate() {
            for (with, others) in &alone[n + 1..] {
                let (mut here, mut siblings) = (CpuSet::new(), CpuSet::new());
                for core in self.host().topology.cores.iter().filter(|core| core.cpus.len() > 1) {
                    let own = core.cpus.intersection(cpus);
                    // A thread that both have is booked twice, and told as that.
                    let theirs = core.cpus.intersection(others).difference(cpus);
                    if !own.is_empty() && !theirs.is_empty() {
                        here.extend(&own);
                        siblings.extend(&theirs);
                    }
                }
                if !here.is_empty() {
                    let with = with.clone();
                    let kind = FindingKind::CoresShared { cpus: here, siblings, with };
                    self.findings.push(of_owner(owner, Severity::Warning, kind));
                }
            }
        }
    }

    pub(super) fn undefined(&mut self) {
        for guest in self.audited.undefined {
            let subject =
                Subject::Guest { uuid: Some(guest.uuid.clone()), name: guest.name.clone() };
            let (severity, kind) = match guest.holds {
                true => (Severity::Error, FindingKind::GuestUndefined),
                false => (Severity::Warning, FindingKind::FrozenWithoutGuest),
            };
            self.findings.push(Finding { severity, subject, kind });
        }
    }
}
