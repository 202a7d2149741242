//! Whose limit counts: that of the guests' cgroup, where there is one, not that of the shell.

use crate::scene::{FAST, files, read_archive};
use numawise_model::Host;
use numawise_sysfs::{Source, capture_bytes, open, read_host};
use numawise_testkit::Shape;
use numawise_testkit::sysfs_tree::{Files, files as files_of, write_files};

/// Two nodes of four pCPUs each, read through a directory and again through its capture.
fn read(cgroup: &[(&str, &str)]) -> Host {
    let mut all: Files = files_of(&Shape::two_nodes(4, 4 << 30).host());
    all.extend(files(cgroup));
    let directory = tempfile::tempdir().expect("a temporary directory");
    write_files(&all, directory.path()).expect("written");
    let source: Source = open(directory.path()).expect("a directory");
    let host = read_host(&source, &FAST).expect("a host");
    let captured = read_archive(&capture_bytes(&source).expect("a capture")).expect("a host");
    assert_eq!(captured.topology, host.topology, "a capture keeps what it rests on");
    host
}

fn check(cgroup: &[(&str, &str)], cpus: &str, nodes: &str, limited_by: Option<&str>) {
    let allowed = read(cgroup).topology.allowed;
    assert_eq!(
        (allowed.cpus.to_string(), allowed.memory_nodes.to_string()),
        (cpus.into(), nodes.into())
    );
    assert_eq!(allowed.limited_by.as_deref(), limited_by);
}

const V2: (&str, &str) = ("proc/mounts", "none /sys/fs/cgroup cgroup2 rw 0 0\n");
const ROOT: (&str, &str) = ("sys/fs/cgroup/cpuset.cpus.effective", "0-1\n");

#[test]
fn a_partition_of_the_guests_leaves_them_what_the_shell_has_lost() {
    let machine = "sys/fs/cgroup/machine/cpuset.cpus.effective";
    let all = [
        V2,
        ROOT,
        ("proc/self/cgroup", "0::/init\n"),
        ("sys/fs/cgroup/init/cpuset.cpus.effective", "0-1\n"),
        (machine, "2-7\n"),
        ("sys/fs/cgroup/machine/cpuset.mems.effective", "1\n"),
    ];
    check(&all, "2-7", "1", Some(&format!("/{machine}")));
}

#[test]
fn a_confined_shell_does_not_confine_guests() {
    let all = [
        V2,
        ("proc/self/cgroup", "0::/user.slice/user-0.slice\n"),
        ("sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0-1\n"),
        ("sys/fs/cgroup/machine.slice/cpuset.cpus.effective", "0-7\n"),
        ("sys/fs/cgroup/machine.slice/cpuset.mems.effective", "0-1\n"),
    ];
    check(&all, "0-7", "0-1", None);
}

#[test]
fn before_the_guests_cgroup_is_there_the_own_limit_counts() {
    let user = "sys/fs/cgroup/user.slice/cpuset.cpus.effective";
    let all = [V2, ("proc/self/cgroup", "0::/user.slice\n"), (user, "0-1\n")];
    check(&all, "0-1", "0-1", Some(&format!("/{user}")));
}

#[test]
fn who_is_a_guest_is_limited_as_one() {
    let own = "sys/fs/cgroup/machine.slice/one.scope/cpuset.cpus.effective";
    let all = [
        V2,
        ("proc/self/cgroup", "0::/machine.slice/one.scope\n"),
        (own, "3\n"),
        ("sys/fs/cgroup/machine.slice/cpuset.cpus.effective", "2-7\n"),
    ];
    check(&all, "3", "0-1", Some(&format!("/{own}")));
}

/// Version 1 keeps what was configured in the file; a cgroup that nobody has filled is no limit.
#[test]
fn version_1_has_its_own_files() {
    let mounts = ("proc/mounts", "none /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n");
    let shell = [
        mounts,
        ("proc/self/cgroup", "3:cpuset:/shell\n"),
        ("sys/fs/cgroup/cpuset/shell/cpuset.cpus", "0-1\n"),
        ("sys/fs/cgroup/cpuset/shell/cpuset.mems", "0\n"),
    ];
    let machine = "sys/fs/cgroup/cpuset/machine/cpuset.cpus";
    let mems = "sys/fs/cgroup/cpuset/machine/cpuset.mems";
    let filled = [&shell[..], &[(machine, "2-7\n"), (mems, "0-1\n")]].concat();
    check(&filled, "2-7", "0-1", Some(&format!("/{machine}")));
    let empty = [&shell[..], &[(machine, "\n"), (mems, "\n")]].concat();
    check(&empty, "0-1", "0", Some("/sys/fs/cgroup/cpuset/shell/cpuset.cpus"));
}
