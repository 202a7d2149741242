//! `<cpu>`: the topology, the L3 element and the cells of `<numa>`.

use super::{insertion, ranked, removal};
use crate::error::DomainXmlError;
use crate::markup::Markup;
use crate::order;
use crate::patch::{ChildChanges, Patch, Rank};
use crate::read;
use crate::sheet::{Sheet, attr_value, children, named, whole_number};
use crate::size;
use numawise_model::guest::takes_l3_cache;
use numawise_model::{GuestCpuTopology, VcpuSet, VirtualTopology, Vnode, VnumaNode};
use roxmltree::Node;
use std::collections::BTreeMap;

pub(super) fn set(patch: &mut Patch, wanted: &VirtualTopology) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    for node in &wanted.nodes {
        if !node.memory_bytes.is_multiple_of(1024) {
            return Err(DomainXmlError::Impossible(format!(
                "vNUMA node {} is to have {} bytes; libvirt counts in whole KiB",
                node.id, node.memory_bytes
            )));
        }
    }
    check_references(sheet, wanted.nodes.len())?;
    let Some(cpu) = sheet.find(&["cpu"])? else {
        let numa = Markup::new("numa").holding(wanted.nodes.iter().map(cell).collect());
        let cpu = Markup::new("cpu").holding(vec![topology(wanted.cpu), numa]);
        let changes = insertion(vec![ranked("domain", "cpu", 0, cpu)]);
        patch.change_children(sheet.domain(), changes);
        return Ok(());
    };
    let mut remove = Vec::new();
    let mut insert: Vec<(Rank, Markup)> = Vec::new();
    insert.extend(set_topology(patch, cpu, wanted.cpu)?);
    set_l3(patch, cpu, wanted.emulate_l3, &mut remove, &mut insert)?;
    match sheet.only(cpu, "numa")? {
        Some(numa) => set_cells(patch, numa, &wanted.nodes)?,
        None => {
            let cells = wanted.nodes.iter().map(cell).collect();
            insert.push(ranked("cpu", "numa", 0, Markup::new("numa").holding(cells)));
        }
    }
    let changes = ChildChanges { remove, insert, rank: order::rank, keep_empty: false };
    patch.change_children(cpu, changes);
    Ok(())
}

pub(super) fn remove(
    patch: &mut Patch,
    before: Option<GuestCpuTopology>,
) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    check_references(sheet, 0)?;
    let Some(cpu) = sheet.find(&["cpu"])? else {
        if let Some(before) = before {
            let cpu = Markup::new("cpu").holding(vec![topology(before)]);
            let changes = insertion(vec![ranked("domain", "cpu", 0, cpu)]);
            patch.change_children(sheet.domain(), changes);
        }
        return Ok(());
    };
    let mut gone: Vec<Node> = sheet.only(cpu, "numa")?.into_iter().collect();
    let mut insert = Vec::new();
    match before {
        Some(before) => insert.extend(set_topology(patch, cpu, before)?),
        None => gone.extend(sheet.only(cpu, "topology")?),
    }
    set_l3(patch, cpu, false, &mut gone, &mut insert)?;
    let mut changes = removal(gone);
    changes.insert = insert;
    patch.change_children(cpu, changes);
    Ok(())
}

/// Edits the element that is there, or gives the one to put in.
fn set_topology(
    patch: &mut Patch,
    cpu: Node,
    wanted: GuestCpuTopology,
) -> Result<Option<(Rank, Markup)>, DomainXmlError> {
    let sheet = patch.sheet;
    let Some(node) = sheet.only(cpu, "topology")? else {
        return Ok(Some(ranked("cpu", "topology", 0, topology(wanted))));
    };
    if read::topology(sheet)? == Some(wanted) {
        return Ok(None);
    }
    let parts = [
        ("sockets", wanted.sockets, true),
        // What is absent means one, and older schemas do not know the attribute.
        ("dies", wanted.dies, wanted.dies > 1),
        ("clusters", wanted.clusters, wanted.clusters > 1),
        ("cores", wanted.cores, true),
        ("threads", wanted.threads, true),
    ];
    for (name, number, needed) in parts {
        if needed || attr_value(node, name).is_some() {
            patch.set_attribute(node, name, &number.to_string());
        }
    }
    Ok(None)
}

fn topology(cpu: GuestCpuTopology) -> Markup {
    let mut element = Markup::new("topology").with("sockets", cpu.sockets).with("dies", cpu.dies);
    if cpu.clusters > 1 {
        element = element.with("clusters", cpu.clusters);
    }
    element.with("cores", cpu.cores).with("threads", cpu.threads)
}

