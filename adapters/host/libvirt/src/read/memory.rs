//! `<memory>`, `<currentMemory>`, `<maxMemory>` and `<memoryBacking>`.

use super::{number, set};
use crate::error::DomainXmlError;
use crate::sheet::{Sheet, attr_value, children};
use crate::size;
use numawise_model::guest::{GuestCell, GuestHugepages, MaxMemory};
use numawise_model::{IdSet, PageSize, Vnode};

/// `<memory>`, or the sum of the cells: libvirt wants at least one of the two.
pub(crate) fn memory_bytes(sheet: &Sheet, cells: &[GuestCell]) -> Result<u64, DomainXmlError> {
    let missing = || DomainXmlError::Missing {
        element: "memory".to_owned(),
        wanted: "libvirt wants it, or <cpu><numa> cells with memory",
    };
    let Some(node) = sheet.find(&["memory"])? else {
        let sum = cells.iter().try_fold(0u64, |sum, cell| sum.checked_add(cell.memory_bytes));
        return sum.filter(|bytes| *bytes > 0).ok_or_else(missing);
    };
    match size::of_element(sheet, node)? {
        0 => Err(sheet.invalid(node, "0", "a size above 0")),
        bytes => Ok(bytes),
    }
}

/// libvirt reads an absent, a zero and a too large `<currentMemory>` all as `<memory>`.
pub(super) fn current_bytes(sheet: &Sheet, memory: u64) -> Result<u64, DomainXmlError> {
    let Some(node) = sheet.find(&["currentMemory"])? else { return Ok(memory) };
    match size::of_element(sheet, node)? {
        0 => Ok(memory),
        bytes => Ok(bytes.min(memory)),
    }
}

pub(super) fn maximum(sheet: &Sheet) -> Result<Option<MaxMemory>, DomainXmlError> {
    let Some(node) = sheet.find(&["maxMemory"])? else { return Ok(None) };
    let bytes = size::of_element(sheet, node)?;
    // Absent means 0 to libvirt: without slots only virtio-mem can be plugged, which needs none.
    let slots = number(sheet, node, "slots")?.unwrap_or(0);
    Ok(Some(MaxMemory { bytes, slots }))
}

pub(crate) fn hugepages(sheet: &Sheet) -> Result<Option<Vec<GuestHugepages>>, DomainXmlError> {
    let Some(node) = sheet.find(&["memoryBacking", "hugepages"])? else { return Ok(None) };
    let mut pages = Vec::new();
    for page in children(node, "page") {
        let size = size::of_attr(sheet, page, "size")?;
        let vnodes: Option<IdSet<Vnode>> = set(sheet, page, "nodeset")?;
        if !size.is_power_of_two() {
            let wanted = "a page size, a power of two like 2048 KiB or 1 GiB";
            return Err(sheet.invalid_attr(page, "size", attr_value(page, "size"), wanted));
        }
        let vnodes = vnodes.map(|set| set.iter().collect());
        pages.push(GuestHugepages { size: PageSize(size), vnodes });
    }
    Ok(Some(pages))
}

pub(super) fn immediate_allocation(sheet: &Sheet) -> Result<bool, DomainXmlError> {
    let node = sheet.find(&["memoryBacking", "allocation"])?;
    Ok(node.and_then(|node| attr_value(node, "mode")) == Some("immediate"))
}
