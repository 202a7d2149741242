//! A host as `host show --json` prints it. It is written and never read back: captures are how a
//! host travels.

use crate::error::{VERSION, pretty};
use crate::finding::FindingDoc;
use crate::wire::{IdDoc, ListDoc, PageSizeDoc, Wire};
use numawise_model::{
    CpuSet, DeviceKind, Host, HostId, Levels, Locality, Node, NodeLevels, PciDevice, Pcpu, Pnode,
    Topology,
};
use serde::Serialize;
use std::collections::BTreeMap;

pub const HOST_SCHEMA: &str = "numawise.host";

/// A host. `distance_nodes` names the columns of every node's `distances`: the online nodes in
/// ascending order, as the kernel has them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostDoc {
    pub schema: &'static str,
    pub version: u32,
    pub id: Option<String>,
    pub topology_digest: String,
    pub model_name: Option<String>,
    pub architecture: Option<String>,
    pub hypervisor: Option<HypervisorDoc>,
    pub memory_total_bytes: Option<u64>,
    pub page_sizes_bytes: Vec<PageSizeDoc>,
    pub cpus: HostCpusDoc,
    pub memory: HostMemoryDoc,
    pub distance_nodes: Vec<IdDoc<Pnode>>,
    pub nodes: Vec<NodeDoc>,
    pub packages: Vec<PackageDoc>,
    pub l3_domains: Vec<L3DomainDoc>,
    pub cores: Vec<CoreDoc>,
    pub devices: Vec<DeviceDoc>,
    /// Average use in thousandths over the last 15 minutes, of the pCPUs that were sampled.
    pub utilisation_permille: BTreeMap<IdDoc<Pcpu>, u16>,
    pub findings: Vec<FindingDoc>,
}

/// `vendor` is null where it cannot be told who runs below this kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HypervisorDoc {
    pub vendor: Option<String>,
}

