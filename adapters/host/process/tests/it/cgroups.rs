//! The cpuset of a thread in cgroups of version 1, 2 and both.

use crate::scene::scene;
use numawise_engine::ports::Processes;

/// A process of one thread in such a cgroup, and what the cgroup leaves it.
fn cpus(mountinfo: &str, cgroup: &str, files: &str) -> Option<String> {
    let text = format!(
        "==> proc/self/mountinfo <==\n{mountinfo}==> proc/7/task/7/comm <==\nx\n\
         ==> proc/7/task/7/status <==\nCpus_allowed_list:\t0-7\n\
         ==> proc/7/task/7/cgroup <==\n{cgroup}{files}"
    );
    let threads = scene(&text).processes.threads(7).expect("readable").expect("it runs");
    assert_eq!(threads[0].nodes_allowed, None, "this kernel does not tell");
    threads[0].cgroup_cpus.as_ref().map(ToString::to_string)
}

const V2: &str = "25 24 0:22 / /sys/fs/cgroup rw,nosuid shared:5 - cgroup2 cgroup2 rw,nsdelegate\n";
const LIBVIRT: &str = "machine.slice/machine-qemu\\x2d1\\x2ddb.scope/libvirt/vcpu0";

#[test]
fn version_2_under_systemd() {
    let own = format!("==> sys/fs/cgroup/{LIBVIRT}/cpuset.cpus.effective <==\n2-3\n");
    let cgroup = format!("0::/{LIBVIRT}\n");
    assert_eq!(cpus(V2, &cgroup, &own).as_deref(), Some("2-3"));
    // The controller is switched on further up only.
    let slice = "==> sys/fs/cgroup/machine.slice/cpuset.cpus.effective <==\n0-3\n";
    assert_eq!(cpus(V2, &cgroup, slice).as_deref(), Some("0-3"));
    assert_eq!(cpus(V2, &cgroup, "==> sys/fs/cgroup/x <==\n"), None, "nowhere switched on");
}

#[test]
fn a_version_1_mount_of_cpusets_decides() {
    let both = format!(
        "{V2}34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
         35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    );
    let cgroup = "4:memory:/m\n3:cpuset,cpu:/vm/vcpu0\n0::/vm\n";
    let files = "==> sys/fs/cgroup/cpuset/vm/vcpu0/cpuset.cpus <==\n5\n\
                 ==> sys/fs/cgroup/vm/cpuset.cpus.effective <==\n1\n";
    assert_eq!(cpus(&both, cgroup, files).as_deref(), Some("5"));
    let prefixless = "34 31 0:31 / /dev/cpu\\040set rw - cpuset none rw\n";
    let files = "==> dev/cpu set/vm/cpus <==\n6\n";
    assert_eq!(cpus(prefixless, cgroup, files).as_deref(), Some("6"));
}

/// In a container the mount shows a part of the hierarchy.
#[test]
fn a_mount_of_a_part_of_the_hierarchy() {
    let part = "25 24 0:22 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    let files = "==> sys/fs/cgroup/vm/cpuset.cpus.effective <==\n4\n\
                 ==> sys/fs/cgroup/cpuset.cpus.effective <==\n0-7\n";
    assert_eq!(cpus(part, "0::/docker/ab/vm\n", files).as_deref(), Some("4"));
    assert_eq!(cpus(part, "0::/docker/abc/vm\n", files), None, "another container's");
    assert_eq!(cpus(V2, "0::/../vm\n", files), None, "outside the namespace");
}

#[test]
fn without_such_a_controller() {
    assert_eq!(cpus("", "0::/vm\n", ""), None);
    assert_eq!(cpus(V2, "4:memory:/m\n", ""), None);
}
