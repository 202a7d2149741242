//! Machines past the sizes that bit masks and permutations were made for. Their running time is a
//! guard against something quadratic creeping in.

use crate::scene::{GIB, Scene, kinds};
use numawise_model::{CpuSet, FindingKind, Host, Id, Mode, Pcpu, Policy, VcpuSet};
use numawise_testkit::{Numbering, Shape};

/// 64 nodes of 64 cores of 2 threads: 8,192 CPUs, the most a kernel can have.
fn largest() -> Host {
    let shape = Shape {
        packages: 16,
        nodes_per_package: 4,
        l3_per_node: 8,
        cores_per_l3: 8,
        threads: 2,
        numbering: Numbering::SiblingsApart,
        ..Shape::two_nodes(1, 512 * GIB)
    };
    shape.host()
}

#[test]
fn a_guest_as_large_as_the_largest_host() {
    let scene = Scene::new(largest(), 8192, 8192 * GIB);
    let plan = scene.planned();
    assert_eq!(plan.binding.pcpus(), CpuSet::range(0, 8191));
    let vnuma = plan.vnuma.expect("vNUMA was asked for");
    assert_eq!(vnuma.nodes.len(), 64);
    assert!(vnuma.nodes.iter().all(|node| node.memory_bytes == 128 * GIB));
    let cpu = vnuma.cpu;
    assert_eq!((cpu.sockets, cpu.dies, cpu.cores, cpu.threads), (64, 8, 8, 2));
}

/// 1,000 guests of 8 pCPUs leave the last 192; the lowest of node 0's 64 cores are taken first by
/// claims, so what is left is threads 8,000 to 8,191.
#[test]
fn a_crowded_host() {
    let mut scene = Scene::new(largest(), 192, 192 * GIB);
    for guest in 0..1000 {
        let list = format!("{}-{}", guest * 8, guest * 8 + 7);
        scene.held_by(&format!("guest{guest}"), &list, Mode::Exclusive);
    }
    assert_eq!(scene.planned().binding.pcpus(), CpuSet::range(8000, 8191));
    scene.request.vcpus = 193;
    scene.guest = None;
    assert_eq!(scene.refused().len(), 1);
}

/// Rules as wide as they can be: each of 64 vCPUs may use any of a node's 128 CPUs, and 129 may not.
#[test]
fn wide_rules() {
    let mut scene = Scene::new(largest(), 129, 129 * GIB);
    let node = scene.host.topology.nodes[63].cpus.clone();
    let rule = |vcpus| numawise_model::BindRule { vcpus, pcpus: node.clone() };
    scene.request.policy = Policy::Rules(vec![rule(VcpuSet::range(0, 128))]);
    assert_eq!(scene.refused().len(), 1, "129 vCPUs on 128 pCPUs");
    scene.request.overcommit = true;
    let told = FindingKind::Overcommitted { cpus: node.clone(), vcpus: VcpuSet::range(0, 128) };
    assert!(kinds(&scene.planned()).contains(&told));
}

/// A chain in which every vCPU has to move for the last one: 0-1, 1-2, ..., and then 0 alone.
#[test]
fn a_chain_of_moves() {
    let host = Shape { packages: 1, ..Shape::two_nodes(4096, 8192 * GIB) }.host();
    let mut scene = Scene::new(host, 4095, 4095 * GIB);
    let mut rules: Vec<_> = (0..4094)
        .map(|n| numawise_model::BindRule {
            vcpus: VcpuSet::range(n, n),
            pcpus: CpuSet::range(n, n + 1),
        })
        .collect();
    rules.push(numawise_model::BindRule {
        vcpus: VcpuSet::range(4094, 4094),
        pcpus: CpuSet::single(Pcpu::new(0)),
    });
    scene.request.policy = Policy::Rules(rules);
    assert!(scene.plan().is_ok(), "vCPU n moves to n + 1 and leaves 0 to the last");
}
