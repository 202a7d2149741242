//! The user says which vCPUs may run on which pCPUs; several rules for a vCPU are united.
//!
//! Nothing is added or left out: the text stands, or it is refused with everything that is wrong
//! with it. CPUs kept for the host may be named, since naming them is a decision; a finding says so.

use super::{Pins, manual, overcommit};
use crate::Notes;
use crate::situation::Situation;
use numawise_model::ledger::ClaimConflict;
use numawise_model::{BindRule, CpuSet, Mode, Reason, Refusal, Request, VcpuSet};

pub fn bind(
    situation: &Situation,
    request: &Request,
    rules: &[BindRule],
    notes: &mut Notes,
) -> Option<Pins> {
    let refused_before = notes.refusals.len();
    let pins = united(rules);
    check_vcpus(request, &pins, notes);

    let mut named = CpuSet::new();
    rules.iter().for_each(|rule| named.extend(&rule.pcpus));
    check_cpus(situation, &named, notes);
    check_holders(situation, &named, notes);
    if request.vnuma {
        check_nodes(situation, &named, &pins, notes);
    }
    if !request.overcommit {
        for overload in overcommit::overloads(&pins) {
            let (cpus, vcpus) = (overload.cpus, overload.vcpus);
            notes.refuse(Refusal::OvercommitNotAsked { cpus, vcpus });
        }
    }
    let vcpus = pins.keys().copied().collect();
    notes.reason(Reason::RulesTaken { rules: rules.len(), vcpus });
    (notes.refusals.len() == refused_before).then_some(pins)
}

fn united(rules: &[BindRule]) -> Pins {
    let mut pins = Pins::new();
    for rule in rules {
        for vcpu in rule.vcpus.iter() {
            pins.entry(vcpu).or_default().extend(&rule.pcpus);
        }
    }
    pins
}

fn check_vcpus(request: &Request, pins: &Pins, notes: &mut Notes) {
    let named: VcpuSet = pins.keys().copied().collect();
    manual::check_named(request, &named, notes);
    let without = pins.iter().filter(|(_, cpus)| cpus.is_empty()).map(|(vcpu, _)| *vcpu);
    let vcpus: VcpuSet = without.collect();
    if !vcpus.is_empty() {
        notes.refuse(Refusal::EmptyRule { vcpus });
    }
}

/// CPUs that are not there to be given, each under the first thing that is wrong with it.
fn check_cpus(situation: &Situation, named: &CpuSet, notes: &mut Notes) {
    let topology = situation.topology;
    let offline = named.intersection(&topology.offline);
    let known = named.intersection(&topology.online);
    let unknown = named.difference(&known).difference(&offline);
    if !unknown.is_empty() {
        notes.refuse(Refusal::CpusUnknown { cpus: unknown });
    }
    if !offline.is_empty() {
        notes.refuse(Refusal::CpusOffline { cpus: offline });
    }
    let allowed = &topology.allowed;
    let not_allowed = known.difference(&allowed.cpus);
    if !not_allowed.is_empty() {
        notes.refuse(Refusal::CpusNotAllowed {
            cpus: not_allowed,
            limited_by: allowed.limited_by.clone(),
            allowed: allowed.cpus.clone(),
        });
    }
    let known = known.intersection(&allowed.cpus);
    if let Some(pool) = situation.pool() {
        let outside = known.difference(pool);
        if !outside.is_empty() {
            notes.refuse(Refusal::CpusOutsidePool {
                cpus: outside,
                pool: pool.clone(),
                exclusive: situation.mode == Mode::Exclusive,
            });
        }
    }
}

fn check_holders(situation: &Situation, named: &CpuSet, notes: &mut Notes) {
    for ((owner, held_mode), cpus) in situation.held_against() {
        let cpus = cpus.intersection(named);
        if !cpus.is_empty() {
            let held_by = owner.clone();
            notes.refuse(Refusal::CpusTaken(ClaimConflict { cpus, held_by, held_mode }));
        }
    }
}

/// vNUMA needs each vCPU within one node.
fn check_nodes(situation: &Situation, named: &CpuSet, pins: &Pins, notes: &mut Notes) {
    let online = named.intersection(&situation.topology.online);
    let homeless: CpuSet = online.iter().filter(|c| situation.places.node(*c).is_none()).collect();
    if !homeless.is_empty() {
        notes.refuse(Refusal::CpusInNoNode { cpus: homeless });
    }
    for (vcpu, cpus) in pins {
        let nodes = situation.places.nodes_of(cpus);
        if nodes.len() > 1 {
            notes.refuse(Refusal::VcpuSpansNodes { vcpu: *vcpu, cpus: cpus.clone(), nodes });
        }
    }
}
