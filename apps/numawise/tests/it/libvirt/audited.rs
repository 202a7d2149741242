//! An audit of guests that were placed by hand on a real libvirt: definitions, threads, and what the
//! kernel of this machine does beside them.

use super::{OnLibvirt, diskless};
use serde_json::Value;

/// The findings of one rule that are about one guest.
fn about<'v>(audit: &'v Value, rule: &str, guest: &str) -> Vec<&'v Value> {
    let all = audit["findings"].as_array().expect("findings are a list");
    let wanted = |f: &&Value| f["audit_rule"] == rule && f["subject"]["name"] == guest;
    all.iter().filter(wanted).collect()
}

fn audit(on: &OnLibvirt, words: &[&str]) -> Value {
    let ran = on.ends(5, &[&["audit", "--json"], words].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error} in {ran:?}"))
}

#[test]
fn guests_placed_by_hand_are_judged() {
    let Some(on) = OnLibvirt::start() else { return };
    let on_cpu_0 = "  <cputune><vcpupin vcpu='0' cpuset='0'/></cputune>\n";
    on.define(&diskless("first", 1, on_cpu_0));
    on.define(&diskless("second", 1, on_cpu_0));
    let hotplug = diskless("later", 2, "")
        .replace("<vcpu>2</vcpu>", "<vcpu current='1'>2</vcpu>")
        .replace("</cpu>", "<numa><cell id='0' cpus='0-1' memory='64' unit='MiB'/></numa></cpu>");
    on.define(&hotplug);
    on.virsh(&["start", "first"]);

    let whole = audit(&on, &[]);
    let twice = about(&whole, "booked-twice", "first").len()
        + about(&whole, "booked-twice", "second").len();
    assert_eq!(twice, 1, "{whole:#}");
    assert_eq!(about(&whole, "resizing-with-vnuma", "later").len(), 1, "{whole:#}");
    assert_eq!(about(&whole, "unpinned-guest", "later").len(), 1, "{whole:#}");
    // The emulators are pinned nowhere.
    assert!(!about(&whole, "helpers-on-pinned-cpus", "first").is_empty(), "{whole:#}");
    // The host is this machine: its kernel was asked.
    let unseen = whole["not_looked_at"].as_array().expect("a list");
    let is_elsewhere = |u: &Value| u["reason"] == "elsewhere" || u["reason"] == "not-in-capture";
    assert!(!unseen.iter().any(is_elsewhere), "{whole:#}");

    // The kernel's word counts: the definition still says nothing of the emulator.
    on.virsh(&["emulatorpin", "first", "1", "--live"]);
    let moved = audit(&on, &["--rule", "helpers-on-pinned-cpus", "--rule", "booked-twice"]);
    assert_eq!(about(&moved, "helpers-on-pinned-cpus", "first"), Vec::<&Value>::new(), "{moved:#}");
    assert_eq!(about(&moved, "resizing-with-vnuma", "later"), Vec::<&Value>::new());

    on.virsh(&["destroy", "first"]);
    on.virsh(&["undefine", "second"]);
    let ran = on.run(&["audit", "--rule", "booked-twice"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("2 guests, 0 errors"), "{ran:?}");
}
