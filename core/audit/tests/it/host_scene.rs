//! A host in which the judge finds nothing, and how findings are compared.
//!
//! Two nodes of 8 cores with two threads, two L3 domains each: node 0 has pCPUs 0-7 and their siblings
//! 16-23, node 1 has 8-15 and 24-31; an L3 is four cores. Guest `db` runs with vNUMA: vCPUs 0-3 on two
//! cores of node 0, vCPUs 4-7 on two of node 1, 4 GiB in pages of 2 MiB on each. Guest `web` is off,
//! without vNUMA, its 4 vCPUs pinned to the two cores beside those of `db`. Emulators, interrupts and
//! the kernel's threads keep to core 7.

use crate::case::{GIB, claim, good, pages, set};
use numawise_audit::{AuditedGuest, AuditedHost, UndefinedGuest, judge_host};
use numawise_model::guest::{Balloon, GuestCell, GuestHugepages, Numatune};
use numawise_model::{
    AuditRule, CpuSet, Finding, FindingKind, FrozenTopology, GuestConfig, GuestCpuTopology,
    GuestFacts, GuestUuid, Host, Interrupt, KernelThread, Ksm, Ledger, MemoryMode, Mode, NodeSet,
    Owner, PageSize, Pcpu, Pnode, Severity, Subject, Surroundings, Vcpu, Vnode,
};
use std::collections::{BTreeMap, BTreeSet};

pub const HOUSEKEEPING: &str = "7,23";

#[derive(Clone)]
pub struct Guest {
    pub uuid: GuestUuid,
    pub name: String,
    pub stored: GuestConfig,
    pub live: Option<GuestConfig>,
    pub facts: Option<GuestFacts>,
    pub frozen: Option<FrozenTopology>,
    pub is_planned: bool,
}

#[derive(Clone)]
pub struct Scene {
    pub host: Host,
    pub surroundings: Surroundings,
    pub ledger: Ledger,
    pub db: Guest,
    pub web: Guest,
    pub undefined: Vec<UndefinedGuest>,
    pub known: Vec<Finding>,
}

impl Scene {
    pub fn judged(&self) -> Vec<Finding> {
        let guests = [&self.db, &self.web].map(|guest| AuditedGuest {
            uuid: &guest.uuid,
            name: &guest.name,
            stored: &guest.stored,
            live: guest.live.as_ref(),
            facts: guest.facts.as_ref(),
            frozen: guest.frozen.as_ref(),
            is_planned: guest.is_planned,
        });
        judge_host(&AuditedHost {
            host: &self.host,
            surroundings: &self.surroundings,
            ledger: &self.ledger,
            guests: &guests,
            undefined: &self.undefined,
            known: &self.known,
        })
    }

    /// A finding about `web` that was made elsewhere and is handed in.
    pub fn knows(&mut self, severity: Severity, kind: FindingKind) {
        let subject =
            Subject::Guest { uuid: Some(self.web.uuid.clone()), name: self.web.name.clone() };
        self.known.push(Finding { severity, subject, kind });
    }

    pub fn claim(&mut self, owner: Owner, cpus: &str, mode: Mode) {
        self.ledger.claims.push(claim(owner, cpus, mode));
    }

    /// `db` as it runs and as it is stored.
    pub fn db_everywhere(&mut self, change: impl Fn(&mut GuestConfig)) {
        change(&mut self.db.stored);
        change(self.db.live.as_mut().expect("db runs"));
    }

    pub fn pin_web(&mut self, vcpu: u32, cpus: &str) {
        self.web.stored.vcpu_pins.insert(Vcpu(vcpu), set(cpus));
    }

    pub fn interrupts(&mut self) -> &mut Vec<Interrupt> {
        self.surroundings.interrupts.as_mut().expect("seen in the quiet scene")
    }

    pub fn threads(&mut self) -> &mut Vec<KernelThread> {
        self.surroundings.kernel_threads.as_mut().expect("seen in the quiet scene")
    }
}

