//! A plan made by hand, and how findings are compared.
//!
//! The host has two nodes of 8 cores with two threads, two L3 domains each: node 0 has pCPUs 0-7 and
//! their siblings 16-23, node 1 has 8-15 and 24-31. The guest has 24 vCPUs and 24 GiB in pages of
//! 2 MiB: 16 vCPUs and 16 GiB fill node 1, 8 vCPUs and 8 GiB go to node 0. The gcd of 16 and 8 is 8,
//! so it has 3 sockets of 4 cores with 2 threads; each is one L3 domain.

use numawise_model::guest::{Balloon, GuestHugepages, Numatune};
use numawise_model::{
    Binding, Claim, ClaimId, CpuPools, CpuSet, Finding, FindingKind, FrozenTopology, GuestConfig,
    GuestCpuTopology, GuestFacts, GuestRef, GuestUuid, HelperPlacement, Host, HostId, HostRef, Id,
    IdSet, Ledger, Levels, MemoryMode, Mode, NodeSet, Owner, PageCounts, PageSize, Pcpu, Plan,
    PlanId, Pnode, Policy, Predicate, Purpose, Request, Source, Vcpu, VirtualTopology, Vnode,
    VnumaNode,
};
use numawise_testkit::{Numbering, Shape};
use std::collections::{BTreeMap, BTreeSet};

pub const GIB: u64 = 1 << 30;

/// Everything that a judge is given.
#[derive(Clone)]
pub struct Case {
    pub host: Host,
    pub others: Ledger,
    pub pools: CpuPools,
    pub guest: Option<GuestConfig>,
    pub frozen: Option<FrozenTopology>,
    pub plan: Plan,
}

impl Case {
    pub fn judged(&self) -> Vec<Finding> {
        let (guest, frozen) = (self.guest.as_ref(), self.frozen.as_ref());
        numawise_audit::judge_plan(&self.host, &self.others, &self.pools, guest, frozen, &self.plan)
    }

    pub fn vnuma(&mut self) -> &mut VirtualTopology {
        self.plan.vnuma.as_mut().expect("the good plan has vNUMA")
    }

    pub fn guest(&mut self) -> &mut GuestConfig {
        self.guest.as_mut().expect("the good plan has a guest")
    }
}

pub fn set<I: Id>(list: &str) -> IdSet<I> {
    numawise_model::parse_list(list).expect("a list written in a test")
}

pub fn uuid() -> GuestUuid {
    GuestUuid("6a2f41a3-c54c-fce8-32d2-0324e1c32e22".to_owned())
}

pub fn own() -> Owner {
    Owner::Guest { uuid: uuid(), name: "db".to_owned() }
}

pub fn other() -> Owner {
    Owner::Guest { uuid: GuestUuid("0-0-0".to_owned()), name: "web".to_owned() }
}

pub fn claim(owner: Owner, cpus: &str, mode: Mode) -> Claim {
    Claim {
        id: ClaimId(format!("claim-{cpus}")),
        owner,
        cpus: set(cpus),
        mode,
        purpose: Purpose::Vcpus,
        pages: PageCounts::new(),
        source: Source::Numawise,
    }
}

pub fn pages(counts: &[(u32, PageSize, u64)]) -> PageCounts {
    let mut pages = PageCounts::new();
    for (node, size, count) in counts {
        pages.entry(Pnode(*node)).or_default().insert(*size, *count);
    }
    pages
}

