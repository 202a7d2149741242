//! What a plan changes of a guest as it is, and when.

use crate::scene::{Scene, cpus, kinds, vcpus_of};
use numawise_model::guest::Numatune;
use numawise_model::{
    Change, ChangedPart as Part, Effect, FindingKind, GuestConfig, MemoryMode, NodeSet, Plan,
    Pnode, Refusal, Vcpu, Vnode,
};
use numawise_testkit::Shape;

const GIB: u64 = 1 << 30;

fn scene() -> Scene {
    Scene::on_node(Shape::two_nodes(8, 64 * GIB).host(), 4, &[(1, "0-3")])
}

/// The guest as it is once the plan was written into it.
fn written(scene: &Scene, plan: &Plan) -> GuestConfig {
    let topology = plan.vnuma.as_ref().expect("vNUMA is on");
    let node = |n: &numawise_model::VnumaNode| {
        (n.id, (plan.request.memory_mode, NodeSet::single(n.memory_node())))
    };
    let nodes = topology.nodes.iter().map(|node| node.memory_node()).collect();
    GuestConfig {
        vcpu_pins: plan.binding.cpus.clone(),
        emulator_pin: plan.helpers.emulator.clone(),
        iothread_pins: plan.helpers.iothreads.clone(),
        cpu_topology: Some(topology.cpu),
        cells: topology.cells(),
        numatune: Some(Numatune {
            memory_mode: Some(plan.request.memory_mode),
            memory_nodeset: Some(nodes),
            memnodes: topology.nodes.iter().map(node).collect(),
        }),
        ..scene.guest.clone().expect("a guest")
    }
}

fn parts(plan: &Plan) -> Vec<Part> {
    plan.changes.iter().map(|change| change.what).collect()
}

#[test]
fn pins_are_live_and_the_rest_waits() {
    let plan = scene().planned();
    let live = |what| Change { what, effect: Effect::Live };
    let boot = |what| Change { what, effect: Effect::NextBoot };
    let expected = [
        live(Part::VcpuPins),
        live(Part::EmulatorPin),
        boot(Part::VnumaNodes),
        boot(Part::GuestCpuTopology),
        boot(Part::MemoryBinding),
    ];
    assert_eq!(plan.changes, expected);
}

#[test]
fn a_guest_that_is_as_planned_changes_nothing() {
    let mut scene = scene();
    scene.guest = Some(written(&scene, &scene.planned()));
    assert_eq!(parts(&scene.planned()), []);
    scene.live = scene.guest.clone();
    assert_eq!(parts(&scene.planned()), []);
}

/// The definition says so already, and the running guest is older.
#[test]
fn what_runs_is_changed_too() {
    let mut scene = scene();
    let mut older = scene.guest.clone().expect("a guest");
    scene.guest = Some(written(&scene, &scene.planned()));
    scene.live = Some(older.clone());
    assert!(parts(&scene.planned()).contains(&Part::VnumaNodes));
    older = scene.guest.clone().expect("a guest");
    older.vcpu_pins.insert(Vcpu(3), cpus("2"));
    scene.live = Some(older);
    assert_eq!(parts(&scene.planned()), [Part::VcpuPins]);
}

/// The nodes of the running guest stay where they were bound while its vCPUs can move.
#[test]
fn memory_stays_behind() {
    let mut scene = scene();
    let here = written(&scene, &scene.planned());
    scene.guest = Some(here.clone());
    scene.live = Some(here);
    let mut away = Scene::on_node(scene.host.clone(), 4, &[(0, "0-3")]);
    (away.guest, away.live) = (scene.guest.clone(), scene.live.clone());
    let behind = |mode| FindingKind::MemoryStaysBehind {
        vnode: Vnode(0),
        mode,
        memory_nodes: NodeSet::single(Pnode(1)),
        cpu_node: Pnode(0),
    };
    assert!(kinds(&away.planned()).contains(&behind(MemoryMode::Strict)));
    assert!(!kinds(&scene.planned()).contains(&behind(MemoryMode::Strict)), "nothing moves");
    // Without a node of its own, memory goes where the kernel takes it.
    away.live.as_mut().expect("it runs").numatune = None;
    assert!(!kinds(&away.planned()).contains(&behind(MemoryMode::Strict)));
}

#[test]
fn plugged_modules_are_not_offered_to_be_fixed() {
    let mut scene = scene();
    let guest = scene.guest.as_mut().expect("a guest");
    guest.max_memory = Some(numawise_model::guest::MaxMemory { bytes: 64 * GIB, slots: 4 });
    guest.memory_modules = 2;
    scene.request.fix_guest = true;
    assert_eq!(scene.refused(), [Refusal::MemoryModules { modules: 2 }]);
    scene.request.vnuma = false;
    assert_eq!(scene.planned().binding.cpus.len(), vcpus_of("0-3").len());
}
