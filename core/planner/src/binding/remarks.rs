//! What is worth knowing of a binding, whichever rule made it.

use super::overcommit;
use crate::Notes;
use crate::situation::Situation;
use numawise_model::{
    Binding, CpuSet, FindingKind, Mode, Owner, Pcpu, Policy, Purpose, Severity, VcpuSet,
};
use std::collections::{BTreeMap, BTreeSet};

pub fn remark(situation: &Situation, binding: &Binding, policy: &Policy, notes: &mut Notes) {
    let used = binding.pcpus();
    reserved(situation, &used, policy, notes);
    isolated(situation, binding, notes);
    overcommitted(binding, notes);
    shared(situation, &used, notes);
    siblings(situation, &used, notes);
}

/// `smart` takes them because the published rule does, which is no news; a rule that names them
/// deserves a second look.
fn reserved(situation: &Situation, used: &CpuSet, policy: &Policy, notes: &mut Notes) {
    let cpus = used.intersection(situation.reserved());
    if !cpus.is_empty() {
        let severity = match policy {
            Policy::Smart => Severity::Info,
            _ => Severity::Warning,
        };
        notes.finding(severity, FindingKind::UsesReservedCpus { cpus });
    }
}

/// The scheduler moves nothing between isolated CPUs: right for a vCPU with one pCPU, and wrong for
/// one with several, whose thread stays on the first.
fn isolated(situation: &Situation, binding: &Binding, notes: &mut Notes) {
    let Some(isolated) = &situation.topology.isolated else { return };
    if isolated.is_empty() {
        return;
    }
    let mut alone = CpuSet::new();
    for (vcpu, cpus) in &binding.cpus {
        let both = cpus.intersection(isolated);
        match cpus.len() {
            _ if both.is_empty() => {}
            1 => alone.extend(&both),
            _ => notes.finding(
                Severity::Warning,
                FindingKind::IsolatedInWideMask { vcpu: *vcpu, cpus: both },
            ),
        }
    }
    if !alone.is_empty() {
        notes.finding(Severity::Info, FindingKind::UsesIsolatedCpus { cpus: alone });
    }
}

fn overcommitted(binding: &Binding, notes: &mut Notes) {
    let overloads = overcommit::overloads(&binding.cpus);
    let (mut cpus, mut vcpus) = (CpuSet::new(), VcpuSet::new());
    for overload in &overloads {
        cpus.extend(&overload.cpus);
        vcpus.extend(&overload.vcpus);
    }
    if !overloads.is_empty() {
        notes.finding(Severity::Warning, FindingKind::Overcommitted { cpus, vcpus });
    }
}

fn shared(situation: &Situation, used: &CpuSet, notes: &mut Notes) {
    if situation.mode == Mode::Exclusive {
        return;
    }
    let mut cpus = CpuSet::new();
    let mut with: BTreeSet<&Owner> = BTreeSet::new();
    for claim in &situation.others.claims {
        let both = claim.cpus.intersection(used);
        if !both.is_empty() {
            cpus.extend(&both);
            with.insert(&claim.owner);
        }
    }
    if !cpus.is_empty() {
        let with = with.into_iter().cloned().collect();
        notes.finding(Severity::Warning, FindingKind::SharesCpus { cpus, with });
    }
}

/// A core whose other thread runs somebody else's vCPU: the two slow each other down, and can watch
/// each other.
fn siblings(situation: &Situation, used: &CpuSet, notes: &mut Notes) {
    let places = &situation.places;
    let wide = used.iter().filter(|cpu| places.core_threads(*cpu) > 1);
    let mut ours: BTreeMap<Pcpu, Pcpu> = BTreeMap::new();
    for cpu in wide {
        ours.entry(places.core_start(cpu)).or_insert(cpu);
    }
    for claim in situation.others.claims.iter().filter(|c| c.purpose == Purpose::Vcpus) {
        let theirs = claim.cpus.difference(used);
        let mut told = BTreeSet::new();
        for sibling in theirs.iter() {
            let core = places.core_start(sibling);
            let Some(&cpu) = ours.get(&core).filter(|_| told.insert(core)) else { continue };
            let owner = claim.owner.clone();
            let kind = FindingKind::SmtSiblingOfAnother { cpu, sibling, owner };
            notes.finding(Severity::Warning, kind);
        }
    }
}
