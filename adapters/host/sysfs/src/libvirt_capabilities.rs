//! libvirt's `virsh capabilities`: cells with their memory, distances and CPUs, and cache banks.
//!
//! It says nothing of free memory or pages, of devices, or of who else runs there; those stay
//! unknown. Cache banks are listed only where libvirt could read resctrl or the kernel's caches.

use crate::error::ReadError;
use crate::shape;
use crate::xml::{self, Document};
use numawise_model::{
    Allowed, Core, CpuSet, Host, L3Domain, Levels, Node, NodeLevels, Package, PageSize, Pcpu,
    Pnode, Topology, parse_list,
};
use roxmltree::Node as Element;
use std::collections::{BTreeMap, BTreeSet};

pub fn read(name: &str, text: &str) -> Result<Host, ReadError> {
    let tree = xml::parse(name, text)?;
    let document = Document { name };
    let host = child(tree.root_element(), "host").ok_or_else(|| document.lacks("<host>"))?;
    let cells = child(host, "topology").and_then(|topology| child(topology, "cells"));
    let cells = cells.ok_or_else(|| document.lacks("<topology><cells>"))?;
    let cpus = read_cpus(&document, cells)?;
    let mut topology = Topology {
        model_name: cpu_text(host, "model"),
        architecture: cpu_text(host, "arch"),
        offline: cpus.offline.clone(),
        packages: cpus.packages(),
        cores: cpus.cores(),
        l3_domains: read_l3(&document, host, &cpus.online)?,
        page_sizes: read_page_sizes(&document, cells)?,
        online: cpus.online,
        ..Topology::default()
    };
    for cell in cells.children().filter(|cell| cell.has_tag_name("cell")) {
        topology.nodes.push(read_cell(&document, cell, &topology.online)?);
    }
    topology.nodes.sort_by_key(|node| node.id);
    topology.memory_total_bytes = topology.nodes.iter().map(|node| node.memory_total_bytes).sum();
    topology.allowed = Allowed {
        cpus: topology.online.clone(),
        memory_nodes: topology.nodes.iter().map(|node| node.id).collect(),
        limited_by: None,
    };
    let levels = Levels {
        nodes: topology.nodes.iter().map(|node| (node.id, NodeLevels::default())).collect(),
        utilisation: BTreeMap::new(),
    };
    let findings = shape::findings(&topology);
    Ok(Host { topology, levels, findings })
}

fn child<'d, 'i>(element: Element<'d, 'i>, tag: &str) -> Option<Element<'d, 'i>> {
    element.children().find(|child| child.has_tag_name(tag))
}

fn cpu_text(host: Element<'_, '_>, tag: &str) -> Option<String> {
    child(child(host, "cpu")?, tag)?.text().map(|text| text.trim().to_owned())
}

#[derive(Debug, Default)]
struct Cpus {
    online: CpuSet,
    offline: CpuSet,
    sockets: BTreeMap<i64, CpuSet>,
    siblings: BTreeSet<CpuSet>,
}

impl Cpus {
    fn packages(&self) -> Vec<Package> {
        let package =
            |(id, cpus): (&i64, &CpuSet)| Package { cpus: cpus.clone(), firmware_id: Some(*id) };
        let mut packages: Vec<Package> = self.sockets.iter().map(package).collect();
        packages.sort_by_key(|package| package.cpus.first());
        packages
    }

    /// Sorted by lowest CPU, as the set of sets is.
    fn cores(&self) -> Vec<Core> {
        self.siblings.iter().map(|cpus| Core { cpus: cpus.clone() }).collect()
    }
}

/// CPUs of all cells. One that is offline has an id and nothing else.
fn read_cpus(document: &Document<'_>, cells: Element<'_, '_>) -> Result<Cpus, ReadError> {
    let elements: Vec<Element<'_, '_>> =
        cells.descendants().filter(|element| element.has_tag_name("cpu")).collect();
    let described = elements.iter().any(|cpu| cpu.has_attribute("siblings"));
    let mut cpus = Cpus::default();
    for element in elements {
        let cpu = Pcpu(document.id(&element, "id")?);
        if described && !element.has_attribute("siblings") {
            cpus.offline.insert(cpu);
            continue;
        }
        cpus.online.insert(cpu);
        if let Some(text) = element.attribute("socket_id") {
            let id = document.parse(text, "a socket_id")?;
            cpus.sockets.entry(id).or_default().insert(cpu);
        }
        if let Some(text) = element.attribute("siblings") {
            let mut siblings = list(document, "siblings", text)?;
            siblings.insert(cpu);
            cpus.siblings.insert(siblings);
        }
    }
    if cpus.online.is_empty() {
        return Err(document.lacks("a <cpu> in its cells"));
    }
    let online = &cpus.online;
    cpus.siblings = cpus.siblings.iter().map(|set| set.intersection(online)).collect();
    Ok(cpus)
}

