//! Where the threads of a guest run, and why one does not start.

use crate::scene::{CELLS, affinities, cpus, domain, failed, scene, scene_on, uuid};
use numawise_engine::ports::Hypervisor;
use numawise_model::{Pnode, Vcpu, Vnode};
use std::collections::BTreeMap;

#[test]
fn a_pin_comes_before_the_cpuset_and_the_cpuset_before_all_cpus() {
    let extra = "<iothreads>2</iothreads><cputune>\
                 <vcpupin vcpu='0' cpuset='1-7,^2,^3'/>\
                 <vcpupin vcpu='2' cpuset='^3,2-4'/>\
                 <vcpupin vcpu='9' cpuset='900'/>\
                 <iothreadpin iothread='2' cpuset='15'/></cputune>";
    let facts = scene().start(&domain(extra));
    // libvirt reads from left to right: the early ^3 takes nothing away.
    assert_eq!(affinities(&facts), ["1,4-7", "0-15", "2-4", "0-15"]);
    assert_eq!(facts.emulator_affinity, Some(cpus("0-15")));
    assert_eq!(facts.iothread_affinity, BTreeMap::from([(1, cpus("0-15")), (2, cpus("15"))]));

    let with_cpuset = domain(extra).replace("<vcpu>", "<vcpu cpuset='8-11'>");
    let facts = scene().start(&with_cpuset);
    assert_eq!(affinities(&facts), ["1,4-7", "8-11", "2-4", "8-11"]);
    assert_eq!(facts.emulator_affinity, Some(cpus("8-11")));
    assert_eq!(facts.iothread_affinity, BTreeMap::from([(1, cpus("8-11")), (2, cpus("15"))]));

    let emulator = extra.replace("<cputune>", "<cputune><emulatorpin cpuset='0'/>");
    assert_eq!(scene().start(&domain(&emulator)).emulator_affinity, Some(cpus("0")));
}

#[test]
fn elements_of_other_namespaces_are_passed_over() {
    let extra = "<metadata><x:cputune xmlns:x='urn:x'><x:vcpupin vcpu='0' cpuset='3'/></x:cputune>\
                 </metadata><x:cputune xmlns:x='urn:x'><vcpupin vcpu='0' cpuset='3'/></x:cputune>";
    assert_eq!(affinities(&scene().start(&domain(extra)))[0], "0-15");
}

#[test]
fn only_vcpus_that_are_there_have_threads() {
    let xml = domain("").replace("<vcpu>", "<vcpu current='2'>");
    let there: Vec<Vcpu> = scene().start(&xml).vcpu_affinity.into_keys().collect();
    assert_eq!(there, [Vcpu(0), Vcpu(1)]);
    let xml = domain(
        "<vcpus><vcpu id='0' enabled='yes'/><vcpu id='1' enabled='no'/>\
         <vcpu id='2' enabled='no'/><vcpu id='3' enabled='yes'/></vcpus>",
    )
    .replace("<vcpu>", "<vcpu current='2'>");
    let there: Vec<Vcpu> = scene().start(&xml).vcpu_affinity.into_keys().collect();
    assert_eq!(there, [Vcpu(0), Vcpu(3)]);
}

#[test]
fn iothread_ids_are_filled_up_from_the_lowest() {
    let extra = "<iothreads>3</iothreads><iothreadids><iothread id='2'/><iothread id='7'/>\
                 </iothreadids>";
    let ids: Vec<u32> = scene().start(&domain(extra)).iothread_affinity.into_keys().collect();
    assert_eq!(ids, [1, 2, 7]);
}

#[test]
fn the_guest_sees_the_cells_it_was_started_with() {
    let facts = scene().start(&domain(CELLS));
    let cells = facts.guest_cells.expect("the guest's view");
    let seen: Vec<String> = cells
        .iter()
        .map(|c| format!("{} {} {} {:?}", c.id, c.vcpus, c.memory_bytes >> 20, c.distances))
        .collect();
    // Distances that the XML does not give are libvirt's usual ones.
    assert_eq!(
        seen,
        ["0 0-2 1536 {Vnode(0): 10, Vnode(1): 20}", "1 3 512 {Vnode(0): 20, Vnode(1): 10}",]
    );
    let written = CELLS.replace(
        "unit='MiB'/>",
        "unit='MiB'><distances><sibling id='1' value='32'/></distances></cell>",
    );
    let cells = scene().start(&domain(&written)).guest_cells.expect("the guest's view");
    assert_eq!(cells[0].distances, BTreeMap::from([(Vnode(0), 10), (Vnode(1), 32)]));

    let cells = scene().start(&domain("")).guest_cells.expect("the guest's view");
    assert_eq!(cells.len(), 1, "a guest without NUMA is one node");
    assert_eq!((cells[0].vcpus.to_string().as_str(), cells[0].memory_bytes >> 20), ("0-3", 2048));
}

