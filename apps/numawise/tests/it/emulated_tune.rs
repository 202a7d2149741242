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

/// A guest of four vCPUs, defined and not started.
fn define(host: &EmulatedHost) {
    let xml = "<domain type='qemu'><name>db</name><memory unit='MiB'>128</memory><vcpu>4</vcpu>\
        <os><type arch='x86_64' machine='pc'>hvm</type></os>\
        <cpu mode='custom' match='exact'><model fallback='allow'>qemu64</model></cpu>\
        <devices><controller type='usb' model='none'/><memballoon model='none'/></devices></domain>";
    host.text_of(&format!("echo \"{xml}\" > /tmp/db.xml; virsh define /tmp/db.xml"));
}

fn plan(host: &EmulatedHost) -> String {
    let text = host.text_of("numawise plan db --policy smart --page-size 2M --json");
    let plan: serde_json::Value = serde_json::from_str(&text).expect("a plan document");
    assert_eq!(plan["binding"]["0"], "6", "{plan:#}");
    plan["id"].as_str().expect("an id").to_owned()
}

/// A shell of the host has pCPUs 0 and 1 now, and a guest has the others.
fn check_guest(host: &EmulatedHost, earlier_plan: &str) {
    let shown = host.text_of("numawise host show --json");
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("a host document");
    assert_eq!(shown["cpus"]["allowed"], "2-7");
    // What was planned before the host was tuned is as good as what is planned now.
    plan(host);
    host.text_of(&format!("numawise apply {earlier_plan} --yes && virsh start db --paused"));
    let said = host.text_of(
        "P=$(pgrep -f 'guest=db,'); cat /proc/$P/cgroup; cd /proc/$P/task; for t in *; do \
         echo \"$(cat $t/comm): $(grep Cpus_allowed_list $t/status | cut -f2)\"; done",
    );
    for wanted in
        ["0::/machine/", "CPU 0/TCG: 6\n", "CPU 1/TCG: 7\n", "CPU 2/TCG: 4\n", "CPU 3/TCG: 5\n"]
    {
        assert!(said.contains(wanted), "'{wanted}' is missing: {said}");
    }
    host.text_of("numawise verify db");
    let refused = host.run("numawise plan db --bind 0-3:0-1 --overcommit");
    assert_eq!(refused.code, 3, "{refused:?}");
    let limit = "/sys/fs/cgroup/machine/cpuset.cpus.effective";
    assert!((refused.stdout.clone() + &refused.stderr).contains(limit), "{refused:?}");
    host.text_of("virsh destroy db");
    // A plan that names what guests do not have any more is stale.
    let cpus = "/sys/fs/cgroup/machine/cpuset.cpus";
    let less = format!(
        "echo 2-5 > {cpus}; numawise apply {earlier_plan} --yes; C=$?; echo 2-7 > {cpus}; exit $C"
    );
    let stale = host.run(&less);
    assert!(
        stale.code == 4 && stale.stderr.contains("pCPUs 6-7 are not left to guests"),
        "{stale:?}"
    );
}

#[test]
fn a_tuned_host_is_as_asked_survives_a_boot_and_goes_back() {
    let Some(mut host) = EmulatedHost::start() else { return };
    host.push_program(Path::new(env!("CARGO_BIN_EXE_numawise")), "/usr/bin/numawise");
    define(&host);
    let earlier_plan = plan(&host);
    let before = read(&host);
    host.text_of(&format!("{TUNE} plan {}", WANTED.trim_end_matches(" --yes")));
    assert_eq!(read(&host), before, "a plan changes nothing");

    host.text_of(&format!("{TUNE} apply {WANTED}"));
    check_values(&host);
    // A process outside the guests' cgroup runs on the host's pCPUs only.
    let allowed = host.text_of("grep Cpus_allowed_list /proc/self/status | cut -f2");
    assert_eq!(allowed.trim(), "0-1");
    host.text_of(&format!("{TUNE} status"));
    check_guest(&host, &earlier_plan);

    host.reboot();
    check_values(&host);
    host.text_of(&format!("{TUNE} status"));

    host.text_of(&format!("{TUNE} undo --yes"));
    assert_eq!(read(&host), before);
    let done = host.run(&format!("{TUNE} undo --yes"));
    assert_eq!(done.code, 1, "there is nothing left to undo: {}", done.stdout);
}