fn list(document: &Document<'_>, attribute: &str, text: &str) -> Result<CpuSet, ReadError> {
    let file = format!("{}: {attribute}", document.name);
    parse_list(text).map_err(|source| ReadError::BadSet { file, source })
}

fn read_cell(
    document: &Document<'_>,
    cell: Element<'_, '_>,
    online: &CpuSet,
) -> Result<Node, ReadError> {
    let mut cpus = CpuSet::new();
    for cpu in cell.descendants().filter(|element| element.has_tag_name("cpu")) {
        cpus.insert(Pcpu(document.id(&cpu, "id")?));
    }
    let memory_total_bytes = match child(cell, "memory") {
        Some(memory) => match memory.text() {
            Some(text) => Some(bytes(document, memory, text)?),
            None => return Err(document.lacks("a size in each <memory>")),
        },
        None => None,
    };
    let mut distances = BTreeMap::new();
    let siblings = child(cell, "distances").into_iter().flat_map(|element| element.children());
    for sibling in siblings.filter(|element| element.has_tag_name("sibling")) {
        let Some(text) = sibling.attribute("value") else {
            return Err(document.lacks("a value at each <sibling>"));
        };
        let value = document.parse(text, "a distance")?;
        distances.insert(Pnode(document.id(&sibling, "id")?), value);
    }
    let id = Pnode(document.id(&cell, "id")?);
    Ok(Node { id, cpus: cpus.intersection(online), memory_total_bytes, distances })
}

/// A number with the element's unit.
fn bytes(document: &Document<'_>, element: Element<'_, '_>, text: &str) -> Result<u64, ReadError> {
    let number: u64 = document.parse(text, "a size")?;
    let unit = element.attribute("unit").unwrap_or("KiB");
    let shift = match unit {
        "b" | "bytes" | "B" => 0,
        "KiB" | "k" => 10,
        "MiB" | "M" => 20,
        "GiB" | "G" => 30,
        other => return Err(document.value(other, "a unit such as KiB")),
    };
    number.checked_mul(1 << shift).ok_or_else(|| document.value(text, "a size"))
}

fn read_page_sizes(
    document: &Document<'_>,
    cells: Element<'_, '_>,
) -> Result<Vec<PageSize>, ReadError> {
    let mut sizes = BTreeSet::new();
    for pages in cells.descendants().filter(|element| element.has_tag_name("pages")) {
        let Some(size) = pages.attribute("size") else {
            return Err(document.lacks("a size at each <pages>"));
        };
        sizes.insert(PageSize(bytes(document, pages, size)?));
    }
    if sizes.iter().all(|size| size.is_huge()) {
        sizes.insert(PageSize::BASE_4K);
    }
    Ok(sizes.into_iter().collect())
}

/// Banks of level 3 for data and code alike; with code and data apart (CDP) a bank is listed twice.
fn read_l3(
    document: &Document<'_>,
    host: Element<'_, '_>,
    online: &CpuSet,
) -> Result<Vec<L3Domain>, ReadError> {
    let mut domains: Vec<L3Domain> = Vec::new();
    let banks = child(host, "cache").into_iter().flat_map(|cache| cache.children());
    for bank in banks.filter(|bank| bank.has_tag_name("bank")) {
        if bank.attribute("level") != Some("3") {
            continue;
        }
        let Some(text) = bank.attribute("cpus") else {
            return Err(document.lacks("the cpus at each <bank>"));
        };
        let cpus = list(document, "cpus", text)?.intersection(online);
        if cpus.is_empty() || domains.iter().any(|domain| domain.cpus == cpus) {
            continue;
        }
        let size_bytes = match bank.attribute("size") {
            Some(size) => Some(bytes(document, bank, size)?),
            None => None,
        };
        let kernel_id = match bank.attribute("id") {
            Some(id) => Some(document.parse(id, "a bank id")?),
            None => None,
        };
        domains.push(L3Domain { cpus, size_bytes, kernel_id });
    }
    domains.sort_by_key(|domain| domain.cpus.first());
    Ok(domains)
}
