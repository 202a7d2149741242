//! What is asked of the planner for a guest that comes from another host.
//!
//! First what the plan in force was asked for. Where that does not fit, or names things of the host
//! that the guest leaves, the same vCPUs are asked for together on other nodes: those that were on
//! one node before stay on one node. The planner and the judge say which of it is possible.

use super::planning::MovingGuest;
use crate::loop_parts::Situation;
use numawise_model::placement::Best;
use numawise_model::{
    CpuPools, MemoryMode, MoveRefusal, PageSize, Pnode, Policy, Request, VcpuSet,
};

/// So many ways are tried for one guest, whatever the host.
const MOST_WAYS: usize = 24;

/// The most wanted first; never none.
pub(super) fn requests(
    guest: &MovingGuest,
    situation: &Situation,
    pools: &CpuPools,
) -> Vec<Request> {
    let first = in_force(guest);
    let mut policies = vec![first.policy.clone()];
    if first.policy != Policy::Unbound {
        let groups = groups(guest, &first);
        for pick in [tightest, roomiest] {
            let nodes = nodes_with_room(situation, pools);
            for skipped in 0..=nodes.len() {
                let left = skip(&nodes, skipped);
                policies.extend(assigned(&groups, left, pick).map(Policy::OnNode));
            }
        }
        // `smart` may take CPUs that are kept for the host; it is left to those who share pCPUs.
        let shares = first.shared || first.overcommit;
        policies.push(if shares { Policy::Smart } else { Policy::Best(Best::default()) });
    }
    let mut requests: Vec<Request> = Vec::new();
    for policy in policies {
        let request = Request { policy, ..first.clone() };
        if requests.len() < MOST_WAYS && !requests.contains(&request) {
            requests.push(request);
        }
    }
    requests
}

/// What the nodes of the host would have had to take.
pub(super) fn no_nodes_for(
    guest: &MovingGuest,
    request: &Request,
    situation: &Situation,
    pools: &CpuPools,
) -> MoveRefusal {
    let number = |n: usize| u32::try_from(n).map_or(u32::MAX, |n| n);
    let vcpus = groups(guest, request).iter().map(|vcpus| number(vcpus.len())).collect();
    let nodes = nodes_with_room(situation, pools).into_iter();
    MoveRefusal::NoNodesFor { vcpus, free: nodes.map(|(id, room)| (id, number(room))).collect() }
}

/// What the plan in force was asked for; for a guest that others pinned, pins of its own, and the
/// vNUMA that it has.
fn in_force(guest: &MovingGuest) -> Request {
    let config = &guest.known.inactive;
    let applied = guest.record.as_ref().and_then(|record| record.applied.as_ref());
    if let Some(applied) = applied {
        return Request { new_topology: false, ..applied.plan.request.clone() };
    }
    let pages = config.hugepages.as_ref().map(|pages| pages.first().map(|page| page.size));
    let base = guest.base_page;
    Request {
        vcpus: config.vcpus_max,
        memory_bytes: config.memory_bytes,
        page_size: pages.map_or(base, |size| size.unwrap_or(PageSize::HUGE_2M)),
        policy: Policy::Best(Best::default()),
        shared: false,
        overcommit: false,
        vnuma: !config.cells.is_empty(),
        cells_per_node: 1,
        max_sockets: None,
        memory_mode: MemoryMode::Strict,
        new_topology: false,
        fix_guest: false,
        memory_only: None,
        guest_cache: None,
    }
}

/// vCPUs that belong on one node: those of the vNUMA nodes that one pNUMA node holds today.
fn groups(guest: &MovingGuest, request: &Request) -> Vec<VcpuSet> {
    let all = || VcpuSet::range(0, request.vcpus.saturating_sub(1));
    if !request.vnuma {
        return vec![all()];
    }
    let applied = guest.record.as_ref().and_then(|record| record.applied.as_ref());
    if let Some(topology) = applied.and_then(|applied| applied.plan.vnuma.as_ref()) {
        let mut groups: Vec<(Pnode, VcpuSet)> = Vec::new();
        for node in &topology.nodes {
            match groups.iter_mut().find(|(home, _)| *home == node.host_node()) {
                Some((_, vcpus)) => vcpus.extend(&node.vcpus),
                None => groups.push((node.host_node(), node.vcpus.clone())),
            }
        }
        return groups.into_iter().map(|(_, vcpus)| vcpus).collect();
    }
    match guest.frozen.as_ref().map(|frozen| &frozen.cells) {
        Some(cells) if !cells.is_empty() => cells.iter().map(|cell| cell.vcpus.clone()).collect(),
        _ => vec![all()],
    }
}

