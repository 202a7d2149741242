//! Values with something in every field, so that a field that is lost on the way is noticed.

use numawise_engine::intent::{
    AppliedPlan, GuestRecord, HostState, Intent, IntentId, IntentKind, IntentStatus, Step,
};
use numawise_model::guest::GuestCell;
use numawise_model::{
    Binding, Claim, ClaimId, CpuSet, Finding, FindingKind, ForeignOwner, FrozenTopology,
    GuestCpuTopology, GuestFix, GuestRef, GuestUuid, HelperPlacement, HostId, HostRef,
    HugepageLevels, Ledger, Levels, Manager, MemoryMode, Mode, NodeLevels, NodeSet, Owner,
    PageCounts, PageSize, Pcpu, Pins, Plan, PlanId, Pnode, Policy, Predicate, Purpose, Reason,
    Request, Severity, Source, Utilisation, Vcpu, VcpuSet, VirtualTopology, Vnode, VnumaNode,
};
use std::collections::BTreeMap;

/// One of each step; the texts have what a careless store would spoil.
pub fn every_step() -> Vec<Step> {
    let xml = "<domain>\r\n  <!-- 'quoted' \"text\" \u{1f40b} & \t -->\n</domain>\n";
    vec![
        Step::Backup {
            before_xml: xml.to_owned(),
            after_xml: xml.repeat(20_000),
            was_running: true,
        },
        Step::OwnerOverridden { owner: ForeignOwner::Managed { by: Manager::Ovirt } },
        Step::LivePins { before: Pins { emulator: Some(CpuSet::range(0, 3)), ..Pins::default() } },
        Step::Defined,
        Step::PinnedLive,
        Step::ShutDown,
        Step::Started,
        Step::Verified { findings: 3 },
        Step::RollBack { because: "no memory on node 1\n".to_owned() },
        Step::RolledBack,
        Step::Finished,
        Step::Backup { before_xml: String::new(), after_xml: String::new(), was_running: false },
    ]
}

pub fn state() -> HostState {
    let guest = uuid();
    let applied = AppliedPlan {
        intent: IntentId("intent-2".to_owned()),
        plan: Box::new(plan("plan-2")),
        previous: Some(Box::new(AppliedPlan {
            intent: IntentId("intent-1".to_owned()),
            plan: Box::new(plan("plan-1")),
            previous: None,
        })),
    };
    let frozen = FrozenTopology {
        cells: cells(),
        cpu: cpu(),
        cpu_before: Some(GuestCpuTopology { sockets: 6, cores: 1, ..cpu() }),
    };
    let record =
        GuestRecord { name: "db 'one'".to_owned(), frozen: Some(frozen), applied: Some(applied) };
    HostState {
        revision: 0,
        ledger: Ledger { claims: claims() },
        intents: vec![
            intent("intent-2", IntentKind::Apply { plan: Box::new(plan("plan-2")) }),
            Intent {
                status: IntentStatus::Done,
                restart: false,
                ..intent("intent-3", IntentKind::Undo { applied: IntentId("intent-2".to_owned()) })
            },
        ],
        guests: BTreeMap::from([(guest, record)]),
    }
}

fn intent(id: &str, kind: IntentKind) -> Intent {
    Intent {
        id: IntentId(id.to_owned()),
        guest: uuid(),
        guest_name: "db 'one'".to_owned(),
        kind,
        restart: true,
        live: false,
        overridden: Some(ForeignOwner::Managed { by: Manager::Ovirt }),
        base_revision: 41,
        status: IntentStatus::Pending,
        created_unix_sec: 1_800_000_000,
    }
}

fn uuid() -> GuestUuid {
    GuestUuid("0b0d6a2e-53a1-4c59-8f3b-7a5f1c2d9e10".to_owned())
}

fn claims() -> Vec<Claim> {
    let claim = |id: &str, owner, mode, purpose, source| Claim {
        id: ClaimId(id.to_owned()),
        owner,
        cpus: CpuSet::range(32, 37),
        mode,
        purpose,
        pages: PageCounts::from([(Pnode(1), BTreeMap::from([(PageSize::HUGE_2M, 512)]))]),
        source,
    };
    let guest = Owner::Guest { uuid: uuid(), name: "db 'one'".to_owned() };
    let process = Owner::Process { name: "mysqld".to_owned() };
    let irq = Owner::Irq { device: "0000:41:00.0".to_owned() };
    vec![
        claim("c1", guest, Mode::Exclusive, Purpose::Vcpus, Source::Numawise),
        claim("c2", process, Mode::Shared, Purpose::Helpers, Source::Observed),
        claim("c3", irq, Mode::Exclusive, Purpose::Interrupts, Source::Numawise),
        claim("c4", Owner::Reserved, Mode::Shared, Purpose::Housekeeping, Source::Numawise),
    ]
}

