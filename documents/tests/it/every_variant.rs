//! One value of every kind that a document can hold. A variant that is missing here is not tested,
//! so the counts are checked against the checked-in schema in `plan.rs`.

use crate::every_host_finding::of_whole_hosts;
use numawise_model::finding::{L3Untold, SetKind};
use numawise_model::guest::{CacheLevel, GuestCell};
use numawise_model::placement::{
    Footprint, Lost, MemoryReach, NodeConstraint, NodeLack, Preference,
};
use numawise_model::reason::{EmulatorChoice, Exclusion};
use numawise_model::{
    Claim, ClaimId, CpuSet, Finding, FindingKind, ForeignOwner, GuestCpuTopology, GuestUuid,
    Manager, MemoryMode, Mode, NodeSet, Obstacle, Owner, PageSize, Pcpu, Pnode, Predicate, Proof,
    Purpose, Reason, Score, Severity, Sight, Source, Subject, Vcpu, VcpuSet, Vnode,
};
use std::collections::BTreeMap;

pub fn cpus(list: &str) -> CpuSet {
    numawise_model::parse_list(list).expect("a list written in a test")
}

pub fn vcpus(list: &str) -> VcpuSet {
    numawise_model::parse_list(list).expect("a list written in a test")
}

pub fn nodes(list: &str) -> NodeSet {
    numawise_model::parse_list(list).expect("a list written in a test")
}

pub fn uuid() -> GuestUuid {
    GuestUuid("6a2f41a3-c54c-fce8-32d2-0324e1c32e22".to_owned())
}

pub fn guest() -> Owner {
    Owner::Guest { uuid: uuid(), name: "db <1> & \"co\"".to_owned() }
}

pub fn cpu_topology() -> GuestCpuTopology {
    GuestCpuTopology { sockets: 3, dies: 1, clusters: 1, cores: 8, threads: 2 }
}

fn lack(binding: NodeConstraint) -> NodeLack {
    NodeLack { node: Pnode(3), free: cpus("0-7"), seats: 8, pages: Some(12), binding }
}

pub fn owners() -> Vec<Owner> {
    vec![
        guest(),
        Owner::Process { name: "postgres".to_owned() },
        Owner::Irq { device: "0000:41:00.0".to_owned() },
        Owner::Reserved,
    ]
}

pub fn claims() -> Vec<Claim> {
    let purposes = [Purpose::Vcpus, Purpose::Helpers, Purpose::Interrupts, Purpose::Housekeeping];
    let pages = BTreeMap::from([
        (Pnode(2), BTreeMap::from([(PageSize::HUGE_1G, 4), (PageSize::BASE_4K, 0)])),
        (Pnode(10), BTreeMap::new()),
    ]);
    let claim = |(n, (owner, purpose)): (usize, (Owner, Purpose))| Claim {
        id: ClaimId(format!("claim-{n}")),
        owner,
        cpus: cpus("0-3,8,8191"),
        mode: if n % 2 == 0 { Mode::Exclusive } else { Mode::Shared },
        purpose,
        pages: pages.clone(),
        source: if n % 2 == 0 { Source::Numawise } else { Source::Observed },
    };
    owners().into_iter().zip(purposes).enumerate().map(claim).collect()
}

pub fn cells() -> Vec<GuestCell> {
    let cell = |id, list, distances: &[(u32, u32)]| GuestCell {
        id: Vnode(id),
        vcpus: vcpus(list),
        memory_bytes: (u64::from(id) + 1) << 37,
        distances: distances.iter().map(|(to, d)| (Vnode(*to), *d)).collect(),
    };
    vec![
        cell(0, "0-31", &[(0, 10), (1, 21), (2, 21)]),
        cell(1, "32-47", &[(0, 21), (2, 255)]),
        cell(2, "", &[]),
    ]
}

