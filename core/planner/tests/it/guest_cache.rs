//! Where the guest's L3 is told by a level, and what is said where it cannot be told.

use crate::scene::{GIB, Scene, kinds};
use numawise_model::finding::L3Untold;
use numawise_model::guest::{CacheLevel, GuestCell, SmpCacheAbility};
use numawise_model::request::GuestCache;
use numawise_model::{
    FindingKind, FrozenTopology, GuestCpuTopology, Plan, Reason, Refusal, VcpuSet, Vnode,
};
use numawise_testkit::Shape;

/// Two packages of four L3 domains of 8 cores each, no SMT.
fn epyc() -> numawise_model::Host {
    Shape { l3_per_node: 4, cores_per_l3: 8, ..Shape::two_nodes(1, 256 * GIB) }.host()
}

fn cpu(plan: &Plan) -> (GuestCpuTopology, Option<CacheLevel>) {
    let vnuma = plan.vnuma.as_ref().expect("vNUMA is on");
    (vnuma.cpu, vnuma.l3_level)
}

const fn shape(sockets: u32, dies: u32, clusters: u32, cores: u32) -> GuestCpuTopology {
    GuestCpuTopology { sockets, dies, clusters, cores, threads: 1 }
}

fn of_l3(plan: &Plan) -> Vec<FindingKind> {
    let of_l3 = |kind: &FindingKind| {
        matches!(kind, FindingKind::GuestL3Differs { .. } | FindingKind::GuestL3Untold { .. })
    };
    kinds(plan).into_iter().filter(of_l3).collect()
}

fn no() -> Option<SmpCacheAbility> {
    Some(SmpCacheAbility::No { why: "7.2".to_owned() })
}

/// One core on each of four domains: dies of one core say it, and so does a level without dies.
#[test]
fn a_core_on_each_domain_needs_no_dies() {
    let mut scene = Scene::rules(epyc(), 4, &["0:0", "1:8", "2:16", "3:24"]);
    assert_eq!(cpu(&scene.planned()), (shape(1, 4, 1, 1), None));
    scene.request.guest_cache = Some(GuestCache::SmpCache);
    for (ability, expected) in [
        (Some(SmpCacheAbility::Yes), (shape(1, 1, 1, 4), Some(CacheLevel::Core))),
        // Dies say it as well: there is nothing to complain of.
        (no(), (shape(1, 4, 1, 1), None)),
        (None, (shape(1, 4, 1, 1), None)),
    ] {
        scene.smp_cache = ability;
        let plan = scene.planned();
        assert_eq!(cpu(&plan), expected);
        assert_eq!(of_l3(&plan), []);
        let told = Reason::L3BySmpCache { level: CacheLevel::Core, vcpus_each: 1 };
        assert_eq!(plan.reasons.contains(&told), expected.1.is_some());
    }
}

/// 3 + 3 + 2, and vCPUs that go to and fro: no level of any topology is like that.
#[test]
fn what_no_level_can_say_is_told_with_the_reason() {
    let uneven = ["0-2:0-2", "3-5:8-10", "6-7:16-17"];
    let scattered = ["0:0", "1:8", "2:1", "3:9"];
    let unequal = L3Untold::Unequal { vcpus: vec![3, 3, 2] };
    for (vcpus, rules, why) in [(8, &uneven[..], unequal), (4, &scattered[..], L3Untold::Scattered)]
    {
        let mut scene = Scene::rules(epyc(), vcpus, rules);
        assert!(matches!(of_l3(&scene.planned())[..], [FindingKind::GuestL3Differs { .. }]));
        scene.request.guest_cache = Some(GuestCache::SmpCache);
        scene.smp_cache = Some(SmpCacheAbility::Yes);
        let plan = scene.planned();
        assert_eq!(of_l3(&plan), [FindingKind::GuestL3Untold { why }]);
        assert_eq!(cpu(&plan).1, None);
    }
}

/// Frozen with two dies of 4 cores, and bound to one domain of 8: the socket is what shares an L3.
#[test]
fn a_frozen_topology_is_kept_where_a_level_makes_it_true() {
    let frozen = shape(1, 2, 1, 4);
    let mut scene = Scene::rules(epyc(), 8, &["0-7:0-7"]);
    let cell = GuestCell {
        id: Vnode(0),
        vcpus: VcpuSet::range(0, 7),
        memory_bytes: GIB,
        distances: [(Vnode(0), 10)].into(),
    };
    scene.frozen = Some(FrozenTopology { cells: vec![cell], cpu: frozen, cpu_before: None });
    let is_frozen = |refusals: &[Refusal]| matches!(refusals, [Refusal::TopologyFrozen { .. }]);
    assert!(is_frozen(&scene.refused()));
    scene.request.guest_cache = Some(GuestCache::SmpCache);
    scene.smp_cache = no();
    assert!(is_frozen(&scene.refused()));
    scene.smp_cache = Some(SmpCacheAbility::Yes);
    let plan = scene.planned();
    assert_eq!(cpu(&plan), (frozen, Some(CacheLevel::Socket)));
    assert_eq!(of_l3(&plan), []);
}

/// QEMU has dies on x86 alone; on Arm only a level can say that clusters share an L3.
#[test]
fn arm_has_clusters_and_no_dies() {
    let mut scene = Scene::rules(epyc(), 8, &["0-3:0-3", "4-7:8-11"]);
    scene.guest.as_mut().expect("a guest").architecture = Some("aarch64".to_owned());
    let plan = scene.planned();
    assert_eq!(cpu(&plan), (shape(1, 1, 1, 8), None));
    let differs = FindingKind::GuestL3Differs { host_domains: 2, guest_domains: 1 };
    assert_eq!(of_l3(&plan), [differs]);

    scene.request.guest_cache = Some(GuestCache::SmpCache);
    scene.smp_cache = no();
    let why = L3Untold::NoSmpCache { why: "7.2".to_owned() };
    assert_eq!(of_l3(&scene.planned()), [FindingKind::GuestL3Untold { why }]);
    scene.smp_cache = Some(SmpCacheAbility::Yes);
    let plan = scene.planned();
    assert_eq!(cpu(&plan), (shape(1, 1, 2, 4), Some(CacheLevel::Cluster)));
    assert_eq!(of_l3(&plan), []);
}

#[test]
fn off_shows_no_dies_and_no_l3() {
    let mut scene = Scene::rules(epyc(), 8, &["0-3:0-3", "4-7:8-11"]);
    scene.request.guest_cache = Some(GuestCache::Off);
    let plan = scene.planned();
    assert_eq!(cpu(&plan), (shape(1, 1, 1, 8), None));
    assert!(!plan.vnuma.as_ref().expect("vNUMA is on").emulate_l3);
    assert!(matches!(of_l3(&plan)[..], [FindingKind::GuestL3Differs { .. }]));
}
