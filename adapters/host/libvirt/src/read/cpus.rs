//! `<vcpu>`, `<vcpus>` and `<cpu>`: how many CPUs the guest has and in what shape it sees them.

use super::{needed_number, number, positive, set};
use crate::error::DomainXmlError;
use crate::sheet::{Sheet, attr_value, children, named, text, whole_number};
use crate::size;
use numawise_model::guest::GuestCell;
use numawise_model::{CpuSet, GuestCpuTopology, MAX_ID, VcpuSet, Vnode};
use roxmltree::Node;
use std::collections::BTreeMap;

pub(crate) struct Vcpus {
    pub(crate) max: u32,
    pub(crate) current: u32,
    pub(crate) placement_auto: bool,
    pub(crate) cpuset: Option<CpuSet>,
}

/// No `<vcpu>`, or an empty one, is one vCPU. A `<vcpus>` list outranks `current`, as in libvirt.
pub(crate) fn vcpus(sheet: &Sheet) -> Result<Vcpus, DomainXmlError> {
    let listed = sheet.find(&["vcpus"])?;
    let Some(node) = sheet.find(&["vcpu"])? else {
        let current = listed.map_or(Ok(1), |list| enabled(sheet, list))?;
        return Ok(Vcpus { max: 1, current, placement_auto: false, cpuset: None });
    };
    let written = text(node);
    let max = match written.trim() {
        "" => Some(1),
        digits => whole_number(digits).and_then(|n| u32::try_from(n).ok()),
    };
    let max = max
        .filter(|n| (1..=MAX_ID + 1).contains(n))
        .ok_or_else(|| sheet.invalid(node, written.trim(), "a number of vCPUs from 1 to 8192"))?;
    let current = positive(sheet, node, "current")?;
    if let Some(current) = current.filter(|current| *current > max) {
        let wanted = format!("at most the {max} vCPUs of the element");
        let value = current.to_string();
        return Err(sheet.invalid_attr(node, "current", Some(&value), &wanted));
    }
    let placement = attr_value(node, "placement");
    let placement_auto = match placement {
        Some("auto") => true,
        None | Some("static") => false,
        other => return Err(sheet.invalid_attr(node, "placement", other, "static or auto")),
    };
    Ok(Vcpus {
        max,
        current: match listed {
            Some(list) => enabled(sheet, list)?,
            None => current.unwrap_or(max),
        },
        placement_auto,
        cpuset: set(sheet, node, "cpuset")?,
    })
}

fn enabled(sheet: &Sheet, list: Node) -> Result<u32, DomainXmlError> {
    let mut count = 0;
    for vcpu in children(list, "vcpu") {
        match attr_value(vcpu, "enabled") {
            Some("yes") => count += 1,
            Some("no") => {}
            other => return Err(sheet.invalid_attr(vcpu, "enabled", other, "yes or no")),
        }
    }
    Ok(count)
}

/// libvirt calls a `<cpu>` with a model and no mode `custom`.
pub(crate) fn cpu_mode(cpu: Node) -> Option<String> {
    let has_model = children(cpu, "model").next().is_some();
    attr_value(cpu, "mode").or(has_model.then_some("custom")).map(str::to_owned)
}

pub(crate) fn topology(sheet: &Sheet) -> Result<Option<GuestCpuTopology>, DomainXmlError> {
    let Some(node) = sheet.find(&["cpu", "topology"])? else { return Ok(None) };
    let needed = |name| {
        positive(sheet, node, name)?
            .ok_or_else(|| sheet.invalid_attr(node, name, None, "a number from 1 up"))
    };
    // Dies came with libvirt 6.1 and clusters with 10.1; absent means one.
    let or_one = |name| Ok::<_, DomainXmlError>(positive(sheet, node, name)?.unwrap_or(1));
    Ok(Some(GuestCpuTopology {
        sockets: needed("sockets")?,
        dies: or_one("dies")?,
        clusters: or_one("clusters")?,
        cores: needed("cores")?,
        threads: needed("threads")?,
    }))
}

/// The mode of `<cache>` where it speaks of the third level, or of all levels.
pub(super) fn l3_cache_mode(sheet: &Sheet) -> Result<Option<String>, DomainXmlError> {
    let Some(cache) = sheet.find(&["cpu", "cache"])? else { return Ok(None) };
    match number(sheet, cache, "level")? {
        None | Some(3) => Ok(attr_value(cache, "mode").map(str::to_owned)),
        Some(_) => Ok(None),
    }
}

/// The `<cell>`s of `<cpu><numa>`, by id.
pub(crate) fn cells(sheet: &Sheet) -> Result<Vec<GuestCell>, DomainXmlError> {
    let Some(numa) = sheet.find(&["cpu", "numa"])? else { return Ok(Vec::new()) };
    let count = children(numa, "cell").count();
    let mut found: BTreeMap<Vnode, (GuestCell, Node)> = BTreeMap::new();
    for (position, node) in children(numa, "cell").enumerate() {
        let id = cell_id(sheet, node, position)?;
        if id.0 as usize >= count {
            let wanted = format!("0 to {}: cells are numbered without gaps", count - 1);
            return Err(sheet.invalid_attr(node, "id", Some(&id.to_string()), &wanted));
        }
        let cell = GuestCell {
            id,
            // A cell without CPUs is memory alone.
            vcpus: set(sheet, node, "cpus")?.unwrap_or_else(VcpuSet::new),
            memory_bytes: size::of_attr(sheet, node, "memory")?,
            distances: distances(sheet, node)?,
        };
        if let Some((_, first)) = found.insert(id, (cell, node)) {
            return Err(sheet.duplicate(first, node));
        }
    }
    Ok(found.into_values().map(|(cell, _)| cell).collect())
}

/// Cells without an id are numbered as they stand.
pub(crate) fn cell_id(sheet: &Sheet, cell: Node, position: usize) -> Result<Vnode, DomainXmlError> {
    let id = number(sheet, cell, "id")?;
    Ok(Vnode(id.unwrap_or(u32::try_from(position).unwrap_or(u32::MAX))))
}

pub(crate) fn distances(sheet: &Sheet, cell: Node) -> Result<BTreeMap<Vnode, u32>, DomainXmlError> {
    let mut found = BTreeMap::new();
    let Some(list) = sheet.only(cell, "distances")? else { return Ok(found) };
    for sibling in list.children().filter(|child| named(*child, "sibling")) {
        let id = Vnode(needed_number(sheet, sibling, "id")?);
        let value = needed_number(sheet, sibling, "value")?;
        if !(10..=255).contains(&value) {
            let wanted = "a distance from 10 to 255";
            return Err(sheet.invalid_attr(sibling, "value", Some(&value.to_string()), wanted));
        }
        if found.insert(id, value).is_some() {
            let wanted = "each sibling once";
            return Err(sheet.invalid_attr(sibling, "id", Some(&id.to_string()), wanted));
        }
    }
    Ok(found)
}