/// Severity and rule of each finding, each once, in order of the alphabet.
pub fn rules(findings: &[Finding]) -> String {
    let name = |finding: &Finding| {
        let rule = match &finding.kind {
            FindingKind::PlanBreaksRule { rule, .. } => (*rule).to_owned(),
            kind => {
                let text = format!("{kind:?}");
                text.split([' ', '{']).next().expect("a variant has a name").to_owned()
            }
        };
        format!("{:?} {rule}", finding.severity)
    };
    let names: BTreeSet<String> = findings.iter().map(name).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

pub fn good() -> Case {
    let host = Shape {
        packages: 2,
        nodes_per_package: 1,
        l3_per_node: 2,
        cores_per_l3: 4,
        threads: 2,
        numbering: Numbering::SiblingsApart,
        node_bytes: 64 * GIB,
        hugepages: BTreeMap::from([(PageSize::HUGE_2M, 16_384)]),
    }
    .host();
    Case {
        host,
        others: Ledger::default(),
        pools: CpuPools::default(),
        guest: Some(before()),
        frozen: None,
        plan: plan(),
    }
}

fn plan() -> Plan {
    let cores = (8..16).chain(0..4);
    let cpus = cores.flat_map(|core| [core, core + 16]).map(|cpu| CpuSet::single(Pcpu(cpu)));
    let binding = Binding { cpus: (0..).map(Vcpu).zip(cpus).collect(), mode: Mode::Exclusive };
    let mut promise = claim(own(), "0-3,8-19,24-31", Mode::Exclusive);
    promise.pages = pages(&[(1, PageSize::HUGE_2M, 8192), (0, PageSize::HUGE_2M, 4096)]);
    Plan {
        id: PlanId("p".to_owned()),
        host: HostRef { id: HostId("h".to_owned()), topology_digest: String::new() },
        guest: Some(GuestRef { name: "db".to_owned(), uuid: uuid(), digest: String::new() }),
        request: Request {
            vcpus: 24,
            memory_bytes: 24 * GIB,
            page_size: PageSize::HUGE_2M,
            policy: Policy::Smart,
            shared: false,
            overcommit: false,
            vnuma: true,
            cells_per_node: 1,
            max_sockets: None,
            memory_mode: MemoryMode::Strict,
            new_topology: false,
            fix_guest: false,
            memory_only: None,
            guest_cache: None,
        },
        requires: vec![
            Predicate::CpusUnclaimed { cpus: binding.pcpus(), mode: Mode::Exclusive },
            Predicate::PagesAvailable { node: Pnode(1), size: PageSize::HUGE_2M, pages: 8192 },
            Predicate::PagesAvailable { node: Pnode(0), size: PageSize::HUGE_2M, pages: 4096 },
            Predicate::FrozenTopology { digest: None },
        ],
        binding,
        vnuma: Some(topology()),
        cpu_before: None,
        helpers: HelperPlacement { emulator: Some(set("7,8")), iothreads: BTreeMap::new() },
        claims: vec![promise],
        fixes: Vec::new(),
        changes: Vec::new(),
        levels: Levels::default(),
        reasons: Vec::new(),
        findings: Vec::new(),
    }
}

fn topology() -> VirtualTopology {
    let node = |id, vcpus, gib, host_node, distances: [u32; 2]| VnumaNode {
        id: Vnode(id),
        vcpus: set(vcpus),
        memory_bytes: gib * GIB,
        host_nodes: NodeSet::single(Pnode(host_node)),
        memory_nodes: NodeSet::single(Pnode(host_node)),
        distances: (0..).map(Vnode).zip(distances).collect(),
    };
    VirtualTopology {
        nodes: vec![node(0, "0-15", 16, 1, [10, 21]), node(1, "16-23", 8, 0, [21, 10])],
        cpu: GuestCpuTopology { sockets: 3, dies: 1, clusters: 1, cores: 4, threads: 2 },
        emulate_l3: true,
        l3_level: None,
    }
}

/// The guest before anything was done to it.
fn before() -> GuestConfig {
    GuestConfig {
        name: "db".to_owned(),
        uuid: Some(uuid()),
        vcpus_max: 24,
        vcpus_current: 24,
        memory_bytes: 24 * GIB,
        current_memory_bytes: 24 * GIB,
        balloon: Balloon::Off,
        ..GuestConfig::default()
    }
}

/// The guest once the good plan is written into it.
pub fn defined() -> GuestConfig {
    let plan = plan();
    let topology = topology();
    let home = |id| (MemoryMode::Strict, NodeSet::single(Pnode(id)));
    GuestConfig {
        vcpu_pins: plan.binding.cpus,
        emulator_pin: plan.helpers.emulator,
        cells: topology.cells(),
        cpu_topology: Some(topology.cpu),
        cpu_mode: Some("host-passthrough".to_owned()),
        l3_cache_mode: Some("emulate".to_owned()),
        numatune: Some(Numatune {
            memory_mode: None,
            memory_nodeset: None,
            memnodes: BTreeMap::from([(Vnode(0), home(1)), (Vnode(1), home(0))]),
        }),
        hugepages: Some(vec![GuestHugepages { size: PageSize::HUGE_2M, vnodes: None }]),
        ..before()
    }
}

/// What the kernel says of it when it runs as planned.
pub fn running() -> GuestFacts {
    let plan = plan();
    let by_vnode = [(Vnode(0), (1, 8192)), (Vnode(1), (0, 4096))];
    let of = |(node, count)| pages(&[(node, PageSize::HUGE_2M, count)]);
    GuestFacts {
        vcpu_affinity: plan.binding.cpus,
        emulator_affinity: plan.helpers.emulator,
        iothread_affinity: BTreeMap::new(),
        pages: pages(&[(1, PageSize::HUGE_2M, 8192), (0, PageSize::HUGE_2M, 4096)]),
        pages_by_vnode: Some(by_vnode.map(|(vnode, at)| (vnode, of(at))).into()),
        guest_cells: Some(topology().cells()),
        guest_l3: None,
        vcpu_cgroup: BTreeMap::new(),
        unseen: Vec::new(),
    }
}
