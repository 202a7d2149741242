//! Writes a host as the files a kernel would show of it, so that the reader of such files can be
//! tried on any shape.
//!
//! Only files that hold facts are written: no `uevent`, no caches below the third level. Masks are
//! the ones of today's kernels; a test that wants old names, lists that lie or missing files edits
//! the map before it is written.

use numawise_model::{CpuSet, Host, Locality, Node, NodeLevels, Topology};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Contents by path. A directory without files ends in `/` and has no content.
pub type Files = BTreeMap<String, String>;

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// Writes a host's files below a directory.
pub fn write_tree(host: &Host, directory: &Path) -> io::Result<()> {
    write_files(&files(host), directory)
}

pub fn write_files(files: &Files, directory: &Path) -> io::Result<()> {
    for (path, content) in files {
        let full = directory.join(path);
        if path.ends_with('/') {
            fs::create_dir_all(full)?;
            continue;
        }
        if let Some(parent) = full.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(full, content)?;
    }
    Ok(())
}

/// The files of a host.
pub fn files(host: &Host) -> Files {
    let mut files = Files::new();
    let topology = &host.topology;
    let mut put = |path: String, content: String| {
        files.insert(path, content);
    };
    write_cpus(topology, &mut put);
    for node in &topology.nodes {
        write_node(topology, node, host.levels.nodes.get(&node.id), &mut put);
    }
    let ids: numawise_model::NodeSet = topology.nodes.iter().map(|node| node.id).collect();
    put(format!("{NODE}/online"), format!("{ids}\n"));
    write_machine(host, &mut put);
    write_devices(topology, &mut put);
    files
}

type Put<'a> = &'a mut dyn FnMut(String, String);

/// A mask as the kernel prints it: words of 32 bits, the highest first.
pub fn mask(cpus: &CpuSet) -> String {
    let words = cpus.last().map_or(1, |last| last.0 / 32 + 1);
    let word = |index: u32| -> u32 {
        let bits = cpus.iter().filter(|cpu| cpu.0 / 32 == index).map(|cpu| 1_u32 << (cpu.0 % 32));
        bits.sum()
    };
    let texts: Vec<String> = (0..words).rev().map(|index| format!("{:08x}", word(index))).collect();
    texts.join(",")
}

fn write_cpus(topology: &Topology, put: Put<'_>) {
    let set = |name: &str, cpus: &CpuSet| (format!("{CPU}/{name}"), format!("{cpus}\n"));
    let optional = [
        ("possible", &topology.possible),
        ("isolated", &topology.isolated),
        ("nohz_full", &topology.nohz_full),
    ];
    let present = topology.online.union(&topology.offline);
    for (name, cpus) in [("online", &topology.online), ("present", &present)] {
        let (path, content) = set(name, cpus);
        put(path, content);
    }
    for (name, cpus) in optional.iter().filter_map(|(name, cpus)| Some((name, cpus.as_ref()?))) {
        let (path, content) = set(name, cpus);
        put(path, content);
    }
    for cpu in topology.offline.iter() {
        put(format!("{CPU}/cpu{cpu}/"), String::new());
    }
    for cpu in topology.online.iter() {
        let directory = format!("{CPU}/cpu{cpu}");
        put(format!("{directory}/"), String::new());
        if topology.core_of(cpu).is_some() {
            let siblings = topology.siblings(cpu);
            put(format!("{directory}/topology/core_cpus"), format!("{}\n", mask(&siblings)));
            put(format!("{directory}/topology/core_cpus_list"), format!("{siblings}\n"));
        }
        if let Some(package) = topology.packages.iter().find(|p| p.cpus.contains(cpu)) {
            let cpus = &package.cpus;
            put(format!("{directory}/topology/package_cpus"), format!("{}\n", mask(cpus)));
            put(format!("{directory}/topology/package_cpus_list"), format!("{cpus}\n"));
            if let Some(id) = package.firmware_id {
                put(format!("{directory}/topology/physical_package_id"), format!("{id}\n"));
            }
        }
        if let Some(l3) = topology.l3_domains.iter().find(|l3| l3.cpus.contains(cpu)) {
            let index = format!("{directory}/cache/index3");
            put(format!("{index}/level"), "3\n".to_owned());
            put(format!("{index}/type"), "Unified\n".to_owned());
            put(format!("{index}/shared_cpu_map"), format!("{}\n", mask(&l3.cpus)));
            put(format!("{index}/shared_cpu_list"), format!("{}\n", l3.cpus));
            if let Some(bytes) = l3.size_bytes {
                put(format!("{index}/size"), format!("{}K\n", bytes / 1024));
            }
            if let Some(id) = l3.kernel_id {
                put(format!("{index}/id"), format!("{id}\n"));
            }
        }
    }
}

