//! Options that stand against each other, plan documents that no plan is, names that would be more than
//! names, and remedies that the command can go.

use crate::bench::{Bench, domain};

const HOST: [&str; 3] = ["plan", "--host", "bundled:two-socket-64"];

#[test]
fn options_against_each_other_are_usage() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    let size = ["--vcpus", "20", "--memory", "20GiB"];
    for (options, named) in [
        (&["--split", "exact:5,15", "--vnodes", "3"][..], "--vnodes"),
        (&["--policy", "compact", "--l3", "2"], "--l3"),
        (&["--overcommit"], "--policy smart"),
        (&["--shared", "--policy", "spread"], "--policy smart"),
        (&["--no-vnuma", "--vnodes", "2"], "--no-vnuma"),
        (&["--vnodes", "2", "--cells-per-node", "2"], "--cells-per-node"),
        (&["--cells-per-node", "0"], "--cells-per-node"),
        (&["--xml-out", "planned.xml"], "--xml-out"),
    ] {
        let ran = bench.run(&[&HOST[..], &size, options].concat());
        assert_eq!(ran.code, Some(2), "{options:?}: {ran:?}");
        assert!(ran.err.contains(named), "{options:?}: {}", ran.err);
    }
    for words in [
        &["plan", "db", "--xml-out", "planned.xml"][..],
        &["audit", "--host", "bundled:two-socket-64", "--xml", "db.xml", "--xml", "db.xml"],
    ] {
        assert_eq!(bench.run(words).code, Some(2), "{words:?}");
    }
    assert!(!bench.path("planned.xml").exists());
}

#[test]
fn what_goes_together_is_planned_and_judged_right() {
    let bench = Bench::new();
    let size = ["--vcpus", "20", "--memory", "20GiB"];
    for (options, nodes) in [
        (&["--vnodes", "3"][..], 3),
        (&["--vnodes", "8"], 8),
        (&["--split", "exact:5,5,5,5"], 4),
        (&["--split", "exact:12,8", "--vnodes", "2"], 2),
        (&["--cells-per-node", "2"], 2),
        (&["--vnodes", "40", "--vcpus", "62"], 40),
    ] {
        let kept: &[&str] = if options.contains(&"--vcpus") { &size[2..] } else { &size };
        let ran = bench.run(&[&HOST[..], kept, options, &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{options:?}: {ran:?}");
        let plan: serde_json::Value = serde_json::from_str(&ran.out).expect("a plan");
        assert_eq!(plan["vnuma"].as_array().map(Vec::len), Some(nodes), "{options:?}");
    }
}

#[test]
fn an_edited_plan_is_refused_in_words() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    let plan: serde_json::Value =
        serde_json::from_str(&bench.ok(&["plan", "db", "--json"])).expect("a plan");
    let file = bench.path("edited.json");
    let edits: [(&str, serde_json::Value, i32); 7] = [
        ("/request/vcpus", 8193.into(), 2),
        ("/request/vcpus", u32::MAX.into(), 2),
        ("/request/vcpus", 8192.into(), 3),
        ("/request/cells_per_node", 4000.into(), 3),
        ("/helpers/emulator", "".into(), 3),
        ("/vnuma/0/memory_bytes", u64::MAX.into(), 3),
        ("/guest_topology/cores", 7.into(), 3),
    ];
    for (place, value, code) in edits {
        let mut edited = plan.clone();
        *edited.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value;
        std::fs::write(&file, edited.to_string()).expect("written");
        let ran = bench.run(&["apply", &file.to_string_lossy()]);
        assert_eq!(ran.code, Some(code), "{place}: {ran:?}");
        assert!(!ran.err.contains(" {") && !ran.err.contains("panicked"), "{place}: {}", ran.err);
    }
    std::fs::write(&file, "null").expect("written");
    let ran = bench.run(&["apply", &file.to_string_lossy()]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("JSON that is no object"), "{}", ran.err);
}

/// `bind` has no `--vcpus` and no `--memory`: what would give a size stands in the definition.
#[test]
fn remedies_name_options_that_the_command_has() {
    let bench = Bench::new();
    bench.define("large", 100, 100);
    let ran = bench.run(&["bind", "large", "--yes"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(!ran.err.contains("--vcpus"), "{}", ran.err);
    assert!(ran.err.contains("62 fit, in the guest's definition"), "{}", ran.err);
    let sized = bench.run(&[&HOST[..], &["--vcpus", "100", "--memory", "100GiB"]].concat());
    assert!(sized.err.contains("--vcpus 62"), "{}", sized.err);
}

#[test]
fn names_are_names() {
    let bench = Bench::new();
    let name = "x&#10;no findings &#x9b;31m&#x202e;";
    std::fs::write(
        bench.path("odd.xml"),
        domain("odd", 2, 2).replace("<name>odd<", &format!("<name>{name}<")),
    )
    .expect("written");
    let host = "bundled:two-socket-64";
    for words in [
        &["plan", "--xml", "odd.xml", "--host", host][..],
        &["audit", "--host", host, "--xml", "odd.xml"],
    ] {
        let ran = bench.run(words);
        // The difference of the XML has the bytes that are there.
        let told = ran.out.split("\n---").next().unwrap_or_default();
        assert!(told.contains('x') && ran.code.is_some_and(|code| code != 1), "{ran:?}");
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!told.contains(bad), "{words:?}: {told:?}");
        assert!(!told.lines().any(|line| line.starts_with("no findings \u{fffd}")), "{told}");
    }
}

#[test]
fn a_capture_is_not_written_over_another() {
    let bench = Bench::new();
    let file = bench.path("host.tar");
    let words = ["host", "capture", &file.to_string_lossy(), "--host", "bundled:two-socket-64"];
    bench.ok(&words);
    std::fs::write(&file, "mine").expect("written");
    let ran = bench.run(&words);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(std::fs::read(&file).expect("there"), b"mine");
    bench.ok(&[&words[..], &["--force"]].concat());
    assert_ne!(std::fs::read(&file).expect("there"), b"mine");
}

#[test]
fn a_folder_is_no_file_and_a_pipe_no_host() {
    let bench = Bench::new();
    let folder = bench.path("folder");
    std::fs::create_dir(&folder).expect("made");
    let ran = bench.run(&["apply", &folder.to_string_lossy()]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("is a folder"), "{}", ran.err);
    let ran = bench.run(&["host", "show", "--host", "/dev/zero"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("a pipe, a socket or a device"), "{}", ran.err);
}
