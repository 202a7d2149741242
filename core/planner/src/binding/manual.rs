//! The user says which vCPUs go to which node; inside a node they go where [`smart`] would put them.
//!
//! Naming a node is not naming its CPUs: those kept for the host stay out of it. With over-commit
//! the vCPUs of a node go round inside that node, never into another.

use super::{Pins, smart};
use crate::Notes;
use crate::availability::{Availability, ReservedUse};
use crate::situation::{Situation, node_ids};
use numawise_model::{Id, Pnode, Reason, Refusal, Request, Vcpu, VcpuSet};
use std::collections::BTreeMap;

pub fn bind(
    situation: &Situation,
    request: &Request,
    wanted: &[(Pnode, VcpuSet)],
    notes: &mut Notes,
) -> Option<Pins> {
    let refused_before = notes.refusals.len();
    let by_node = vcpus_by_node(wanted);
    check_nodes(situation, &by_node, notes);
    check_vcpus(request, &by_node, notes);

    let availability = Availability::of(situation, ReservedUse::MayNot);
    availability.note(notes);
    let mut pins = Pins::new();
    for (node, vcpus) in &by_node {
        let Some(free) = availability.free.get(node) else { continue };
        if free.is_empty() || (free.len() < vcpus.len() && !request.overcommit) {
            notes.refuse(Refusal::NodeTooSmall {
                node: *node,
                wanted: vcpus.len() as u32,
                free: free.clone(),
                overcommit_would_fit: !free.is_empty(),
            });
            continue;
        }
        notes.reason(Reason::NodeFree { node: *node, free: free.clone() });
        let stock = [(*node, smart::fill_order(&situation.places, free))];
        let vcpus: Vec<Vcpu> = vcpus.iter().collect();
        pins.extend(smart::fill(&stock, &vcpus, notes));
    }
    (notes.refusals.len() == refused_before).then_some(pins)
}

/// A node may be named several times; its vCPUs add up. Nodes named without vCPUs say nothing.
fn vcpus_by_node(wanted: &[(Pnode, VcpuSet)]) -> BTreeMap<Pnode, VcpuSet> {
    let mut by_node: BTreeMap<Pnode, VcpuSet> = BTreeMap::new();
    for (node, vcpus) in wanted.iter().filter(|(_, vcpus)| !vcpus.is_empty()) {
        by_node.entry(*node).or_default().extend(vcpus);
    }
    by_node
}

fn check_nodes(situation: &Situation, by_node: &BTreeMap<Pnode, VcpuSet>, notes: &mut Notes) {
    for node in by_node.keys().copied() {
        if situation.topology.node(node).is_none() {
            let nodes = node_ids(situation.topology);
            notes.refuse(Refusal::UnknownNode { node, nodes });
        } else if !situation.places.nodes().contains_key(&node) {
            notes.refuse(Refusal::NodeWithoutCpus { node });
        }
    }
}

fn check_vcpus(request: &Request, by_node: &BTreeMap<Pnode, VcpuSet>, notes: &mut Notes) {
    let mut named = VcpuSet::new();
    let mut twice = VcpuSet::new();
    for vcpus in by_node.values() {
        twice.extend(&named.intersection(vcpus));
        named.extend(vcpus);
    }
    if !twice.is_empty() {
        notes.refuse(Refusal::VcpusNamedTwice { vcpus: twice });
    }
    check_named(request, &named, notes);
}

/// Every vCPU of the guest must be named, and no other.
pub fn check_named(request: &Request, named: &VcpuSet, notes: &mut Notes) {
    let all: VcpuSet = (0..request.vcpus).map(Vcpu::new).collect();
    let beyond = named.difference(&all);
    if !beyond.is_empty() {
        let guest_has = request.vcpus;
        notes.refuse(Refusal::VcpusOutOfRange { vcpus: beyond, guest_has });
    }
    let unbound = all.difference(named);
    if !unbound.is_empty() {
        notes.refuse(Refusal::UnboundVcpus { vcpus: unbound, of: request.vcpus });
    }
}
