//! A digest's text does not move when libvirt re-formats, and moves when placement does.

use crate::corpus::{EDITOR, all, apply, fixture, keep, pins, read, whole_edit};
use numawise_engine::ports::DomainEditor;
use numawise_model::GuestEdit;

fn stable(xml: &str) -> String {
    EDITOR.stable_part(xml).expect("readable")
}

#[test]
fn re_formatting_and_what_libvirt_adds_do_not_count() {
    let xml = fixture("numawise-managed.xml");
    let same = [
        ("  ", "\t"),
        ("<name>", "<!-- c --><name>"),
        ("unit='KiB'>201326592</memory>", "unit='GiB'>192</memory>"),
        ("<currentMemory unit='KiB'>201326592</currentMemory>\n", ""),
        ("<vcpu placement='static'>6", "<vcpu>6"),
        ("<vcpu placement='static'>6", "<vcpu cpuset='0' current='6'>6"),
        ("sockets='3' dies='1' cores='2'", "cores='2' sockets='3' clusters='1'"),
        ("cpuset='0-1,32-35'", "cpuset='0,1,32-34,35'"),
        ("memory='67108864' unit='KiB'", "unit='GiB' memory='64'"),
        ("{\"cells\":2}", "{\"cells\":3}"),
        (
            "<memballoon model='none'/>",
            "<memballoon model='none'><alias name='balloon0'/></memballoon>",
        ),
        ("<domain type='kvm'>", "<domain type='kvm' id='7'>"),
        (
            "</devices>",
            "</devices><seclabel type='dynamic' model='dac'><label>+1:+1</label></seclabel>",
        ),
        ("</devices>", "</devices><memoryBacking/>"),
    ];
    for (from, to) in same {
        let other = xml.replace(from, to);
        assert_ne!(other, xml, "{from}");
        // The one case that adds an attribute nobody may overlook.
        let expected = !to.contains("cpuset='0' ");
        assert_eq!(stable(&other) == stable(&xml), expected, "{from} -> {to}");
    }
}

#[test]
fn the_order_of_different_elements_does_not_count_and_that_of_disks_does() {
    let xml = fixture("tabs.xml");
    let name = "\t<name>tabs</name>\n";
    let moved = xml.replace(name, "").replace("</domain>", &format!("{name}</domain>"));
    assert_eq!(stable(&moved), stable(&xml));
    let disks = |a: &str, b: &str| {
        xml.replace(
            "<memballoon",
            &format!("<disk><target dev='{a}'/></disk><disk><target dev='{b}'/></disk><memballoon"),
        )
    };
    assert_ne!(stable(&disks("vda", "vdb")), stable(&disks("vdb", "vda")));
}

#[test]
fn everything_placement_depends_on_counts() {
    let xml = fixture("numawise-managed.xml");
    for (from, to) in [
        ("cpuset='32'", "cpuset='36'"),
        ("<emulatorpin cpuset='0-1,32-35'/>", ""),
        (">6</vcpu>", ">7</vcpu>"),
        ("unit='KiB'>201326592</memory>", "unit='KiB'>201326593</memory>"),
        ("nodeset='0-1'", "nodeset='0'"),
        ("mode='strict' nodeset='1'", "mode='preferred' nodeset='1'"),
        ("threads='1'", "threads='2'"),
        ("cpus='4-5'", "cpus='5'"),
        ("value='21'", "value='22'"),
        ("model='none'", "model='virtio'"),
        ("host-passthrough", "host-model"),
        ("machine='q35'", "machine='pc'"),
        ("eeff0011", "eeff0012"),
        ("team &quot;db&quot;", "team"),
        ("</devices>", "<hostdev mode='subsystem' type='pci'/></devices>"),
    ] {
        let other = xml.replace(from, to);
        assert_ne!(other, xml, "{from}");
        assert_ne!(stable(&other), stable(&xml), "{from} -> {to}");
    }
    let hostdev = fixture("gpu-passthrough.xml");
    assert_ne!(stable(&hostdev.replace("bus='0x41'", "bus='0x42'")), stable(&hostdev));
    assert_eq!(stable(&hostdev.replace("bus='0x01'", "bus='0x05'")), stable(&hostdev));
}

#[test]
fn an_edit_counts_and_its_note_alone_does_not() {
    for (name, xml) in all() {
        let guest = read(&xml);
        let pinned = apply(&xml, &GuestEdit { pins: pins(guest.vcpus_max), ..keep() }, None);
        assert_ne!(stable(&pinned), stable(&xml), "{name}");
        assert_eq!(stable(&apply(&xml, &keep(), Some("x"))), stable(&xml), "{name}");
        if let Ok(text) = EDITOR.apply(&xml, &whole_edit(&guest), None) {
            assert_ne!(stable(&text), stable(&pinned), "{name}");
        }
    }
}
