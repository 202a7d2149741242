//! Where a guest's pages come from. A node has 12 GiB of base pages (3145728) and 2048 pages of 2M;
//! the guest has 2 GiB: 524288 base pages or 1024 of 2M.

use crate::scene::{
    BASE, CELLS, GIB, affinities, domain, failed, free_2m, free_bytes, host, named, of_cell,
    places, scene, scene_on, uuid,
};
use numawise_engine::ports::{Depth, Hypervisor};
use numawise_model::{GuestUuid, PageSize, Pnode};

const HUGE: PageSize = PageSize::HUGE_2M;
const HUGEPAGES: &str = "<memoryBacking><hugepages/></memoryBacking>";
const OTHER: &str = "5f3f6a0e-2d0c-4f50-9d0b-6d6f6f6c0002";

fn memory(mode: &str, nodes: &str) -> String {
    format!("<numatune><memory mode='{mode}' nodeset='{nodes}'/></numatune>")
}

/// `domain` with another amount of memory.
fn sized(kib: u64, extra: &str) -> String {
    domain(extra).replace("<memory unit='GiB'>2<", &format!("<memory>{kib}<"))
}

#[test]
fn a_policy_decides_and_without_one_the_touching_cpus_do() {
    let on_1 = "<cputune><vcpupin vcpu='0' cpuset='8'/><vcpupin vcpu='1' cpuset='9'/>\
                <vcpupin vcpu='2' cpuset='10'/><vcpupin vcpu='3' cpuset='11-12'/></cputune>";
    let gib_14 = 14 << 20;
    let cases = [
        ("anywhere", domain(""), "N0=262144 N1=262144"),
        ("vCPUs on node 1", domain(on_1), "N1=524288"),
        ("vCPUs on node 1, too big for it", sized(gib_14, on_1), "N0=524288 N1=3145728"),
        ("strict", domain(&memory("strict", "1")), "N1=524288"),
        ("strict wins over the vCPUs", domain(&(memory("strict", "0") + on_1)), "N0=524288"),
        (
            "strict is the default",
            domain("<numatune><memory nodeset='1'/></numatune>"),
            "N1=524288",
        ),
        ("strict, the lowest first", domain(&memory("strict", "0-1")), "N0=524288"),
        ("strict, then the next", sized(gib_14, &memory("strict", "0,1")), "N0=3145728 N1=524288"),
        ("preferred", domain(&memory("preferred", "1")), "N1=524288"),
        ("preferred and full", sized(gib_14, &memory("preferred", "1")), "N0=524288 N1=3145728"),
        ("interleave", domain(&memory("interleave", "0-1")), "N0=262144 N1=262144"),
        ("interleave, odd", sized(12, &memory("interleave", "0-1")), "N0=2 N1=1"),
        ("interleave on one", domain(&memory("interleave", "1")), "N1=524288"),
        ("restrictive", domain(&memory("restrictive", "1")), "N1=524288"),
        ("in libvirt's order", domain(&memory("strict", "^1,0-1,^0")), "N1=524288"),
        (
            "numad is not here",
            domain("<numatune><memory placement='auto'/></numatune>"),
            "N0=262144 N1=262144",
        ),
        ("a page for a part of one", sized(9, &memory("strict", "1")), "N1=3"),
    ];
    for (what, xml, wanted) in cases {
        let facts = scene().start(&xml);
        assert_eq!(places(&facts.pages, BASE), wanted, "{what}");
        assert_eq!(of_cell(&facts, 0, BASE), wanted, "{what}");
    }
}

#[test]
fn each_cell_has_its_own_node() {
    let memnodes = "<numatune><memory mode='strict' nodeset='0-1'/>\
                    <memnode cellid='0' mode='strict' nodeset='1'/></numatune>";
    let facts = scene().start(&domain(&(CELLS.to_owned() + memnodes)));
    assert_eq!(of_cell(&facts, 0, BASE), "N1=393216");
    // Cell 1 has no memnode: what is said for the whole guest holds.
    assert_eq!(of_cell(&facts, 1, BASE), "N0=131072");
    assert_eq!(places(&facts.pages, BASE), "N0=131072 N1=393216");

    // No policy: a cell's memory is touched by its own vCPUs.
    let pins = "<cputune><vcpupin vcpu='0' cpuset='8'/><vcpupin vcpu='1' cpuset='8'/>\
                <vcpupin vcpu='2' cpuset='9'/><vcpupin vcpu='3' cpuset='0'/></cputune>";
    let facts = scene().start(&domain(&(CELLS.to_owned() + pins)));
    assert_eq!(affinities(&facts), ["8", "8", "9", "0"]);
    assert_eq!(
        (of_cell(&facts, 0, BASE).as_str(), of_cell(&facts, 1, BASE).as_str()),
        ("N1=393216", "N0=131072")
    );
}

