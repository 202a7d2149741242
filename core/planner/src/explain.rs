//! Why the best place is where it is, and how it compares.
//!
//! A place that lost is told with the first preference on which it is worse: the node alone, where
//! the guest is on one; the best place without each of its nodes, where it is on several. A node
//! that could not have the whole guest is told with the constraint that binds there.
//!
//! Whichever way a plan was made, `compact` and `spread` are set side by side: neither is always the
//! better one, and only a measurement decides between them.

use crate::Notes;
use crate::binding::passes::{self, Ready};
use crate::fit::{Cells, Fit, Layout, PartingFound, fit, seats};
use crate::memory::Home;
use crate::situation::Situation;
use numawise_model::placement::{Best, Footprint, Lost, MemoryReach, NodeConstraint, NodeLack};
use numawise_model::{
    CpuSet, Id, L3Policy, NodeSet, Pnode, Reason, Request, Topology, VirtualTopology,
};
use std::collections::BTreeSet;

/// The chosen place, the places that lost, and the nodes that could not.
pub fn place(ready: &Ready, fit: &Fit, notes: &mut Notes) {
    let nodes = nodes_of(&ready.layout, fit);
    let score = numawise_model::placement::Score { parting: divided(ready, fit), ..fit.score };
    notes.reason(Reason::BestPlace { nodes, score, proof: fit.proof });
    let chosen: BTreeSet<usize> = fit.parts.iter().map(|part| part.area).collect();
    let mut others = Vec::new();
    for (area, lack) in lacks(ready).into_iter().enumerate() {
        if chosen.contains(&area) {
            continue;
        }
        match on_areas(ready, |other| other == area) {
            Some(other) => others.push(other),
            None => notes.reason(Reason::NodeCannot { lack }),
        }
    }
    if chosen.len() > 1 {
        let without = |area: &usize| on_areas(ready, |other| other != *area);
        others = chosen.iter().filter_map(without).collect();
    }
    for lost in losers(ready, fit, &others) {
        notes.reason(Reason::WorsePlace { place: lost });
    }
    let mut idle = CpuSet::new();
    fit.parts.iter().for_each(|part| idle.extend(&part.kept_idle));
    if !idle.is_empty() {
        notes.reason(Reason::SiblingsKeptIdle { cpus: idle });
    }
}

/// How even the parts came out. Sizes that were given are no preference, so the score does not say.
fn divided(ready: &Ready, fit: &Fit) -> PartingFound {
    if !matches!(ready.wanted.cells, Cells::Given(_)) {
        return fit.score.parting;
    }
    let sizes = || fit.parts.iter().map(|part| part.pcpus.len() as u32);
    let width = ready.layout.smt_width();
    if sizes().min() == sizes().max() {
        PartingFound::Even
    } else if sizes().all(|size| size.is_multiple_of(width)) {
        PartingFound::WholeCores
    } else {
        PartingFound::Any
    }
}

fn nodes_of(layout: &Layout, fit: &Fit) -> NodeSet {
    let mut nodes = NodeSet::new();
    fit.parts.iter().for_each(|part| nodes.extend(&layout.areas[part.area].nodes));
    nodes
}

/// The best place on some of the areas.
fn on_areas(ready: &Ready, keep: impl Fn(usize) -> bool) -> Option<Fit> {
    let areas: Vec<usize> = (0..ready.layout.areas.len()).filter(|area| keep(*area)).collect();
    fit(&ready.layout, &ready.stock.only_areas(&ready.layout, &areas), &ready.wanted).ok()
}

fn free_of(ready: &Ready, area: usize, free: &CpuSet) -> CpuSet {
    let segments = ready.layout.segments_of(area).iter();
    let cores = segments.flat_map(|segment| ready.layout.cores_of(segment));
    let threads = cores.flat_map(|core| &ready.layout.threads[core.threads.clone()]);
    let all: CpuSet = threads.map(|thread| numawise_model::Pcpu::new(*thread)).collect();
    all.intersection(free)
}

fn losers(ready: &Ready, fit: &Fit, others: &[Fit]) -> Vec<Lost> {
    let mut lost: Vec<Lost> = Vec::new();
    for other in others {
        let Some((on, ours, theirs)) = fit.score.first_difference(&other.score) else { continue };
        let nodes = nodes_of(&ready.layout, other);
        // Losses are counted over the whole host, and part of it was left out of the question.
        if ours <= theirs && !lost.iter().any(|known| known.nodes == nodes) {
            lost.push(Lost { nodes, on, ours, theirs });
        }
    }
    lost
}

/// What each area has, and which constraint binds when it is to have the whole guest.
pub fn lacks(ready: &Ready) -> Vec<NodeLack> {
    let (layout, stock, wanted) = (&ready.layout, &ready.stock, &ready.wanted);
    let free = stock.free_cpus(layout);
    let lack = |(area, seats): (usize, u32)| {
        let pages = stock.pages(wanted.page_size, layout.areas[area].pool);
        let pages = if layout.areas[area].memory_nodes.is_empty() { Some(0) } else { pages };
        let binding = if seats < wanted.vcpus {
            NodeConstraint::Seats
        } else if pages.is_some_and(|pages| pages < wanted.pages) {
            NodeConstraint::Memory
        } else {
            others_lack(ready, area, seats)
        };
        let node = layout.areas[area].nodes.first().unwrap_or(Pnode(0));
        NodeLack { node, free: free_of(ready, area, &free), seats, pages, binding }
    };
    seats(stock, wanted.smt).into_iter().enumerate().map(lack).collect()
}

