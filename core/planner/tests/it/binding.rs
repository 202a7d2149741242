//! Which vCPU goes where, by each of the three rules.

use crate::scene::{GIB, Scene, check, cpus, kinds, owner, refuses, vcpus_of};
use numawise_model::ledger::ClaimConflict;
use numawise_model::{
    BindRule, FindingKind, Host, Mode, NodeSet, Pcpu, Pnode, Policy, Refusal, Vcpu,
};
use numawise_testkit::{Numbering, Shape};

pub fn two_by(cores: u32) -> Host {
    Shape::two_nodes(cores, 256 * GIB).host()
}

/// Two nodes of 4 cores with 2 threads each.
fn smt(numbering: Numbering) -> Host {
    Shape { threads: 2, numbering, ..Shape::two_nodes(4, 64 * GIB) }.host()
}

/// The published case: 48 vCPUs on two nodes of 32. Node 1 first and whole, the other 16 on node 0;
/// 192 GiB by vCPU count: 192 * 32 / 48 = 128 and 192 * 16 / 48 = 64. The greatest common divisor of
/// 32 and 16 is 16, so 48 / 16 = 3 sockets.
#[test]
fn seed_48_vcpus_on_two_nodes_of_32() {
    check(
        &Scene::new(two_by(32), 48, 192 * GIB),
        "0-31:32-63 32-47:0-15
         vnode 0: vcpus 0-31, 128 GiB on node 1, distances 10 21
         vnode 1: vcpus 32-47, 64 GiB on node 0, distances 21 10
         cpu: 3 sockets x 1 dies x 16 cores x 1 threads, L3 shown",
    );
}

/// The other published case. 80 GiB are 20,971,520 pages of 4 KiB; 16 of 24 vCPUs are due
/// 13,981,013.33 of them and 8 are due 6,990,506.67. Rounded down one page is left over, and the
/// larger remainder (.67) takes it: 13,981,013 and 6,990,507 pages.
#[test]
fn seed_24_vcpus_on_two_nodes_of_16() {
    check(
        &Scene::new(two_by(16), 24, 80 * GIB),
        "0-15:16-31 16-23:0-7
         vnode 0: vcpus 0-15, 57266229248 bytes on node 1, distances 10 21
         vnode 1: vcpus 16-23, 28633116672 bytes on node 0, distances 21 10
         cpu: 3 sockets x 1 dies x 8 cores x 1 threads, L3 shown",
    );
}

#[test]
fn more_vcpus_than_pcpus_are_refused_with_what_would_fit() {
    refuses(
        &Scene::new(two_by(32), 70, 64 * GIB),
        &[Refusal::NotEnoughCpus {
            wanted: 70,
            free: vec![(Pnode(0), cpus("0-31")), (Pnode(1), cpus("32-63"))],
            held: vec![],
            reserved: cpus(""),
            overcommit_would_fit: true,
        }],
    );
}

/// The 65th vCPU goes round to the node that was filled first. Its runs of vCPUs are 32, 32 and 6
/// long, so sockets have 2 vCPUs each. (That pCPUs 0-31 are followed by 32-37 here is how the
/// numbers fall: node 0 ends at 31 and node 1 begins again at 32.)
#[test]
fn over_commit_goes_round_from_the_first_node() {
    let mut scene = Scene::new(two_by(32), 70, 70 * GIB);
    scene.request.overcommit = true;
    check(
        &scene,
        "0-31:32-63 32-69:0-37
         vnode 0: vcpus 0-31,64-69, 38 GiB on node 1, distances 10 21
         vnode 1: vcpus 32-63, 32 GiB on node 0, distances 21 10
         cpu: 35 sockets x 1 dies x 2 cores x 1 threads, L3 shown",
    );
    let found = kinds(&scene.planned());
    let overcommitted =
        FindingKind::Overcommitted { cpus: cpus("32-37"), vcpus: vcpus_of("0-5,64-69") };
    assert!(found.contains(&overcommitted), "{found:?}");
    assert!(found.contains(&FindingKind::VcpusInterleaved { vnode: numawise_model::Vnode(0) }));
}

