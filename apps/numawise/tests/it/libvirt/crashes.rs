//! Kills in the middle: of numawise at each step, of libvirtd, of QEMU. After the next command the
//! guest is in the old or in the new state, runs if it ran, and claims agree with libvirt.

use super::{OnLibvirt, PULL_THE_PLUG, diskless};
use crate::bench::Ran;
use numawise_engine::loop_parts::CrashPoint;
use std::time::{Duration, Instant};

const BIND: [&str; 5] = ["bind", "db", "--policy", "smart", "--yes"];

/// The claimed pCPUs of the guest by numawise's own word.
fn claimed(on: &OnLibvirt) -> bool {
    let list = on.json(&["list", "--json"]);
    list["guests"][0]["binding_mode"] == "exclusive"
}

fn pinned(on: &OnLibvirt) -> bool {
    on.stored_xml("db").contains("<vcpupin")
}

fn check_after(on: &OnLibvirt, what: &str) {
    let ran = on.run(&["list"]);
    assert_eq!(ran.code, Some(0), "{what}: {ran:?}");
    assert!(on.is_running("db"), "{what}: the guest was left off");
    assert_eq!(claimed(on), pinned(on), "{what}: claims and definition disagree");
    if pinned(on) {
        on.ok(&["verify", "db"]);
    }
    let has_cells = |xml: &str| xml.contains("<cell ");
    let waits = on.json(&["list", "--json"])["guests"][0]["pending_restart"] == true;
    let live = on.virsh(&["dumpxml", "db"]);
    assert!(
        waits || has_cells(&live) == has_cells(&on.stored_xml("db")),
        "{what}: the running guest is neither what is stored nor known to be older: {live}"
    );
}

#[test]
fn numawise_killed_at_any_step() {
    let Some(on) = OnLibvirt::start() else { return };
    on.define(&diskless("db", 1, ""));
    on.virsh(&["start", "db"]);
    for (point, _) in CrashPoint::ALL {
        for how in [&PULL_THE_PLUG[..], &["--live"]] {
            let words = [&BIND[..], how, &["--crash-at", point]].concat();
            let ran = on.run(&words);
            assert!(ran.code.is_none() || ran.code == Some(0), "{point} {how:?}: {ran:?}");
            check_after(&on, &format!("killed at {point}, {how:?}"));
            if pinned(&on) {
                on.ok(&[&["undo", "db", "--yes"], &PULL_THE_PLUG[..]].concat());
            }
            assert!(!pinned(&on), "{point}: undone");
        }
    }
}

#[test]
fn libvirtd_killed_while_a_guest_is_shut_down() {
    let Some(mut on) = OnLibvirt::start() else { return };
    on.define(&diskless("db", 1, ""));
    on.virsh(&["start", "db"]);
    let words = [&BIND[..], &["--restart", "--shutdown-timeout", "4", "--force"]].concat();
    let child = on.spawn(&words);
    std::thread::sleep(Duration::from_secs(1));
    on.daemon.kill_daemon();
    std::thread::sleep(Duration::from_secs(1));
    on.daemon.restart_daemon();
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert!(ran.code.is_some(), "it is told, not killed: {ran:?}");
    check_after(&on, &format!("libvirtd killed: {ran:?}"));
}

#[test]
fn qemu_killed_while_a_guest_is_shut_down() {
    let Some(on) = OnLibvirt::start() else { return };
    on.define(&diskless("db", 1, ""));
    on.virsh(&["start", "db"]);
    let child = on.spawn(&[&BIND[..], &["--restart", "--shutdown-timeout", "60"]].concat());
    std::thread::sleep(Duration::from_secs(1));
    let started = Instant::now();
    on.virsh(&["destroy", "db"]);
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.code, Some(0), "a guest that died is off, which was wanted: {ran:?}");
    assert!(started.elapsed() < Duration::from_secs(30), "it was seen at once");
    check_after(&on, "QEMU killed");
}
