//! Whose a guest is, by the note that its manager leaves in the metadata.

use crate::corpus::{all, fixture, read};
use numawise_model::Manager;

fn noted(note: &str) -> Option<Manager> {
    let xml = fixture("minimal.xml");
    let end = xml.find("</domain>").expect("a whole domain");
    read(&format!("{}<metadata>{note}</metadata>{}", &xml[..end], &xml[end..])).manager
}

#[test]
fn managers_are_known_by_their_namespace() {
    let notes = [
        (
            "<nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.0'/>",
            Manager::Nova,
        ),
        ("<n:instance xmlns:n='http://openstack.org/xmlns/libvirt/nova/1.1'/>", Manager::Nova),
        ("<ovirt-vm:vm xmlns:ovirt-vm='http://ovirt.org/vm/1.0'/>", Manager::Ovirt),
        ("<kubevirt xmlns='http://kubevirt.io'><uid/></kubevirt>", Manager::KubeVirt),
        ("<p:vm xmlns:p='http://proxmox.com/xmlns/1.0'/>", Manager::Proxmox),
        ("<one:vm xmlns:one='http://opennebula.org/xmlns/libvirt/1.0'/>", Manager::OpenNebula),
        ("<zs:zstack xmlns:zs='http://zstack.org'/>", Manager::ZStack),
    ];
    for (note, manager) in notes {
        assert_eq!(noted(note), Some(manager), "{note}");
        let beside = format!("<app:x xmlns:app='https://example.org/app'/>{note}");
        assert_eq!(noted(&beside), Some(manager), "beside somebody else's note: {note}");
    }
}

/// A tool that only describes a guest, a namespace that only looks alike, and numawise itself own
/// nothing.
#[test]
fn other_notes_are_no_owner() {
    for note in [
        "",
        "<l:libosinfo xmlns:l='http://libosinfo.org/xmlns/libvirt/domain/1.0'/>",
        "<x:x xmlns:x='http://notopenstack.org/xmlns/libvirt/nova/1.1'/>",
        "<x:x xmlns:x='http://example.org/openstack.org'/>",
        "<numawise:topology xmlns:numawise='https://numawise.dev/xmlns/1'>{}</numawise:topology>",
        "<nova>http://openstack.org</nova>",
    ] {
        assert_eq!(noted(note), None, "{note}");
    }
}

#[test]
fn the_managers_of_the_collected_domains() {
    let owned: Vec<(String, Manager)> = all()
        .into_iter()
        .filter_map(|(name, xml)| Some((name.to_string(), read(&xml).manager?)))
        .collect();
    let owned: Vec<(&str, Manager)> = owned.iter().map(|(n, m)| (n.as_str(), *m)).collect();
    let wanted = [
        ("kubevirt-like.xml", Manager::KubeVirt),
        ("openstack-nova.xml", Manager::Nova),
        ("ovirt.xml", Manager::Ovirt),
    ];
    assert_eq!(owned, wanted);
}

#[test]
fn plugged_modules_are_counted() {
    assert_eq!(read(&fixture("memory-hotplug.xml")).memory_modules, 1);
    assert_eq!(read(&fixture("minimal.xml")).memory_modules, 0);
}
