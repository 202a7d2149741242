//! What a picture of a guest on its host shows, before anybody draws it: the guest's nodes, the
//! host's nodes that take part, and the lines between them. Lines come from the binding itself, not
//! from a plan, so that a guest placed by hand is drawn as it is.

use crate::look::GuestView;
use numawise_model::{CpuSet, Mode, NodeSet, Owner, Pnode, VcpuSet, Vnode};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestLinks {
    pub guest: Vec<GuestSide>,
    /// In the order in which lines reach them from the top, so that few lines cross.
    pub host: Vec<HostSide>,
    /// Pairs of indices into `guest` and `host`.
    pub lines: Vec<(usize, usize)>,
    /// Nodes of the host that take no part.
    pub unused: NodeSet,
}

/// A vNUMA node, or the whole guest when it sees no NUMA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestSide {
    pub vnode: Option<Vnode>,
    pub vcpus: VcpuSet,
    pub unbound: VcpuSet,
    pub memory_bytes: u64,
    /// To vNUMA nodes 0, 1, ...; empty when they are not given.
    pub distances: Vec<u32>,
    /// Where the memory comes from, when that is fixed and differs from where the vCPUs are.
    pub memory_elsewhere: Option<NodeSet>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSide {
    /// `None`: the guest is bound to CPUs that are in no node.
    pub node: Option<Pnode>,
    pub cpus: CpuSet,
    /// This guest's pCPUs here.
    pub bound: CpuSet,
    pub memory_total_bytes: Option<u64>,
    pub memory_free_bytes: Option<u64>,
    /// Others with pCPUs here, how, and which.
    pub others: Vec<(Owner, Mode, CpuSet)>,
}

impl GuestLinks {
    pub fn of(view: &GuestView<'_>) -> Self {
        let guest = guest_sides(view);
        let mut host: Vec<HostSide> = Vec::new();
        let mut lines = Vec::new();
        for (index, side) in guest.iter().enumerate() {
            for node in reached(view, &side.vcpus, side.memory_elsewhere.as_ref()) {
                let at = host.iter().position(|h| h.node == node).unwrap_or_else(|| {
                    host.push(host_side(view, node));
                    host.len() - 1
                });
                lines.push((index, at));
            }
        }
        let used = |id: &Pnode| host.iter().any(|h| h.node == Some(*id));
        let unused = view.host.topology.nodes.iter().map(|n| n.id).filter(|id| !used(id)).collect();
        Self { guest, host, lines, unused }
    }
}

fn guest_sides(view: &GuestView<'_>) -> Vec<GuestSide> {
    let all: VcpuSet = (0..view.vcpus).map(numawise_model::Vcpu).collect();
    let side = |vnode: Option<Vnode>, vcpus: VcpuSet, memory_bytes: u64| GuestSide {
        unbound: vcpus.iter().filter(|v| !view.binding.contains_key(v)).collect(),
        memory_elsewhere: vnode
            .and_then(|id| view.memory_nodes.get(&id))
            .filter(|nodes| **nodes != nodes_of(view, &vcpus))
            .cloned(),
        distances: view
            .cells
            .iter()
            .find(|cell| Some(cell.id) == vnode)
            .map(|cell| cell.distances.values().copied().collect())
            .unwrap_or_default(),
        vnode,
        vcpus,
        memory_bytes,
    };
    if view.cells.is_empty() {
        return vec![side(None, all, view.memory_bytes)];
    }
    let cells = view.cells.iter();
    cells.map(|cell| side(Some(cell.id), cell.vcpus.clone(), cell.memory_bytes)).collect()
}

fn bound_cpus(view: &GuestView<'_>, vcpus: &VcpuSet) -> CpuSet {
    let mut all = CpuSet::new();
    for cpus in vcpus.iter().filter_map(|vcpu| view.binding.get(&vcpu)) {
        all.extend(cpus);
    }
    all
}

fn nodes_of(view: &GuestView<'_>, vcpus: &VcpuSet) -> NodeSet {
    view.host.topology.nodes_of(&bound_cpus(view, vcpus))
}

/// The nodes of some vCPUs, the highest first as the smart rule fills them, then where their memory
/// is, then "no node".
fn reached(view: &GuestView<'_>, vcpus: &VcpuSet, memory: Option<&NodeSet>) -> Vec<Option<Pnode>> {
    let bound = bound_cpus(view, vcpus);
    let nodes = view.host.topology.nodes_of(&bound);
    let mut ids: Vec<Pnode> = nodes.iter().collect();
    ids.reverse();
    ids.extend(memory.iter().flat_map(|m| m.iter()).filter(|id| !nodes.contains(*id)));
    let homeless = bound.iter().any(|cpu| view.host.topology.node_of(cpu).is_none());
    ids.into_iter().map(Some).chain(homeless.then_some(None)).collect()
}

fn host_side(view: &GuestView<'_>, node: Option<Pnode>) -> HostSide {
    let topology = &view.host.topology;
    let all: VcpuSet = view.binding.keys().copied().collect();
    let bound = bound_cpus(view, &all);
    let found = node.and_then(|id| topology.node(id));
    let cpus = match found {
        Some(node) => node.cpus.clone(),
        None => bound.iter().filter(|cpu| topology.node_of(*cpu).is_none()).collect(),
    };
    let mut others: BTreeMap<(&Owner, Mode), CpuSet> = BTreeMap::new();
    for claim in view.ledger.iter().flat_map(|l| &l.claims) {
        let here = claim.cpus.intersection(&cpus);
        if !here.is_empty() && !is_self(view, &claim.owner) {
            others.entry((&claim.owner, claim.mode)).or_default().extend(&here);
        }
    }
    HostSide {
        node,
        bound: bound.intersection(&cpus),
        memory_total_bytes: found.and_then(|n| n.memory_total_bytes),
        memory_free_bytes: node
            .and_then(|id| view.host.levels.nodes.get(&id))
            .and_then(|levels| levels.memory_free_bytes),
        others: others.into_iter().map(|((who, mode), cpus)| (who.clone(), mode, cpus)).collect(),
        cpus,
    }
}

fn is_self(view: &GuestView<'_>, owner: &Owner) -> bool {
    match (owner, view.uuid) {
        (Owner::Guest { uuid, .. }, Some(own)) => uuid == own,
        (Owner::Guest { name, .. }, None) => name == view.name,
        (Owner::Process { .. } | Owner::Irq { .. } | Owner::Reserved, _) => false,
    }
}
