//! Hosts, guests and plans that several tests draw.

use numawise_model::guest::GuestCell;
use numawise_model::{
    Claim, ClaimId, CpuSet, GuestCpuTopology, GuestUuid, HelperPlacement, Host, Ledger, Mode, Node,
    Owner, Pcpu, Pnode, Purpose, Source, Utilisation, Vcpu, Vnode,
};
use numawise_render::{GuestState, GuestView, Look};
use numawise_testkit::{Numbering, Shape};
use std::collections::BTreeMap;

pub const GIB: u64 = 1 << 30;

pub fn cpus(text: &str) -> CpuSet {
    numawise_model::parse_list(text).expect("a list in a test")
}

/// The seed's host: two packages of 32 cores without SMT.
pub fn two_by_32() -> Host {
    Shape::two_nodes(32, 256 * GIB).host()
}

/// Two packages x 4 nodes x 3 L3 domains x 8 cores x 2 threads: 384 CPUs.
pub fn epyc_384() -> Host {
    Shape {
        packages: 2,
        nodes_per_package: 4,
        l3_per_node: 3,
        cores_per_l3: 8,
        threads: 2,
        numbering: Numbering::SiblingsApart,
        node_bytes: 192 * GIB,
        hugepages: BTreeMap::new(),
    }
    .host()
}

/// Two packages x 1 node x 24 L3 domains x 8 cores x 2 threads: 768 CPUs.
pub fn epyc_768() -> Host {
    Shape { packages: 2, nodes_per_package: 1, l3_per_node: 24, ..epyc_shape() }.host()
}

fn epyc_shape() -> Shape {
    Shape {
        packages: 1,
        nodes_per_package: 1,
        l3_per_node: 2,
        cores_per_l3: 8,
        threads: 2,
        numbering: Numbering::SiblingsApart,
        node_bytes: 192 * GIB,
        hugepages: BTreeMap::new(),
    }
}

pub fn one_cpu_pair() -> Host {
    Shape { l3_per_node: 1, cores_per_l3: 1, ..epyc_shape() }.host()
}

/// 4 + 4 CPUs with a third node of memory alone (CXL).
pub fn with_memory_only_node() -> Host {
    let mut host = Shape::two_nodes(4, 16 * GIB).host();
    let distances = [(Pnode(0), 14), (Pnode(1), 24), (Pnode(2), 10)].into();
    host.topology.nodes.push(Node {
        id: Pnode(2),
        cpus: CpuSet::new(),
        memory_total_bytes: Some(64 * GIB),
        distances,
    });
    host.topology.nodes[0].distances.insert(Pnode(2), 14);
    host.topology.nodes[1].distances.insert(Pnode(2), 24);
    host
}

/// One L3 domain over both nodes: sub-NUMA clustering.
pub fn l3_over_two_nodes() -> Host {
    let mut host = Shape::two_nodes(4, 16 * GIB).host();
    host.topology.packages =
        vec![numawise_model::Package { cpus: cpus("0-7"), firmware_id: Some(0) }];
    host.topology.l3_domains.truncate(1);
    host.topology.l3_domains[0].cpus = cpus("0-7");
    host
}

/// CPUs 6-7 are in no node.
pub fn cpus_in_no_node() -> Host {
    let mut host = Shape::two_nodes(4, 16 * GIB).host();
    host.topology.nodes[1].cpus = cpus("4-5");
    host
}

pub fn no_l3() -> Host {
    let mut host = Shape::two_nodes(4, 16 * GIB).host();
    host.topology.l3_domains.clear();
    host
}

/// A node that reaches over both packages.
pub fn node_over_two_packages() -> Host {
    let mut host = Shape::two_nodes(4, 16 * GIB).host();
    host.topology.nodes.truncate(1);
    host.topology.nodes[0].cpus = cpus("0-7");
    host.topology.nodes[0].distances = [(Pnode(0), 10)].into();
    host
}

pub fn guest_owner(name: &str, number: u32) -> Owner {
    let uuid = GuestUuid(format!("00000000-0000-4000-8000-{number:012}"));
    Owner::Guest { uuid, name: name.to_owned() }
}

