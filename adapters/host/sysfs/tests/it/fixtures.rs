//! The hosts in `fixtures/hosts`, each with one thing that is odd. Every archive is packed here, so
//! that what is in it can be read and changed; every `.txt` beside it is what the reader makes of it.
//!
//! `UPDATE_EXPECT=1 cargo test -p numawise-sysfs fixtures` writes both anew.

use crate::disturbed::disturbed_64;
use crate::scene::{FAST, STRICT, files, fixtures, pack};
use crate::xml::summary;
use expect_test::expect_file;
use numawise_model::{
    CpuSet, Host, Interrupt, KernelThread, Locality, NodeSet, PageSize, Pnode, Surroundings,
    Unread, parse_list,
};
use numawise_sysfs::{Source, open, read_host, read_surroundings};
use numawise_testkit::Shape;
use numawise_testkit::sysfs_tree::{Files, files as files_of, mask};
use std::fs;
use std::io::{Read, Write};

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

fn shapes() -> Vec<(&'static str, Files)> {
    vec![
        ("two-socket-64", two_socket_64()),
        ("sparse-node-ids", sparse_node_ids()),
        ("memory-only-nodes", memory_only_nodes()),
        ("node-without-memory", node_without_memory()),
        ("offline-cpus", offline_cpus()),
        ("list-map-mismatch", list_map_mismatch()),
        ("cpus-in-no-node", cpus_in_no_node()),
        ("old-kernel", old_kernel()),
        ("cgroup-v1", cgroup_v1()),
        ("cgroup-v2", cgroup_v2()),
        ("pci-devices", pci_devices()),
        ("virtual-machine", virtual_machine()),
        ("contradictions", contradictions()),
        ("disturbed-64", disturbed_64()),
    ]
}

/// Two nodes of `cores` cores, two threads each.
fn small(cores: u32) -> Host {
    let shape = Shape { threads: 2, ..Shape::two_nodes(cores, 4 << 30) };
    Shape { hugepages: [(PageSize::HUGE_2M, 16)].into(), ..shape }.host()
}

pub fn set(text: &str) -> CpuSet {
    parse_list(text).expect("a list of CPUs")
}

pub fn put(files: &mut Files, path: String, content: &str) {
    files.insert(path, format!("{content}\n"));
}

fn two_socket_64() -> Files {
    let shape = Shape {
        hugepages: [(PageSize::HUGE_2M, 0), (PageSize::HUGE_1G, 0)].into(),
        ..Shape::two_nodes(32, 256 << 30)
    };
    files_of(&shape.host())
}

fn sparse_node_ids() -> Files {
    let mut host = small(2);
    let renumber = |id: Pnode| if id == Pnode(0) { Pnode(2) } else { Pnode(255) };
    for node in &mut host.topology.nodes {
        node.id = renumber(node.id);
        let distances = std::mem::take(&mut node.distances);
        node.distances = distances.into_iter().map(|(id, value)| (renumber(id), value)).collect();
    }
    let levels = std::mem::take(&mut host.levels.nodes);
    host.levels.nodes = levels.into_iter().map(|(id, level)| (renumber(id), level)).collect();
    files_of(&host)
}

fn memory_only_nodes() -> Files {
    let mut host = small(2);
    for id in [2, 3] {
        let mut node = host.topology.nodes[0].clone();
        node.id = Pnode(id);
        node.cpus = CpuSet::new();
        node.memory_total_bytes = Some(16 << 30);
        host.topology.nodes.push(node);
        let levels = host.levels.nodes[&Pnode(0)].clone();
        host.levels.nodes.insert(Pnode(id), levels);
    }
    let ids: Vec<Pnode> = host.topology.nodes.iter().map(|node| node.id).collect();
    for node in &mut host.topology.nodes {
        let far = |other: Pnode| match (node.id, other) {
            (a, b) if a == b => 10,
            (a, b) if a.0 % 2 == b.0 % 2 => 14,
            _ => 24,
        };
        node.distances = ids.iter().map(|other| (*other, far(*other))).collect();
    }
    files_of(&host)
}

fn node_without_memory() -> Files {
    let mut host = small(2);
    host.topology.nodes[1].memory_total_bytes = Some(0);
    host.topology.memory_total_bytes = Some(4 << 30);
    let levels = host.levels.nodes.get_mut(&Pnode(1)).expect("node 1");
    levels.memory_free_bytes = Some(0);
    levels.memory_available_bytes = Some(0);
    levels.hugepages.clear();
    files_of(&host)
}

