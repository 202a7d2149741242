//! Faults that were found once, each kept with the right answer.

use crate::bench::{Bench, Ran, domain};
use serde_json::json;
use std::path::Path;

/// A guest that came from another host brings its frozen topology in its metadata.
#[test]
fn a_guest_with_a_note_and_no_record_is_bound() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    bench.ok(&["bind", "db", "--on-node", "1:0-7", "--yes"]);
    let moved = bench.ok(&["embedded", "dumpxml", "db"]);
    let other = Bench::new();
    std::fs::write(other.path("moved.xml"), moved).expect("written");
    other.ok(&["embedded", "define", "moved.xml"]);
    let ran = other.run(&["bind", "db", "--on-node", "1:0-3", "--on-node", "0:4-7", "--yes"]);
    assert_eq!(ran.code, Some(3), "another topology: {ran:?}");
    assert!(ran.err.contains("--new-topology"), "{}", ran.err);
    other.ok(&["bind", "db", "--on-node", "0:0-7", "--yes"]);
}

/// A plan is a file: what is changed in it by hand is seen before anything is written.
#[test]
fn an_edited_plan_is_refused() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    let plan = bench.json(&["plan", "db", "--on-node", "1:0-7", "--json"]);
    let edits: [fn(&mut serde_json::Value); 7] = [
        |plan| plan["binding"]["0"] = json!("500"),
        |plan| plan["binding"]["0"] = json!("34"),
        |plan| plan["claims"] = json!([]),
        |plan| plan["requires"] = json!([]),
        |plan| plan["vnuma"][0]["vcpus"] = json!("0-3"),
        |plan| plan["vnuma"][0]["memory_bytes"] = json!(4096),
        |plan| plan["helpers"]["emulator"] = json!("0-70"),
    ];
    let before = bench.ok(&["embedded", "dumpxml", "db"]);
    for (n, edit) in edits.iter().enumerate() {
        let mut edited = plan.clone();
        edit(&mut edited);
        std::fs::write(bench.path("edited.json"), edited.to_string()).expect("written");
        for words in [&["apply", "edited.json"][..], &["apply", "edited.json", "--dry-run"]] {
            let ran = bench.run(words);
            assert_eq!(ran.code, Some(3), "edit {n}: {ran:?}");
        }
    }
    assert_eq!(bench.ok(&["embedded", "dumpxml", "db"]), before);
    assert!(bench.stored().ledger.claims.is_empty());
}

#[test]
fn a_plan_in_force_is_applied_again_to_restart() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    bench.ok(&["embedded", "start", "db"]);
    let plan = bench.plan("db", &["--on-node", "1:0-7"]);
    bench.ok(&["apply", &plan]);
    let pending = bench.json(&["list", "--json"])["guests"][0].clone();
    assert_eq!((&pending["pending_restart"], &pending["pcpus"]), (&json!(true), &json!("33-40")));
    let verdict = bench.ok(&["verify", "db"]);
    assert!(verdict.contains("waits for a restart"), "{verdict}");
    bench.ok(&["apply", &plan, "--restart"]);
    bench.ok(&["apply", &plan, "--restart"]);
    assert_eq!(bench.json(&["list", "--json"])["guests"][0]["pending_restart"], false);
    // One undo takes all of it back.
    bench.ok(&["undo", "db", "--yes"]);
    assert_eq!(bench.run(&["undo", "db", "--yes"]).code, Some(1));
}

/// Two `<vcpu>` elements: libvirt would not have it, a folder may. The other guests are not told no.
#[test]
fn one_odd_guest_does_not_stop_the_others() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    let odd = domain("odd", 4, 4).replace("<vcpu>4</vcpu>", "<vcpu>4</vcpu><vcpu>5</vcpu>");
    let folder = bench.state().join("embedded");
    bench.define("odd", 4, 4);
    let files = std::fs::read_dir(&folder).expect("the embedded folder");
    let is_odd = |path: &Path| std::fs::read_to_string(path).is_ok_and(|t| t.contains(">odd<"));
    let path = files.map(|f| f.expect("an entry").path()).find(|path| is_odd(path)).expect("odd");
    std::fs::write(path, odd).expect("written");
    let listed = bench.run(&["list"]);
    assert_eq!(listed.code, Some(5), "{listed:?}");
    assert!(listed.out.contains("guest odd") && listed.out.contains("vcpu"), "{}", listed.out);
    bench.ok(&["bind", "db", "--policy", "smart", "--yes"]);
    let ran = bench.run(&["verify", "odd"]);
    assert!(ran.code == Some(2) && ran.err.contains("'odd'"), "{ran:?}");
}

/// A file that is no ordinary one is written into, and a link stays a link.
#[test]
fn output_goes_where_the_name_points() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    let target = bench.path("target.json");
    std::fs::write(&target, "old").expect("written");
    std::os::unix::fs::symlink(&target, bench.path("link.json")).expect("a link");
    bench.ok(&["plan", "db", "--policy", "smart", "--out", "link.json"]);
    assert!(std::fs::symlink_metadata(bench.path("link.json")).expect("there").is_symlink());
    assert!(std::fs::read_to_string(target).expect("there").contains("numawise.plan"));
    let ran = bench.run(&["plan", "db", "--policy", "smart", "--out", "/dev/full"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!std::fs::metadata("/dev/full").expect("there").is_file());
}

#[test]
fn a_host_that_changed_is_drift() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    bench.ok(&["bind", "db", "--policy", "smart", "--yes"]);
    let fixture = crate::bench::repository().join("fixtures/hosts/sparse-node-ids.tar.xz");
    std::fs::copy(fixture, bench.state().join("embedded/host.tar.xz")).expect("copied");
    let ran = bench.run(&["verify", "db"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.out.contains("other ones than when the plan was made"), "{}", ran.out);
}

/// With `--json` there is one document on standard output, whatever the command.
#[test]
fn json_is_json() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    let plan = bench.plan("db", &["--on-node", "1:0-7"]);
    for words in [
        &["apply", &plan, "--dry-run"][..],
        &["apply", &plan],
        &["embedded", "start", "db"],
        &["list"],
        &["show", "db"],
        &["verify", "db"],
        &["undo", "db", "--dry-run"],
        &["undo", "db", "--yes"],
        &["bind", "db", "--policy", "smart", "--dry-run"],
        &["cpuset", "0-3"],
        &["host", "show", "--host", "bundled:two-socket-64"],
        &["embedded", "shutdown", "db"],
    ] {
        let document = bench.json(&[&["--json"], words].concat());
        assert!(document["schema"].is_string(), "{words:?}: {document}");
    }
}

/// A wish that somebody else's faster claim has spoilt is planned again when nobody is asked.
#[test]
fn binds_at_once_all_find_a_place() {
    let bench = Bench::new();
    for n in 0..8 {
        bench.define(&format!("g{n}"), 4, 1);
    }
    let words = |n: i32| {
        ["bind".to_owned(), format!("g{n}"), "--policy=smart".to_owned(), "--yes".to_owned()]
    };
    let children: Vec<_> =
        (0..8).map(|n| bench.spawn(&words(n).each_ref().map(String::as_str))).collect();
    for child in children {
        let ran = Ran::of(child.wait_with_output().expect("the child ends"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    assert_eq!(bench.stored().ledger.exclusive_cpus().len(), 32);
}
