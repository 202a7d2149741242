//! `sys/devices/system/node`: memory, distances and hugepages of each node.

use crate::error::ReadError;
use crate::root::Reader;
use numawise_model::{CpuSet, HugepageLevels, NodeSet, PageSize, Pnode};
use std::collections::BTreeMap;

const NODE: &str = "sys/devices/system/node";
const HOST_HUGEPAGES: &str = "sys/kernel/mm/hugepages";

#[derive(Clone, Debug, Default)]
pub struct NodeFacts {
    /// `node/online`.
    pub listed_online: Option<NodeSet>,
    pub directories: NodeSet,
    pub nodes: Vec<RawNode>,
    /// Pages promised and not yet touched, of the whole host.
    pub reserved_pages: BTreeMap<PageSize, u64>,
    /// Sizes that the host has a pool for.
    pub host_page_sizes: Vec<PageSize>,
}

impl NodeFacts {
    /// Ascending. Trees without the list have directories for online nodes only.
    pub fn online(&self) -> NodeSet {
        self.listed_online.clone().unwrap_or_else(|| self.directories.clone())
    }
}

#[derive(Clone, Debug)]
pub struct RawNode {
    pub id: Pnode,
    pub map: Option<CpuSet>,
    pub list: Option<CpuSet>,
    /// The `cpuN` links in the directory; looked at only when there is neither map nor list.
    pub links: Option<CpuSet>,
    pub distances: Option<Vec<u32>>,
    pub meminfo: Option<Meminfo>,
    pub hugepages: BTreeMap<PageSize, HugepageLevels>,
}

impl RawNode {
    pub fn file(&self, name: &str) -> String {
        format!("{NODE}/node{}/{name}", self.id)
    }

    pub fn cpus(&self) -> CpuSet {
        let told = self.map.as_ref().or(self.list.as_ref()).or(self.links.as_ref());
        // Absent means that nothing ties a CPU to this node: it is memory alone.
        told.cloned().unwrap_or_default()
    }
}

/// Of `meminfo`, in bytes. Each line may be absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meminfo {
    pub total_bytes: Option<u64>,
    pub free_bytes: Option<u64>,
    pub active_file_bytes: Option<u64>,
    pub inactive_file_bytes: Option<u64>,
    pub reclaimable_slab_bytes: Option<u64>,
    pub hugepages_total: Option<u64>,
    pub hugepages_free: Option<u64>,
    /// `Hugepagesize`, the default size: in the host's own meminfo only.
    pub hugepage_bytes: Option<u64>,
}

pub fn read(reader: &mut Reader<'_>) -> Result<NodeFacts, ReadError> {
    let mut facts = NodeFacts {
        listed_online: reader.list(&format!("{NODE}/online"))?,
        // Absent means a kernel without NUMA: it tells of no node.
        directories: reader.numbered(NODE, "node")?.unwrap_or_default(),
        ..NodeFacts::default()
    };
    for size in page_sizes(reader, HOST_HUGEPAGES)? {
        let reserved = format!("{HOST_HUGEPAGES}/{}/resv_hugepages", directory_of(size));
        if let Some(pages) = reader.count(&reserved)? {
            facts.reserved_pages.insert(size, pages);
        }
        facts.host_page_sizes.push(size);
    }
    for id in facts.online().intersection(&facts.directories).iter() {
        facts.nodes.push(read_node(reader, id)?);
    }
    Ok(facts)
}

fn read_node(reader: &mut Reader<'_>, id: Pnode) -> Result<RawNode, ReadError> {
    let directory = format!("{NODE}/node{id}");
    let map = reader.mask(&format!("{directory}/cpumap"))?;
    let list = match map {
        Some(_) if !reader.compares_lists => None,
        _ => reader.list(&format!("{directory}/cpulist"))?,
    };
    let links = match (&map, &list) {
        (None, None) => reader.numbered(&directory, "cpu")?,
        _ => None,
    };
    let meminfo_file = format!("{directory}/meminfo");
    let meminfo = match reader.text(&meminfo_file)? {
        Some(text) => Some(parse_meminfo(&meminfo_file, text)?),
        None => None,
    };
    Ok(RawNode {
        id,
        map,
        list,
        links,
        distances: read_distances(reader, &format!("{directory}/distance"))?,
        meminfo,
        hugepages: read_pools(reader, &format!("{directory}/hugepages"))?,
    })
}

