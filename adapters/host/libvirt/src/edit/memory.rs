//! `<numatune>` and the hugepages of `<memoryBacking>`.

use super::{insertion, ranked, removal};
use crate::error::DomainXmlError;
use crate::markup::Markup;
use crate::order;
use crate::patch::{ChildChanges, Patch};
use crate::read;
use crate::sheet::{attr, attr_value, children, whole_number};
use numawise_model::guest::GuestHugepages;
use numawise_model::{MemoryMode, NodeSet, PageSize, Pnode, VirtualTopology};
use roxmltree::Node;
use std::collections::{BTreeMap, BTreeSet};

/// What `<numatune>` is to hold: the element for the whole guest, and one per vNUMA node.
struct Wanted {
    memory: Option<(MemoryMode, NodeSet)>,
    memnodes: BTreeMap<u32, (MemoryMode, NodeSet)>,
}

impl Wanted {
    fn of(topology: &VirtualTopology, mode: MemoryMode) -> Self {
        let nodes = topology.memory_nodes();
        let per_node = topology.nodes.iter().map(|n| (n.id.0, (mode, n.memory_nodes.clone())));
        let memnodes = match mode {
            // Interleaving is over all nodes; a memnode names one.
            MemoryMode::Interleave => BTreeMap::new(),
            _ => per_node.collect(),
        };
        // For the guest as a whole libvirt can prefer one node only, and does not start a guest
        // that prefers several; its memnodes say everything that is needed.
        let one_only = mode == MemoryMode::Preferred;
        let memory = (!one_only || nodes.len() == 1).then_some((mode, nodes));
        Self { memory, memnodes }
    }
}

pub(super) fn set_numatune(
    patch: &mut Patch,
    topology: &VirtualTopology,
    mode: MemoryMode,
) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    let mut wanted = Wanted::of(topology, mode);
    let tune = sheet.find(&["numatune"])?;
    let mut remove = Vec::new();
    for node in tune.iter().flat_map(|tune| tune.children()) {
        let target = match memory_or_cell(node) {
            None => continue,
            Some(None) => wanted.memory.take(),
            Some(Some(cell)) => wanted.memnodes.remove(&cell),
        };
        match target {
            Some((mode, nodes)) => set_policy(patch, node, mode, &nodes),
            None => remove.push(node),
        }
    }
    let mut insert = Vec::new();
    if let Some((mode, nodes)) = wanted.memory {
        let memory = Markup::new("memory").with("mode", mode.as_str()).with("nodeset", nodes);
        insert.push(ranked("numatune", "memory", 0, memory));
    }
    for (cell, (mode, nodes)) in wanted.memnodes {
        let memnode = Markup::new("memnode").with("cellid", cell).with("mode", mode.as_str());
        insert.push(ranked("numatune", "memnode", cell, memnode.with("nodeset", nodes)));
    }
    if let Some(tune) = tune {
        let changes = ChildChanges { remove, insert, rank: order::rank, keep_empty: false };
        patch.change_children(tune, changes);
    } else if !insert.is_empty() {
        let children = insert.into_iter().map(|(_, markup)| markup).collect();
        let tune = Markup::new("numatune").holding(children);
        let changes = insertion(vec![ranked("domain", "numatune", 0, tune)]);
        patch.change_children(sheet.domain(), changes);
    }
    Ok(())
}

fn set_policy(patch: &mut Patch, node: Node, mode: MemoryMode, nodes: &NodeSet) {
    if attr_value(node, "mode").unwrap_or("strict") != mode.as_str() {
        patch.set_attribute(node, "mode", mode.as_str());
    }
    if attr_value(node, "placement") == Some("auto") {
        patch.remove_attribute(node, "placement");
    }
    let written = attr_value(node, "nodeset").and_then(crate::cpuset::parse::<Pnode>);
    if written.as_ref() != Some(nodes) {
        patch.set_attribute(node, "nodeset", &nodes.to_string());
    }
}