/// numawise's L3 element is `<cache level='3' mode='emulate'/>`. It is written only where libvirt
/// takes one (a CPU with a mode or a model), over whatever cache element stands there, since there
/// can be one only.
fn set_l3<'a, 'x>(
    patch: &mut Patch<'_, 'x>,
    cpu: Node<'a, 'x>,
    wanted: bool,
    remove: &mut Vec<Node<'a, 'x>>,
    insert: &mut Vec<(Rank, Markup)>,
) -> Result<(), DomainXmlError> {
    let found = patch.sheet.only(cpu, "cache")?;
    let is_ours = |cache: &Node| {
        attr_value(*cache, "level").and_then(whole_number) == Some(3)
            && attr_value(*cache, "mode") == Some("emulate")
    };
    let (mode, architecture) = (read::cpu_mode(cpu), read::architecture(patch.sheet)?);
    let possible = takes_l3_cache(mode.as_deref(), architecture.as_deref());
    match found {
        Some(cache) if !wanted && is_ours(&cache) => remove.push(cache),
        Some(cache) if wanted && possible && !is_ours(&cache) => {
            patch.set_attribute(cache, "level", "3");
            patch.set_attribute(cache, "mode", "emulate");
        }
        None if wanted && possible => {
            let cache = Markup::new("cache").with("level", 3).with("mode", "emulate");
            insert.push(ranked("cpu", "cache", 0, cache));
        }
        _ => {}
    }
    Ok(())
}

/// Cells that stay keep their attributes and children that are not numawise's (`memAccess`,
/// `discard`, HMAT caches).
fn set_cells(patch: &mut Patch, numa: Node, nodes: &[VnumaNode]) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    let mut wanted: BTreeMap<Vnode, &VnumaNode> = nodes.iter().map(|n| (n.id, n)).collect();
    let mut gone = Vec::new();
    for (position, node) in children(numa, "cell").enumerate() {
        match wanted.remove(&read::cell_id(sheet, node, position)?) {
            Some(vnode) => set_cell(patch, node, vnode)?,
            None => gone.push(node),
        }
    }
    let mut changes = removal(gone);
    changes.insert = wanted.values().map(|n| ranked("numa", "cell", n.id.0, cell(n))).collect();
    changes.keep_empty = true;
    patch.change_children(numa, changes);
    Ok(())
}

fn set_cell(patch: &mut Patch, node: Node, wanted: &VnumaNode) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    let written: Option<VcpuSet> = attr_value(node, "cpus").and_then(crate::cpuset::parse);
    if wanted.vcpus.is_empty() {
        patch.remove_attribute(node, "cpus");
    } else if written.as_ref() != Some(&wanted.vcpus) {
        patch.set_attribute(node, "cpus", &wanted.vcpus.to_string());
    }
    if size::of_attr(sheet, node, "memory")? != wanted.memory_bytes {
        patch.set_attribute(node, "memory", &(wanted.memory_bytes / 1024).to_string());
        if size::unit_bytes(attr_value(node, "unit")) != Some(1024) {
            patch.set_attribute(node, "unit", "KiB");
        }
    }
    if read::distances(sheet, node)? == wanted.distances {
        return Ok(());
    }
    match (sheet.only(node, "distances")?, wanted.distances.is_empty()) {
        (Some(list), true) => patch.change_children(node, removal(vec![list])),
        (Some(list), false) => patch.replace_with(list, &distances(&wanted.distances)),
        (None, _) => {
            let list = ranked("cell", "distances", 0, distances(&wanted.distances));
            patch.change_children(node, insertion(vec![list]));
        }
    }
    Ok(())
}

fn cell(node: &VnumaNode) -> Markup {
    let mut element = Markup::new("cell").with("id", node.id);
    if !node.vcpus.is_empty() {
        element = element.with("cpus", &node.vcpus);
    }
    let element = element.with("memory", node.memory_bytes / 1024).with("unit", "KiB");
    if node.distances.is_empty() {
        return element;
    }
    element.holding(vec![distances(&node.distances)])
}

fn distances(distances: &BTreeMap<Vnode, u32>) -> Markup {
    let sibling =
        |(id, value): (&Vnode, &u32)| Markup::new("sibling").with("id", id).with("value", value);
    Markup::new("distances").holding(distances.iter().map(sibling).collect())
}

/// Devices and HMAT tables that speak of a vNUMA node by its number: libvirt would refuse the
/// definition, or start another guest, if that node were gone.
fn check_references(sheet: &Sheet, cells: usize) -> Result<(), DomainXmlError> {
    let numbers = |node: Node| -> Vec<u64> {
        let attributes = ["initiator", "target"];
        match node.tag_name().name() {
            "node" => whole_number(&crate::sheet::text(node)).into_iter().collect(),
            _ => attributes.iter().filter_map(|a| whole_number(attr_value(node, a)?)).collect(),
        }
    };
    let target_nodes = sheet
        .find(&["devices"])?
        .into_iter()
        .flat_map(|devices| children(devices, "controller").chain(children(devices, "memory")))
        .flat_map(|device| children(device, "target"))
        .flat_map(|target| children(target, "node"));
    // Without cells the whole <numa> goes, its interconnects with it.
    let interconnects =
        sheet.find(&["cpu", "numa", "interconnects"])?.into_iter().filter(|_| cells > 0).flat_map(
            |list| list.children().filter(|c| named(*c, "latency") || named(*c, "bandwidth")),
        );
    for node in target_nodes.chain(interconnects) {
        if let Some(number) = numbers(node).into_iter().find(|n| *n >= cells as u64) {
            return Err(sheet.in_the_way(
                node,
                format!(
                    "speaks of vNUMA node {number}, and the guest is to have {cells}; change or \
                     take out that element first"
                ),
            ));
        }
    }
    Ok(())
}