pub fn claim(owner: Owner, list: &str, mode: Mode) -> Claim {
    Claim {
        id: ClaimId(format!("claim-{list}")),
        owner,
        cpus: cpus(list),
        mode,
        purpose: Purpose::Vcpus,
        pages: BTreeMap::new(),
        source: Source::Numawise,
    }
}

pub fn ledger(claims: Vec<Claim>) -> Ledger {
    Ledger { claims }
}

/// Every CPU used a little more than the one before it.
pub fn with_use(mut host: Host) -> Host {
    let used =
        host.topology.online.iter().map(|Pcpu(n)| (Pcpu(n), Utilisation((n * 37 % 1001) as u16)));
    host.levels.utilisation = used.collect();
    host
}

/// The seed's guest on [`two_by_32`]: 48 vCPUs, the higher node first.
pub fn seed_guest(host: &Host) -> GuestView<'_> {
    let cell = |id: u32, first: u32, last: u32, gib: u64, distances: [u32; 2]| GuestCell {
        id: Vnode(id),
        vcpus: (first..=last).map(Vcpu).collect(),
        memory_bytes: gib * GIB,
        distances: [(Vnode(0), distances[0]), (Vnode(1), distances[1])].into(),
    };
    let onto = |v: u32| if v < 32 { v + 32 } else { v - 32 };
    GuestView {
        name: "db01",
        uuid: None,
        state: GuestState::Running,
        host_name: "seed",
        host,
        ledger: None,
        vcpus: 48,
        memory_bytes: 192 * GIB,
        binding: (0..48).map(|v| (Vcpu(v), CpuSet::single(Pcpu(onto(v))))).collect(),
        mode: Some(Mode::Exclusive),
        cells: vec![cell(0, 0, 31, 128, [10, 21]), cell(1, 32, 47, 64, [21, 10])],
        memory_nodes: [
            (Vnode(0), [Pnode(1)].into_iter().collect()),
            (Vnode(1), [Pnode(0)].into_iter().collect()),
        ]
        .into(),
        cpu: Some(GuestCpuTopology { sockets: 3, dies: 1, clusters: 1, cores: 16, threads: 1 }),
        helpers: HelperPlacement {
            emulator: Some(cpus("0,32")),
            iothreads: [(1, cpus("0,32")), (2, cpus("0,32"))].into(),
        },
        drift: Vec::new(),
        look: Look::default(),
    }
}

/// Two nodes that take CPUs in turn, as many two-socket machines number them.
pub fn every_second_cpu() -> Host {
    let mut host = Shape::two_nodes(32, 256 * GIB).host();
    for (n, parity) in [0u32, 1].into_iter().enumerate() {
        let own: CpuSet = (0..64).filter(|cpu| cpu % 2 == parity).map(Pcpu).collect();
        host.topology.nodes[n].cpus = own.clone();
        host.topology.packages[n].cpus = own.clone();
        host.topology.l3_domains[n].cpus = own;
    }
    host
}

/// 128 CPUs with an L3 domain for every core: 64 domains and one more would be too many lines.
pub fn many_small_l3() -> Host {
    Shape { packages: 2, l3_per_node: 64, cores_per_l3: 1, ..epyc_shape() }.host()
}

/// Sixteen nodes: at 60 columns their distances do not fit as a matrix.
pub fn sixteen_nodes() -> Host {
    let shape = Shape { packages: 2, nodes_per_package: 8, l3_per_node: 1, ..epyc_shape() };
    let mut host = shape.host();
    // Several distances, so that the line of groups is long as well.
    for (n, node) in host.topology.nodes.iter_mut().enumerate() {
        for (to, distance) in &mut node.distances {
            *distance += (n as u32 ^ to.0) % 4;
        }
    }
    host
}