fn offline_cpus() -> Files {
    // Two cores a node: 0-1 and 2-3, their second threads 4-5 and 6-7. CPU 0 and CPU 6 are off.
    let mut host = small(2);
    let off = set("0,6");
    let topology = &mut host.topology;
    let cut = |cpus: &mut CpuSet| *cpus = cpus.difference(&off);
    cut(&mut topology.online);
    topology.nodes.iter_mut().for_each(|node| cut(&mut node.cpus));
    topology.packages.iter_mut().for_each(|package| cut(&mut package.cpus));
    topology.l3_domains.iter_mut().for_each(|domain| cut(&mut domain.cpus));
    topology.cores.iter_mut().for_each(|core| cut(&mut core.cpus));
    topology.offline = off;
    topology.isolated = Some(set("3,7"));
    topology.nohz_full = Some(set("3"));
    let mut files = files_of(&host);
    // CPUs that might be plugged in one day are not there.
    put(&mut files, format!("{CPU}/possible"), "0-63");
    files
}

fn list_map_mismatch() -> Files {
    let mut files = files_of(&small(2));
    put(&mut files, format!("{NODE}/node0/cpulist"), "0-7");
    put(&mut files, format!("{CPU}/cpu0/topology/package_cpus_list"), "0");
    put(&mut files, format!("{CPU}/cpu2/cache/index3/shared_cpu_list"), "2");
    // Seen by the strict reader alone: CPU 5 shares a core with CPU 1, which has been asked.
    put(&mut files, format!("{CPU}/cpu5/topology/core_cpus_list"), "5");
    files
}

fn cpus_in_no_node() -> Files {
    let mut files = files_of(&small(2));
    files.retain(|path, _| !path.starts_with(&format!("{NODE}/node0/")));
    put(&mut files, format!("{NODE}/online"), "1");
    // One online node, a row for two.
    put(&mut files, format!("{NODE}/node1/distance"), "21 10");
    files
}

/// No `online`, no `core_cpus`, no lists, no `hugepages` directories, values that end in NUL.
fn old_kernel() -> Files {
    let mut files = Files::new();
    for (path, content) in files_of(&small(2)) {
        let name = path.rsplit('/').next().unwrap_or(&path);
        if name.ends_with("_list") || name == "cpulist" || path.contains("hugepages") {
            continue;
        }
        if ["cpu/online", "cpu/present", "cpu/possible"].iter().any(|end| path.ends_with(end)) {
            continue;
        }
        let path =
            path.replace("core_cpus", "thread_siblings").replace("package_cpus", "core_siblings");
        let path = path.replace("index3", "index2");
        files.insert(path, content.replace('\n', "\0"));
    }
    for node in 0..2 {
        let meminfo = format!(
            "Node {node} MemTotal: 4194304 kB\nNode {node} MemFree: 1048576 kB\n\
             Node {node} Active(file): 1024 kB\nNode {node} Inactive(file): 2048 kB\n\
             Node {node} SReclaimable: 512 kB\nNode {node} HugePages_Total: 8\n\
             Node {node} HugePages_Free: 5"
        );
        put(&mut files, format!("{NODE}/node{node}/meminfo"), &meminfo);
    }
    put(&mut files, "proc/meminfo".to_owned(), "MemTotal: 8388608 kB\nHugepagesize: 2048 kB");
    // CPU 3 is off: it has a directory and no topology in it.
    files.retain(|path, _| !path.starts_with(&format!("{CPU}/cpu3/")));
    put(&mut files, format!("{CPU}/cpu3/online"), "0");
    files
}

/// The `cpuset` file system without prefixes, and a v2 hierarchy that has nothing to say: the CPUs
/// of node 0 and the memory of node 1.
fn cgroup_v1() -> Files {
    let mut all = files_of(&small(2));
    all.extend(files(&[
        (
            "proc/mounts",
            "none /dev/cpu\\040sets cgroup rw,cpuset,noprefix 0 0\nnone /cg cgroup2 rw 0 0\n",
        ),
        ("proc/self/cgroup", "4:memory:/other\n3:cpu,cpuset:/batch/job\n0::/\n"),
        ("dev/cpu sets/cpus", "0-7\n"),
        ("dev/cpu sets/mems", "0-1\n"),
        ("dev/cpu sets/batch/job/cpus", "0,4,99\n"),
        ("dev/cpu sets/batch/job/mems", "1\n"),
        ("cg/cpuset.cpus.effective", "0-7\n"),
    ]));
    all
}

/// The controller is not switched on in the process's own cgroup; the one above it limits.
fn cgroup_v2() -> Files {
    let mut all = files_of(&small(2));
    all.extend(files(&[
        ("proc/mounts", "none /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n"),
        ("proc/self/cgroup", "0::/machine.slice/one.scope\n"),
        ("sys/fs/cgroup/cpuset.cpus.effective", "0-7\n"),
        ("sys/fs/cgroup/cpuset.mems.effective", "0-1\n"),
        ("sys/fs/cgroup/machine.slice/cpuset.cpus.effective", "2-3,6-7\n"),
        ("sys/fs/cgroup/machine.slice/cpuset.mems.effective", "1\n"),
        ("sys/fs/cgroup/machine.slice/one.scope/cgroup.procs", "1\n"),
    ]));
    all
}