/// The names of the rules, each once.
pub fn rules(findings: &[Finding]) -> BTreeSet<&'static str> {
    findings.iter().filter_map(|f| AuditRule::of(&f.kind)).map(AuditRule::name).collect()
}

pub fn owner(guest: &str) -> Owner {
    Owner::Guest { uuid: GuestUuid(format!("uuid-of-{guest}")), name: guest.to_owned() }
}

/// Firmware that makes each L3 a node: nodes 0 and 1 are slices of the first package's memory, 2 and
/// 3 of the second's. The guests' memory is bound to both slices.
pub fn l3_as_numa() -> Scene {
    let mut scene = l3_nodes(["0-1", "2-3"]);
    for (from, to) in [(0, 1), (1, 0), (2, 3), (3, 2)] {
        scene.host.topology.nodes[from].distances.insert(Pnode(to as u32), 11);
    }
    bind_web(&mut scene, "0-1");
    scene
}

/// The same CPUs, and each L3 has memory of its own, to which guests are bound: the nodes of a package
/// are 12 apart.
pub fn l3_with_memory() -> Scene {
    let mut scene = l3_nodes(["0", "2"]);
    bind_web(&mut scene, "0");
    scene
}

fn l3_nodes(memory: [&str; 2]) -> Scene {
    let mut scene = quiet();
    scene.host = numawise_testkit::Shape { nodes_per_package: 2, l3_per_node: 1, ..shape() }.host();
    let on = |nodes: &str| (MemoryMode::Strict, set::<Pnode>(nodes));
    scene.db_everywhere(|config| {
        let memnodes = BTreeMap::from([(Vnode(0), on(memory[0])), (Vnode(1), on(memory[1]))]);
        config.numatune.as_mut().expect("bound").memnodes = memnodes;
        for (cell, distances) in config.cells.iter_mut().zip([[10, 32], [32, 10]]) {
            cell.distances = (0..).map(Vnode).zip(distances).collect();
        }
    });
    let facts = scene.db.facts.as_mut().expect("db runs");
    let far = pages(&[(2, PageSize::HUGE_2M, 2048)]);
    facts.pages_by_vnode.as_mut().expect("told apart").insert(Vnode(1), far);
    scene
}

pub fn bind_web(scene: &mut Scene, nodes: &str) {
    let numatune = scene.web.stored.numatune.as_mut().expect("web is bound");
    numatune.memory_nodeset = Some(set(nodes));
}

fn shape() -> numawise_testkit::Shape {
    numawise_testkit::Shape {
        packages: 2,
        nodes_per_package: 1,
        l3_per_node: 2,
        cores_per_l3: 4,
        threads: 2,
        numbering: numawise_testkit::Numbering::SiblingsApart,
        node_bytes: 64 * GIB,
        hugepages: BTreeMap::from([(PageSize::HUGE_2M, 16_384)]),
    }
}

pub fn quiet() -> Scene {
    let mut db_claim = claim(owner("db"), "0-1,8-9,16-17,24-25", Mode::Exclusive);
    db_claim.pages = pages(&[(0, PageSize::HUGE_2M, 2048), (1, PageSize::HUGE_2M, 2048)]);
    let web_claim = claim(owner("web"), "2-3,18-19", Mode::Exclusive);
    Scene {
        host: good().host,
        surroundings: surroundings(),
        ledger: Ledger { claims: vec![db_claim, web_claim] },
        db: guest("db", db(), true),
        web: guest("web", web(), false),
        undefined: Vec::new(),
        known: Vec::new(),
    }
}

fn guest(name: &str, config: GuestConfig, runs: bool) -> Guest {
    let Owner::Guest { uuid, name } = owner(name) else { panic!("a guest") };
    let facts = runs.then(|| facts(&config));
    let live = runs.then(|| config.clone());
    Guest { uuid, name, stored: config, live, facts, frozen: None, is_planned: false }
}