/// Offline, isolated and forbidden CPUs, hugepages, devices near, far and of no known place, under
/// a hypervisor.
pub fn odd_host() -> Host {
    use numawise_model::{DeviceKind, HugepageLevels, Hypervisor, Locality, PageSize, PciDevice};
    let mut host = Shape::two_nodes(8, 16 * GIB).host();
    let t = &mut host.topology;
    t.offline = cpus("16-19");
    t.isolated = Some(cpus("4-5"));
    t.nohz_full = Some(cpus("4-5"));
    t.allowed.cpus = cpus("0-13");
    t.allowed.limited_by = Some("/sys/fs/cgroup/cpuset.cpus".to_owned());
    t.hypervisor = Some(Hypervisor { vendor: Some("KVM".to_owned()) });
    let device = |address: &str, kind, locality, name: &str| PciDevice {
        address: address.to_owned(),
        kind,
        class: 0,
        vendor: None,
        device: None,
        locality,
        names: if name.is_empty() { Vec::new() } else { vec![name.to_owned()] },
    };
    t.devices = vec![
        device("0000:01:00.0", DeviceKind::Nic, Locality::Node(Pnode(0)), "eth0"),
        device("0000:02:00.0", DeviceKind::Other, Locality::Node(Pnode(0)), ""),
        device("0000:41:00.0", DeviceKind::Nvme, Locality::Unknown, "nvme0"),
        device("0000:81:00.0", DeviceKind::Gpu, Locality::NearCpus(cpus("8-11")), ""),
    ];
    for (node, free) in [(0, 100), (1, 512)] {
        let pool = HugepageLevels { total: 512, free, reserved: None };
        let levels = host.levels.nodes.get_mut(&Pnode(node)).expect("the shape has both nodes");
        levels.hugepages.insert(PageSize::HUGE_2M, pool);
        levels.hugepages.insert(PageSize::HUGE_1G, HugepageLevels::default());
    }
    host
}

/// The plan that places [`seed_guest`].
pub fn seed_plan() -> numawise_model::Plan {
    use numawise_model::*;
    let host = two_by_32();
    let view = seed_guest(&host);
    let node = |cell: &GuestCell, host_node: u32| VnumaNode {
        id: cell.id,
        vcpus: cell.vcpus.clone(),
        memory_bytes: cell.memory_bytes,
        host_nodes: NodeSet::single(Pnode(host_node)),
        memory_nodes: NodeSet::single(Pnode(host_node)),
        distances: cell.distances.clone(),
    };
    Plan {
        id: PlanId("p-1".to_owned()),
        host: HostRef { id: HostId("seed".to_owned()), topology_digest: String::new() },
        guest: Some(GuestRef {
            name: "db01".to_owned(),
            uuid: GuestUuid("00000000-0000-4000-8000-000000000001".to_owned()),
            digest: String::new(),
        }),
        request: Request {
            vcpus: 48,
            memory_bytes: 192 * GIB,
            page_size: PageSize::BASE_4K,
            policy: Policy::Smart,
            shared: false,
            overcommit: false,
            vnuma: true,
            cells_per_node: 1,
            max_sockets: None,
            memory_mode: MemoryMode::Strict,
            new_topology: false,
            fix_guest: true,
            memory_only: None,
            guest_cache: None,
        },
        binding: Binding { cpus: view.binding.clone(), mode: Mode::Exclusive },
        vnuma: Some(VirtualTopology {
            nodes: vec![node(&view.cells[0], 1), node(&view.cells[1], 0)],
            cpu: view.cpu.expect("the seed's guest has a topology"),
            emulate_l3: false,
            l3_level: None,
        }),
        cpu_before: None,
        helpers: view.helpers.clone(),
        claims: Vec::new(),
        fixes: vec![GuestFix::BalloonOff],
        changes: Vec::new(),
        requires: Vec::new(),
        levels: host.levels.clone(),
        reasons: Vec::new(),
        findings: vec![Finding::plan(
            Severity::Info,
            FindingKind::UsesReservedCpus { cpus: cpus("0,32") },
        )],
    }
}

pub fn nodes(text: &str) -> numawise_model::NodeSet {
    numawise_model::parse_list(text).expect("a list in a test")
}

pub fn vcpus(text: &str) -> numawise_model::VcpuSet {
    numawise_model::parse_list(text).expect("a list in a test")
}

pub fn web() -> Owner {
    guest_owner("web01", 7)
}