/// Asking for over-commit where it is not needed changes nothing.
#[test]
fn over_commit_is_a_permission_not_an_order() {
    let mut scene = Scene::new(two_by(32), 48, 192 * GIB);
    let without = scene.planned().binding;
    scene.request.overcommit = true;
    assert_eq!(scene.planned().binding, without);
    let overcommitted = |kind: &FindingKind| matches!(kind, FindingKind::Overcommitted { .. });
    assert!(!kinds(&scene.planned()).iter().any(overcommitted));
}

/// Over-commit stretches what is free, and nothing can be stretched from nothing.
#[test]
fn over_commit_needs_something_free() {
    let mut scene = Scene::new(two_by(2), 2, GIB);
    scene.request.overcommit = true;
    scene.held_by("web", "0-3", Mode::Exclusive);
    refuses(
        &scene,
        &[Refusal::NotEnoughCpus {
            wanted: 2,
            free: vec![],
            held: vec![(owner("web"), cpus("0-3"))],
            reserved: cpus(""),
            overcommit_would_fit: false,
        }],
    );
}

/// Kernels of x86 servers number siblings apart (0 and 8 are one core); some firmware puts them
/// side by side. In both, neighbouring vCPUs are the two threads of a core.
#[test]
fn siblings_are_given_next_to_each_other_whatever_their_numbers() {
    check(
        &Scene::new(smt(Numbering::SiblingsApart), 10, 10 * GIB),
        "0:4 1:12 2:5 3:13 4:6 5:14 6:7 7:15 8:0 9:8
         vnode 0: vcpus 0-7, 8 GiB on node 1, distances 10 21
         vnode 1: vcpus 8-9, 2 GiB on node 0, distances 21 10
         cpu: 5 sockets x 1 dies x 1 cores x 2 threads, L3 shown",
    );
    check(
        &Scene::new(smt(Numbering::SiblingsAdjacent), 10, 10 * GIB),
        "0-7:8-15 8-9:0-1
         vnode 0: vcpus 0-7, 8 GiB on node 1, distances 10 21
         vnode 1: vcpus 8-9, 2 GiB on node 0, distances 21 10
         cpu: 5 sockets x 1 dies x 1 cores x 2 threads, L3 shown",
    );
}

/// Node ids 3 and 17, as firmware with holes gives them: 17 is filled first.
#[test]
fn node_ids_may_have_gaps() {
    let mut host = two_by(4);
    for (node, id) in host.topology.nodes.iter_mut().zip([3, 17]) {
        node.id = Pnode(id);
        let distances = std::mem::take(&mut node.distances);
        node.distances = [3, 17].map(Pnode).into_iter().zip(distances.into_values()).collect();
    }
    host.topology.allowed.memory_nodes = [3, 17].map(Pnode).into_iter().collect();
    check(
        &Scene::new(host, 6, 6 * GIB),
        "0-3:4-7 4-5:0-1
         vnode 0: vcpus 0-3, 4 GiB on node 17, distances 10 21
         vnode 1: vcpus 4-5, 2 GiB on node 3, distances 21 10
         cpu: 3 sockets x 1 dies x 2 cores x 1 threads, L3 shown",
    );
}

/// Of 8 pCPUs: 0 is offline, 1 forbidden by the cgroup, 4 in no node, 5 outside the pool, 6 held.
#[test]
fn smart_gives_only_what_is_free() {
    let mut host = two_by(4);
    host.topology.online = cpus("1-7");
    host.topology.offline = cpus("0");
    host.topology.nodes[0].cpus = cpus("1-3");
    host.topology.nodes[1].cpus = cpus("5-7");
    host.topology.allowed.cpus = cpus("2-7");
    let mut scene = Scene::new(host, 3, 3 * GIB);
    scene.pools.dedicated = Some(cpus("0-4,6-7"));
    scene.held_by("web", "6", Mode::Shared);
    check(
        &scene,
        "0:7 1-2:2-3
         vnode 0: vcpus 0, 1 GiB on node 1, distances 10 21
         vnode 1: vcpus 1-2, 2 GiB on node 0, distances 21 10
         cpu: 3 sockets x 1 dies x 1 cores x 1 threads, L3 shown",
    );
}

