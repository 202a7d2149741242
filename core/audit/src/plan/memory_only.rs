//! Memory of nodes without CPUs: only where it was asked for, from the nodes that were asked for, and
//! from the nearest of them.

use super::Case;
use numawise_model::request::MemoryOnly;
use numawise_model::{NodeSet, Pnode, VnumaNode};

impl Case<'_> {
    pub(super) fn memory_only(&mut self, vnode: &VnumaNode, asked: &MemoryOnly) {
        let topology = &self.host.topology;
        let is_spare = |id: Pnode| {
            let node = topology.node(id);
            node.is_some_and(|node| node.is_memory_only() && node.has_memory())
                && topology.allowed.memory_nodes.contains(id)
        };
        let spare: NodeSet = vnode.memory_nodes.iter().filter(|id| is_spare(*id)).collect();
        let rest = vnode.memory_nodes.difference(&spare);
        let mut wrong = Vec::new();
        if spare.is_empty() {
            wrong.push("no memory-only node, and one was asked for".to_owned());
        }
        // What is short by `spill` is short of the vCPUs' own memory.
        let spills = *asked == MemoryOnly::Spill;
        if !rest.is_empty() && !spills {
            wrong.push(format!("node {rest}, and memory-only nodes were asked for"));
        }
        for id in rest.iter() {
            let node = topology.node(id);
            let gives = node.is_some_and(|node| node.has_memory() && !node.is_memory_only());
            if !gives || !topology.allowed.memory_nodes.contains(id) {
                wrong.push(format!("node {id}, which has no memory to give"));
            }
        }
        if let MemoryOnly::Nodes(named) = asked
            && !spare.is_subset(named)
        {
            wrong.push(format!("node {spare}, and {named} was asked for"));
        }
        let distance = |id: Pnode| topology.distance(vnode.host_node(), id);
        let farthest = spare.iter().filter_map(distance).max();
        let may = |id: Pnode| match asked {
            MemoryOnly::Nodes(named) => named.contains(id),
            MemoryOnly::Near | MemoryOnly::Spill => true,
        };
        let others = topology.nodes.iter().map(|node| node.id);
        let mut others = others.filter(|id| is_spare(*id) && may(*id) && !spare.contains(*id));
        let nearer = others.find(|id| {
            distance(*id).zip(farthest).is_some_and(|(other, farthest)| other < farthest)
        });
        if let Some(nearer) = nearer {
            wrong.push(format!("node {spare}, and node {nearer} is nearer"));
        }
        for what in wrong {
            let detail = format!("vNUMA node {} takes memory from {what}", vnode.id);
            self.broken("memory-only", detail);
        }
    }
}
