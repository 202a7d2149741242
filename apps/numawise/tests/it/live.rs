//! Changes that reach a running guest without a restart, and those that have to wait; drift that is
//! mended by applying the plan in force again.

use crate::bench::{Bench, domain};
use serde_json::{Value, json};

/// Where the threads of the guest may run, by the definition of what runs.
fn live_binding(bench: &Bench, guest: &str) -> Value {
    bench.json(&["show", guest, "--json"])["live"]["binding"].clone()
}

fn labels(plan: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let changes = plan["changes"].as_array().expect("a plan has changes");
    changes.iter().map(|c| (text(&c["what"]), text(&c["effect"]))).collect()
}

#[test]
fn threads_move_at_once_and_their_old_cpus_are_free() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    bench.ok(&["bind", "db", "--on-node", "1:0-7", "--no-vnuma", "--yes"]);
    bench.ok(&["embedded", "start", "db"]);
    let plan = bench.json(&["plan", "db", "--on-node", "0:0-7", "--no-vnuma", "--json"]);
    let live = |(_, effect): &(String, String)| effect == "live";
    assert!(labels(&plan).iter().all(live), "{:?}", labels(&plan));
    let id = plan["id"].as_str().expect("an id");
    let ran = bench.run(&["apply", id, "--live"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("threads of the running guest are moved"), "{}", ran.err);
    assert!(!ran.err.contains("next boot"), "nothing waits: {}", ran.err);
    assert_eq!(live_binding(&bench, "db")["0"], "1");
    bench.ok(&["verify", "db"]);
    bench.define("web", 8, 8);
    bench.ok(&["bind", "web", "--on-node", "1:0-7", "--yes"]);
    let again = bench.run(&["bind", "web", "--bind", "0-7:1-8", "--yes"]);
    assert_eq!(again.code, Some(3), "what db runs on is db's: {again:?}");
}

/// Without `--live` the guest stays on its old pCPUs, and nobody else gets them.
#[test]
fn what_a_guest_still_runs_on_is_not_given_away() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    bench.ok(&["bind", "db", "--on-node", "1:0-7", "--no-vnuma", "--yes"]);
    bench.ok(&["embedded", "start", "db"]);
    bench.ok(&["bind", "db", "--on-node", "0:0-7", "--no-vnuma", "--yes"]);
    bench.define("web", 8, 8);
    let ran = bench.run(&["bind", "web", "--bind", "0-7:33-40", "--yes"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    bench.ok(&["apply", "db", "--live"]);
    bench.ok(&["bind", "web", "--bind", "0-7:33-40", "--yes"]);
}

#[test]
fn memory_that_stays_behind_is_told() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    bench.ok(&["bind", "db", "--on-node", "1:0-7", "--yes"]);
    bench.ok(&["embedded", "start", "db"]);
    let planned = bench.ok(&["plan", "db", "--on-node", "0:0-7"]);
    assert!(planned.contains("its memory stays on node 1 until the next boot"), "{planned}");
    assert!(planned.contains("binding of the memory"), "{planned}");
    let plan = bench.json(&["plan", "db", "--on-node", "0:0-7", "--json"]);
    let wanted = [("vcpu-pins", "live"), ("emulator-pin", "live"), ("memory-binding", "next-boot")];
    let seen = labels(&plan);
    let seen: Vec<(&str, &str)> = seen.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(seen, wanted, "the guest sees the same, so its topology is no change");
    let ran = bench.run(&["apply", plan["id"].as_str().expect("an id"), "--live"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("takes effect when the guest is shut down"), "{}", ran.err);
    assert_eq!(live_binding(&bench, "db")["0"], "1");
}

/// Threads moved behind our back, pins changed in the stored definition, and a disk attached: one
/// apply of the plan in force mends it, and undo still goes back to what stood before the first.
#[test]
fn the_plan_in_force_mends_drift() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    let original = bench.ok(&["embedded", "dumpxml", "db"]);
    bench.ok(&["bind", "db", "--on-node", "1:0-7", "--yes"]);
    bench.ok(&["embedded", "start", "db"]);
    bench.ok(&["embedded", "repin", "db", "--vcpu", "3", "--cpus", "5"]);
    assert_eq!(bench.run(&["verify", "db"]).code, Some(5));
    bench.ok(&["apply", "db", "--live"]);
    bench.ok(&["verify", "db"]);

    let disk = "<disk type='file'><source file='/d'/><target dev='vdb'/></disk>";
    let stored = bench.ok(&["embedded", "dumpxml", "db"]);
    let changed = stored.replace("vcpu='3' cpuset='36'", "vcpu='3' cpuset='7'");
    assert_ne!(changed, stored, "vCPU 3 is where the test believes it");
    let changed = changed.replace("<devices>", &format!("<devices>{disk}"));
    std::fs::write(bench.path("changed.xml"), changed).expect("written");
    bench.ok(&["embedded", "define", "changed.xml"]);
    let ran = bench.run(&["verify", "db"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.out.contains("numawise apply db --live"), "{}", ran.out);
    bench.ok(&["apply", "db", "--live"]);
    bench.ok(&["verify", "db"]);

    bench.ok(&["undo", "db", "--yes"]);
    let today = bench.ok(&["embedded", "dumpxml", "db"]);
    assert_eq!(today.replace(disk, ""), original);
    assert!(today.contains(disk), "the disk is kept: {today}");
}

/// Only what numawise owns is mended: a guest that became another one needs another plan.
#[test]
fn a_guest_that_became_another_one_is_stale() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    bench.ok(&["bind", "db", "--on-node", "1:0-7", "--no-vnuma", "--yes"]);
    let stored = bench.ok(&["embedded", "dumpxml", "db"]);
    let bigger = stored.replace("<memory unit='GiB'>8<", "<memory unit='GiB'>16<");
    let moved = bigger.replace("vcpu='3' cpuset='36'", "vcpu='3' cpuset='7'");
    std::fs::write(bench.path("moved.xml"), moved).expect("written");
    bench.ok(&["embedded", "define", "moved.xml"]);
    assert_eq!(bench.run(&["apply", "db", "--live"]).code, Some(4));
}

