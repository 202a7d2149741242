//! Every finding says something, and says its values.

use crate::hosts::*;
use expect_test::expect;
use numawise_model::event::WatchEvent;
use numawise_model::finding::{L3Untold, SetKind};
use numawise_model::{
    Finding, FindingKind as F, PageSize, Pcpu, Pnode, Severity, Sight, Subject, Unseen, Vcpu, Vnode,
};
use numawise_render::{Look, text};

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
        (F::PrefillWithoutCpus { node: Pnode(8) }, vec!["node 8", "--page-size 4K"]),
        (
            F::MaxSocketsCrossesNodes { sockets: 2, vnode: Vnode(1) },
            vec!["2 sockets", "vNUMA node 1", "--max-sockets"],
        ),
        (F::GuestL3Differs { host_domains: 6, guest_domains: 2 }, vec!["6 L3 domains", "2"]),
        (
            F::GuestL3Untold { why: L3Untold::Unequal { vcpus: vec![3, 3, 2] } },
            vec!["3, 3, 2", "--l3 N"],
        ),
        (F::GuestL3Untold { why: L3Untold::Scattered }, vec!["neighbours", "--policy compact"]),
        (
            F::GuestL3Untold { why: L3Untold::OtherThanSockets { vcpus_each: 8, in_socket: 4 } },
            vec!["8 vCPUs", "socket has 4", "--vnodes"],
        ),
        (
            F::GuestL3Untold { why: L3Untold::NoSmpCache { why: "refused it".to_owned() } },
            vec!["smp-cache", "refused it", "10.0"],
        ),
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
        (F::UnpinnedGuest { name: "old".to_owned() }, vec!["pinned nowhere", "numawise bind old"]),
        (
            F::PlanBreaksRule { rule: "one node per vCPU", detail: "vCPU 3".to_owned() },
            vec!["one node per vCPU", "vCPU 3"],
        ),
    ]
}

fn guest_findings() -> Vec<(F, Vec<&'static str>)> {
    let s = str::to_owned;
    let (expected, seen, vnode) = (cpus("35"), Some(cpus("0-63")), Vnode(1));
    let vcpus = |list| numawise_model::parse_list(list).expect("a list written in a test");
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
        (
            F::GuestNodeVcpus { vnode, expected: vcpus("2-3"), seen: vcpus("2") },
            vec!["vNUMA node 1", "2-3", "sees 2"],
        ),
        (
            F::GuestNodeDistances { vnode, expected: vec![21, 10], seen: vec![20, 10] },
            vec!["vNUMA node 1", "21, 10", "20, 10"],
        ),
        (
            F::GuestSeesOtherL3 {
                expected: vec![vcpus("0-1"), vcpus("2-3")],
                seen: vec![vcpus("0-3")],
            },
            vec!["0-1 | 2-3", "0-3", "host-passthrough"],
        ),
        (
            F::GuestNodeMemory { vnode, expected_bytes: 8 << 30, seen_bytes: 6 << 30 },
            vec!["vNUMA node 1", "8 GiB", "6 GiB"],
        ),
        (
            F::NotVerified { what: Sight::Pages, why: "from afar".to_owned() },
            vec!["pages", "not looked at", "from afar"],
        ),
        (
            F::CgroupKeepsOut { vcpu: Vcpu(3), expected: cpus("8-9"), cgroup: cpus("9") },
            vec!["vCPU 3", "8-9", "have 9", "cpuset.cpus"],
        ),
        (F::GuestUndefined, vec!["no longer defined"]),
        (F::GuestUnreadable { why: "line 3".to_owned() }, vec!["line 3"]),
        (F::HostTopologyChanged, vec!["host"]),
        (F::ClaimedCpusGone { cpus: cpus("9") }, vec!["pCPU 9", "online"]),
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
        warning: guest db01: vNUMA: the definition is right, the running guest was started from an older one
          to do: shut the guest down fully and start it (a reboot from inside is not enough)
        note: every node is one L3 domain of many in its package (L3-as-NUMA): distances between nodes of a package are about caches, not memory
    "#]].assert_eq(&text::findings(&[note, restart, error], &Look::default()));
    let simulated = Look { simulated: true, ..Look::default() };
    expect![[r#"
        no findings (simulated host)
    "#]]
    .assert_eq(&text::findings(&[], &simulated));
}

#[test]
fn an_agreement_says_what_nobody_looked_at() {
    let unseen = |what, why: &str| Unseen { what, why: why.to_owned() };
    assert_eq!(
        text::agreement(&[]),
        "agrees with its plan: stored XML, live XML, threads and pages"
    );
    let agent = unseen(Sight::GuestNodes, "no agent");
    assert_eq!(
        text::agreement(&[unseen(Sight::Threads, "afar"), unseen(Sight::Pages, "afar"), agent]),
        "agrees with its plan: stored XML and live XML; not looked at: threads and pages: afar; \
         not looked at: what the guest sees: no agent"
    );
}

#[test]
fn watching_tells_one_line_for_each_change() {
    let kind = F::PendingRestart { what: "vNUMA" };
    let subject = Subject::Guest { uuid: None, name: "db01".to_owned() };
    let finding = Finding { severity: Severity::Warning, subject, kind };
    let events = [
        WatchEvent::Started { guest: "db01".to_owned() },
        WatchEvent::Found { finding: finding.clone() },
        WatchEvent::Gone { finding },
        WatchEvent::Blind { why: "nobody\nanswers".to_owned() },
        WatchEvent::SeesAgain,
    ];
    let told: String = events.iter().map(|e| text::watch_event(e, &Look::default())).collect();
    assert_eq!(told.lines().count(), events.len(), "{told}");
    assert!(told.contains("db01: has started\nwarning: guest db01: vNUMA: "), "{told}");
    assert!(told.contains("\ngone: guest db01: vNUMA: "), "{told}");
}