pub fn predicates() -> Vec<Predicate> {
    vec![
        Predicate::CpusUnclaimed { cpus: cpus("3-7"), mode: Mode::Exclusive },
        Predicate::PagesAvailable { node: Pnode(1), size: PageSize::HUGE_2M, pages: u64::MAX },
        Predicate::FrozenTopology { digest: Some("ab12".to_owned()) },
        Predicate::FrozenTopology { digest: None },
    ]
}

pub fn reasons() -> Vec<Reason> {
    let (node, vnode) = (Pnode(1), Vnode(0));
    let mut reasons = vec![
        Reason::NodeOrder { nodes: vec![Pnode(1), Pnode(0)] },
        Reason::NodeFree { node, free: cpus("32-63") },
        Reason::Filled { node, vcpus: vcpus("0-31"), pcpus: cpus("32-63") },
        Reason::WrappedTo { node, vcpus: vcpus("64-69") },
        Reason::RulesTaken { rules: 2, vcpus: vcpus("0-20") },
        Reason::MemoryShared { vnode, pages: 65_536, page_size: PageSize::HUGE_2M, node },
        Reason::MemoryFromNeighbour {
            vnode,
            cpu_node: node,
            memory_node: Pnode(0),
            distance: None,
        },
        Reason::Sockets { sockets: 3, vcpus_each: 16, vnode_sizes: vec![32, 16] },
        Reason::SocketsCapped { wanted: 3, given: 2 },
        Reason::DiesAreL3Domains { dies: 2, vcpus_each: 8 },
        Reason::ThreadsAreSiblings { threads: 2 },
        Reason::EmulatorPlaced { cpus: cpus("0"), why: EmulatorChoice::Housekeeping },
        Reason::EmulatorPlaced { cpus: cpus("1"), why: EmulatorChoice::GuestsOwn },
        Reason::EmulatorPlaced { cpus: cpus("2"), why: EmulatorChoice::HousekeepingAndOwn },
        Reason::VnumaOff,
        Reason::KeepsFrozenTopology,
        Reason::Unbound,
        Reason::MemoryOnlyNodesLeftOut { nodes: nodes("2-3") },
        Reason::MemoryOnlyUsed {
            vnode: Vnode(0),
            cpu_node: Pnode(1),
            nodes: nodes("2"),
            distance: Some(13),
        },
        Reason::L3BySmpCache { level: CacheLevel::Core, vcpus_each: 1 },
        Reason::BestPlace {
            nodes: nodes("0,2"),
            score: Score { areas: 2, distance: 448, l3: [2, 0, 4], id_sum: 77, ..Score::default() },
            proof: Proof::BestFound { bound: 400 },
        },
        Reason::BestPlace { nodes: nodes("0"), score: Score::default(), proof: Proof::Optimal },
        Reason::WorsePlace {
            place: Lost { nodes: nodes("1"), on: Preference::L3Policy, ours: 1, theirs: 2 },
        },
        Reason::NodeCannot { lack: lack(NodeConstraint::Memory) },
        Reason::SideBySide {
            compact: None,
            spread: Some(Footprint {
                nodes: 1,
                cores: 8,
                l3_domains: 8,
                l3_bytes: Some(8 << 25),
                on_shared_cores: 16,
            }),
        },
        Reason::MemoryReach {
            reach: MemoryReach {
                remote_without_vnuma: 500,
                remote_with_vnuma: 0,
                mean_distance_without: Some(2100),
                mean_distance_with: None,
            },
        },
        Reason::SiblingsKeptIdle { cpus: cpus("16-31") },
        Reason::IsolatedFirst { cpus: cpus("8-15") },
    ];
    let exclusions = [
        Exclusion::Offline,
        Exclusion::NotAllowed { limited_by: Some("/sys/fs/cgroup/cpuset.cpus".to_owned()) },
        Exclusion::Reserved,
        Exclusion::OutsidePool,
        Exclusion::Claimed { owner: guest() },
        Exclusion::InNoNode,
    ];
    reasons.extend(exclusions.map(|why| Reason::Excluded { cpus: cpus("4"), why }));
    reasons
}

