//! Nodes that hold only memory (CXL, HBM, a GPU's): used when they are asked for, and only then.
//!
//! They are slower than a CPU's own memory, or faster and small, or somebody's device, so nobody gets
//! them by accident. Asked for, they stand in for the nodes that would serve a vNUMA node otherwise:
//!
//! - `near`: the one nearest to the CPUs. Firmware often calls all HBM of a package equally near to
//!   all of its nodes; they are then dealt out in order, one for each CPU node;
//! - a list: the nearest of these, and all that are equally near, so that two CXL devices add up;
//! - `spill`: the CPUs' own node and the nearest memory-only one. A strict binding to both lets the
//!   kernel take from the nearer until it is full. Each page is counted on the node where it is
//!   expected. Where two CPU nodes spill into one node the search counts its pages for both; the
//!   check by node, after it, does not, so nothing is promised twice, and a division that would
//!   have fitted may be missed.

use crate::Notes;
use crate::situation::Situation;
use crate::vnuma::Cell;
use numawise_model::request::MemoryOnly;
use numawise_model::{Node, NodeSet, Pnode, Reason, Refusal, Request, Topology};

/// The nodes that serve CPUs of `cpu_node`; `usual` are those that would without any asking.
pub fn serving(
    topology: &Topology,
    cpu_node: Pnode,
    usual: NodeSet,
    asked: Option<&MemoryOnly>,
) -> NodeSet {
    match asked {
        None => usual,
        Some(MemoryOnly::Near) => own_share(topology, cpu_node),
        Some(MemoryOnly::Nodes(named)) => {
            nearest(topology, cpu_node, Some(named)).into_iter().collect()
        }
        Some(MemoryOnly::Spill) => usual.union(&own_share(topology, cpu_node)),
    }
}

/// The nearest one; of several that are equally near to several CPU nodes, the one whose turn it is.
fn own_share(topology: &Topology, cpu_node: Pnode) -> NodeSet {
    let near = nearest(topology, cpu_node, None);
    if near.is_empty() {
        return NodeSet::new();
    }
    let before = topology.nodes.iter().filter(|node| node.id < cpu_node && !node.cpus.is_empty());
    let before = before.filter(|node| nearest(topology, node.id, None) == near).count();
    NodeSet::single(near[before % near.len()])
}

/// All usable memory-only nodes at the least distance, by id. A distance that is not told is the
/// farthest.
fn nearest(topology: &Topology, from: Pnode, named: Option<&NodeSet>) -> Vec<Pnode> {
    let usable = usable(topology);
    let all: Vec<Pnode> =
        usable.iter().filter(|id| named.is_none_or(|named| named.contains(*id))).collect();
    let distance = |id: Pnode| topology.distance(from, id).unwrap_or(u32::MAX);
    let least = all.iter().map(|id| distance(*id)).min();
    all.into_iter().filter(|id| Some(distance(*id)) == least).collect()
}

/// Memory-only nodes with memory that may be used here.
fn usable(topology: &Topology) -> NodeSet {
    let allowed = &topology.allowed.memory_nodes;
    let serves =
        |node: &&Node| node.is_memory_only() && node.has_memory() && allowed.contains(node.id);
    topology.nodes.iter().filter(serves).map(|node| node.id).collect()
}

/// Refuses what cannot be had, before anybody looks for a place.
pub fn check(situation: &Situation, request: &Request, notes: &mut Notes) -> bool {
    let Some(asked) = &request.memory_only else { return true };
    let usable = usable(situation.topology);
    let asked = match asked {
        MemoryOnly::Nodes(nodes) => nodes.clone(),
        MemoryOnly::Near | MemoryOnly::Spill => NodeSet::new(),
    };
    let possible = !usable.is_empty() && asked.is_subset(&usable);
    if !possible {
        notes.refuse(Refusal::NotMemoryOnly { asked, usable });
    }
    possible
}

/// What was asked of memory-only nodes, in the place of what would serve; and how far it is.
pub fn instead(
    situation: &Situation,
    cell: &Cell,
    usual: NodeSet,
    asked: Option<&MemoryOnly>,
    notes: &mut Notes,
) -> NodeSet {
    let topology = situation.topology;
    let cpu_node = cell.host_node();
    let nodes = serving(topology, cpu_node, usual, asked);
    let far: NodeSet = nodes.difference(&cell.host_nodes);
    if let Some(first) = far.first() {
        let distance = topology.distance(cpu_node, first);
        let vnode = cell.id;
        notes.reason(Reason::MemoryOnlyUsed { vnode, cpu_node, nodes: far, distance });
    }
    nodes
}

/// Those that nothing is taken from.
pub fn note_left_out(situation: &Situation, used: &NodeSet, notes: &mut Notes) {
    let only = situation.topology.nodes.iter().filter(|node| node.is_memory_only());
    let left: NodeSet = only.map(|node| node.id).filter(|id| !used.contains(*id)).collect();
    if !left.is_empty() {
        notes.reason(Reason::MemoryOnlyNodesLeftOut { nodes: left });
    }
}
