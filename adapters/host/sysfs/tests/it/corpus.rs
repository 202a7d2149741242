//! Real machines: what is read must be what their truth files say.

use crate::scene::{FAST, STRICT, corpus, text};
use numawise_model::{CpuSet, Host, NodeSet, Pnode, parse_list};
use numawise_sysfs::{Source, capture_bytes, open, read_host};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn machines() -> Vec<PathBuf> {
    let Some(directory) = corpus() else { return Vec::new() };
    let entries = fs::read_dir(directory).expect("the corpus is readable");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut machines: Vec<PathBuf> =
        paths.filter(|path| path.to_string_lossy().ends_with(".tar.xz")).collect();
    machines.sort();
    machines
}

fn truth_of(archive: &Path) -> Value {
    let path = archive.to_string_lossy().replace(".tar.xz", ".json");
    serde_json::from_slice(&fs::read(path).expect("truth is readable")).expect("truth is JSON")
}

fn set(value: &Value) -> CpuSet {
    parse_list(value.as_str().expect("a list")).expect("a list of CPUs")
}

fn sets(value: &Value) -> Vec<CpuSet> {
    let mut sets: Vec<CpuSet> = value.as_array().expect("an array").iter().map(set).collect();
    sets.sort();
    sets
}

fn sets_of(value: &Value) -> Vec<CpuSet> {
    let entries = value.as_array().expect("an array");
    let mut sets: Vec<CpuSet> = entries.iter().map(|entry| set(&entry["cpus"])).collect();
    sets.sort();
    sets
}

/// Everything in which host and truth differ.
fn differences(host: &Host, truth: &Value) -> Vec<String> {
    let topology = &host.topology;
    let mut wrong = Vec::new();
    let mut same = |what: &str, seen: String, wanted: String| {
        if seen != wanted {
            wrong.push(format!("{what}: read {seen}, true is {wanted}"));
        }
    };
    let online = set(&truth["cpus"]["online"]);
    same("online", topology.online.to_string(), online.to_string());
    let packages: Vec<CpuSet> = topology.packages.iter().map(|p| p.cpus.clone()).collect();
    same("packages", format!("{packages:?}"), format!("{:?}", sets_of(&truth["packages"])));
    let l3: Vec<CpuSet> = topology.l3_domains.iter().map(|d| d.cpus.clone()).collect();
    same("L3", format!("{l3:?}"), format!("{:?}", sets_of(&truth["l3"])));
    let cores: Vec<CpuSet> = topology.cores.iter().map(|c| c.cpus.clone()).collect();
    same("cores", format!("{cores:?}"), format!("{:?}", sets(&truth["cores"])));
    let (allowed, memory) = match &truth["cgroup_allowed"] {
        Value::Null => (online.clone(), None),
        limit => (set(&limit["cpus"]).intersection(&online), limit["mems"].as_str()),
    };
    same("allowed", topology.allowed.cpus.to_string(), allowed.to_string());
    let nodes: NodeSet = topology.nodes.iter().map(|node| node.id).collect();
    let memory: NodeSet = memory.map_or_else(
        || nodes.clone(),
        |text| parse_list::<Pnode>(text).expect("a list of nodes").intersection(&nodes),
    );
    same("allowed memory", topology.allowed.memory_nodes.to_string(), memory.to_string());
    if let Some(isolated) = truth["isolated"].as_str() {
        let seen = topology.isolated.as_ref().map(ToString::to_string);
        same("isolated", format!("{seen:?}"), format!("{:?}", Some(isolated)));
    }
    same_nodes(host, truth, &mut same);
    wrong
}

