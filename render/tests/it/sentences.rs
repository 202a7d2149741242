//! Sentences: every variant says something, and says its values.

use crate::hosts::*;
use expect_test::expect;
use numawise_model::event::Recovery;
use numawise_model::finding::SetKind;
use numawise_model::ledger::ClaimConflict;
use numawise_model::reason::{EmulatorChoice, Exclusion};
use numawise_model::refusal::TopologyDifference;
use numawise_model::{
    Event, Finding, FindingKind as F, GuestUuid, Mode, NodeSet, Owner, PageSize, Pcpu, Pnode,
    Reason, Refusal as R, Severity, Subject, Vcpu, VcpuSet, Vnode,
};
use numawise_render::text::{self, UndoElement};
use numawise_render::{Look, diff, quantity};

fn nodes(text: &str) -> NodeSet {
    numawise_model::parse_list(text).expect("a list in a test")
}

fn vcpus(text: &str) -> VcpuSet {
    numawise_model::parse_list(text).expect("a list in a test")
}

fn web() -> Owner {
    guest_owner("web01", 7)
}

/// Each kind with the values that its sentence has to name.
fn host_findings() -> Vec<(F, Vec<&'static str>)> {
    let file = || "/sys/f".to_owned();
    let s = str::to_owned;
    vec![
        (
            F::ListMapMismatch { file: file(), list: s("0-3"), map: s("0-7") },
            vec!["/sys/f", "0-3", "0-7"],
        ),
        (F::CpusInSeveralNodes { cpus: cpus("4"), nodes: nodes("0-1") }, vec!["pCPU 4 is", "0-1"]),
        (F::CpusInNoNode { cpus: cpus("8-15") }, vec!["8-15 belong to"]),
        (
            F::DistanceColumns { node: Pnode(2), columns: 3, online_nodes: 4 },
            vec!["node 2", "3 distances", "4 nodes"],
        ),
        (F::SelfDistanceNotSmallest { node: Pnode(3) }, vec!["node 3"]),
        (
            F::DistanceAsymmetric { a: Pnode(0), b: Pnode(1), there: 21, back: 31 },
            vec!["node 0", "node 1", "21", "31"],
        ),
        (F::DistancesMissing, vec!["distances"]),
        (F::NodeMemoryUnknown { nodes: nodes("1") }, vec!["node 1"]),
        (F::CpuNodeWithoutMemory { nodes: nodes("2-3") }, vec!["nodes 2-3 have"]),
        (F::MemoryOnlyNodes { nodes: nodes("5") }, vec!["node 5 has"]),
        (F::MaskNamesOffline { file: file(), cpus: cpus("9") }, vec!["/sys/f", "pCPU 9"]),
        (F::BadMask { file: file(), cpu: Pcpu(3) }, vec!["/sys/f", "pCPU 3"]),
        (
            F::OverlappingSets { what: SetKind::L3Domain, a: cpus("0-7"), b: cpus("6-9") },
            vec!["L3 domains", "0-7", "6-9", "6-7"],
        ),
        (F::NoL3 { cpus: cpus("0-3") }, vec!["0-3"]),
        (F::L3SpansNodes { cpus: cpus("0-7"), nodes: nodes("0-1") }, vec!["0-7", "nodes 0-1"]),
        (F::NodeSpansPackages { node: Pnode(0), packages: 2 }, vec!["node 0", "2 packages"]),
        (F::MixedSmtWidths { widths: vec![1, 2] }, vec!["1 and 2"]),
        (F::UnequalL3 { sizes: vec![4, 6, 8] }, vec!["4, 6 and 8"]),
        (F::NodesAreL3Domains, vec!["L3"]),
        (F::RunsUnderHypervisor { vendor: Some(s("KVM")) }, vec!["KVM"]),
        (F::RunsUnderHypervisor { vendor: None }, vec!["hypervisor"]),
        (F::FakeNuma { argument: s("numa=fake=4") }, vec!["numa=fake=4"]),
        (
            F::AllowedCpusOutsideAllowedNodes { cpus: cpus("0-3"), memory_nodes: nodes("1") },
            vec!["0-3", "node 1"],
        ),
        (F::OnlineWithoutDirectory { cpus: cpus("5") }, vec!["pCPU 5"]),
        (
            F::NotBelieved { file: file(), value: s("-1"), wanted: s("a number") },
            vec!["/sys/f", "'-1'", "a number"],
        ),
    ]
}

