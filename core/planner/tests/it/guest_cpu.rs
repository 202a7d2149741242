//! Sockets, dies and threads: what the guest is shown, and what it is not.

use crate::binding::two_by;
use crate::scene::{GIB, Scene, check, cpus, kinds, refuses};
use numawise_model::{FindingKind, Host, Pnode, Refusal, Vnode};
use numawise_testkit::{Numbering, Shape};
use std::collections::BTreeMap;

/// One package and node, `l3` domains of `cores` cores, no SMT: an EPYC in NPS1 seen from afar.
fn epyc(packages: u32, l3: u32, cores: u32) -> Shape {
    Shape { packages, l3_per_node: l3, cores_per_l3: cores, ..Shape::two_nodes(1, 256 * GIB) }
}

fn cpu_line(scene: &Scene) -> String {
    let shown = crate::scene::shown(&scene.planned());
    shown.lines().last().expect("the CPU line").to_owned()
}

fn l3_differs(scene: &Scene) -> Option<(u32, u32)> {
    kinds(&scene.planned()).into_iter().find_map(|kind| match kind {
        FindingKind::GuestL3Differs { host_domains, guest_domains } => {
            Some((host_domains, guest_domains))
        }
        _ => None,
    })
}

/// vCPUs on two packages, each with 4 L3 domains of 8 cores; the guest's shape and, where its L3
/// differs from the host's, domains of the host and of the guest.
#[test]
fn dies_are_l3_domains_where_that_is_so_everywhere() {
    let cases = [
        // 3 whole domains on one node.
        (24, "1 sockets x 3 dies x 8 cores", None),
        // 8 + 8 + 4: domains of different size.
        (20, "1 sockets x 1 dies x 20 cores", Some((3, 1))),
        // A part of one domain is that domain's vCPUs all the same.
        (6, "1 sockets x 1 dies x 6 cores", None),
        // 32 + 32: 4 domains a socket.
        (64, "2 sockets x 4 dies x 8 cores", None),
        // 32 + 16, gcd 16: 2 domains a socket.
        (48, "3 sockets x 2 dies x 8 cores", None),
        // 32 + 4, gcd 4: every domain of node 1 is cut in two by sockets.
        (36, "9 sockets x 1 dies x 4 cores", Some((5, 9))),
    ];
    for (vcpus, shape, differs) in cases {
        let scene = Scene::new(epyc(2, 4, 8).host(), vcpus, u64::from(vcpus) * GIB);
        assert_eq!(cpu_line(&scene), format!("cpu: {shape} x 1 threads, L3 shown"));
        assert_eq!(l3_differs(&scene), differs, "{vcpus} vCPUs");
    }
}

/// 16 + 8 on two nodes of one domain each: node 1's domain is shown as two.
#[test]
fn a_domain_cut_by_sockets_is_told() {
    let scene = Scene::new(two_by(16), 24, 24 * GIB);
    assert_eq!(l3_differs(&scene), Some((2, 3)));
}

/// Sub-NUMA clustering: one L3 over two nodes of 4. No package may cross a node, so the guest sees
/// the cache as two.
#[test]
fn l3_over_two_nodes() {
    let mut host = Shape { nodes_per_package: 2, ..Shape::two_nodes(4, 64 * GIB) }.host();
    let spanning = [cpus("0-7"), cpus("8-15")];
    host.topology.l3_domains.truncate(2);
    for (domain, cpus) in host.topology.l3_domains.iter_mut().zip(spanning) {
        domain.cpus = cpus;
    }
    let scene = Scene::new(host, 8, 8 * GIB);
    check(
        &scene,
        "0-3:12-15 4-7:8-11
         vnode 0: vcpus 0-3, 4 GiB on node 3, distances 10 12
         vnode 1: vcpus 4-7, 4 GiB on node 2, distances 12 10
         cpu: 2 sockets x 1 dies x 4 cores x 1 threads, L3 shown",
    );
    assert_eq!(l3_differs(&scene), Some((1, 2)));
}

/// Every L3 domain a node: 12 vCPUs on nodes of 4 are three nodes and three sockets of one die.
#[test]
fn l3_as_numa() {
    let host = Shape { nodes_per_package: 2, ..Shape::two_nodes(4, 64 * GIB) }.host();
    let scene = Scene::new(host, 12, 12 * GIB);
    assert_eq!(cpu_line(&scene), "cpu: 3 sockets x 1 dies x 4 cores x 1 threads, L3 shown");
    assert_eq!(l3_differs(&scene), None);
}

#[test]
fn a_host_without_l3_has_nothing_to_show() {
    let mut host = two_by(8);
    host.topology.l3_domains.clear();
    let scene = Scene::new(host, 12, 12 * GIB);
    assert_eq!(cpu_line(&scene), "cpu: 3 sockets x 1 dies x 4 cores x 1 threads");
    assert_eq!(l3_differs(&scene), None);
}

