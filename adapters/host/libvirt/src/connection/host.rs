//! A machine that only libvirt can tell of: what it is, from the capabilities; how it stands, from
//! calls for each node.
//!
//! Less is known of it than of the machine that numawise runs on: no devices, no cgroup limits, no
//! reclaimable memory, no use of its CPUs, and hugepages that are reserved but not yet touched count
//! as free.

use super::LibvirtHypervisor;
use super::fault::Fault;
use super::link::Link;
use numawise_engine::ports::PortError;
use numawise_model::{CpuSet, Host, HostId, HugepageLevels, NodeLevels, PageSize, Pnode, Topology};
use roxmltree::Document;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const SALT: &str = "numawise host id by libvirt 1:";
const DIGITS: usize = 16;

/// A hash of the host UUID that libvirt gives, or of the host's name where it gives none.
///
/// The machine itself goes by a hash of its machine id, which libvirt does not tell, so one host has
/// two ids, and two ledgers: one for numawise on it, one for each place from where it is reached.
/// What the one gave away the other sees as pins of guests. Where firmware has no UUID libvirt makes
/// one for each start of the daemon; `host_uuid` in libvirtd.conf ends that.
pub(super) fn id(link: &Link) -> Result<HostId, Fault> {
    let name = machine(link)?;
    let digest = Sha256::new().chain_update(SALT).chain_update(name).finalize();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(HostId(hex[..DIGITS].to_owned()))
}

/// The UUID that libvirt gives the host, by which it knows a move to itself, or the host's name.
pub(super) fn machine(link: &Link) -> Result<String, Fault> {
    let capabilities = link.capabilities()?;
    let uuid = Document::parse(&capabilities).ok().and_then(|document| {
        let host = document.root_element().children().find(|node| node.has_tag_name("host"))?;
        let uuid = host.children().find(|node| node.has_tag_name("uuid"))?;
        Some(uuid.text()?.trim().to_ascii_lowercase())
    });
    match uuid {
        Some(uuid) => Ok(uuid),
        None => link.hostname(),
    }
}

impl LibvirtHypervisor {
    pub(super) fn remote_host(&self) -> Result<Host, PortError> {
        let capabilities = self.ask("reading the host's capabilities", Link::capabilities)?;
        let mut host = (self.surroundings.read_capabilities)(&capabilities)?;
        let map = self.ask("reading which CPUs are online", |link| match link.cpu_map() {
            Err(fault) if fault.is_unsupported() => Ok(None),
            map => map.map(Some),
        })?;
        if let Some((online, _)) = map {
            take_offline(&mut host.topology, &online);
        }
        let pools = pools(&capabilities);
        for node in host.topology.nodes.iter().map(|node| node.id) {
            // absent means that the capabilities name no hugepages of this node
            let pools = pools.get(&node).cloned().unwrap_or_default();
            let levels = self.ask(&format!("reading the free memory of node {node}"), |link| {
                node_levels(link, node, &pools)
            })?;
            host.levels.nodes.insert(node, levels);
        }
        Ok(host)
    }
}

fn node_levels(
    link: &Link,
    node: Pnode,
    pools: &BTreeMap<PageSize, u64>,
) -> Result<NodeLevels, Fault> {
    let memory_free_bytes = match link.free_memory_bytes(node.0) {
        Err(fault) if fault.is_unsupported() => None,
        bytes => Some(bytes?),
    };
    let sizes: Vec<(PageSize, u64)> = pools.iter().map(|(size, total)| (*size, *total)).collect();
    let kib: Vec<u32> =
        sizes.iter().filter_map(|(size, _)| u32::try_from(size.0 >> 10).ok()).collect();
    let free = match link.free_pages(node.0, &kib) {
        _ if sizes.is_empty() => Vec::new(),
        Err(fault) if fault.is_unsupported() => Vec::new(),
        free => free?,
    };
    let hugepages = sizes
        .into_iter()
        .zip(free)
        .map(|((size, total), free)| (size, HugepageLevels { total, free, reserved: None }))
        .collect();
    Ok(NodeLevels { memory_free_bytes, memory_available_bytes: None, hugepages })
}

/// Hugepages of each node by size: `<cell id='0'><pages unit='KiB' size='2048'>12</pages>`.
fn pools(capabilities: &str) -> BTreeMap<Pnode, BTreeMap<PageSize, u64>> {
    let mut found: BTreeMap<Pnode, BTreeMap<PageSize, u64>> = BTreeMap::new();
    let Ok(document) = Document::parse(capabilities) else { return found };
    for pages in document.descendants().filter(|node| node.has_tag_name("pages")) {
        let Some(cell) = pages.parent_element().filter(|cell| cell.has_tag_name("cell")) else {
            continue;
        };
        let id = cell.attribute("id").and_then(|id| id.parse().ok());
        let kib = pages.attribute("size").and_then(|size| size.parse::<u64>().ok());
        let total = pages.text().and_then(|text| text.trim().parse().ok());
        let (Some(id), Some(kib), Some(total)) = (id, kib, total) else { continue };
        let size = PageSize(kib << 10);
        if size.is_huge() {
            found.entry(Pnode(id)).or_default().insert(size, total);
        }
    }
    found
}

/// The daemon's capabilities may be older than the last CPU that was switched off.
fn take_offline(topology: &mut Topology, online: &CpuSet) {
    let gone = topology.online.difference(online);
    if gone.is_empty() {
        return;
    }
    topology.online = topology.online.intersection(online);
    topology.offline.extend(&gone);
    topology.allowed.cpus = topology.allowed.cpus.intersection(online);
    for node in &mut topology.nodes {
        node.cpus = node.cpus.intersection(online);
    }
    for package in &mut topology.packages {
        package.cpus = package.cpus.intersection(online);
    }
    for core in &mut topology.cores {
        core.cpus = core.cpus.intersection(online);
    }
    for domain in &mut topology.l3_domains {
        domain.cpus = domain.cpus.intersection(online);
    }
    topology.packages.retain(|package| !package.cpus.is_empty());
    topology.cores.retain(|core| !core.cpus.is_empty());
    topology.l3_domains.retain(|domain| !domain.cpus.is_empty());
}

#[cfg(test)]
mod tests {
    use super::pools;
    use numawise_model::{PageSize, Pnode};
    use std::collections::BTreeMap;

    #[test]
    fn pools_are_those_of_huge_sizes_by_node() {
        let xml = "<capabilities><host><topology><cells num='2'>\
                   <cell id='1'><pages unit='KiB' size='4'>500</pages>\
                   <pages unit='KiB' size='2048'>12</pages></cell>\
                   <cell id='8'><pages unit='KiB' size='1048576'>3</pages></cell>\
                   </cells></topology></host></capabilities>";
        let wanted = BTreeMap::from([
            (Pnode(1), BTreeMap::from([(PageSize::HUGE_2M, 12)])),
            (Pnode(8), BTreeMap::from([(PageSize::HUGE_1G, 3)])),
        ]);
        assert_eq!(pools(xml), wanted);
    }
}