#[test]
fn what_qemu_would_not_start_does_not_start() {
    let huge = "<memoryBacking><hugepages/></memoryBacking>";
    let immediate = "<memoryBacking><allocation mode='immediate'/></memoryBacking>";
    let on_node_1 = "<numatune><memory mode='strict' nodeset='1'/></numatune>";
    let emulator_on_0 = "<cputune><emulatorpin cpuset='0-3'/></cputune>";
    let cases = [
        (
            "<cputune><vcpupin vcpu='1' cpuset='14-17'/></cputune>".to_owned(),
            "cannot set CPU affinity of vCPU 1: Invalid argument: CPUs 16-17 of 14-17 are not \
             online (the host has 0-15)",
        ),
        ("<cputune><emulatorpin cpuset='16'/></cputune>".to_owned(), "the emulator: Invalid arg"),
        (CELLS.replace("cpus='0-2'", "cpus='0-1'"), "the cells have 3 vCPUs and the guest has 4"),
        (on_node_1.replace("'1'", "'2'"), "NUMA node 2 is unavailable"),
        (
            huge.to_owned() + on_node_1 + emulator_on_0,
            "Setting CPU affinity failed: Invalid argument: memory of guest node 0 is preallocated \
             from the CPUs 8-15 of node 1, and the emulator may run on 0-3 alone",
        ),
        (immediate.to_owned() + on_node_1 + emulator_on_0, "Setting CPU affinity failed"),
        (
            "<memoryBacking><hugepages><page size='16' unit='M'/></hugepages></memoryBacking>"
                .to_owned(),
            "Unable to find any usable hugetlbfs mount for 16384 KiB; the host has 2M, 1G",
        ),
        (
            CELLS.to_owned()
                + "<memoryBacking><hugepages><page size='1' unit='G'/></hugepages></memoryBacking>",
            "guest node 0 is 1610612736 bytes, no whole number of 1G pages",
        ),
    ];
    for (extra, wanted) in cases {
        let scene = scene();
        let text = scene.start_error(&domain(&extra));
        assert!(text.contains("guest 'vm' does not start: "), "{text}");
        assert!(text.contains(wanted), "{text}\nwanted: {wanted}");
        assert!(!scene.hypervisor.guests().expect("guests")[0].running);
        assert_eq!(scene.hypervisor.live_xml(&uuid()).expect("off"), None);
    }
}

/// The emulator must be able to run on the memory's nodes only where memory is touched at start,
/// and only where QEMU binds it.
#[test]
fn an_emulator_elsewhere_is_no_obstacle_without_preallocation() {
    let elsewhere = "<cputune><emulatorpin cpuset='0-3'/></cputune>";
    let covering = "<cputune><emulatorpin cpuset='0,8'/></cputune>";
    let huge = "<memoryBacking><hugepages/></memoryBacking>";
    let on_node_1 =
        |mode: &str| format!("<numatune><memory mode='{mode}' nodeset='1'/></numatune>");
    scene().start(&domain(&(on_node_1("strict") + elsewhere)));
    scene().start(&domain(&(on_node_1("strict") + huge + covering)));
    scene().start(&domain(&(on_node_1("restrictive") + huge + elsewhere)));
    scene().start(&domain(&(huge.to_owned() + elsewhere)));
}

/// A definition that was fine on another host.
#[test]
fn offline_cpus_are_no_place_for_a_thread() {
    let mut host = crate::scene::host();
    host.topology.online.remove(numawise_model::Pcpu(9));
    let scene = scene_on(host);
    let text = scene.start_error(&domain("<cputune><vcpupin vcpu='0' cpuset='9'/></cputune>"));
    assert!(text.contains("CPUs 9 of 9 are not online (the host has 0-8,10-15)"), "{text}");
}

#[test]
fn a_host_whose_memory_is_not_known_starts_nothing() {
    let mut host = crate::scene::host();
    host.levels.nodes.clear();
    host.topology.nodes[1].memory_total_bytes = None;
    let scene = scene_on(host);
    scene.define(&domain(""));
    let text = failed(scene.hypervisor.start(&uuid()));
    assert!(text.contains("how much memory node 1 has is not known"), "{text}");
    assert_eq!(scene.hypervisor.host().expect("a host").topology.nodes[1].id, Pnode(1));
}
