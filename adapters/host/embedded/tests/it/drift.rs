//! Making a running guest differ: what verify must be able to see.

use crate::scene::{
    BASE, CELLS, GIB, cpus, domain, failed, free_bytes, of_cell, open, places, scene, uuid,
};
use numawise_engine::ports::{Depth, Hypervisor};
use numawise_model::{PageSize, Pnode, Vcpu};

const PINNED: &str = "<cputune><vcpupin vcpu='1' cpuset='4'/></cputune>\
                      <numatune><memory mode='strict' nodeset='1'/></numatune>";

#[test]
fn a_repinned_thread_runs_elsewhere_until_the_next_boot() {
    let scene = scene();
    let xml = domain(PINNED);
    let before = scene.start(&xml);
    scene.hypervisor.repin(&uuid(), Vcpu(1), &cpus("6,9")).expect("repinning");
    let mut wanted = before.clone();
    wanted.vcpu_affinity.insert(Vcpu(1), cpus("6,9"));
    assert_eq!(open(scene.dir.path()).observe(&uuid(), Depth::Guest).expect("facts"), Some(wanted));
    // Neither definition knows of it.
    assert_eq!(scene.hypervisor.inactive_xml(&uuid()).expect("inactive"), xml);
    assert_eq!(scene.hypervisor.live_xml(&uuid()).expect("live"), Some(xml));
    scene.shutdown().expect("a shutdown");
    scene.hypervisor.start(&uuid()).expect("a start");
    assert_eq!(scene.facts(), before);
}

#[test]
fn migrated_pages_lie_and_count_elsewhere() {
    let scene = scene();
    let cells = domain(&(CELLS.to_owned() + PINNED));
    scene.start(&cells);
    let migrate =
        |from, to, pages| scene.hypervisor.migrate_pages(&uuid(), Pnode(from), Pnode(to), pages);
    // Cell 0 has 393216 pages, cell 1 131072: the first 400000 are all of cell 0's and some.
    assert_eq!(migrate(1, 0, Some(400_000)).expect("moving"), 400_000);
    let facts = scene.facts();
    assert_eq!(of_cell(&facts, 0, BASE), "N0=393216");
    assert_eq!(of_cell(&facts, 1, BASE), "N0=6784 N1=124288");
    let host = scene.hypervisor.host().expect("a host");
    assert_eq!(free_bytes(&host, 0), 12 * GIB - 400_000 * 4096);
    assert_eq!(free_bytes(&host, 1), 12 * GIB - 124_288 * 4096);
    assert_eq!(migrate(1, 0, None).expect("moving"), 124_288);
    assert_eq!(places(&scene.facts().pages, BASE), "N0=524288");
    assert_eq!(scene.hypervisor.live_xml(&uuid()).expect("live"), Some(cells));
}

#[test]
fn hugepages_move_into_pages_of_their_size() {
    let scene = scene();
    let huge = "<memoryBacking><hugepages/></memoryBacking>";
    scene.start(&domain(&(huge.to_owned() + PINNED)));
    let moved = scene.hypervisor.migrate_pages(&uuid(), Pnode(1), Pnode(0), Some(24));
    assert_eq!(moved.expect("moving"), 24);
    assert_eq!(places(&scene.facts().pages, PageSize::HUGE_2M), "N0=24 N1=1000");
}

#[test]
fn impossible_drift_is_refused() {
    let scene = scene();
    scene.define(&domain(PINNED));
    let repin = |vcpu, list| scene.hypervisor.repin(&uuid(), Vcpu(vcpu), &cpus(list));
    let migrate =
        |from, to, pages| scene.hypervisor.migrate_pages(&uuid(), Pnode(from), Pnode(to), pages);
    assert!(failed(repin(0, "1")).contains("is not running"));
    assert!(failed(migrate(1, 0, None)).contains("is not running"));
    scene.hypervisor.start(&uuid()).expect("a start");
    let before = scene.facts();
    assert!(failed(repin(4, "1")).contains("has no vCPU 4: it has 4 running"));
    assert!(failed(repin(0, "15-16")).contains("Invalid argument: the host has 0-15"));
    assert!(failed(repin(0, "")).contains("Invalid argument"));
    assert!(failed(migrate(0, 1, None)).contains("it has 0 on node 0"));
    assert!(failed(migrate(1, 0, Some(524_289))).contains("it has 524288 on node 1"));
    assert!(failed(migrate(1, 1, None)).contains("from node 1 to node 1"));
    assert!(failed(migrate(1, 7, None)).contains("no node 7; the host has 0, 1"));
    assert_eq!(scene.facts(), before);

    // 12 GiB there, and 11 of them taken by this very guest's neighbour.
    let other = "5f3f6a0e-2d0c-4f50-9d0b-6d6f6f6c0002";
    let filler = crate::scene::named(
        "filler",
        other,
        "<numatune><memory mode='strict' nodeset='0'/></numatune>",
    )
    .replace("<memory unit='GiB'>2<", "<memory unit='GiB'>11<");
    scene.define(&filler);
    scene.hypervisor.start(&numawise_model::GuestUuid(other.to_owned())).expect("a start");
    let text = failed(migrate(1, 0, None));
    assert!(text.contains("room for 262144 pages of 4K, and 524288 are to be moved"), "{text}");
}
