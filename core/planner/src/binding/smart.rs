//! The published rule: nodes by descending id, one vCPU to one pCPU, the next node when a node's
//! pCPUs are all taken, and round again from the first node when every pCPU is.
//!
//! Inside a node the rule says nothing of the order; here cores go by their lowest CPU and the
//! threads of a core follow each other, so that neighbouring vCPUs are SMT siblings and can be shown
//! to the guest as such. Only what is free is looked at, so on a host with other guests "all pCPUs"
//! means all that are left.
//!
//! The rule takes no interest in which node would fit best: a guest of 16 vCPUs goes to the highest
//! node even when that has 2 pCPUs left and the next one has 16. People come with this rule and
//! expect it so.

use super::Pins;
use crate::Notes;
use crate::availability::{Availability, ReservedUse};
use crate::situation::{Places, Situation};
use numawise_model::{CpuSet, Pcpu, Pnode, Reason, Refusal, Request, Vcpu, VcpuSet};

pub fn bind(situation: &Situation, request: &Request, notes: &mut Notes) -> Option<Pins> {
    let availability = Availability::of(situation, ReservedUse::May);
    availability.note(notes);
    let stock: Vec<(Pnode, Vec<Pcpu>)> = availability
        .free
        .iter()
        .rev()
        .filter(|(_, free)| !free.is_empty())
        .map(|(node, free)| (*node, fill_order(&situation.places, free)))
        .collect();
    let free: usize = stock.iter().map(|(_, cpus)| cpus.len()).sum();
    if free == 0 || (free < request.vcpus as usize && !request.overcommit) {
        notes.refuse(Refusal::NotEnoughCpus {
            wanted: request.vcpus,
            held: availability.held(),
            reserved: availability.kept_for_host(),
            overcommit_would_fit: free > 0,
            free: availability.free.into_iter().filter(|(_, cpus)| !cpus.is_empty()).collect(),
        });
        return None;
    }
    notes.reason(Reason::NodeOrder { nodes: stock.iter().map(|(node, _)| *node).collect() });
    for (node, cpus) in &stock {
        notes.reason(Reason::NodeFree { node: *node, free: cpus.iter().copied().collect() });
    }
    let vcpus: Vec<Vcpu> = (0..request.vcpus).map(Vcpu).collect();
    Some(fill(&stock, &vcpus, notes))
}

/// The pCPUs of a node in the order they are given out: cores by their lowest CPU, the threads of
/// a core next to each other.
pub fn fill_order(places: &Places, free: &CpuSet) -> Vec<Pcpu> {
    let mut order: Vec<Pcpu> = free.iter().collect();
    order.sort_by_key(|&cpu| (places.core_start(cpu), cpu));
    order
}

/// Deals the vCPUs out over the stock, from the start again whenever it is used up. The stock must
/// not be empty.
pub fn fill(stock: &[(Pnode, Vec<Pcpu>)], vcpus: &[Vcpu], notes: &mut Notes) -> Pins {
    let mut pins = Pins::new();
    let mut left = vcpus;
    let mut first_round = true;
    while !left.is_empty() {
        for (node, cpus) in stock {
            let (now, later) = left.split_at(left.len().min(cpus.len()));
            left = later;
            if now.is_empty() {
                continue;
            }
            pins.extend(now.iter().zip(cpus).map(|(vcpu, cpu)| (*vcpu, CpuSet::single(*cpu))));
            let vcpus: VcpuSet = now.iter().copied().collect();
            let pcpus: CpuSet = cpus.iter().take(now.len()).copied().collect();
            notes.reason(match first_round {
                true => Reason::Filled { node: *node, vcpus, pcpus },
                false => Reason::WrappedTo { node: *node, vcpus },
            });
        }
        first_round = false;
    }
    pins
}
