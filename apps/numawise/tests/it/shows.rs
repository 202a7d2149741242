//! What numawise promises, shown on the real binary.

use crate::bench::Bench;
use std::process::{Command, Stdio};

const SMART: [&str; 2] = ["--policy", "smart"];

/// Runs the binary without any state.
fn numawise(words: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_numawise"))
        .args(words)
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn cpu_sets_mean_what_is_included_minus_what_is_excluded() {
    for (text, wanted, warned) in [
        ("1-7,^2,^3,^4,10", "1,5-7,10", false),
        ("0-2,^2", "0-1", false),
        ("^3,1-7", "1-2,4-7", true),
        ("0-3,^1-2", "0,3", false),
        ("1500-1501,8191", "1500-1501,8191", false),
    ] {
        let (code, out, err) = numawise(&["cpuset", text]);
        assert_eq!((code, out.trim()), (Some(0), wanted), "{text}: {err}");
        assert_eq!(err.contains("warning"), warned, "{text}: {err}");
    }
}

#[test]
fn bad_cpu_sets_are_told_with_the_place() {
    for (text, column) in
        [("7-1", 2), ("1-3-,5", 3), ("a", 0), ("0-99999999999", 2), ("0-4294967295", 2)]
    {
        let (code, out, err) = numawise(&["cpuset", text]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{text}: {err}");
        let drawn = err.lines().find(|line| line.trim_end().ends_with(text)).expect(text);
        let caret = err
            .lines()
            .find(|line| line.trim().starts_with('^'))
            .unwrap_or_else(|| panic!("{err}"));
        let start = drawn.len() - text.len();
        assert_eq!(caret.find('^'), Some(start + column), "{err}");
    }
}

#[test]
fn cpu_sets_are_held_against_a_guest_or_a_host() {
    assert_eq!(numawise(&["cpuset", "0-7", "--vcpus", "8"]).0, Some(0));
    let (code, _, err) = numawise(&["cpuset", "6-9", "--vcpus", "8"]);
    assert!(code == Some(2) && err.contains("8-9"), "{err}");
    let (code, _, err) = numawise(&["cpuset", "60-70", "--host", "bundled:two-socket-64"]);
    assert!(code == Some(2) && err.contains("64-70"), "{err}");
}

fn plan(words: &[&str]) -> serde_json::Value {
    let all = [&["plan", "--json", "--host", "bundled:two-socket-64"], words].concat();
    let (code, out, err) = numawise(&all);
    assert_eq!(code, Some(0), "{err}");
    serde_json::from_str(&out).expect("a plan is JSON")
}

#[test]
fn the_seeds_48_vcpus_take_node_1_whole_and_half_of_node_0() {
    let plan = plan(&["--vcpus", "48", "--memory", "192GiB", "--policy", "smart"]);
    for vcpu in 0..48 {
        let pcpu = if vcpu < 32 { vcpu + 32 } else { vcpu - 32 };
        assert_eq!(plan["binding"][vcpu.to_string()], pcpu.to_string(), "vCPU {vcpu}");
    }
    let vnuma = &plan["vnuma"];
    let node = |n: usize| (&vnuma[n]["vcpus"], &vnuma[n]["memory_bytes"], &vnuma[n]["host_node"]);
    assert_eq!(node(0), (&"0-31".into(), &(128u64 << 30).into(), &1.into()));
    assert_eq!(node(1), (&"32-47".into(), &(64u64 << 30).into(), &0.into()));
    assert_eq!(vnuma[0]["distances"], serde_json::json!([10, 21]));
    let topology = &plan["guest_topology"];
    assert_eq!((&topology["sockets"], &topology["cores"]), (&3.into(), &16.into()));
}

#[test]
fn seventy_vcpus_on_64_pcpus_are_refused_and_wrap_only_when_asked() {
    let words = ["plan", "--host", "bundled:two-socket-64", "--vcpus", "70", "--memory", "70GiB"];
    let (code, out, err) = numawise(&[&words[..], &SMART].concat());
    assert_eq!((code, out.as_str()), (Some(3), ""), "{err}");
    assert!(err.contains("70") && err.contains("64") && err.contains("--overcommit"), "{err}");
    let wrapped =
        plan(&["--vcpus", "70", "--memory", "70GiB", "--policy", "smart", "--overcommit"]);
    assert_eq!(wrapped["binding"]["63"], "31");
    assert_eq!(wrapped["binding"]["64"], "32", "round again from node 1");
    assert_eq!(wrapped["binding"]["69"], "37");
    let rules: Vec<_> = wrapped["findings"].as_array().expect("findings").iter().collect();
    assert!(rules.iter().any(|finding| finding["rule"] == "overcommitted"), "{rules:?}");
}

/// Each request is refused with exit code 3, and the message names the thing and the way out.
#[test]
fn refusals_say_what_to_do() {
    let bench = Bench::new();
    bench.define("plain", 8, 8);
    for (words, told) in [
        (vec!["--bind", "0-6:8-14", "--bind", "7:7,40"], vec!["vCPU 7", "7,40", "node"]),
        (vec!["--bind", "0-6:8-14"], vec!["7", "--bind"]),
        (vec!["--bind", "0-7:8-11"], vec!["--overcommit"]),
        (vec!["--policy", "smart", "--page-size", "2M"], vec!["2M", "node 1"]),
    ] {
        let ran = bench.run(&[&["plan", "plain"], words.as_slice()].concat());
        assert_eq!(ran.code, Some(3), "{words:?}: {ran:?}");
        for part in told {
            assert!(ran.err.contains(part), "{words:?}: '{part}' is missing in {}", ran.err);
        }
    }
}

/// Balloon and hot-plug: refused by the element's name, and mended with --fix-guest.
#[test]
fn guests_unfit_for_vnuma_are_refused_or_fixed() {
    let bench = Bench::new();
    let base = crate::bench::domain("g", 8, 8);
    let balloon = base.replace("<memballoon model='none'/>", "<memballoon model='virtio'/>");
    let hotplug = base.replace("<vcpu>8</vcpu>", "<vcpu current='4'>8</vcpu>");
    let memory = base.replace("<vcpu>", "<maxMemory slots='16' unit='GiB'>64</maxMemory><vcpu>");
    for (xml, element, gone) in [
        (balloon, "memballoon", "model='virtio'"),
        (hotplug, "current", "current='4'"),
        (memory, "maxMemory", "<maxMemory"),
    ] {
        let file = bench.path("g.xml");
        let planned = bench.path("planned.xml");
        std::fs::write(&file, xml).expect("the XML is written");
        let (file, planned_path) = (file.to_string_lossy(), planned.to_string_lossy());
        let words =
            ["plan", "--host", "bundled:two-socket-64", "--xml", &file, "--policy", "smart"];
        let ran = bench.run(&words);
        assert_eq!(ran.code, Some(3), "{element}: {ran:?}");
        assert!(ran.err.contains(element) && ran.err.contains("--fix-guest"), "{}", ran.err);
        let fixed = bench.ok(&[&words[..], &["--fix-guest", "--xml-out", &planned_path]].concat());
        let xml = std::fs::read_to_string(&planned).expect("the planned XML is there");
        assert!(!xml.contains(gone), "{xml}");
        let removed = fixed.lines().any(|line| line.starts_with('-') && line.contains(element));
        assert!(removed, "the diff does not show it: {fixed}");
    }
}

#[test]
fn a_frozen_topology_is_kept_unless_told() {
    let bench = Bench::new();
    bench.define("db", 48, 96);
    bench.ok(&["embedded", "start", "db"]);
    bench.ok(&["bind", "db", "--policy", "smart", "--restart", "--yes"]);
    let other = ["--on-node", "1:0-23", "--on-node", "0:24-47"];
    let ran = bench.run(&[&["plan", "db"], &other[..]].concat());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("--new-topology"), "{}", ran.err);
    let told = [&["bind", "db", "--yes", "--restart", "--new-topology"], &other[..]].concat();
    bench.ok(&told);
    // Off and on again with the same binding needs no word.
    bench.ok(&["vnuma", "off", "db", "--restart", "--yes"]);
    bench.ok(&["vnuma", "on", "db", "--restart", "--yes"]);
    bench.ok(&["verify", "db"]);
}

#[test]
fn rules_of_an_audit_are_explained_and_wrong_names_told_with_the_right_ones() {
    for words in [&["audit", "--rule", "booked"][..], &["audit", "--explain", "booked"]] {
        let (code, out, err) = numawise(words);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        assert!(err.contains("booked-twice"), "{err}");
    }
    let (code, out, _) = numawise(&["audit", "--explain", "all"]);
    assert_eq!(code, Some(0));
    for rule in numawise_model::AuditRule::ALL {
        assert!(out.contains(&format!("{}\n  looks at:", rule.name())), "{rule:?}");
    }
}
