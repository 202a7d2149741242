//! The guest's nodes: vCPUs bound to one pNUMA node form one, numbered by their first vCPU.
//!
//! So with `smart` vNUMA node 0 lies on the highest pNUMA node, and the seed's 48 vCPUs on two nodes
//! of 32 become nodes of 32 and 16: as unequal as the binding, for anything else would be untrue.
//!
//! # Distances
//!
//! They are the host's, from CPUs to CPUs: 10 from a node to itself (libvirt takes nothing else),
//! 10 to 255 to any other. Two cells on one pNUMA node are as far apart as it is from itself. That
//! is true and of little use, for a guest's Linux throws a table with 10 between two nodes away and
//! goes by its default; such cells are for trying things out.
//!
//! A host that does not tell every distance that is needed tells none to the guest: the guest's
//! kernel then takes its default of 10 and 20, and is not given numbers that nobody measured.

use crate::Notes;
use crate::guest_cpu::Shown;
use crate::memory::Home;
use crate::situation::Situation;
use numawise_model::{
    Binding, FindingKind, NodeSet, Pnode, Refusal, Severity, Topology, VcpuSet, VirtualTopology,
    Vnode, VnumaNode,
};
use std::collections::BTreeMap;

/// A vNUMA node in the making.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub id: Vnode,
    pub vcpus: VcpuSet,
    /// Where its vCPUs are bound: one node, or the nodes of an area (L3-as-NUMA).
    pub host_nodes: NodeSet,
}

impl Cell {
    /// The node that stands for them all.
    pub fn host_node(&self) -> Pnode {
        self.host_nodes.first().unwrap_or(Pnode(0))
    }
}

const LOCAL: u32 = 10;
const UNREACHABLE: u32 = 255;

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
        .map(|(id, (vcpus, node))| Cell { id: Vnode(id), vcpus, host_nodes: NodeSet::single(node) })
        .collect();
    note_interleaved(&cells, notes);
    Some(cells)
}

/// What is worth knowing of cells that were given.
pub fn note_cells(cells: &[Cell], notes: &mut Notes) {
    let mut on: BTreeMap<Pnode, u32> = BTreeMap::new();
    cells.iter().for_each(|cell| *on.entry(cell.host_node()).or_default() += 1);
    for (node, cells) in on.into_iter().filter(|(_, cells)| *cells > 1) {
        notes.finding(Severity::Info, FindingKind::CellsShareNode { node, cells });
    }
    note_interleaved(cells, notes);
}

/// vCPU numbers that go to and fro between nodes read badly in the guest.
fn note_interleaved(cells: &[Cell], notes: &mut Notes) {
    for cell in cells.iter().filter(|cell| cell.vcpus.runs().len() > 1) {
        notes.finding(Severity::Warning, FindingKind::VcpusInterleaved { vnode: cell.id });
    }
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
    Shown { cpu, emulate_l3, l3_level }: Shown,
    notes: &mut Notes,
) -> VirtualTopology {
    let table = distances(situation.topology, &cells);
    if table.is_none() {
        notes.finding(Severity::Warning, FindingKind::DistancesMissing);
    }
    let mut rows = table.into_iter().flatten();
    let nodes = cells
        .into_iter()
        .zip(homes)
        .map(|(cell, home)| VnumaNode {
            id: cell.id,
            vcpus: cell.vcpus,
            memory_bytes: home.memory_bytes,
            host_nodes: cell.host_nodes,
            memory_nodes: home.nodes.clone(),
            distances: rows.next().unwrap_or_default(),
        })
        .collect();
    VirtualTopology { nodes, cpu, emulate_l3, l3_level }
}

/// One row per cell; `None` where the host does not tell all of them.
fn distances(topology: &Topology, cells: &[Cell]) -> Option<Vec<BTreeMap<Vnode, u32>>> {
    let row = |from: &Cell| {
        let told = |to: &Cell| Some((to.id, distance(topology, from, to)?));
        cells.iter().map(told).collect()
    };
    cells.iter().map(row).collect()
}

/// What the guest is told; `None` where the host says nothing that libvirt would take.
fn distance(topology: &Topology, from: &Cell, to: &Cell) -> Option<u32> {
    if from.id == to.id {
        return Some(LOCAL);
    }
    let told = topology.distance(from.host_node(), to.host_node())?;
    if from.host_nodes == to.host_nodes {
        // As near as can be told: a kernel throws the table away when two nodes are 10 apart.
        return Some(told.max(LOCAL + 1));
    }
    (LOCAL..=UNREACHABLE).contains(&told).then_some(told)
}
