//! A host's files in a folder: what `--root` works on where no kernel may be touched.

use numawise_testkit::{Shape, sysfs_tree};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Two nodes of 8 cores and 16 GiB, without systemd, with cgroup v2 and every file that tuning
/// knows as a kernel leaves it.
pub fn write(folder: &Path) {
    let mut shape = Shape::two_nodes(8, 16 << 30);
    shape.hugepages =
        [(numawise_model::PageSize::HUGE_2M, 0), (numawise_model::PageSize::HUGE_1G, 0)].into();
    sysfs_tree::write_tree(&shape.host(), folder).expect("the tree is written");
    for (path, text) in [
        ("sys/devices/virtual/workqueue/cpumask", "ffff\n"),
        ("proc/irq/default_smp_affinity", "ffff\n"),
        ("proc/sys/kernel/numa_balancing", "1\n"),
        ("proc/sys/vm/zone_reclaim_mode", "0\n"),
        ("sys/kernel/mm/ksm/merge_across_nodes", "1\n"),
        ("sys/kernel/mm/ksm/pages_shared", "0\n"),
        ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n"),
        ("sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu memory\n"),
        ("sys/fs/cgroup/machine/cpuset.cpus", "\n"),
        ("sys/fs/cgroup/machine/cpuset.cpus.partition", "member\n"),
        ("etc/sysctl.d/99-vendor.conf", "# of the vendor\nkernel.numa_balancing = 1\n"),
        ("etc/machine-id", "0123456789abcdef0123456789abcdef\n"),
    ] {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
}

/// Every file with its text, every folder with nothing.
pub fn snapshot(folder: &Path) -> BTreeMap<String, Option<String>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(folder).expect("below").to_string_lossy().into_owned();
            if path.is_dir() {
                found.insert(name, None);
                open.push(path);
            } else {
                found.insert(name, Some(fs::read_to_string(&path).expect("text")));
            }
        }
    }
    found
}
