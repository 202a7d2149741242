//! What was written is taken back on the text as it stands today.

use crate::corpus::{
    EDITOR, all, apply, fixture, foreign_part, keep, pins, read, vnuma, whole_edit,
};
use numawise_engine::ports::{DomainEditor, RevertError, UndoConflict};
use numawise_model::{GuestEdit, GuestFix, MemoryMode, PageSize, PinEdit};

fn revert(today: &str, before: &str, after: &str) -> String {
    EDITOR.revert(today, before, after).unwrap_or_else(|error| panic!("{error:?}\n{today}"))
}

fn conflicts(today: &str, before: &str, after: &str) -> Vec<UndoConflict> {
    match EDITOR.revert(today, before, after) {
        Err(RevertError::Conflicts(conflicts)) => conflicts,
        other => panic!("{other:?}"),
    }
}

/// The texts before and after an edit with everything in it.
fn written() -> Vec<(String, String, String)> {
    let mut texts = Vec::new();
    for (name, before) in all() {
        let mut edit = whole_edit(&read(&before));
        if name != "memory-hotplug.xml" {
            edit.fixes = vec![
                GuestFix::BalloonOff,
                GuestFix::AllVcpusAtBoot,
                GuestFix::NoMemoryHotplug,
                GuestFix::StaticPlacement,
            ];
        }
        if let Ok(after) = EDITOR.apply(&before, &edit, Some("note")) {
            texts.push((name, before, after));
        }
    }
    assert!(texts.len() >= 20);
    texts
}

/// The same definition with a comment more, so that it is not byte for byte what was written.
fn touched(xml: &str) -> String {
    xml.replacen("<name>", "<!-- seen --><name>", 1)
}

#[test]
fn untouched_text_goes_back_byte_for_byte() {
    for (name, before, after) in written() {
        assert_eq!(revert(&after, &before, &after), before, "{name}");
    }
}

#[test]
fn element_by_element_everything_goes_back_too() {
    for (name, before, after) in written() {
        let today = touched(&after);
        let back = revert(&today, &before, &after);
        let stable = |xml: &str| EDITOR.stable_part(xml).expect("readable");
        assert_eq!(stable(&back), stable(&before), "{name}\n{back}");
        assert_eq!(read(&back), read(&before), "{name}");
        assert_eq!(foreign_part(&back), foreign_part(&touched(&before)), "{name}");
    }
}

#[test]
fn what_is_back_already_stays() {
    for (name, before, after) in written() {
        assert_eq!(revert(&before, &before, &after), before, "{name}");
        let today = touched(&before);
        assert_eq!(revert(&today, &before, &after), today, "{name}");
    }
}

#[test]
fn changes_of_others_are_kept() {
    let before = fixture("virt-manager-linux.xml");
    let after = apply(&before, &whole_edit(&read(&before)), Some("note"));
    let edited = |xml: &str| {
        xml.replace("debian12.qcow2", "debian13.qcow2")
            .replace("<boot dev=\"hd\"/>", "<boot dev=\"network\"/>")
    };
    assert_eq!(revert(&edited(&after), &before, &after), edited(&before));
}

#[test]
fn a_definition_that_libvirt_has_rewritten_is_understood() {
    let before = fixture("virt-manager-linux.xml");
    let after = apply(&before, &whole_edit(&read(&before)), Some("note"));
    let today = after
        .replace('"', "'")
        .replace("    <topology", "      <topology")
        .replace("cpus='0-7'", "cpus='0-3,4-7'")
        .replace("<memballoon", "\n\n<memballoon")
        .replace("  ", " ");
    let back = revert(&today, &before, &after);
    assert_eq!(read(&back), read(&before), "{back}");
}

#[test]
fn a_third_value_is_a_conflict_and_nothing_changes() {
    let before = fixture("numawise-managed.xml");
    let edit = GuestEdit { pins: pins(6), ..keep() };
    let after = apply(&before, &edit, None);
    let today = after
        .replace("<vcpupin vcpu='3' cpuset='997'/>", "<vcpupin cpuset='5' vcpu='3'/>")
        .replace("    <emulatorpin cpuset='995-1000'/>\n", "");
    let expected = [
        UndoConflict {
            element: "cputune/emulatorpin".to_owned(),
            before: Some("<emulatorpin cpuset='0-1,32-35'/>".to_owned()),
            written: Some("<emulatorpin cpuset='995-1000'/>".to_owned()),
            today: None,
        },
        UndoConflict {
            element: "cputune/vcpupin[vcpu=3]".to_owned(),
            before: Some("<vcpupin vcpu='3' cpuset='35'/>".to_owned()),
            written: Some("<vcpupin vcpu='3' cpuset='997'/>".to_owned()),
            today: Some("<vcpupin cpuset='5' vcpu='3'/>".to_owned()),
        },
    ];
    assert_eq!(conflicts(&today, &before, &after), expected);
}

#[test]
fn each_kind_of_element_can_conflict() {
    let before = fixture("proxmox-style.xml");
    let mut edit = whole_edit(&read(&before));
    edit.fixes = vec![GuestFix::BalloonOff, GuestFix::AllVcpusAtBoot];
    let after = apply(&before, &edit, Some("note"));
    let cases = [
        ("<memballoon model='none'/>", "<memballoon model='xen'/>", "devices/memballoon"),
        ("<vcpu placement='static'>24", "<vcpu placement='static' current='9'>24", "vcpu/@current"),
        ("<topology sockets='24'", "<topology sockets='12'", "cpu/topology"),
        ("<sibling id='1' value='21'/>", "<sibling id='1' value='40'/>", "cpu/numa"),
        ("mode='strict' nodeset='2-3'", "mode='preferred' nodeset='2-3'", "numatune/memory"),
        (
            "cellid='1' mode='strict' nodeset='2'",
            "cellid='1' mode='strict' nodeset='0'",
            "numatune/memnode[cellid=1]",
        ),
        (
            "<page size='2048' unit='KiB'/>",
            "<page size='1' unit='GiB'/>",
            "memoryBacking/hugepages",
        ),
        ("level='3' mode='emulate'", "mode='passthrough'", "cpu/cache"),
        (">note<", ">other<", "metadata/numawise:topology"),
    ];
    for (wrote, is, element) in cases {
        let today = after.replacen(wrote, is, 1);
        assert_ne!(today, after, "{wrote}");
        let found = conflicts(&today, &before, &after);
        let names: Vec<&str> = found.iter().map(|c| c.element.as_str()).collect();
        assert_eq!(names, [element], "{wrote}");
    }
}

#[test]
fn a_memory_size_spelled_in_another_unit_is_no_conflict() {
    let before = fixture("proxmox-style.xml");
    let vnuma = vnuma(&read(&before), 2, MemoryMode::Strict, PageSize::BASE_4K);
    let after = apply(&before, &GuestEdit { vnuma, pins: PinEdit::Keep, fixes: vec![] }, None);
    let today = after.replace("memory='12582912' unit='KiB'", "memory='12' unit='GiB'");
    assert_ne!(today, after);
    assert_eq!(read(&revert(&today, &before, &after)), read(&before));
}
