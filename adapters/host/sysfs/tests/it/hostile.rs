//! Nonsense and malice: an error that names the file and the value, at once.

use crate::scene::{files, pack, read_archive, read_files, text};
use numawise_sysfs::open;
use numawise_testkit::sysfs_tree::Files;
use std::fs;
use std::time::{Duration, Instant};

/// One CPU, one node; the base that one file of each case replaces.
fn small() -> Files {
    files(&[
        ("sys/devices/system/cpu/online", "0\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_cpus", "1\n"),
        ("sys/devices/system/cpu/cpu0/topology/package_cpus", "1\n"),
        ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/level", "3\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/type", "Unified\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_map", "1\n"),
        ("sys/devices/system/node/online", "0\n"),
        ("sys/devices/system/node/node0/cpumap", "1\n"),
        ("sys/devices/system/node/node0/distance", "10\n"),
        ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 4 kB\n"),
    ])
}

#[test]
fn a_value_that_cannot_be_is_an_error_that_names_it() {
    assert!(read_files(&small()).is_ok());
    let cases = [
        ("sys/devices/system/cpu/online", "0-4294967295", "4294967295 is above"),
        ("sys/devices/system/cpu/online", "0-99999999999999999999", "is above"),
        ("sys/devices/system/cpu/online", "a", "'a' stands there"),
        ("sys/devices/system/cpu/online", "3-1", "runs backwards"),
        ("sys/devices/system/cpu/online", "", "at least one CPU"),
        ("sys/devices/system/cpu/online", "\u{1}\u{2}", "a number is wanted"),
        ("sys/devices/system/cpu/present", "0-8192", "8192 is above"),
        ("sys/devices/system/cpu/cpu0/topology/core_cpus", "zz", "'zz' is no hexadecimal"),
        ("sys/devices/system/cpu/cpu0/topology/core_cpus", "1,,1", "'' is no hexadecimal"),
        ("sys/devices/system/cpu/cpu0/topology/package_cpus", "123456789", "is no hexadecimal"),
        ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "x", "says 'x' where a whole"),
        ("sys/devices/system/cpu/cpu0/cache/index0/level", "three", "says 'three'"),
        ("sys/devices/system/cpu/cpu0/cache/index0/type", "Mixed", "says 'Mixed'"),
        ("sys/devices/system/cpu/cpu0/cache/index0/size", "many", "says 'many'"),
        ("sys/devices/system/cpu/cpu0/cache/index0/id", "-1", "says '-1'"),
        ("sys/devices/system/node/online", "0-1-2", "second one stands"),
        ("sys/devices/system/node/node0/cpumap", "0x1 0x1", "is no hexadecimal"),
        ("sys/devices/system/node/node0/distance", "10 far", "says '10 far'"),
        ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: lots kB", "lots kB"),
        (
            "sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
            "-3",
            "says '-3'",
        ),
        (
            "sys/devices/system/node/node0/hugepages/hugepages-3kB/nr_hugepages",
            "1",
            "hugepages-3kB",
        ),
        ("proc/meminfo", "MemTotal: 1 2 kB", "proc/meminfo says"),
    ];
    for (file, value, named) in cases {
        let mut tree = small();
        tree.insert(file.to_owned(), value.to_owned());
        let began = Instant::now();
        let error = text(&read_files(&tree).expect_err(file));
        assert!(began.elapsed() < Duration::from_millis(500), "{file} took {:?}", began.elapsed());
        let file_is_named = error.contains(file) || file.contains("hugepages-3kB");
        assert!(file_is_named && error.contains(named), "{file} = {value}: {error}");
    }
}

#[test]
fn a_value_of_a_device_that_cannot_be_is_passed_over_with_a_finding() {
    let mut tree = small();
    let device = "sys/bus/pci/devices/0000:01:00.0";
    tree.insert(format!("{device}/class"), "0x020000\n".to_owned());
    tree.insert(format!("{device}/numa_node"), "7\n".to_owned());
    tree.insert(format!("{device}/local_cpus"), "??\n".to_owned());
    tree.insert("sys/bus/pci/devices/0000:02:00.0/class".to_owned(), "NIC\n".to_owned());
    let host = read_files(&tree).expect("a host");
    let addresses: Vec<&str> =
        host.topology.devices.iter().map(|device| device.address.as_str()).collect();
    assert_eq!(addresses, ["0000:01:00.0"]);
    assert_eq!(host.topology.devices[0].locality, numawise_model::Locality::Unknown);
    let shown = format!("{:?}", host.findings);
    assert!(shown.contains("value: \"7\"") && shown.contains("value: \"NIC\""), "{shown}");
}