fn read_distances(reader: &mut Reader<'_>, path: &str) -> Result<Option<Vec<u32>>, ReadError> {
    let Some(text) = reader.text(path)? else { return Ok(None) };
    let row: Option<Vec<u32>> =
        text.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
    match row {
        Some(row) => Ok(Some(row)),
        None => Err(ReadError::value(path, text, "a row of distances")),
    }
}

fn read_pools(
    reader: &mut Reader<'_>,
    directory: &str,
) -> Result<BTreeMap<PageSize, HugepageLevels>, ReadError> {
    let mut pools = BTreeMap::new();
    for size in page_sizes(reader, directory)? {
        let pool = format!("{directory}/{}", directory_of(size));
        let total = reader.count(&format!("{pool}/nr_hugepages"))?;
        let free = match total {
            // Of no pages none are free.
            Some(0) => Some(0),
            _ => reader.count(&format!("{pool}/free_hugepages"))?,
        };
        if let (Some(total), Some(free)) = (total, free) {
            pools.insert(size, HugepageLevels { total, free, reserved: None });
        }
    }
    Ok(pools)
}

/// Sizes of the pools in a directory, from names such as `hugepages-2048kB`.
fn page_sizes(reader: &mut Reader<'_>, directory: &str) -> Result<Vec<PageSize>, ReadError> {
    let mut sizes = Vec::new();
    // A kernel without hugepages has no such directory.
    let Some(names) = reader.names(directory)? else { return Ok(sizes) };
    for name in names {
        let Some(kib) = name.strip_prefix("hugepages-").and_then(|rest| rest.strip_suffix("kB"))
        else {
            continue;
        };
        let bytes = kib.parse::<u64>().ok().and_then(|kib| kib.checked_mul(1024));
        match bytes.filter(|bytes| bytes.is_power_of_two()) {
            Some(bytes) => sizes.push(PageSize(bytes)),
            None => return Err(ReadError::value(directory, &name, "a name like hugepages-2048kB")),
        }
    }
    sizes.sort();
    Ok(sizes)
}

fn directory_of(size: PageSize) -> String {
    format!("hugepages-{}kB", size.bytes() / 1024)
}

/// The lines of a node's meminfo (`Node 0 MemFree: 12 kB`) or the host's (`MemFree: 12 kB`).
pub fn parse_meminfo(path: &str, text: &str) -> Result<Meminfo, ReadError> {
    let mut meminfo = Meminfo::default();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let key = key.split_ascii_whitespace().last().unwrap_or(key);
        let (field, unit) = match key {
            "MemTotal" => (&mut meminfo.total_bytes, 1024),
            "MemFree" => (&mut meminfo.free_bytes, 1024),
            "Active(file)" => (&mut meminfo.active_file_bytes, 1024),
            "Inactive(file)" => (&mut meminfo.inactive_file_bytes, 1024),
            "SReclaimable" => (&mut meminfo.reclaimable_slab_bytes, 1024),
            "Hugepagesize" => (&mut meminfo.hugepage_bytes, 1024),
            "HugePages_Total" => (&mut meminfo.hugepages_total, 1),
            "HugePages_Free" => (&mut meminfo.hugepages_free, 1),
            _ => continue,
        };
        let digits = value.trim().trim_end_matches("kB").trim_end();
        let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        if number.is_none() {
            return Err(ReadError::value(path, line.trim(), "a line like 'MemFree: 1024 kB'"));
        }
        *field = number;
    }
    Ok(meminfo)
}

#[cfg(test)]
mod tests {
    use super::{Meminfo, parse_meminfo};

    #[test]
    fn meminfo_of_a_node_and_of_the_host() {
        let text = "Node 255 MemTotal:       15728640 kB\nNode 255 MemFree: 15728576 kB\n\
                    Node 255 Active(anon): 1 kB\nNode 255 HugePages_Total:     3\n";
        let wanted = Meminfo {
            total_bytes: Some(15_728_640 << 10),
            free_bytes: Some(15_728_576 << 10),
            hugepages_total: Some(3),
            ..Meminfo::default()
        };
        assert_eq!(parse_meminfo("meminfo", text).expect("well formed"), wanted);
        let error = parse_meminfo("meminfo", "MemFree: much kB").expect_err("no number");
        assert!(error.to_string().contains("meminfo says 'MemFree: much kB'"), "{error}");
    }
}
