//! Captures: the same host again, in every compression, and nothing about whose it is.

use crate::scene::{FAST, files, read_archive};
use numawise_model::Pnode;
use numawise_sysfs::{Source, capture, capture_bytes, open, read_host};
use numawise_testkit::sysfs_tree::{Files, write_files};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::{fs, str};

#[test]
fn the_live_machine_reads_the_same_from_its_capture() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("live.tar.xz");
    capture(&Source::Live, &path).expect("a capture");
    let live = read_host(&Source::Live, &FAST).expect("the live host");
    let captured = read_host(&open(&path).expect("an archive"), &FAST).expect("a host");
    assert!(!live.topology.online.is_empty());
    assert_eq!(captured.topology, live.topology);
    assert_eq!(captured.findings, live.findings);
    assert_eq!(
        captured.levels.nodes.keys().collect::<Vec<_>>(),
        live.levels.nodes.keys().collect::<Vec<_>>()
    );
}

#[test]
fn a_capture_is_private_and_takes_its_compression_from_its_name() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let host = machine();
    write_files(&host, &directory.path().join("machine")).expect("written");
    let source = open(&directory.path().join("machine")).expect("a directory");
    let wanted = read_host(&source, &FAST).expect("a host");
    let magics: [(&str, usize, &[u8]); 5] = [
        ("plain.tar", 257, b"ustar"),
        ("small.tar.gz", 0, &[0x1f, 0x8b]),
        ("smaller.tar.xz", 0, &[0xfd, b'7', b'z']),
        ("quick.tar.zst", 0, &[0x28, 0xb5, 0x2f, 0xfd]),
        ("short.tgz", 0, &[0x1f, 0x8b]),
    ];
    for (name, at, magic) in magics {
        let path = directory.path().join(name);
        capture(&source, &path).expect("a capture");
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
        let bytes = fs::read(&path).expect("readable");
        assert!(bytes[at..].starts_with(magic), "{name}");
        let again = read_host(&open(&path).expect("an archive"), &FAST).expect("a host");
        assert_eq!(again, wanted, "{name}");
    }
    // Nothing is left of the temporary files.
    assert_eq!(fs::read_dir(directory.path()).expect("listed").count(), 1 + magics.len());
}

/// Two CPUs, one NIC, and everything that must not get out.
fn machine() -> Files {
    files(&[
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_cpus", "1\n"),
        ("sys/devices/system/cpu/cpu0/topology/ppin", "0xSECRETppin\n"),
        ("sys/devices/system/cpu/cpu1/topology/core_cpus", "2\n"),
        ("sys/devices/system/node/online", "0\n"),
        ("sys/devices/system/node/node0/cpumap", "3\n"),
        ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 1024 kB\n"),
        ("sys/class/dmi/id/sys_vendor", "SECRETvendor Inc.\n"),
        ("sys/class/dmi/id/product_serial", "SECRETserial\n"),
        ("etc/hostname", "SECRETname\n"),
        ("proc/sys/kernel/hostname", "SECRETname\n"),
        ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Example 9000\nSerial\t: SECRETcpu\n"),
        ("proc/cmdline", "root=UUID=SECRETroot numa=fake=2 ip=SECRETip\n"),
        ("proc/meminfo", "MemTotal: 2048 kB\nSECRETline: 1 kB\n"),
        ("proc/hwloc-nofile-info", "HostName: SECRETname\nPageSize: 65536\n"),
        ("proc/mounts", "SECRETfiler:/home /home nfs rw 0 0\nnone /cg cgroup2 rw,SECRETopt 0 0\n"),
        ("proc/self/cgroup", "3:memory:/SECRETpod\n0::/jobs/7\n"),
        ("cg/jobs/7/cpuset.cpus.effective", "1\n"),
        ("sys/bus/pci/devices/0000:02:00.0/class", "0x020000\n"),
        ("sys/bus/pci/devices/0000:02:00.0/vendor", "0x8086\n"),
        ("sys/bus/pci/devices/0000:02:00.0/numa_node", "0\n"),
        ("sys/bus/pci/devices/0000:02:00.0/config", "SECRETconfig\n"),
        (
            "sys/bus/pci/devices/0000:02:00.0/uevent",
            "DRIVER=SECRETdriver\nPCI_CLASS=20000\nPCI_ID=8086:1592\n",
        ),
        ("sys/bus/pci/devices/0000:02:00.0/net/eth0/address", "SECRET:mac\n"),
    ])
}

#[test]
fn nothing_that_identifies_the_machine_gets_into_a_capture() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    write_files(&machine(), directory.path()).expect("written");
    let source = open(directory.path()).expect("a directory");
    let host = read_host(&source, &FAST).expect("a host");
    assert_eq!(
        host.topology.allowed.limited_by.as_deref(),
        Some("/cg/jobs/7/cpuset.cpus.effective")
    );
    let bytes = capture_bytes(&source).expect("a capture");
    let mut archive = tar::Archive::new(bytes.as_slice());
    let mut seen = 0;
    for entry in archive.entries().expect("entries") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path").display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("readable");
        let content = str::from_utf8(&content).expect("text");
        assert!(!path.contains("SECRET") && !content.contains("SECRET"), "{path}: {content}");
        assert!(!path.contains("dmi") && !path.contains("hostname"), "{path}");
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
    let again = read_archive(&bytes).expect("a host");
    assert_eq!(again, host);
    assert_eq!(again.topology.page_sizes[0].bytes(), 65536);
    assert!(again.topology.node(Pnode(0)).is_some());
}

/// Where no limit applies the path of the cgroup is nobody's business.
#[test]
fn cgroup_files_stay_out_where_they_limit_nothing() {
    let mut machine = machine();
    machine.insert("cg/jobs/7/cpuset.cpus.effective".to_owned(), "0-1\n".to_owned());
    let directory = tempfile::tempdir().expect("a temporary directory");
    write_files(&machine, directory.path()).expect("written");
    let source = open(directory.path()).expect("a directory");
    let bytes = capture_bytes(&source).expect("a capture");
    assert_eq!(read_archive(&bytes).expect("a host"), read_host(&source, &FAST).expect("a host"));
    let mut archive = tar::Archive::new(bytes.as_slice());
    for entry in archive.entries().expect("entries") {
        let path = entry.expect("an entry").path().expect("a path").display().to_string();
        assert!(
            !path.contains("jobs") && !path.contains("mounts") && !path.contains("self/"),
            "{path}"
        );
    }
}

#[test]
fn a_capture_takes_the_place_of_files_and_of_nothing_else() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = Source::Live;
    let target = directory.path().join("target.tar");
    let link = directory.path().join("link.tar");
    fs::write(&target, "old").expect("written");
    std::os::unix::fs::symlink(&target, &link).expect("a link");
    capture(&source, &link).expect("a capture");
    assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
    assert!(read_host(&open(&target).expect("an archive"), &FAST).is_ok());

    let socket = directory.path().join("socket.tar");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    let error = capture(&source, &socket).expect_err("a socket is no file").to_string();
    assert!(error.contains("socket.tar cannot be written"), "{error}");
    assert!(!fs::symlink_metadata(&socket).expect("still there").is_file());
}
