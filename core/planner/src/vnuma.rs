//! The guest's nodes: vCPUs bound to one pNUMA node form one, numbered by their first vCPU.
//!
//! So with `smart` vNUMA node 0 lies on the highest pNUMA node, and the seed's 48 vCPUs on two nodes
//! of 32 become nodes of 32 and 16: as unequal as the binding, for anything else would be untrue.
//!
//! # Distances
//!
//! They are the host's, with what libvirt and guests ask for: 10 from a node to itself, 10 to 255
//! to any other. Where the host says nothing, or something outside of that, the kernel's own default
//! of 20 stands in, and a finding says so. A guest's Linux throws the whole table away when two of its
//! nodes are 10 apart, so two cells on one pNUMA node (and two nodes of a host that claims no
//! distance between them) are shown as 11, the nearest that is believed.

use crate::Notes;
use crate::memory::Home;
use crate::situation::Situation;
use numawise_model::{
    Binding, FindingKind, GuestCpuTopology, Pnode, Refusal, Severity, Topology, VcpuSet,
    VirtualTopology, Vnode, VnumaNode,
};
use std::collections::BTreeMap;

/// A vNUMA node in the making.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub id: Vnode,
    pub vcpus: VcpuSet,
    /// Where its vCPUs are bound.
    pub host_node: Pnode,
}

const LOCAL: u32 = 10;
/// The smallest distance between two nodes that a guest's kernel accepts.
const NEAREST: u32 = 11;
const UNREACHABLE: u32 = 255;
/// What kernels assume between nodes when nobody says.
const DEFAULT_REMOTE: u32 = 20;

/// Groups the vCPUs by node. The binding must keep every vCPU within one.
pub fn cells(
    situation: &Situation,
    binding: &Binding,
    cells_per_node: u32,
    notes: &mut Notes,
) -> Option<Vec<Cell>> {
    let mut by_node: BTreeMap<Pnode, VcpuSet> = BTreeMap::new();
    for (vcpu, cpus) in &binding.cpus {
        let node = cpus.first().and_then(|cpu| situation.places.node(cpu))?;
        by_node.entry(node).or_default().insert(*vcpu);
    }
    let refused_before = notes.refusals.len();
    let mut parts: Vec<(VcpuSet, Pnode)> = Vec::new();
    for (node, vcpus) in by_node {
        let have = vcpus.len() as u32;
        if cells_per_node == 0 || have < cells_per_node {
            notes.refuse(Refusal::CellsPerNode { asked: cells_per_node, node, vcpus: have });
            continue;
        }
        if cells_per_node > 1 {
            let cells = cells_per_node;
            notes.finding(Severity::Info, FindingKind::CellsShareNode { node, cells });
        }
        parts.extend(split(&vcpus, cells_per_node).into_iter().map(|part| (part, node)));
    }
    if notes.refusals.len() > refused_before {
        return None;
    }
    parts.sort_by_key(|(vcpus, _)| vcpus.first());
    let cells: Vec<Cell> = (0..)
        .zip(parts)
        .map(|(id, (vcpus, host_node))| Cell { id: Vnode(id), vcpus, host_node })
        .collect();
    for cell in cells.iter().filter(|cell| cell.vcpus.runs().len() > 1) {
        notes.finding(Severity::Warning, FindingKind::VcpusInterleaved { vnode: cell.id });
    }
    Some(cells)
}

/// As equal as can be, the first parts one larger: 7 in 3 are 3, 2 and 2.
fn split(vcpus: &VcpuSet, parts: u32) -> Vec<VcpuSet> {
    let all: Vec<_> = vcpus.iter().collect();
    let (each, larger) = (all.len() / parts as usize, all.len() % parts as usize);
    let mut rest = all.as_slice();
    let mut split = Vec::new();
    for part in 0..parts as usize {
        let (now, later) = rest.split_at(each + usize::from(part < larger));
        split.push(now.iter().copied().collect());
        rest = later;
    }
    split
}

/// Puts cells, their memory and the CPU topology together. `homes` has one entry per cell.
pub fn virtual_topology(
    situation: &Situation,
    cells: Vec<Cell>,
    homes: &[Home],
    (cpu, emulate_l3): (GuestCpuTopology, bool),
    notes: &mut Notes,
) -> VirtualTopology {
    let mut guessed = false;
    let mut nodes = Vec::new();
    for (cell, home) in cells.iter().zip(homes) {
        let mut distances = BTreeMap::new();
        for other in &cells {
            let known = distance(situation.topology, cell, other);
            guessed |= known.is_none();
            distances.insert(other.id, known.unwrap_or(DEFAULT_REMOTE));
        }
        nodes.push(VnumaNode {
            id: cell.id,
            vcpus: cell.vcpus.clone(),
            memory_bytes: home.memory_bytes,
            host_node: cell.host_node,
            memory_node: home.node,
            distances,
        });
    }
    if guessed {
        notes.finding(Severity::Warning, FindingKind::DistancesMissing);
    }
    VirtualTopology { nodes, cpu, emulate_l3 }
}

/// What the guest is told; `None` where the host says nothing that can be passed on.
fn distance(topology: &Topology, from: &Cell, to: &Cell) -> Option<u32> {
    if from.id == to.id {
        return Some(LOCAL);
    }
    if from.host_node == to.host_node {
        return Some(NEAREST);
    }
    let told = topology.distance(from.host_node, to.host_node)?;
    (LOCAL..=UNREACHABLE).contains(&told).then_some(told.max(NEAREST))
}
