//! The vNUMA nodes and their memory.

use super::{Broken, broken};
use crate::case::{GIB, claim, other, pages, set};
use numawise_model::placement::{Best, Split};
use numawise_model::{Mode, NodeSet, PageSize, Pnode, Policy, Predicate, Vcpu, Vnode};

pub const VNUMA: &[Broken] = &[
    broken(
        "ids with a gap",
        |c| {
            c.vnuma().nodes[1].id = Vnode(2);
            for node in &mut c.vnuma().nodes {
                if let Some(distance) = node.distances.remove(&Vnode(1)) {
                    node.distances.insert(Vnode(2), distance);
                }
            }
        },
        "Error vnode-ids",
    ),
    broken(
        "no vNUMA node at all",
        |c| c.vnuma().nodes.clear(),
        "Error claims-memory, Error memory-sum, Error vnode-ids, Error vnode-partition",
    ),
    broken(
        "a vCPU in no vNUMA node",
        |c| c.vnuma().nodes[1].vcpus.remove(Vcpu(23)),
        "Error memory-share, Error no-crossing, Error vnode-partition",
    ),
    broken(
        "a vCPU in two",
        |c| c.vnuma().nodes[1].vcpus.insert(Vcpu(15)),
        "Error memory-share, Error vnode-home, Error vnode-partition",
    ),
    broken(
        "an empty vNUMA node",
        |c| {
            c.vnuma().nodes[0].vcpus = set("0-23");
            c.vnuma().nodes[1].vcpus = set("");
        },
        "Error vnode-home, Error vnode-partition",
    ),
    broken(
        "tied to the wrong pNUMA node",
        |c| c.vnuma().nodes[0].host_nodes = NodeSet::single(Pnode(0)),
        "Error cells-per-node, Error distances-host, Error memory-node, Error vnode-home",
    ),
    broken(
        "tied to a pNUMA node that is not there",
        |c| {
            c.vnuma().nodes[0].host_nodes = NodeSet::single(Pnode(5));
        },
        "Error distances-host, Error vnode-home, Warning MemoryOnOtherNode",
    ),
    broken(
        "two cells on a node, not asked",
        |c| {
            let mut half = c.vnuma().nodes[0].clone();
            half.vcpus = set("8-15");
            half.memory_bytes = 8 * GIB;
            half.id = Vnode(1);
            let nodes = &mut c.vnuma().nodes;
            nodes[0].vcpus = set("0-7");
            nodes[0].memory_bytes = 8 * GIB;
            nodes[1].id = Vnode(2);
            nodes.insert(1, half);
            let rows = [[10, 10, 21], [10, 10, 21], [21, 21, 10]];
            for (node, row) in nodes.iter_mut().zip(rows) {
                node.distances = (0..).map(Vnode).zip(row).collect();
            }
        },
        "Error cells-per-node",
    ),
    broken(
        "other sizes than were asked for",
        |c| {
            let split = Split::Exact(vec![12, 12]);
            c.plan.request.policy = Policy::Best(Best { split, ..Best::default() });
        },
        "Error as-asked",
    ),
    broken(
        "more vNUMA nodes than were asked for",
        |c| c.plan.request.policy = Policy::Best(Best { vnodes: Some(1), ..Best::default() }),
        "Error as-asked",
    ),
    broken(
        "more vNUMA nodes a node than vCPUs",
        |c| c.plan.request.cells_per_node = u32::MAX,
        "Error cells-per-node",
    ),
    broken(
        "a distance that the host does not have",
        |c| {
            c.vnuma().nodes[0].distances.insert(Vnode(1), 20);
        },
        "Error distances-host",
    ),
    broken(
        "a distance left out",
        |c| {
            c.vnuma().nodes[0].distances.remove(&Vnode(1));
        },
        "Error distances-host",
    ),
    broken(
        "a distance that the host does not know",
        |c| {
            for node in &mut c.host.topology.nodes {
                node.distances.clear();
            }
        },
        "Error distances-host",
    ),
    broken(
        "a distance to a vNUMA node that is not there",
        |c| {
            c.vnuma().nodes[0].distances.insert(Vnode(2), 21);
        },
        "Error distances-host",
    ),
];