fn plan_findings() -> Vec<(F, Vec<&'static str>)> {
    vec![
        (F::UsesReservedCpus { cpus: cpus("0,32") }, vec!["0,32"]),
        (F::UsesIsolatedCpus { cpus: cpus("4-5") }, vec!["4-5"]),
        (F::IsolatedInWideMask { vcpu: Vcpu(3), cpus: cpus("4-5") }, vec!["vCPU 3", "4-5"]),
        (F::Overcommitted { cpus: cpus("0"), vcpus: vcpus("0-3") }, vec!["vCPUs 0-3", "pCPU 0"]),
        (F::SharesCpus { cpus: cpus("0-3"), with: vec![web()] }, vec!["0-3", "guest web01"]),
        (F::EmulatorOnVcpuCpus { cpus: cpus("32-63") }, vec!["32-63"]),
        (F::EmulatorLacksMemoryNode { node: Pnode(1) }, vec!["node 1"]),
        (
            F::MaxSocketsCrossesNodes { sockets: 2, vnode: Vnode(1) },
            vec!["2 sockets", "vNUMA node 1", "--max-sockets"],
        ),
        (F::GuestL3Differs { host_domains: 6, guest_domains: 2 }, vec!["6 L3 domains", "2"]),
        (F::GuestSmtHidden { host_threads: 2 }, vec!["2"]),
        (F::VcpusInterleaved { vnode: Vnode(1) }, vec!["vNUMA node 1"]),
        (F::CellsShareNode { node: Pnode(0), cells: 2 }, vec!["2 vNUMA nodes", "node 0"]),
        (F::MemoryUnchecked { node: Pnode(4) }, vec!["node 4"]),
        (
            F::MemoryOnOtherNode { vnode: Vnode(0), cpu_node: Pnode(2), memory_node: Pnode(3) },
            vec!["vNUMA node 0", "node 2", "node 3"],
        ),
        (
            F::RuleOrder { rule: "^3,1-7".to_owned(), cpus: "3".to_owned() },
            vec!["'^3,1-7'", "exclusion of 3", "libvirt"],
        ),
        (
            F::SmtSiblingOfAnother { cpu: Pcpu(1), sibling: Pcpu(33), owner: web() },
            vec!["pCPU 1", "pCPU 33", "web01"],
        ),
        (F::UnpinnedGuest { name: "old".to_owned() }, vec!["guest old", "numawise bind old"]),
        (
            F::PlanBreaksRule { rule: "one node per vCPU", detail: "vCPU 3".to_owned() },
            vec!["one node per vCPU", "vCPU 3"],
        ),
    ]
}

fn guest_findings() -> Vec<(F, Vec<&'static str>)> {
    let s = str::to_owned;
    let (expected, seen) = (cpus("35"), Some(cpus("0-63")));
    vec![
        (
            F::StoredPin { vcpu: Vcpu(3), expected: expected.clone(), seen: None },
            vec!["vCPU 3", "35", "nothing"],
        ),
        (
            F::StoredVnuma { what: "sockets", expected: s("3"), seen: s("48") },
            vec!["sockets", "3", "48"],
        ),
        (F::PendingRestart { what: "vNUMA" }, vec!["vNUMA"]),
        (
            F::ThreadAffinity { vcpu: Vcpu(3), expected: expected.clone(), seen: seen.clone() },
            vec!["vCPU 3", "35", "0-63"],
        ),
        (
            F::EmulatorAffinity { expected: expected.clone(), seen: seen.clone() },
            vec!["emulator", "35", "0-63"],
        ),
        (F::IothreadAffinity { iothread: 2, expected, seen }, vec!["I/O thread 2", "35", "0-63"]),
        (
            F::MemoryElsewhere {
                expected: Pnode(0),
                seen: Pnode(1),
                page_size: PageSize::HUGE_2M,
                pages: 512,
                of: 32768,
            },
            vec!["512 x 2M (1 GiB)", "32768", "node 0", "node 1"],
        ),
        (F::GuestSeesOtherNodes { expected: 2, seen: 1 }, vec!["2 NUMA nodes", "sees 1"]),
        (F::GuestUndefined, vec!["no longer defined"]),
        (F::ExclusiveCpusShared { cpus: cpus("7"), with: web() }, vec!["pCPU 7", "web01"]),
        (F::VnodeWithoutMemory { vnode: Vnode(1) }, vec!["vNUMA node 1"]),
    ]
}

#[test]
fn every_finding_names_its_values() {
    let all = [host_findings(), plan_findings(), guest_findings()].concat();
    for (kind, values) in all {
        let said = text::findings(&[Finding::host(Severity::Warning, kind)], &Look::default());
        assert!(said.starts_with("warning: "), "{said}");
        for value in values {
            assert!(said.contains(value), "'{value}' is missing in: {said}");
        }
    }
}

