//! What the search for the best place makes of requests that its preferences alone do not settle: memory
//! that is elsewhere, L3 domains shared out over nodes, vNUMA nodes that share one, and what is told.

use crate::scene::{GIB, Scene, shown};
use numawise_model::placement::{
    Best, EmulatorPolicy, Footprint, MemoryReach, NodeConstraint, PartingFound, Score, Split,
    WouldFit,
};
use numawise_model::{
    Host, L3Domain, L3Policy, NodeLevels, PageSize, Plan, Pnode, Policy, Reason, Refusal,
};
use numawise_testkit::Shape;

fn scene(host: Host, vcpus: u32, memory_bytes: u64, best: Best) -> Scene {
    let mut scene = Scene::new(host, vcpus, memory_bytes);
    scene.guest = None;
    scene.request.policy = Policy::Best(best);
    scene
}

/// Two nodes of 8 single-thread cores.
fn two_nodes() -> Host {
    Shape::two_nodes(8, 64 * GIB).host()
}

fn score(plan: &Plan) -> Score {
    let of = |reason: &Reason| match reason {
        Reason::BestPlace { score, .. } => Some(*score),
        _ => None,
    };
    plan.reasons.iter().find_map(of).expect("a search tells its score")
}

fn reach(plan: &Plan) -> MemoryReach {
    let of = |reason: &Reason| match reason {
        Reason::MemoryReach { reach } => Some(*reach),
        _ => None,
    };
    plan.reasons.iter().find_map(of).expect("vNUMA tells its reach")
}

fn footprints(plan: &Plan) -> [Footprint; 2] {
    let of = |reason: &Reason| match reason {
        Reason::SideBySide { compact, spread } => compact.zip(*spread),
        _ => None,
    };
    plan.reasons.iter().find_map(of).expect("both fit").into()
}

fn parts(plan: &Plan) -> Vec<(usize, Pnode)> {
    let vnuma = plan.vnuma.as_ref().expect("vNUMA is on");
    vnuma.nodes.iter().map(|node| (node.vcpus.len(), node.host_node())).collect()
}

/// Node 0 comes first in every later preference, and its memory is forbidden.
#[test]
fn a_node_with_memory_of_its_own_wins() {
    let mut host = two_nodes();
    host.topology.allowed.memory_nodes = [Pnode(1)].into_iter().collect();
    let plan = scene(host.clone(), 2, GIB, Best::default()).planned();
    assert_eq!(parts(&plan), [(2, Pnode(1))], "{}", shown(&plan));
    assert_eq!((score(&plan).distance, reach(&plan).remote_with_vnuma), (0, 0));
    let lost = plan.reasons.iter().find_map(|reason| match reason {
        Reason::WorsePlace { place } => Some((place.ours, place.theirs)),
        _ => None,
    });
    // 2 vCPUs of a guest of 2, each 11 farther than at home.
    assert_eq!(lost, Some((0, 44)));
    // Over both nodes: 8 x 8 pairs of 21, there and back, and the way of node 0.
    let both = scene(host, 16, GIB, Best::default()).planned();
    assert_eq!(score(&both).distance, 2 * 64 * 21 + 8 * 16 * 11);
}

/// Nodes of two L3 domains with 4 cores each: 12 vCPUs on 3 domains are 8 on one node and 4 on the
/// other, on fewer nodes than domains.
#[test]
fn l3_domains_are_shared_out_over_nodes() {
    let host = Shape { l3_per_node: 2, ..Shape::two_nodes(4, 64 * GIB) }.host();
    for split in [Split::EvenFirst, Split::Uneven] {
        let best = Best { l3: L3Policy::Exactly(3), split, ..Best::default() };
        let plan = scene(host.clone(), 12, 12 * GIB, best).planned();
        assert_eq!(parts(&plan), [(8, Pnode(0)), (4, Pnode(1))], "{}", shown(&plan));
    }
    let even = Best { l3: L3Policy::Exactly(3), split: Split::Even, ..Best::default() };
    let refused = scene(host, 12, 12 * GIB, even).refused();
    let Some(Refusal::NoPlace { would_fit, .. }) = refused.first() else { panic!("{refused:?}") };
    assert!(would_fit.contains(&WouldFit::UnevenSplit), "{would_fit:?}");
}

#[test]
fn sizes_that_were_given_are_not_called_even() {
    let parting = |parts: &[u32]| {
        let best = Best { split: Split::Exact(parts.to_vec()), ..Best::default() };
        score(&scene(two_nodes(), parts.iter().sum(), 8 * GIB, best).planned()).parting
    };
    assert_eq!(parting(&[6, 6]), PartingFound::Even);
    assert_eq!(parting(&[7, 3]), PartingFound::WholeCores);
}

#[test]
fn several_vnuma_nodes_on_each_node() {
    let mut few = scene(two_nodes(), 6, 6 * GIB, Best::default());
    few.request.cells_per_node = 4;
    let sizes: Vec<usize> = parts(&few.planned()).into_iter().map(|(size, _)| size).collect();
    assert_eq!(sizes, [2, 2, 1, 1]);
    few.request.cells_per_node = 7;
    assert_eq!(few.refused(), [Refusal::CellsPerNode { asked: 7, node: Pnode(0), vcpus: 6 }]);
}

