//! Which nodes are an area together: under L3-as-NUMA the slices of one memory, else each by itself.

use numawise_model::{CpuSet, Node, NodeSet, Pnode, Topology};
use std::collections::BTreeMap;

/// Nodes that are areas together, with their CPUs. A CPU that firmware lists in several nodes is in
/// the first.
pub fn areas(topology: &Topology) -> Vec<(NodeSet, CpuSet)> {
    let mut seen = CpuSet::new();
    let mut nodes: Vec<(Pnode, CpuSet)> = Vec::new();
    for node in &topology.nodes {
        let own = node.cpus.difference(&seen);
        seen.extend(&own);
        if !own.is_empty() {
            nodes.push((node.id, own));
        }
    }
    let mut areas: Vec<(NodeSet, CpuSet)> = Vec::new();
    let mut of_package: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (node, cpus) in nodes {
        let package = cpus.first().and_then(|cpu| topology.package_of(cpu));
        let package = package.filter(|package| nodes_are_l3(topology, package.0 as usize));
        let before = package.map(|package| of_package.entry(package.0).or_default());
        let with = before.as_ref().and_then(|before| {
            let near = |index: &&usize| areas[**index].0.iter().all(|of| near(topology, node, of));
            before.iter().find(near).copied()
        });
        match with {
            Some(index) => {
                areas[index].0.insert(node);
                areas[index].1.extend(&cpus);
            }
            None => {
                if let Some(before) = before {
                    before.push(areas.len());
                }
                areas.push((NodeSet::single(node), cpus));
            }
        }
    }
    areas
}

/// Whether nodes of a package are slices of one memory: all of its nodes are its L3 domains and nothing
/// more, and some are nearer than divided memory is ever told to be (11, where NPS4 and the like say
/// 12). Where firmware divides the memory besides, the slices of each part are an area.
pub fn has_l3_as_numa(topology: &Topology, package: usize) -> bool {
    let inside: Vec<Pnode> = nodes_in(topology, package).iter().map(|node| node.id).collect();
    let mut pairs = inside.iter().flat_map(|a| inside.iter().map(move |b| (*a, *b)));
    nodes_are_l3(topology, package) && pairs.any(|(a, b)| a != b && near(topology, a, b))
}

fn nodes_in(topology: &Topology, package: usize) -> Vec<&Node> {
    let Some(package) = topology.packages.get(package) else { return Vec::new() };
    topology.nodes.iter().filter(|node| !node.cpus.is_disjoint(&package.cpus)).collect()
}

fn nodes_are_l3(topology: &Topology, package: usize) -> bool {
    let Some(of) = topology.packages.get(package) else { return false };
    let alike = |node: &&Node| {
        node.cpus.is_subset(&of.cpus)
            && topology.l3_domains.iter().any(|domain| domain.cpus == node.cpus)
    };
    nodes_in(topology, package).iter().all(alike)
}

/// There and back.
fn near(topology: &Topology, a: Pnode, b: Pnode) -> bool {
    let near = |a, b| topology.distance(a, b).is_some_and(|distance| distance <= 11);
    near(a, b) && near(b, a)
}
