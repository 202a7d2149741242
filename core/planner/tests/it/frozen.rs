//! Guests that cannot have vNUMA, and topologies that must not change.

use crate::binding::two_by;
use crate::scene::{GIB, Scene, refuses, vcpus_of};
use numawise_model::guest::{Balloon, MaxMemory};
use numawise_model::refusal::TopologyDifference;
use numawise_model::{
    FrozenTopology, GuestCpuTopology, GuestFix, Mode, PageSize, Policy, Predicate, Reason, Refusal,
    Vnode,
};

const BEFORE: GuestCpuTopology =
    GuestCpuTopology { sockets: 6, dies: 1, clusters: 1, cores: 1, threads: 1 };

fn cpu(sockets: u32, cores: u32) -> GuestCpuTopology {
    GuestCpuTopology { sockets, dies: 1, clusters: 1, cores, threads: 1 }
}

/// Everything at once that keeps a guest from vNUMA.
fn unfit() -> Scene {
    let mut scene = Scene::new(two_by(4), 6, 6 * GIB);
    let guest = scene.guest.as_mut().unwrap();
    guest.vcpus_current = 4;
    guest.max_memory = Some(MaxMemory { bytes: 64 * GIB, slots: 16 });
    guest.balloon = Balloon::Implicit;
    guest.placement_auto = true;
    scene
}

#[test]
fn an_unfit_guest_is_refused_for_each_element() {
    refuses(
        &unfit(),
        &[
            Refusal::VcpuHotplug { current: 4, maximum: 6 },
            Refusal::MemoryHotplug { slots: 16 },
            Refusal::Balloon { model: "virtio".to_owned() },
            Refusal::PlacementAuto,
        ],
    );
    let mut scene = Scene::new(two_by(4), 6, 6 * GIB);
    scene.guest.as_mut().unwrap().balloon = Balloon::Model("xen".to_owned());
    refuses(&scene, &[Refusal::Balloon { model: "xen".to_owned() }]);
}

#[test]
fn an_unfit_guest_can_be_fixed() {
    let mut scene = unfit();
    scene.request.fix_guest = true;
    let fixes = scene.planned().fixes;
    let all = [
        GuestFix::AllVcpusAtBoot,
        GuestFix::NoMemoryHotplug,
        GuestFix::BalloonOff,
        GuestFix::StaticPlacement,
    ];
    assert_eq!(fixes, all);
    // A guest that is fit is left alone.
    let mut fit = Scene::new(two_by(4), 6, 6 * GIB);
    fit.request.fix_guest = true;
    assert!(fit.planned().fixes.is_empty());
}

#[test]
fn a_binding_alone_suits_every_guest() {
    let mut scene = unfit();
    scene.request.vnuma = false;
    assert!(scene.planned().fixes.is_empty());
}

/// As if the scene's plan had been applied and the guest been seen running.
fn frozen_as_planned(scene: &Scene) -> FrozenTopology {
    let vnuma = scene.planned().vnuma.expect("vNUMA was asked for");
    FrozenTopology { cells: vnuma.cells(), cpu: vnuma.cpu, cpu_before: Some(BEFORE) }
}

#[test]
fn the_same_again_needs_no_word() {
    let mut scene = Scene::new(two_by(4), 6, 6 * GIB);
    scene.frozen = Some(frozen_as_planned(&scene));
    let plan = scene.planned();
    assert!(plan.reasons.contains(&Reason::KeepsFrozenTopology));
    let digest = Some("f".to_owned());
    assert!(plan.requires.contains(&Predicate::FrozenTopology { digest }));
}

/// Two nodes of 2 on other pCPUs and other nodes than before look the same to the guest.
#[test]
fn it_may_move_to_other_nodes() {
    let mut scene = Scene::on_node(two_by(4), 4, &[(1, "0-1"), (0, "2-3")]);
    scene.frozen = Some(frozen_as_planned(&scene));
    let moved = Scene::on_node(two_by(4), 4, &[(0, "0-1"), (1, "2-3")]);
    scene.request.policy = moved.request.policy;
    assert!(scene.planned().reasons.contains(&Reason::KeepsFrozenTopology));
}

