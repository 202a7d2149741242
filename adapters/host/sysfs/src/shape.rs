//! What is odd about a host, whichever source it came from. Nothing here changes the host.

use numawise_model::{CpuSet, Finding, FindingKind, Node, NodeSet, Pnode, Severity, Topology};
use std::collections::BTreeSet;

pub fn findings(topology: &Topology) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |severity, kind| findings.push(Finding::host(severity, kind));
    membership(topology, &mut say);
    distances(topology, &mut say);
    memory(topology, &mut say);
    caches(topology, &mut say);
    packages_and_cores(topology, &mut say);
    limits(topology, &mut say);
    if let Some(hypervisor) = &topology.hypervisor {
        let vendor = hypervisor.vendor.clone();
        say(Severity::Warning, FindingKind::RunsUnderHypervisor { vendor });
    }
    findings
}

type Say<'a> = &'a mut dyn FnMut(Severity, FindingKind);

fn membership(topology: &Topology, say: Say<'_>) {
    let mut seen = CpuSet::new();
    let mut several = CpuSet::new();
    for node in &topology.nodes {
        several.extend(&node.cpus.intersection(&seen));
        seen.extend(&node.cpus);
    }
    if !several.is_empty() {
        let nodes = topology.nodes_of(&several);
        say(Severity::Warning, FindingKind::CpusInSeveralNodes { cpus: several, nodes });
    }
    let in_none = topology.online.difference(&seen);
    if !in_none.is_empty() {
        say(Severity::Warning, FindingKind::CpusInNoNode { cpus: in_none });
    }
}

fn distances(topology: &Topology, say: Say<'_>) {
    let nodes = &topology.nodes;
    if nodes.len() > 1 && nodes.iter().all(|node| node.distances.is_empty()) {
        say(Severity::Info, FindingKind::DistancesMissing);
    }
    for node in nodes {
        let Some(own) = node.distances.get(&node.id) else { continue };
        if node.distances.iter().any(|(other, there)| *other != node.id && there <= own) {
            say(Severity::Warning, FindingKind::SelfDistanceNotSmallest { node: node.id });
        }
        for (&other, &there) in node.distances.range(Pnode(node.id.0 + 1)..) {
            match topology.distance(other, node.id) {
                Some(back) if back != there => {
                    let (a, b) = (node.id, other);
                    say(Severity::Info, FindingKind::DistanceAsymmetric { a, b, there, back });
                }
                _ => {}
            }
        }
    }
}

fn memory(topology: &Topology, say: Say<'_>) {
    let those = |wanted: &dyn Fn(&numawise_model::Node) -> bool| -> NodeSet {
        topology.nodes.iter().filter(|node| wanted(node)).map(|node| node.id).collect()
    };
    let unknown = those(&|node| node.memory_total_bytes.is_none());
    if !unknown.is_empty() {
        say(Severity::Warning, FindingKind::NodeMemoryUnknown { nodes: unknown });
    }
    let without = those(&|node| !node.is_memory_only() && node.memory_total_bytes == Some(0));
    if !without.is_empty() {
        say(Severity::Warning, FindingKind::CpuNodeWithoutMemory { nodes: without });
    }
    let only = those(&|node| node.is_memory_only() && node.has_memory());
    if !only.is_empty() {
        say(Severity::Info, FindingKind::MemoryOnlyNodes { nodes: only });
    }
}

fn caches(topology: &Topology, say: Say<'_>) {
    let mut covered = CpuSet::new();
    for domain in &topology.l3_domains {
        covered.extend(&domain.cpus);
        let nodes = topology.nodes_of(&domain.cpus);
        if nodes.len() > 1 {
            let cpus = domain.cpus.clone();
            say(Severity::Info, FindingKind::L3SpansNodes { cpus, nodes });
        }
    }
    let without = topology.online.difference(&covered);
    if !without.is_empty() {
        // None at all is a kind of machine; some without is a contradiction.
        let severity = if covered.is_empty() { Severity::Info } else { Severity::Warning };
        say(severity, FindingKind::NoL3 { cpus: without });
    }
    let sizes: BTreeSet<u32> = topology.l3_domains.iter().map(|d| d.cpus.len() as u32).collect();
    if sizes.len() > 1 {
        say(Severity::Info, FindingKind::UnequalL3 { sizes: sizes.into_iter().collect() });
    }
    if nodes_are_l3_domains(topology) {
        say(Severity::Info, FindingKind::NodesAreL3Domains);
    }
}

/// Firmware's "L3 as NUMA": each node with CPUs is one L3 of several in its package, and some other is
/// told to be nearer than divided memory is (12 and more).
fn nodes_are_l3_domains(topology: &Topology) -> bool {
    let with_cpus: Vec<&Node> =
        topology.nodes.iter().filter(|node| !node.cpus.is_empty()).collect();
    let is_slice = |node: &&Node| {
        let package = topology.packages.iter().find(|p| node.cpus.is_subset(&p.cpus));
        let others = |other: &&&Node| {
            other.id != node.id && package.is_some_and(|p| !p.cpus.is_disjoint(&other.cpus))
        };
        let near = |other: &&Node| topology.distance(node.id, other.id).is_some_and(|d| d < 12);
        topology.l3_domains.iter().any(|domain| domain.cpus == node.cpus)
            && with_cpus.iter().filter(others).any(near)
    };
    !with_cpus.is_empty() && with_cpus.iter().all(is_slice)
}

fn packages_and_cores(topology: &Topology, say: Say<'_>) {
    for node in &topology.nodes {
        let packages = topology
            .packages
            .iter()
            .filter(|package| !package.cpus.is_disjoint(&node.cpus))
            .count();
        if packages > 1 {
            let packages = packages as u32;
            say(Severity::Info, FindingKind::NodeSpansPackages { node: node.id, packages });
        }
    }
    let widths: BTreeSet<u32> = topology.cores.iter().map(|core| core.cpus.len() as u32).collect();
    if widths.len() > 1 {
        say(Severity::Info, FindingKind::MixedSmtWidths { widths: widths.into_iter().collect() });
    }
}

fn limits(topology: &Topology, say: Say<'_>) {
    let allowed = &topology.allowed;
    let mut outside = CpuSet::new();
    for node in topology.nodes.iter().filter(|node| node.has_memory()) {
        if !allowed.memory_nodes.contains(node.id) {
            outside.extend(&node.cpus.intersection(&allowed.cpus));
        }
    }
    if !outside.is_empty() {
        let memory_nodes = allowed.memory_nodes.clone();
        let kind = FindingKind::AllowedCpusOutsideAllowedNodes { cpus: outside, memory_nodes };
        say(Severity::Warning, kind);
    }
}
