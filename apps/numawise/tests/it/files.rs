//! What is written is written privately, and a bad file is told by its name.

use crate::bench::Bench;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn plans_xml_and_state_are_for_their_owner_alone() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    let plan = bench.path("plan.json");
    bench.ok(&["plan", "db", "--policy", "smart", "--out", &plan.to_string_lossy()]);
    assert_eq!(mode(&plan), 0o600);
    let xml = bench.path("planned.xml");
    bench.ok(&[
        "plan",
        "--xml",
        "db.xml",
        "--host",
        "bundled:two-socket-64",
        "--policy",
        "smart",
        "--xml-out",
        &xml.to_string_lossy(),
    ]);
    assert_eq!(mode(&xml), 0o600);
    bench.ok(&["apply", &plan.to_string_lossy()]);
    let mut open = vec![bench.state()];
    while let Some(folder) = open.pop() {
        assert_eq!(mode(&folder) & 0o077, 0, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
            }
        }
    }
}

#[test]
fn secrets_are_in_the_xml_and_not_in_the_diff() {
    let bench = Bench::new();
    let xml = crate::bench::domain("db", 8, 8)
        .replace("<memballoon", "<graphics type='vnc' passwd='hunter2'/>\n    <memballoon");
    std::fs::write(bench.path("db.xml"), xml).expect("written");
    bench.ok(&["embedded", "define", "db.xml"]);
    let ran = bench.run(&["bind", "db", "--policy", "smart", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.out.contains("hunter2") && !ran.err.contains("hunter2"), "{ran:?}");
    assert!(bench.ok(&["embedded", "dumpxml", "db"]).contains("passwd='hunter2'"));
}

#[test]
fn unreadable_input_is_exit_code_2_with_the_files_name() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    let junk = bench.path("junk.bin");
    std::fs::write(&junk, [0u8, 159, 146, 150]).expect("written");
    let junk = junk.to_string_lossy();
    for words in [
        vec!["host", "show", "--host", &junk],
        vec!["host", "show", "--host", "/nonexistent/host.tar"],
        vec!["apply", &junk],
        vec!["plan", "--xml", &junk, "--policy", "smart"],
        vec!["--config", &junk, "list"],
        vec!["plan", "db", "--split", "half"],
        vec!["plan", "db", "--policy", "smart", "--smt", "avoid"],
        vec!["plan", "db", "--bind", "0-3"],
        vec!["plan"],
        vec!["bind", "db", "--policy", "smart"],
    ] {
        let ran = bench.run(&words);
        assert_eq!(ran.code, Some(2), "{words:?}: {ran:?}");
        let named = words.iter().find(|word| word.starts_with('/'));
        assert!(named.is_none_or(|name| ran.err.contains(*name)), "{words:?}: {}", ran.err);
    }
}

#[test]
fn a_hypervisor_that_does_not_answer_is_exit_code_6_with_a_way_to_go() {
    let bench = Bench::new();
    let uri = format!("qemu:///system?socket={}", bench.path("no-socket").display());
    let ran = bench.run(&["--connect", &uri, "list"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(ran.err.contains(&uri), "{}", ran.err);
    let named = ran.err.contains("systemctl status libvirtd") || ran.err.contains("libvirt0");
    assert!(named, "the daemon, or the package where the library is missing: {}", ran.err);
}

/// What does not speak with a hypervisor works where there is none.
#[test]
fn plans_from_files_and_the_simulated_host_need_no_libvirt() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    let nowhere = ["--connect", "qemu:///system?socket=/nowhere"];
    for words in [
        &["plan", "--xml", "db.xml", "--host", "bundled:two-socket-64", "--policy", "smart"][..],
        &["host", "show", "--host", "bundled:two-socket-64"],
        &["embedded", "start", "db"],
    ] {
        bench.ok(&[&nowhere[..], words].concat());
    }
}

/// A changed host, a changed guest, a plan for another host: exit code 4, and nothing written.
#[test]
fn stale_plans_are_refused() {
    let bench = Bench::new();
    bench.define("db", 8, 8);
    bench.define("other", 8, 8);
    let plan = bench.plan("db", &["--bind", "0-7:8-15", "--overcommit"]);
    let taken = bench.plan("other", &["--bind", "0-7:8-15", "--overcommit"]);
    bench.ok(&["apply", &taken]);
    assert_eq!(bench.run(&["apply", &plan]).code, Some(4), "its pCPUs were given away");
    let plan = bench.plan("db", &["--on-node", "0:0-7"]);
    let xml = crate::bench::domain("db", 8, 16);
    std::fs::write(bench.path("db.xml"), xml).expect("written");
    bench.ok(&["embedded", "define", "db.xml"]);
    let ran = bench.run(&["apply", &plan]);
    assert_eq!(ran.code, Some(4), "its definition changed: {ran:?}");
    assert!(!bench.ok(&["embedded", "dumpxml", "db"]).contains("vcpupin"));
}
