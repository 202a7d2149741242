//! Where a guest's memory is bound, where it is, and where its vCPUs run.

use super::{AuditedGuest, Case, union};
use crate::slices::slices;
use numawise_model::{
    FindingKind, MemoryMode, Node, NodeSet, PageCounts, Pnode, Severity, Topology, Vnode,
};
use std::collections::BTreeMap;

/// Memory of a QEMU process that is not the guest's, or that the kernel put where it liked before
/// the guest was pinned: so much may lie anywhere. Hugepages are never part of it.
const NOT_THE_GUESTS_BYTES: u64 = 64 << 20;

/// A part of a guest's memory: one vNUMA node's, or all of it.
struct Part {
    vnode: Option<Vnode>,
    /// Nodes that its vCPUs run on.
    cpu_nodes: NodeSet,
    bound: Option<(MemoryMode, NodeSet)>,
}

impl Case<'_> {
    pub(super) fn memory(&mut self, guest: &AuditedGuest<'_>) {
        let parts = self.parts(guest);
        let mut told = Vec::new();
        for part in &parts {
            if self.bound_away(guest, part) {
                told.push(part.vnode);
            }
            self.on_a_slice(guest, part);
        }
        if !guest.is_planned {
            self.pages_away(guest, &parts, &told);
        }
    }

    /// By vNUMA node where each has a binding of its own; interleaved memory is one part.
    fn parts(&self, guest: &AuditedGuest<'_>) -> Vec<Part> {
        let config = guest.config();
        let topology = &self.host().topology;
        let masks = guest.masks(self.host());
        let numatune = config.numatune.clone().unwrap_or_default();
        let whole = numatune.memory_nodeset.clone().map(|nodes| {
            // libvirt's word for a binding without a mode.
            (numatune.memory_mode.unwrap_or(MemoryMode::Strict), nodes)
        });
        if numatune.memnodes.is_empty() {
            let cpu_nodes = topology.nodes_of(&union(masks.values()));
            return vec![Part { vnode: None, cpu_nodes, bound: whole }];
        }
        let of_cell = |cell: &numawise_model::guest::GuestCell| {
            let own = masks.iter().filter(|(vcpu, _)| cell.vcpus.contains(**vcpu));
            Part {
                vnode: Some(cell.id),
                cpu_nodes: topology.nodes_of(&union(own.map(|(_, mask)| mask))),
                bound: numatune.memnodes.get(&cell.id).cloned().or(whole.clone()),
            }
        };
        config.cells.iter().map(of_cell).collect()
    }

    fn bound_away(&mut self, guest: &AuditedGuest<'_>, part: &Part) -> bool {
        let Some((_, memory_nodes)) = &part.bound else { return false };
        if part.cpu_nodes.is_empty() {
            return false;
        }
        let near = near(&self.host().topology, &part.cpu_nodes);
        if memory_nodes.is_subset(&near) {
            return false;
        }
        let kind = FindingKind::MemoryAwayFromVcpus {
            vnode: part.vnode,
            cpu_nodes: part.cpu_nodes.clone(),
            memory_nodes: memory_nodes.clone(),
        };
        self.on(guest, Severity::Warning, kind);
        true
    }

    fn on_a_slice(&mut self, guest: &AuditedGuest<'_>, part: &Part) {
        let topology = &self.host().topology;
        let Some((MemoryMode::Strict | MemoryMode::Restrictive, nodes)) = &part.bound else {
            return;
        };
        let mut of = NodeSet::new();
        for node in nodes.iter() {
            of.extend(&region(topology, node));
        }
        if !of.is_empty() && nodes.is_subset(&of) && *nodes != of {
            let (vnode, nodes) = (part.vnode, nodes.clone());
            let kind = FindingKind::MemoryBoundToSlice { vnode, nodes, of };
            self.on(guest, Severity::Warning, kind);
        }
    }

    /// What a definition says of a part already (`told`) is not said again of its pages.
    fn pages_away(&mut self, guest: &AuditedGuest<'_>, parts: &[Part], told: &[Option<Vnode>]) {
        let Some(facts) = guest.facts else { return };
        let by_vnode =
            facts.pages_by_vnode.as_ref().filter(|_| parts.iter().all(|p| p.vnode.is_some()));
        let Some(by_vnode) = by_vnode else {
            let mut cpu_nodes = NodeSet::new();
            for part in parts {
                cpu_nodes.extend(&part.cpu_nodes);
            }
            if told.is_empty() {
                self.pages_of(guest, None, &cpu_nodes, &facts.pages);
            }
            return;
        };
        for part in parts.iter().filter(|part| !told.contains(&part.vnode)) {
            if let Some(pages) = part.vnode.and_then(|vnode| by_vnode.get(&vnode)) {
                self.pages_of(guest, part.vnode, &part.cpu_nodes, pages);
            }
        }
    }

    fn pages_of(
        &mut self,
        guest: &AuditedGuest<'_>,
        vnode: Option<Vnode>,
        cpu_nodes: &NodeSet,
        pages: &PageCounts,
    ) {
        if cpu_nodes.is_empty() {
            return;
        }
        let near = near(&self.host().topology, cpu_nodes);
        let (mut seen, mut away, mut huge, mut of) = (NodeSet::new(), 0, 0, 0);
        for (node, sizes) in pages {
            let bytes: u64 = sizes.iter().map(|(size, pages)| size.bytes() * pages).sum();
            of += bytes;
            if bytes > 0 && !near.contains(*node) {
                seen.insert(*node);
                away += bytes;
                let huge_pages = sizes.iter().filter(|(size, _)| size.is_huge());
                huge += huge_pages.map(|(_, pages)| pages).sum::<u64>();
            }
        }
        if away > NOT_THE_GUESTS_BYTES || huge > 0 {
            let cpu_nodes = cpu_nodes.clone();
            let (away_bytes, of_bytes) = (away, of);
            let kind =
                FindingKind::PagesAwayFromVcpus { vnode, cpu_nodes, seen, away_bytes, of_bytes };
            self.on(guest, Severity::Warning, kind);
        }
    }
}

/// Nodes whose memory is as near to these nodes' CPUs as any: their own; where they have none, the
/// nearest; the slices of the same memory; and memory-only nodes, which somebody chose.
fn near(topology: &Topology, cpu_nodes: &NodeSet) -> NodeSet {
    let mut near = NodeSet::new();
    for node in cpu_nodes.iter() {
        near.insert(node);
        near.extend(&region(topology, node));
        if topology.node(node).is_some_and(|node| !node.has_memory()) {
            near.extend(&nearest_with_memory(topology, node));
        }
    }
    near.extend(&topology.nodes.iter().filter(|n| n.is_memory_only()).map(|n| n.id).collect());
    near
}

/// All nodes with memory at the smallest distance; without distances any of them.
fn nearest_with_memory(topology: &Topology, from: Pnode) -> NodeSet {
    let with = topology.nodes.iter().filter(|node| node.has_memory() && node.id != from);
    let by_distance: BTreeMap<Pnode, Option<u32>> =
        with.map(|node| (node.id, topology.distance(from, node.id))).collect();
    let least = by_distance.values().flatten().min().copied();
    by_distance.into_iter().filter(|(_, d)| *d == least || d.is_none()).map(|(id, _)| id).collect()
}

/// The slices of the same memory as this node that have any; none where a node is memory of its own.
fn region(topology: &Topology, of: Pnode) -> NodeSet {
    let slices = slices(topology, of);
    slices.iter().filter(|id| topology.node(*id).is_some_and(Node::has_memory)).collect()
}
