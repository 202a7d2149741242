//! SVG: well-formed, complete, and kept in the build folder so that a person can look at it.

use crate::hosts::*;
use numawise_model::{Host, Mode};
use numawise_render::{HostView, Look, svg};
use std::collections::BTreeSet;

fn keep(name: &str, drawing: &str) {
    let path = format!("{}/{name}.svg", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(path, drawing).expect("the build folder can be written to");
}

fn check(name: &str, host: &Host, view: &HostView<'_>) {
    let drawing = svg::host(host, view);
    keep(name, &drawing);
    let document = roxmltree::Document::parse(&drawing).expect("well-formed");
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "svg");
    assert_eq!(root.attribute("role"), Some("img"));
    for part in ["title", "desc"] {
        let found = root.children().find(|n| n.tag_name().name() == part);
        let text = found.and_then(|n| n.text()).unwrap_or_else(|| panic!("{name}: no {part}"));
        assert!(!text.trim().is_empty(), "{name}: an empty {part}");
    }
    let cells = root.descendants().filter(|n| n.attribute("class") == Some("cpu"));
    let numbers: BTreeSet<u32> = cells
        .flat_map(|cell| cell.children().collect::<Vec<_>>())
        .filter(|n| n.tag_name().name() == "text")
        .filter_map(|n| n.text()?.trim().parse().ok())
        .collect();
    let online: BTreeSet<u32> = host.topology.online.iter().map(|cpu| cpu.0).collect();
    assert_eq!(numbers, online, "{name}: every CPU once");
}

#[test]
fn hosts_are_well_formed_and_complete() {
    let ledger = ledger(vec![
        claim(guest_owner("db<01>&\"co\"", 1), "1-7,192-199", Mode::Exclusive),
        claim(guest_owner("web01", 2), "8-12", Mode::Shared),
        claim(guest_owner("web02", 3), "11-15", Mode::Shared),
    ]);
    let reserved = cpus("0,24");
    let look = Look { simulated: true, ..Look::default() };
    let view = HostView {
        name: "a<b>&c",
        ledger: Some(&ledger),
        reserved: Some(&reserved),
        usage_window_sec: Some(900),
        look,
    };
    check("epyc-384", &with_use(epyc_384()), &view);
    check("seed", &with_use(two_by_32()), &view);
    let plain = HostView { name: "t", ..HostView::default() };
    check("epyc-768", &epyc_768(), &plain);
    check("memory-only", &with_memory_only_node(), &plain);
    check("no-l3", &no_l3(), &plain);
    check("no-node", &cpus_in_no_node(), &plain);
    check("odd", &odd_host(), &plain);
    check("pair", &one_cpu_pair(), &plain);
    check("interleaved", &every_second_cpu(), &plain);
}

#[test]
fn a_simulated_host_says_so() {
    let look = Look { simulated: true, ..Look::default() };
    let host = two_by_32();
    let drawing = svg::host(&host, &HostView { name: "t", look, ..HostView::default() });
    assert!(drawing.contains("simulated host"));
    let mut view = seed_guest(&host);
    view.look = look;
    assert!(svg::guest(&view).contains("simulated host"));
}

#[test]
fn a_guest_has_a_line_for_each_node() {
    let host = two_by_32();
    let ledger = ledger(vec![claim(guest_owner("web01", 2), "20-23", Mode::Shared)]);
    let mut view = seed_guest(&host);
    view.ledger = Some(&ledger);
    let drawing = svg::guest(&view);
    keep("guest", &drawing);
    let document = roxmltree::Document::parse(&drawing).expect("well-formed");
    let links = document.descendants().filter(|n| n.attribute("class") == Some("link")).count();
    assert_eq!(links, 2);
    for words in
        ["vNUMA node 0", "memory 128 GiB", "pNUMA node 1", "also guest web01: 20-23 (shared)"]
    {
        assert!(drawing.contains(words), "{words}");
    }
    view.cells.clear();
    view.memory_nodes.clear();
    keep("guest-flat", &svg::guest(&view));
}
