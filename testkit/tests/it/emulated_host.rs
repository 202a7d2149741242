//! The emulated host is what its page says, answers exactly, and keeps what is on its disk.

use crate::scene::{becomes, processes_with, virsh};
use numawise_testkit::testbed::EmulatedHost;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The value of an attribute in libvirt's regular output.
fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let start = element.find(&format!("{name}='")).map(|at| at + name.len() + 2);
    let rest = &element[start.unwrap_or_else(|| panic!("no {name} in {element}"))..];
    &rest[..rest.find('\'').expect("a value ends")]
}

#[test]
fn libvirt_and_the_kernel_see_four_unequal_nodes() {
    let Some(host) = EmulatedHost::start() else { return };
    let xml = virsh(&host.uri(), &["capabilities"]);
    let cells: Vec<&str> = xml.split("<cell ").skip(1).collect();
    assert_eq!(cells.len(), 4, "{xml}");
    let slit: Vec<Vec<&str>> = cells
        .iter()
        .map(|cell| cell.split("<sibling ").skip(1).map(|s| attribute(s, "value")).collect())
        .collect();
    assert_eq!(
        slit,
        [
            ["10", "12", "32", "32"],
            ["12", "10", "32", "32"],
            ["32", "32", "10", "12"],
            ["32", "32", "12", "10"]
        ]
    );
    for l3 in ["0-1", "2-3", "4-5", "6-7"] {
        let bank = format!("level='3' type='both' size='16' unit='MiB' cpus='{l3}'");
        assert!(xml.contains(&bank), "no {bank} in {xml}");
    }
    let seen = host.text_of(
        "for n in /sys/devices/system/node/node[0-9]*; do
             echo \"$(cat $n/cpulist) $(cat $n/hugepages/hugepages-2048kB/nr_hugepages)\"
         done
         cat /sys/devices/system/cpu/cpu*/topology/physical_package_id | sort | uniq -c
         grep -o cpuset /sys/fs/cgroup/cgroup.subtree_control",
    );
    let lines: Vec<String> =
        seen.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines, ["0-1 60", "2-3 110", "4-5 110", "6-7 110", "4 0", "4 1", "cpuset"]);
    let off = host.text_of("date +%s").trim().parse::<u64>().expect("seconds");
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
    assert!(now.abs_diff(off) < 120, "inside it is {off}, here {now}");
}

#[test]
fn answers_are_exact_and_limited() {
    let Some(host) = EmulatedHost::start() else { return };
    let done = host.run("echo out; echo err >&2; exit 37");
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (37, "out\n", "err\n"));
    // Signals count as bash counts them; output has no end of its own.
    assert_eq!(host.run("kill -9 $$").code, 137);
    assert_eq!(host.run("printf 'no newline'; cat").stdout, "no newline");
    assert_eq!(host.text_of("head -c 300000 /dev/zero | tr '\\0' x").len(), 300_000);
    let start = Instant::now();
    assert_eq!(host.run_for(Duration::from_secs(2), "sleep 60").code, 124);
    assert!(start.elapsed() < Duration::from_secs(30));
    // What goes on behind a script does not hold up its answer.
    let start = Instant::now();
    assert_eq!(host.run("sleep 50 & echo $!").code, 0);
    assert!(start.elapsed() < Duration::from_secs(30));

    let local = tempfile::NamedTempFile::new().expect("a file");
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    std::fs::write(local.path(), &bytes).expect("it is written");
    std::fs::set_permissions(local.path(), std::fs::Permissions::from_mode(0o750)).expect("ours");
    host.push(local.path(), "/opt/pushed");
    let sum = |text: &str| text.split_whitespace().next().map(str::to_owned);
    let here = std::process::Command::new("sha256sum").arg(local.path()).output().expect("runs");
    let there = host.text_of("sha256sum /opt/pushed; stat -c %a /opt/pushed");
    assert_eq!(sum(&there), sum(&String::from_utf8_lossy(&here.stdout)));
    assert_eq!(there.lines().last(), Some("750"));
}

#[test]
fn a_reboot_keeps_the_disk_and_does_what_systemd_would() {
    let Some(mut host) = EmulatedHost::start() else { return };
    let pages = "/sys/devices/system/node/node2/hugepages/hugepages-2048kB/nr_hugepages";
    let state = format!(
        "cat {pages} /proc/sys/kernel/numa_balancing /proc/sys/vm/swappiness /etc/kept; \
         ls /run/lost"
    );
    host.text_of(&format!(
        "mkdir -p /etc/tmpfiles.d /etc/sysctl.d
         echo 'w {pages} - - - - 77' > /etc/tmpfiles.d/pages.conf
         echo 'kernel.numa_balancing = 0' > /etc/sysctl.d/90-numa.conf
         echo yes > /etc/kept
         touch /run/lost
         sysctl -q vm.swappiness=33"
    ));
    let before = host.run(&state);
    assert_eq!((before.code, before.stdout.as_str()), (0, "110\n1\n33\nyes\n/run/lost\n"));
    host.reboot();
    let after = host.run(&state);
    assert_eq!((after.code, after.stdout.as_str()), (2, "77\n0\n60\nyes\n"));
    assert!(virsh(&host.uri(), &["list"]).contains("Name"));
}

#[test]
fn nothing_is_left_of_an_emulated_host() {
    let Some(host) = EmulatedHost::start() else { return };
    let keeper = host.keeper_pid();
    let port = host.uri();
    let hostfwd = format!("hostfwd=tcp:{}-:16509", &port["qemu+tcp://".len()..port.len() - 7]);
    assert_eq!(processes_with(&hostfwd).len(), 1);
    drop(host);
    assert!(!Path::new(&format!("/proc/{keeper}")).exists());
    assert!(becomes(Duration::from_secs(5), || processes_with(&hostfwd).is_empty()));
}