fn pins(cpus: &[u32]) -> BTreeMap<Vcpu, CpuSet> {
    (0..).map(Vcpu).zip(cpus.iter().map(|cpu| CpuSet::single(Pcpu(*cpu)))).collect()
}

fn db() -> GuestConfig {
    let cell = |id, vcpus, distances: [u32; 2]| GuestCell {
        id: Vnode(id),
        vcpus: set(vcpus),
        memory_bytes: 4 * GIB,
        distances: (0..).map(Vnode).zip(distances).collect(),
    };
    let strict = |node| (MemoryMode::Strict, NodeSet::single(Pnode(node)));
    GuestConfig {
        name: "db".to_owned(),
        vcpus_max: 8,
        vcpus_current: 8,
        memory_bytes: 8 * GIB,
        balloon: Balloon::Off,
        vcpu_pins: pins(&[0, 16, 1, 17, 8, 24, 9, 25]),
        emulator_pin: Some(set(HOUSEKEEPING)),
        cpu_topology: Some(GuestCpuTopology {
            sockets: 2,
            dies: 1,
            clusters: 1,
            cores: 2,
            threads: 2,
        }),
        cells: vec![cell(0, "0-3", [10, 21]), cell(1, "4-7", [21, 10])],
        numatune: Some(Numatune {
            memnodes: BTreeMap::from([(Vnode(0), strict(0)), (Vnode(1), strict(1))]),
            ..Numatune::default()
        }),
        hugepages: Some(vec![GuestHugepages { size: PageSize::HUGE_2M, vnodes: None }]),
        ..GuestConfig::default()
    }
}

fn facts(config: &GuestConfig) -> GuestFacts {
    let of = |node| pages(&[(node, PageSize::HUGE_2M, 2048)]);
    GuestFacts {
        vcpu_affinity: config.vcpu_pins.clone(),
        emulator_affinity: config.emulator_pin.clone(),
        pages: pages(&[(0, PageSize::HUGE_2M, 2048), (1, PageSize::HUGE_2M, 2048)]),
        pages_by_vnode: Some(BTreeMap::from([(Vnode(0), of(0)), (Vnode(1), of(1))])),
        ..GuestFacts::default()
    }
}

fn web() -> GuestConfig {
    GuestConfig {
        name: "web".to_owned(),
        vcpus_max: 4,
        vcpus_current: 4,
        memory_bytes: 4 * GIB,
        vcpu_pins: pins(&[2, 18, 3, 19]),
        emulator_pin: Some(set(HOUSEKEEPING)),
        cpu_topology: Some(GuestCpuTopology {
            sockets: 1,
            dies: 1,
            clusters: 1,
            cores: 2,
            threads: 2,
        }),
        numatune: Some(Numatune {
            memory_mode: Some(MemoryMode::Strict),
            memory_nodeset: Some(set("0")),
            memnodes: BTreeMap::new(),
        }),
        ..GuestConfig::default()
    }
}

pub fn interrupt(number: u32, name: &str, effective: &str) -> Interrupt {
    Interrupt {
        number,
        name: name.to_owned(),
        fired: 12_000,
        allowed: Some(set("0-31")),
        effective: Some(set(effective)),
        kernel_managed: false,
    }
}

pub fn thread(name: &str, cpus: &str) -> KernelThread {
    KernelThread { pid: 77, name: name.to_owned(), cpus: set(cpus) }
}

fn surroundings() -> Surroundings {
    Surroundings {
        interrupts: Ok(vec![interrupt(38, "eth0-TxRx-0", "7")]),
        kernel_threads: Ok(vec![thread("kthreadd", HOUSEKEEPING)]),
        workqueue_cpus: Ok(set(HOUSEKEEPING)),
        ksm: Ok(Ksm { is_running: false, merges_across_nodes: Some(true) }),
        zone_reclaim_mode: Ok(0),
        numa_balancing: Ok(0),
    }
}