/// The nodes of all restrictive cells are one cgroup's, and who touches decides inside it.
#[test]
fn restrictive_memnodes_hold_the_guest_and_not_the_cell() {
    let crossed = "<numatune><memnode cellid='0' mode='restrictive' nodeset='1'/>\
                   <memnode cellid='1' mode='restrictive' nodeset='0'/></numatune>";
    let pins = "<cputune><vcpupin vcpu='0' cpuset='0'/><vcpupin vcpu='1' cpuset='1'/>\
                <vcpupin vcpu='2' cpuset='2'/><vcpupin vcpu='3' cpuset='8'/></cputune>";
    let facts = scene().start(&domain(&format!("{CELLS}{crossed}{pins}")));
    assert_eq!(of_cell(&facts, 0, BASE), "N0=393216");
    assert_eq!(of_cell(&facts, 1, BASE), "N1=131072");
    let both_on_1 = crossed.replace("nodeset='0'", "nodeset='1'");
    let facts = scene().start(&domain(&format!("{CELLS}{both_on_1}{pins}")));
    assert_eq!(places(&facts.pages, BASE), "N1=524288");
}

#[test]
fn hugepages_come_from_their_pools() {
    let facts = scene().start(&domain(&(HUGEPAGES.to_owned() + &memory("strict", "1"))));
    assert_eq!(
        (places(&facts.pages, HUGE).as_str(), places(&facts.pages, BASE).as_str()),
        ("N1=1024", "")
    );
    // Touched by the emulator, not by the vCPUs.
    let emulator = "<cputune><emulatorpin cpuset='8-9'/><vcpupin vcpu='0' cpuset='0'/></cputune>";
    let facts = scene().start(&domain(&(HUGEPAGES.to_owned() + emulator)));
    assert_eq!(places(&facts.pages, HUGE), "N1=1024");
    // The same for base pages that are allocated at once.
    let immediate = "<memoryBacking><allocation mode='immediate'/></memoryBacking>";
    let facts = scene().start(&domain(&(immediate.to_owned() + emulator)));
    assert_eq!(places(&facts.pages, BASE), "N1=524288");

    let by_cell = "<memoryBacking><hugepages>\
                   <page size='2048' unit='KiB' nodeset='1'/></hugepages></memoryBacking>";
    let facts = scene().start(&domain(&(CELLS.to_owned() + by_cell + &memory("strict", "0"))));
    assert_eq!(of_cell(&facts, 0, BASE), "N0=393216", "cell 0 has no page element");
    assert_eq!(
        (of_cell(&facts, 1, HUGE).as_str(), of_cell(&facts, 1, BASE).as_str()),
        ("N0=256", "")
    );
    let rest = by_cell.replace("<page", "<page size='4' unit='KiB'/><page");
    let facts = scene().start(&domain(&(CELLS.to_owned() + &rest)));
    assert_eq!(of_cell(&facts, 0, BASE), "N0=196608 N1=196608");
}