/// Null is "the source does not say"; an empty text is "none".
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostCpusDoc {
    pub online: ListDoc<Pcpu>,
    pub offline: ListDoc<Pcpu>,
    pub possible: Option<ListDoc<Pcpu>>,
    pub isolated: Option<ListDoc<Pcpu>>,
    pub nohz_full: Option<ListDoc<Pcpu>>,
    pub allowed: ListDoc<Pcpu>,
    /// The file that limits `allowed`, here and for memory.
    pub allowed_limited_by: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostMemoryDoc {
    pub allowed_nodes: ListDoc<Pnode>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NodeDoc {
    pub id: IdDoc<Pnode>,
    pub cpus: ListDoc<Pcpu>,
    pub memory_total_bytes: Option<u64>,
    pub memory_free_bytes: Option<u64>,
    pub memory_available_bytes: Option<u64>,
    /// One per entry of `distance_nodes`, null where the source has none; empty when it has none at
    /// all.
    pub distances: Vec<Option<u32>>,
    pub hugepages: Vec<HugepagesDoc>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HugepagesDoc {
    pub page_size_bytes: PageSizeDoc,
    pub total_pages: u64,
    pub free_pages: u64,
    pub reserved_pages: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PackageDoc {
    pub cpus: ListDoc<Pcpu>,
    pub firmware_id: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct L3DomainDoc {
    pub cpus: ListDoc<Pcpu>,
    pub size_bytes: Option<u64>,
    pub kernel_id: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CoreDoc {
    pub cpus: ListDoc<Pcpu>,
}

/// A PCI device. `node` and `near_cpus` are both null where its place is not known.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceDoc {
    pub address: String,
    pub kind: &'static str,
    /// The class code in six hexadecimal digits; vendor and device in four, as `lspci -n` has them.
    pub class: String,
    pub vendor: Option<String>,
    pub device: Option<String>,
    pub node: Option<IdDoc<Pnode>>,
    pub near_cpus: Option<ListDoc<Pcpu>>,
    pub names: Vec<String>,
}

impl HostDoc {
    pub fn new(host: &Host, id: Option<&HostId>) -> Self {
        let topology = &host.topology;
        Self {
            schema: HOST_SCHEMA,
            version: VERSION,
            id: id.map(Wire::to_doc),
            topology_digest: crate::digest::topology_digest(topology),
            model_name: topology.model_name.clone(),
            architecture: topology.architecture.clone(),
            hypervisor: topology
                .hypervisor
                .as_ref()
                .map(|hypervisor| HypervisorDoc { vendor: hypervisor.vendor.clone() }),
            memory_total_bytes: topology.memory_total_bytes,
            page_sizes_bytes: topology.page_sizes.to_doc(),
            cpus: cpus(topology),
            memory: HostMemoryDoc { allowed_nodes: topology.allowed.memory_nodes.to_doc() },
            distance_nodes: topology.nodes.iter().map(|node| node.id.to_doc()).collect(),
            nodes: topology.nodes.iter().map(|n| node(n, topology, &host.levels)).collect(),
            packages: packages(topology),
            l3_domains: l3_domains(topology),
            cores: cores(topology),
            devices: topology.devices.iter().map(device).collect(),
            utilisation_permille: host.levels.utilisation.to_doc(),
            findings: host.findings.to_doc(),
        }
    }
}

pub fn host_to_json(host: &Host, id: Option<&HostId>) -> String {
    pretty(&HostDoc::new(host, id))
}

fn cpus(topology: &Topology) -> HostCpusDoc {
    HostCpusDoc {
        online: topology.online.to_doc(),
        offline: topology.offline.to_doc(),
        possible: topology.possible.to_doc(),
        isolated: topology.isolated.to_doc(),
        nohz_full: topology.nohz_full.to_doc(),
        allowed: topology.allowed.cpus.to_doc(),
        allowed_limited_by: topology.allowed.limited_by.clone(),
    }
}

fn node(node: &Node, topology: &Topology, levels: &Levels) -> NodeDoc {
    let unknown = NodeLevels::default();
    let levels = levels.nodes.get(&node.id).unwrap_or(&unknown);
    NodeDoc {
        id: node.id.to_doc(),
        cpus: node.cpus.to_doc(),
        memory_total_bytes: node.memory_total_bytes,
        memory_free_bytes: levels.memory_free_bytes,
        memory_available_bytes: levels.memory_available_bytes,
        distances: distances(node, topology),
        hugepages: levels
            .hugepages
            .iter()
            .map(|(size, pool)| HugepagesDoc {
                page_size_bytes: size.to_doc(),
                total_pages: pool.total,
                free_pages: pool.free,
                reserved_pages: pool.reserved,
            })
            .collect(),
    }
}

pub(crate) fn distances(node: &Node, topology: &Topology) -> Vec<Option<u32>> {
    if node.distances.is_empty() {
        return Vec::new();
    }
    topology.nodes.iter().map(|other| node.distances.get(&other.id).copied()).collect()
}

pub(crate) fn packages(topology: &Topology) -> Vec<PackageDoc> {
    let doc = |package: &numawise_model::Package| PackageDoc {
        cpus: package.cpus.to_doc(),
        firmware_id: package.firmware_id,
    };
    topology.packages.iter().map(doc).collect()
}

pub(crate) fn l3_domains(topology: &Topology) -> Vec<L3DomainDoc> {
    let doc = |domain: &numawise_model::L3Domain| L3DomainDoc {
        cpus: domain.cpus.to_doc(),
        size_bytes: domain.size_bytes,
        kernel_id: domain.kernel_id,
    };
    topology.l3_domains.iter().map(doc).collect()
}

pub(crate) fn cores(topology: &Topology) -> Vec<CoreDoc> {
    topology.cores.iter().map(|core| CoreDoc { cpus: core.cpus.to_doc() }).collect()
}

fn device(device: &PciDevice) -> DeviceDoc {
    let (node, near_cpus): (Option<Pnode>, Option<CpuSet>) = match &device.locality {
        Locality::Node(node) => (Some(*node), None),
        Locality::NearCpus(cpus) => (None, Some(cpus.clone())),
        Locality::Unknown => (None, None),
    };
    DeviceDoc {
        address: device.address.clone(),
        kind: match device.kind {
            DeviceKind::Nic => "nic",
            DeviceKind::Nvme => "nvme",
            DeviceKind::Gpu => "gpu",
            DeviceKind::Other => "other",
        },
        class: format!("{:06x}", device.class),
        vendor: device.vendor.map(|id| format!("{id:04x}")),
        device: device.device.map(|id| format!("{id:04x}")),
        node: node.to_doc(),
        near_cpus: near_cpus.to_doc(),
        names: device.names.clone(),
    }
}
