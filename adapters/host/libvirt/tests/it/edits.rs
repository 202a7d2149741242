//! What an edit writes is what it was asked for, and nothing else is touched.

use crate::corpus::{
    EDITOR, all, apply, fixture, foreign_part, keep, pins, read, topology, vnuma, whole_edit,
};
use numawise_engine::ports::{DomainEditor, PortError};
use numawise_model::guest::{Balloon, GuestHugepages, Numatune};
use numawise_model::{
    CpuSet, GuestCpuTopology, GuestEdit, GuestFix, MemoryMode, NodeSet, PageSize, PinEdit, Pnode,
    VnumaEdit,
};
use std::collections::BTreeMap;

/// Fixtures whose devices or tables speak of cells that a two-cell guest has not.
const REFERS_TO_MORE: [&str; 1] = ["hmat-cells.xml"];

#[test]
fn everything_written_reads_back_and_nothing_else_changes() {
    for (name, xml) in all() {
        let guest = read(&xml);
        let edit = whole_edit(&guest);
        if REFERS_TO_MORE.contains(&name.as_str()) {
            let refused = EDITOR.apply(&xml, &edit, None);
            assert!(matches!(refused, Err(PortError::Failed(_))), "{name}: {refused:?}");
            continue;
        }
        let text = apply(&xml, &edit, Some("{\"a\": '<&>'}"));
        assert_eq!(foreign_part(&text), foreign_part(&xml), "{name}\n{text}");
        let after = read(&text);
        let PinEdit::Set { vcpus, emulator, iothreads } = &edit.pins else { unreachable!() };
        assert_eq!(&after.vcpu_pins, vcpus, "{name}");
        assert_eq!(&after.emulator_pin, emulator, "{name}");
        assert_eq!(&after.iothread_pins, iothreads, "{name}");
        let wanted = topology(&guest, 2);
        assert_eq!(after.cells, wanted.cells(), "{name}");
        assert_eq!(after.cpu_topology, Some(wanted.cpu), "{name}");
        assert_eq!(after.frozen_note.as_deref(), Some("{\"a\": '<&>'}"), "{name}");
        let expected_l3 = guest.takes_l3_cache().then_some("emulate");
        assert_eq!(after.l3_cache_mode.as_deref(), expected_l3, "{name}");
        assert!(!name.starts_with("arm64") || expected_l3.is_none(), "{name}: x86 alone has it");
        let page = GuestHugepages { size: PageSize::HUGE_2M, vnodes: None };
        let pages = after.hugepages.as_deref().unwrap_or(&[]);
        assert!(pages.iter().all(|p| p.size == page.size) && !pages.is_empty(), "{name}");
        assert_eq!(after.numatune, Some(numatune_of(&wanted, MemoryMode::Strict)), "{name}");
    }
}

fn numatune_of(topology: &numawise_model::VirtualTopology, mode: MemoryMode) -> Numatune {
    let memnode = |n: &numawise_model::VnumaNode| (n.id, (mode, NodeSet::single(n.memory_node())));
    Numatune {
        memory_mode: Some(mode),
        memory_nodeset: Some(topology.nodes.iter().map(|n| n.memory_node()).collect()),
        memnodes: topology.nodes.iter().map(memnode).collect(),
    }
}

#[test]
fn a_plain_definition_gets_its_elements_where_libvirt_has_them() {
    let xml = fixture("virt-manager-linux.xml");
    let mut edit = whole_edit(&read(&xml));
    edit.pins = PinEdit::Set {
        vcpus: [(numawise_model::Vcpu(0), CpuSet::range(4, 5))].into(),
        emulator: Some(CpuSet::range(0, 1)),
        iothreads: BTreeMap::new(),
    };
    let text = apply(&xml, &edit, Some("note"));
    let added: Vec<&str> = {
        let old: Vec<&str> = xml.lines().collect();
        text.lines().filter(|line| !old.contains(line)).collect()
    };
    let expected = r#"    <numawise:topology xmlns:numawise="https://numawise.dev/xmlns/1">note</numawise:topology>
  <memoryBacking>
    <hugepages>
      <page size="2048" unit="KiB"/>
    </hugepages>
  </memoryBacking>
  <cputune>
    <vcpupin vcpu="0" cpuset="4-5"/>
    <emulatorpin cpuset="0-1"/>
  </cputune>
  <numatune>
    <memory mode="strict" nodeset="2-3"/>
    <memnode cellid="0" mode="strict" nodeset="3"/>
    <memnode cellid="1" mode="strict" nodeset="2"/>
  </numatune>
  <cpu mode="host-passthrough" check="none" migratable="on">
    <topology sockets="16" dies="1" cores="1" threads="1"/>
    <cache level="3" mode="emulate"/>
    <numa>
      <cell id="0" cpus="0-7" memory="8388608" unit="KiB">
        <distances>
          <sibling id="0" value="10"/>
          <sibling id="1" value="21"/>
        </distances>
      </cell>
      <cell id="1" cpus="8-15" memory="8388608" unit="KiB">
        <distances>
          <sibling id="0" value="21"/>
          <sibling id="1" value="10"/>
        </distances>
      </cell>
    </numa>
  </cpu>"#;
    assert_eq!(added.join("\n"), expected);
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}"));
    assert!(place("</libosinfo:libosinfo>") < place("<numawise:topology"));
    assert!(place("<currentMemory") < place("<memoryBacking>"));
    assert!(place("<memoryBacking>") < place("<vcpu "));
    assert!(place("</vcpu>") < place("<cputune>"));
    assert!(place("</cputune>") < place("<numatune>"));
    assert!(place("</numatune>") < place("<os>"));
}