fn smt_hidden(scene: &Scene) -> bool {
    kinds(&scene.planned()).contains(&FindingKind::GuestSmtHidden { host_threads: 2 })
}

/// Threads are shown only when every core is given whole. 8 cores of 2 threads on one node.
#[test]
fn threads_are_whole_cores() {
    let shape = Shape { packages: 1, threads: 2, ..Shape::two_nodes(8, 64 * GIB) };
    for numbering in [Numbering::SiblingsApart, Numbering::SiblingsAdjacent] {
        let host = Shape { numbering, ..shape.clone() }.host();
        let even = Scene::new(host.clone(), 6, 6 * GIB);
        assert_eq!(cpu_line(&even), "cpu: 1 sockets x 1 dies x 3 cores x 2 threads, L3 shown");
        assert!(!smt_hidden(&even));
        let odd = Scene::new(host, 7, 7 * GIB);
        assert_eq!(cpu_line(&odd), "cpu: 1 sockets x 1 dies x 7 cores x 1 threads, L3 shown");
        assert!(smt_hidden(&odd));
    }
}

/// Siblings are 0 and 8, 1 and 9, ...: each of these binds 4 vCPUs to whole cores or not.
#[test]
fn threads_need_adjacent_vcpus_on_one_core() {
    let host = Shape { packages: 1, threads: 2, ..Shape::two_nodes(8, 64 * GIB) }.host();
    let cases: [(&[&str], bool, bool); 5] = [
        (&["0:0", "1:8", "2:1", "3:9"], true, false),
        (&["0:8", "1:0", "2:1", "3:9"], true, false),
        // Siblings, but not next to each other.
        (&["0:0", "1:1", "2:8", "3:9"], false, true),
        // One thread of each of four cores: there are no siblings to see.
        (&["0-0:0", "1:1", "2:2", "3:3"], false, false),
        // Both threads for both vCPUs: they may sit on the same one.
        (&["0-1:0,8", "2-3:1,9"], false, true),
    ];
    for (rules, shown, hidden) in cases {
        let scene = Scene::rules(host.clone(), 4, rules);
        let threads = scene.planned().vnuma.expect("vNUMA was asked for").cpu.threads;
        assert_eq!(threads == 2, shown, "{rules:?}");
        assert_eq!(smt_hidden(&scene), hidden, "{rules:?}");
    }
}

/// Some cores with one thread (4 and 5 have lost theirs): no width holds everywhere.
#[test]
fn mixed_widths_have_no_threads() {
    let mut host: Host = Shape { packages: 1, threads: 2, ..Shape::two_nodes(4, 64 * GIB) }.host();
    host.topology.online = cpus("0-6");
    host.topology.offline = cpus("7");
    host.topology.allowed.cpus = cpus("0-6");
    host.topology.nodes[0].cpus = cpus("0-6");
    host.topology.cores[3].cpus = cpus("3");
    let scene = Scene::new(host, 7, 7 * GIB);
    assert_eq!(cpu_line(&scene), "cpu: 1 sockets x 1 dies x 7 cores x 1 threads, L3 shown");
    assert!(smt_hidden(&scene));
}

/// Two vCPUs of one guest on one thread of a core are no second thread.
#[test]
fn over_commit_has_no_threads() {
    let host = Shape { packages: 1, threads: 2, ..Shape::two_nodes(1, 64 * GIB) }.host();
    let mut scene = Scene::new(host, 4, 4 * GIB);
    scene.request.overcommit = true;
    check(
        &scene,
        "0-1:0-1 2-3:0-1
         vnode 0: vcpus 0-3, 4 GiB on node 0, distances 10
         cpu: 1 sockets x 1 dies x 4 cores x 1 threads, L3 shown",
    );
}

/// 32 + 16 wants 3 sockets; 48 has the divisors 1 and 2 below that. Two sockets of 24 cut node 0 at
/// vCPU 24, and the second holds vCPUs of both.
#[test]
fn fewer_sockets_than_nodes_need() {
    let mut scene = Scene::new(two_by(32), 48, 48 * GIB);
    scene.request.max_sockets = Some(2);
    assert_eq!(cpu_line(&scene), "cpu: 2 sockets x 1 dies x 24 cores x 1 threads, L3 shown");
    for vnode in [Vnode(0), Vnode(1)] {
        let crosses = FindingKind::MaxSocketsCrossesNodes { sockets: 2, vnode };
        assert!(kinds(&scene.planned()).contains(&crosses));
    }
    scene.request.max_sockets = Some(3);
    assert_eq!(cpu_line(&scene), "cpu: 3 sockets x 1 dies x 16 cores x 1 threads, L3 shown");
}