pub fn findings() -> Vec<Finding> {
    let subjects = [
        Subject::Host,
        Subject::Plan,
        Subject::Guest { uuid: Some(uuid()), name: "db".to_owned() },
        Subject::Guest { uuid: None, name: "new".to_owned() },
    ];
    let severities = [Severity::Info, Severity::Warning, Severity::Error];
    let kinds = [of_hosts(), of_plans(), of_guests(), of_whole_hosts()].concat();
    kinds
        .into_iter()
        .enumerate()
        .map(|(n, kind)| Finding {
            severity: severities[n % severities.len()],
            subject: subjects[n % subjects.len()].clone(),
            kind,
        })
        .collect()
}

fn of_hosts() -> Vec<FindingKind> {
    use FindingKind as K;
    let text = |s: &str| s.to_owned();
    let (node, some) = (Pnode(3), cpus("0-1"));
    vec![
        K::ListMapMismatch { file: text("node0/cpumap"), list: text("0-3"), map: text("f0") },
        K::CpusInSeveralNodes { cpus: some.clone(), nodes: nodes("0-7") },
        K::CpusInNoNode { cpus: some.clone() },
        K::DistanceColumns { node, columns: 2, online_nodes: 1 },
        K::SelfDistanceNotSmallest { node },
        K::DistanceAsymmetric { a: Pnode(0), b: node, there: 20, back: 21 },
        K::DistancesMissing,
        K::NodeMemoryUnknown { nodes: nodes("3") },
        K::CpuNodeWithoutMemory { nodes: nodes("3") },
        K::MemoryOnlyNodes { nodes: nodes("250-255") },
        K::SmtNotAvoided { nodes: nodes("0") },
        K::L3SharesUnequal { vcpus: vec![6, 6, 4] },
        K::NotProvenBest { distance: 12, bound: 10 },
        K::EmulatorBesideVcpus { cpus: cpus("0") },
        K::MaskNamesOffline { file: text("cpu1"), cpus: some.clone() },
        K::BadMask { file: text("cpu1"), cpu: Pcpu(1) },
        K::OverlappingSets { what: SetKind::Package, a: some.clone(), b: cpus("1-2") },
        K::OverlappingSets { what: SetKind::L3Domain, a: some.clone(), b: cpus("1-2") },
        K::OverlappingSets { what: SetKind::Core, a: some.clone(), b: cpus("1-2") },
        K::NoL3 { cpus: some.clone() },
        K::L3SpansNodes { cpus: some.clone(), nodes: nodes("0-1") },
        K::NodeSpansPackages { node, packages: 2 },
        K::MixedSmtWidths { widths: vec![1, 2] },
        K::UnequalL3 { sizes: vec![6, 8] },
        K::NodesAreL3Domains,
        K::RunsUnderHypervisor { vendor: Some(text("KVM")) },
        K::RunsUnderHypervisor { vendor: None },
        K::FakeNuma { argument: text("numa=fake=4") },
        K::AllowedCpusOutsideAllowedNodes { cpus: some.clone(), memory_nodes: nodes("2-3") },
        K::OnlineWithoutDirectory { cpus: some },
        K::NotBelieved { file: text("f"), value: text("-7"), wanted: text("a number") },
    ]
}

