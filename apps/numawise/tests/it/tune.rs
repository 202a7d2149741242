//! `host tune` on a folder with a host's files: what is shown is what is written, a kill at any step
//! leaves the old or the new, and undo gives every byte back.

use crate::bench::Ran;
use crate::host_tree;
use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use tempfile::TempDir;

struct Host {
    folder: TempDir,
}

const WANTED: [&str; 7] =
    ["--hugepages", "2M:0=512,1=1GiB", "--guest-cpus", "2-15", "--isolate", "partition", "--yes"];

impl Host {
    fn new() -> Self {
        let host = Self { folder: TempDir::new().expect("a folder") };
        host_tree::write(&host.folder.path().join("root"));
        host
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_numawise"));
        command.current_dir(self.folder.path()).args(["--state", "state", "host", "tune"]);
        command.args(words).args(["--root", "root"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().expect("the binary starts"))
    }

    fn ends(&self, code: i32, words: &[&str]) -> Ran {
        let ran = self.run(words);
        assert_eq!(ran.code, Some(code), "{words:?}: {ran:#?}");
        ran
    }

    fn plan(&self, words: &[&str]) -> serde_json::Value {
        let ran = self.ends(0, &[&["plan", "--json"], words].concat());
        serde_json::from_str(&ran.out).expect("a plan is JSON")
    }

    fn snapshot(&self) -> BTreeMap<String, Option<String>> {
        host_tree::snapshot(&self.folder.path().join("root"))
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join("root").join(path)).expect(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.folder.path().join("root").join(path), text).expect(path);
    }
}

fn pool(node: u32) -> String {
    format!("sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages")
}

#[test]
fn what_is_planned_is_written_and_undone_byte_for_byte() {
    let host = Host::new();
    let before = host.snapshot();
    let plan = host.plan(&WANTED);
    assert_eq!(host.snapshot(), before, "a plan writes nothing");
    let id = plan["id"].as_str().expect("an id");
    host.ends(0, &["apply", id, "--yes"]);
    for change in plan["changes"].as_array().expect("changes") {
        let path = change["path"].as_str().expect("a path").trim_start_matches('/');
        match change["after"]["text"].as_str() {
            Some(text) => assert_eq!(host.read(path), text, "{path}"),
            None => assert!(host.folder.path().join("root").join(path).is_dir(), "{path}"),
        }
    }
    assert_eq!((host.read(&pool(0)), host.read(&pool(1))), ("512".into(), "512".into()));
    assert_eq!(host.read("sys/devices/virtual/workqueue/cpumask"), "0003");
    assert_eq!(host.read("sys/fs/cgroup/machine/cpuset.cpus.partition"), "root");
    let boot = host.read("etc/tmpfiles.d/numawise.conf");
    let line = "w /sys/fs/cgroup/machine/cpuset.cpus - - - - 2-15\n";
    assert!(boot.contains(line), "{boot}");
    host.ends(0, &["status"]);
    // The plan that is in force may be applied again.
    host.ends(0, &["apply", id, "--yes"]);
    host.ends(0, &["undo", "--yes"]);
    assert_eq!(host.snapshot(), before);
    host.ends(1, &["undo", "--yes"]);
}

#[test]
fn a_second_tuning_takes_back_what_it_does_not_name_and_undo_leads_to_the_start() {
    let host = Host::new();
    let before = host.snapshot();
    host.ends(0, &[&["apply"], &WANTED[..]].concat());
    host.ends(0, &["apply", "--hugepages", "2M:1=100", "--guest-cpus", "2-15", "--yes"]);
    assert_eq!((host.read(&pool(0)), host.read(&pool(1))), ("0\n".into(), "100".into()));
    assert_eq!(host.read("sys/fs/cgroup/machine/cpuset.cpus.partition"), "member\n");
    assert_eq!(host.read("sys/fs/cgroup/machine/cpuset.cpus"), "\n");
    assert!(!host.read("etc/tmpfiles.d/numawise.conf").contains("cgroup"));
    host.ends(0, &["undo", "--yes"]);
    assert_eq!(host.snapshot(), before);
}

#[test]
fn a_stale_plan_and_a_changed_value_are_refused_untouched() {
    let host = Host::new();
    let plan = host.plan(&WANTED);
    let id = plan["id"].as_str().expect("an id");
    host.write("proc/sys/vm/zone_reclaim_mode", "1\n");
    host.write("proc/sys/kernel/numa_balancing", "2\n");
    let changed = host.snapshot();
    let ran = host.ends(4, &["apply", id, "--yes"]);
    assert!(ran.err.contains("/proc/sys/kernel/numa_balancing"), "{}", ran.err);
    assert_eq!(host.snapshot(), changed);

    host.ends(0, &[&["apply"], &WANTED[..]].concat());
    host.write(&pool(1), "7\n");
    let tuned = host.snapshot();
    let ran = host.ends(3, &["undo", "--yes"]);
    assert!(ran.err.contains(&pool(1)) && ran.err.contains("--force"), "{}", ran.err);
    assert_eq!(host.snapshot(), tuned);
    let ran = host.ends(5, &["status"]);
    assert!(ran.out.contains(&pool(1)), "{}", ran.out);
    host.ends(0, &["undo", "--yes", "--force"]);
    assert_eq!(host.snapshot(), changed);
}

