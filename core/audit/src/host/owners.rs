//! Who has what: claims against each other, against the host, and against the cores that they share.

use super::{Case, union};
use crate::ledger::{judge_ledger, of_owner, same_owner};
use numawise_model::{CpuSet, Finding, FindingKind, Mode, Owner, Purpose, Severity, Subject};
use std::collections::BTreeMap;

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
        // By the two owners' places: the threads of the one, and those of the other.
        let mut shared: BTreeMap<(usize, usize), (CpuSet, CpuSet)> = BTreeMap::new();
        for core in self.host().topology.cores.iter().filter(|core| core.cpus.len() > 1) {
            let own = |(n, (_, cpus)): (usize, &(Owner, CpuSet))| (n, core.cpus.intersection(cpus));
            let here: Vec<(usize, CpuSet)> =
                alone.iter().enumerate().map(own).filter(|(_, cpus)| !cpus.is_empty()).collect();
            for (at, (first, cpus)) in here.iter().enumerate() {
                for (second, others) in &here[at + 1..] {
                    // A thread that both have is booked twice, and told as that.
                    let (cpus, others) = (cpus.difference(others), others.difference(cpus));
                    if !cpus.is_empty() && !others.is_empty() {
                        let both = shared.entry((*first, *second)).or_default();
                        both.0.extend(&cpus);
                        both.1.extend(&others);
                    }
                }
            }
        }
        for ((first, second), (cpus, siblings)) in shared {
            let with = alone[second].0.clone();
            let kind = FindingKind::CoresShared { cpus, siblings, with };
            self.findings.push(of_owner(&alone[first].0, Severity::Warning, kind));
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