fn pci_devices() -> Files {
    let mut files = files_of(&small(2));
    let mut device = |address: &str, class: &str, node: &str, near: &str| {
        let directory = format!("sys/bus/pci/devices/{address}");
        put(&mut files, format!("{directory}/class"), class);
        put(&mut files, format!("{directory}/vendor"), "0x15b3");
        put(&mut files, format!("{directory}/device"), "0x1017");
        put(&mut files, format!("{directory}/numa_node"), node);
        put(&mut files, format!("{directory}/local_cpus"), &mask(&set(near)));
        directory
    };
    let nic = device("0000:41:00.0", "0x020000", "1", "2-3,6-7");
    device("0000:42:00.0", "0x020700", "-1", "0-7");
    let nvme = device("10000:01:00.0", "0x010802", "-1", "0-1,4-5");
    device("0000:81:00.0", "0x030200", "9", "0-7");
    device("0000:82:00.0", "0x120000", "0", "0-1,4-5");
    device("0000:00:00.0", "0x060000", "-1", "");
    let virtio = device("0000:05:00.0", "0x020000", "-1", "0-7");
    files.insert(format!("{nic}/net/enp65s0/"), String::new());
    files.insert(format!("{nvme}/nvme/nvme0/"), String::new());
    files.insert(format!("{virtio}/virtio2/net/eth7/"), String::new());
    files
}

fn virtual_machine() -> Files {
    let mut files = files_of(&Shape { threads: 1, ..Shape::two_nodes(2, 1 << 30) }.host());
    put(
        &mut files,
        "proc/cpuinfo".to_owned(),
        "model name\t: QEMU Virtual CPU\nflags\t: fpu lm hypervisor",
    );
    put(&mut files, "sys/class/dmi/id/sys_vendor".to_owned(), "QEMU");
    put(&mut files, "proc/cmdline".to_owned(), "quiet numa=fake=2 ro");
    files.insert(format!("{CPU}/nohz_full"), "  (null)\n".to_owned());
    // One L3 over both packages, as hypervisors tell.
    for cpu in 0..4 {
        put(&mut files, format!("{CPU}/cpu{cpu}/cache/index3/shared_cpu_map"), "f");
        put(&mut files, format!("{CPU}/cpu{cpu}/cache/index3/shared_cpu_list"), "0-3");
    }
    files
}

fn contradictions() -> Files {
    let mut files = files_of(&Shape { threads: 1, ..Shape::two_nodes(4, 1 << 30) }.host());
    // CPU 0 says it shares a core with CPU 1; CPU 2 says so too.
    put(&mut files, format!("{CPU}/cpu0/topology/core_cpus"), "3");
    put(&mut files, format!("{CPU}/cpu2/topology/core_cpus"), "6");
    put(&mut files, format!("{CPU}/cpu3/topology/core_cpus"), "0");
    put(&mut files, format!("{CPU}/cpu4/cache/index3/shared_cpu_map"), "3f0");
    put(&mut files, format!("{CPU}/online"), "0-8");
    put(&mut files, format!("{NODE}/node0/distance"), "10 10");
    put(&mut files, format!("{NODE}/node1/distance"), "30 10");
    put(&mut files, format!("{NODE}/node1/cpumap"), "f8");
    put(&mut files, format!("{NODE}/node1/cpulist"), "3-7");
    put(&mut files, format!("{NODE}/online"), "0-1,5");
    files
}

fn unpacked(archive: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    lzma_rust2::XzReader::new(archive, true).read_to_end(&mut bytes).expect("xz");
    bytes
}

#[test]
fn every_fixture_is_as_it_is_written_here_and_reads_as_noted() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    for (name, files) in shapes() {
        let path = fixtures().join(format!("{name}.tar.xz"));
        let tar = pack("host/", &files);
        if update {
            let options = lzma_rust2::XzOptions::with_preset(9);
            let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).expect("xz");
            encoder.write_all(&tar).expect("xz");
            fs::write(&path, encoder.finish().expect("xz")).expect("written");
        }
        let archive = fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(unpacked(&archive) == tar, "{name}.tar.xz is not as it is written here");
        assert!(archive.len() < 16 << 10, "{name}: {} bytes", archive.len());
        let source = open(&path).expect("an archive");
        let host = read_host(&source, &FAST).expect("a host");
        expect_file![fixtures().join(format!("{name}.txt"))].assert_eq(&noted(&source, &host));
    }
}