/// Another guest has come to node 1 and left one pCPU there: 4 + 2 would become 1 + 4, one vCPU
/// short, so the guest shrinks to 5 with it. Every difference is told.
#[test]
fn a_different_one_is_refused_unless_asked_for() {
    let mut scene = Scene::new(two_by(4), 6, 6 * GIB);
    let frozen = frozen_as_planned(&scene);
    scene = Scene::new(two_by(4), 5, 5 * GIB);
    scene.frozen = Some(frozen);
    scene.held_by("web", "4-6", Mode::Exclusive);
    refuses(
        &scene,
        &[Refusal::TopologyFrozen {
            differences: vec![
                TopologyDifference::Vcpus {
                    vnode: Vnode(0),
                    frozen: vcpus_of("0-3"),
                    planned: vcpus_of("0"),
                },
                TopologyDifference::Memory {
                    vnode: Vnode(0),
                    frozen_bytes: 4 * GIB,
                    planned_bytes: GIB,
                },
                TopologyDifference::Vcpus {
                    vnode: Vnode(1),
                    frozen: vcpus_of("4-5"),
                    planned: vcpus_of("1-4"),
                },
                TopologyDifference::Memory {
                    vnode: Vnode(1),
                    frozen_bytes: 2 * GIB,
                    planned_bytes: 4 * GIB,
                },
                TopologyDifference::Sockets { frozen: cpu(3, 2), planned: cpu(5, 1) },
            ],
        }],
    );
    scene.request.new_topology = true;
    assert!(scene.plan().is_ok());
}

#[test]
fn another_number_of_nodes_and_other_distances() {
    let mut scene = Scene::new(two_by(4), 6, 6 * GIB);
    let mut frozen = frozen_as_planned(&scene);
    frozen.cells.pop();
    scene.frozen = Some(frozen);
    refuses(
        &scene,
        &[Refusal::TopologyFrozen {
            differences: vec![TopologyDifference::NodeCount { frozen: 1, planned: 2 }],
        }],
    );
    let mut frozen = frozen_as_planned(&Scene::new(two_by(4), 6, 6 * GIB));
    frozen.cells[1].distances.insert(Vnode(0), 32);
    scene.frozen = Some(frozen);
    refuses(
        &scene,
        &[Refusal::TopologyFrozen {
            differences: vec![TopologyDifference::Distances { vnode: Vnode(1) }],
        }],
    );
}

/// Off is always allowed, and puts the topology element back that stood there first.
#[test]
fn off_is_always_allowed() {
    let mut scene = Scene::new(two_by(4), 6, 6 * GIB);
    let mut frozen = frozen_as_planned(&scene);
    frozen.cells.pop();
    scene.frozen = Some(frozen);
    for policy in [Policy::Smart, Policy::Unbound] {
        (scene.request.vnuma, scene.request.policy) = (false, policy);
        let plan = scene.planned();
        assert_eq!((plan.vnuma, plan.cpu_before), (None, Some(BEFORE)));
    }
    // A guest that numawise never gave a topology keeps its own.
    let own = GuestCpuTopology { cores: 6, sockets: 1, ..BEFORE };
    scene.frozen = None;
    scene.guest.as_mut().unwrap().cpu_topology = Some(own);
    assert_eq!(scene.planned().cpu_before, Some(own));
}

/// Different kinds of refusals come together: the balloon, the pages and the binding.
#[test]
fn refusals_of_all_kinds_come_together() {
    let mut scene = Scene::new(two_by(4), 9, 9 * GIB + 1);
    scene.guest.as_mut().unwrap().balloon = Balloon::Implicit;
    scene.request.page_size = PageSize::HUGE_2M;
    let refusals = scene.refused();
    assert!(matches!(
        refusals[..],
        [
            Refusal::Balloon { .. },
            Refusal::MemoryNotWholePages { .. },
            Refusal::NotEnoughCpus { .. }
        ]
    ));
}
