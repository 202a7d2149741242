//! Reads what placement depends on out of a domain XML.
//!
//! Strict where it matters: a size, a set or a mode that cannot be understood is an error with the
//! line, the value and what was wanted, and so is an element that stands twice. Indifferent to
//! everything else. Defaults are libvirt's own and are written out here, one by one.

mod cpus;
mod devices;
mod files;
mod memory;
mod tuning;

use crate::error::DomainXmlError;
use crate::sheet::{Sheet, attr_value, text, whole_number};
use crate::{manager, note, qemu_args};
use numawise_model::{GuestConfig, GuestUuid, Id, IdSet};
use roxmltree::Node;

pub(crate) use cpus::{cell_id, cells, cpu_mode, distances, topology, vcpus};
pub(crate) use files::files;
pub(crate) use memory::{hugepages, memory_bytes};
pub(crate) use tuning::numatune;

/// `<os><type arch=...>`.
pub(crate) fn architecture(sheet: &Sheet) -> Result<Option<String>, DomainXmlError> {
    let kind = sheet.find(&["os", "type"])?;
    Ok(kind.and_then(|kind| attr_value(kind, "arch")).map(str::to_owned))
}

pub(crate) fn guest(sheet: &Sheet) -> Result<GuestConfig, DomainXmlError> {
    for container in ["cputune", "numatune", "cpu", "memoryBacking", "metadata", "devices"] {
        sheet.find(&[container])?;
    }
    let vcpus = vcpus(sheet)?;
    let cells = cells(sheet)?;
    let memory_bytes = memory_bytes(sheet, &cells)?;
    let tune = tuning::pins(sheet, vcpus.max)?;
    let cpu = sheet.find(&["cpu"])?;
    Ok(GuestConfig {
        name: name(sheet)?,
        uuid: uuid(sheet)?,
        vcpus_max: vcpus.max,
        vcpus_current: vcpus.current,
        placement_auto: vcpus.placement_auto,
        default_cpuset: vcpus.cpuset,
        memory_bytes,
        current_memory_bytes: memory::current_bytes(sheet, memory_bytes)?,
        max_memory: memory::maximum(sheet)?,
        balloon: devices::balloon(sheet)?,
        vcpu_pins: tune.vcpus,
        emulator_pin: tune.emulator,
        iothread_pins: tune.iothreads,
        iothreads: tuning::iothreads(sheet)?,
        cpu_topology: topology(sheet)?,
        architecture: architecture(sheet)?,
        cpu_mode: cpu.and_then(cpu_mode),
        l3_cache_mode: cpus::l3_cache_mode(sheet)?,
        smp_cache: qemu_args::read(sheet),
        cells,
        numatune: numatune(sheet)?,
        hugepages: hugepages(sheet)?,
        immediate_allocation: memory::immediate_allocation(sheet)?,
        memory_modules: devices::memory_modules(sheet)?,
        host_devices: devices::passed_through(sheet)?,
        manager: manager::find(sheet)?,
        frozen_note: note::find(sheet)?.map(text),
    })
}

fn name(sheet: &Sheet) -> Result<String, DomainXmlError> {
    let missing = DomainXmlError::Missing {
        element: "name".to_owned(),
        wanted: "every domain has one; is this a whole definition ('virsh dumpxml --inactive')?",
    };
    let node = sheet.find(&["name"])?.ok_or(missing)?;
    let name = text(node);
    if name.trim().is_empty() {
        return Err(sheet.invalid(node, &name, "a name"));
    }
    Ok(name)
}

/// libvirt takes hyphens anywhere and capitals; compared is the canonical form.
fn uuid(sheet: &Sheet) -> Result<Option<GuestUuid>, DomainXmlError> {
    let Some(node) = sheet.find(&["uuid"])? else { return Ok(None) };
    let written = text(node);
    let digits: String = written.trim().chars().filter(|c| *c != '-').collect();
    if digits.len() != 32 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(sheet.invalid(node, written.trim(), "a UUID of 32 hexadecimal digits"));
    }
    let digits = digits.to_ascii_lowercase();
    let groups = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(Some(GuestUuid(groups.join("-"))))
}

/// A whole number of 32 bits in an attribute; `None` when the attribute is absent.
fn number(sheet: &Sheet, node: Node, name: &str) -> Result<Option<u32>, DomainXmlError> {
    let Some(value) = attr_value(node, name) else { return Ok(None) };
    let number = whole_number(value).and_then(|n| u32::try_from(n).ok());
    number.map(Some).ok_or_else(|| sheet.invalid_attr(node, name, Some(value), "a whole number"))
}

fn needed_number(sheet: &Sheet, node: Node, name: &str) -> Result<u32, DomainXmlError> {
    number(sheet, node, name)?.ok_or_else(|| sheet.invalid_attr(node, name, None, "a whole number"))
}

/// A number of things of which there is at least one.
fn positive(sheet: &Sheet, node: Node, name: &str) -> Result<Option<u32>, DomainXmlError> {
    match number(sheet, node, name)? {
        Some(0) => Err(sheet.invalid_attr(node, name, Some("0"), "a number from 1 up")),
        other => Ok(other),
    }
}

/// A set in an attribute; `None` when the attribute is absent.
fn set<I: Id>(sheet: &Sheet, node: Node, name: &str) -> Result<Option<IdSet<I>>, DomainXmlError> {
    let Some(value) = attr_value(node, name) else { return Ok(None) };
    let set = crate::cpuset::parse(value);
    set.map(Some).ok_or_else(|| sheet.invalid_attr(node, name, Some(value), crate::cpuset::WANTED))
}

fn needed_set<I: Id>(sheet: &Sheet, node: Node, name: &str) -> Result<IdSet<I>, DomainXmlError> {
    set(sheet, node, name)?
        .ok_or_else(|| sheet.invalid_attr(node, name, None, crate::cpuset::WANTED))
}
