//! A guest with a Linux in it: it is shut down by asking, and tells through its agent what it sees.

use super::OnLibvirt;
use numawise_testkit::testbed::TinyGuest;
use std::time::{Duration, Instant};

/// Two vCPUs, an agent, a console of its own.
pub fn linux(on: &OnLibvirt, name: &str) -> (String, std::path::PathBuf) {
    let log = on.daemon.folder().join(format!("{name}.log"));
    let xml = format!(
        "<domain type='qemu'><name>{name}</name><memory unit='MiB'>256</memory><vcpu>2</vcpu>{}\
         <features><acpi/><apic/></features>\
         <cpu mode='custom' match='exact'><model fallback='allow'>qemu64</model></cpu>\
         <on_poweroff>destroy</on_poweroff><devices><controller type='usb' model='none'/>{}{}\
         <memballoon model='none'/></devices></domain>",
        TinyGuest::os_xml("pc"),
        TinyGuest::console_xml(&log.to_string_lossy()),
        TinyGuest::agent_xml(),
    );
    (xml, log)
}

/// Waits until the guest has booted once more than before.
pub fn wait_for_boot(log: &std::path::Path, boots: usize) {
    let until = Instant::now() + Duration::from_secs(180);
    let said = || std::fs::read_to_string(log).unwrap_or_default();
    while said().matches(TinyGuest::READY).count() < boots {
        assert!(Instant::now() < until, "the guest does not boot: {}", said());
        std::thread::sleep(Duration::from_millis(250));
    }
}

#[test]
fn a_linux_guest_is_restarted_by_asking_and_its_own_view_is_verified() {
    let Some(on) = OnLibvirt::start() else { return };
    let (xml, log) = linux(&on, "linux");
    on.define(&xml);
    on.virsh(&["start", "linux"]);
    wait_for_boot(&log, 1);
    let bind = ["bind", "linux", "--policy", "smart", "--cells-per-node", "2", "--yes"];
    let ran = on.ends(0, &[&bind[..], &["--restart"]].concat());
    assert!(!ran.err.contains("switched off"), "it stopped by itself: {ran:?}");
    // The console's file begins anew with each start.
    wait_for_boot(&log, 1);
    // The guest is up a moment before its agent is heard.
    let until = Instant::now() + Duration::from_secs(60);
    let mut said = on.ok(&["verify", "linux"]);
    while said.contains("not looked at") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(200));
        said = on.ok(&["verify", "linux"]);
    }
    assert!(said.contains("agrees with its plan"), "{said}");
    assert!(!said.contains("not looked at"), "the agent told of the guest's nodes: {said}");
    let console = std::fs::read_to_string(&log).expect("the console");
    for node in ["GUEST-NODE 0 cpus=0", "GUEST-NODE 1 cpus=1"] {
        assert!(console.contains(node), "{console}");
    }
    on.ok(&["undo", "linux", "--yes", "--restart"]);
    wait_for_boot(&log, 1);
    let console = std::fs::read_to_string(&log).expect("the console");
    assert!(!console.contains("GUEST-NODE 1"), "one node again: {console}");
}
