//! What the simulated hypervisor takes from a domain XML: who runs where and whose memory it is.
//!
//! It reads the text with code of its own. Nothing is shared with the libvirt adapter's editor, so
//! that an element written wrongly there is misread by nobody here, and verify sees it.

use crate::cpuset;
use crate::xml::{self, XmlError};
use numawise_model::guest::GuestCell;
use numawise_model::{
    CpuSet, GuestUuid, Id, IdSet, MAX_ID, MemoryMode, NodeSet, PageSize, Vcpu, VcpuSet, Vnode,
};
use roxmltree::{Document, Node};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct Domain {
    pub name: String,
    /// Absent before the first define, which makes one up.
    pub uuid: Option<GuestUuid>,
    pub vcpus_max: u32,
    /// The vCPUs that are there from the start; each has a thread.
    pub vcpus: Vec<Vcpu>,
    /// `<vcpu cpuset>`: where everything runs that has no pin of its own.
    pub default_cpuset: Option<CpuSet>,
    pub vcpu_pins: BTreeMap<Vcpu, CpuSet>,
    pub emulator_pin: Option<CpuSet>,
    pub iothreads: Vec<u32>,
    pub iothread_pins: BTreeMap<u32, CpuSet>,
    /// Product of `<topology>`.
    pub topology_vcpus: Option<u64>,
    pub memory_bytes: u64,
    /// Empty: the guest has no NUMA.
    pub cells: Vec<GuestCell>,
    /// `<numatune><memory>`.
    pub memory: Option<Tuning>,
    /// `<numatune><memnode>`.
    pub memnodes: BTreeMap<Vnode, Tuning>,
    pub hugepages: Option<Vec<Hugepages>>,
    /// `<allocation mode='immediate'>`: memory is touched before the guest runs.
    pub immediate: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning {
    pub mode: MemoryMode,
    pub nodes: NodeSet,
}

/// `<page>` under `<hugepages>`; without vNUMA nodes it is meant for all the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hugepages {
    pub size: PageSize,
    pub vnodes: Option<Vec<Vnode>>,
}

impl Domain {
    pub fn read(text: &str) -> Result<Self, XmlError> {
        let document = Document::parse(text)?;
        let root = document.root_element();
        if root.tag_name().name() != "domain" {
            return Err(XmlError::NotADomain(root.tag_name().name().to_owned()));
        }
        let (vcpus_max, vcpus) = vcpus(root)?;
        let cputune = xml::child(root, "cputune");
        let numatune = xml::child(root, "numatune");
        let cpu = xml::child(root, "cpu");
        let iothreads = iothreads(root)?;
        let cells = cells(cpu)?;
        let memory = xml::required_child(root, "memory")?;
        let memory_bytes = match cells.is_empty() {
            true => xml::bytes(memory, xml::text(memory)?)?,
            // libvirt makes the guest's memory the sum of its nodes.
            false => sum(root, cells.iter().map(|cell| cell.memory_bytes))?,
        };
        Ok(Self {
            name: name(root)?,
            uuid: xml::child(root, "uuid").map(uuid).transpose()?,
            vcpus_max,
            vcpus,
            default_cpuset: xml::child(root, "vcpu").map_or(Ok(None), |vcpu| {
                vcpu.attribute("cpuset").map(|text| set(vcpu, "cpuset", text)).transpose()
            })?,
            vcpu_pins: vcpu_pins(cputune, vcpus_max)?,
            emulator_pin: cputune
                .and_then(|tune| xml::child(tune, "emulatorpin"))
                .map(|pin| required_set(pin, "cpuset"))
                .transpose()?,
            iothread_pins: iothread_pins(cputune, &iothreads)?,
            iothreads,
            topology_vcpus: topology_vcpus(cpu)?,
            memory_bytes,
            cells,
            memory: memory_tuning(numatune)?,
            memnodes: memnodes(numatune)?,
            hugepages: hugepages(root)?,
            immediate: xml::child(root, "memoryBacking")
                .and_then(|backing| xml::child(backing, "allocation"))
                .is_some_and(|node| node.attribute("mode") == Some("immediate")),
        })
    }
}

fn name(root: Node<'_, '_>) -> Result<String, XmlError> {
    let node = xml::required_child(root, "name")?;
    let name = xml::text(node)?;
    if name.contains('/') {
        return Err(xml::bad(node, "name", name, "a name without '/'"));
    }
    Ok(name.to_owned())
}

fn uuid(node: Node<'_, '_>) -> Result<GuestUuid, XmlError> {
    let text = xml::text(node)?;
    let uuid = uuid::Uuid::parse_str(text)
        .map_err(|_| xml::bad(node, "uuid", text, "32 hexadecimal digits"))?;
    Ok(GuestUuid(uuid.hyphenated().to_string()))
}

