//! Where the hypervisor's own threads run.

use crate::binding::two_by;
use crate::scene::{GIB, Scene, cpus, kinds};
use numawise_model::reason::EmulatorChoice;
use numawise_model::{FindingKind, Mode, PageSize, Plan, Pnode, Predicate, Purpose, Reason};
use numawise_planner::default_reserved;
use numawise_testkit::{Numbering, Shape};

fn emulator(plan: &Plan) -> (String, EmulatorChoice) {
    let placed = plan.reasons.iter().find_map(|reason| match reason {
        Reason::EmulatorPlaced { cpus, why } => Some((cpus.clone(), *why)),
        _ => None,
    });
    let (cpus, why) = placed.expect("every binding says where the emulator is");
    assert_eq!(plan.helpers.emulator.as_ref(), Some(&cpus));
    (cpus.to_string(), why)
}

/// Reserved 0 and 4 of 0-3 and 4-7; the guest is on node 1 and names 5-6.
#[test]
fn reserved_cpus_of_the_guests_nodes() {
    let mut scene = Scene::rules(two_by(4), 2, &["0-1:5-6"]);
    scene.pools.reserved = cpus("0,4");
    scene.guest.as_mut().unwrap().iothreads = vec![1, 7];
    let plan = scene.planned();
    assert_eq!(emulator(&plan), ("4".to_owned(), EmulatorChoice::Housekeeping));
    assert_eq!(plan.helpers.iothreads, [(1, cpus("4")), (7, cpus("4"))].into());
    let claim = &plan.claims[1];
    assert_eq!((claim.mode, claim.purpose), (Mode::Shared, Purpose::Helpers));
    assert_eq!(claim.cpus, cpus("4"));
    let required = Predicate::CpusUnclaimed { cpus: cpus("4"), mode: Mode::Shared };
    assert!(plan.requires.contains(&required));
    assert!(kinds(&plan).is_empty(), "{:?}", plan.findings);
}

/// Somebody has the reserved CPU alone; or the plan itself took it; or the cgroup forbids it.
#[test]
fn without_housekeeping_the_guests_own_cpus() {
    let taken = |scene: &Scene| {
        let plan = scene.planned();
        let (cpus, why) = emulator(&plan);
        let told = FindingKind::EmulatorOnVcpuCpus { cpus: plan.binding.pcpus() };
        assert_eq!((why, plan.claims.len()), (EmulatorChoice::GuestsOwn, 1));
        assert!(kinds(&plan).contains(&told));
        cpus
    };
    let mut scene = Scene::rules(two_by(4), 2, &["0-1:5-6"]);
    scene.pools.reserved = cpus("0,4");
    scene.held_by("web", "4", Mode::Exclusive);
    assert_eq!(taken(&scene), "5-6");

    let mut scene = Scene::new(two_by(4), 2, 2 * GIB);
    scene.pools.reserved = cpus("0,4");
    assert_eq!(taken(&scene), "4-5", "smart took 4 for a vCPU");

    let mut scene = Scene::rules(two_by(4), 2, &["0-1:5-6"]);
    scene.pools.reserved = cpus("0,4");
    scene.host.topology.allowed.cpus = cpus("0-3,5-7");
    assert_eq!(taken(&scene), "5-6");
}

/// Other guests' helpers on the same CPU are company, not owners.
#[test]
fn helpers_share_with_helpers() {
    let mut scene = Scene::rules(two_by(4), 2, &["0-1:5-6"]);
    scene.pools.reserved = cpus("4");
    scene.held_by("web", "4", Mode::Shared);
    assert_eq!(emulator(&scene.planned()).0, "4");
}

/// Hugepages on both nodes, housekeeping on node 0 alone: QEMU fills node 1 from the guest's own
/// CPUs there, 4-5.
#[test]
fn hugepages_need_a_cpu_on_every_memory_node() {
    let shape =
        Shape { hugepages: [(PageSize::HUGE_1G, 8)].into(), ..Shape::two_nodes(4, 64 * GIB) };
    let mut scene = Scene::rules(shape.host(), 4, &["0-1:4-5", "2-3:2-3"]);
    scene.pools.reserved = cpus("0");
    scene.request.memory_bytes = 4 * GIB;
    assert_eq!(emulator(&scene.planned()), ("0".to_owned(), EmulatorChoice::Housekeeping));

    scene.request.page_size = PageSize::HUGE_1G;
    let plan = scene.planned();
    assert_eq!(emulator(&plan), ("0,4-5".to_owned(), EmulatorChoice::HousekeepingAndOwn));
    assert!(kinds(&plan).contains(&FindingKind::EmulatorOnVcpuCpus { cpus: cpus("4-5") }));
    assert_eq!(plan.claims[1].cpus, cpus("0"), "4-5 are the guest's already");

    scene.request.page_size = PageSize::BASE_4K;
    scene.guest.as_mut().unwrap().immediate_allocation = true;
    assert_eq!(emulator(&scene.planned()).0, "0,4-5");
}

/// The vCPUs are on node 1, which has no memory; node 0 serves. Without a reserved CPU there, one
/// that nobody holds alone is lent; without any, the guest cannot start, and that is an error.
#[test]
fn a_memory_node_without_own_cpus_lends_one() {
    let shape =
        Shape { hugepages: [(PageSize::HUGE_1G, 8)].into(), ..Shape::two_nodes(4, 64 * GIB) };
    let mut scene = Scene::new(shape.host(), 4, 4 * GIB);
    scene.host.topology.nodes[1].memory_total_bytes = Some(0);
    scene.request.page_size = PageSize::HUGE_1G;
    scene.pools.reserved = cpus("2");
    assert_eq!(emulator(&scene.planned()), ("2".to_owned(), EmulatorChoice::Housekeeping));

    scene.pools.reserved = cpus("");
    scene.held_by("web", "0", Mode::Exclusive);
    let plan = scene.planned();
    assert_eq!(emulator(&plan), ("1,4-7".to_owned(), EmulatorChoice::HousekeepingAndOwn));
    assert_eq!(plan.claims[1].cpus, cpus("1"));

    let lacks = FindingKind::EmulatorLacksMemoryNode { node: Pnode(0) };
    assert!(!kinds(&plan).contains(&lacks));
    scene.held_by("mail", "1-3", Mode::Exclusive);
    assert!(kinds(&scene.planned()).contains(&lacks));
}

#[test]
fn reserved_by_default() {
    let reserved = |shape: Shape| default_reserved(&shape.host().topology).to_string();
    // 16 cores in two nodes: the lowest core of each.
    assert_eq!(reserved(Shape::two_nodes(8, GIB)), "0,8");
    assert_eq!(reserved(Shape::two_nodes(7, GIB)), "", "14 cores are too few");
    let smt = Shape { threads: 2, ..Shape::two_nodes(8, GIB) };
    // 16 cores of two threads, numbered apart (0 with 16) and side by side.
    assert_eq!(reserved(smt.clone()), "0,8,16,24");
    assert_eq!(reserved(Shape { numbering: Numbering::SiblingsAdjacent, ..smt }), "0-1,16-17");
    // 16 nodes of one core: keeping one each would keep all.
    let tiny = Shape { nodes_per_package: 8, ..Shape::two_nodes(1, GIB) };
    assert_eq!(reserved(tiny), "");
    let mut memory_only = Shape::two_nodes(16, GIB).host().topology;
    memory_only.nodes[1].cpus = cpus("");
    assert_eq!(default_reserved(&memory_only), cpus("0"));
}
