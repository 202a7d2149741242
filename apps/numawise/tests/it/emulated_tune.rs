//! `host tune` on a really multi-node kernel: what is asked is what the kernel says afterwards, what
//! should survive a boot does, and undo gives everything back.

use numawise_testkit::testbed::EmulatedHost;
use std::path::Path;

/// Everything that a tuning of this test touches, as a shell reads it.
const READ: &str = "cd /; for f in /sys/devices/system/node/node*/hugepages/*/nr_hugepages \
    /sys/devices/virtual/workqueue/cpumask /proc/irq/default_smp_affinity \
    /proc/sys/kernel/numa_balancing /proc/sys/vm/zone_reclaim_mode \
    /sys/kernel/mm/ksm/merge_across_nodes /sys/fs/cgroup/cpuset.cpus.effective \
    /sys/fs/cgroup/machine/cpuset.cpus /sys/fs/cgroup/machine/cpuset.cpus.partition \
    /etc/tmpfiles.d/* /etc/sysctl.d/*; do [ -f $f ] && echo \"== $f\" && cat $f; done; \
    ls -ld /etc/tmpfiles.d /etc/sysctl.d /etc/systemd/system/*.d 2>/dev/null | cut -c1-10";

const TUNE: &str = "numawise host tune";
const WANTED: &str = "--hugepages 2M:0=20,1=40,2=60,3=80 --guest-cpus 2-7 --isolate partition \
    --numa-balancing off --ksm-across-nodes off --zone-reclaim on --yes";

fn read(host: &EmulatedHost) -> String {
    host.text_of(READ)
}

fn cat(host: &EmulatedHost, path: &str) -> String {
    host.text_of(&format!("cat {path}")).trim().to_owned()
}

fn pool(node: u32) -> String {
    format!("/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages")
}

fn check_values(host: &EmulatedHost) {
    for (node, pages) in [(0, "20"), (1, "40"), (2, "60"), (3, "80")] {
        assert_eq!(cat(host, &pool(node)), pages, "node {node}");
    }
    for (path, value) in [
        ("/sys/devices/virtual/workqueue/cpumask", "03"),
        ("/proc/irq/default_smp_affinity", "03"),
        ("/proc/sys/kernel/numa_balancing", "0"),
        ("/proc/sys/vm/zone_reclaim_mode", "1"),
        ("/sys/kernel/mm/ksm/merge_across_nodes", "0"),
        ("/sys/fs/cgroup/machine/cpuset.cpus", "2-7"),
        ("/sys/fs/cgroup/machine/cpuset.cpus.partition", "root"),
        ("/sys/fs/cgroup/machine/cpuset.cpus.effective", "2-7"),
        ("/sys/fs/cgroup/cpuset.cpus.effective", "0-1"),
    ] {
        assert_eq!(cat(host, path), value, "{path}");
    }
}

#[test]
fn a_tuned_host_is_as_asked_survives_a_boot_and_goes_back() {
    let Some(mut host) = EmulatedHost::start() else { return };
    host.push(Path::new(env!("CARGO_BIN_EXE_numawise")), "/usr/local/bin/numawise");
    let before = read(&host);
    host.text_of(&format!("{TUNE} plan {WANTED}"));
    assert_eq!(read(&host), before, "a plan changes nothing");

    host.text_of(&format!("{TUNE} apply {WANTED}"));
    check_values(&host);
    // A process outside the guests' cgroup runs on the host's pCPUs only.
    let allowed = host.text_of("grep Cpus_allowed_list /proc/self/status | cut -f2");
    assert_eq!(allowed.trim(), "0-1");
    host.text_of(&format!("{TUNE} status"));

    host.reboot();
    check_values(&host);
    host.text_of(&format!("{TUNE} status"));

    host.text_of(&format!("{TUNE} undo --yes"));
    assert_eq!(read(&host), before);
    let done = host.run(&format!("{TUNE} undo --yes"));
    assert_eq!(done.code, 1, "there is nothing left to undo: {}", done.stdout);
}
