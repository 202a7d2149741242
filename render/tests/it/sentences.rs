//! Reasons, events, plans in short, and other sentences.

use crate::hosts::*;
use expect_test::expect;
use numawise_model::event::Recovery;
use numawise_model::guest::CacheLevel;
use numawise_model::reason::{EmulatorChoice, Exclusion};
use numawise_model::{
    Change, ChangedPart, Effect, Event, Finding, FindingKind as F, ForeignOwner, GuestFix, Manager,
    MoveProgress, Obstacle, PageSize, Pnode, Reason, Severity, Sight, Vnode,
};
use numawise_render::text::{self, UndoElement};
use numawise_render::{Look, diff, quantity};

#[test]
fn reasons_read_well() {
    let reasons = vec![
        Reason::NodeOrder { nodes: vec![Pnode(1), Pnode(0)] },
        Reason::MemoryOnlyNodesLeftOut { nodes: nodes("2") },
        Reason::MemoryOnlyUsed {
            vnode: Vnode(0),
            cpu_node: Pnode(0),
            nodes: nodes("2"),
            distance: Some(13),
        },
        Reason::L3BySmpCache { level: CacheLevel::Core, vcpus_each: 1 },
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
          3. vNUMA node 0 of node 0 takes memory from node 2, which has only memory, distance 13 from it: asked for
          4. QEMU's smp-cache puts an L3 at each guest core, 1 vCPU: each is an L3 domain of the host
          5. node 1 has 32 pCPUs free: 32-63
          6. node 0 has no free pCPU
          7. pCPU 64 is left out: offline
          8. pCPU 65 is left out: not allowed here
          9. pCPU 0 is left out: reserved for the host
         10. pCPU 1 is left out: not in the set for such guests (config.toml)
         11. pCPU 2 is left out: held by guest web01
         12. pCPUs 8-9 are left out: in no NUMA node
         13. vCPUs 0-31 go to node 1: pCPUs 32-63
         14. every pCPU is taken, so the fill begins again at node 1 with vCPUs 64-69 (over-commit)
         15. vCPUs 0-20 are bound by 2 rules, word for word
         16. vNUMA node 0 gets 65536 x 2M (128 GiB) from node 1: memory is shared out by vCPU count in whole pages
         17. node 1 has no memory that may be used, so vNUMA node 0 gets it from the nearest node that has, node 0 (distance 21)
         18. 3 guest sockets of 16 vCPUs: the largest size that divides the vNUMA nodes (32 and 16 vCPUs), so that no guest socket reaches over a node's edge
         19. 3 sockets would follow the nodes; --max-sockets makes it 2
         20. 2 dies of 8 vCPUs in the guest: each is an L3 domain of the host
         21. 2 threads to a guest core: neighbouring vCPUs are SMT siblings on the host
         22. the emulator runs on pCPUs 0,32: reserved CPUs on the guest's nodes, away from its vCPUs
         23. the emulator runs on pCPUs 1-31: the guest's own, since none are set aside on its nodes
         24. the emulator runs on pCPUs 0,33: reserved CPUs, and the guest's own on nodes that have none, since memory is prepared on each node by a thread that may run there
         25. vNUMA is off as asked: the binding stands alone
         26. the guest keeps the topology it has been running with
         27. no binding is asked for: the guest may run on every CPU
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

        changes: none, the guest is as planned

        note: pCPUs 0,32 are reserved for the host and used by this plan
          to do: to keep them free, bind by rule or node: --bind VCPUS:PCPUS or --on-node NODE:VCPUS
    "#]]
    .assert_eq(&text::plan(&plan, &view));
    let off = numawise_model::Plan { vnuma: None, ..plan };
    let said = text::plan(&off, &view);
    assert!(said.contains("vNUMA: off"), "{said}");
}

/// Every part of a guest has a name, and says when it changes.
#[test]
fn changes_are_labelled() {
    let live = |what| Change { what, effect: Effect::Live };
    let boot = |what| Change { what, effect: Effect::NextBoot };
    let changes = vec![
        live(ChangedPart::VcpuPins),
        live(ChangedPart::EmulatorPin),
        live(ChangedPart::IothreadPins),
        boot(ChangedPart::VnumaNodes),
        boot(ChangedPart::GuestCpuTopology),
        boot(ChangedPart::MemoryBinding),
        boot(ChangedPart::Hugepages),
        boot(ChangedPart::Fix(GuestFix::BalloonOff)),
    ];
    let plan = numawise_model::Plan { changes, ..seed_plan() };
    expect![[r#"
        changes                          takes effect
        pins of the vCPUs                live, with --live; else next boot
        pin of the emulator              live, with --live; else next boot
        pins of the I/O threads          live, with --live; else next boot
        vNUMA nodes                      next boot
        guest sockets, cores, caches     next boot
        binding of the memory            next boot
        hugepages                        next boot
        the memory balloon is taken out  next boot
    "#]]
    .assert_eq(&text::changes(&plan, &Look::default()));
    let nothing = numawise_model::Plan { changes: Vec::new(), ..plan };
    assert_eq!(
        text::changes(&nothing, &Look::default()),
        "changes: none, the guest is as planned\n"
    );
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
        Event::OwnerOverridden {
            guest: guest(),
            owner: ForeignOwner::Managed { by: Manager::Ovirt },
        },
        Event::ObstacleNoticed {
            guest: guest(),
            obstacle: Obstacle::SnapshotOfOtherTopology { name: "before".to_owned() },
        },
        Event::PinnedLive { guest: guest() },
        Event::NothingToMove { guest: guest() },
        Event::ShuttingDown { guest: guest() },
        Event::ForcedOff { guest: guest() },
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
        Event::Verified {
            guest: guest(),
            findings: [Sight::Threads, Sight::Pages]
                .map(|what| F::NotVerified { what, why: "it is afar".to_owned() })
                .map(|kind| Finding::host(Severity::Info, kind))
                .to_vec(),
        },
        Event::RollingBack { guest: guest(), because: "the guest did not start".to_owned() },
        Event::RolledBack { guest: guest() },
        Event::Recovered { guest: guest(), intent: intent(), outcome: Recovery::Finished },
        Event::Recovered { guest: guest(), intent: intent(), outcome: Recovery::Reverted },
        Event::ClaimsReleased { guest: "web01".to_owned() },
    ];
    let look = Look::default();
    let said: String = events.iter().map(|event| text::event(event, &look)).collect();
    expect![[r#"
        db01: intent i-1 and its claims are written
        somebody else changed the ledger first; reading it again (attempt 2)
        waiting for another numawise that works on this host
        db01: the new definition is stored
        db01: the definition says so already, nothing to store
        db01: changed all the same (--override-owner), although it belongs to oVirt
        db01: note: snapshot 'before' was taken with another virtual topology
        db01: the threads of the running guest are moved
        db01: is off, so there are no threads to move; it starts where it is bound
        db01: shutting down
        db01: did not stop in time and was switched off (--force)
        db01: starting
        db01: running
        db01: takes effect when the guest is shut down and started again (--restart does it at once)
        db01: seen running with this topology; from now on it changes only with --new-topology
        db01: verified, everything is as planned
        db01: verified: 1 difference from the plan, 1 warning
        db01: verified, what can be seen is as planned; not looked at: threads and pages
        db01: going back, because the guest did not start
        db01: back in the old state
        db01: intent i-1 had been interrupted and is now finished: the new state is in force
        db01: intent i-1 had been interrupted and is now taken back: the old state is in force
        web01: its CPUs and memory are given back
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
          to do: keep today's values: there is nothing to do
             or: set these elements to what numawise wrote (virsh edit GUEST), then undo again
             or: bind anew from today's state: numawise bind GUEST --policy smart
    "#]]
    .assert_eq(&text::undo_conflicts(&[conflict], &Look::default()));
}

#[test]
fn the_caret_stands_under_the_place() {
    let drawn = |text, at, message| text::list_error(text, at, message, &Look::default());
    assert_eq!(
        drawn("1-3-,5", 4, "a range has one '-'"),
        "  1-3-,5\n".to_owned() + "      ^ a range has one '-'\n"
    );
    let long = format!("{}x", "1,".repeat(100));
    assert_eq!(
        drawn(&long, 200, "a number is wanted"),
        "  ...1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,x\n".to_owned()
            + "                                   ^ a number is wanted\n"
    );
    // Letters of two bytes take one column, a place past the end is the end, control characters are
    // blanks.
    assert_eq!(drawn("é\u{1b},", 99, "a number is missing"), "  é ,\n     ^ a number is missing\n");
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

#[test]
fn moves_read_well() {
    let guest = || "db01".to_owned();
    let peer = || "qemu+ssh://b/system".to_owned();
    let intent = || "i-1".to_owned();
    let events = [
        Event::Moving { guest: guest(), to: peer(), live: true },
        Event::Moving { guest: guest(), to: peer(), live: false },
        Event::MoveProgressed {
            guest: guest(),
            progress: MoveProgress { total_bytes: 8 << 30, left_bytes: 3 << 29 },
        },
        Event::Arrived { guest: guest(), at: peer() },
        Event::LeftSource { guest: guest(), from: peer() },
        Event::MoveWaits {
            guest: guest(),
            intent: intent(),
            peer: peer(),
            why: "it does not answer".to_owned(),
        },
    ];
    let look = Look::default();
    let said: String = events.iter().map(|event| text::event(event, &look)).collect();
    expect![[r#"
        db01: moving to qemu+ssh://b/system, running
        db01: its definition goes to qemu+ssh://b/system
        db01: 1.5 GiB of 8 GiB still to go
        db01: is at qemu+ssh://b/system
        db01: gone from qemu+ssh://b/system, and its CPUs and memory there are given back
        db01: the interrupted move i-1 waits for qemu+ssh://b/system; until then its CPUs and memory stay claimed on both hosts: it does not answer
    "#]]
    .assert_eq(&said);
    let simulated = Look { simulated: true, ..look };
    assert!(text::moves_as_it_is("db01", &simulated).ends_with("(simulated host)\n"));
}