/// What the guest holds is given back, so it may plan over its own pCPUs.
#[test]
fn own_claims_count_as_free() {
    let mut scene = Scene::new(two_by(2), 4, 4 * GIB);
    scene.held_by("db", "0-3", Mode::Exclusive);
    assert_eq!(scene.planned().binding.pcpus(), cpus("0-3"));
    scene.guest = None;
    assert_eq!(scene.refused().len(), 1, "a size alone owns nothing");
}

#[test]
fn exclusive_takes_nothing_that_others_share() {
    let mut scene = Scene::new(two_by(2), 2, 2 * GIB);
    scene.held_by("web", "2-3", Mode::Shared);
    assert_eq!(scene.planned().binding.pcpus(), cpus("0-1"));
}

/// The published rule verbatim: pCPUs that others share are given in the same order as free ones;
/// those held alone are not.
#[test]
fn shared_takes_what_others_share_and_not_what_they_hold_alone() {
    let mut scene = Scene::new(two_by(4), 4, 4 * GIB);
    scene.request.shared = true;
    scene.held_by("web", "4-5", Mode::Shared).held_by("mail", "6", Mode::Exclusive);
    let plan = scene.planned();
    assert_eq!(plan.binding.mode, Mode::Shared);
    assert_eq!(plan.binding.pcpus(), cpus("0,4-5,7"));
    assert_eq!(plan.claims[0].mode, Mode::Shared);
    let shares = FindingKind::SharesCpus { cpus: cpus("4-5"), with: vec![owner("web")] };
    assert!(kinds(&plan).contains(&shares));
}

#[test]
fn each_mode_has_its_pool() {
    let mut scene = Scene::new(two_by(4), 2, 2 * GIB);
    scene.pools.dedicated = Some(cpus("4-5"));
    scene.pools.shared = Some(cpus("0-1"));
    assert_eq!(scene.planned().binding.pcpus(), cpus("4-5"));
    scene.request.shared = true;
    assert_eq!(scene.planned().binding.pcpus(), cpus("0-1"));
}

/// Three ways to name reserved pCPU 4: the published rule takes it, naming its node does not, naming
/// it does.
#[test]
fn reserved_cpus_are_for_smart_and_for_those_who_name_them() {
    let uses = |scene: &Scene| {
        kinds(&scene.planned()).contains(&FindingKind::UsesReservedCpus { cpus: cpus("4") })
    };
    let mut scene = Scene::new(two_by(4), 2, 2 * GIB);
    scene.pools.reserved = cpus("0,4");
    assert_eq!(scene.planned().binding.pcpus(), cpus("4-5"));
    assert!(uses(&scene));

    scene.request.policy = Policy::OnNode(vec![(Pnode(1), vcpus_of("0-1"))]);
    assert_eq!(scene.planned().binding.pcpus(), cpus("5-6"));
    assert!(!uses(&scene));

    scene.request.policy =
        Policy::Rules(vec![BindRule { vcpus: vcpus_of("0-1"), pcpus: cpus("4-5") }]);
    assert_eq!(scene.planned().binding.pcpus(), cpus("4-5"));
    assert!(uses(&scene));
}

#[test]
fn isolated_cpus_suit_single_pins_only() {
    let mut host = two_by(4);
    host.topology.isolated = Some(cpus("4-7"));
    let scene = Scene::new(host.clone(), 2, 2 * GIB);
    let alone = FindingKind::UsesIsolatedCpus { cpus: cpus("4-5") };
    assert!(kinds(&scene.planned()).contains(&alone));

    let scene = Scene::rules(host, 2, &["0:0", "1:4-5"]);
    let wide = FindingKind::IsolatedInWideMask { vcpu: Vcpu(1), cpus: cpus("4-5") };
    assert!(kinds(&scene.planned()).contains(&wide));
}

/// pCPU 4's core has pCPU 12 as its other thread, where another guest's vCPU runs.
#[test]
fn a_core_shared_with_another_guest_is_told() {
    let mut scene = Scene::new(smt(Numbering::SiblingsApart), 1, GIB);
    scene.held_by("web", "12", Mode::Exclusive);
    let plan = scene.planned();
    assert_eq!(plan.binding.pcpus(), cpus("4"));
    let told =
        FindingKind::SmtSiblingOfAnother { cpu: Pcpu(4), sibling: Pcpu(12), owner: owner("web") };
    assert!(kinds(&plan).contains(&told));
}