#[test]
fn an_edited_plan_is_refused() {
    let host = Host::new();
    let mut plan = host.plan(&WANTED);
    plan["changes"][0]["path"] = "/etc/passwd".into();
    let file = host.folder.path().join("edited.json");
    fs::write(&file, plan.to_string()).expect("written");
    let before = host.snapshot();
    host.ends(4, &["apply", "edited.json", "--yes"]);
    assert_eq!(host.snapshot(), before);
}

#[test]
fn requests_that_cannot_be_are_refused_with_the_reason() {
    let host = Host::new();
    let before = host.snapshot();
    for (code, words, told) in [
        (3, vec!["--hugepages", "2M:7=1"], "no node 7"),
        (3, vec!["--hugepages", "512M:0=1"], "512M"),
        (3, vec!["--hugepages", "1G:0=17"], "17 GiB"),
        (3, vec!["--guest-cpus", "0-15", "--isolate", "partition"], "nothing would be left"),
        (3, vec!["--guest-cpus", "2-15", "--isolate", "systemd"], "/run/systemd/system"),
        (3, vec!["--guest-cpus", "2-99"], "16-99"),
        (2, vec!["--hugepages", "2M:0=3M"], "3M"),
        (2, vec!["--hugepages", "2M:0=1", "--hugepages", "2M:0=2"], "twice"),
    ] {
        let ran = host.ends(code, &[&["plan"], words.as_slice()].concat());
        assert!(ran.err.contains(told), "{words:?}: {}", ran.err);
    }
    assert_eq!(host.snapshot(), before);
}

#[test]
fn what_a_kernel_lacks_and_what_comes_later_is_told() {
    let host = Host::new();
    fs::remove_file(host.folder.path().join("root/proc/sys/vm/zone_reclaim_mode")).expect("gone");
    host.write("sys/kernel/mm/ksm/pages_shared", "41\n");
    let ran = host.ends(0, &["plan", "--hugepages", "1G:1=2", "--guest-cpus", "0-15"]);
    for told in [
        "this kernel has no /proc/sys/vm/zone_reclaim_mode",
        "hugepagesz=1G hugepages=1:2",
        "41 pages are shared",
        "/etc/sysctl.d/99-vendor.conf",
        "no pCPU is the host's own",
    ] {
        assert!(ran.out.contains(told), "'{told}' is missing: {}", ran.out);
    }
}

/// Kills an apply, then an undo, at one step after the other, until there is no step left.
#[test]
fn a_kill_at_any_step_leaves_the_old_or_the_new_state() {
    let fresh = Host::new();
    let old = fresh.snapshot();
    fresh.ends(0, &[&["apply"], &WANTED[..]].concat());
    let new = fresh.snapshot();
    for (undo, first, second) in [(false, &old, &new), (true, &new, &old)] {
        let mut step = 0;
        loop {
            step += 1;
            let host = Host::new();
            if undo {
                host.ends(0, &[&["apply"], &WANTED[..]].concat());
            }
            let after = step.to_string();
            let words =
                if undo { vec!["undo", "--yes"] } else { [&["apply"], &WANTED[..]].concat() };
            let ran = host.run(&[&words[..], &["--crash-after", &after]].concat());
            if ran.code == Some(0) {
                assert_eq!(&host.snapshot(), second);
                break;
            }
            assert_eq!(ran.code, None, "step {step}: {ran:#?}");
            host.run(&["status"]);
            let now = host.snapshot();
            assert!(&now == first || &now == second, "undo {undo}, step {step}: {now:#?}");
            // Whichever it is, the record agrees with it: everything can still be taken back.
            if now == new {
                host.ends(0, &["undo", "--yes"]);
            }
            assert_eq!(host.snapshot(), old, "undo {undo}, step {step}");
        }
        assert!(step > 20, "only {step} steps were tried");
    }
}

#[test]
fn two_at_once_are_one_after_the_other() {
    let host = Host::new();
    let before = host.snapshot();
    let words = [&["apply"], &WANTED[..]].concat();
    let mut children: Vec<_> =
        (0..4).map(|_| host.command(&words).spawn().expect("it starts")).collect();
    let codes: Vec<_> =
        children.iter_mut().map(|child| child.wait().expect("it ends").code()).collect();
    assert!(codes.contains(&Some(0)), "{codes:?}");
    // Who planned before the first had written is told that its plan is stale.
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 4))), "{codes:?}");
    host.ends(0, &["status"]);
    host.ends(0, &["undo", "--yes"]);
    assert_eq!(host.snapshot(), before);
}