fn write_node(topology: &Topology, node: &Node, levels: Option<&NodeLevels>, put: Put<'_>) {
    let directory = format!("{NODE}/node{}", node.id);
    put(format!("{directory}/cpumap"), format!("{}\n", mask(&node.cpus)));
    put(format!("{directory}/cpulist"), format!("{}\n", node.cpus));
    if !node.distances.is_empty() {
        let columns = topology.nodes.iter().filter_map(|column| node.distances.get(&column.id));
        let row: Vec<String> = columns.map(u32::to_string).collect();
        put(format!("{directory}/distance"), format!("{}\n", row.join(" ")));
    }
    let mut meminfo = String::new();
    let mut line = |key: &str, bytes: u64| {
        meminfo.push_str(&format!("Node {} {key}: {} kB\n", node.id, bytes / 1024));
    };
    if let Some(bytes) = node.memory_total_bytes {
        line("MemTotal", bytes);
    }
    if let Some(free) = levels.and_then(|levels| levels.memory_free_bytes) {
        line("MemFree", free);
        if let Some(available) = levels.and_then(|levels| levels.memory_available_bytes) {
            line("Active(file)", available - free);
            line("Inactive(file)", 0);
            line("SReclaimable", 0);
        }
    }
    if !meminfo.is_empty() {
        put(format!("{directory}/meminfo"), meminfo);
    }
    for (size, pool) in levels.iter().flat_map(|levels| &levels.hugepages) {
        let pool_directory = format!("{directory}/hugepages/hugepages-{}kB", size.bytes() / 1024);
        put(format!("{pool_directory}/nr_hugepages"), format!("{}\n", pool.total));
        put(format!("{pool_directory}/free_hugepages"), format!("{}\n", pool.free));
    }
}

fn write_machine(host: &Host, put: Put<'_>) {
    let topology = &host.topology;
    let mut cpuinfo = String::from("processor\t: 0\n");
    if let Some(name) = &topology.model_name {
        cpuinfo.push_str(&format!("model name\t: {name}\n"));
    }
    let mut flags = Vec::new();
    if topology.architecture.as_deref() == Some("x86_64") {
        flags.push("lm");
    }
    if topology.hypervisor.is_some() {
        flags.push("hypervisor");
    }
    cpuinfo.push_str(&format!("flags\t\t: {}\n", flags.join(" ")));
    put("proc/cpuinfo".to_owned(), cpuinfo);
    if let Some(vendor) = topology.hypervisor.as_ref().and_then(|it| it.vendor.as_ref()) {
        put("sys/hypervisor/type".to_owned(), format!("{vendor}\n"));
    }
    if let Some(bytes) = topology.memory_total_bytes {
        put("proc/meminfo".to_owned(), format!("MemTotal: {} kB\n", bytes / 1024));
    }
    for size in topology.page_sizes.iter().filter(|size| size.is_huge()) {
        let pool = format!("sys/kernel/mm/hugepages/hugepages-{}kB", size.bytes() / 1024);
        let reserved =
            host.levels.nodes.values().filter_map(|node| node.hugepages.get(size)?.reserved);
        put(format!("{pool}/"), String::new());
        // Kernels give the sum; a host whose nodes do not say has no such file.
        let reserved: Vec<u64> = reserved.collect();
        if !reserved.is_empty() {
            let sum: u64 = reserved.iter().sum();
            put(format!("{pool}/resv_hugepages"), format!("{sum}\n"));
        }
    }
}

fn write_devices(topology: &Topology, put: Put<'_>) {
    for device in &topology.devices {
        let directory = format!("sys/bus/pci/devices/{}", device.address);
        put(format!("{directory}/class"), format!("0x{:06x}\n", device.class));
        for (name, id) in [("vendor", device.vendor), ("device", device.device)] {
            if let Some(id) = id {
                put(format!("{directory}/{name}"), format!("0x{id:04x}\n"));
            }
        }
        let (node, near) = match &device.locality {
            Locality::Node(node) => (i64::from(node.0), topology.node(*node).map(|n| &n.cpus)),
            Locality::NearCpus(cpus) => (-1, Some(cpus)),
            Locality::Unknown => (-1, Some(&topology.online)),
        };
        put(format!("{directory}/numa_node"), format!("{node}\n"));
        if let Some(cpus) = near {
            put(format!("{directory}/local_cpus"), format!("{}\n", mask(cpus)));
        }
        let folder = if device.class >> 16 == 2 { "net" } else { "nvme" };
        for name in &device.names {
            put(format!("{directory}/{folder}/{name}/"), String::new());
        }
    }
}
