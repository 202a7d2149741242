//! Finding a process, and its threads.

use crate::scene::{anonymous, memfd, scene, why};
use numawise_engine::ports::Processes;

#[test]
fn a_process_is_found_by_its_arguments_and_by_nothing_less() {
    let scene = anonymous();
    let uuid = "a6f853c6-168a-42de-b1d9-6cca52af92a5";
    let find = |arguments: &[&str]| scene.processes.find(arguments).expect("readable");
    assert_eq!(find(&["-uuid", uuid]), Some(14060));
    assert_eq!(find(&["-uuid", &uuid[..35]]), None);
    assert_eq!(find(&[uuid, "-uuid"]), None, "one after the other");
    assert_eq!(find(&["-uuid", "07f66946-241e-46f7-9a53-be2e089e320e"]), None);
    assert_eq!(find(&[]), None);
}

#[test]
fn threads_of_qemu() {
    let threads = anonymous().processes.threads(14060).expect("readable").expect("it runs");
    let told: Vec<String> = threads
        .iter()
        .map(|t| {
            let nodes = t.nodes_allowed.as_ref().expect("this kernel tells");
            let cgroup = t.cgroup_cpus.as_ref().expect("in a cpuset");
            format!("{}: {} of {cgroup} on {nodes}", t.name, t.cpus_allowed)
        })
        .collect();
    assert_eq!(
        told,
        [
            "qemu-system-x86: 0-1 of 0-1 on 0",
            "qemu-system-x86: 0-1 of 0-1 on 0",
            "TC tc-ram-node0: 0-1 of 0-1 on 0",
            "TC tc-ram-node1: 0-1 of 0-1 on 0",
            "IO iothread1: 1 of 1 on 0",
            "IO iothread2: 0-1 of 0-1 on 0",
            "IO mon_iothread: 0-1 of 0-1 on 0",
            "CPU 0/TCG: 0 of 0 on 0",
            "CPU 1/TCG: 0 of 0 on 0",
            "CPU 2/TCG: 1 of 1 on 0",
            "CPU 3/TCG: 1 of 1 on 0",
        ]
    );
    assert_eq!(threads[0].tid, 14060);
}

#[test]
fn a_process_that_is_gone_is_none() {
    assert_eq!(memfd().processes.threads(1).expect("no error"), None);
    let ended = scene("==> proc/7/task/7/comm <==\n");
    std::fs::remove_file(ended.folder.path().join("proc/7/task/7/comm")).expect("it was there");
    assert_eq!(ended.processes.threads(7).expect("no error"), None, "its last thread has ended");
}

#[test]
fn nonsense_is_told_with_file_line_and_value() {
    let bad = "==> proc/7/task/7/comm <==\nx\n==> proc/7/task/7/status <==\nName:\tx\n\
               Cpus_allowed_list:\t3-1\n";
    let told = why(scene(bad).processes.threads(7));
    assert!(told.contains("proc/7/task/7/status, line 2: '3-1' is no set of ids"), "{told}");
    let lacks = "==> proc/7/task/7/comm <==\nx\n==> proc/7/task/7/status <==\nName:\tx\n";
    let told = why(scene(lacks).processes.threads(7));
    assert!(told.contains("has no line 'Cpus_allowed_list:'"), "{told}");
}
