//! An audit as text: every finding says its values, every rule has an essay, and the last lines say
//! what was looked at.

use crate::hosts::*;
use expect_test::expect;
use numawise_model::finding::{FrozenPart, Helper, PinnedThreads, Resizing, Unusable};
use numawise_model::{
    Audit, AuditRule, Finding, FindingKind as F, HostId, KernelFact, NotLookedAt, PageSize, Pnode,
    Severity, Sight, Subject, Unread, Vnode,
};
use numawise_render::{Look, text};

const GIB: u64 = 1 << 30;

fn look() -> Look {
    Look { width: 100, ..Look::default() }
}

type Kinds = Vec<(F, Vec<&'static str>)>;

/// Each kind with the values that its sentence has to name: where threads run and who has what.
fn placed() -> Kinds {
    vec![
        (
            F::VcpusSpanNodes { vcpus: vcpus("0-3"), cpus: cpus("2,10"), nodes: nodes("0-1") },
            vec!["vCPUs 0-3", "pCPUs 2,10", "nodes 0-1"],
        ),
        (
            F::CoresShared { cpus: cpus("1"), siblings: cpus("17"), with: web() },
            vec!["pCPU 1 is", "pCPU 17", "belongs to guest web01"],
        ),
    ]
}

/// Memory, and what guests are told.
fn told() -> Kinds {
    vec![
        (
            F::MemoryAwayFromVcpus {
                vnode: Some(Vnode(1)),
                cpu_nodes: nodes("0"),
                memory_nodes: nodes("1"),
            },
            vec!["vNUMA node 1", "run on node 0", "bound to node 1"],
        ),
        (
            F::PagesAwayFromVcpus {
                vnode: None,
                cpu_nodes: nodes("0"),
                seen: nodes("1"),
                away_bytes: GIB,
                of_bytes: 4 * GIB,
            },
            vec!["the guest", "1 GiB of its 4 GiB", "on node 1", "migratepages PID 1 0"],
        ),
        (
            F::MemoryBoundToSlice { vnode: None, nodes: nodes("0"), of: nodes("0-1") },
            vec!["node 0", "nodes 0-1"],
        ),
        (F::ResizingWithVnuma { what: Resizing::Balloon }, vec!["balloon", "--fix-guest"]),
        (F::ResizingWithVnuma { what: Resizing::MemoryHotplug }, vec!["memory hot-plug"]),
        (F::ResizingWithVnuma { what: Resizing::VcpuHotplug }, vec!["vCPUs that are plugged in"]),
        (
            F::GuestL3Spread { vcpus: vcpus("0-3"), host_domains: 2, guest_domains: 3 },
            vec!["vCPUs 0-3", "2 L3 domains", "worst of 3"],
        ),
    ]
}

/// Pins, promises, and what was frozen.
fn kept() -> Kinds {
    vec![
        (
            F::HelpersOnPinnedCpus { helper: Helper::Emulator, cpus: cpus("0"), of: vec![web()] },
            vec!["the emulator", "pCPU 0", "guest web01", "emulatorpin"],
        ),
        (
            F::HelpersOnPinnedCpus {
                helper: Helper::Iothread { id: 3 },
                cpus: cpus("0"),
                of: vec![web()],
            },
            vec!["I/O thread 3", "iothreadpin GUEST 3"],
        ),
        (
            F::PinnedCpusUnusable {
                threads: PinnedThreads::Vcpus { vcpus: vcpus("0-1") },
                cpus: cpus("9"),
                why: Unusable::Offline,
            },
            vec!["vCPUs 0-1 are", "pCPU 9", "offline"],
        ),
        (
            F::PinnedCpusUnusable {
                threads: PinnedThreads::Helper { helper: Helper::Emulator },
                cpus: cpus("9,11"),
                why: Unusable::OutsideCgroup,
            },
            vec!["the emulator is", "9,11", "cgroup"],
        ),
        (
            F::PagesPromisedTwice {
                node: Pnode(0),
                page_size: PageSize::HUGE_2M,
                promised: 1024,
                total: 512,
                to: vec![web()],
            },
            vec!["node 0", "1024 x 2M", "512 x 2M", "web01", "host tune"],
        ),
        (
            F::MemoryLargerThanNode { node: Pnode(1), bound_bytes: 8 * GIB, node_bytes: 4 * GIB },
            vec!["8 GiB", "node 1", "4 GiB"],
        ),
        (
            F::IsolatedCpusInMask { vcpus: vcpus("1"), cpus: cpus("4-5"), isolated: cpus("5") },
            vec!["vCPU 1", "4-5", "5 is isolated"],
        ),
        (
            F::DistancesTold { vnode: Vnode(1), told: vec![20, 10], host: vec![21, 10] },
            vec!["vNUMA node 1", "20, 10", "21, 10"],
        ),
        (F::FrozenWithoutGuest, vec!["frozen"]),
        (
            F::FrozenOtherwise { parts: vec![FrozenPart::Nodes, FrozenPart::CpuTopology] },
            vec!["vNUMA nodes and sockets", "--new-topology"],
        ),
    ]
}

/// What the kernel does.
fn kernel() -> Kinds {
    let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    vec![
        (
            F::InterruptsOnPinnedCpus {
                cpus: cpus("0"),
                interrupts: names(&["40 (eth0-0)", "41 (eth0-1)"]),
            },
            vec!["2 interrupts come", "pCPU 0", "40 (eth0-0) and 41 (eth0-1)"],
        ),
        (
            F::KernelThreadsOnPinnedCpus {
                cpus: cpus("0-3"),
                threads: names(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]),
                confined: false,
            },
            vec!["10 threads", "0-3", "g, h and 2 more"],
        ),
        (
            F::KernelThreadsOnPinnedCpus {
                cpus: cpus("0"),
                threads: names(&["kswapd0"]),
                confined: true,
            },
            vec!["1 thread", "nowhere but", "kswapd0"],
        ),
        (F::WorkqueuesOnPinnedCpus { cpus: cpus("0-3"), mask: cpus("0-63") }, vec!["0-63", "0-3"]),
        (F::NumaBalancingOn, vec!["balancing"]),
        (F::KsmMergesAcrossNodes, vec!["KSM"]),
        (F::ZoneReclaimOn { mode: 3 }, vec!["zone_reclaim_mode is 3"]),
    ]
}

