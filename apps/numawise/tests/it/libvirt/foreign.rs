//! Guests that others placed, or own.

use super::{OnLibvirt, diskless};

const NOVA: &str = "  <metadata><nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'>\
                    <nova:name>vm</nova:name></nova:instance></metadata>\n";

#[test]
fn a_nova_guest_is_planned_and_audited_and_not_changed() {
    let Some(on) = OnLibvirt::start() else { return };
    on.define(&diskless("nova-vm", 2, NOVA));
    let before = on.stored_xml("nova-vm");
    let plan = on.plan("nova-vm", &["--policy", "smart"]);
    for words in [
        vec!["apply", plan.as_str()],
        vec!["apply", plan.as_str(), "--dry-run"],
        vec!["bind", "nova-vm", "--policy", "smart", "--yes"],
        vec!["unbind", "nova-vm", "--yes"],
    ] {
        let ran = on.ends(3, &words);
        assert!(ran.err.contains("OpenStack Nova"), "{ran:?}");
        assert_eq!(on.stored_xml("nova-vm"), before, "{words:?}");
    }
    on.ok(&["show", "nova-vm"]);
    on.ok(&["bind", "nova-vm", "--policy", "smart", "--yes", "--override-owner"]);
    assert_ne!(on.stored_xml("nova-vm"), before);
}

#[test]
fn a_transient_guest_is_not_changed() {
    let Some(on) = OnLibvirt::start() else { return };
    let file = on.path("transient.xml");
    std::fs::write(&file, diskless("fleeting", 2, "")).expect("written");
    on.virsh(&["create", &file.to_string_lossy()]);
    let before = on.virsh(&["dumpxml", "fleeting"]);
    for more in [&[][..], &["--override-owner"]] {
        let words = [&["bind", "fleeting", "--policy", "smart", "--yes"], more].concat();
        let ran = on.ends(3, &words);
        assert!(ran.err.contains("transient"), "{ran:?}");
    }
    assert_eq!(on.virsh(&["dumpxml", "fleeting"]), before);
    assert!(on.is_running("fleeting"));
    on.virsh(&["destroy", "fleeting"]);
}

#[test]
fn pins_that_others_wrote_are_never_overlapped() {
    let Some(on) = OnLibvirt::start() else { return };
    let pinned = "  <cputune><vcpupin vcpu='0' cpuset='1'/></cputune>\n";
    on.define(&diskless("theirs", 1, pinned));
    on.define(&diskless("ours", 1, ""));
    on.define(&diskless("wide", 2, ""));
    let ran = on.ends(3, &["bind", "wide", "--policy", "smart", "--yes"]);
    assert!(ran.err.contains("theirs"), "{ran:?}");
    on.ok(&["bind", "ours", "--policy", "smart", "--yes"]);
    let ours = on.stored_xml("ours");
    assert!(ours.contains("<vcpupin vcpu='0' cpuset='0'/>"), "{ours}");
    let ran = on.ends(3, &["bind", "wide", "--policy", "smart", "--yes"]);
    assert!(ran.err.contains("ours") && ran.err.contains("theirs"), "{ran:?}");
}
