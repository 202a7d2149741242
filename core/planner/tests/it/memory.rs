//! Whose pages, how many, and whether they are there.

use crate::binding::two_by;
use crate::scene::{GIB, Scene, check, kinds, pages, refuses};
use numawise_model::{
    FindingKind, HugepageLevels, Mode, PageSize, Pnode, Predicate, Reason, Refusal, Vnode,
};
use numawise_testkit::Shape;

/// Two nodes of 4 with `huge` pages of 1 GiB each.
fn with_huge(huge: u64) -> Shape {
    Shape { hugepages: [(PageSize::HUGE_1G, huge)].into(), ..Shape::two_nodes(4, 64 * GIB) }
}

fn huge(shape: &Shape, vcpus: u32, memory_bytes: u64) -> Scene {
    let mut scene = Scene::new(shape.host(), vcpus, memory_bytes);
    scene.request.page_size = PageSize::HUGE_1G;
    scene
}

fn gibs(scene: &Scene) -> Vec<u64> {
    let vnuma = scene.planned().vnuma.expect("vNUMA was asked for");
    vnuma.nodes.iter().map(|node| node.memory_bytes / GIB).collect()
}

/// Pages of 1 GiB by vCPUs, worked out:
#[test]
fn whole_pages_by_largest_remainder() {
    // 4 + 4 vCPUs, 7 pages: 3.5 each; both remainders are equal, the lower id takes the odd page.
    assert_eq!(gibs(&huge(&with_huge(16), 8, 7 * GIB)), [4, 3]);
    // 4 + 2 of 6, 7 pages: 4.67 and 2.33.
    assert_eq!(gibs(&huge(&with_huge(16), 6, 7 * GIB)), [5, 2]);
    // 4 + 1 of 5, 2 pages: 1.6 and 0.4 make 2 and 0; no node may be empty.
    assert_eq!(gibs(&huge(&with_huge(16), 5, 2 * GIB)), [1, 1]);
}

#[test]
fn fewer_pages_than_nodes() {
    refuses(
        &huge(&with_huge(16), 8, GIB),
        &[Refusal::FewerPagesThanNodes { pages: 1, page_size: PageSize::HUGE_1G, vnodes: 2 }],
    );
    let none = Scene::new(two_by(4), 4, 0);
    let size = PageSize::BASE_4K;
    refuses(&none, &[Refusal::FewerPagesThanNodes { pages: 0, page_size: size, vnodes: 1 }]);
}

#[test]
fn memory_must_be_whole_pages_and_the_neighbours_are_named() {
    refuses(
        &huge(&with_huge(16), 4, 3 * GIB + 1),
        &[Refusal::MemoryNotWholePages {
            memory_bytes: 3 * GIB + 1,
            page_size: PageSize::HUGE_1G,
            lower_bytes: 3 * GIB,
            higher_bytes: 4 * GIB,
        }],
    );
}

#[test]
fn page_sizes_that_are_not_here() {
    let mut scene = Scene::new(two_by(4), 4, 4 * GIB);
    let known = scene.host.topology.page_sizes.clone();
    for size in [PageSize(16 << 30), PageSize(64 << 10), PageSize(0), PageSize(3000)] {
        scene.request.page_size = size;
        refuses(&scene, &[Refusal::PageSizeUnknown { size, known: known.clone() }]);
    }
    // A source that lists none is believed for sizes that can be, and only those.
    scene.host.topology.page_sizes.clear();
    scene.request.page_size = PageSize(64 << 10);
    assert!(scene.plan().is_ok());
    scene.request.page_size = PageSize(0);
    assert_eq!(scene.refused().len(), 1);
}

