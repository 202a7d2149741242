//! The vNUMA nodes: which vCPUs are in them, where they are, how far apart.

use super::Case;
use crate::slices::slices;
use numawise_model::placement::Split;
use numawise_model::{
    CpuSet, FindingKind, NodeSet, Pnode, Policy, Severity, VcpuSet, VirtualTopology, Vnode,
    VnumaNode,
};
use std::collections::BTreeMap;

/// What libvirt takes as the distance of a node to itself, and nothing else.
const LOCAL_DISTANCE: u32 = 10;

impl Case<'_> {
    pub(super) fn judge_vnodes(&mut self, topology: &VirtualTopology) {
        self.ids(topology);
        self.partition(topology);
        for node in &topology.nodes {
            self.home(node);
        }
        self.cells_per_node(topology);
        self.distances(topology);
    }

    fn ids(&mut self, topology: &VirtualTopology) {
        let ids: Vec<u32> = topology.nodes.iter().map(|node| node.id.0).collect();
        if ids.is_empty() || !ids.iter().copied().eq(0..ids.len() as u32) {
            self.broken("vnode-ids", format!("the vNUMA nodes are {ids:?}"));
        }
    }

    fn partition(&mut self, topology: &VirtualTopology) {
        let mut placed = VcpuSet::new();
        for node in &topology.nodes {
            if node.vcpus.is_empty() {
                self.broken("vnode-partition", format!("vNUMA node {} has no vCPU", node.id));
            }
            let twice = node.vcpus.intersection(&placed);
            if !twice.is_empty() {
                self.broken("vnode-partition", format!("vCPUs {twice} are in two vNUMA nodes"));
            }
            placed.extend(&node.vcpus);
        }
        let all = VcpuSet::range(0, self.plan.request.vcpus.saturating_sub(1));
        if placed != all {
            self.broken("vnode-partition", format!("vCPUs {placed} are placed, of {all}"));
        }
    }

    fn home(&mut self, node: &VnumaNode) {
        let mut home = CpuSet::new();
        for id in node.host_nodes.iter() {
            match self.host.topology.node(id) {
                Some(host_node) => home.extend(&host_node.cpus),
                None => self.broken("vnode-home", format!("the host has no node {id}")),
            }
        }
        if node.host_nodes.len() > 1 && !self.are_slices(&node.host_nodes) {
            let detail = format!("nodes {} have memory of their own each", node.host_nodes);
            self.broken("vnode-home", detail);
        }
        let mut used = CpuSet::new();
        for vcpu in node.vcpus.iter() {
            if let Some(cpus) = self.plan.binding.cpus.get(&vcpu) {
                used.extend(cpus);
            }
        }
        let away = used.difference(&home);
        if !away.is_empty() {
            let detail =
                format!("vNUMA node {} is on {}, pCPUs {away} are not", node.id, node.host_nodes);
            self.broken("vnode-home", detail);
        }
    }

    /// L3-as-NUMA: nodes of one package whose memory is not divided.
    fn are_slices(&self, nodes: &NodeSet) -> bool {
        nodes.first().is_some_and(|first| nodes.is_subset(&slices(&self.host.topology, first)))
    }

    /// A number of vNUMA nodes, or their sizes, that the search was given.
    fn cells_as_asked(&mut self, topology: &VirtualTopology) -> bool {
        let Policy::Best(best) = &self.plan.request.policy else { return false };
        let sizes: Vec<u32> = topology.nodes.iter().map(|node| node.vcpus.len() as u32).collect();
        let wrong = match (&best.split, best.vnodes) {
            (Split::Exact(asked), _) => (*asked != sizes).then(|| format!("parts {asked:?}")),
            (_, Some(asked)) => (asked as usize != sizes.len()).then(|| format!("{asked}")),
            (_, None) => return false,
        };
        if let Some(asked) = wrong.filter(|_| !self.keeps_frozen(topology)) {
            let detail =
                format!("the vNUMA nodes have {sizes:?} vCPUs, and {asked} were asked for");
            self.broken("as-asked", detail);
        }
        true
    }

    fn cells_per_node(&mut self, topology: &VirtualTopology) {
        let may_share = self.cells_as_asked(topology) || self.keeps_frozen(topology);
        let mut cells: BTreeMap<Pnode, u32> = BTreeMap::new();
        for node in &topology.nodes {
            *cells.entry(node.host_node()).or_default() += 1;
        }
        let asked = self.plan.request.cells_per_node;
        if asked == 0 || asked > self.plan.request.vcpus {
            let detail =
                format!("{asked} vNUMA nodes a node for {} vCPUs", self.plan.request.vcpus);
            self.broken("cells-per-node", detail);
        }
        for (node, cells) in cells {
            if cells > asked && !may_share {
                let detail =
                    format!("{cells} vNUMA nodes are on node {node}, {asked} were asked for");
                self.broken("cells-per-node", detail);
            } else if cells > 1 {
                self.remark(Severity::Warning, FindingKind::CellsShareNode { node, cells });
            }
        }
    }

    /// Where the host knows every distance, the guest is told every one; where it does not, the
    /// guest may be told fewer, but nothing that the host does not say. A frozen topology keeps the
    /// distances it has: they are what the guest has seen, wherever it stands today.
    fn distances(&mut self, topology: &VirtualTopology) {
        if self.keeps_frozen(topology) {
            return;
        }
        let mut host_knows_all = true;
        let mut given = 0;
        for from in &topology.nodes {
            for to in &topology.nodes {
                let right = self.right_distances(from, to);
                host_knows_all &= !right.is_empty();
                let Some(told) = from.distances.get(&to.id) else { continue };
                given += 1;
                let local = from.id == to.id && *told == LOCAL_DISTANCE;
                if !local && !right.contains(told) {
                    let detail = format!(
                        "from vNUMA node {} to {}: {told}, and the host says {right:?}",
                        from.id, to.id
                    );
                    self.broken("distances-host", detail);
                }
            }
        }
        let complete = given == topology.nodes.len() * topology.nodes.len();
        if host_knows_all && !complete {
            self.broken("distances-host", format!("only {given} distances are given"));
        }
        let ids: Vec<Vnode> = topology.nodes.iter().map(|node| node.id).collect();
        if topology.nodes.iter().any(|n| n.distances.keys().any(|to| !ids.contains(to))) {
            self.broken("distances-host", "to a vNUMA node that is not there".to_owned());
        }
    }

    /// From CPUs to memory or from node to node: both are the host's word. Cells of one pNUMA node
    /// are as near as it is to itself, or one more: kernels throw a table away in which two nodes
    /// are as near as one is to itself.
    fn right_distances(&self, from: &VnumaNode, to: &VnumaNode) -> Vec<u32> {
        let distance = |to| self.host.topology.distance(from.host_node(), to);
        let mut right: Vec<u32> =
            [to.host_node(), to.memory_node()].into_iter().filter_map(distance).collect();
        right.dedup();
        if from.host_nodes == to.host_nodes && !right.is_empty() {
            right.extend([LOCAL_DISTANCE, LOCAL_DISTANCE + 1]);
        }
        right
    }
}
