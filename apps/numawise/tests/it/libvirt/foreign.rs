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

/// The pins of a guest of our own count as they are today, not only as they were planned.
#[test]
fn a_bound_guest_whose_pins_were_changed_by_hand_keeps_what_it_took() {
    let Some(on) = OnLibvirt::start() else { return };
    on.define(&diskless("moved", 1, ""));
    on.define(&diskless("other", 1, ""));
    on.ok(&["bind", "moved", "--bind", "0:1", "--no-vnuma", "--yes"]);
    on.virsh(&["vcpupin", "moved", "0", "0", "--config"]);
    let ran = on.ends(3, &["bind", "other", "--bind", "0:0", "--no-vnuma", "--yes"]);
    assert!(ran.err.contains("moved"), "{ran:?}");
}
