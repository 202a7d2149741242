//! Memory of nodes without CPUs: which of them serve, how much is counted where, and refusals.

use crate::scene::{GIB, Scene, cpus};
use numawise_model::request::MemoryOnly;
use numawise_model::{
    Claim, ClaimId, CpuSet, Host, MemoryMode, Mode, NodeSet, Owner, PageSize, Plan, Pnode, Purpose,
    Reason, Refusal, Source,
};
use numawise_testkit::Shape;
use std::collections::BTreeMap;

const PAGES_OF_GIB: u64 = GIB / 4096;

/// Two CPU nodes of 4 cores and 8 GiB; nodes 2 and 3 have 16 GiB and no CPUs. `far` are the
/// distances of node 0 and of node 1 to each.
fn host(far: [[u32; 2]; 2]) -> Host {
    let mut host = Shape::two_nodes(4, 8 * GIB).host();
    for (index, id) in [2, 3].into_iter().map(Pnode).enumerate() {
        let mut node = host.topology.nodes[index].clone();
        (node.id, node.memory_total_bytes, node.cpus) = (id, Some(16 * GIB), cpus(""));
        node.distances = BTreeMap::from([(id, 10)]);
        for (cpu_node, distances) in far.iter().enumerate() {
            node.distances.insert(Pnode(cpu_node as u32), distances[index]);
            host.topology.nodes[cpu_node].distances.insert(id, distances[index]);
        }
        host.topology.nodes.push(node);
        host.topology.allowed.memory_nodes.insert(id);
        let mut levels = host.levels.nodes[&Pnode(0)].clone();
        levels.memory_free_bytes = Some(16 * GIB);
        levels.memory_available_bytes = Some(16 * GIB);
        host.levels.nodes.insert(id, levels);
    }
    host
}

fn nodes(ids: &[u32]) -> NodeSet {
    ids.iter().copied().map(Pnode).collect()
}

fn on_both(far: [[u32; 2]; 2], gib: u64, asked: MemoryOnly) -> Scene {
    let mut scene = Scene::on_node(host(far), 4, &[(0, "0-1"), (1, "2-3")]);
    scene.request.memory_bytes = gib * GIB;
    let guest = scene.guest.as_mut().expect("a guest");
    (guest.memory_bytes, guest.current_memory_bytes) = (gib * GIB, gib * GIB);
    scene.request.memory_only = Some(asked);
    scene
}

fn memory_nodes(plan: &Plan) -> Vec<NodeSet> {
    let vnuma = plan.vnuma.as_ref().expect("vNUMA is on");
    vnuma.nodes.iter().map(|node| node.memory_nodes.clone()).collect()
}

/// GiB promised on each node.
fn promised(plan: &Plan) -> Vec<(u32, u64)> {
    let pages = plan.claims[0].pages.iter();
    pages.map(|(node, sizes)| (node.0, sizes[&PageSize::BASE_4K] / PAGES_OF_GIB)).collect()
}

const OWN_EACH: [[u32; 2]; 2] = [[13, 24], [24, 13]];
const ALL_ALIKE: [[u32; 2]; 2] = [[13, 13], [13, 13]];

#[test]
fn near_is_the_nearest_and_of_equals_each_has_its_own() {
    for far in [OWN_EACH, ALL_ALIKE] {
        let plan = on_both(far, 20, MemoryOnly::Near).planned();
        assert_eq!(memory_nodes(&plan), [nodes(&[2]), nodes(&[3])]);
        assert_eq!(promised(&plan), [(2, 10), (3, 10)]);
        let left_out = |reason: &Reason| matches!(reason, Reason::MemoryOnlyNodesLeftOut { .. });
        assert!(!plan.reasons.iter().any(left_out));
        let reach = plan.reasons.iter().find_map(|reason| match reason {
            Reason::MemoryReach { reach } => Some(*reach),
            _ => None,
        });
        let reach = reach.expect("told");
        assert_eq!((reach.remote_with_vnuma, reach.mean_distance_with), (1000, Some(1300)));
    }
}

#[test]
fn named_nodes_serve_and_equally_near_ones_together() {
    let plan = on_both(OWN_EACH, 12, MemoryOnly::Nodes(nodes(&[3]))).planned();
    assert_eq!(memory_nodes(&plan), [nodes(&[3]), nodes(&[3])]);
    assert_eq!(promised(&plan), [(3, 12)]);
    let left = Reason::MemoryOnlyNodesLeftOut { nodes: nodes(&[2]) };
    assert!(plan.reasons.contains(&left));
    let plan = on_both(ALL_ALIKE, 30, MemoryOnly::Nodes(nodes(&[2, 3]))).planned();
    assert_eq!(memory_nodes(&plan), [nodes(&[2, 3]), nodes(&[2, 3])]);
    assert_eq!(promised(&plan), [(2, 16), (3, 14)]);
}

