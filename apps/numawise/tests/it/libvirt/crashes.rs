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

/// What somebody else has changed while a guest was being shut down is not ours to take back.
#[test]
fn an_edit_made_meanwhile_survives_the_way_back() {
    let Some(on) = OnLibvirt::start() else { return };
    on.define(&diskless("db", 1, ""));
    on.virsh(&["start", "db"]);
    let before = on.stored_xml("db");
    for signal in ["INT", "HUP", "KILL"] {
        let words = [&BIND[..], &["--restart", "--shutdown-timeout", "60"]].concat();
        let child = on.spawn(&words);
        std::thread::sleep(Duration::from_secs(2));
        on.virsh(&["desc", "db", "--config", "--new-desc", signal]);
        let pid = child.id().to_string();
        let kill = std::process::Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(kill.expect("kill is there").success());
        let ran = Ran::of(child.wait_with_output().expect("it ends"));
        assert_eq!(ran.code, if signal == "KILL" { None } else { Some(7) }, "{ran:?}");
        check_after(&on, signal);
        let now = on.stored_xml("db");
        assert!(now.contains(&format!("<description>{signal}</description>")), "{now}");
        let others = now.lines().filter(|line| !line.contains("<description>"));
        let wanted: Vec<&str> = before.lines().collect();
        assert_eq!(others.collect::<Vec<_>>(), wanted, "{signal}");
    }
}

/// A shutdown that was asked for cannot be recalled: a guest that obeys it after all is started.
#[test]
fn a_guest_that_obeys_late_runs_again() {
    let Some(on) = OnLibvirt::start() else { return };
    let (xml, log) = super::booted::linux(&on, "db");
    on.define(&xml);
    on.virsh(&["start", "db"]);
    super::booted::wait_for_boot(&log, 1);
    let before = on.stored_xml("db");
    let ran = on.run(&[&BIND[..], &["--restart", "--shutdown-timeout", "0"]].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(on.stored_xml("db"), before);
    assert!(on.is_running("db"), "{ran:?}");
    std::thread::sleep(Duration::from_secs(3));
    assert!(on.is_running("db"), "and it stays up: {ran:?}");
}