fn same_nodes(host: &Host, truth: &Value, same: &mut impl FnMut(&str, String, String)) {
    let topology = &host.topology;
    let wanted = truth["nodes"].as_array().expect("nodes");
    same("nodes", topology.nodes.len().to_string(), wanted.len().to_string());
    let columns = truth["distance_columns"].as_array().expect("columns");
    for (node, wanted) in topology.nodes.iter().zip(wanted) {
        let what = |part: &str| format!("node {} {part}", node.id);
        same(&what("id"), node.id.to_string(), wanted["id"].to_string());
        same(&what("cpus"), node.cpus.to_string(), set(&wanted["cpulist"]).to_string());
        let kib = node.memory_total_bytes.map(|bytes| bytes / 1024);
        same(&what("memory"), format!("{kib:?}"), format!("{:?}", wanted["mem_total_kb"].as_u64()));
        let free = host.levels.nodes[&node.id].memory_free_bytes.map(|bytes| bytes / 1024);
        same(&what("free"), format!("{free:?}"), format!("{:?}", wanted["mem_free_kb"].as_u64()));
        let row = wanted["distance"].as_array().map_or(&[][..], Vec::as_slice);
        // A row that does not fit its columns cannot be told apart; it is a finding.
        let row: BTreeMap<String, u64> = match row.len() == columns.len() {
            true => columns
                .iter()
                .zip(row)
                .map(|(column, value)| (column.to_string(), value.as_u64().expect("a distance")))
                .collect(),
            false => BTreeMap::new(),
        };
        let seen: BTreeMap<String, u64> =
            node.distances.iter().map(|(id, value)| (id.to_string(), u64::from(*value))).collect();
        same(&what("distances"), format!("{seen:?}"), format!("{row:?}"));
    }
}