#[test]
fn findings_stand_by_gravity_and_name_their_guest() {
    let subject = Subject::Guest { uuid: None, name: "db01".to_owned() };
    let restart =
        Finding { severity: Severity::Warning, subject, kind: F::PendingRestart { what: "vNUMA" } };
    let note = Finding::host(Severity::Info, F::NodesAreL3Domains);
    let error = Finding::host(Severity::Error, F::CpusInNoNode { cpus: cpus("8-15") });
    expect![[r#"
        error: pCPUs 8-15 belong to no NUMA node; numawise binds nothing there
        warning: guest db01: vNUMA: the definition is right, the running guest is from before
          to do: shut the guest down fully and start it (a reboot from inside is not enough)
        note: every node is one L3 domain of many in its package (L3-as-NUMA): distances between nodes of a package are about caches, not memory
    "#]].assert_eq(&text::findings(&[note, restart, error], &Look::default()));
    let simulated = Look { simulated: true, ..Look::default() };
    expect![[r#"
        no findings (simulated host)
    "#]]
    .assert_eq(&text::findings(&[], &simulated));
}

fn cpu_refusals() -> Vec<(R, Vec<&'static str>)> {
    vec![
        (
            R::NotEnoughCpus {
                wanted: 70,
                free: vec![(Pnode(1), cpus("32-63")), (Pnode(0), cpus("1-15"))],
                held: vec![(web(), cpus("16-31"))],
                reserved: cpus("0"),
                overcommit_would_fit: true,
            },
            vec![
                "70 vCPUs",
                "47 pCPUs",
                "32-63",
                "web01",
                "--vcpus 47",
                "--overcommit",
                "--shared",
            ],
        ),
        (
            R::NodeTooSmall {
                node: Pnode(1),
                wanted: 40,
                free: cpus("32-63"),
                overcommit_would_fit: true,
            },
            vec!["40 vCPUs", "node 1", "32 free", "--on-node", "--overcommit"],
        ),
        (R::UnboundVcpus { vcpus: vcpus("3"), of: 8 }, vec!["vCPU 3 of 8 is", "--bind '3:PCPUS'"]),
        (
            R::VcpuSpansNodes { vcpu: Vcpu(5), cpus: cpus("31-32"), nodes: nodes("0-1") },
            vec!["vCPU 5", "31-32", "nodes 0-1", "--bind", "--on-node"],
        ),
        (R::VcpusOutOfRange { vcpus: vcpus("48-63"), guest_has: 48 }, vec!["48-63", "0-47"]),
        (R::VcpusNamedTwice { vcpus: vcpus("3-4") }, vec!["3-4", "--on-node"]),
        (R::CpusUnknown { cpus: cpus("900") }, vec!["pCPU 900", "host show"]),
        (R::CpusOffline { cpus: cpus("7") }, vec!["pCPU 7 is offline", "cpu7/online"]),
        (
            R::CpusNotAllowed {
                cpus: cpus("9"),
                limited_by: Some("/sys/fs/cgroup/x".to_owned()),
                allowed: cpus("0-7"),
            },
            vec!["pCPU 9", "/sys/fs/cgroup/x", "0-7"],
        ),
        (R::CpusInNoNode { cpus: cpus("8-9") }, vec!["8-9", "--bind"]),
        (
            R::CpusTaken(ClaimConflict {
                cpus: cpus("3"),
                held_by: web(),
                held_mode: Mode::Exclusive,
            }),
            vec!["pCPU 3 belongs to guest web01", "numawise unbind web01"],
        ),
        (
            R::CpusTaken(ClaimConflict {
                cpus: cpus("3"),
                held_by: Owner::Process { name: "mysqld".to_owned() },
                held_mode: Mode::Shared,
            }),
            vec!["pCPU 3", "mysqld", "--shared"],
        ),
        (
            R::CpusOutsidePool { cpus: cpus("3"), pool: cpus("8-15"), exclusive: true },
            vec!["pCPU 3", "8-15", "config.toml", "--shared"],
        ),
        (R::CpusReserved { cpus: cpus("0") }, vec!["pCPU 0", "config.toml"]),
        (R::EmptyRule { vcpus: vcpus("2") }, vec!["vCPU 2", "--bind '2:PCPUS'"]),
        (R::UnknownNode { node: Pnode(9), nodes: nodes("0-1") }, vec!["node 9", "nodes 0-1"]),
        (R::NodeWithoutCpus { node: Pnode(2) }, vec!["node 2", "--on-node"]),
        (
            R::OvercommitNotAsked { cpus: cpus("0"), vcpus: vcpus("0-3") },
            vec!["4 vCPUs", "0-3", "pCPU 0", "--overcommit"],
        ),
    ]
}

fn other_refusals() -> Vec<(R, Vec<&'static str>)> {
    vec![
        (R::NoVcpus, vec!["--vcpus 1"]),
        (R::TooManyVcpus { wanted: 9000, most: 8192 }, vec!["9000", "--vcpus 8192"]),
        (
            R::PageSizeUnknown {
                size: PageSize(16 << 20),
                known: vec![PageSize::BASE_4K, PageSize::HUGE_2M],
            },
            vec!["16M", "4K, 2M", "--page-size"],
        ),
        (
            R::MemoryNotWholePages {
                memory_bytes: 5 * GIB + (512 << 20),
                page_size: PageSize::HUGE_1G,
                lower_bytes: 5 * GIB,
                higher_bytes: 6 * GIB,
            },
            vec!["5.5 GiB", "1G", "--memory 5GiB", "--memory 6GiB"],
        ),
        (
            R::FewerPagesThanNodes { pages: 1, page_size: PageSize::HUGE_1G, vnodes: 2 },
            vec!["1 x 1G (1 GiB)", "2 vNUMA nodes", "--page-size"],
        ),
        (
            R::NotEnoughMemory {
                node: Pnode(1),
                page_size: PageSize::HUGE_2M,
                wanted_pages: 65536,
                free_pages: 40000,
                promised_pages: 1000,
                available_pages: 39000,
            },
            vec![
                "node 1",
                "65536 x 2M (128 GiB)",
                "free now: 40000 x 2M",
                "1000 x 2M",
                "39000 x 2M",
                "by 26536",
                "hugepages-2048kB",
                "--page-size 4K",
                "--on-node",
            ],
        ),
        (
            R::MemoryNotAllowed { node: Pnode(1), allowed: nodes("0"), limited_by: None },
            vec!["node 1", "node 0", "cpuset.mems"],
        ),
        (R::NoMemoryAnywhere { vnode: Vnode(0) }, vec!["vNUMA node 0"]),
        (
            R::VcpuHotplug { current: 8, maximum: 16 },
            vec!["<vcpu current='8'>16</vcpu>", "--fix-guest", "16 --config"],
        ),
        (R::MemoryHotplug { slots: 4 }, vec!["<maxMemory slots='4'>", "--fix-guest"]),
        (
            R::Balloon { model: "virtio".to_owned() },
            vec!["<memballoon model='virtio'>", "--fix-guest", "--no-vnuma"],
        ),
        (R::PlacementAuto, vec!["placement='auto'", "--fix-guest"]),
        (
            R::TopologyFrozen {
                differences: vec![
                    TopologyDifference::NodeCount { frozen: 2, planned: 1 },
                    TopologyDifference::Vcpus {
                        vnode: Vnode(0),
                        frozen: vcpus("0-31"),
                        planned: vcpus("0-47"),
                    },
                    TopologyDifference::Memory {
                        vnode: Vnode(0),
                        frozen_bytes: 128 * GIB,
                        planned_bytes: 192 * GIB,
                    },
                    TopologyDifference::Distances { vnode: Vnode(1) },
                    TopologyDifference::Sockets {
                        frozen: "3 x 16".to_owned(),
                        planned: "1 x 48".to_owned(),
                    },
                ],
            },
            vec![
                "2 vNUMA nodes",
                "0-31",
                "0-47",
                "128 GiB",
                "192 GiB",
                "vNUMA node 1",
                "3 x 16",
                "1 x 48",
                "--new-topology",
            ],
        ),
        (
            R::CellsPerNode { asked: 4, node: Pnode(0), vcpus: 2 },
            vec!["4 vNUMA nodes", "node 0", "--cells-per-node 2"],
        ),
        (R::MaxSockets { asked: 0 }, vec!["--max-sockets 0", "--max-sockets 1"]),
    ]
}

#[test]
fn every_refusal_names_its_values_and_a_way_out() {
    for (refusal, values) in [cpu_refusals(), other_refusals()].concat() {
        let said = text::refusals(&[refusal], &Look::default());
        assert!(said.starts_with("refused: ") && said.contains("to do: "), "{said}");
        for value in values {
            assert!(said.contains(value), "'{value}' is missing in: {said}");
        }
    }
}

#[test]
fn refusals_read_well() {
    let refusals: Vec<R> =
        [cpu_refusals(), other_refusals()].concat().into_iter().map(|(r, _)| r).collect();
    expect![[r#"
        refused: 70 vCPUs are wanted, 47 pCPUs are free
            node 1: 32 free (32-63)
            node 0: 15 free (1-15)
            held by guest web01: 16 pCPUs (16-31)
            reserved for the host: 1 pCPU (0)
          to do: ask for what fits: --vcpus 47
             or: let several vCPUs of this guest take turns on a pCPU: --overcommit (slower under load)
             or: let guests use the same pCPUs: --shared
             or: give another guest's pCPUs back: numawise unbind web01
        refused: 40 vCPUs are wanted on node 1; node 1 has 32 free (32-63)
          to do: put 32 vCPUs there and the rest on another node: repeat --on-node
             or: let several vCPUs of this guest take turns on a pCPU: --overcommit
             or: `numawise host show` draws the host with who has what
        refused: vCPU 3 of 8 is not bound; either every vCPU is bound or none
          to do: add a rule for the rest: --bind '3:PCPUS'
             or: leave it all to a policy: --policy smart
        refused: vCPU 5 is bound to pCPUs 31-32, which lie in nodes 0-1; a vCPU belongs to one node, or its memory could not be near it
          to do: keep the pCPUs of one node in the rule: --bind '5:PCPUS'
             or: name the node and let numawise choose: --on-node NODE:VCPUS
        refused: the rules name vCPUs 48-63; the guest has 48 vCPUs (0-47)
          to do: use vCPU numbers from 0 to 47 in --bind and --on-node
        refused: vCPUs 3-4 are given to two nodes
          to do: name each vCPU in one --on-node only
        refused: this host has no pCPU 900
          to do: use CPUs that are there in --bind; `numawise host show` draws the host with who has what
        refused: pCPU 7 is offline
          to do: bind to others with --bind
             or: switch it on first: echo 1 > /sys/devices/system/cpu/cpu7/online
        refused: pCPU 9 is not allowed here: the CPUs are limited by /sys/fs/cgroup/x to 0-7
          to do: bind within these with --bind, or widen the cgroup's cpuset.cpus
        refused: pCPUs 8-9 belong to no NUMA node, so no vNUMA node can be tied to them
          to do: choose pCPUs of a node with --bind
        refused: pCPU 3 belongs to guest web01 alone
          to do: choose others with --bind, or leave the choice to --policy smart
             or: give it back: numawise unbind web01
        refused: pCPU 3 is used by process mysqld, and this guest wants it alone
          to do: share: --shared
             or: choose others with --bind, or leave the choice to --policy smart
        refused: pCPU 3 is not among the CPUs dedicated to guests that want pCPUs alone: 8-15
          to do: choose from these with --bind
             or: share the pCPUs: --shared
             or: change the sets in /etc/numawise/config.toml
        refused: pCPU 0 is reserved for the host
          to do: choose others with --bind
             or: change the reserved CPUs in /etc/numawise/config.toml; --policy smart may use them
        refused: vCPU 2 has a rule that leaves no pCPU: its exclusions (^) take all away
          to do: name at least one pCPU: --bind '2:PCPUS'
        refused: this host has no node 9; it has nodes 0-1
          to do: use one of 0-1 in --on-node
        refused: node 2 has memory and no CPUs: no vCPU can be bound there
          to do: name a node with CPUs in --on-node
        refused: 4 vCPUs (vCPUs 0-3) are bound to pCPU 0
          to do: give each vCPU a pCPU of its own with --bind
             or: say that they may take turns: --overcommit (slower under load)
        refused: a guest of 0 vCPUs cannot be placed
          to do: ask for at least one: --vcpus 1
        refused: 9000 vCPUs wanted, and 8192 is the most there can be
          to do: ask for at most: --vcpus 8192
        refused: this host has no pages of 16M; it has 4K, 2M
          to do: choose one of these with --page-size
        refused: 5.5 GiB (5905580032 bytes) is no whole number of 1G pages
          to do: ask for 5 GiB or 6 GiB: --memory 5GiB or --memory 6GiB
             or: use smaller pages: --page-size 4K
        refused: the guest's memory is 1 x 1G (1 GiB) and it has 2 vNUMA nodes: one would be empty
          to do: ask for more memory (--memory), or use smaller pages (--page-size)
             or: bind to fewer nodes: --on-node NODE:VCPUS
        refused: node 1 has not enough memory in 2M pages: 65536 x 2M (128 GiB) wanted, 39000 x 2M (76.2 GiB) available
            free now: 40000 x 2M (78.1 GiB)
            promised to others that have not touched it yet: 1000 x 2M (2.0 GiB)
          to do: make 26536 more: raise /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages by 26536
             or: use ordinary pages: --page-size 4K
             or: ask for less: at most 76.2 GiB of this guest's memory fit on node 1 (--memory)
             or: put fewer vCPUs there, since memory follows them: --on-node NODE:VCPUS
        refused: memory of node 1 may not be used here: it is limited to node 0
          to do: bind to one of the allowed nodes (--on-node NODE:VCPUS)
             or: widen the cgroup's cpuset.mems
        refused: no node has memory that vNUMA node 0 could use
          to do: bind its vCPUs to a node with memory near it (--on-node NODE:VCPUS)
             or: `numawise host show` draws every node's memory
        refused: <vcpu current='8'>16</vcpu> lets vCPUs be added later; vNUMA needs all 16 from the start
          to do: let numawise change it: --fix-guest (the diff shows the change first)
             or: set it yourself: virsh setvcpus GUEST 16 --config
             or: bind the guest without vNUMA: --no-vnuma
        refused: <maxMemory slots='4'> lets memory be added later; the memory of vNUMA nodes is fixed
          to do: let numawise change it: --fix-guest (the diff shows the change first)
             or: take the element out with `virsh edit GUEST`
             or: bind the guest without vNUMA: --no-vnuma
        refused: <memballoon model='virtio'> can take memory from any node; vNUMA nodes must keep theirs
          to do: let numawise change it: --fix-guest (the diff shows the change first)
             or: write <memballoon model='none'/> with `virsh edit GUEST`
             or: bind the guest without vNUMA: --no-vnuma
        refused: <vcpu placement='auto'> lets numad choose the nodes; memory cannot then be tied to vNUMA nodes
          to do: let numawise change it: --fix-guest (the diff shows the change first)
             or: write placement='static' with `virsh edit GUEST`
        refused: the guest has been running with another topology, and would see a new one: software in it may have been set up or licensed for the old
            it has 2 vNUMA nodes; the plan gives 1
            vNUMA node 0 has vCPUs 0-31; the plan gives 0-47
            vNUMA node 0 has 128 GiB; the plan gives 192 GiB
            vNUMA node 1 has other distances than the plan gives
            it has 3 x 16; the plan gives 1 x 48
          to do: bind so that it stays the same: as many vCPUs on as many nodes as before (--on-node)
             or: accept the change: --new-topology
        refused: 4 vNUMA nodes on node 0 are asked for, and 2 vCPUs are bound there: one would have no vCPU
          to do: ask for at most: --cells-per-node 2
        refused: --max-sockets 0 leaves the guest no socket
          to do: ask for at least one: --max-sockets 1
    "#]].assert_eq(&text::refusals(&refusals, &Look::default()));
}

#[test]
fn reasons_read_well() {
    let reasons = vec![
        Reason::NodeOrder { nodes: vec![Pnode(1), Pnode(0)] },
        Reason::MemoryOnlyNodesLeftOut { nodes: nodes("2") },
        Reason::NodeFree { node: Pnode(1), free: cpus("32-63") },
        Reason::NodeFree { node: Pnode(0), free: cpus("") },
        Reason::Excluded { cpus: cpus("64"), why: Exclusion::Offline },
        Reason::Excluded { cpus: cpus("65"), why: Exclusion::NotAllowed { limited_by: None } },
        Reason::Excluded { cpus: cpus("0"), why: Exclusion::Reserved },
        Reason::Excluded { cpus: cpus("1"), why: Exclusion::OutsidePool },
        Reason::Excluded { cpus: cpus("2"), why: Exclusion::Claimed { owner: web() } },
        Reason::Excluded { cpus: cpus("8-9"), why: Exclusion::InNoNode },
        Reason::Filled { node: Pnode(1), vcpus: vcpus("0-31"), pcpus: cpus("32-63") },
        Reason::WrappedTo { node: Pnode(1), vcpus: vcpus("64-69") },
        Reason::RulesTaken { rules: 2, vcpus: vcpus("0-20") },
        Reason::MemoryShared {
            vnode: Vnode(0),
            pages: 65536,
            page_size: PageSize::HUGE_2M,
            node: Pnode(1),
        },
        Reason::MemoryFromNeighbour {
            vnode: Vnode(0),
            cpu_node: Pnode(1),
            memory_node: Pnode(0),
            distance: Some(21),
        },
        Reason::Sockets { sockets: 3, vcpus_each: 16, vnode_sizes: vec![32, 16] },
        Reason::SocketsCapped { wanted: 3, given: 2 },
        Reason::DiesAreL3Domains { dies: 2, vcpus_each: 8 },
        Reason::ThreadsAreSiblings { threads: 2 },
        Reason::EmulatorPlaced { cpus: cpus("0,32"), why: EmulatorChoice::Housekeeping },
        Reason::EmulatorPlaced { cpus: cpus("1-31"), why: EmulatorChoice::GuestsOwn },
        Reason::EmulatorPlaced { cpus: cpus("0,33"), why: EmulatorChoice::HousekeepingAndOwn },
        Reason::VnumaOff,
        Reason::KeepsFrozenTopology,
        Reason::Unbound,
    ];
    let plan = numawise_model::Plan { reasons, ..seed_plan() };
    expect![[r#"
        why:
          1. nodes are filled in the order 1, then 0
          2. node 2 has only memory and is left out
          3. node 1 has 32 pCPUs free: 32-63
          4. node 0 has no free pCPU
          5. pCPU 64 is left out: offline
          6. pCPU 65 is left out: not allowed here
          7. pCPU 0 is left out: reserved for the host
          8. pCPU 1 is left out: not in the set for such guests (config.toml)
          9. pCPU 2 is left out: held by guest web01
         10. pCPUs 8-9 are left out: in no NUMA node
         11. vCPUs 0-31 go to node 1: pCPUs 32-63
         12. every pCPU is taken, so the fill begins again at node 1 with vCPUs 64-69 (over-commit)
         13. vCPUs 0-20 are bound by 2 rules, word for word
         14. vNUMA node 0 gets 65536 x 2M (128 GiB) from node 1: memory is shared out by vCPU count in whole pages
         15. node 1 has no memory, so vNUMA node 0 gets it from the nearest node that has, node 0 (distance 21)
         16. 3 guest sockets of 16 vCPUs: the largest size that divides the vNUMA nodes (32 and 16 vCPUs), so that no guest socket reaches over a node's edge
         17. 3 sockets would follow the nodes; --max-sockets makes it 2
         18. 2 dies of 8 vCPUs in each guest socket: each is an L3 domain of the host
         19. 2 threads to a guest core: neighbouring vCPUs are SMT siblings on the host
         20. the emulator runs on pCPUs 0,32: reserved CPUs on the guest's nodes, away from its vCPUs
         21. the emulator runs on pCPUs 1-31: the guest's own, since none are set aside on its nodes
         22. the emulator runs on pCPUs 0,33: reserved CPUs, and the guest's own on nodes that have none, since memory is prepared on each node by a thread that may run there
         23. vNUMA is off as asked: the binding stands alone
         24. the guest keeps the topology it has been running with
         25. no binding is asked for: the guest may run on every CPU
    "#]].assert_eq(&text::reasons(&plan, &Look::default()));
}

#[test]
fn a_plan_in_short() {
    let host = two_by_32();
    let plan = seed_plan();
    let view = numawise_render::PlanView {
        topology: Some(&host.topology),
        look: Look { simulated: true, ..Look::default() },
    };
    expect![[r#"
        plan p-1 on host seed (simulated host)
        guest db01: 48 vCPUs, 192 GiB; policy smart
        memory: 4K pages, strict
        binding
          vCPUs 0-31   -> pCPUs 32-63, one to one (node 1)
          vCPUs 32-47  -> pCPUs 0-15, one to one (node 0)
          emulator -> pCPUs 0,32
          I/O threads 1 and 2 -> pCPUs 0,32

        vNUMA node  vCPUs             memory   pNUMA node  distances
        0           vCPUs 0-31 (32)   128 GiB  1           10, 21
        1           vCPUs 32-47 (16)  64 GiB   0           21, 10
        guest topology: 3 sockets x 16 cores x 1 thread
        also changed (--fix-guest): the memory balloon is taken out

        note: pCPUs 0,32 are reserved for the host and used by this plan, as the smart rule may
          to do: to keep them free, bind by rule or node: --bind VCPUS:PCPUS or --on-node NODE:VCPUS
    "#]]
    .assert_eq(&text::plan(&plan, &view));
    let off = numawise_model::Plan { vnuma: None, ..plan };
    let said = text::plan(&off, &view);
    assert!(said.contains("vNUMA: off"), "{said}");
}

#[test]
fn events_read_well() {
    let guest = || "db01".to_owned();
    let intent = || "i-1".to_owned();
    let drift = F::PendingRestart { what: "vNUMA" };
    let events = [
        Event::Claimed { guest: guest(), intent: intent() },
        Event::ClaimRaced { attempt: 2 },
        Event::WaitingForHostLock,
        Event::Defined { guest: guest() },
        Event::NothingToDefine { guest: guest() },
        Event::ShuttingDown { guest: guest() },
        Event::Starting { guest: guest() },
        Event::Running { guest: guest() },
        Event::TakesEffectAtNextBoot { guest: guest() },
        Event::TopologyFrozen { guest: guest() },
        Event::Verified { guest: guest(), findings: Vec::new() },
        Event::Verified {
            guest: guest(),
            findings: vec![
                Finding::host(Severity::Error, drift.clone()),
                Finding::host(Severity::Warning, drift),
            ],
        },
        Event::RollingBack { guest: guest(), because: "the guest did not start".to_owned() },
        Event::RolledBack { guest: guest() },
        Event::Recovered { guest: guest(), intent: intent(), outcome: Recovery::Finished },
        Event::Recovered { guest: guest(), intent: intent(), outcome: Recovery::Reverted },
        Event::ClaimsReleased { guest: GuestUuid("1-2-3".to_owned()) },
    ];
    let look = Look::default();
    let said: String = events.iter().map(|event| text::event(event, &look)).collect();
    expect![[r#"
        db01: CPUs and memory are claimed, intent i-1 is written
        somebody else changed the ledger first; reading it again (attempt 2)
        waiting for another numawise that works on this host
        db01: the new definition is stored
        db01: the definition says so already, nothing to store
        db01: shutting down
        db01: starting
        db01: running
        db01: takes effect when the guest is shut down and started again (--restart does it at once)
        db01: seen running with this topology; from now on it changes only with --new-topology
        db01: verified, everything is as planned
        db01: verified: 1 difference from the plan, 1 warning
        db01: going back, because the guest did not start
        db01: back in the old state
        db01: intent i-1 had been interrupted and is now finished: the new state is in force
        db01: intent i-1 had been interrupted and is now taken back: the old state is in force
        guest 1-2-3: its CPUs and memory are given back
    "#]]
    .assert_eq(&said);
    let simulated = Look { simulated: true, ..look };
    assert_eq!(text::event(&events[2], &simulated).matches("simulated host").count(), 1);
}

#[test]
fn an_undo_that_would_lose_a_change() {
    let some = |text: &str| Some(text.to_owned());
    let conflict = UndoElement {
        element: "cputune/vcpupin[vcpu=3]".to_owned(),
        before: None,
        written: some("35"),
        today: some("0-31"),
    };
    expect![[r#"
        refused: 1 element has changed since numawise wrote it, and undo would lose that
            cputune/vcpupin[vcpu=3]
              before numawise:  (not there)
              numawise wrote:   35
              today:            0-31
          to do: keep today's values: nothing to do, the guest runs with them
             or: set these elements to what numawise wrote (virsh edit GUEST), then undo again
             or: bind anew from today's state: numawise bind GUEST --policy smart
    "#]]
    .assert_eq(&text::undo_conflicts(&[conflict], &Look::default()));
}

#[test]
fn the_caret_stands_under_the_place() {
    let look = Look::default();
    expect![[r#"
          1-3-,5
             ^ a second '-' stands there
    "#]]
    .assert_eq(&text::list_error("1-3-,5", 3, "a second '-' stands there", &look));
    let long = format!("{}x", "1,".repeat(100));
    expect![[r#"
          ...1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,x
                                           ^ a number is wanted
    "#]]
    .assert_eq(&text::list_error(&long, 200, "a number is wanted", &look));
    // Wide characters count as one, a place past the end is the end, control characters are blanks.
    expect![[r#"
          é ,
             ^ a number is missing
    "#]]
    .assert_eq(&text::list_error("é\u{1b},", 99, "a number is missing", &look));
}

#[test]
fn a_diff_has_three_lines_of_context() {
    let before = "a\nb\nc\nd\ne\nf\n";
    let after = "a\nb\nc\nd\nE\nf\n";
    let names = diff::Names { before: "db01 now", after: "db01 planned" };
    expect![[r#"
        --- db01 now
        +++ db01 planned
        @@ -2,5 +2,5 @@
         b
         c
         d
        -e
        +E
         f
    "#]]
    .assert_eq(&diff::unified(before, after, names, &Look::default()));
    let colour = Look { colour: true, ..Look::default() };
    assert!(diff::unified(before, after, names, &colour).contains("\u{1b}["));
    assert_eq!(diff::unified(before, before, names, &colour), "");
}

#[test]
fn numbers_with_units() {
    for (n, wanted) in [
        (0, "0 bytes"),
        (17, "17 bytes"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (128 * GIB, "128 GiB"),
        (128 * GIB + 1, "128.0 GiB"),
        (1536 * GIB, "1536 GiB"),
        (10 << 40, "10 TiB"),
        (u64::MAX, "16777216.0 TiB"),
    ] {
        assert_eq!(quantity::bytes(n), wanted);
    }
    for (n, wanted) in [(0, "0 %"), (5, "0.5 %"), (70, "7 %"), (994, "99 %"), (1000, "100 %")] {
        assert_eq!(quantity::percent(numawise_model::Utilisation(n)), wanted);
    }
    assert_eq!(quantity::pages(512, PageSize::HUGE_2M), "512 x 2M (1 GiB)");
}
