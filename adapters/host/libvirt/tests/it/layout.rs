//! New text looks like its surroundings, and goes without a trace.

use crate::corpus::{all, apply, fixture, keep, pins, read, topology, vnuma, whole_edit};
use numawise_model::{GuestEdit, MemoryMode, PageSize, PinEdit, VnumaEdit};

/// Fixtures with pins, cells, page sizes or an L3 element of their own, which a removal takes out
/// as well: undo is what brings those back.
const HAVE_THEIR_OWN: [&str; 11] = [
    "commented.xml",
    "gpu-passthrough.xml",
    "hmat-cells.xml",
    "hugepages-default.xml",
    "iothreads.xml",
    "kubevirt-like.xml",
    "memory-hotplug.xml",
    "numawise-managed.xml",
    "openstack-nova.xml",
    "pxb-nodes.xml",
    "vcpus-128.xml",
];

/// These have a cell of their own and an empty `<cputune/>`, or `<cpu ...></cpu>` where `<cpu .../>`
/// comes back.
const EMPTY_ELEMENT_CHANGES: [&str; 2] = ["ovirt.xml", "cdata-entities.xml"];

#[test]
fn setting_and_removing_gives_the_same_bytes() {
    let mut restored = 0;
    for (name, xml) in all() {
        if HAVE_THEIR_OWN.contains(&name.as_str()) {
            continue;
        }
        let guest = read(&xml);
        let set = GuestEdit {
            pins: pins(guest.vcpus_max),
            vnuma: vnuma(&guest, 2, MemoryMode::Strict, PageSize::BASE_4K),
            fixes: Vec::new(),
        };
        let remove = GuestEdit {
            pins: PinEdit::Remove,
            vnuma: VnumaEdit::Remove { cpu_topology: guest.cpu_topology },
            fixes: Vec::new(),
        };
        let on = apply(&xml, &set, Some("a note"));
        let off = apply(&on, &remove, Some(""));
        if EMPTY_ELEMENT_CHANGES.contains(&name.as_str()) {
            assert_ne!(off, xml, "{name} is restored now: take it out of the list");
            continue;
        }
        assert_eq!(off, xml, "{name}");
        restored += 1;
    }
    assert!(restored >= 11, "{restored}");
}

#[test]
fn tabs_and_the_blank_before_a_slash_are_kept() {
    let xml = fixture("tabs.xml");
    let text = apply(&xml, &whole_edit(&read(&xml)), None);
    assert!(text.contains("\n\t<cputune>\n\t\t<vcpupin vcpu=\"0\" cpuset=\"1000\"/>\n"), "{text}");
    assert!(text.contains("\n\t<cpu mode=\"host-model\" >\n\t\t<topology "), "{text}");
    assert!(text.contains("\n\t\t\t\t\t<sibling id=\"1\" value=\"10\"/>\n\t\t\t\t</distances>\n"));
}

#[test]
fn every_line_of_a_crlf_text_ends_in_crlf() {
    let xml = fixture("crlf.xml");
    let text = apply(&xml, &whole_edit(&read(&xml)), Some("two\nlines"));
    let body = text.replace("two\nlines", "");
    assert_eq!(body.matches('\n').count(), body.matches("\r\n").count(), "{text:?}");
    assert!(text.contains("\r\n   <cputune>\r\n      <vcpupin "), "{text}");
    assert!(text.ends_with("</domain>"));
}

#[test]
fn a_text_on_one_line_stays_on_one_line() {
    let xml = fixture("single-line.xml");
    let text = apply(&xml, &whole_edit(&read(&xml)), Some("note"));
    assert!(!text.contains('\n'), "{text}");
    assert!(text.contains("</vcpu><cputune><vcpupin vcpu='0' cpuset='1000'/>"), "{text}");
    assert!(text.contains("<cpu mode='host-passthrough'><topology sockets='8' "), "{text}");
}

#[test]
fn comments_stay_with_what_they_speak_of() {
    let xml = fixture("commented.xml");
    let guest = read(&xml);
    let text = apply(&xml, &GuestEdit { pins: pins(guest.vcpus_max), ..keep() }, None);
    let tune = "  <vcpu placement='static'>8</vcpu> <!-- one L3 of the host -->

  <cputune>
    <!-- first core is the host's -->
    <vcpupin vcpu='0' cpuset='1000'/> <!-- main -->
    <vcpupin vcpu='1' cpuset='999'/>

    <!-- the rest: <vcpupin vcpu='2' cpuset='99'/> was wrong -->
    <vcpupin vcpu='2' cpuset='998'/>
    <vcpupin vcpu='3' cpuset='997'/>
    <vcpupin vcpu='4' cpuset='996'/>
    <vcpupin vcpu='5' cpuset='995'/>
    <vcpupin vcpu='6' cpuset='994'/>
    <vcpupin vcpu='7' cpuset='993'/>
    <emulatorpin cpuset='993-1000'/>
    <vcpusched vcpus='0-3' scheduler='fifo' priority='1'/> <!-- real time -->
  </cputune>
";
    assert!(text.contains(tune), "{text}");
    let text = apply(&text, &GuestEdit { pins: PinEdit::Remove, ..keep() }, None);
    let tune = "  <cputune>
    <!-- first core is the host's -->
    <!-- main -->

    <!-- the rest: <vcpupin vcpu='2' cpuset='99'/> was wrong -->
    <vcpusched vcpus='0-3' scheduler='fifo' priority='1'/> <!-- real time -->
  </cputune>
";
    assert!(text.contains(tune), "{text}");
}

#[test]
fn something_put_behind_an_element_goes_behind_its_comment() {
    let xml = fixture("commented.xml");
    let topology = topology(&read(&xml), 2);
    let vnuma = VnumaEdit::Set { topology, mode: MemoryMode::Strict, page_size: PageSize::HUGE_2M };
    let text = apply(&xml, &GuestEdit { vnuma, ..keep() }, Some("n"));
    assert!(text.contains("<!-- 8 GiB -->\n  <memoryBacking>\n"), "{text}");
    assert!(text.contains("  </cputune>\n  <numatune>\n"), "{text}");
    assert!(text.contains("  <cpu mode='host-passthrough'>\n    <topology "), "{text}");
    assert!(text.contains("</numa>\n    <!-- <numa><cell id='0'/></numa> -->\n  </cpu>"), "{text}");
}

#[test]
fn an_empty_element_opens_and_closes_in_place() {
    let xml = fixture("cdata-entities.xml");
    let text = apply(&xml, &whole_edit(&read(&xml)), None);
    assert!(text.contains("  <cputune\n    >\n    <vcpupin vcpu='0' cpuset='1000'/>\n"), "{text}");
    assert!(text.contains("cpuset='997-1000'/>\n  </cputune>\n"), "{text}");
}
