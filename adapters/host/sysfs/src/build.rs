//! Puts what was derived together as a host: its lasting facts, and how it stands now.

use crate::derive::Derived;
use crate::facts::RawHost;
use crate::facts::machine::MachineFacts;
use crate::facts::nodes::{Meminfo, NodeFacts, RawNode};
use crate::facts::pci::{self, RawDevice};
use crate::shape;
use numawise_model::{
    CpuSet, Finding, FindingKind, Host, HugepageLevels, Hypervisor, Levels, Locality, Node,
    NodeLevels, PageSize, PciDevice, Pnode, Severity, Topology,
};
use std::collections::{BTreeMap, BTreeSet};

pub fn host(raw: &RawHost, derived: Derived) -> Host {
    let mut findings = derived.findings;
    let nodes: Vec<Node> = derived
        .nodes
        .iter()
        .map(|(id, cpus)| Node {
            id: *id,
            cpus: cpus.clone(),
            memory_total_bytes: meminfo_of(raw, *id).and_then(|meminfo| meminfo.total_bytes),
            // Absent means that nothing told this node's distances; an empty map says the same.
            distances: derived.distances.get(id).cloned().unwrap_or_default(),
        })
        .collect();
    let devices =
        raw.devices.iter().map(|device| pci_device(device, &nodes, &derived.online, &mut findings));
    let devices = devices.collect();
    if let Some(argument) = &raw.machine.fake_numa {
        let argument = argument.clone();
        findings.push(Finding::host(Severity::Warning, FindingKind::FakeNuma { argument }));
    }
    let topology = Topology {
        model_name: raw.machine.model_name.clone(),
        architecture: raw.machine.architecture.clone(),
        online: derived.online,
        offline: derived.offline,
        possible: raw.cpus.possible.clone(),
        isolated: raw.cpus.isolated.clone(),
        nohz_full: raw.cpus.nohz_full.clone(),
        memory_total_bytes: memory_total(raw, &nodes),
        nodes,
        packages: derived.packages,
        l3_domains: derived.l3_domains,
        cores: derived.cores,
        allowed: derived.allowed,
        devices,
        hypervisor: hypervisor(&raw.machine),
        page_sizes: page_sizes(raw),
    };
    let levels = levels(raw);
    findings.extend(shape::findings(&topology));
    Host { topology, levels, findings }
}

fn meminfo_of(raw: &RawHost, id: Pnode) -> Option<&Meminfo> {
    raw.nodes.nodes.iter().find(|node| node.id == id)?.meminfo.as_ref()
}

/// The kernel's own sum, or ours when its nodes are all known.
fn memory_total(raw: &RawHost, nodes: &[Node]) -> Option<u64> {
    let said = raw.machine.meminfo.as_ref().and_then(|meminfo| meminfo.total_bytes);
    let summed = || nodes.iter().map(|node| node.memory_total_bytes).sum::<Option<u64>>();
    said.or_else(|| summed().filter(|total| *total > 0))
}

/// Base page first. A tree that does not name its base page is taken to have 4 KiB, the smallest
/// there is: any amount in larger pages is one in these too.
fn page_sizes(raw: &RawHost) -> Vec<PageSize> {
    let base = raw.machine.page_bytes.map_or(PageSize::BASE_4K, PageSize);
    let mut sizes: BTreeSet<PageSize> = raw.nodes.host_page_sizes.iter().copied().collect();
    for node in &raw.nodes.nodes {
        sizes.extend(node.hugepages.keys());
    }
    sizes.extend(default_hugepages(raw));
    sizes.remove(&base);
    std::iter::once(base).chain(sizes).collect()
}

/// Kernels before 2.6.30 have one hugepage size, named in the host's meminfo only.
fn default_hugepages(raw: &RawHost) -> Option<PageSize> {
    raw.machine.meminfo.as_ref()?.hugepage_bytes.filter(|bytes| *bytes > 0).map(PageSize)
}

fn levels(raw: &RawHost) -> Levels {
    let mut nodes: BTreeMap<Pnode, NodeLevels> = BTreeMap::new();
    for node in &raw.nodes.nodes {
        nodes.insert(node.id, node_levels(node, default_hugepages(raw)));
    }
    spread_reserved(&raw.nodes, &mut nodes);
    Levels { nodes, utilisation: BTreeMap::new() }
}