#[test]
fn memory_that_is_not_there_stops_the_start() {
    let gib_14 = 14 << 20;
    let cases = [
        (
            sized(gib_14, &memory("strict", "1")),
            "Cannot allocate memory: guest node 0 wants 3670016 pages of 4K, and node 1 has 3145728 \
             free",
        ),
        (sized(25 << 20, ""), "wants 6553600 pages of 4K, and node 0-1 has 6291456 free"),
        (sized(25 << 20, &memory("preferred", "0")), "node 0-1 has 6291456 free"),
        (sized(gib_14, &memory("restrictive", "1")), "node 1 has 3145728 free"),
        (
            sized(6 << 20, &(HUGEPAGES.to_owned() + &memory("strict", "0"))),
            "preallocating memory failed: Bad address: guest node 0 wants 3072 pages of 2M, and \
             node 0 has 2048 free",
        ),
        (
            domain(
                "<memoryBacking><hugepages><page size='1' unit='G'/></hugepages></memoryBacking>",
            ),
            "wants 2 pages of 1G, and node 0-1 has 0 free",
        ),
    ];
    for (xml, wanted) in cases {
        let scene = scene();
        let text = scene.start_error(&xml);
        assert!(text.contains(wanted), "{text}\nwanted: {wanted}");
        assert_eq!(scene.hypervisor.host().expect("a host"), host(), "nothing is held");
    }
}

#[test]
fn running_guests_take_from_the_host_and_stopped_ones_give_back() {
    let scene = scene();
    let second = GuestUuid(OTHER.to_owned());
    let huge = named("huge", OTHER, &(HUGEPAGES.to_owned() + &memory("strict", "1")));
    scene.start(&sized(6 << 20, &memory("strict", "0")));
    scene.define(&huge);
    scene.hypervisor.start(&second).expect("a start");
    let now = scene.hypervisor.host().expect("a host");
    assert_eq!((free_bytes(&now, 0), free_bytes(&now, 1)), (6 * GIB, 12 * GIB));
    assert_eq!((free_2m(&now, 0), free_2m(&now, 1)), (2048, 1024));
    assert_eq!(now.levels.nodes[&Pnode(0)].memory_available_bytes, Some(6 * GIB));
    assert_eq!(now.topology, host().topology);

    // First touch looks at what is free now, a third of it on node 0: 174762.67 and 349525.33.
    scene.hypervisor.force_off(&second).expect("off");
    scene.define(&named("huge", OTHER, ""));
    scene.hypervisor.start(&second).expect("a start");
    let facts =
        scene.hypervisor.observe(&second, Depth::Guest).expect("observing").expect("running");
    assert_eq!(places(&facts.pages, BASE), "N0=174763 N1=349525");

    // What is held cannot be given again.
    scene.hypervisor.force_off(&second).expect("off");
    let big = named("huge", OTHER, &memory("strict", "0"))
        .replace("<memory unit='GiB'>2<", "<memory unit='GiB'>7<");
    scene.define(&big);
    let text = failed(scene.hypervisor.start(&second));
    assert!(text.contains("wants 1835008 pages of 4K, and node 0 has 1572864 free"), "{text}");
    scene.shutdown().expect("a shutdown");
    scene.hypervisor.start(&second).expect("a start");
    scene.hypervisor.force_off(&second).expect("off");
    assert_eq!(scene.hypervisor.host().expect("a host"), host());
    assert_eq!(scene.hypervisor.live_xml(&uuid()).expect("off"), None);
}

/// Four nodes: 2 is nearer to 3 than 0 and 1 are.
#[test]
fn what_finds_no_room_goes_to_the_nearest_node() {
    let mut shape = numawise_testkit::Shape::two_nodes(4, GIB);
    shape.nodes_per_package = 2;
    let scene = scene_on(shape.host());
    let facts = scene.start(&sized(5 << 19, &memory("preferred", "3")));
    assert_eq!(places(&facts.pages, BASE), "N0=131072 N2=262144 N3=262144");
}

/// A source without levels (hwloc XML): the nodes' sizes are what there is, and what guests hold is
/// taken from them all the same.
#[test]
fn without_levels_the_size_of_a_node_is_its_room() {
    let mut bare = host();
    bare.levels = numawise_model::Levels::default();
    let scene = scene_on(bare.clone());
    scene.start(&sized(10 << 20, &memory("strict", "0")));
    assert_eq!(scene.hypervisor.host().expect("a host"), bare, "unknown stays unknown");
    let second = named("second", OTHER, &memory("strict", "0"))
        .replace("<memory unit='GiB'>2<", "<memory unit='GiB'>7<");
    scene.define(&second);
    let text = failed(scene.hypervisor.start(&GuestUuid(OTHER.to_owned())));
    assert!(text.contains("wants 1835008 pages of 4K, and node 0 has 1572864 free"), "{text}");
}