/// 4 nodes of 4: two sockets hold two nodes each; dies still show the L3 domains as they are.
#[test]
fn capped_sockets_keep_true_dies() {
    let host = Shape { nodes_per_package: 2, ..Shape::two_nodes(4, 64 * GIB) }.host();
    let mut scene = Scene::new(host, 16, 16 * GIB);
    scene.request.max_sockets = Some(3);
    assert_eq!(cpu_line(&scene), "cpu: 2 sockets x 2 dies x 4 cores x 1 threads, L3 shown");
    assert_eq!(l3_differs(&scene), None);
}

#[test]
fn no_sockets_at_all_are_refused() {
    let mut scene = Scene::new(two_by(4), 4, 4 * GIB);
    scene.request.max_sockets = Some(0);
    refuses(&scene, &[Refusal::MaxSockets { asked: 0 }]);
}

/// vCPUs 0-1 and 4-5 on node 1, 2-3 and 6-7 on node 0: runs of 2, so sockets of 2.
#[test]
fn interleaved_nodes_get_sockets_of_their_runs() {
    let scene = Scene::on_node(two_by(4), 8, &[(1, "0-1,4-5"), (0, "2-3,6-7")]);
    check(
        &scene,
        "0-1:4-5 2-3:0-1 4-5:6-7 6-7:2-3
         vnode 0: vcpus 0-1,4-5, 536870912 bytes on node 1, distances 10 21
         vnode 1: vcpus 2-3,6-7, 536870912 bytes on node 0, distances 21 10
         cpu: 4 sockets x 1 dies x 2 cores x 1 threads, L3 shown",
    );
    for vnode in [Vnode(0), Vnode(1)] {
        assert!(kinds(&scene.planned()).contains(&FindingKind::VcpusInterleaved { vnode }));
    }
}

/// A one-node machine shows a two-node guest: 7 vCPUs are 4 and 3. 7 GiB are
/// 1,835,008 pages, of which 4 and 3 sevenths are 1,048,576 and 786,432: 4 and 3 GiB.
#[test]
fn several_cells_on_one_node() {
    let host = Shape { packages: 1, ..Shape::two_nodes(8, 64 * GIB) }.host();
    let mut scene = Scene::new(host, 7, 7 * GIB);
    scene.request.cells_per_node = 2;
    check(
        &scene,
        "0-6:0-6
         vnode 0: vcpus 0-3, 4 GiB on node 0, distances 10 11
         vnode 1: vcpus 4-6, 3 GiB on node 0, distances 11 10
         cpu: 7 sockets x 1 dies x 1 cores x 1 threads, L3 shown",
    );
    let shared = FindingKind::CellsShareNode { node: Pnode(0), cells: 2 };
    assert!(kinds(&scene.planned()).contains(&shared));

    scene.request.cells_per_node = 8;
    refuses(&scene, &[Refusal::CellsPerNode { asked: 8, node: Pnode(0), vcpus: 7 }]);
    scene.request.cells_per_node = 0;
    refuses(&scene, &[Refusal::CellsPerNode { asked: 0, node: Pnode(0), vcpus: 7 }]);
}

/// What a guest cannot be told: no table at all, a zero, something past a byte. It is told nothing
/// then. 10 and 255 are the ends of what can be told.
#[test]
fn distances_that_cannot_be_passed_on() {
    let cases = [
        (None, false),
        (Some(0), false),
        (Some(9), false),
        (Some(10), true),
        (Some(255), true),
        (Some(256), false),
    ];
    for (told, passed_on) in cases {
        let mut host = two_by(4);
        for node in &mut host.topology.nodes {
            let others = node.distances.iter_mut().filter(|(other, _)| **other != node.id);
            match told {
                Some(told) => others.for_each(|(_, distance)| *distance = told),
                None => node.distances.clear(),
            }
        }
        let plan = Scene::new(host, 8, 8 * GIB).planned();
        let vnuma = plan.vnuma.as_ref().expect("vNUMA was asked for");
        let shown = match told.filter(|_| passed_on) {
            Some(told) => [(Vnode(0), 10), (Vnode(1), told)].into(),
            None => BTreeMap::new(),
        };
        assert_eq!(vnuma.nodes[0].distances, shown, "{told:?}");
        assert_eq!(kinds(&plan).contains(&FindingKind::DistancesMissing), !passed_on);
    }
}

/// One way only is known: not the whole table, so nothing.
#[test]
fn half_a_table_is_none() {
    let mut host = two_by(4);
    host.topology.nodes[0].distances.remove(&Pnode(1));
    let plan = Scene::new(host, 8, 8 * GIB).planned();
    assert!(plan.vnuma.unwrap().nodes.iter().all(|node| node.distances.is_empty()));
}