#[test]
fn undo_moves_the_threads_back() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    bench.ok(&["bind", "db", "--on-node", "1:0-7", "--no-vnuma", "--yes"]);
    bench.ok(&["embedded", "start", "db"]);
    bench.ok(&["bind", "db", "--on-node", "0:0-7", "--no-vnuma", "--live", "--yes"]);
    assert_eq!(live_binding(&bench, "db")["7"], "8");
    bench.ok(&["undo", "db", "--live", "--yes"]);
    assert_eq!(live_binding(&bench, "db")["7"], "40");
    bench.ok(&["verify", "db"]);
    // With nothing left of numawise's, the threads run where libvirt would start them.
    bench.ok(&["undo", "db", "--live", "--yes"]);
    assert_eq!(live_binding(&bench, "db")["7"], "0-63");
    // Nor are they held: a pin to every CPU is none.
    bench.define("web", 8, 8);
    bench.ok(&["bind", "web", "--bind", "0-7:1-8", "--yes"]);
}

#[test]
fn a_guest_that_is_off_is_only_defined() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    let ran = bench.run(&["bind", "db", "--policy", "smart", "--live", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("is off, so there are no threads to move"), "{}", ran.err);
    let both = bench.run(&["apply", "db", "--live", "--restart"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

/// A definition that another manager wrote is planned and looked at, and left alone.
#[test]
fn a_guest_of_another_manager_is_left_alone() {
    let bench = Bench::new();
    let nova = "<metadata><nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'>\
                <nova:name>db</nova:name></nova:instance></metadata>\n  <memory unit='GiB'>";
    let xml = domain("db", 8, 8).replacen("<memory unit='GiB'>", nova, 1);
    std::fs::write(bench.path("nova.xml"), &xml).expect("written");
    bench.ok(&["embedded", "define", "nova.xml"]);
    let plan = bench.plan("db", &["--on-node", "1:0-7"]);
    for words in [
        &["apply", &plan][..],
        &["apply", &plan, "--dry-run"],
        &["bind", "db", "--policy", "smart", "--yes"],
        &["bind", "db", "--policy", "smart", "--dry-run"],
        &["unbind", "db", "--yes"],
    ] {
        let ran = bench.run(words);
        assert_eq!(ran.code, Some(3), "{words:?}: {ran:?}");
        assert!(ran.err.contains("OpenStack Nova"), "{words:?}: {}", ran.err);
    }
    assert_eq!(bench.ok(&["embedded", "dumpxml", "db"]).trim_end(), xml.trim_end());
    let stored = bench.stored();
    assert!(stored.ledger.claims.is_empty() && stored.intents.is_empty());
    let listed = bench.json(&["list", "--json"])["guests"][0].clone();
    assert_eq!(listed["owner"], json!({"kind": "managed", "by": "nova"}));
    assert!(bench.ok(&["list"]).contains("OpenStack Nova"));

    let ran = bench.run(&["apply", &plan, "--override-owner"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("--override-owner"), "{}", ran.err);
    assert!(bench.stored().intents[0].overridden.is_some(), "it can be read later");
    for words in [&["undo", "db", "--yes"][..], &["vnuma", "off", "db", "--yes"]] {
        assert_eq!(bench.run(words).code, Some(3), "{words:?}");
    }
    bench.ok(&["undo", "db", "--yes", "--override-owner"]);
}

/// The editor cannot take a plugged module out, so the planner does not offer to.
#[test]
fn plugged_memory_is_a_refusal() {
    let bench = Bench::new();
    let file = crate::bench::repository().join("fixtures/domains/memory-hotplug.xml");
    bench.ok(&["embedded", "define", &file.to_string_lossy()]);
    let name = bench.json(&["list", "--json"])["guests"][0]["name"].clone();
    let name = name.as_str().expect("a name");
    let ran = bench.run(&["bind", name, "--policy", "smart", "--fix-guest", "--yes"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("memory module"), "{}", ran.err);
}