#[test]
fn each_memory_mode_is_written_as_libvirt_can_carry_it_out() {
    let xml = fixture("virt-manager-linux.xml");
    let guest = read(&xml);
    for mode in MemoryMode::ALL {
        let vnuma = vnuma(&guest, 2, mode, PageSize::BASE_4K);
        let text = apply(&xml, &GuestEdit { vnuma, ..keep() }, None);
        let tune = read(&text).numatune.expect("a numatune");
        let mut expected = numatune_of(&topology(&guest, 2), mode);
        match mode {
            MemoryMode::Interleave => expected.memnodes.clear(),
            MemoryMode::Preferred => {
                (expected.memory_mode, expected.memory_nodeset) = (None, None);
            }
            _ => {}
        }
        assert_eq!(tune, expected, "{mode:?}\n{text}");
    }
    let vnuma = vnuma(&guest, 1, MemoryMode::Preferred, PageSize::BASE_4K);
    let tune = read(&apply(&xml, &GuestEdit { vnuma, ..keep() }, None)).numatune.expect("one");
    assert_eq!(tune.memory_nodeset, Some(NodeSet::single(Pnode(3))));
}

#[test]
fn automatic_numatune_becomes_the_given_nodes() {
    let xml = fixture("memory-hotplug.xml");
    let edit = GuestEdit {
        vnuma: vnuma(&read(&xml), 2, MemoryMode::Strict, PageSize::BASE_4K),
        fixes: vec![GuestFix::StaticPlacement],
        ..keep()
    };
    let text = apply(&xml, &edit, None);
    assert!(text.contains("<memory mode='strict' nodeset='2-3'/>"), "{text}");
    assert!(text.contains("<vcpu placement='static' current='4'>16</vcpu>"), "{text}");
}

