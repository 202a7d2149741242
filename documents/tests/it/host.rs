//! Hosts: what `host show --json` prints, and what a topology digest depends on.

use crate::every_variant::{cpus, findings, nodes};
use expect_test::expect_file;
use numawise_documents::{host_to_json, topology_digest};
use numawise_model::{
    DeviceKind, Host, HostId, Hypervisor, Locality, PageSize, PciDevice, Pcpu, Pnode, Topology,
    Utilisation,
};
use numawise_testkit::{Numbering, Shape};
use std::collections::BTreeMap;

fn two_nodes() -> Host {
    Shape {
        packages: 2,
        nodes_per_package: 1,
        l3_per_node: 1,
        cores_per_l3: 2,
        threads: 2,
        numbering: Numbering::SiblingsApart,
        node_bytes: 64 << 30,
        hugepages: BTreeMap::from([(PageSize::HUGE_2M, 512)]),
    }
    .host()
}

fn device(address: &str, kind: DeviceKind, locality: Locality) -> PciDevice {
    PciDevice {
        address: address.to_owned(),
        kind,
        class: 0x02_0000,
        vendor: Some(0x15b3),
        device: None,
        locality,
        names: vec!["eth0".to_owned()],
    }
}

/// Node 1 has gone to id 8 and memory-only node 9 is there, with one distance unknown.
fn odd_host() -> Host {
    let mut host = two_nodes();
    host.topology.nodes[1].id = Pnode(8);
    let mut memory_only = host.topology.nodes[1].clone();
    memory_only.id = Pnode(9);
    memory_only.cpus = cpus("");
    memory_only.memory_total_bytes = None;
    host.topology.nodes.push(memory_only);
    for (n, node) in host.topology.nodes.iter_mut().enumerate() {
        node.distances = BTreeMap::from([(Pnode(0), 10), (Pnode(8), 21), (Pnode(9), 17)]);
        if n == 2 {
            node.distances.remove(&Pnode(8));
        }
    }
    host.topology.nodes[1].distances.clear();
    host.topology.offline = cpus("8-9");
    host.topology.isolated = Some(cpus("3"));
    host.topology.nohz_full = None;
    host.topology.allowed.limited_by = Some("/sys/fs/cgroup/cpuset.cpus.effective".to_owned());
    host.topology.hypervisor = Some(Hypervisor { vendor: None });
    host.topology.devices = vec![
        device("0000:41:00.0", DeviceKind::Nic, Locality::Node(Pnode(8))),
        device("10000:01:00.0", DeviceKind::Nvme, Locality::NearCpus(cpus("0-1"))),
        device("0000:42:00.0", DeviceKind::Other, Locality::Unknown),
    ];
    host.levels.utilisation.insert(Pcpu(1), Utilisation(123));
    host.findings = findings().into_iter().take(3).collect();
    host
}

#[test]
fn the_written_form_is_the_one_on_file() {
    let text = host_to_json(&odd_host(), Some(&HostId("h-1".to_owned())));
    expect_file!["odd_host.json"].assert_eq(&text);
}

/// What is changed, and how.
type Change = (&'static str, fn(&mut Topology));

/// How a host stands now, its devices and its name are not what a plan rests on.
#[test]
fn what_changes_from_day_to_day_is_not_digested() {
    let host = odd_host();
    let before = topology_digest(&host.topology);
    let same: [Change; 6] = [
        ("allowed", |t| t.allowed.cpus = cpus("0-3")),
        ("allowed nodes", |t| t.allowed.memory_nodes = nodes("0")),
        ("limited by", |t| t.allowed.limited_by = None),
        ("devices", |t| t.devices.clear()),
        ("model", |t| t.model_name = None),
        ("hypervisor", |t| t.hypervisor = None),
    ];
    for (what, change) in same {
        let mut topology = host.topology.clone();
        change(&mut topology);
        assert_eq!(topology_digest(&topology), before, "{what}");
    }
}

#[test]
fn what_a_plan_rests_on_is_digested() {
    let host = odd_host();
    let before = topology_digest(&host.topology);
    let other: [Change; 12] = [
        ("online", |t| t.online.remove(Pcpu(7))),
        ("offline", |t| t.offline = cpus("")),
        ("isolated", |t| t.isolated = None),
        ("isolated none", |t| t.isolated = Some(cpus(""))),
        ("page sizes", |t| t.page_sizes.truncate(1)),
        ("node id", |t| t.nodes[1].id = Pnode(7)),
        ("node cpus", |t| t.nodes[1].cpus = cpus("2")),
        ("node memory", |t| t.nodes[1].memory_total_bytes = Some(1)),
        ("distances", |t| *t.nodes[0].distances.entry(Pnode(8)).or_default() += 1),
        ("packages", |t| t.packages[0].cpus = cpus("0")),
        ("l3", |t| t.l3_domains.truncate(1)),
        ("cores", |t| t.cores.truncate(1)),
    ];
    for (what, change) in other {
        let mut topology = host.topology.clone();
        change(&mut topology);
        assert_ne!(topology_digest(&topology), before, "{what}");
    }
}