/// Node 1 has 4 pages of 1 GiB, of which 1 is in use by nobody we know. The guest wants 4 there.
#[test]
fn free_pages_bound() {
    let mut scene = huge(&with_huge(4), 4, 4 * GIB);
    assert_eq!(gibs(&scene), [4]);
    let node = scene.host.levels.nodes.get_mut(&Pnode(1)).unwrap();
    node.hugepages.insert(PageSize::HUGE_1G, HugepageLevels { total: 4, free: 3, reserved: None });
    let short = |available_pages, promised_pages| Refusal::NotEnoughMemory {
        node: Pnode(1),
        page_size: PageSize::HUGE_1G,
        wanted_pages: 4,
        free_pages: 3,
        promised_pages,
        available_pages,
    };
    refuses(&scene, &[short(3, 0)]);
    // 2 of 4 are promised to another guest, 2 are left, though 3 are free.
    scene.claim("web", "0", Mode::Exclusive, pages(1, PageSize::HUGE_1G, 2));
    refuses(&scene, &[short(2, 2)]);
    // Promises in another size or on another node are nothing to this one.
    scene.ledger.claims[0].pages = pages(1, PageSize::HUGE_2M, 2);
    refuses(&scene, &[short(3, 0)]);
    // What the guest itself holds comes back.
    scene.held = pages(1, PageSize::HUGE_1G, 1);
    assert_eq!(gibs(&scene), [4]);
}

/// The guest's own promise is replaced by the new one.
#[test]
fn own_promises_do_not_count() {
    let mut scene = huge(&with_huge(4), 4, 4 * GIB);
    scene.claim("db", "4-7", Mode::Exclusive, pages(1, PageSize::HUGE_1G, 4));
    assert_eq!(gibs(&scene), [4]);
}

/// 64 GiB a node, of which 60 are a pool of hugepages: 4 are left for base pages, however many of the
/// pool are free.
#[test]
fn base_pages_are_what_the_pools_leave() {
    let mut scene = Scene::new(with_huge(60).host(), 4, 4 * GIB);
    assert_eq!(gibs(&scene), [4]);
    let size = PageSize::BASE_4K;
    let of_gib = GIB / 4096;
    scene.claim("web", "0", Mode::Exclusive, pages(1, size, of_gib));
    refuses(
        &scene,
        &[Refusal::NotEnoughMemory {
            node: Pnode(1),
            page_size: size,
            wanted_pages: 4 * of_gib,
            free_pages: 4 * of_gib,
            promised_pages: of_gib,
            available_pages: 3 * of_gib,
        }],
    );
}