/// Sub-NUMA clustering: two nodes under one L3 are on one L3, not two.
#[test]
fn an_l3_over_two_nodes_is_counted_once() {
    let mut host = two_nodes();
    let all = host.topology.online.clone();
    let whole = L3Domain { cpus: all, size_bytes: Some(32 << 20), kernel_id: None };
    host.topology.l3_domains = vec![whole];
    let plan = scene(host, 16, 16 * GIB, Best::default()).planned();
    for taken in footprints(&plan) {
        assert_eq!((taken.nodes, taken.l3_domains, taken.l3_bytes), (2, 1, Some(32 << 20)));
    }
}

/// L3-as-NUMA, the memory of the package on one of its nodes.
fn slices() -> Host {
    let mut host =
        Shape { packages: 1, nodes_per_package: 4, ..Shape::two_nodes(2, 64 * GIB) }.host();
    for node in &mut host.topology.nodes {
        let id = node.id;
        node.distances.iter_mut().filter(|(to, _)| **to != id).for_each(|(_, far)| *far = 11);
        if id != Pnode(0) {
            node.memory_total_bytes = Some(0);
        }
    }
    host
}

#[test]
fn slices_are_nodes_by_what_is_used_and_one_by_memory() {
    let plan = scene(slices(), 4, GIB, Best::default()).planned();
    let [compact, spread] = footprints(&plan);
    assert_eq!((compact.nodes, spread.nodes), (2, 4), "{}", shown(&plan));
    let by_hand = Scene::on_node(slices(), 4, &[(1, "0-1"), (2, "2-3")]).planned();
    for plan in [&plan, &by_hand] {
        let reach = reach(plan);
        assert_eq!((reach.remote_without_vnuma, reach.remote_with_vnuma), (0, 0));
    }
}

/// 8 of 12 vCPUs with their memory on one node: 4 of 9 accesses are remote.
#[test]
fn shares_are_rounded_half_up() {
    let plan = Scene::on_node(two_nodes(), 12, &[(0, "0-7"), (1, "8-11")]).planned();
    let reach = reach(&plan);
    assert_eq!(reach.remote_without_vnuma, 444);
    // 10 + 11 x 4/9 = 14.889.
    assert_eq!(reach.mean_distance_without, Some(1489));
    assert_eq!(reach.mean_distance_with, Some(1000));
}

fn would_fit(scene: &Scene) -> Vec<WouldFit> {
    let refused = scene.refused();
    match &refused[..] {
        [Refusal::NoPlace { would_fit, gave_up: false, .. }] => would_fit.clone(),
        other => panic!("{other:?}"),
    }
}

/// All CPUs are taken, and one more is needed: that is certain.
#[test]
fn no_cpu_is_left_for_the_emulator() {
    let best = Best { emulator: EmulatorPolicy::Isolate, ..Best::default() };
    let alone = scene(two_nodes(), 16, GIB, best.clone());
    assert_eq!(would_fit(&alone), [WouldFit::SharedEmulator, WouldFit::FewerVcpus(15)]);
    let one = scene(two_nodes(), 8, GIB, best);
    let plan = one.planned();
    let lacks: Vec<NodeConstraint> = plan
        .reasons
        .iter()
        .filter_map(|reason| match reason {
            Reason::NodeCannot { lack } => Some(lack.binding),
            _ => None,
        })
        .collect();
    assert_eq!(parts(&plan), [(4, Pnode(0)), (4, Pnode(1))]);
    assert_eq!(lacks, [], "each is chosen");
}

fn with_free_memory(host: &mut Host, bytes: u64) {
    for node in &host.topology.nodes {
        let levels = NodeLevels { memory_available_bytes: Some(bytes), ..NodeLevels::default() };
        host.levels.nodes.insert(node.id, levels);
    }
}

/// 8 GiB free on each of two nodes, and vCPUs that need both: 16 GiB fit.
#[test]
fn the_nearest_memory_is_what_the_nodes_have_together() {
    let mut host = two_nodes();
    with_free_memory(&mut host, 8 * GIB);
    let asked = scene(host, 12, 40 * GIB, Best::default());
    assert_eq!(would_fit(&asked), [WouldFit::LessMemory(16 * GIB)]);
}

/// Nobody knows the huge pages of a host whose source has none: they are no advice, and never more
/// than the node has memory.
#[test]
fn pages_that_nobody_can_tell_are_no_advice() {
    let mut host = two_nodes();
    with_free_memory(&mut host, GIB);
    let mut asked = scene(host, 12, 40 * GIB, Best::default());
    assert_eq!(would_fit(&asked), [WouldFit::LessMemory(2 * GIB)]);
    asked.request.page_size = PageSize::HUGE_1G;
    asked.planned();
    asked.request.memory_bytes = 129 * GIB;
    assert_eq!(would_fit(&asked), []);
}

/// Memory on nodes without CPUs alone: the real reason, whichever way to bind.
#[test]
fn no_memory_anywhere_is_told_as_such() {
    let mut host = two_nodes();
    for node in &mut host.topology.nodes {
        node.memory_total_bytes = Some(0);
    }
    let refused = scene(host, 2, GIB, Best::default()).refused();
    assert!(matches!(refused[..], [Refusal::NoMemoryAnywhere { .. }]), "{refused:?}");
}

/// More vCPUs than the host has CPUs: told by counting, whatever their number.
#[test]
fn far_too_many_vcpus() {
    let asked = scene(two_nodes(), 8192, 8 * GIB, Best::default());
    assert_eq!(would_fit(&asked), [WouldFit::FewerVcpus(16)]);
}
