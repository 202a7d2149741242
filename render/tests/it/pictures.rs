//! Pictures for a terminal.

use crate::hosts::*;
use expect_test::expect;
use numawise_model::{Host, Mode};
use numawise_render::{HostView, Look, text};

fn drawn(host: &Host) -> String {
    let view = HostView { name: "t", ..HostView::default() };
    text::host(host, &view)
}

#[test]
fn the_seeds_host() {
    expect![[r#"
        host t
        synthetic, x86_64
        64 CPUs, 64 cores, 2 L3 domains, 2 nodes, 2 packages; no SMT
        memory 512 GiB
        ┌─ package 0: 32 CPUs ─────────────────────────────────────────────────────────┐
        │ ┌─ node 0: 32 CPUs, 0-31 ──────────────────────────────────────────────────┐ │
        │ │ memory 256 GiB, 256 GiB free                                             │ │
        │ │ L3 0 (32 MiB)  0-31   ········ ········ ········ ········                │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        ┌─ package 1: 32 CPUs ─────────────────────────────────────────────────────────┐
        │ ┌─ node 1: 32 CPUs, 32-63 ─────────────────────────────────────────────────┐ │
        │ │ memory 256 GiB, 256 GiB free                                             │ │
        │ │ L3 1 (32 MiB)  32-63  ········ ········ ········ ········                │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        marks: · free
        distances   0   1
                0  10  21
                1  21  10
    "#]]
    .assert_eq(&drawn(&two_by_32()));
}

#[test]
fn a_pair() {
    expect![[r#"
        host t
        synthetic, x86_64
        2 CPUs, 1 core, 1 L3 domain, 1 node, 1 package; 2 threads to a core
        memory 192 GiB
        ┌─ package 0: 2 CPUs ──────────────────────────────────────────────────────────┐
        │ ┌─ node 0: 2 CPUs, 0-1 ────────────────────────────────────────────────────┐ │
        │ │ memory 192 GiB, 192 GiB free                                             │ │
        │ │ L3 0 (32 MiB)  0-1  ··                                                   │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        marks: · free
          one mark per CPU, the threads of a core side by side
    "#]]
    .assert_eq(&drawn(&one_cpu_pair()));
}

#[test]
fn two_guests_and_reserved_cpus() {
    let ledger = ledger(vec![
        claim(guest_owner("db01", 1), "32-63,1-16", Mode::Exclusive),
        claim(guest_owner("web01", 2), "17-20", Mode::Shared),
        claim(guest_owner("web02", 3), "19-24", Mode::Shared),
    ]);
    let look = Look { width: 100, simulated: true, ..Look::default() };
    let reserved = cpus("0,32");
    let view = HostView {
        name: "seed",
        ledger: Some(&ledger),
        reserved: Some(&reserved),
        usage_window_sec: Some(900),
        look,
    };
    expect![[r#"
        host seed (simulated host)
        synthetic, x86_64
        64 CPUs, 64 cores, 2 L3 domains, 2 nodes, 2 packages; no SMT
        memory 512 GiB
        ┌─ package 0: 32 CPUs ─────────────────────────────────────────────────────────────────────────────┐
        │ ┌─ node 0: 32 CPUs, 0-31 ──────────────────────────────────────────────────────────────────────┐ │
        │ │ memory 256 GiB, 256 GiB free                                                                 │ │
        │ │ L3 0 (32 MiB)  0-31   #AAAAAAA AAAAAAAA Abb++ccc c·······  use 45 %                          │ │
        │ │                       ▁▁▁▁▂▂▂▃ ▃▃▃▄▄▄▅▅ ▅▆▆▆▆▇▇▇ ████▁▁▁▂                                    │ │
        │ └──────────────────────────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────────────────────────┘
        ┌─ package 1: 32 CPUs ─────────────────────────────────────────────────────────────────────────────┐
        │ ┌─ node 1: 32 CPUs, 32-63 ─────────────────────────────────────────────────────────────────────┐ │
        │ │ memory 256 GiB, 256 GiB free                                                                 │ │
        │ │ L3 1 (32 MiB)  32-63  AAAAAAAA AAAAAAAA AAAAAAAA AAAAAAAA  use 47 %                          │ │
        │ │                       ▂▂▃▃▃▃▄▄ ▄▅▅▅▆▆▆▆ ▇▇▇████▁ ▁▁▂▂▂▃▃▃                                    │ │
        │ └──────────────────────────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────────────────────────┘
        marks: · free; A guest db01 (alone, 1-16,32-63); b guest web01 (shared, 17-18); c guest web02
          (shared, 21-24); + shared by several; # reserved for the host
        use: average of the last 15 minutes
        one bar per CPU: ▁ up to 12 %, █ above 87 %, ? not sampled
        distances   0   1
                0  10  21
                1  21  10
    "#]].assert_eq(&text::host(&with_use(two_by_32()), &view));
}

#[test]
fn an_epyc_of_384() {
    let ledger = ledger(vec![claim(guest_owner("db01", 1), "0-7,192-199", Mode::Exclusive)]);
    let view = HostView {
        name: "epyc",
        ledger: Some(&ledger),
        usage_window_sec: Some(900),
        ..HostView::default()
    };
    expect![[r#"
        host epyc
        synthetic, x86_64
        384 CPUs, 192 cores, 24 L3 domains, 8 nodes, 2 packages; 2 threads to a core
        memory 1536 GiB
        ┌─ package 0: 192 CPUs ────────────────────────────────────────────────────────┐
        │ ┌─ node 0: 48 CPUs, 0-23,192-215 ──────────────────────────────────────────┐ │
        │ │ memory 192 GiB, 192 GiB free                                             │ │
        │ │ L3 0 (32 MiB)   0-7,192-199      AA AA AA AA AA AA AA AA  use 18 %       │ │
        │ │ L3 1 (32 MiB)   8-15,200-207     ·· ·· ·· ·· ·· ·· ·· ··  use 47 %       │ │
        │ │ L3 2 (32 MiB)   16-23,208-215    ·· ·· ·· ·· ·· ·· ·· ··  use 77 %       │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        │ ┌─ node 1: 48 CPUs, 24-47,216-239 ─────────────────────────────────────────┐ │
        │ │ memory 192 GiB, 192 GiB free                                             │ │
        │ │ L3 3 (32 MiB)   24-31,216-223    ·· ·· ·· ·· ·· ·· ·· ··  use 38 %       │ │
        │ │ L3 4 (32 MiB)   32-39,224-231    ·· ·· ·· ·· ·· ·· ·· ··  use 36 %       │ │
        │ │ L3 5 (32 MiB)   40-47,232-239    ·· ·· ·· ·· ·· ·· ·· ··  use 66 %       │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        │ ┌─ node 2: 48 CPUs, 48-71,240-263 ─────────────────────────────────────────┐ │
        │ │ memory 192 GiB, 192 GiB free                                             │ │
        │ │ L3 6 (32 MiB)   48-55,240-247    ·· ·· ·· ·· ·· ·· ·· ··  use 64 %       │ │
        │ │ L3 7 (32 MiB)   56-63,248-255    ·· ·· ·· ·· ·· ·· ·· ··  use 25 %       │ │
        │ │ L3 8 (32 MiB)   64-71,256-263    ·· ·· ·· ·· ·· ·· ·· ··  use 54 %       │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        │ ┌─ node 3: 48 CPUs, 72-95,264-287 ─────────────────────────────────────────┐ │
        │ │ memory 192 GiB, 192 GiB free                                             │ │
        │ │ L3 9 (32 MiB)   72-79,264-271    ·· ·· ·· ·· ·· ·· ·· ··  use 78 %       │ │
        │ │ L3 10 (32 MiB)  80-87,272-279    ·· ·· ·· ·· ·· ·· ·· ··  use 26 %       │ │
        │ │ L3 11 (32 MiB)  88-95,280-287    ·· ·· ·· ·· ·· ·· ·· ··  use 43 %       │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        ┌─ package 1: 192 CPUs ────────────────────────────────────────────────────────┐
        │ ┌─ node 4: 48 CPUs, 96-119,288-311 ────────────────────────────────────────┐ │
        │ │ memory 192 GiB, 192 GiB free                                             │ │
        │ │ L3 12 (32 MiB)  96-103,288-295   ·· ·· ·· ·· ·· ·· ·· ··  use 73 %       │ │
        │ │ L3 13 (32 MiB)  104-111,296-303  ·· ·· ·· ·· ·· ·· ·· ··  use 46 %       │ │
        │ │ L3 14 (32 MiB)  112-119,304-311  ·· ·· ·· ·· ·· ·· ·· ··  use 32 %       │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        │ ┌─ node 5: 48 CPUs, 120-143,312-335 ───────────────────────────────────────┐ │
        │ │ memory 192 GiB, 192 GiB free                                             │ │
        │ │ L3 15 (32 MiB)  120-127,312-319  ·· ·· ·· ·· ·· ·· ·· ··  use 61 %       │ │
        │ │ L3 16 (32 MiB)  128-135,320-327  ·· ·· ·· ·· ·· ·· ·· ··  use 72 %       │ │
        │ │ L3 17 (32 MiB)  136-143,328-335  ·· ·· ·· ·· ·· ·· ·· ··  use 21 %       │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        │ ┌─ node 6: 48 CPUs, 144-167,336-359 ───────────────────────────────────────┐ │
        │ │ memory 192 GiB, 192 GiB free                                             │ │
        │ │ L3 18 (32 MiB)  144-151,336-343  ·· ·· ·· ·· ·· ·· ·· ··  use 50 %       │ │
        │ │ L3 19 (32 MiB)  152-159,344-351  ·· ·· ·· ·· ·· ·· ·· ··  use 80 %       │ │
        │ │ L3 20 (32 MiB)  160-167,352-359  ·· ·· ·· ·· ·· ·· ·· ··  use 28 %       │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        │ ┌─ node 7: 48 CPUs, 168-191,360-383 ───────────────────────────────────────┐ │
        │ │ memory 192 GiB, 192 GiB free                                             │ │
        │ │ L3 21 (32 MiB)  168-175,360-367  ·· ·· ·· ·· ·· ·· ·· ··  use 39 %       │ │
        │ │ L3 22 (32 MiB)  176-183,368-375  ·· ·· ·· ·· ·· ·· ·· ··  use 68 %       │ │
        │ │ L3 23 (32 MiB)  184-191,376-383  ·· ·· ·· ·· ·· ·· ·· ··  use 54 %       │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        marks: · free; A guest db01 (alone, 0-7,192-199)
          one mark per CPU, the threads of a core side by side
        use: average of the last 15 minutes
        distances   0   1   2   3   4   5   6   7
                0  10  12  12  12  32  32  32  32
                1  12  10  12  12  32  32  32  32
                2  12  12  10  12  32  32  32  32
                3  12  12  12  10  32  32  32  32
                4  32  32  32  32  10  12  12  12
                5  32  32  32  32  12  10  12  12
                6  32  32  32  32  12  12  10  12
                7  32  32  32  32  12  12  12  10
    "#]]
    .assert_eq(&text::host(&with_use(epyc_384()), &view));
}

#[test]
fn a_memory_only_node() {
    expect![[r#"
        host t
        synthetic, x86_64
        8 CPUs, 8 cores, 2 L3 domains, 3 nodes, 2 packages; no SMT
        memory 32 GiB
        ┌─ package 0: 4 CPUs ──────────────────────────────────────────────────────────┐
        │ ┌─ node 0: 4 CPUs, 0-3 ────────────────────────────────────────────────────┐ │
        │ │ memory 16 GiB, 16 GiB free                                               │ │
        │ │ L3 0 (32 MiB)  0-3  ····                                                 │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        ┌─ package 1: 4 CPUs ──────────────────────────────────────────────────────────┐
        │ ┌─ node 1: 4 CPUs, 4-7 ────────────────────────────────────────────────────┐ │
        │ │ memory 16 GiB, 16 GiB free                                               │ │
        │ │ L3 1 (32 MiB)  4-7  ····                                                 │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        ┌─ memory only, no CPUs ───────────────────────────────────────────────────────┐
        │ node 2: memory 64 GiB, unknown free                                          │
        └──────────────────────────────────────────────────────────────────────────────┘
        marks: · free
        distances   0   1   2
                0  10  21  14
                1  21  10  24
                2  14  24  10
    "#]]
    .assert_eq(&drawn(&with_memory_only_node()));
}

#[test]
fn no_l3_is_said() {
    expect![[r#"
        host t
        synthetic, x86_64
        8 CPUs, 8 cores, 0 L3 domains, 2 nodes, 2 packages; no SMT
        memory 32 GiB
        ┌─ package 0: 4 CPUs ──────────────────────────────────────────────────────────┐
        │ ┌─ node 0: 4 CPUs, 0-3 ────────────────────────────────────────────────────┐ │
        │ │ memory 16 GiB, 16 GiB free                                               │ │
        │ │ no L3                                                                    │ │
        │ │ ····                                                                     │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        ┌─ package 1: 4 CPUs ──────────────────────────────────────────────────────────┐
        │ ┌─ node 1: 4 CPUs, 4-7 ────────────────────────────────────────────────────┐ │
        │ │ memory 16 GiB, 16 GiB free                                               │ │
        │ │ no L3                                                                    │ │
        │ │ ····                                                                     │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        marks: · free
        distances   0   1
                0  10  21
                1  21  10
    "#]]
    .assert_eq(&drawn(&no_l3()));
}

#[test]
fn cpus_without_a_node_have_a_box() {
    expect![[r#"
        host t
        synthetic, x86_64
        8 CPUs, 8 cores, 2 L3 domains, 2 nodes, 2 packages; no SMT
        memory 32 GiB
        ┌─ package 0: 4 CPUs ──────────────────────────────────────────────────────────┐
        │ ┌─ node 0: 4 CPUs, 0-3 ────────────────────────────────────────────────────┐ │
        │ │ memory 16 GiB, 16 GiB free                                               │ │
        │ │ L3 0 (32 MiB)                   0-3  ····                                │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        ┌─ package 1: 4 CPUs ──────────────────────────────────────────────────────────┐
        │ ┌─ node 1: 2 CPUs, 4-5 ────────────────────────────────────────────────────┐ │
        │ │ memory 16 GiB, 16 GiB free                                               │ │
        │ │ L3 1 (32 MiB, 2 of its 4 CPUs)  4-5  ··                                  │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        │ ┌─ in no node: 2 CPUs, 6-7 ────────────────────────────────────────────────┐ │
        │ │ L3 1 (32 MiB, 2 of its 4 CPUs)  6-7  ··                                  │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        marks: · free
        distances   0   1
                0  10  21
                1  21  10
    "#]]
    .assert_eq(&drawn(&cpus_in_no_node()));
}

#[test]
fn an_l3_domain_over_two_nodes() {
    expect![[r#"
        host t
        synthetic, x86_64
        8 CPUs, 8 cores, 1 L3 domain, 2 nodes, 1 package; no SMT
        memory 32 GiB
        ┌─ package 0: 8 CPUs ──────────────────────────────────────────────────────────┐
        │ ┌─ node 0: 4 CPUs, 0-3 ────────────────────────────────────────────────────┐ │
        │ │ memory 16 GiB, 16 GiB free                                               │ │
        │ │ L3 0 (32 MiB, 4 of its 8 CPUs)  0-3  ····                                │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        │ ┌─ node 1: 4 CPUs, 4-7 ────────────────────────────────────────────────────┐ │
        │ │ memory 16 GiB, 16 GiB free                                               │ │
        │ │ L3 0 (32 MiB, 4 of its 8 CPUs)  4-7  ····                                │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        marks: · free
        distances   0   1
                0  10  21
                1  21  10
    "#]]
    .assert_eq(&drawn(&l3_over_two_nodes()));
}

#[test]
fn a_node_over_two_packages() {
    expect![[r#"
        host t
        synthetic, x86_64
        8 CPUs, 8 cores, 2 L3 domains, 1 node, 2 packages; no SMT
        memory 32 GiB
        ┌─ package 0: 4 CPUs ──────────────────────────────────────────────────────────┐
        │ ┌─ node 0: 4 of its 8 CPUs, 0-3 ───────────────────────────────────────────┐ │
        │ │ memory 16 GiB, 16 GiB free                                               │ │
        │ │ L3 0 (32 MiB)  0-3  ····                                                 │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        ┌─ package 1: 4 CPUs ──────────────────────────────────────────────────────────┐
        │ ┌─ node 0: 4 of its 8 CPUs, 4-7 ───────────────────────────────────────────┐ │
        │ │ L3 1 (32 MiB)  4-7  ····                                                 │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        marks: · free
    "#]]
    .assert_eq(&drawn(&node_over_two_packages()));
}

#[test]
fn a_768_cpu_host_is_short() {
    let text = drawn(&epyc_768());
    assert!(text.lines().count() < 80, "{} lines", text.lines().count());
}

/// Every shape, at several widths: no line is wider, and no CPU is lost.
#[test]
fn no_line_is_wider_than_the_terminal() {
    let hosts = [
        two_by_32(),
        epyc_384(),
        epyc_768(),
        with_memory_only_node(),
        l3_over_two_nodes(),
        cpus_in_no_node(),
        no_l3(),
        node_over_two_packages(),
        every_second_cpu(),
        many_small_l3(),
        sixteen_nodes(),
    ];
    for host in hosts.map(with_use) {
        for width in [60, 80, 100, 160] {
            let look = Look { width, ..Look::default() };
            let view =
                HostView { name: "t", usage_window_sec: Some(900), look, ..HostView::default() };
            let text = text::host(&host, &view);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{widest:?} > {width}\n{text}");
            let marks = text.matches('·').count() - 1;
            assert_eq!(marks, host.topology.online.len(), "one mark per CPU\n{text}");
        }
    }
}

#[test]
fn interleaved_numbers_are_cut_beside_the_marks_and_whole_in_the_node() {
    expect![[r#"
        host t
        synthetic, x86_64
        64 CPUs, 64 cores, 2 L3 domains, 2 nodes, 2 packages; no SMT
        memory 512 GiB
        ┌─ package 0: 32 CPUs ─────────────────────────────────────────────────────────┐
        │ ┌─ node 0: 32 CPUs ────────────────────────────────────────────────────────┐ │
        │ │ 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48,   │ │
        │ │ 50,52,54,56,58,60,62                                                     │ │
        │ │ memory 256 GiB, 256 GiB free                                             │ │
        │ │ L3 0 (32 MiB)  0,2,4,6,8,10,…  ········ ········ ········                │ │
        │ │                                ········                                  │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        ┌─ package 1: 32 CPUs ─────────────────────────────────────────────────────────┐
        │ ┌─ node 1: 32 CPUs ────────────────────────────────────────────────────────┐ │
        │ │ 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39,41,43,45,47,49,   │ │
        │ │ 51,53,55,57,59,61,63                                                     │ │
        │ │ memory 256 GiB, 256 GiB free                                             │ │
        │ │ L3 1 (32 MiB)  1,3,5,7,9,11,…  ········ ········ ········                │ │
        │ │                                ········                                  │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        marks: · free
        distances   0   1
                0  10  21
                1  21  10
    "#]]
    .assert_eq(&drawn(&every_second_cpu()));
}

#[test]
fn many_small_l3_domains_are_summed_up() {
    expect![[r#"
        host t
        synthetic, x86_64
        256 CPUs, 128 cores, 128 L3 domains, 2 nodes, 2 packages; 2 threads to a core
        memory 384 GiB
        ┌─ package 0: 128 CPUs ────────────────────────────────────────────────────────┐
        │ ┌─ node 0: 128 CPUs, 0-63,128-191 ─────────────────────────────────────────┐ │
        │ │ memory 192 GiB, 192 GiB free                                             │ │
        │ │ 64 L3 domains of 2 CPUs                                                  │ │
        │ │ ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ··  │ │
        │ │ ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ··  │ │
        │ │ ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ··                          │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        ┌─ package 1: 128 CPUs ────────────────────────────────────────────────────────┐
        │ ┌─ node 1: 128 CPUs, 64-127,192-255 ───────────────────────────────────────┐ │
        │ │ memory 192 GiB, 192 GiB free                                             │ │
        │ │ 64 L3 domains of 2 CPUs                                                  │ │
        │ │ ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ··  │ │
        │ │ ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ··  │ │
        │ │ ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ·· ··                          │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        marks: · free
          one mark per CPU, the threads of a core side by side
        distances   0   1
                0  10  21
                1  21  10
    "#]]
    .assert_eq(&drawn(&many_small_l3()));
}

#[test]
fn what_is_out_of_use_and_where_devices_are() {
    expect![[r#"
        host t
        synthetic, x86_64
        16 CPUs, 16 cores, 2 L3 domains, 2 nodes, 2 packages; no SMT
        memory 32 GiB
        ┌─ package 0: 8 CPUs ──────────────────────────────────────────────────────────┐
        │ ┌─ node 0: 8 CPUs, 0-7 ────────────────────────────────────────────────────┐ │
        │ │ memory 16 GiB, 16 GiB free                                               │ │
        │ │ 2M pages: 512 x 2M (1 GiB), 100 free                                     │ │
        │ │ 1G pages: none                                                           │ │
        │ │ devices: eth0 (NIC 0000:01:00.0), 1 other PCI device                     │ │
        │ │ L3 0 (32 MiB)  0-7   ····~~··                                            │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        ┌─ package 1: 8 CPUs ──────────────────────────────────────────────────────────┐
        │ ┌─ node 1: 8 CPUs, 8-15 ───────────────────────────────────────────────────┐ │
        │ │ memory 16 GiB, 16 GiB free                                               │ │
        │ │ 2M pages: 512 x 2M (1 GiB), 512 free                                     │ │
        │ │ 1G pages: none                                                           │ │
        │ │ L3 1 (32 MiB)  8-15  ······--                                            │ │
        │ └──────────────────────────────────────────────────────────────────────────┘ │
        └──────────────────────────────────────────────────────────────────────────────┘
        marks: · free; ~ isolated, free; - not allowed
        distances   0   1
                0  10  21
                1  21  10
        offline: 16-19
        isolated (isolcpus): 4-5
        without timer tick (nohz_full): 4-5
        not allowed here: 14-15 (/sys/fs/cgroup/cpuset.cpus)
        devices near CPUs 8-11: GPU 0000:81:00.0
        devices whose node is unknown: nvme0 (NVMe 0000:41:00.0)
        runs under a hypervisor (KVM): nodes and caches are as it shows them
    "#]]
    .assert_eq(&drawn(&odd_host()));
}

#[test]
fn use_per_cpu() {
    let host = with_use(two_by_32());
    let look = Look::default();
    expect![[r#"
        use: average of the last 15 minutes
        node 0  45 %
          L3 0: CPUs 0-31  45 %
            ▁▁▁▁▂▂▂▃ ▃▃▃▄▄▄▅▅ ▅▆▆▆▆▇▇▇ ████▁▁▁▂
        node 1  47 %
          L3 1: CPUs 32-63  47 %
            ▂▂▃▃▃▃▄▄ ▄▅▅▅▆▆▆▆ ▇▇▇████▁ ▁▁▂▂▂▃▃▃
        busiest: CPU 27 100 %, CPU 54 100 %, CPU 26 96 %, CPU 53 96 %, CPU 25 93 %, CPU
          52 92 %, CPU 24 89 %, CPU 51 89 %
        one bar per CPU: ▁ up to 12 %, █ above 87 %, ? not sampled
    "#]]
    .assert_eq(&text::usage(&host, Some(900), &look));
    let none = text::usage(&two_by_32(), None, &look);
    assert!(none.contains("no use has been sampled yet"), "{none}");
}

#[test]
fn colour_is_only_added() {
    let host = with_use(two_by_32());
    let colour = Look { colour: true, ..Look::default() };
    let view = HostView { name: "seed", ..HostView::default() };
    let painted = text::host(&host, &HostView { look: colour, ..view });
    assert!(painted.contains("\u{1b}["));
    assert_eq!(without_escapes(&painted), text::host(&host, &view));
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().map(str::to_owned);
    first.into_iter().chain(parts.filter_map(|p| Some(p.split_once('m')?.1.to_owned()))).collect()
}

#[test]
fn a_capture_cannot_write_escapes_to_the_terminal() {
    let mut host = two_by_32();
    host.topology.model_name = Some("evil\u{1b}[2J\n".to_owned());
    let text = drawn(&host);
    assert!(!text.contains('\u{1b}') && text.contains("evil\u{fffd}[2J\u{fffd}"), "{text}");
}
