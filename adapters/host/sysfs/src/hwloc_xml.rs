//! hwloc's XML (`lstopo --of xml`), versions 1 and 2.
//!
//! What hwloc leaves out stays unknown here: free memory and pages, offline CPUs, isolation. A
//! memory-only node has in it the CPUs that it is near to; in a kernel's terms it has none.

use crate::error::ReadError;
use crate::facts::pci;
use crate::shape;
use crate::xml::Document;
use numawise_model::{
    Allowed, Core, CpuSet, Host, Id, IdSet, L3Domain, Levels, Locality, Node, NodeLevels, NodeSet,
    Package, PageSize, PciDevice, Pcpu, Pnode, Topology, parse_mask,
};
use roxmltree::Node as Element;
use std::collections::{BTreeMap, BTreeSet};

/// `HWLOC_DISTANCES_KIND_MEANS_LATENCY`: other matrices are bandwidths.
const KIND_LATENCY: u64 = 1 << 2;

pub fn read(name: &str, text: &str) -> Result<Host, ReadError> {
    let tree = crate::xml::parse(name, text)?;
    let document = Document { name };
    let objects: Vec<Element<'_, '_>> =
        tree.descendants().filter(|element| element.has_tag_name("object")).collect();
    let reading = Reading { document, objects };
    let online = reading.online()?;
    let mut topology = Topology {
        model_name: reading.info("CPUModel"),
        architecture: reading.info("Architecture"),
        nodes: reading.nodes(&online, tree.root_element())?,
        packages: reading.packages(&online)?,
        l3_domains: reading.l3_domains(&online)?,
        cores: reading.cores(&online)?,
        page_sizes: reading.page_sizes()?,
        online,
        ..Topology::default()
    };
    topology.memory_total_bytes = topology.nodes.iter().map(|node| node.memory_total_bytes).sum();
    topology.allowed = reading.allowed(&topology)?;
    topology.devices = reading.devices(&topology)?;
    let levels = Levels {
        nodes: topology.nodes.iter().map(|node| (node.id, NodeLevels::default())).collect(),
        utilisation: BTreeMap::new(),
    };
    let findings = shape::findings(&topology);
    Ok(Host { topology, levels, findings })
}

struct Reading<'d, 'i> {
    document: Document<'d>,
    objects: Vec<Element<'d, 'i>>,
}

impl<'d, 'i> Reading<'d, 'i> {
    fn of_type(&self, names: &[&str]) -> impl Iterator<Item = &Element<'d, 'i>> {
        self.objects
            .iter()
            .filter(move |object| object.attribute("type").is_some_and(|t| names.contains(&t)))
    }

    fn info(&self, wanted: &str) -> Option<String> {
        let info =
            self.objects.iter().flat_map(|object| object.children()).find(|child| {
                child.has_tag_name("info") && child.attribute("name") == Some(wanted)
            })?;
        info.attribute("value").map(|value| value.trim().to_owned())
    }

    /// hwloc's masks: `0x00000003,,0xffffffff`, where an empty word is zero.
    fn mask<I: Id>(
        &self,
        object: &Element<'_, '_>,
        name: &str,
    ) -> Result<Option<IdSet<I>>, ReadError> {
        let Some(text) = object.attribute(name) else { return Ok(None) };
        let words: Vec<&str> = text
            .split(',')
            .map(|word| word.trim().trim_start_matches("0x"))
            .map(|word| if word.is_empty() { "0" } else { word })
            .collect();
        let set = parse_mask(&words.join(",")).map_err(|source| ReadError::BadSet {
            file: format!("{}: <object {name}=...>", self.document.name),
            source,
        })?;
        Ok(Some(set))
    }

    /// hwloc writes the set at every such object, an empty one at a node of memory alone.
    fn cpus(&self, object: &Element<'_, '_>, online: &CpuSet) -> Result<CpuSet, ReadError> {
        match self.mask::<Pcpu>(object, "cpuset")? {
            Some(cpus) => Ok(cpus.intersection(online)),
            None => Err(self.document.lacks("a cpuset at each node, package, cache and core")),
        }
    }

    fn online(&self) -> Result<CpuSet, ReadError> {
        let mut online = CpuSet::new();
        for object in self.of_type(&["PU"]) {
            online.insert(Pcpu(self.document.id(object, "os_index")?));
        }
        // Version 1 may describe CPUs that are switched off, and says so at the machine.
        for machine in self.of_type(&["Machine"]) {
            if let Some(switched_on) = self.mask(machine, "online_cpuset")? {
                online = online.intersection(&switched_on);
            }
        }
        if online.is_empty() {
            return Err(self.document.lacks("an object of type PU"));
        }
        Ok(online)
    }

