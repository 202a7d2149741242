//! Firmware's "L3 as NUMA": nodes that are slices of one memory.
//!
//! It makes every L3 a node with an equal part of the memory (or with none), and interleaves all of
//! them over the same channels. The caches alone do not tell: a socket of several dies, each with its
//! own L3 and its own memory, has nodes of the same form. The distances do: memory that is divided is
//! told to be 12 and farther (NPS4 and the like), slices of the same are 11 at most. So where every
//! node of a package is exactly one L3, those that are so near to each other are slices of one memory.

use numawise_model::{Node, NodeSet, Pnode, Topology};

/// The nearest that divided memory is told to be.
const DIVIDED: u32 = 12;

/// The nodes that are slices of the same memory as this one, itself among them; none where a node is
/// memory of its own.
pub fn slices(topology: &Topology, of: Pnode) -> NodeSet {
    let first = topology.node(of).and_then(|node| node.cpus.first());
    let package = first.and_then(|first| topology.packages.iter().find(|p| p.cpus.contains(first)));
    let Some(package) = package else { return NodeSet::new() };
    let nodes = || topology.nodes.iter().filter(|node| !node.cpus.is_disjoint(&package.cpus));
    let one_l3 = |node: &Node| {
        node.cpus.is_subset(&package.cpus)
            && topology.l3_domains.iter().any(|l3| l3.cpus == node.cpus)
    };
    let near = |a: Pnode, b: Pnode| {
        a == b || topology.distance(a, b).is_some_and(|distance| distance < DIVIDED)
    };
    let together = nodes().map(|node| node.id).filter(|id| near(of, *id) && near(*id, of));
    let together: NodeSet = together.collect();
    let all_near = together.iter().all(|a| together.iter().all(|b| near(a, b)));
    match together.len() > 1 && all_near && nodes().all(one_l3) {
        true => together,
        false => NodeSet::new(),
    }
}