/// The most there can be, and those that are there from the start.
fn vcpus(root: Node<'_, '_>) -> Result<(u32, Vec<Vcpu>), XmlError> {
    let Some(node) = xml::child(root, "vcpu") else {
        return Ok((1, vec![Vcpu(0)]));
    };
    let max: u32 = xml::number(node, "vcpu", xml::text(node)?)?;
    let current = match node.attribute("current") {
        Some(text) => xml::number(node, "current", text)?,
        None => max,
    };
    if max == 0 || max > MAX_ID + 1 || current == 0 || current > max {
        let wanted = "1 or more vCPUs, of which at most all are there from the start";
        return Err(xml::bad(node, "vcpu", &format!("{current} of {max}"), wanted));
    }
    let Some(list) = xml::child(root, "vcpus") else {
        return Ok((max, (0..current).map(Vcpu).collect()));
    };
    let mut enabled = Vec::new();
    for vcpu in xml::children(list, "vcpu") {
        let id: u32 = xml::number_attribute(vcpu, "id")?;
        if id >= max {
            return Err(xml::bad(vcpu, "id", &id.to_string(), "one of the guest's vCPUs"));
        }
        if vcpu.attribute("enabled") == Some("yes") {
            enabled.push(Vcpu(id));
        }
    }
    Ok((max, enabled))
}

fn vcpu_pins(
    cputune: Option<Node<'_, '_>>,
    vcpus_max: u32,
) -> Result<BTreeMap<Vcpu, CpuSet>, XmlError> {
    let mut pins = BTreeMap::new();
    for pin in cputune.into_iter().flat_map(|tune| xml::children(tune, "vcpupin")) {
        let vcpu = xml::number_attribute(pin, "vcpu")?;
        let cpus = required_set(pin, "cpuset")?;
        // libvirt passes over pins of vCPUs that there are not.
        if vcpu < vcpus_max && pins.insert(Vcpu(vcpu), cpus).is_some() {
            return Err(xml::bad(pin, "vcpu", &vcpu.to_string(), "one vcpupin for each vCPU"));
        }
    }
    Ok(pins)
}

fn iothread_pins(
    cputune: Option<Node<'_, '_>>,
    iothreads: &[u32],
) -> Result<BTreeMap<u32, CpuSet>, XmlError> {
    let mut pins = BTreeMap::new();
    for pin in cputune.into_iter().flat_map(|tune| xml::children(tune, "iothreadpin")) {
        let id = xml::number_attribute(pin, "iothread")?;
        if !iothreads.contains(&id) {
            return Err(xml::bad(pin, "iothread", &id.to_string(), "an I/O thread of the guest"));
        }
        if pins.insert(id, required_set(pin, "cpuset")?).is_some() {
            return Err(xml::bad(pin, "iothread", &id.to_string(), "one pin for each I/O thread"));
        }
    }
    Ok(pins)
}

/// Ids from `<iothreadids>`, and as many more as `<iothreads>` asks for, from the lowest free one.
fn iothreads(root: Node<'_, '_>) -> Result<Vec<u32>, XmlError> {
    let mut ids = Vec::new();
    for node in
        xml::child(root, "iothreadids").into_iter().flat_map(|list| xml::children(list, "iothread"))
    {
        ids.push(xml::number_attribute(node, "id")?);
    }
    if let Some(node) = xml::child(root, "iothreads") {
        let count: u32 = xml::number(node, "iothreads", xml::text(node)?)?;
        if count > MAX_ID {
            return Err(xml::bad(node, "iothreads", &count.to_string(), "fewer I/O threads"));
        }
        let free: Vec<u32> = (1..).filter(|id| !ids.contains(id)).take(count as usize).collect();
        let missing = (count as usize).saturating_sub(ids.len());
        ids.extend(free.into_iter().take(missing));
    }
    ids.sort_unstable();
    Ok(ids)
}

fn topology_vcpus(cpu: Option<Node<'_, '_>>) -> Result<Option<u64>, XmlError> {
    let Some(topology) = cpu.and_then(|cpu| xml::child(cpu, "topology")) else {
        return Ok(None);
    };
    let mut product: u64 = 1;
    for name in ["sockets", "dies", "clusters", "cores", "threads"] {
        let count = match topology.attribute(name) {
            Some(text) => xml::number::<u32>(topology, name, text)?,
            None if name == "dies" || name == "clusters" => 1,
            None => return Err(xml::missing(topology, name)),
        };
        let wanted = "a topology of fewer than 2^64 CPUs";
        product = product
            .checked_mul(u64::from(count))
            .ok_or_else(|| xml::bad(topology, name, &count.to_string(), wanted))?;
    }
    Ok(Some(product))
}