    fn nodes(&self, online: &CpuSet, root: Element<'_, '_>) -> Result<Vec<Node>, ReadError> {
        let mut found: Vec<(bool, Node)> = Vec::new();
        let mut in_order = Vec::new();
        for object in self.of_type(&["NUMANode"]) {
            let id = Pnode(self.document.id(object, "os_index")?);
            let special = object.attribute("subtype").is_some_and(|kind| kind != "DRAM");
            let cpus = self.cpus(object, online)?;
            let memory_total_bytes = self.document.number(object, "local_memory")?;
            in_order.push(id);
            // hwloc writes no size for a node whose memory is none or unknown.
            let node = Node { id, cpus, memory_total_bytes, distances: BTreeMap::new() };
            found.push((special, node));
        }
        found.sort_by_key(|(special, node)| (*special, node.id));
        let mut taken = CpuSet::new();
        for (special, node) in &mut found {
            if *special || (!node.cpus.is_empty() && node.cpus.is_subset(&taken)) {
                node.cpus = CpuSet::new();
            }
            taken.extend(&node.cpus);
        }
        let mut nodes: Vec<Node> = found.into_iter().map(|(_, node)| node).collect();
        nodes.sort_by_key(|node| node.id);
        let matrix = match self.distances2(root)? {
            Some(matrix) => Some(matrix),
            None => self.distances1(root, &in_order)?,
        };
        for node in &mut nodes {
            let row = matrix.as_ref().and_then(|matrix| matrix.get(&node.id));
            // Absent means that the file tells no distances; an empty map says the same.
            node.distances = row.cloned().unwrap_or_default();
        }
        Ok(nodes)
    }

    /// Version 2: a list of node numbers and a square of values.
    fn distances2(&self, root: Element<'_, '_>) -> Result<Option<Matrix>, ReadError> {
        let is_latency = |element: &Element<'_, '_>| {
            let kind = element.attribute("kind").and_then(|kind| kind.parse::<u64>().ok());
            element.has_tag_name("distances2")
                && element.attribute("type") == Some("NUMANode")
                && kind.is_none_or(|kind| kind & KIND_LATENCY != 0)
        };
        let Some(element) = root.children().find(is_latency) else { return Ok(None) };
        let words = |tag: &str| -> Vec<&str> {
            let lists = element.children().filter(|child| child.has_tag_name(tag));
            lists.filter_map(|list| list.text()).flat_map(str::split_ascii_whitespace).collect()
        };
        let mut ids = Vec::new();
        for word in words("indexes") {
            // Indexing by gp_index is used for types without unique numbers only.
            ids.push(Pnode(self.document.small(word, "a NUMA node in <indexes>")?));
        }
        let mut values = Vec::new();
        for word in words("u64values") {
            values.push(self.document.parse::<u32>(word, "a distance in <u64values>")?);
        }
        Ok(square(&ids, &values))
    }

    /// Version 1: factors of a base, of the objects in document order.
    fn distances1(
        &self,
        root: Element<'_, '_>,
        ids: &[Pnode],
    ) -> Result<Option<Matrix>, ReadError> {
        let is_of_nodes = |element: &Element<'_, '_>| {
            element.has_tag_name("distances")
                && element.attribute("nbobjs") == Some(ids.len().to_string().as_str())
        };
        let Some(element) = root.descendants().find(is_of_nodes) else { return Ok(None) };
        let base = match element.attribute("latency_base") {
            Some(text) => self.document.parse::<f64>(text, "a latency_base")?,
            None => return Ok(None),
        };
        let mut values = Vec::new();
        for latency in element.children().filter(|child| child.has_tag_name("latency")) {
            let Some(text) = latency.attribute("value") else {
                return Err(self.document.lacks("a value at each <latency>"));
            };
            let distance = self.document.parse::<f64>(text, "a latency value")? * base;
            if !(0.0..=65_535.0).contains(&distance) {
                return Err(self.document.value(text, "a latency value"));
            }
            values.push(distance.round() as u32);
        }
        Ok(square(ids, &values))
    }

    fn packages(&self, online: &CpuSet) -> Result<Vec<Package>, ReadError> {
        let mut packages = Vec::new();
        for object in self.of_type(&["Package", "Socket"]) {
            let cpus = self.cpus(object, online)?;
            let firmware_id = match object.attribute("os_index") {
                Some(text) => Some(self.document.parse(text, "an os_index")?),
                None => None,
            };
            packages.push(Package { cpus, firmware_id });
        }
        packages.retain(|package| !package.cpus.is_empty());
        packages.sort_by_key(|package| package.cpus.first());
        Ok(packages)
    }

    fn l3_domains(&self, online: &CpuSet) -> Result<Vec<L3Domain>, ReadError> {
        let mut domains = Vec::new();
        for object in self.of_type(&["L3Cache", "Cache"]) {
            let (depth, kind) = (object.attribute("depth"), object.attribute("cache_type"));
            // Type 0 is unified; version 1.0 does not write it.
            if depth.is_some_and(|depth| depth != "3") || kind.is_some_and(|kind| kind != "0") {
                continue;
            }
            let size_bytes = self.document.number(object, "cache_size")?;
            let kernel_id = match object.attribute("os_index") {
                Some(text) => Some(self.document.parse(text, "an os_index")?),
                None => None,
            };
            let cpus = self.cpus(object, online)?;
            let size_bytes = size_bytes.filter(|bytes| *bytes > 0);
            domains.push(L3Domain { cpus, size_bytes, kernel_id });
        }
        domains.retain(|domain| !domain.cpus.is_empty());
        domains.sort_by_key(|domain| domain.cpus.first());
        Ok(domains)
    }

