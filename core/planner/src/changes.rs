//! What a plan changes of a guest as it is, and when each part of it reaches the guest.
//!
//! A part is changed when the plan writes something else than the definition says today, or than
//! the running guest was started with: a definition that says so already still has to reach a guest
//! that is older. Where a thread may run is no part of what the guest sees, so pins can be moved at
//! once. vNUMA nodes, sockets and caches are the guest's ABI, and memory is taken from its node when
//! QEMU starts; both wait for the next boot.

use crate::situation::Places;
use numawise_model::guest::{GuestHugepages, Numatune};
use numawise_model::{
    Change, ChangedPart, CpuSet, Effect, Finding, FindingKind, GuestConfig, MemoryMode, NodeSet,
    PageSize, Plan, Severity, Vnode,
};
use std::collections::BTreeMap;

/// By part, in the order of [`ChangedPart`].
pub fn changes(plan: &Plan, stored: &GuestConfig, live: Option<&GuestConfig>) -> Vec<Change> {
    let mut parts: Vec<ChangedPart> = changed(plan, stored);
    parts.extend(live.into_iter().flat_map(|live| changed(plan, live)));
    parts.extend(plan.fixes.iter().map(|fix| ChangedPart::Fix(*fix)));
    parts.sort_unstable();
    parts.dedup();
    parts.into_iter().map(|what| Change { what, effect: effect(what) }).collect()
}

fn effect(part: ChangedPart) -> Effect {
    match part {
        ChangedPart::VcpuPins | ChangedPart::EmulatorPin | ChangedPart::IothreadPins => {
            Effect::Live
        }
        _ => Effect::NextBoot,
    }
}

fn changed(plan: &Plan, config: &GuestConfig) -> Vec<ChangedPart> {
    let differs = [
        (ChangedPart::VcpuPins, plan.binding.cpus != config.vcpu_pins),
        (ChangedPart::EmulatorPin, plan.helpers.emulator != config.emulator_pin),
        (ChangedPart::IothreadPins, plan.helpers.iothreads != config.iothread_pins),
        (ChangedPart::VnumaNodes, nodes_differ(plan, config)),
        (ChangedPart::GuestCpuTopology, cpu_differs(plan, config)),
        (ChangedPart::MemoryBinding, memory_differs(plan, config)),
        (ChangedPart::Hugepages, hugepages_differ(plan, config)),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(part, _)| part).collect()
}

fn nodes_differ(plan: &Plan, config: &GuestConfig) -> bool {
    plan.vnuma.as_ref().map(|topology| topology.cells()).unwrap_or_default() != config.cells
}

fn cpu_differs(plan: &Plan, config: &GuestConfig) -> bool {
    let emulated = config.l3_cache_mode.as_deref() == Some("emulate");
    match &plan.vnuma {
        Some(topology) => {
            let l3 = topology.emulate_l3 && config.takes_l3_cache();
            config.cpu_topology != Some(topology.cpu)
                || emulated != l3
                || config.l3_level() != topology.l3_level
        }
        None => {
            let ours = emulated || config.l3_level().is_some();
            config.cpu_topology != plan.cpu_before || ours
        }
    }
}

fn memory_differs(plan: &Plan, config: &GuestConfig) -> bool {
    let tuned = config.numatune.clone().unwrap_or_default();
    let Some(topology) = &plan.vnuma else {
        return tuned != Numatune::default();
    };
    let mode = plan.request.memory_mode;
    let nodes = topology.memory_nodes();
    // libvirt prefers one node for a guest as a whole; it interleaves over all of them.
    let whole = mode != MemoryMode::Preferred || nodes.len() == 1;
    let memory = tuned.memory_nodeset.map(|set| (tuned.memory_mode.unwrap_or_default(), set));
    let each = |node: &numawise_model::VnumaNode| (node.id, (mode, node.memory_nodes.clone()));
    let memnodes: BTreeMap<Vnode, (MemoryMode, NodeSet)> = match mode {
        MemoryMode::Interleave => BTreeMap::new(),
        _ => topology.nodes.iter().map(each).collect(),
    };
    memory != whole.then_some((mode, nodes)) || tuned.memnodes != memnodes
}

fn hugepages_differ(plan: &Plan, config: &GuestConfig) -> bool {
    let pages = config.hugepages.as_deref();
    let Some(topology) = &plan.vnuma else {
        // Pages of the guest as a whole stay; those of vNUMA nodes lose their nodes.
        return pages.into_iter().flatten().any(|page| page.vnodes.is_some());
    };
    let wanted: PageSize = plan.request.page_size;
    let has = |page: &GuestHugepages, id: &Vnode| {
        page.size == wanted && page.vnodes.as_ref().is_none_or(|cells| cells.contains(id))
    };
    match pages {
        None => wanted.is_huge(),
        Some(_) if !wanted.is_huge() => true,
        Some(pages) => {
            pages.iter().any(|page| page.size != wanted)
                || topology.nodes.iter().any(|node| !pages.iter().any(|page| has(page, &node.id)))
        }
    }
}

/// The vNUMA nodes of the running guest whose vCPUs the plan would move away from their memory.
/// Only what is bound is told: memory that floats goes where the kernel takes it.
pub fn memory_left_behind(plan: &Plan, live: &GuestConfig, places: &Places) -> Vec<Finding> {
    let tuned = live.numatune.clone().unwrap_or_default();
    let mut findings = Vec::new();
    for cell in &live.cells {
        let whole = tuned.memory_nodeset.as_ref();
        let bound = tuned.memnodes.get(&cell.id).map(|(mode, nodes)| (*mode, nodes));
        let bound = bound.or(whole.map(|nodes| (tuned.memory_mode.unwrap_or_default(), nodes)));
        let Some((mode, memory_nodes)) = bound else { continue };
        let on = |pins: &BTreeMap<_, CpuSet>| -> NodeSet {
            let cpus = cell.vcpus.iter().filter_map(|vcpu| pins.get(&vcpu));
            cpus.flat_map(|cpus| places.nodes_of(cpus).iter().collect::<Vec<_>>()).collect()
        };
        let (now, then) = (on(&live.vcpu_pins), on(&plan.binding.cpus));
        for cpu_node in then.difference(memory_nodes).difference(&now).iter() {
            let memory_nodes = memory_nodes.clone();
            let kind =
                FindingKind::MemoryStaysBehind { vnode: cell.id, mode, memory_nodes, cpu_node };
            findings.push(Finding::plan(Severity::Warning, kind));
        }
    }
    findings
}