pub const MEMORY: &[Broken] = &[
    broken(
        "pages that the host does not have",
        |c| {
            c.plan.request.page_size = PageSize(512 << 20);
        },
        "Error claims-memory, Error page-size-known, Error requires-cover",
    ),
    broken(
        "half a page",
        |c| {
            c.vnuma().nodes[0].memory_bytes += 1 << 20;
            c.vnuma().nodes[1].memory_bytes -= 1 << 20;
        },
        "Error claims-memory, Error memory-share, Error memory-whole-pages",
    ),
    broken(
        "a page too much",
        |c| c.vnuma().nodes[0].memory_bytes += 2 << 20,
        "Error claims-memory, Error memory-share, Error memory-sum, Error requires-cover",
    ),
    broken(
        "a vNUMA node without memory",
        |c| {
            c.vnuma().nodes[0].memory_bytes = 24 * GIB;
            c.vnuma().nodes[1].memory_bytes = 0;
        },
        "Error VnodeWithoutMemory, Error claims-memory, Error memory-share, Error requires-cover",
    ),
    broken(
        "a page from one to the other",
        |c| {
            c.vnuma().nodes[0].memory_bytes += 2 << 20;
            c.vnuma().nodes[1].memory_bytes -= 2 << 20;
        },
        "Error claims-memory, Error memory-share, Error requires-cover",
    ),
    broken(
        "memory from the wrong node",
        |c| c.vnuma().nodes[1].memory_nodes = NodeSet::single(Pnode(1)),
        "Error claims-memory, Error memory-node, Error requires-cover",
    ),
    broken(
        "memory from a node that is not there",
        |c| {
            c.vnuma().nodes[1].memory_nodes = NodeSet::single(Pnode(7));
        },
        "Error claims-memory, Error memory-node, Error requires-cover, Warning MemoryUnchecked",
    ),
    broken(
        "memory from a node that has none",
        |c| {
            c.host.topology.nodes[0].memory_total_bytes = Some(0);
        },
        "Error memory-node",
    ),
    broken(
        "memory that the cgroup forbids",
        |c| {
            c.host.topology.allowed.memory_nodes.remove(Pnode(0));
        },
        "Error memory-allowed",
    ),
    broken(
        "more hugepages than there are",
        |c| {
            let node = c.host.levels.nodes.get_mut(&Pnode(1)).expect("node 1");
            node.hugepages.get_mut(&PageSize::HUGE_2M).expect("a pool").total = 8191;
        },
        "Error memory-available",
    ),
    broken(
        "hugepages that are promised to others",
        |c| {
            let mut promise = claim(other(), "", Mode::Exclusive);
            promise.pages = pages(&[(1, PageSize::HUGE_2M, 8193)]);
            c.others.claims.push(promise);
        },
        "Error memory-available",
    ),
    broken(
        "base pages out of what the pools took",
        |c| {
            c.plan.request.page_size = PageSize::BASE_4K;
            let node = c.host.levels.nodes.get_mut(&Pnode(1)).expect("node 1");
            node.hugepages.get_mut(&PageSize::HUGE_2M).expect("a pool").total = 24_577;
            let size = PageSize::BASE_4K;
            let (high, low) = (16 * GIB / 4096, 8 * GIB / 4096);
            c.plan.claims[0].pages = pages(&[(1, size, high), (0, size, low)]);
            c.plan.requires[1] = Predicate::PagesAvailable { node: Pnode(1), size, pages: high };
            c.plan.requires[2] = Predicate::PagesAvailable { node: Pnode(0), size, pages: low };
        },
        "Error memory-available",
    ),
    broken(
        "a size alone, and the pages are not free",
        |c| {
            c.plan.guest = None;
            let node = c.host.levels.nodes.get_mut(&Pnode(1)).expect("node 1");
            node.hugepages.get_mut(&PageSize::HUGE_2M).expect("a pool").free = 8191;
        },
        "Error memory-available",
    ),
];