    fn cores(&self, online: &CpuSet) -> Result<Vec<Core>, ReadError> {
        let mut cores = Vec::new();
        for object in self.of_type(&["Core"]) {
            cores.push(Core { cpus: self.cpus(object, online)? });
        }
        cores.retain(|core| !core.cpus.is_empty());
        cores.sort_by_key(|core| core.cpus.first());
        Ok(cores)
    }

    fn page_sizes(&self) -> Result<Vec<PageSize>, ReadError> {
        let mut sizes = BTreeSet::new();
        let pages = self.objects.iter().flat_map(|object| object.children());
        for page in pages.filter(|child| child.has_tag_name("page_type")) {
            sizes.extend(self.document.number(&page, "size")?.filter(|n| *n > 0).map(PageSize));
        }
        if sizes.iter().all(|size| size.is_huge()) {
            sizes.insert(PageSize::BASE_4K);
        }
        Ok(sizes.into_iter().collect())
    }

    fn allowed(&self, topology: &Topology) -> Result<Allowed, ReadError> {
        let nodes: NodeSet = topology.nodes.iter().map(|node| node.id).collect();
        let mut allowed = Allowed {
            cpus: topology.online.clone(),
            memory_nodes: nodes.clone(),
            limited_by: None,
        };
        if let Some(machine) = self.of_type(&["Machine"]).next() {
            if let Some(cpus) = self.mask::<Pcpu>(machine, "allowed_cpuset")? {
                allowed.cpus = cpus.intersection(&topology.online);
            }
            if let Some(memory) = self.mask::<Pnode>(machine, "allowed_nodeset")? {
                allowed.memory_nodes = memory.intersection(&nodes);
            }
        }
        if allowed.cpus != topology.online || allowed.memory_nodes != nodes {
            allowed.limited_by = Some(format!("{} (allowed_cpuset)", self.document.name));
        }
        Ok(allowed)
    }

    fn devices(&self, topology: &Topology) -> Result<Vec<PciDevice>, ReadError> {
        let mut devices = Vec::new();
        for object in self.of_type(&["PCIDev"]) {
            let Some(address) = object.attribute("pci_busid") else { continue };
            let Some(text) = object.attribute("pci_type") else {
                return Err(self.document.lacks("a pci_type at each PCIDev"));
            };
            let ids = pci_ids(text).ok_or_else(|| self.document.value(text, "a pci_type"))?;
            let class = u32::from(ids[0]) << 8;
            let children = object.descendants().skip(1);
            let names = children.filter_map(|child| child.attribute("name"));
            let names = names.filter(|name| !name.starts_with(char::is_uppercase));
            devices.push(PciDevice {
                address: address.to_owned(),
                kind: pci::kind(class),
                class,
                vendor: Some(ids[1]),
                device: Some(ids[2]),
                locality: self.locality(*object, topology)?,
                names: names.map(str::to_owned).collect(),
            });
        }
        devices.sort_by(|a, b| a.address.cmp(&b.address));
        Ok(devices)
    }

    /// Devices hang below the object whose CPUs are near; below the machine they may be anywhere.
    fn locality(
        &self,
        device: Element<'_, '_>,
        topology: &Topology,
    ) -> Result<Locality, ReadError> {
        for above in device.ancestors().skip(1) {
            let Some(cpus) = self.mask::<Pcpu>(&above, "cpuset")? else { continue };
            let near = cpus.intersection(&topology.online);
            let node = topology.nodes.iter().find(|node| node.cpus == near);
            return Ok(match node {
                _ if near.is_empty() || near == topology.online => Locality::Unknown,
                Some(node) => Locality::Node(node.id),
                None => Locality::NearCpus(near),
            });
        }
        Ok(Locality::Unknown)
    }
}

type Matrix = BTreeMap<Pnode, BTreeMap<Pnode, u32>>;

fn square(ids: &[Pnode], values: &[u32]) -> Option<Matrix> {
    if ids.is_empty() || values.len() != ids.len() * ids.len() {
        return None;
    }
    let row = |row: &[u32]| ids.iter().copied().zip(row.iter().copied()).collect();
    Some(ids.iter().copied().zip(values.chunks(ids.len()).map(row)).collect())
}

/// `0200 [8086:1521] [8086:0001] 01`: class, vendor, device.
fn pci_ids(text: &str) -> Option<[u16; 3]> {
    let (class, rest) = text.split_once(" [")?;
    let (vendor, rest) = rest.split_once(':')?;
    let (device, _) = rest.split_once(']')?;
    let hex = |digits: &str| u16::from_str_radix(digits.trim(), 16).ok();
    Some([hex(class)?, hex(vendor)?, hex(device)?])
}
