//! What is written beside a guest's boxes.

use crate::binding;
use crate::en::{self, labels};
use crate::links::{GuestLinks, GuestSide, HostSide};
use crate::look::GuestView;
use crate::quantity::{bytes, bytes_or_unknown};
use numawise_model::guest::GuestCell;
use numawise_model::{
    CpuSet, Finding, FindingKind, HelperPlacement, Pnode, Topology, Vcpu, VcpuSet, Vnode,
};
use std::collections::BTreeMap;

pub fn title(view: &GuestView<'_>) -> String {
    let state = labels::guest_state(view.state);
    let mut title = format!("{} ({state})", labels::title_guest(view.name));
    if !view.host_name.is_empty() {
        title += &format!(" on {}", labels::title_host(view.host_name));
    }
    if view.look.simulated {
        title += &format!(", {}", labels::SIMULATED);
    }
    title
}

pub fn facts(view: &GuestView<'_>) -> String {
    let mut facts = labels::guest_size(view.vcpus, &bytes(view.memory_bytes));
    facts += "; ";
    facts += if view.binding.is_empty() { labels::NOT_BOUND } else { labels::bound(view.mode) };
    if let Some(cpu) = &view.cpu {
        facts += &format!("; {}", labels::cpu_topology(cpu));
    }
    facts
}

/// vNUMA nodes that a finding is about, by its vCPU or node. A mark is a help to the eye: every
/// finding is told in words below the picture.
pub fn drifted_nodes(view: &GuestView<'_>) -> Vec<Vnode> {
    view.drift.iter().filter_map(|finding| drifted_node(view, finding)).collect()
}

fn drifted_node(view: &GuestView<'_>, finding: &Finding) -> Option<Vnode> {
    let cell = |wanted: &dyn Fn(&GuestCell) -> bool| view.cells.iter().find(|c| wanted(c));
    let with_vcpu = |vcpu: Vcpu| cell(&|c: &GuestCell| c.vcpus.contains(vcpu));
    let on_node = |node: Pnode| {
        let here = |c: &GuestCell| view.memory_nodes.get(&c.id).is_some_and(|n| n.contains(node));
        cell(&here)
    };
    let found = match &finding.kind {
        FindingKind::StoredPin { vcpu, .. } | FindingKind::ThreadAffinity { vcpu, .. } => {
            with_vcpu(*vcpu)
        }
        FindingKind::MemoryElsewhere { expected, .. } => on_node(*expected),
        _ => None,
    };
    found.map(|cell| cell.id)
}

/// Heading and lines of a left box.
pub fn guest_box(side: &GuestSide, drifted: bool) -> (String, Vec<String>) {
    let mut title = labels::vnode(side.vnode);
    if drifted {
        title += &format!(" ({})", labels::DRIFT);
    }
    let mut lines =
        vec![labels::vcpus(&side.vcpus), labels::vnode_memory(&bytes(side.memory_bytes))];
    if !side.distances.is_empty() {
        lines.push(labels::vnode_distances(side.distances.iter().copied()));
    }
    if !side.unbound.is_empty() {
        lines.push(format!("{}: {}", labels::NOT_BOUND, side.unbound));
    }
    lines.extend(side.memory_elsewhere.as_ref().map(labels::memory_from));
    (title, lines)
}

/// Heading and lines of a right box.
pub fn host_box(side: &HostSide) -> (String, Vec<String>) {
    let mut lines = vec![labels::bound_here(&side.bound, side.cpus.len())];
    if side.node.is_some() {
        lines.push(labels::memory(
            &bytes_or_unknown(side.memory_total_bytes, labels::UNKNOWN),
            &bytes_or_unknown(side.memory_free_bytes, labels::UNKNOWN),
        ));
    }
    let others =
        side.others.iter().map(|(who, mode, cpus)| labels::also_here(&en::owner(who), *mode, cpus));
    lines.extend(others);
    (labels::pnode(side.node), lines)
}

/// The binding in few lines, each naming its node where that is known.
pub fn binding(
    binding: &BTreeMap<Vcpu, CpuSet>,
    vcpus: u32,
    topology: Option<&Topology>,
) -> Vec<String> {
    let mut rows = Vec::new();
    for (node, part) in by_node(binding, topology) {
        let runs = binding::runs(&part);
        rows.extend(runs.iter().map(|run| labels::binding_run(run, node.as_deref())));
    }
    let missing: VcpuSet = (0..vcpus).map(Vcpu).filter(|v| !binding.contains_key(v)).collect();
    if !missing.is_empty() {
        rows.push((labels::vcpus(&missing), labels::NOT_BOUND.to_owned()));
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let rows = rows.into_iter().map(|(name, onto)| format!("  {name:<width$}  {onto}"));
    std::iter::once(labels::BINDING.to_owned()).chain(rows).collect()
}

/// A stretch of neighbouring vCPUs on the same node or nodes.
type Stretch = (Option<String>, Vec<(u32, CpuSet)>);

fn by_node(binding: &BTreeMap<Vcpu, CpuSet>, topology: Option<&Topology>) -> Vec<Stretch> {
    let mut parts: Vec<Stretch> = Vec::new();
    for (vcpu, cpus) in binding {
        let nodes = topology.map(|t| match t.nodes_of(cpus) {
            nodes if nodes.is_empty() => labels::OF_NO_NODE.to_owned(),
            nodes => labels::nodes(&nodes),
        });
        match parts.last_mut() {
            Some((of, part)) if *of == nodes => part.push((vcpu.0, cpus.clone())),
            _ => parts.push((nodes, vec![(vcpu.0, cpus.clone())])),
        }
    }
    parts
}

pub fn helpers(helpers: &HelperPlacement) -> Vec<String> {
    // I/O threads that share their CPUs are told together.
    let mut by_cpus: BTreeMap<&CpuSet, Vec<u32>> = BTreeMap::new();
    for (id, cpus) in &helpers.iothreads {
        by_cpus.entry(cpus).or_default().push(*id);
    }
    let emulator = helpers.emulator.iter().map(labels::emulator);
    let iothreads = by_cpus.into_iter().map(|(cpus, ids)| labels::iothreads(&ids, cpus));
    emulator.chain(iothreads).map(|line| format!("  {line}")).collect()
}

/// Everything below the boxes but the drift.
pub fn below(view: &GuestView<'_>, links: &GuestLinks) -> Vec<String> {
    let mut lines = Vec::new();
    if !links.unused.is_empty() {
        lines.push(labels::unused_nodes(&links.unused));
    }
    lines.push(String::new());
    lines.extend(binding(&view.binding, view.vcpus, Some(&view.host.topology)));
    lines.extend(helpers(&view.helpers));
    lines
}