/// The seed's picture by hand. vCPUs may be named in any order of nodes.
#[test]
fn by_node() {
    let scene = Scene::on_node(two_by(32), 48, &[(0, "32-47"), (1, "0-15"), (1, "16-31")]);
    assert_eq!(scene.planned().binding, Scene::new(two_by(32), 48, GIB).planned().binding);
}

#[test]
fn by_node_lists_everything_that_is_wrong() {
    let mut host = two_by(4);
    let mut memory_only = host.topology.nodes[0].clone();
    (memory_only.id, memory_only.cpus) = (Pnode(2), cpus(""));
    host.topology.nodes.push(memory_only);
    let scene = Scene::on_node(host, 8, &[(0, "0-4"), (1, "3"), (2, "5"), (7, "6,9")]);
    refuses(
        &scene,
        &[
            Refusal::NodeWithoutCpus { node: Pnode(2) },
            Refusal::UnknownNode { node: Pnode(7), nodes: (0..3).map(Pnode).collect::<NodeSet>() },
            Refusal::VcpusNamedTwice { vcpus: vcpus_of("3") },
            Refusal::VcpusOutOfRange { vcpus: vcpus_of("9"), guest_has: 8 },
            Refusal::UnboundVcpus { vcpus: vcpus_of("7"), of: 8 },
            Refusal::NodeTooSmall {
                node: Pnode(0),
                wanted: 5,
                free: cpus("0-3"),
                overcommit_would_fit: true,
            },
        ],
    );
}

/// Five vCPUs on a node of four go round inside it, though the other node is empty.
#[test]
fn by_node_over_commit_stays_in_the_node() {
    let mut scene = Scene::on_node(two_by(4), 5, &[(1, "0-4")]);
    scene.request.overcommit = true;
    assert_eq!(
        crate::scene::shown(&scene.planned()).lines().next(),
        Some("0-3:4-7 4:4"),
        "the fifth begins again"
    );
    scene.held_by("web", "4-7", Mode::Exclusive);
    refuses(
        &scene,
        &[Refusal::NodeTooSmall {
            node: Pnode(1),
            wanted: 5,
            free: cpus(""),
            overcommit_would_fit: false,
        }],
    );
}

/// Rules for one vCPU unite: vCPU 0 gets 0-1 and 2. Several pCPUs of one node are ordinary.
#[test]
fn by_rules() {
    let mut scene = Scene::rules(two_by(4), 3, &["0-1:0-1", "0:2", "2:^5,4-7"]);
    scene.request.memory_bytes = 3 * GIB;
    check(
        &scene,
        "0:0-2 1:0-1 2:4,6-7
         vnode 0: vcpus 0-1, 2 GiB on node 0, distances 10 21
         vnode 1: vcpus 2, 1 GiB on node 1, distances 21 10
         cpu: 3 sockets x 1 dies x 1 cores x 1 threads, L3 shown",
    );
}

#[test]
fn rules_list_everything_that_is_wrong() {
    let mut host = two_by(8);
    host.topology.online = cpus("0-14");
    host.topology.offline = cpus("15");
    host.topology.nodes[1].cpus = cpus("8-13");
    host.topology.allowed.cpus = cpus("0-11,14");
    host.topology.allowed.limited_by = Some("cpuset.cpus".to_owned());
    let rules = ["0:0-1,8", "1:12,15", "2:14", "3:40", "4:2", "6:^3,3", "9:3-4"];
    let mut scene = Scene::rules(host, 8, &rules);
    scene.pools.dedicated = Some(cpus("0-3,5-8,12-15"));
    scene.held_by("web", "1-2", Mode::Exclusive).held_by("mail", "0", Mode::Shared);
    refuses(
        &scene,
        &[
            Refusal::VcpusOutOfRange { vcpus: vcpus_of("9"), guest_has: 8 },
            Refusal::UnboundVcpus { vcpus: vcpus_of("5,7"), of: 8 },
            Refusal::EmptyRule { vcpus: vcpus_of("6") },
            Refusal::CpusUnknown { cpus: cpus("40") },
            Refusal::CpusOffline { cpus: cpus("15") },
            Refusal::CpusNotAllowed {
                cpus: cpus("12"),
                limited_by: Some("cpuset.cpus".to_owned()),
                allowed: cpus("0-11,14"),
            },
            Refusal::CpusOutsidePool {
                cpus: cpus("4"),
                pool: cpus("0-3,5-8,12-15"),
                exclusive: true,
            },
            Refusal::CpusTaken(ClaimConflict {
                cpus: cpus("1-2"),
                held_by: owner("web"),
                held_mode: Mode::Exclusive,
            }),
            Refusal::CpusTaken(ClaimConflict {
                cpus: cpus("0"),
                held_by: owner("mail"),
                held_mode: Mode::Shared,
            }),
            Refusal::CpusInNoNode { cpus: cpus("14") },
            Refusal::VcpuSpansNodes {
                vcpu: Vcpu(0),
                cpus: cpus("0-1,8"),
                nodes: [Pnode(0), Pnode(1)].into_iter().collect(),
            },
        ],
    );
}