fn of_plans() -> Vec<FindingKind> {
    use FindingKind as K;
    let (node, vnode, some) = (Pnode(3), Vnode(1), cpus("0-1"));
    vec![
        K::UsesReservedCpus { cpus: some.clone() },
        K::UsesIsolatedCpus { cpus: some.clone() },
        K::IsolatedInWideMask { vcpu: Vcpu(7), cpus: some.clone() },
        K::Overcommitted { cpus: some.clone(), vcpus: vcpus("0-3") },
        K::SharesCpus { cpus: some.clone(), with: owners() },
        K::EmulatorOnVcpuCpus { cpus: some },
        K::EmulatorLacksMemoryNode { node },
        K::PrefillWithoutCpus { node },
        K::MaxSocketsCrossesNodes { sockets: 2, vnode },
        K::GuestL3Differs { host_domains: 4, guest_domains: 1 },
        K::GuestL3Untold { why: L3Untold::Unequal { vcpus: vec![3, 3, 2] } },
        K::GuestL3Untold { why: L3Untold::Scattered },
        K::GuestL3Untold { why: L3Untold::OtherThanSockets { vcpus_each: 8, in_socket: 4 } },
        K::GuestL3Untold { why: L3Untold::NoSmpCache { why: "QEMU 7.2".to_owned() } },
        K::GuestSmtHidden { host_threads: 2 },
        K::VcpusInterleaved { vnode },
        K::CellsShareNode { node, cells: 2 },
        K::MemoryUnchecked { node },
        K::MemoryOnOtherNode { vnode, cpu_node: node, memory_node: Pnode(0) },
        K::RuleOrder { rule: "^3,1-7".to_owned(), cpus: "3".to_owned() },
        K::SmtSiblingOfAnother { cpu: Pcpu(3), sibling: Pcpu(35), owner: guest() },
        K::UnpinnedGuest { name: "web".to_owned() },
        K::PlanBreaksRule { rule: "vcpu-bound", detail: "vCPU 3".to_owned() },
    ]
}

fn of_guests() -> Vec<FindingKind> {
    use FindingKind as K;
    let some = cpus("0-1");
    vec![
        K::StoredPin { vcpu: Vcpu(3), expected: some.clone(), seen: None },
        K::StoredVnuma { what: "memory", expected: "2".to_owned(), seen: "3".to_owned() },
        K::PendingRestart { what: "vnuma" },
        K::ThreadAffinity { vcpu: Vcpu(3), expected: some.clone(), seen: Some(cpus("5")) },
        K::EmulatorAffinity { expected: some.clone(), seen: Some(cpus("")) },
        K::IothreadAffinity { iothread: 1, expected: some.clone(), seen: None },
        K::MemoryElsewhere {
            expected: Pnode(0),
            seen: Pnode(1),
            page_size: PageSize::HUGE_2M,
            pages: 7,
            of: 100,
        },
        K::GuestSeesOtherNodes { expected: 2, seen: 1 },
        K::GuestNodeVcpus { vnode: Vnode(1), expected: vcpus("2-3"), seen: vcpus("2") },
        K::GuestNodeDistances { vnode: Vnode(1), expected: vec![21, 10], seen: vec![20, 10] },
        K::GuestSeesOtherL3 {
            expected: vec![vcpus("0-3")],
            seen: vec![vcpus("0-1"), vcpus("2-3")],
        },
        K::GuestNodeMemory { vnode: Vnode(1), expected_bytes: 1 << 40, seen_bytes: 1 << 39 },
        K::GuestUndefined,
        K::GuestUnreadable { why: "two vcpu elements".to_owned() },
        K::HostTopologyChanged,
        K::ClaimedCpusGone { cpus: some.clone() },
        K::ExclusiveCpusShared { cpus: some.clone(), with: Owner::Reserved },
        K::VnodeWithoutMemory { vnode: Vnode(1) },
        K::NotVerified { what: Sight::Pages, why: "from afar".to_owned() },
        K::CgroupKeepsOut { vcpu: Vcpu(3), expected: some, cgroup: cpus("1") },
        K::MemoryStaysBehind {
            vnode: Vnode(1),
            mode: MemoryMode::Restrictive,
            memory_nodes: nodes("0"),
            cpu_node: Pnode(1),
        },
        K::ForeignGuest { owner: ForeignOwner::Managed { by: Manager::KubeVirt } },
        K::ForeignGuest { owner: ForeignOwner::Transient },
        K::Obstructed { obstacle: Obstacle::ManagedSave },
        K::Obstructed { obstacle: Obstacle::BlockJob { disk: "vda".to_owned() } },
        K::Obstructed { obstacle: Obstacle::Job { what: "migration".to_owned() } },
        K::Obstructed { obstacle: Obstacle::SnapshotOfOtherTopology { name: "before".to_owned() } },
    ]
}