/// Every node that is short is told, not the first.
#[test]
fn each_short_node_is_told() {
    let nodes: Vec<Pnode> = huge(&with_huge(3), 8, 8 * GIB)
        .refused()
        .iter()
        .map(|refusal| match refusal {
            Refusal::NotEnoughMemory { node, wanted_pages: 4, available_pages: 3, .. } => *node,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(nodes, [Pnode(0), Pnode(1)]);
}

/// A source without levels is neither full nor empty: planned, with a finding, and with nothing to
/// test again.
#[test]
fn what_is_unknown_is_told() {
    let mut scene = huge(&with_huge(4), 4, 4 * GIB);
    scene.host.levels.nodes.clear();
    let plan = scene.planned();
    assert!(kinds(&plan).contains(&FindingKind::MemoryUnchecked { node: Pnode(1) }));
    let is_pages = |p: &Predicate| matches!(p, Predicate::PagesAvailable { .. });
    assert!(!plan.requires.iter().any(is_pages));

    let known = huge(&with_huge(4), 4, 4 * GIB).planned();
    let required = Predicate::PagesAvailable { node: Pnode(1), size: PageSize::HUGE_1G, pages: 4 };
    assert!(known.requires.contains(&required));
}

/// Where only the node's size is known, promises alone can say no.
#[test]
fn promises_bound_without_levels() {
    let mut scene = Scene::new(two_by(4), 4, 4 * GIB);
    scene.host.levels.nodes.clear();
    scene.claim("web", "0", Mode::Exclusive, pages(1, PageSize::BASE_4K, 253 * GIB / 4096));
    let refusals = scene.refused();
    assert!(
        matches!(
            refusals[..],
            [Refusal::NotEnoughMemory { available_pages, .. }] if available_pages == 3 * GIB / 4096
        ),
        "{refusals:?}"
    );
}

/// Node 3 of four has no memory; nodes 2 (its neighbour in the package, at 12) and the others have.
#[test]
fn a_node_without_memory_is_served_by_the_nearest() {
    let shape = Shape { nodes_per_package: 2, ..Shape::two_nodes(2, 64 * GIB) };
    let mut scene = Scene::new(shape.host(), 4, 4 * GIB);
    scene.host.topology.nodes[3].memory_total_bytes = Some(0);
    check(
        &scene,
        "0-1:6-7 2-3:4-5
         vnode 0: vcpus 0-1, 2 GiB on node 2 (vCPUs on 3), distances 10 12
         vnode 1: vcpus 2-3, 2 GiB on node 2, distances 12 10
         cpu: 2 sockets x 1 dies x 2 cores x 1 threads, L3 shown",
    );
    let plan = scene.planned();
    let (vnode, cpu_node, memory_node) = (Vnode(0), Pnode(3), Pnode(2));
    let told = FindingKind::MemoryOnOtherNode { vnode, cpu_node, memory_node };
    assert!(kinds(&plan).contains(&told));
    let distance = Some(12);
    let why = Reason::MemoryFromNeighbour { vnode, cpu_node, memory_node, distance };
    assert!(plan.reasons.contains(&why));
    // Both cells draw on node 2, and are checked together.
    let all = pages(2, PageSize::BASE_4K, 4 * GIB / 4096);
    assert_eq!(plan.claims[0].pages, all);

    // With node 2's memory forbidden, 0 and 1 are left at 32 each: the lower id.
    scene.host.topology.allowed.memory_nodes = [0, 1].map(Pnode).into_iter().collect();
    let vnuma = scene.planned().vnuma.unwrap();
    assert!(vnuma.nodes.iter().all(|node| node.memory_node() == Pnode(0)));
}

/// A node with 1 TiB and no CPUs (CXL, HBM) is as near as can be and is not used.
#[test]
fn memory_only_nodes_are_left_out() {
    let mut scene = Scene::new(two_by(4), 4, 4 * GIB);
    let topology = &mut scene.host.topology;
    let mut far = topology.nodes[0].clone();
    (far.id, far.memory_total_bytes) = (Pnode(2), Some(1 << 40));
    far.cpus = crate::scene::cpus("");
    topology.nodes.push(far);
    topology.nodes[1].memory_total_bytes = Some(0);
    topology.nodes[1].distances.insert(Pnode(2), 11);
    topology.allowed.memory_nodes.insert(Pnode(2));
    let plan = scene.planned();
    assert_eq!(plan.vnuma.as_ref().unwrap().nodes[0].memory_node(), Pnode(0));
    let nodes = [Pnode(2)].into_iter().collect();
    assert!(plan.reasons.contains(&Reason::MemoryOnlyNodesLeftOut { nodes }));

    scene.host.topology.nodes[0].memory_total_bytes = Some(0);
    refuses(&scene, &[Refusal::NoMemoryAnywhere { vnode: Vnode(0) }]);
}

#[test]
fn memory_that_the_cgroup_forbids_everywhere() {
    let mut scene = Scene::new(two_by(4), 4, 4 * GIB);
    let allowed = &mut scene.host.topology.allowed;
    allowed.memory_nodes = numawise_model::NodeSet::new();
    allowed.limited_by = Some("cpuset.mems".to_owned());
    refuses(
        &scene,
        &[Refusal::MemoryNotAllowed {
            node: Pnode(1),
            allowed: numawise_model::NodeSet::new(),
            limited_by: Some("cpuset.mems".to_owned()),
        }],
    );
}

/// With vNUMA off the kernel decides: the shares are promised all the same, and a shortage is told.
#[test]
fn without_vnuma_memory_is_promised_and_a_shortage_told() {
    let mut scene = Scene::new(Shape::two_nodes(4, 4 * GIB).host(), 6, 6 * GIB);
    scene.request.vnuma = false;
    let of_gib = GIB / 4096;
    let plan = scene.planned();
    let mut promised = pages(0, PageSize::BASE_4K, 2 * of_gib);
    promised.extend(pages(1, PageSize::BASE_4K, 4 * of_gib));
    assert_eq!(plan.claims[0].pages, promised);
    let unchecked = FindingKind::MemoryUnchecked { node: Pnode(1) };
    assert!(plan.vnuma.is_none() && !kinds(&plan).contains(&unchecked));

    scene.request.memory_bytes = 7 * GIB;
    assert!(kinds(&scene.planned()).contains(&unchecked));
}