/// The host in a few lines, and what was found; at the end what only strict reading finds.
fn noted(source: &Source, host: &Host) -> String {
    let topology = &host.topology;
    let mut text = summary(host);
    let allowed = &topology.allowed;
    if let Some(file) = &allowed.limited_by {
        text.push_str(&format!("\nmemory allowed {} by {file}", allowed.memory_nodes));
    }
    for (what, cpus) in [
        ("offline", Some(&topology.offline)),
        ("possible", topology.possible.as_ref()),
        ("isolated", topology.isolated.as_ref()),
        ("nohz_full", topology.nohz_full.as_ref()),
    ] {
        if let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty()) {
            text.push_str(&format!("\n{what} {cpus}"));
        }
    }
    for (node, levels) in &host.levels.nodes {
        let mib = |bytes: Option<u64>| bytes.map(|bytes| bytes >> 20);
        let (free, available) = (mib(levels.memory_free_bytes), mib(levels.memory_available_bytes));
        text.push_str(&format!("\nlevels {node} free {free:?} available {available:?}"));
        for (size, pool) in &levels.hugepages {
            text.push_str(&format!(", {size} {}/{} {:?}", pool.free, pool.total, pool.reserved));
        }
    }
    for finding in &host.findings {
        text.push_str(&format!("\n{:?} {:?}", finding.severity, finding.kind));
    }
    let strict = read_host(source, &STRICT).expect("a host");
    assert_eq!(strict.topology, *topology);
    for finding in strict.findings.iter().filter(|finding| !host.findings.contains(finding)) {
        text.push_str(&format!("\nstrict: {:?} {:?}", finding.severity, finding.kind));
    }
    text.push_str(&noted_surroundings(source));
    text.push('\n');
    text
}

/// Of a capture that holds none of it, nothing.
fn noted_surroundings(source: &Source) -> String {
    let around = read_surroundings(source).expect("read");
    if around == Surroundings::unread(&Unread::NotInCapture) {
        return String::new();
    }
    let mut text = String::new();
    for interrupt in around.interrupts.iter().flatten() {
        let Interrupt { number, name, fired, effective, kernel_managed, .. } = interrupt;
        let effective = effective.as_ref().map(ToString::to_string);
        text.push_str(&format!("\ninterrupt {number} {name} x {fired} on {effective:?}"));
        text.push_str(if *kernel_managed { " managed" } else { "" });
    }
    for KernelThread { pid, name, cpus } in around.kernel_threads.iter().flatten() {
        text.push_str(&format!("\nkernel thread {pid} {name} on {cpus}"));
    }
    let Surroundings { workqueue_cpus, ksm, zone_reclaim_mode, numa_balancing, .. } = around;
    text.push_str(&format!("\nworkqueues {}", workqueue_cpus.expect("it is there")));
    let (ksm, zone_reclaim) = (ksm.expect("it is there"), zone_reclaim_mode.expect("it is there"));
    let balancing = numa_balancing.expect("it is there");
    text.push_str(&format!("\n{ksm:?}, zone reclaim {zone_reclaim}, balancing {balancing}"));
    text
}

/// The demo's host, whose numbers other parts rely on.
#[test]
fn two_socket_64_is_two_nodes_of_32() {
    let source = open(&fixtures().join("two-socket-64.tar.xz")).expect("an archive");
    let host = read_host(&source, &FAST).expect("a host");
    let topology = &host.topology;
    let nodes: Vec<String> = topology.nodes.iter().map(|node| node.cpus.to_string()).collect();
    assert_eq!(nodes, ["0-31", "32-63"]);
    assert_eq!(topology.nodes[1].memory_total_bytes, Some(256 << 30));
    assert_eq!(topology.distance(Pnode(0), Pnode(1)), Some(21));
    assert_eq!(topology.l3_domains.len(), 2);
    assert_eq!(topology.smt_width(), 1);
    assert_eq!(host.findings, []);
}

/// What stays where it was when the shapes above change: these two are what placement trips over.
#[test]
fn limits_of_cpus_and_memory_are_apart() {
    let source = open(&fixtures().join("cgroup-v1.tar.xz")).expect("an archive");
    let topology = read_host(&source, &FAST).expect("a host").topology;
    assert_eq!(topology.allowed.cpus, set("0,4"));
    assert_eq!(topology.allowed.memory_nodes, NodeSet::single(Pnode(1)));
    assert!(topology.nodes_of(&topology.allowed.cpus).is_disjoint(&topology.allowed.memory_nodes));
    let source = open(&fixtures().join("pci-devices.tar.xz")).expect("an archive");
    let devices = read_host(&source, &FAST).expect("a host").topology.devices;
    let unknown = devices.iter().filter(|device| device.locality == Locality::Unknown).count();
    assert_eq!((devices.len(), unknown), (7, 4));
}