/// Which condition beside seats and memory an area cannot meet alone.
fn others_lack(ready: &Ready, area: usize, seats: u32) -> NodeConstraint {
    let wanted = &ready.wanted;
    if wanted.devices.iter().any(|device| device.required && !device.near[area]) {
        return NodeConstraint::Devices;
    }
    if wanted.emulator_cpus > 0 && seats < wanted.vcpus.saturating_add(wanted.emulator_cpus) {
        return NodeConstraint::EmulatorCpu;
    }
    match wanted.l3 {
        L3Policy::Exactly(_) => NodeConstraint::L3Domains,
        _ => NodeConstraint::Other,
    }
}

/// Both ways to use the L3 domains for this request.
pub fn side_by_side(situation: &Situation, request: &Request) -> Reason {
    let asked = match &request.policy {
        numawise_model::Policy::Best(best) => best.clone(),
        _ => Best::default(),
    };
    let footprint = |l3: L3Policy| {
        let best = Best { l3, ..asked.clone() };
        let (ready, found) = passes::answer(situation, request, &best);
        found.ok().map(|fit| self::footprint(situation, &ready, &fit))
    };
    Reason::SideBySide {
        compact: footprint(L3Policy::Compact),
        spread: footprint(L3Policy::Spread),
    }
}

fn footprint(situation: &Situation, ready: &Ready, fit: &Fit) -> Footprint {
    let (layout, stock) = (&ready.layout, &ready.stock);
    let mut used = CpuSet::new();
    let mut idle = CpuSet::new();
    for part in &fit.parts {
        used.extend(&part.pcpus.iter().copied().collect());
        idle.extend(&part.kept_idle);
    }
    let (mut cores, mut on_shared_cores) = (0, 0);
    for core in 0..layout.cores.len() {
        let threads = &layout.threads[layout.cores[core].threads.clone()];
        let all: CpuSet = threads.iter().map(|id| numawise_model::Pcpu::new(*id)).collect();
        let own = all.intersection(&used).len() as u32;
        let held = all.difference(&stock.free_threads(layout, core)).len();
        cores += u32::from(own > 0);
        on_shared_cores += if own > 1 || (own == 1 && held > 0) { own } else { 0 };
    }
    let segments = fit.parts.iter().flat_map(|part| &part.by_segment).map(|(segment, _)| *segment);
    // A domain that reaches over several nodes has a segment in each, and is still one.
    let domain = |segment: usize| {
        let core = &layout.cores[layout.segments[segment].cores.start];
        situation.places.l3(numawise_model::Pcpu::new(layout.threads[core.threads.start]))
    };
    let mut known = BTreeSet::new();
    let segments: BTreeSet<usize> = segments
        .filter(|segment| domain(*segment).is_none_or(|domain| known.insert(domain)))
        .collect();
    let sizes = segments.iter().map(|segment| layout.segments[*segment].l3_bytes);
    Footprint {
        // Under L3-as-NUMA those of a package's nodes that it is on.
        nodes: situation.places.nodes_of(&used.union(&idle)).len() as u32,
        cores,
        l3_domains: segments.len() as u32,
        l3_bytes: sizes.sum(),
        on_shared_cores,
    }
}

/// How far memory is from the vCPUs, with the nodes shown and without.
pub fn memory_reach(topology: &Topology, vnuma: &VirtualTopology, homes: &[Home]) -> Reason {
    let vnuma = &on_whole_areas(topology, vnuma);
    let (mut vcpus, mut bytes) = (0u64, 0u64);
    for node in &vnuma.nodes {
        vcpus += node.vcpus.len() as u64;
        bytes += node.memory_bytes;
    }
    // Pairs of a vCPU and a byte, as a share of all pairs: too many to count in 64 bits.
    let all = u128::from(vcpus) * u128::from(bytes);
    let (mut near, mut own_near) = (0u128, 0u128);
    let (mut anywhere, mut own) = (Some(0u128), Some(0u128));
    for from in &vnuma.nodes {
        let of = from.vcpus.len() as u128;
        for (to, home) in vnuma.nodes.iter().zip(homes) {
            for (node, part) in &home.dealt {
                let pairs = of * u128::from(*part);
                let is_near = from.host_nodes.contains(*node);
                near += if is_near { pairs } else { 0 };
                let distance = topology.distance(from.host_node(), *node);
                let distance = if is_near { Some(10) } else { distance };
                anywhere = anywhere.zip(distance).map(|(sum, d)| sum + pairs * u128::from(d));
                if from.id == to.id && to.memory_bytes > 0 {
                    // As if all accesses were to the own node's memory, in the shares it is in.
                    let pairs = pairs * u128::from(bytes) / u128::from(to.memory_bytes);
                    own_near += if is_near { pairs } else { 0 };
                    own = own.zip(distance).map(|(sum, d)| sum + pairs * u128::from(d));
                }
            }
        }
    }
    // Rounded half up.
    let share =
        |part: u128, scale: u128| (part * scale * 2 + all).checked_div(all * 2).unwrap_or(0) as u32;
    let reach = MemoryReach {
        remote_without_vnuma: share(all - near, 1000),
        remote_with_vnuma: share(all - own_near, 1000),
        mean_distance_without: anywhere.map(|sum| share(sum, 100)),
        mean_distance_with: own.map(|sum| share(sum, 100)),
    };
    Reason::MemoryReach { reach }
}

/// The same with each vNUMA node on all nodes of its area: under L3-as-NUMA the memory of a package is
/// as near to each of its nodes, whether the guest is on one of them or was given all.
fn on_whole_areas(topology: &Topology, vnuma: &VirtualTopology) -> VirtualTopology {
    let layout = Layout::of(topology);
    let mut vnuma = vnuma.clone();
    for node in &mut vnuma.nodes {
        if let Some(area) = layout.area_of_node(node.host_node()) {
            node.host_nodes.extend(&layout.areas[area].nodes);
        }
    }
    vnuma
}