#[test]
fn several_vcpus_on_one_pcpu_are_over_commit() {
    let mut scene = Scene::rules(two_by(4), 6, &["0-3:0", "4-5:4-5"]);
    refuses(&scene, &[Refusal::OvercommitNotAsked { cpus: cpus("0"), vcpus: vcpus_of("0-3") }]);
    scene.request.overcommit = true;
    let found = kinds(&scene.planned());
    let told = FindingKind::Overcommitted { cpus: cpus("0"), vcpus: vcpus_of("0-3") };
    assert!(found.contains(&told), "{found:?}");
}

/// No two vCPUs have the same set, yet three run on two pCPUs; vCPU 3 has one of its own.
#[test]
fn over_commit_is_found_across_different_sets() {
    refuses(
        &Scene::rules(two_by(4), 4, &["0:0-1", "1:0", "2:1", "3:1-2"]),
        &[Refusal::OvercommitNotAsked { cpus: cpus("0-1"), vcpus: vcpus_of("0-2") }],
    );
    // Each can have one, once vCPU 0 moves to 2 for vCPU 1, and vCPU 2 to 1.
    assert!(Scene::rules(two_by(4), 3, &["0:0-2", "1:0", "2:0-1"]).plan().is_ok());
    // Two groups that have nothing in common are told apart.
    refuses(
        &Scene::rules(two_by(4), 5, &["0-1:0", "2-3:2", "4:3"]),
        &[
            Refusal::OvercommitNotAsked { cpus: cpus("0"), vcpus: vcpus_of("0-1") },
            Refusal::OvercommitNotAsked { cpus: cpus("2"), vcpus: vcpus_of("2-3") },
        ],
    );
}

/// Only vNUMA needs each vCPU in one node; a binding alone may roam, and may use CPUs in no node.
#[test]
fn without_vnuma_a_vcpu_may_roam() {
    let mut host = two_by(4);
    host.topology.nodes[1].cpus = cpus("4-6");
    let mut scene = Scene::rules(host, 2, &["0:0,4", "1:5,7"]);
    let both = [Pnode(0), Pnode(1)].into_iter().collect();
    refuses(
        &scene,
        &[
            Refusal::CpusInNoNode { cpus: cpus("7") },
            Refusal::VcpuSpansNodes { vcpu: Vcpu(0), cpus: cpus("0,4"), nodes: both },
        ],
    );
    scene.request.vnuma = false;
    check(&scene, "0:0,4 1:5,7");
}

#[test]
fn unbind_takes_everything_away() {
    let mut scene = Scene::new(two_by(4), 4, 4 * GIB);
    scene.request.policy = Policy::Unbound;
    let plan = scene.planned();
    assert!(plan.binding.cpus.is_empty() && plan.vnuma.is_none() && plan.claims.is_empty());
    assert_eq!(plan.edit().pins, numawise_model::PinEdit::Remove);
}

#[test]
fn sizes_that_cannot_be() {
    refuses(&Scene::new(two_by(4), 0, GIB), &[Refusal::NoVcpus]);
    let mut scene = Scene::new(two_by(4), 8193, GIB);
    refuses(&scene, &[Refusal::TooManyVcpus { wanted: 8193, most: 8192 }]);
    (scene.request.vcpus, scene.guest.as_mut().unwrap().vcpus_max) = (4, 2);
    refuses(&scene, &[Refusal::TooManyVcpus { wanted: 4, most: 2 }]);
}
