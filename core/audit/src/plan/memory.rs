//! How much memory each vNUMA node has, and where it comes from.

use super::Case;
use super::promise::pool_with;
use numawise_model::{FindingKind, Node, PageSize, Pnode, Severity, VirtualTopology, VnumaNode};

impl Case<'_> {
    pub(super) fn judge_memory(&mut self, topology: &VirtualTopology) {
        let size = self.plan.request.page_size;
        if size.bytes() == 0 || !self.page_size_known(size) {
            self.broken("page-size-known", format!("the host has no pages of {} B", size.bytes()));
            return;
        }
        self.whole_pages(topology, size);
        self.sum(topology);
        if !self.keeps_frozen(topology) {
            self.share(topology, size);
        }
        for node in &topology.nodes {
            self.memory_node(node);
        }
        if self.memory_is_bound() {
            self.available(topology);
        }
    }

    fn page_size_known(&self, size: PageSize) -> bool {
        let known = &self.host.topology.page_sizes;
        known.is_empty() || known.contains(&size)
    }

    fn whole_pages(&mut self, topology: &VirtualTopology, size: PageSize) {
        for node in &topology.nodes {
            if node.memory_bytes == 0 {
                self.error(FindingKind::VnodeWithoutMemory { vnode: node.id });
            }
            if node.memory_bytes % size.bytes() != 0 {
                let detail = format!(
                    "vNUMA node {} has {} B, pages have {} B",
                    node.id,
                    node.memory_bytes,
                    size.bytes()
                );
                self.broken("memory-whole-pages", detail);
            }
        }
    }

    fn sum(&mut self, topology: &VirtualTopology) {
        let sum: u128 = topology.nodes.iter().map(|node| u128::from(node.memory_bytes)).sum();
        let wanted = self.plan.request.memory_bytes;
        if sum != u128::from(wanted) {
            self.broken("memory-sum", format!("{sum} B in all, and the guest has {wanted} B"));
        }
    }

    /// With `p` pages for `v` vCPUs, a node of `n` vCPUs has more than `p n / v - 1` and less than
    /// `p n / v + 1`; nodes whose share is below one page get one, which others then lack.
    fn share(&mut self, topology: &VirtualTopology, size: PageSize) {
        let pages = u128::from(self.plan.request.memory_bytes / size.bytes());
        let vcpus = u128::from(self.plan.request.vcpus);
        let exact = |node: &VnumaNode| pages * node.vcpus.len() as u128;
        if topology.nodes.iter().any(|node| exact(node) < vcpus) {
            return;
        }
        for node in &topology.nodes {
            let given = u128::from(node.memory_bytes / size.bytes()) * vcpus;
            if given.abs_diff(exact(node)) >= vcpus {
                let detail = format!(
                    "vNUMA node {} has {} B for {} of {vcpus} vCPUs",
                    node.id,
                    node.memory_bytes,
                    node.vcpus.len()
                );
                self.broken("memory-share", detail);
            }
        }
    }

    fn memory_node(&mut self, vnode: &VnumaNode) {
        if let Some(asked) = &self.plan.request.memory_only {
            self.memory_only(vnode, asked);
            return;
        }
        let topology = &self.host.topology;
        let allowed = |id: Pnode| topology.allowed.memory_nodes.contains(id);
        for id in vnode.memory_nodes.iter().filter(|id| vnode.host_nodes.contains(*id)).skip(1) {
            let gives = topology.node(id).is_some_and(|n| n.has_memory() && allowed(n.id));
            if !gives {
                self.broken("memory-node", format!("node {id} has no memory to give"));
            }
        }
        let Some(source) = topology.node(vnode.memory_node()) else {
            self.broken("memory-node", format!("the host has no node {}", vnode.memory_node()));
            return;
        };
        if !allowed(source.id) {
            self.broken("memory-allowed", format!("memory of node {} is not allowed", source.id));
        }
        if !source.has_memory() {
            self.broken("memory-node", format!("node {} has no memory", source.id));
        }
        if vnode.host_nodes.contains(source.id) {
            return;
        }
        let homes = vnode.host_nodes.iter().filter_map(|id| topology.node(id));
        let home_serves = homes.into_iter().any(|home| home.has_memory() && allowed(home.id));
        if home_serves {
            let detail = format!("vNUMA node {} takes memory from {}", vnode.id, source.id);
            self.broken("memory-node", detail);
        } else if let Some(nearer) = self.nearer_than(vnode, source) {
            let detail = format!("node {nearer} has memory and is nearer than {}", source.id);
            self.broken("memory-node", detail);
        } else {
            let (cpu_node, memory_node) = (vnode.host_node(), vnode.memory_node());
            let kind = FindingKind::MemoryOnOtherNode { vnode: vnode.id, cpu_node, memory_node };
            self.remark(Severity::Warning, kind);
        }
    }

    /// A node with CPUs and memory that is nearer to the vNUMA node's pCPUs than `source`. Where a
    /// distance is not known, nothing can be said.
    fn nearer_than(&self, vnode: &VnumaNode, source: &Node) -> Option<Pnode> {
        let topology = &self.host.topology;
        let distance = |id| topology.distance(vnode.host_node(), id);
        let chosen = distance(source.id)?;
        topology
            .nodes
            .iter()
            .filter(|node| !node.is_memory_only() && node.has_memory())
            .filter(|node| topology.allowed.memory_nodes.contains(node.id))
            .find(|node| distance(node.id).is_some_and(|d| d < chosen))
            .map(|node| node.id)
    }

    /// The most that a node can give: all it has, less what is promised to others. A guest that runs
    /// gives its own pages back, so what is free this moment bounds only a plan without a guest.
    fn available(&mut self, topology: &VirtualTopology) {
        for ((node, size), wanted) in self.pages_wanted(topology) {
            let nodes = pool_with(topology, node);
            let most: Option<u64> = nodes.iter().map(|node| self.most_pages(node, size)).sum();
            let Some(most) = most else {
                self.remark(Severity::Warning, FindingKind::MemoryUnchecked { node });
                continue;
            };
            let free: Option<u64> = if self.plan.guest.is_none() {
                nodes.iter().map(|node| self.free_pages(node, size)).sum()
            } else {
                None
            };
            let most = free.map_or(most, |free| free.min(most));
            if wanted > most {
                let detail = format!("{wanted} pages of {size} on node {node}, which has {most}");
                self.broken("memory-available", detail);
            }
        }
    }

    fn most_pages(&self, id: Pnode, size: PageSize) -> Option<u64> {
        let levels = self.host.levels.nodes.get(&id)?;
        let promised: u64 =
            self.others.claims.iter().filter_map(|claim| claim.pages.get(&id)?.get(&size)).sum();
        let has = if size.is_huge() {
            levels.hugepages.get(&size)?.total
        } else {
            let total = self.host.topology.node(id)?.memory_total_bytes?;
            let pools: u64 = levels.hugepages.iter().map(|(s, pool)| s.bytes() * pool.total).sum();
            total.saturating_sub(pools) / size.bytes()
        };
        Some(has.saturating_sub(promised))
    }

    fn free_pages(&self, id: Pnode, size: PageSize) -> Option<u64> {
        let levels = self.host.levels.nodes.get(&id)?;
        if size.is_huge() {
            return levels.hugepages.get(&size).map(|pool| pool.free);
        }
        let bytes = levels.memory_available_bytes.or(levels.memory_free_bytes)?;
        Some(bytes / size.bytes())
    }
}