#[test]
fn what_is_no_host_is_told_apart() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    fs::create_dir_all(path.join("empty/sys/devices/system")).expect("made");
    for host in ["two/a", "two/b"] {
        fs::create_dir_all(path.join(host).join("sys/devices/system/cpu")).expect("made");
    }
    let junk: Vec<u8> =
        (0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(path.join("junk"), junk).expect("written");
    fs::write(path.join("nothing"), "").expect("written");
    fs::write(path.join("prose"), "0-3\n").expect("written");
    fs::write(path.join("domain.xml"), "<domain type='kvm'/>").expect("written");
    fs::write(path.join("other.tar"), pack("x/", &files(&[("etc/passwd", "root")])))
        .expect("written");
    let cases = [
        ("missing", "no such file"),
        ("empty", "a directory without sys/devices/system/cpu"),
        ("two", "several hosts"),
        ("junk", "binary data"),
        ("nothing", "an empty file"),
        ("prose", "text of another kind"),
        ("domain.xml", "<domain>"),
        ("other.tar", "an archive without sys/devices/system/cpu"),
    ];
    for (name, named) in cases {
        let error = text(&open(&path.join(name)).expect_err(name));
        assert!(error.contains(name) && error.contains(named), "{name}: {error}");
    }
}

#[test]
fn an_archive_cut_short_is_damaged() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let tar = pack("host/", &small());
    for name in ["a.tar", "a.tar.gz", "a.tar.xz", "a.tar.zst"] {
        let path = directory.path().join(name);
        let whole = numawise_sysfs::Source::from_archive_bytes(name, &tar).expect("an archive");
        numawise_sysfs::capture(&whole, &path).expect("a capture");
        let bytes = fs::read(&path).expect("readable");
        // The tar in the middle of a file's content; of the others the second half.
        let keep =
            if name == "a.tar" { bytes.len() / 2 / 512 * 512 - 256 } else { bytes.len() / 2 };
        fs::write(&path, &bytes[..keep]).expect("written");
        let error = text(&open(&path).expect_err(name));
        assert!(error.contains(name) && error.contains("damaged or cut short"), "{name}: {error}");
    }
}

fn with_entry(kind: tar::EntryType, name: &str, target: &str) -> Vec<u8> {
    let mut bytes = pack("host/", &small());
    // Two blocks of zeros end a tar; the entry goes before them.
    bytes.truncate(bytes.len() - 1024);
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(kind);
    header.set_size(0);
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.as_mut_bytes()[157..157 + target.len()].copy_from_slice(target.as_bytes());
    header.set_cksum();
    bytes.extend(header.as_bytes());
    bytes.extend([0; 1024]);
    bytes
}

#[test]
fn names_and_links_that_lead_out_are_refused() {
    use tar::EntryType::{Link, Regular, Symlink};
    assert!(read_archive(&with_entry(Symlink, "host/sys/ok", "devices")).is_ok());
    let cases = [
        (Regular, "../outside", "", "../outside"),
        (Regular, "/etc/passwd", "", "/etc/passwd"),
        (Regular, "host/../../x", "", "host/../../x"),
        (Symlink, "host/sys/x", "/etc", "leads out of it, to /etc"),
        (Symlink, "host/sys/x", "../../../etc", "leads out of it, to ../../../etc"),
        (Link, "host/sys/x", "/etc/shadow", "/etc/shadow"),
    ];
    for (kind, name, target, named) in cases {
        let error = text(&read_archive(&with_entry(kind, name, target)).expect_err(name));
        assert!(error.contains("not unpacked") && error.contains(named), "{error}");
    }
}

#[test]
fn links_of_a_directory_show_nothing_of_this_machine() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let secret = directory.path().join("secret");
    fs::write(&secret, "hunter2\n").expect("written");
    let machine = directory.path().join("machine");
    numawise_testkit::sysfs_tree::write_files(&small(), &machine).expect("written");
    let present = machine.join("sys/devices/system/cpu/present");
    std::os::unix::fs::symlink(&secret, &present).expect("linked");
    assert_eq!(fs::read_to_string(&present).expect("the link leads there"), "hunter2\n");
    // Absolute links are taken from the tree's own top, where there is no such file.
    let source = open(&machine).expect("a directory");
    let host = numawise_sysfs::read_host(&source, &numawise_sysfs::ReadOptions::default());
    assert!(host.is_ok(), "{:?}", host.map_err(|error| text(&error)));
}

#[test]
fn a_pipe_in_a_directory_does_not_make_the_reader_wait() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    numawise_testkit::sysfs_tree::write_files(&small(), directory.path()).expect("written");
    let pipe = directory.path().join("sys/devices/system/cpu/possible");
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).expect("a pipe");
    let source = open(directory.path()).expect("a directory");
    let host = numawise_sysfs::read_host(&source, &numawise_sysfs::ReadOptions::default());
    assert_eq!(host.expect("a host").topology.possible, Some(numawise_model::CpuSet::new()));
}