#[test]
fn cells_that_stay_keep_what_numawise_does_not_know() {
    let xml = fixture("openstack-nova.xml");
    let edit =
        GuestEdit { vnuma: vnuma(&read(&xml), 2, MemoryMode::Strict, PageSize::HUGE_2M), ..keep() };
    let text = apply(&xml, &edit, None);
    assert_eq!(text.matches(r#"memory="33554432" memAccess="shared">"#).count(), 2, "{text}");
    // The pages are tied to both cells and stay so.
    assert!(text.contains(r#"<page size="2048" nodeset="1" unit="KiB"/>"#), "{text}");

    let one =
        GuestEdit { vnuma: vnuma(&read(&xml), 1, MemoryMode::Strict, PageSize::HUGE_2M), ..keep() };
    let text = apply(&xml, &one, None);
    assert_eq!(read(&text).cells.len(), 1, "{text}");
    assert!(text.contains(r#"<cell id="0" cpus="0-15" memory="67108864" memAccess="shared">"#));
    assert!(!text.contains("nodeset=\"1\" unit"), "{text}");
}

#[test]
fn a_hand_written_child_of_a_cell_survives() {
    let xml = fixture("hmat-cells.xml");
    let edit =
        GuestEdit { vnuma: vnuma(&read(&xml), 3, MemoryMode::Strict, PageSize::BASE_4K), ..keep() };
    let text = apply(&xml, &edit, None);
    assert!(text.contains("discard='yes'"), "{text}");
    assert!(text.contains("<size value='10' unit='KiB'/>"), "{text}");
    assert!(text.contains("<!-- memory only -->"), "{text}");
    assert!(text.contains("<latency initiator='0' target='2'"), "{text}");
    assert!(text.contains("<cell id='2' memory='8' unit='GiB' cpus='5-7'>"), "{text}");
}

#[test]
fn page_sizes_replace_each_other_and_leave_the_rest_of_memory_backing() {
    let xml = fixture("gpu-passthrough.xml");
    let guest = read(&xml);
    for (size, expected) in [
        (
            PageSize::HUGE_1G,
            xml.contains("<page size='1' unit='GiB'/>").then_some(PageSize::HUGE_1G),
        ),
        (PageSize::HUGE_2M, Some(PageSize::HUGE_2M)),
        (PageSize::BASE_4K, None),
    ] {
        let edit = GuestEdit { vnuma: vnuma(&guest, 2, MemoryMode::Strict, size), ..keep() };
        let text = apply(&xml, &edit, None);
        let pages = read(&text).hugepages;
        assert_eq!(pages.map(|pages| pages[0].size), expected, "{text}");
        assert!(text.contains("    <nosharepages/>\n    <locked/>\n  </memoryBacking>"), "{text}");
        assert_eq!(text.contains("<page size='1' unit='GiB'/>"), size == PageSize::HUGE_1G);
    }
}

#[test]
fn an_empty_hugepages_element_gets_the_size_that_was_planned_with() {
    let xml = fixture("hugepages-default.xml");
    let edit =
        GuestEdit { vnuma: vnuma(&read(&xml), 2, MemoryMode::Strict, PageSize::HUGE_1G), ..keep() };
    let text = apply(&xml, &edit, None);
    assert!(
        text.contains("    <hugepages>\n      <page size='1048576' unit='KiB'/>\n    </hugepages>\n    <access"),
        "{text}"
    );
}

#[test]
fn clusters_stay_valid_and_dies_are_not_forced_on_old_schemas() {
    let xml = fixture("arm64-clusters.xml");
    let edit =
        GuestEdit { vnuma: vnuma(&read(&xml), 2, MemoryMode::Strict, PageSize::BASE_4K), ..keep() };
    let text = apply(&xml, &edit, None);
    let written = "<topology sockets='32' dies='1' clusters='1' cores='1' threads='1'/>";
    assert!(text.contains(written), "{text}");
    let text = apply(
        &fixture("openstack-nova.xml"),
        &whole_edit(&read(&fixture("openstack-nova.xml"))),
        None,
    );
    assert!(text.contains(r#"<topology sockets="16" cores="1" threads="1"/>"#), "{text}");
}

#[test]
fn vnuma_off_puts_the_topology_back_and_keeps_the_pins() {
    let xml = fixture("numawise-managed.xml");
    let before = GuestCpuTopology { sockets: 1, dies: 1, clusters: 1, cores: 6, threads: 1 };
    let off = |cpu_topology| GuestEdit { vnuma: VnumaEdit::Remove { cpu_topology }, ..keep() };
    let text = apply(&xml, &off(Some(before)), None);
    let guest = read(&text);
    assert_eq!(guest.cpu_topology, Some(before));
    assert!(guest.cells.is_empty() && guest.numatune.is_none());
    assert_eq!(guest.vcpu_pins.len(), 6);
    assert_eq!(foreign_part(&text), foreign_part(&xml));
    let text = apply(&xml, &off(None), Some(""));
    assert!(text.contains("  <cpu mode='host-passthrough'/>\n"), "{text}");
    assert!(!text.contains("numatune") && !text.contains("numawise:"), "{text}");
    assert!(text.contains("team &quot;db&quot;</app:owner>\n  </metadata>"), "{text}");
}

#[test]
fn vnuma_off_unties_pages_from_cells() {
    let off = GuestEdit { vnuma: VnumaEdit::Remove { cpu_topology: None }, ..keep() };
    let text = apply(&fixture("kubevirt-like.xml"), &off, None);
    assert!(text.contains(r#"<page size="2" unit="MiB"/>"#), "{text}");
    assert!(text.contains("<numa><cell>a foreign element in a default namespace"), "{text}");
    let nova = fixture("openstack-nova.xml");
    let text = apply(&nova, &off, None);
    let one_page = "<hugepages>\n      <page size=\"2048\" unit=\"KiB\"/>\n    </hugepages>";
    assert!(text.contains(one_page), "{text}");
    let two_sizes = nova.replacen("size=\"2048\"", "size=\"1048576\"", 1);
    let refused = EDITOR.apply(&two_sizes, &off, None);
    let Err(PortError::Failed(message)) = refused else { panic!("{refused:?}") };
    assert!(
        message.starts_with("line 6: <memoryBacking/hugepages> has pages of several sizes"),
        "{message}"
    );
}

#[test]
fn devices_on_a_vnuma_node_stand_against_taking_it_away() {
    let xml = fixture("pxb-nodes.xml");
    let guest = read(&xml);
    let two =
        GuestEdit { vnuma: vnuma(&guest, 2, MemoryMode::Strict, PageSize::BASE_4K), ..keep() };
    apply(&xml, &two, None);
    let one = vnuma(&guest, 1, MemoryMode::Strict, PageSize::BASE_4K);
    for vnuma in [one, VnumaEdit::Remove { cpu_topology: None }] {
        let refused = EDITOR.apply(&xml, &GuestEdit { vnuma, ..keep() }, None);
        let Err(PortError::Failed(message)) = refused else { panic!("{refused:?}") };
        assert!(
            message.contains("<devices/controller/target/node> speaks of vNUMA node"),
            "{message}"
        );
    }
}

#[test]
fn the_fixes_make_a_guest_fit() {
    let all_fixes = vec![
        GuestFix::BalloonOff,
        GuestFix::AllVcpusAtBoot,
        GuestFix::NoMemoryHotplug,
        GuestFix::StaticPlacement,
    ];
    for (name, xml) in all() {
        if name == "memory-hotplug.xml" {
            continue;
        }
        let text = apply(&xml, &GuestEdit { fixes: all_fixes.clone(), ..keep() }, None);
        let guest = read(&text);
        assert_eq!(guest.balloon, Balloon::Off, "{name}\n{text}");
        assert_eq!(guest.vcpus_current, guest.vcpus_max, "{name}");
        assert_eq!(guest.current_memory_bytes, guest.memory_bytes, "{name}");
        assert!(guest.max_memory.is_none() && !guest.placement_auto, "{name}");
        assert_eq!(foreign_part(&text), foreign_part(&xml), "{name}");
    }
    let text =
        apply(&fixture("proxmox-style.xml"), &GuestEdit { fixes: all_fixes, ..keep() }, None);
    assert!(text.contains("<currentMemory unit='MiB'>24576</currentMemory>"), "{text}");
    assert!(text.contains("<vcpu placement='static'>24</vcpu>"), "{text}");
}

#[test]
fn plugged_memory_stands_against_taking_the_slots_away() {
    let edit = GuestEdit { fixes: vec![GuestFix::NoMemoryHotplug], ..keep() };
    let refused = EDITOR.apply(&fixture("memory-hotplug.xml"), &edit, None);
    let Err(PortError::Failed(message)) = refused else { panic!("{refused:?}") };
    assert_eq!(
        message,
        "line 21: <devices/memory> is a plugged memory module, and libvirt takes none without \
         <maxMemory>; detach it and add its size to <memory> first"
    );
}

#[test]
fn a_pin_to_no_cpu_and_memory_in_half_kib_are_refused() {
    let xml = fixture("tabs.xml");
    let mut edit = GuestEdit { pins: pins(2), ..keep() };
    if let PinEdit::Set { vcpus, .. } = &mut edit.pins {
        vcpus.insert(numawise_model::Vcpu(1), CpuSet::new());
    }
    assert!(matches!(EDITOR.apply(&xml, &edit, None), Err(PortError::Failed(_))));
    let mut topology = topology(&read(&xml), 2);
    topology.nodes[1].memory_bytes += 512;
    let vnuma = VnumaEdit::Set { topology, mode: MemoryMode::Strict, page_size: PageSize::BASE_4K };
    let refused = EDITOR.apply(&xml, &GuestEdit { vnuma, ..keep() }, None);
    let Err(PortError::Failed(message)) = refused else { panic!("{refused:?}") };
    assert!(message.contains("vNUMA node 1"), "{message}");
}

#[test]
fn arguments_that_set_the_topology_behind_libvirt_are_named_and_kept() {
    let xml = fixture("proxmox-style.xml");
    assert_eq!(EDITOR.foreign_topology_args(&xml).expect("readable"), ["-smp", "-numa"]);
    let text = apply(&xml, &whole_edit(&read(&xml)), None);
    assert!(text.contains("<qemu:arg value='node,nodeid=0,cpus=0-11'/>"));
    assert!(EDITOR.foreign_topology_args(&fixture("secrets.xml")).expect("readable").is_empty());
}
