//! What libvirt refuses, and what stands in the way.

use super::{OnLibvirt, PULL_THE_PLUG, diskless};

const BIND: [&str; 5] = ["bind", "db", "--policy", "smart", "--yes"];

/// A disk that is gone by the time the guest starts again: neither definition starts, and that is
/// said, with the old one in force.
#[test]
fn a_guest_that_does_not_start_again_has_its_old_definition() {
    let Some(on) = OnLibvirt::start() else { return };
    let image = on.daemon.folder().join("disk.img");
    std::fs::write(&image, vec![0; 1 << 20]).expect("the image is written");
    on.define(&diskless("db", 2, ""));
    on.virsh(&["attach-disk", "db", &image.to_string_lossy(), "vda", "--config"]);
    on.virsh(&["start", "db"]);
    let before = on.stored_xml("db");
    std::fs::remove_file(&image).expect("the image is taken away");
    let ran = on.ends(1, &[&BIND[..], &PULL_THE_PLUG].concat());
    assert!(ran.err.contains("disk.img"), "libvirt's word on it: {ran:?}");
    assert_eq!(on.stored_xml("db"), before);
    std::fs::write(&image, vec![0; 1 << 20]).expect("the image is back");
    let next = on.run(&["list"]);
    assert_eq!(next.code, Some(0), "{next:?}");
    assert!(on.is_running("db"), "the next command starts what ran: {next:?}");
    assert_eq!(on.stored_xml("db"), before);
}

#[test]
fn a_guest_that_does_not_shut_down_stays_as_it_was() {
    let Some(on) = OnLibvirt::start() else { return };
    on.define(&diskless("db", 2, ""));
    on.virsh(&["start", "db"]);
    let before = on.stored_xml("db");
    let ran = on.ends(1, &[&BIND[..], &["--restart", "--shutdown-timeout", "1"]].concat());
    assert!(ran.err.contains("--force") && ran.err.contains("put back"), "{ran:?}");
    assert_eq!(on.stored_xml("db"), before);
    assert!(on.is_running("db"));
}

#[test]
fn a_saved_state_stands_in_the_way() {
    let Some(on) = OnLibvirt::start() else { return };
    on.define(&diskless("db", 2, ""));
    on.virsh(&["start", "db"]);
    on.virsh(&["managedsave", "db"]);
    let before = on.stored_xml("db");
    let ran = on.ends(3, &BIND);
    assert!(ran.err.contains("saved state"), "{ran:?}");
    assert_eq!(on.stored_xml("db"), before);
    on.virsh(&["managedsave-remove", "db"]);
    on.ok(&BIND);
}

#[test]
fn a_full_disk_under_libvirt_leaves_the_old_state() {
    let Some(mut on) = OnLibvirt::start() else { return };
    on.define(&diskless("db", 2, ""));
    let before = on.stored_xml("db");
    on.daemon.fill_definitions();
    let ran = on.run(&BIND);
    assert!(ran.code == Some(1), "{ran:?}");
    on.daemon.drain_definitions();
    on.ok(&["list"]);
    assert_eq!(on.stored_xml("db"), before);
    on.ok(&BIND);
    on.ok(&["verify", "db"]);
}

#[test]
fn a_doctor_believes_what_was_tried() {
    let Some(on) = OnLibvirt::start() else { return };
    let said = on.ok(&["doctor"]);
    assert!(said.contains("answers: libvirt"), "{said}");
    assert!(said.contains("software emulation works"), "{said}");
    assert_eq!(on.virsh(&["list", "--all", "--name"]).trim(), "", "no probe guest is left");
    let document = on.json(&["doctor", "--no-probes", "--json"]);
    assert_eq!(document["schema"], "numawise.checkup");
}