#[test]
fn spill_takes_what_the_own_node_is_short_of() {
    let mut scene = on_both(OWN_EACH, 24, MemoryOnly::Spill);
    let plan = scene.planned();
    assert_eq!(memory_nodes(&plan), [nodes(&[0, 2]), nodes(&[1, 3])]);
    assert_eq!(promised(&plan), [(0, 8), (1, 8), (2, 4), (3, 4)]);
    let reach = plan.reasons.iter().find_map(|reason| match reason {
        Reason::MemoryReach { reach } => Some(*reach),
        _ => None,
    });
    // A third of each node's memory is 13 away: (2 x 10 + 13) / 3.
    let reach = reach.expect("told");
    assert_eq!((reach.remote_with_vnuma, reach.mean_distance_with), (333, Some(1100)));
    scene.request.memory_only = None;
    assert!(scene.refused().iter().any(|r| matches!(r, Refusal::NotEnoughMemory { .. })));
}

/// Both spill into one: its pages are counted once.
#[test]
fn what_two_spill_into_is_not_promised_twice() {
    let one = [[13, 99], [13, 99]];
    let mut scene = on_both(one, 30, MemoryOnly::Spill);
    scene.host.topology.allowed.memory_nodes = nodes(&[0, 1, 2]);
    let plan = scene.planned();
    assert_eq!(promised(&plan), [(0, 8), (1, 8), (2, 14)]);
    scene.request.memory_bytes = 34 * GIB;
    let guest = scene.guest.as_mut().expect("a guest");
    (guest.memory_bytes, guest.current_memory_bytes) = (34 * GIB, 34 * GIB);
    assert!(scene.refused().iter().any(|r| matches!(r, Refusal::NotEnoughMemory { .. })));
}

/// What is promised to others is not there, though nobody has touched it yet.
#[test]
fn promises_count_on_memory_only_nodes_too() {
    let mut scene = on_both(OWN_EACH, 20, MemoryOnly::Near);
    let pages =
        BTreeMap::from([(Pnode(3), BTreeMap::from([(PageSize::BASE_4K, 7 * PAGES_OF_GIB)]))]);
    scene.ledger.claims.push(Claim {
        id: ClaimId("other".to_owned()),
        owner: Owner::Guest { uuid: crate::scene::uuid("other"), name: "other".to_owned() },
        cpus: CpuSet::new(),
        mode: Mode::Shared,
        purpose: Purpose::Vcpus,
        pages,
        source: Source::Numawise,
    });
    let [Refusal::NotEnoughMemory { node, available_pages, .. }] = &scene.refused()[..] else {
        panic!("{:?}", scene.refused());
    };
    assert_eq!((*node, *available_pages), (Pnode(3), 9 * PAGES_OF_GIB));
}

#[test]
fn nodes_with_cpus_and_hosts_without_such_nodes_are_refused() {
    let asked = nodes(&[1, 2]);
    let scene = on_both(OWN_EACH, 8, MemoryOnly::Nodes(asked.clone()));
    let usable = nodes(&[2, 3]);
    assert_eq!(scene.refused(), [Refusal::NotMemoryOnly { asked, usable }]);

    let mut scene = Scene::new(Shape::two_nodes(4, 8 * GIB).host(), 4, GIB);
    scene.request.memory_only = Some(MemoryOnly::Near);
    let (asked, usable) = (NodeSet::new(), NodeSet::new());
    assert_eq!(scene.refused(), [Refusal::NotMemoryOnly { asked, usable }]);
}

/// The search counts the pages of the nodes that serve, not those of the vCPUs' nodes.
#[test]
fn the_search_counts_the_nodes_that_serve() {
    let mut scene = on_both(OWN_EACH, 12, MemoryOnly::Near);
    scene.request.policy = numawise_model::Policy::Best(numawise_model::placement::Best::default());
    scene.request.memory_mode = MemoryMode::Preferred;
    let plan = scene.planned();
    // One node holds all 4 vCPUs, and its memory-only node all 12 GiB: 8 would not do.
    assert_eq!(memory_nodes(&plan).len(), 1);
    assert_eq!(promised(&plan).len(), 1);
    assert_eq!(promised(&plan)[0].1, 12);
}