/// `Some(None)` for `<memory>`, the cell for a `<memnode>`, `None` for anything else.
fn memory_or_cell(node: Node) -> Option<Option<u32>> {
    if crate::sheet::named(node, "memory") {
        return Some(None);
    }
    if !crate::sheet::named(node, "memnode") {
        return None;
    }
    let cell = attr_value(node, "cellid").and_then(whole_number)?;
    Some(Some(u32::try_from(cell).ok()?))
}

pub(super) fn remove_numatune(patch: &mut Patch) -> Result<(), DomainXmlError> {
    if let Some(tune) = patch.sheet.find(&["numatune"])? {
        let gone = tune.children().filter(|node| memory_or_cell(*node).is_some()).collect();
        patch.change_children(tune, removal(gone));
    }
    Ok(())
}

/// One `<page>` of the size, for every vNUMA node; other children of `<memoryBacking>` stay.
pub(super) fn set_page_size(
    patch: &mut Patch,
    topology: &VirtualTopology,
    wanted: PageSize,
) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    let found = sheet.find(&["memoryBacking", "hugepages"])?;
    if !wanted.is_huge() {
        if let Some(node) = found {
            let Some(backing) = node.parent_element() else { return Ok(()) };
            patch.change_children(backing, removal(vec![node]));
        }
        return Ok(());
    }
    let page = Markup::new("page").with("size", wanted.bytes() / 1024).with("unit", "KiB");
    let element = Markup::new("hugepages").holding(vec![page]);
    if let Some(node) = found {
        if !already_says(read::hugepages(sheet)?.as_deref(), topology, wanted) {
            patch.replace_with(node, &element);
        }
        return Ok(());
    }
    let changes = match sheet.find(&["memoryBacking"])? {
        Some(backing) => {
            patch.change_children(
                backing,
                insertion(vec![ranked("memoryBacking", "hugepages", 0, element)]),
            );
            return Ok(());
        }
        None => {
            let backing = Markup::new("memoryBacking").holding(vec![element]);
            insertion(vec![ranked("domain", "memoryBacking", 0, backing)])
        }
    };
    patch.change_children(sheet.domain(), changes);
    Ok(())
}

/// Whether every vNUMA node has pages of that size already. An empty `<hugepages/>` takes the
/// host's default size, which this text does not tell.
fn already_says(
    pages: Option<&[GuestHugepages]>,
    topology: &VirtualTopology,
    wanted: PageSize,
) -> bool {
    let Some(pages) = pages else { return false };
    if pages.is_empty() || pages.iter().any(|page| page.size != wanted) {
        return false;
    }
    topology.nodes.iter().all(|node| {
        pages.iter().any(|page| page.vnodes.as_ref().is_none_or(|cells| cells.contains(&node.id)))
    }) && pages
        .iter()
        .flat_map(|page| page.vnodes.iter().flatten())
        .all(|cell| topology.nodes.iter().any(|node| node.id == *cell))
}

/// Without vNUMA a page size cannot be tied to a vNUMA node any more.
pub(super) fn forget_cells_in_hugepages(patch: &mut Patch) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    let Some(hugepages) = sheet.find(&["memoryBacking", "hugepages"])? else { return Ok(()) };
    let (tied, free): (Vec<Node>, Vec<Node>) =
        children(hugepages, "page").partition(|page| attr(*page, "nodeset").is_some());
    match (tied.as_slice(), free.as_slice()) {
        ([], _) => {}
        ([first, others @ ..], []) => {
            let sizes: BTreeSet<PageSize> =
                read::hugepages(sheet)?.into_iter().flatten().map(|page| page.size).collect();
            if sizes.len() > 1 {
                return Err(sheet.in_the_way(
                    hugepages,
                    "has pages of several sizes, each for some vNUMA nodes, and without vNUMA the \
                     guest can have one size; leave one <page> without a nodeset first",
                ));
            }
            patch.remove_attribute(*first, "nodeset");
            patch.change_children(hugepages, removal(others.to_vec()));
        }
        _ => patch.change_children(hugepages, removal(tied)),
    }
    Ok(())
}