fn cells() -> Vec<GuestCell> {
    topology().cells()
}

fn cpu() -> GuestCpuTopology {
    GuestCpuTopology { sockets: 3, dies: 1, clusters: 1, cores: 2, threads: 1 }
}

fn topology() -> VirtualTopology {
    let node = |id, first, last, gib: u64, host| VnumaNode {
        id: Vnode(id),
        vcpus: VcpuSet::range(first, last),
        memory_bytes: gib << 30,
        host_nodes: NodeSet::single(Pnode(host)),
        memory_nodes: NodeSet::single(Pnode(host)),
        distances: (0..2).map(|other| (Vnode(other), if other == id { 10 } else { 21 })).collect(),
    };
    VirtualTopology {
        nodes: vec![node(0, 0, 3, 4, 1), node(1, 4, 5, 2, 0)],
        cpu: cpu(),
        emulate_l3: true,
        l3_level: None,
    }
}

fn request() -> Request {
    Request {
        vcpus: 6,
        memory_bytes: 6 << 30,
        page_size: PageSize::HUGE_2M,
        policy: Policy::OnNode(vec![
            (Pnode(1), VcpuSet::range(0, 3)),
            (Pnode(0), VcpuSet::range(4, 5)),
        ]),
        shared: false,
        overcommit: true,
        vnuma: true,
        cells_per_node: 1,
        max_sockets: Some(4),
        memory_mode: MemoryMode::Preferred,
        new_topology: true,
        fix_guest: true,
        memory_only: None,
        guest_cache: None,
    }
}

fn levels() -> Levels {
    let node = NodeLevels {
        memory_free_bytes: Some(7 << 30),
        memory_available_bytes: None,
        hugepages: BTreeMap::from([(
            PageSize::HUGE_2M,
            HugepageLevels { total: 4096, free: 4000, reserved: Some(7) },
        )]),
    };
    Levels {
        nodes: BTreeMap::from([(Pnode(0), node.clone()), (Pnode(1), node)]),
        utilisation: BTreeMap::from([(Pcpu(33), Utilisation(125))]),
    }
}

pub fn plan(id: &str) -> Plan {
    let cpus: BTreeMap<Vcpu, CpuSet> =
        (0..6).map(|n| (Vcpu(n), CpuSet::single(Pcpu(32 + n)))).collect();
    Plan {
        id: PlanId(id.to_owned()),
        host: HostRef { id: HostId("host 1".to_owned()), topology_digest: "sha256:11".to_owned() },
        guest: Some(GuestRef {
            name: "db 'one'".to_owned(),
            uuid: uuid(),
            digest: "sha256:22".to_owned(),
        }),
        request: request(),
        binding: Binding { cpus, mode: Mode::Exclusive },
        vnuma: Some(topology()),
        cpu_before: None,
        helpers: HelperPlacement {
            emulator: Some(CpuSet::range(0, 1)),
            iothreads: BTreeMap::from([(1, CpuSet::single(Pcpu(1)))]),
        },
        claims: claims(),
        fixes: vec![GuestFix::BalloonOff, GuestFix::AllVcpusAtBoot],
        changes: Vec::new(),
        requires: vec![
            Predicate::CpusUnclaimed { cpus: CpuSet::range(32, 37), mode: Mode::Exclusive },
            Predicate::PagesAvailable { node: Pnode(1), size: PageSize::HUGE_2M, pages: 2048 },
            Predicate::FrozenTopology { digest: Some("sha256:33".to_owned()) },
            Predicate::FrozenTopology { digest: None },
        ],
        levels: levels(),
        reasons: vec![
            Reason::NodeOrder { nodes: vec![Pnode(1), Pnode(0)] },
            Reason::NodeFree { node: Pnode(1), free: CpuSet::range(32, 63) },
        ],
        findings: vec![Finding::plan(
            Severity::Warning,
            FindingKind::UsesReservedCpus { cpus: CpuSet::range(0, 1) },
        )],
    }
}