fn audit(findings: Vec<Finding>, not_looked_at: Vec<NotLookedAt>) -> Audit {
    let host = HostId("db-1".to_owned());
    Audit { host, simulated: false, guests: 1, findings, not_looked_at }
}

#[test]
fn every_finding_names_its_values_its_rule_its_cost_and_what_to_do() {
    for (kind, values) in [placed(), told(), kept(), kernel()].concat() {
        let rule = AuditRule::of(&kind).expect("of a host");
        let said =
            text::audit(&audit(vec![Finding::host(Severity::Warning, kind)], vec![]), &look());
        for value in values {
            assert!(said.contains(value), "'{value}' is missing in: {said}");
        }
        assert!(said.contains(&format!(" [{}]\n    ", rule.name())), "{said}");
        assert!(said.contains("\n  to do: "), "{said}");
    }
}

#[test]
fn every_rule_is_explained() {
    for rule in AuditRule::ALL {
        let said = text::essay(rule, &look());
        assert!(said.starts_with(&format!("{}\n  looks at: ", rule.name())), "{said}");
        for word in ["\n  costs:    ", "\n  to do:    ", "\n  source:   "] {
            assert!(said.contains(word), "'{word}' is missing in: {said}");
        }
        assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    }
    assert_eq!(text::rules(&look()).matches("looks at: ").count(), AuditRule::ALL.len());
}

#[test]
fn the_last_lines_sum_up_and_say_what_was_not_looked_at() {
    let kernel = |fact, why| NotLookedAt::Kernel { fact, why };
    let unseen = vec![
        kernel(KernelFact::Interrupts, Unread::NotInCapture),
        kernel(KernelFact::Ksm, Unread::NotInCapture),
        kernel(
            KernelFact::Workqueues,
            Unread::Nonsense {
                file: "sys/cpumask".to_owned(),
                value: "x\u{1b}".to_owned(),
                wanted: "a set of CPUs",
            },
        ),
        NotLookedAt::Guest {
            name: "web".to_owned(),
            what: Sight::Pages,
            why: "only root may".to_owned(),
        },
    ];
    let subject = Subject::Guest { uuid: None, name: "web".to_owned() };
    let kind = F::ResizingWithVnuma { what: Resizing::Balloon };
    let finding = Finding { severity: Severity::Warning, subject, kind };
    expect![[r#"
        warning: guest web: it has vNUMA nodes and a memory balloon [resizing-with-vnuma]
            a balloon takes pages from any node and knows none, so a node runs dry while the other has room; what is plugged in later lies where there is room
          to do: take it out: numawise bind web --fix-guest
        host db-1: 1 guest, 0 errors, 1 warning, 0 notes
        not looked at: interrupts, KSM: the capture does not hold it (make a new one: numawise host capture FILE)
        not looked at: workqueues: sys/cpumask says 'x�' where a set of CPUs is wanted
        not looked at: pages of guest web: only root may
    "#]].assert_eq(&text::audit(&audit(vec![finding], unseen), &look()));
}
