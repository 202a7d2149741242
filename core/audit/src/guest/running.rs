//! A running guest's threads and memory, by the kernel's word.

use super::own_view;
use numawise_model::{
    CpuSet, FindingKind, GuestConfig, GuestFacts, Host, MemoryMode, NodeSet, PageCounts, PageSize,
    Plan, Pnode, Severity, Vcpu, VirtualTopology,
};
use std::collections::BTreeMap;

/// Memory of a QEMU process that is not the guest's and may lie anywhere: only taken off where the
/// source cannot tell the two apart, and never from hugepages, which only the guest has.
const NOT_THE_GUESTS_BYTES: u64 = 64 << 20;

type Judged = (Severity, FindingKind);

/// Affinities against the plan or, for a guest from before, against the definition it runs from.
/// `plugged` is how many vCPUs it has now; those that are not plugged in have no thread.
pub fn threads(
    expect: &Plan,
    started_from: Option<&GuestConfig>,
    plugged: u32,
    facts: &GuestFacts,
    host: &Host,
) -> Vec<Judged> {
    let mut found = Vec::new();
    let pins = started_from.map_or(&expect.binding.cpus, |config| &config.vcpu_pins);
    if !facts.vcpu_affinity.is_empty() {
        found = vcpus(pins, facts, host);
        if facts.vcpu_affinity.len() >= plugged as usize {
            found.retain(|kind| !matches!(kind, FindingKind::ThreadAffinity { seen: None, .. }));
        }
    }
    let emulator = match started_from {
        Some(config) => config.emulator_pin.as_ref(),
        None => expect.helpers.emulator.as_ref(),
    };
    if let (Some(expected), Some(seen)) = (emulator, &facts.emulator_affinity)
        && !same_where_online(expected, seen, host)
    {
        let (expected, seen) = (expected.clone(), Some(seen.clone()));
        found.push(FindingKind::EmulatorAffinity { expected, seen });
    }
    let iothreads = started_from.map_or(&expect.helpers.iothreads, |config| &config.iothread_pins);
    for (iothread, expected) in iothreads {
        if let Some(seen) = facts.iothread_affinity.get(iothread)
            && !same_where_online(expected, seen, host)
        {
            let (expected, seen) = (expected.clone(), Some(seen.clone()));
            let iothread = *iothread;
            found.push(FindingKind::IothreadAffinity { iothread, expected, seen });
        }
    }
    found.into_iter().map(|kind| (Severity::Error, kind)).collect()
}

/// pCPUs that a vCPU is bound to and that its cgroup does not leave it. A cgroup that is just the
/// live pin is libvirt's own doing (it sets both) and told as the affinity that it is.
pub fn cgroups(
    pins: &BTreeMap<Vcpu, CpuSet>,
    live: Option<&GuestConfig>,
    facts: &GuestFacts,
    host: &Host,
) -> Vec<Judged> {
    let mut found = Vec::new();
    for (vcpu, cgroup) in &facts.vcpu_cgroup {
        let Some(expected) = pins.get(vcpu) else { continue };
        let by_libvirt = live.and_then(|live| live.vcpu_pins.get(vcpu)) == Some(cgroup);
        if !by_libvirt && !expected.intersection(&host.topology.online).is_subset(cgroup) {
            let (expected, cgroup) = (expected.clone(), cgroup.clone());
            let kind = FindingKind::CgroupKeepsOut { vcpu: *vcpu, expected, cgroup };
            found.push((Severity::Error, kind));
        }
    }
    found
}

fn vcpus(pins: &BTreeMap<Vcpu, CpuSet>, facts: &GuestFacts, host: &Host) -> Vec<FindingKind> {
    let mut found = Vec::new();
    for (vcpu, expected) in pins {
        let seen = facts.vcpu_affinity.get(vcpu);
        if !seen.is_some_and(|seen| same_where_online(expected, seen, host)) {
            let (expected, seen) = (expected.clone(), seen.cloned());
            found.push(FindingKind::ThreadAffinity { vcpu: *vcpu, expected, seen });
        }
    }
    found
}

/// A kernel may leave CPUs in a mask that went offline since; a thread cannot run there either way.
/// A pin of which nothing is online any more is not kept by anything.
fn same_where_online(expected: &CpuSet, seen: &CpuSet, host: &Host) -> bool {
    let online = &host.topology.online;
    let expected = expected.intersection(online);
    !expected.is_empty() && expected == seen.intersection(online)
}

