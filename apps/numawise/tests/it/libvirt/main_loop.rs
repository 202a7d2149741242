//! Plan, apply, restart, verify, drift, mend, undo.

use super::{OnLibvirt, PULL_THE_PLUG, diskless};

const SMART: [&str; 4] = ["--policy", "smart", "--cells-per-node", "2"];

#[test]
fn a_guest_is_bound_restarted_verified_mended_and_given_back() {
    let Some(on) = OnLibvirt::start() else { return };
    on.define(&diskless("db", 2, ""));
    on.virsh(&["start", "db"]);
    let before = on.stored_xml("db");

    let plan = on.plan("db", &SMART);
    on.ok(&[&["apply", plan.as_str()], PULL_THE_PLUG.as_slice()].concat());
    assert!(on.is_running("db"));
    let said = on.ok(&["verify", "db"]);
    assert!(said.contains("agrees with its plan"), "{said}");
    let monitor = on.virsh(&["qemu-monitor-command", "db", "--hmp", "info numa"]);
    assert!(monitor.contains("2 nodes"), "QEMU was started with two vNUMA nodes: {monitor}");

    on.virsh(&["vcpupin", "db", "1", "0", "--live"]);
    let drifted = on.ends(5, &["verify", "db"]);
    assert!(drifted.out.contains("vCPU 1"), "{drifted:?}");
    on.ok(&["apply", &plan, "--live"]);
    on.ok(&["verify", "db"]);

    on.virsh(&["vcpupin", "db", "1", "0", "--live", "--config"]);
    on.ends(5, &["verify", "db"]);
    on.ok(&["apply", &plan, "--live"]);
    on.ok(&["verify", "db"]);
    assert!(on.is_running("db"));

    on.ok(&["undo", "db", "--yes"]);
    assert_eq!(on.stored_xml("db"), before, "byte for byte what libvirt had");
    assert!(before.contains("passwd='sea&amp;fish'"), "the password is in what was compared");
}

#[test]
fn undo_keeps_a_disk_attached_since() {
    let Some(on) = OnLibvirt::start() else { return };
    on.define(&diskless("db", 2, ""));
    let before = on.stored_xml("db");
    on.ok(&["bind", "db", "--policy", "smart", "--yes"]);
    let disk = "/var/lib/libvirt/images/none.img";
    on.virsh(&["attach-disk", "db", disk, "vdb", "--config", "--driver", "qemu"]);
    on.ok(&["undo", "db", "--yes"]);
    let after = on.stored_xml("db");
    let gone: Vec<&str> = before.lines().filter(|line| !after.contains(line)).collect();
    assert!(gone.is_empty(), "undo took out: {gone:?}");
    let ours = ["vcpupin", "numatune", "<numa>", "numawise:topology"];
    assert!(ours.iter().all(|ours| !after.contains(ours)), "{after}");
    assert!(after.contains(disk), "{after}");
}

#[test]
fn a_plan_without_a_restart_waits_for_the_next_boot() {
    let Some(on) = OnLibvirt::start() else { return };
    on.define(&diskless("db", 2, ""));
    on.virsh(&["start", "db"]);
    let ran = on.ends(0, &[&["bind", "db", "--yes"], SMART.as_slice()].concat());
    assert!(ran.err.contains("takes effect when the guest is shut down"), "{ran:?}");
    let said = on.ok(&["verify", "db"]);
    assert!(said.contains("waits for a restart"), "{said}");
    on.virsh(&["destroy", "db"]);
    on.virsh(&["start", "db"]);
    let said = on.ok(&["verify", "db"]);
    assert!(said.contains("agrees with its plan"), "{said}");
}

/// A guest that has but one vCPU: all of its pins are moved, and it is no older than its definition.
#[test]
fn the_only_vcpu_moved_by_hand_is_drift() {
    let Some(on) = OnLibvirt::start() else { return };
    on.define(&diskless("db", 1, ""));
    on.virsh(&["start", "db"]);
    on.ok(&[&["bind", "db", "--bind", "0:0", "--yes"], &PULL_THE_PLUG[..]].concat());
    on.virsh(&["vcpupin", "db", "0", "1", "--live"]);
    let ran = on.ends(5, &["verify", "db"]);
    assert!(ran.out.contains("vCPU 0"), "{ran:?}");
    on.ok(&["apply", "db", "--live"]);
    on.ok(&["verify", "db"]);
}

/// Nobody reads what is printed: what was begun is done, and the exit code is still the true one.
#[test]
fn a_reader_that_goes_away_changes_nothing() {
    let Some(on) = OnLibvirt::start() else { return };
    on.define(&diskless("db", 1, ""));
    let mut child = on.spawn(&["bind", "db", "--bind", "0:0", "--yes"]);
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(on.stored_xml("db").contains("<vcpupin vcpu='0' cpuset='0'/>"));
    on.virsh(&["vcpupin", "db", "0", "1", "--config"]);
    let mut child = on.spawn(&["verify", "db"]);
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(5));
}