fn cells(cpu: Option<Node<'_, '_>>) -> Result<Vec<GuestCell>, XmlError> {
    let mut cells: Vec<GuestCell> = Vec::new();
    let numa = cpu.and_then(|cpu| xml::child(cpu, "numa"));
    for node in numa.into_iter().flat_map(|numa| xml::children(numa, "cell")) {
        let id = match node.attribute("id") {
            Some(text) => xml::number(node, "id", text)?,
            None => cells.len() as u32,
        };
        let memory = node.attribute("memory").ok_or_else(|| xml::missing(node, "memory"))?;
        cells.push(GuestCell {
            id: Vnode(id),
            vcpus: match node.attribute("cpus") {
                Some(text) => set(node, "cpus", text)?,
                None => VcpuSet::new(),
            },
            memory_bytes: xml::bytes(node, memory)?,
            distances: distances(node)?,
        });
    }
    cells.sort_by_key(|cell| cell.id);
    Ok(cells)
}

fn distances(cell: Node<'_, '_>) -> Result<BTreeMap<Vnode, u32>, XmlError> {
    let mut distances = BTreeMap::new();
    let list = xml::child(cell, "distances");
    for sibling in list.into_iter().flat_map(|list| xml::children(list, "sibling")) {
        let id = Vnode(xml::number_attribute(sibling, "id")?);
        let value: u32 = xml::number_attribute(sibling, "value")?;
        if !(10..=255).contains(&value) {
            return Err(xml::bad(
                sibling,
                "value",
                &value.to_string(),
                "a distance from 10 to 255",
            ));
        }
        distances.insert(id, value);
    }
    Ok(distances)
}

/// `placement='auto'` asks numad, which the simulated host has not: no node set, no binding.
fn memory_tuning(numatune: Option<Node<'_, '_>>) -> Result<Option<Tuning>, XmlError> {
    let Some(memory) = numatune.and_then(|tune| xml::child(tune, "memory")) else {
        return Ok(None);
    };
    match memory.attribute("nodeset") {
        Some(text) => {
            let nodes = set(memory, "nodeset", text)?;
            Ok(Some(Tuning { mode: mode(memory)?, nodes }))
        }
        None => Ok(None),
    }
}

fn memnodes(numatune: Option<Node<'_, '_>>) -> Result<BTreeMap<Vnode, Tuning>, XmlError> {
    let mut memnodes = BTreeMap::new();
    for node in numatune.into_iter().flat_map(|tune| xml::children(tune, "memnode")) {
        let cell: u32 = xml::number_attribute(node, "cellid")?;
        let tuning = Tuning { mode: mode(node)?, nodes: required_set(node, "nodeset")? };
        if memnodes.insert(Vnode(cell), tuning).is_some() {
            return Err(xml::bad(node, "cellid", &cell.to_string(), "one memnode for each cell"));
        }
    }
    Ok(memnodes)
}

fn mode(node: Node<'_, '_>) -> Result<MemoryMode, XmlError> {
    let Some(word) = node.attribute("mode") else {
        return Ok(MemoryMode::Strict);
    };
    MemoryMode::from_word(word)
        .ok_or_else(|| xml::bad(node, "mode", word, "strict, preferred, restrictive or interleave"))
}

fn hugepages(root: Node<'_, '_>) -> Result<Option<Vec<Hugepages>>, XmlError> {
    let Some(hugepages) =
        xml::child(root, "memoryBacking").and_then(|backing| xml::child(backing, "hugepages"))
    else {
        return Ok(None);
    };
    let mut pages = Vec::new();
    for page in xml::children(hugepages, "page") {
        let size = page.attribute("size").ok_or_else(|| xml::missing(page, "size"))?;
        pages.push(Hugepages {
            size: PageSize(xml::bytes(page, size)?),
            vnodes: match page.attribute("nodeset") {
                Some(text) => {
                    let ids: NodeSet = set(page, "nodeset", text)?;
                    Some(ids.iter().map(|id| Vnode(id.0)).collect())
                }
                None => None,
            },
        });
    }
    Ok(Some(pages))
}

fn required_set<I: Id>(node: Node<'_, '_>, attribute: &'static str) -> Result<IdSet<I>, XmlError> {
    let text = node.attribute(attribute).ok_or_else(|| xml::missing(node, attribute))?;
    set(node, attribute, text)
}

fn set<I: Id>(
    node: Node<'_, '_>,
    attribute: &'static str,
    text: &str,
) -> Result<IdSet<I>, XmlError> {
    cpuset::parse(text).map_err(|why| xml::bad(node, attribute, text, &why))
}

fn sum(root: Node<'_, '_>, mut parts: impl Iterator<Item = u64>) -> Result<u64, XmlError> {
    parts
        .try_fold(0u64, u64::checked_add)
        .ok_or_else(|| xml::bad(root, "memory", "the sum of the cells", "fewer than 2^64 bytes"))
}