/// Pages against the memory nodes of the plan, and what the guest itself sees.
pub fn memory(expect: &Plan, facts: &GuestFacts) -> Vec<Judged> {
    let Some(topology) = &expect.vnuma else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(cells) = &facts.guest_cells {
        let differences = own_view::differences(topology, cells);
        found.extend(differences.into_iter().map(|kind| (Severity::Error, kind)));
    }
    // It costs speed, and nobody has moved anything: a CPU model may show its caches its own way.
    let l3 = facts.guest_l3.as_ref().and_then(|seen| own_view::l3_difference(topology, seen));
    found.extend(l3.map(|kind| (Severity::Warning, kind)));
    let severity = match expect.request.memory_mode {
        MemoryMode::Strict | MemoryMode::Restrictive => Severity::Error,
        MemoryMode::Preferred | MemoryMode::Interleave => Severity::Warning,
    };
    let elsewhere = match (&facts.pages_by_vnode, expect.request.memory_mode) {
        // Interleaved pages are on any of the nodes, whichever vNUMA node they belong to.
        (_, MemoryMode::Interleave) => outside(topology, &facts.pages),
        (None, _) => in_all(topology, &facts.pages),
        (Some(by_vnode), _) => topology
            .nodes
            .iter()
            .filter_map(|node| Some((&node.memory_nodes, by_vnode.get(&node.id)?)))
            .flat_map(|(home, pages)| away_from(home, pages))
            .collect(),
    };
    found.extend(elsewhere.into_iter().map(|kind| (severity, kind)));
    found
}

/// Of one vNUMA node's pages, those on another node than its own.
fn away_from(homes: &NodeSet, pages: &PageCounts) -> Vec<FindingKind> {
    let of = |size: PageSize| pages.values().filter_map(|sizes| sizes.get(&size)).sum::<u64>();
    let mut found = Vec::new();
    let Some(home) = homes.first() else { return found };
    for (node, sizes) in pages.iter().filter(|(node, _)| !homes.contains(**node)) {
        for (size, pages) in sizes.iter().filter(|(_, pages)| **pages > 0) {
            found.push(FindingKind::MemoryElsewhere {
                expected: home,
                seen: *node,
                page_size: *size,
                pages: *pages,
                of: of(*size),
            });
        }
    }
    found
}

/// Pages on nodes that no vNUMA node takes its memory from.
fn outside(topology: &VirtualTopology, pages: &PageCounts) -> Vec<FindingKind> {
    away_from(&topology.memory_nodes(), pages)
}

/// Where pages are not known by vNUMA node: a node with more than all of its vNUMA nodes have got
/// some that belong elsewhere. A guest has touched fewer pages than it has, so fewer say nothing.
fn in_all(topology: &VirtualTopology, pages: &PageCounts) -> Vec<FindingKind> {
    let mut bound: BTreeMap<Pnode, u64> = BTreeMap::new();
    for node in &topology.nodes {
        *bound.entry(node.memory_node()).or_default() += node.memory_bytes;
    }
    // Nodes that a vNUMA node takes its memory from together count as one, the lowest.
    let mut folded = PageCounts::new();
    for (node, sizes) in pages {
        let together = topology.nodes.iter().find(|vnode| vnode.memory_nodes.contains(*node));
        let home = together.map_or(*node, |vnode| vnode.memory_node());
        for (size, pages) in sizes {
            *folded.entry(home).or_default().entry(*size).or_insert(0) += pages;
        }
    }
    let pages = &folded;
    let held = |node: &Pnode| -> u64 {
        let sizes = pages.get(node).into_iter().flatten();
        sizes.map(|(size, pages)| size.bytes() * pages).sum()
    };
    // Whatever is too much on one node is missing on the one that lacks most.
    let lacks_most = bound.iter().max_by_key(|(node, bytes)| bytes.saturating_sub(held(node)));
    let Some((home, _)) = lacks_most else { return Vec::new() };
    let mut found = Vec::new();
    for (node, sizes) in pages {
        let room = bound.get(node).copied().map_or(0, |bytes| bytes);
        let over = held(node).saturating_sub(room);
        let Some((size, here)) = sizes.iter().rev().find(|(_, pages)| **pages > 0) else {
            continue;
        };
        let ignored = if size.is_huge() { 0 } else { NOT_THE_GUESTS_BYTES };
        if over > ignored {
            found.push(FindingKind::MemoryElsewhere {
                expected: *home,
                seen: *node,
                page_size: *size,
                pages: over.div_ceil(size.bytes()).min(*here),
                of: topology.nodes.iter().map(|n| n.memory_bytes / size.bytes()).sum(),
            });
        }
    }
    found
}
