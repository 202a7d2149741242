//! A guest on its host: the picture with lines, the table, the plan.

use crate::hosts::*;
use expect_test::expect;
use numawise_model::guest::GuestCell;
use numawise_model::{
    CpuSet, Finding, FindingKind, GuestUuid, Mode, NodeSet, PageSize, Pcpu, Pnode, Severity,
    Subject, Vcpu, Vnode,
};
use numawise_render::{GuestRow, GuestState, GuestView, Look, text};

#[test]
fn the_seeds_guest() {
    let host = two_by_32();
    expect![[r#"
        guest db01 (running) on host seed
        48 vCPUs, 192 GiB; bound to pCPUs of its own; 3 sockets x 16 cores x 1 thread
        guest (vNUMA)                        host (pNUMA)
        ┌─ vNUMA node 0 ───────────┐         ┌─ pNUMA node 1 ──────────────────────────┐
        │ vCPUs 0-31 (32)          ├─────────┤ pCPUs 32-63 (32 of 32)                  │
        │ memory 128 GiB           │         │ memory 256 GiB, 256 GiB free            │
        │ distances 10, 21         │         └─────────────────────────────────────────┘
        └──────────────────────────┘
        ┌─ vNUMA node 1 ───────────┐         ┌─ pNUMA node 0 ──────────────────────────┐
        │ vCPUs 32-47 (16)         ├─────────┤ pCPUs 0-15 (16 of 32)                   │
        │ memory 64 GiB            │         │ memory 256 GiB, 256 GiB free            │
        │ distances 21, 10         │         └─────────────────────────────────────────┘
        └──────────────────────────┘

        binding
          vCPUs 0-31   -> pCPUs 32-63, one to one (node 1)
          vCPUs 32-47  -> pCPUs 0-15, one to one (node 0)
          emulator -> pCPUs 0,32
          I/O threads 1 and 2 -> pCPUs 0,32
    "#]]
    .assert_eq(&text::guest(&seed_guest(&host)));
}

#[test]
fn without_vnuma_one_box_has_lines_to_both_nodes() {
    let host = two_by_32();
    let mut view = seed_guest(&host);
    view.cells.clear();
    view.memory_nodes.clear();
    let ledger = ledger(vec![
        claim(guest_owner("web01", 2), "20-23", Mode::Shared),
        claim(numawise_model::Owner::Reserved, "31", Mode::Exclusive),
    ]);
    view.ledger = Some(&ledger);
    view.look.simulated = true;
    expect![[r#"
        guest db01 (running) on host seed, simulated host
        48 vCPUs, 192 GiB; bound to pCPUs of its own; 3 sockets x 16 cores x 1 thread
        guest (vNUMA)                         host (pNUMA)
        ┌─ guest sees no NUMA ─────┐          ┌─ pNUMA node 1 ─────────────────────────┐
        │ vCPUs 0-47 (48)          ├───┬──────┤ pCPUs 32-63 (32 of 32)                 │
        │ memory 192 GiB           │   │      │ memory 256 GiB, 256 GiB free           │
        └──────────────────────────┘   │      └────────────────────────────────────────┘
                                       │      ┌─ pNUMA node 0 ─────────────────────────┐
                                       └──────┤ pCPUs 0-15 (16 of 32)                  │
                                              │ memory 256 GiB, 256 GiB free           │
                                              │ also guest web01: 20-23 (shared)       │
                                              │ also the host itself (reserved): 31    │
                                              │   (exclusive)                          │
                                              └────────────────────────────────────────┘

        binding
          vCPUs 0-31   -> pCPUs 32-63, one to one (node 1)
          vCPUs 32-47  -> pCPUs 0-15, one to one (node 0)
          emulator -> pCPUs 0,32
          I/O threads 1 and 2 -> pCPUs 0,32
    "#]]
    .assert_eq(&text::guest(&view));
}

#[test]
fn drift_is_marked_and_told() {
    let host = two_by_32();
    let uuid = GuestUuid("00000000-0000-4000-8000-000000000001".to_owned());
    let mut view = seed_guest(&host);
    let subject = Subject::Guest { uuid: Some(uuid), name: "db01".to_owned() };
    let found = |kind| Finding { severity: Severity::Error, subject: subject.clone(), kind };
    view.drift = vec![
        found(FindingKind::ThreadAffinity {
            vcpu: Vcpu(3),
            expected: cpus("35"),
            seen: Some(cpus("0-63")),
        }),
        found(FindingKind::MemoryElsewhere {
            expected: Pnode(0),
            seen: Pnode(1),
            page_size: PageSize::HUGE_2M,
            pages: 512,
            of: 32768,
        }),
    ];
    expect![[r#"
        guest db01 (running) on host seed
        48 vCPUs, 192 GiB; bound to pCPUs of its own; 3 sockets x 16 cores x 1 thread
        guest (vNUMA)                        host (pNUMA)
        ┌─ vNUMA node 0 (drift) ───┐         ┌─ pNUMA node 1 ──────────────────────────┐
        │ vCPUs 0-31 (32)          ├─────────┤ pCPUs 32-63 (32 of 32)                  │
        │ memory 128 GiB           │         │ memory 256 GiB, 256 GiB free            │
        │ distances 10, 21         │         └─────────────────────────────────────────┘
        └──────────────────────────┘
        ┌─ vNUMA node 1 (drift) ───┐         ┌─ pNUMA node 0 ──────────────────────────┐
        │ vCPUs 32-47 (16)         ├─────────┤ pCPUs 0-15 (16 of 32)                   │
        │ memory 64 GiB            │         │ memory 256 GiB, 256 GiB free            │
        │ distances 21, 10         │         └─────────────────────────────────────────┘
        └──────────────────────────┘

        binding
          vCPUs 0-31   -> pCPUs 32-63, one to one (node 1)
          vCPUs 32-47  -> pCPUs 0-15, one to one (node 0)
          emulator -> pCPUs 0,32
          I/O threads 1 and 2 -> pCPUs 0,32

        drift
        error: guest db01: vCPU 3 should run on 35; its thread may run on 0-63
          to do: move the threads back: `numawise apply db01 --live`
             or: by hand: `virsh vcpupin db01 3 35 --live`
        error: guest db01: 512 x 2M (1 GiB) of 32768 pages that should be on node 0 are on node 1
          to do: shut the guest down fully and start it
             or: move the pages: `migratepages PID 1 0`
    "#]]
    .assert_eq(&text::guest(&view));
}

/// A guest bound by hand: its lines cross, one vCPU is free to roam, memory is elsewhere.
#[test]
fn crossing_lines_can_be_followed() {
    let host = epyc_384();
    let mut view = seed_guest(&host);
    let cell = |id, list: &str| GuestCell {
        id: Vnode(id),
        vcpus: numawise_model::parse_list(list).expect("a list in a test"),
        memory_bytes: 8 * GIB,
        distances: Default::default(),
    };
    view.cells = vec![cell(0, "0-3"), cell(1, "4-7"), cell(2, "8-11")];
    view.vcpus = 12;
    view.binding =
        (0..11).map(|v| (Vcpu(v), if v % 4 < 2 { cpus("0-7") } else { cpus("24-31") })).collect();
    view.memory_nodes = [(Vnode(2), [Pnode(5)].into_iter().collect::<NodeSet>())].into();
    expect![[r#"
        guest db01 (running) on host seed
        12 vCPUs, 192 GiB; bound to pCPUs of its own; 3 sockets x 16 cores x 1 thread
        guest (vNUMA)                          host (pNUMA)
        ┌─ vNUMA node 0 ─────────┐             ┌─ pNUMA node 1 ────────────────────────┐
        │ vCPUs 0-3 (4)          ├───┬┬─┬──────┤ pCPUs 24-31 (8 of 48)                 │
        │ memory 8 GiB           │   ││ │      │ memory 192 GiB, 192 GiB free          │
        └────────────────────────┘   ││ │      └───────────────────────────────────────┘
        ┌─ vNUMA node 1 ─────────┐   ││ │      ┌─ pNUMA node 0 ────────────────────────┐
        │ vCPUs 4-7 (4)          ├───┴┴─┼┬─────┤ pCPUs 0-7 (8 of 48)                   │
        │ memory 8 GiB           │      ││     │ memory 192 GiB, 192 GiB free          │
        └────────────────────────┘      ││     └───────────────────────────────────────┘
        ┌─ vNUMA node 2 ─────────┐      ││     ┌─ pNUMA node 5 ────────────────────────┐
        │ vCPUs 8-11 (4)         ├──────┴┴─────┤ none of its 48 pCPUs bound            │
        │ memory 8 GiB           │             │ memory 192 GiB, 192 GiB free          │
        │ not bound: 11          │             └───────────────────────────────────────┘
        │ memory from node 5     │
        └────────────────────────┘
        takes no part: nodes 2-4,6-7

        binding
          vCPUs 0-1  -> pCPUs 0-7, each on any of them (node 0)
          vCPUs 2-3  -> pCPUs 24-31, each on any of them (node 1)
          vCPUs 4-5  -> pCPUs 0-7, each on any of them (node 0)
          vCPUs 6-7  -> pCPUs 24-31, each on any of them (node 1)
          vCPUs 8-9  -> pCPUs 0-7, each on any of them (node 0)
          vCPU 10    -> pCPUs 24-31, on any of them (node 1)
          vCPU 11    not bound
          emulator -> pCPUs 0,32
          I/O threads 1 and 2 -> pCPUs 0,32
    "#]]
    .assert_eq(&text::guest(&view));
}

#[test]
fn smt_siblings_in_turn_are_one_line() {
    let host = epyc_384();
    let mut view = seed_guest(&host);
    view.cells.clear();
    view.memory_nodes.clear();
    let onto = |v: u32| CpuSet::single(Pcpu(if v.is_multiple_of(2) { v / 2 } else { 192 + v / 2 }));
    view.vcpus = 16;
    view.binding = (0..16).map(|v| (Vcpu(v), onto(v))).collect();
    let text = text::guest(&view);
    assert!(
        text.contains("vCPUs 0-15  -> pCPUs 0-7 and 192-199 in turn, one to one (node 0)"),
        "{text}"
    );
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let host = two_by_32();
    for width in [60, 80, 120] {
        let mut view: GuestView<'_> = seed_guest(&host);
        view.name = "a-guest-with-a-name-that-is-much-longer-than-any-terminal-should-have-to-show";
        view.look = Look { width, ..Look::default() };
        let text = text::guest(&view);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(width), "{widest:?} > {width}\n{text}");
    }
}

fn rows() -> Vec<GuestRow> {
    let row = GuestRow {
        name: "db01".to_owned(),
        state: GuestState::Running,
        vcpus: 48,
        memory_bytes: 192 * GIB,
        pcpus: cpus("0-15,32-63"),
        mode: Some(Mode::Exclusive),
        nodes: [Pnode(0), Pnode(1)].into_iter().collect(),
        vnuma: vec![32, 16],
        drift: Some(0),
        pending_restart: false,
        owner: None,
    };
    let web = GuestRow {
        name: "web01".to_owned(),
        state: GuestState::Off,
        vcpus: 4,
        pcpus: CpuSet::new(),
        mode: None,
        nodes: NodeSet::new(),
        vnuma: Vec::new(),
        drift: None,
        pending_restart: false,
        ..row.clone()
    };
    vec![GuestRow { drift: Some(2), name: "db02".to_owned(), ..row.clone() }, row, web]
}

/// The column is there only where somebody else owns a guest.
#[test]
fn the_table_names_other_owners() {
    use numawise_model::{ForeignOwner, Manager};
    assert!(!text::guests(&rows(), &Look::default()).contains("owner"));
    let mut rows = rows();
    rows[0].owner = Some(ForeignOwner::Managed { by: Manager::Nova });
    rows[2].owner = Some(ForeignOwner::Transient);
    let look = Look { width: 120, ..Look::default() };
    let table = text::guests(&rows, &look);
    let ends: Vec<&str> = table.lines().filter_map(|line| line.rsplit("  ").next()).collect();
    assert_eq!(ends, ["owner", "OpenStack Nova", "-", "transient"], "{table}");
}

#[test]
fn the_table_of_guests() {
    expect![[r#"
        guest  state     binding                          nodes  vNUMA    drift
        db02   running   48 vCPUs on 48 pCPUs, exclusive  0-1    32 + 16  2 findings
        db01   running   48 vCPUs on 48 pCPUs, exclusive  0-1    32 + 16  none
        web01  shut off  4 vCPUs, not bound               -      off      not checked
    "#]]
    .assert_eq(&text::guests(&rows(), &Look::default()));
    let simulated = Look { simulated: true, ..Look::default() };
    assert!(text::guests(&rows(), &simulated).starts_with("simulated host\n"));
    assert_eq!(text::guests(&[], &simulated), "no guests (simulated host)\n");
}

/// Whatever the binding is, its lines say it again in full.
#[test]
fn binding_runs_can_be_read_back() {
    use numawise_render::binding::{Onto, runs};
    let single = |cpu: u32| CpuSet::single(Pcpu(cpu));
    let mut bindings: Vec<Vec<(u32, CpuSet)>> = vec![
        Vec::new(),
        (0..48).map(|v| (v, single(if v < 32 { v + 32 } else { v - 32 }))).collect(),
        (0..9).map(|v| (v, single(v / 2 + 8 * (v % 2)))).collect(),
        (0..6).map(|v| (v, single(v / 2))).collect(),
        (0..4).map(|v| (v * 2, cpus("0-3"))).collect(),
        (0..70).map(|v| (v, single((v + 32) % 64))).collect(),
    ];
    // A small generator with a fixed seed: bindings without any order.
    let mut state = 12345u32;
    for _ in 0..200 {
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
            (state >> 16) % below
        };
        let size = next(20);
        bindings
            .push((0..size).map(|v| (v, (0..=next(2)).map(|_| Pcpu(next(4))).collect())).collect());
    }
    for binding in bindings {
        let mut read = Vec::new();
        for run in runs(&binding) {
            for (at, vcpu) in (run.first..=run.last).enumerate() {
                let at = at as u32;
                read.push((
                    vcpu,
                    match &run.onto {
                        Onto::InOrder { first, .. } => single(first.0 + at),
                        Onto::InTurn(ways) => {
                            let ways_n = ways.len() as u32;
                            single(ways[(at % ways_n) as usize].0.0 + at / ways_n)
                        }
                        Onto::AnyOf(cpus) => cpus.clone(),
                    },
                ));
            }
        }
        assert_eq!(read, binding);
    }
}