#[test]
fn every_machine_reads_as_it_truly_is() {
    let mut wrong = Vec::new();
    for archive in machines() {
        let name = archive.file_name().expect("a name").to_string_lossy().into_owned();
        let source = open(&archive).unwrap_or_else(|error| panic!("{name}: {}", text(&error)));
        let host = read_host(&source, &FAST).unwrap_or_else(|e| panic!("{name}: {}", text(&e)));
        let truth = truth_of(&archive);
        wrong.extend(differences(&host, &truth).into_iter().map(|line| format!("{name}: {line}")));
        let warnings = truth["warnings"].as_array().expect("warnings");
        if !warnings.is_empty() && !has_contradiction(&host) {
            wrong.push(format!("{name}: no finding for {warnings:?}"));
        }
        strict_agrees(&name, &source, &host, &mut wrong);
        capture_agrees(&name, &source, &host, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn has_contradiction(host: &Host) -> bool {
    use numawise_model::FindingKind as Kind;
    crate::scene::has(host, |kind| {
        matches!(
            kind,
            Kind::ListMapMismatch { .. }
                | Kind::CpusInSeveralNodes { .. }
                | Kind::CpusInNoNode { .. }
                | Kind::DistanceColumns { .. }
                | Kind::SelfDistanceNotSmallest { .. }
                | Kind::MaskNamesOffline { .. }
        )
    })
}

/// Reading every mask finds more to say, and the same topology.
fn strict_agrees(name: &str, source: &Source, host: &Host, wrong: &mut Vec<String>) {
    let strict = read_host(source, &STRICT).expect("strict reading works too");
    if strict.topology != host.topology || strict.levels != host.levels {
        wrong.push(format!("{name}: strict reading gives another topology"));
    }
    for finding in &host.findings {
        if !strict.findings.contains(finding) {
            wrong.push(format!("{name}: strict reading lacks {finding:?}"));
        }
    }
}

fn capture_agrees(name: &str, source: &Source, host: &Host, wrong: &mut Vec<String>) {
    let bytes = capture_bytes(source).expect("a capture");
    let captured = Source::from_archive_bytes("capture", &bytes).expect("an archive");
    let again = read_host(&captured, &FAST).expect("a host");
    if again != *host {
        wrong.push(format!("{name}: its capture reads as\n{again:?}\ninstead of\n{host:?}"));
    }
    if capture_bytes(&captured).expect("a capture of a capture") != bytes {
        wrong.push(format!("{name}: a capture of its capture is another"));
    }
    let strict = read_host(source, &STRICT).expect("a host");
    if read_host(&captured, &STRICT).expect("a host") != strict {
        wrong.push(format!("{name}: its capture reads differently when strict"));
    }
}

/// Some of what is odd about single machines, beyond what the truth files say.
#[test]
fn what_is_odd_about_a_machine_is_seen() {
    use numawise_model::FindingKind as Kind;
    type Check = fn(&Kind) -> bool;
    let cases: [(&str, Check); 9] = [
        (
            "hwloc.8em64t-2s2ca2c-buggynuma",
            |kind| matches!(kind, Kind::CpusInSeveralNodes { cpus, .. } if cpus.to_string() == "0-7"),
        ),
        ("hwloc.offline-cpu0-node0", |kind| {
            matches!(kind, Kind::DistanceColumns { node: Pnode(1), columns: 2, online_nodes: 1 })
        }),
        (
            "hwloc.offline-cpu0-node0",
            |kind| matches!(kind, Kind::CpusInNoNode { cpus } if cpus.to_string() == "4,6,8,10,12,14,16,18,20"),
        ),
        (
            "hwloc.nvidiagpunumanodes",
            |kind| matches!(kind, Kind::MaskNamesOffline { cpus, .. } if cpus.to_string() == "16-87"),
        ),
        (
            "hwloc.nvidiagpunumanodes",
            |kind| matches!(kind, Kind::MemoryOnlyNodes { nodes } if nodes.to_string() == "250-255"),
        ),
        ("synth.milan-2x7763-l3numa-memless", |kind| matches!(kind, Kind::NodesAreL3Domains)),
        ("nri.sysfs-sample2", |kind| matches!(kind, Kind::L3SpansNodes { .. })),
        ("lscpu.x86_64-64cpu", |kind| {
            matches!(kind, Kind::NodeSpansPackages { node: Pnode(0), packages: 2 })
        }),
        (
            "hwloc.20em64t-hybrid-1p6c2t+2ca4co1t",
            |kind| matches!(kind, Kind::MixedSmtWidths { widths } if widths == &[1, 2]),
        ),
    ];
    let Some(directory) = corpus() else { return };
    for (name, check) in cases {
        let source = open(&directory.join(format!("{name}.tar.xz"))).expect("an archive");
        let host = read_host(&source, &FAST).expect("a host");
        assert!(crate::scene::has(&host, check), "{name}: {:?}", host.findings);
    }
}

#[test]
fn devices_have_their_place_or_none() {
    let Some(directory) = corpus() else { return };
    let read = |name: &str| {
        let source = open(&directory.join(format!("{name}.tar.xz"))).expect("an archive");
        read_host(&source, &FAST).expect("a host").topology
    };
    let device = |topology: &numawise_model::Topology, address: &str| {
        let found = topology.devices.iter().find(|device| device.address == address);
        let device = found.expect("the device is there").clone();
        format!("{:?} {:?} {:?}", device.kind, device.locality, device.names)
    };
    let host = read("hwloc.32em64t-2n8c+dax+nvme+mic+dimms");
    assert_eq!(host.devices.len(), 137);
    assert_eq!(device(&host, "0000:02:00.0"), r#"Nic Node(Pnode(0)) ["eth0"]"#);
    assert_eq!(device(&host, "0000:82:00.0"), r#"Nic Node(Pnode(1)) ["ib0"]"#);
    // numa_node says -1, local_cpus 0-3: some CPUs and not all.
    assert_eq!(device(&host, "0000:00:02.0"), r#"Nvme NearCpus(pCPU[0-3]) []"#);
    assert_eq!(device(&host, "0000:05:00.0"), "Gpu Node(Pnode(0)) []");
    let host = read("hwloc.40intel64-2g2n4c+pcilocality");
    assert_eq!(device(&host, "0000:43:00.0"), "Other Node(Pnode(2)) []");
    assert_eq!(device(&host, "0000:02:00.0").split(' ').nth(1), Some("Unknown"));
}