/// Nodes and how many of their pCPUs nobody has, by id.
fn nodes_with_room(situation: &Situation, pools: &CpuPools) -> Vec<(Pnode, usize)> {
    let topology = &situation.host.topology;
    let taken = situation.view.ledger.claimed_cpus().union(&pools.reserved);
    let room = |cpus: &numawise_model::CpuSet| {
        let usable = cpus.intersection(&topology.online).intersection(&topology.allowed.cpus);
        let usable = match &pools.dedicated {
            Some(dedicated) => usable.intersection(dedicated),
            None => usable,
        };
        usable.difference(&taken).len()
    };
    topology.nodes.iter().map(|node| (node.id, room(&node.cpus))).collect()
}

/// All but one of the nodes, so that each gets its turn at being left out; 0 leaves out none.
fn skip(nodes: &[(Pnode, usize)], skipped: usize) -> Vec<(Pnode, usize)> {
    let kept = nodes.iter().enumerate().filter(|(at, _)| at + 1 != skipped);
    kept.map(|(_, node)| *node).collect()
}

type Pick = fn(&[(Pnode, usize)], usize) -> Option<usize>;

/// The node with the least room that is enough.
fn tightest(nodes: &[(Pnode, usize)], wanted: usize) -> Option<usize> {
    let fitting = nodes.iter().enumerate().filter(|(_, (_, room))| *room >= wanted);
    fitting.min_by_key(|(_, (id, room))| (*room, *id)).map(|(at, _)| at)
}

fn roomiest(nodes: &[(Pnode, usize)], wanted: usize) -> Option<usize> {
    let fitting = nodes.iter().enumerate().filter(|(_, (_, room))| *room >= wanted);
    fitting.min_by_key(|(_, (id, room))| (usize::MAX - *room, *id)).map(|(at, _)| at)
}

/// A node of its own for each group, the largest group first.
fn assigned(
    groups: &[VcpuSet],
    mut nodes: Vec<(Pnode, usize)>,
    pick: Pick,
) -> Option<Vec<(Pnode, VcpuSet)>> {
    let mut by_size: Vec<&VcpuSet> = groups.iter().collect();
    by_size.sort_by_key(|vcpus| std::cmp::Reverse(vcpus.len()));
    let mut found = Vec::new();
    for vcpus in by_size {
        let at = pick(&nodes, vcpus.len())?;
        found.push((nodes.remove(at).0, vcpus.clone()));
    }
    found.sort_by_key(|(_, vcpus)| vcpus.first());
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::{assigned, roomiest, skip, tightest};
    use numawise_model::{Pnode, VcpuSet};

    fn nodes(rooms: &[usize]) -> Vec<(Pnode, usize)> {
        rooms.iter().enumerate().map(|(id, room)| (Pnode(id as u32), *room)).collect()
    }

    #[test]
    fn each_group_has_a_node_of_its_own_with_room_for_it() {
        let groups = [VcpuSet::range(0, 1), VcpuSet::range(2, 7)];
        let homes = |rooms: &[usize], pick| {
            let found = assigned(&groups, nodes(rooms), pick)?;
            Some(found.into_iter().map(|(node, _)| node.0).collect::<Vec<_>>())
        };
        assert_eq!(homes(&[8, 6, 2], tightest), Some(vec![2, 1]));
        assert_eq!(homes(&[8, 6, 2], roomiest), Some(vec![1, 0]));
        assert_eq!(homes(&[6, 1], tightest), None, "two vCPUs do not fit on one pCPU");
    }

    #[test]
    fn each_node_is_left_out_once() {
        let left: Vec<usize> = (0..3).map(|n| skip(&nodes(&[4, 4]), n).len()).collect();
        assert_eq!(left, [2, 1, 1]);
    }
}