fn node_levels(node: &RawNode, default_hugepages: Option<PageSize>) -> NodeLevels {
    let Some(meminfo) = &node.meminfo else {
        return NodeLevels { hugepages: node.hugepages.clone(), ..NodeLevels::default() };
    };
    let given_back = [
        meminfo.free_bytes,
        meminfo.active_file_bytes,
        meminfo.inactive_file_bytes,
        meminfo.reclaimable_slab_bytes,
    ];
    let mut hugepages = node.hugepages.clone();
    if let (true, Some(size), Some(total), Some(free)) =
        (hugepages.is_empty(), default_hugepages, meminfo.hugepages_total, meminfo.hugepages_free)
    {
        hugepages.insert(size, HugepageLevels { total, free, reserved: None });
    }
    NodeLevels {
        memory_free_bytes: meminfo.free_bytes,
        memory_available_bytes: given_back.into_iter().sum(),
        hugepages,
    }
}

/// Kernels count reserved pages for the whole host. That says something of a node when there are
/// none, and when one node alone has pages of the size; else it stays unknown.
fn spread_reserved(facts: &NodeFacts, nodes: &mut BTreeMap<Pnode, NodeLevels>) {
    for (size, reserved) in &facts.reserved_pages {
        let mut pools: Vec<&mut HugepageLevels> =
            nodes.values_mut().filter_map(|node| node.hugepages.get_mut(size)).collect();
        let holders = pools.iter().filter(|pool| pool.total > 0).count();
        for pool in &mut pools {
            pool.reserved = match (*reserved, holders) {
                (0, _) => Some(0),
                (reserved, 1) => Some(if pool.total > 0 { reserved } else { 0 }),
                _ => None,
            };
        }
    }
}

fn pci_device(
    raw: &RawDevice,
    nodes: &[Node],
    online: &CpuSet,
    findings: &mut Vec<Finding>,
) -> PciDevice {
    PciDevice {
        address: raw.address.clone(),
        kind: pci::kind(raw.class),
        class: raw.class,
        vendor: raw.vendor,
        device: raw.device,
        locality: locality(raw, nodes, online, findings),
        names: raw.names.clone(),
    }
}

/// Its own node, or its bridge's, or CPUs that are some of the host's and not all.
fn locality(
    raw: &RawDevice,
    nodes: &[Node],
    online: &CpuSet,
    findings: &mut Vec<Finding>,
) -> Locality {
    for number in [raw.numa_node, raw.bridge_node].into_iter().flatten().filter(|node| *node >= 0) {
        if let Some(node) = nodes.iter().find(|node| i64::from(node.id.0) == number) {
            return Locality::Node(node.id);
        }
        let ids: Vec<String> = nodes.iter().map(|node| node.id.to_string()).collect();
        let kind = FindingKind::NotBelieved {
            file: raw.numa_file(),
            value: number.to_string(),
            wanted: format!("an online node ({})", ids.join(",")),
        };
        findings.push(Finding::host(Severity::Warning, kind));
    }
    match raw.local_cpus.as_ref().map(|cpus| cpus.intersection(online)) {
        Some(near) if !near.is_empty() && near != *online => Locality::NearCpus(near),
        _ => Locality::Unknown,
    }
}

/// DMI vendors of virtual machines: the text, the name, and whether the text alone proves it (some
/// of them also build hardware, or rent it out bare).
const VIRTUAL_VENDORS: [(&str, &str, bool); 12] = [
    ("QEMU", "QEMU", true),
    ("Red Hat", "KVM", true),
    ("KubeVirt", "KubeVirt", true),
    ("OpenStack Foundation", "OpenStack", true),
    ("VMware, Inc.", "VMware", true),
    ("innotek GmbH", "VirtualBox", true),
    ("Xen", "Xen", true),
    ("Bochs", "Bochs", true),
    ("Parallels", "Parallels", true),
    ("Microsoft Corporation", "Hyper-V", false),
    ("Amazon EC2", "Amazon EC2", false),
    ("Google", "Google", false),
];

fn virtual_vendor(machine: &MachineFacts) -> Option<&'static (&'static str, &'static str, bool)> {
    let vendor = machine.dmi_vendor.as_deref()?;
    let known = VIRTUAL_VENDORS.iter().find(|(text, ..)| vendor.starts_with(text))?;
    (known.2 || machine.hypervisor_flag).then_some(known)
}

fn hypervisor(machine: &MachineFacts) -> Option<Hypervisor> {
    let by_dmi = virtual_vendor(machine).map(|(_, name, _)| (*name).to_owned());
    let by_type = machine.hypervisor_type.clone().filter(|text| !text.is_empty());
    let present = machine.hypervisor_flag || by_dmi.is_some() || by_type.is_some();
    present.then(|| Hypervisor { vendor: by_type.or(by_dmi) })
}

/// The DMI vendor as far as it names a hypervisor: nobody's hardware.
pub fn noted_vendor(machine: &MachineFacts) -> Option<&'static str> {
    virtual_vendor(machine).map(|(text, ..)| *text)
}
