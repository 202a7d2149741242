//! This process, by this kernel's word.

use numawise_engine::ports::{PortError, Processes};
use numawise_model::CpuSet;
use numawise_process::KernelProcesses;
use std::process::{Command, Stdio};

#[test]
fn this_process() {
    let processes = KernelProcesses::live();
    let pid = std::process::id();
    let threads = processes.threads(pid).expect("readable").expect("it runs");
    let main = threads.iter().find(|thread| thread.tid == pid).expect("the main thread");
    let own = std::fs::read_to_string("/proc/thread-self/status").expect("readable");
    let list = own.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let cpus: CpuSet = numawise_model::parse_list(list.expect("a list").trim()).expect("a list");
    assert_eq!(main.cpus_allowed, cpus);
    let Some(mappings) = processes.mappings(pid).expect("readable") else {
        // A kernel without NUMA has no numa_maps.
        assert!(!std::path::Path::new("/proc/self/numa_maps").exists());
        return;
    };
    assert!(mappings.iter().any(|mapping| mapping.file.is_some() && mapping.bytes > 0));
    assert!(mappings.iter().any(|mapping| !mapping.pages.is_empty()));
}

/// Processes come and go while others are looked for: that is no error.
#[test]
fn a_process_among_dying_ones() {
    let processes = KernelProcesses::live();
    let mark = format!("a-mark-of-its-own-{}", std::process::id());
    let mut sleeper = Command::new("sh")
        .args(["-c", "read wait", "-mark", &mark])
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut dying: Vec<_> =
        (0..20).map(|_| Command::new("true").spawn().expect("a process")).collect();
    for _ in 0..50 {
        let found = processes.find(&["-mark", &mark]).expect("no error");
        assert_eq!(found, Some(sleeper.id()));
    }
    dying.iter_mut().for_each(|child| drop(child.wait()));
    drop(sleeper.stdin.take());
    sleeper.wait().expect("it ends");
    assert_eq!(processes.find(&["-mark", &mark]).expect("no error"), None);
    assert_eq!(processes.threads(sleeper.id()).expect("no error"), None);
    assert_eq!(processes.mappings(sleeper.id()).expect("no error"), None);
}

#[test]
fn a_folder_that_is_no_proc() {
    let empty = tempfile::tempdir().expect("a folder");
    let processes = KernelProcesses::below(empty.path().join("proc"), empty.path().to_owned());
    assert_eq!(processes.find(&["x"]).expect("no error"), None);
}

/// Root may read everything; others are told what they lack.
#[test]
fn what_may_not_be_read_says_so() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let error = KernelProcesses::live().mappings(1).expect_err("process 1 is root's");
    assert!(matches!(error, PortError::NoAccess(_)), "{error}");
}
