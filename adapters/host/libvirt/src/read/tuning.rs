//! `<cputune>`, `<iothreads>` and `<numatune>`: where the guest's threads and memory are put.

use super::{needed_number, needed_set, set};
use crate::error::DomainXmlError;
use crate::sheet::{Sheet, attr_value, children, text, whole_number};
use numawise_model::guest::Numatune;
use numawise_model::{CpuSet, MemoryMode, Vcpu, Vnode};
use roxmltree::Node;
use std::collections::BTreeMap;

/// More I/O threads than that are a slip of the pen, found before ids are made for them.
const MAX_IOTHREADS: u64 = 8192;

pub(super) struct Pins {
    pub(super) vcpus: BTreeMap<Vcpu, CpuSet>,
    pub(super) emulator: Option<CpuSet>,
    pub(super) iothreads: BTreeMap<u32, CpuSet>,
}

/// A pin of a vCPU that the guest has not is passed over, as libvirt does.
pub(super) fn pins(sheet: &Sheet, vcpus_max: u32) -> Result<Pins, DomainXmlError> {
    let mut pins = Pins { vcpus: BTreeMap::new(), emulator: None, iothreads: BTreeMap::new() };
    let Some(tune) = sheet.find(&["cputune"])? else { return Ok(pins) };
    for (vcpu, cpus) in numbered(sheet, tune, "vcpupin", "vcpu")? {
        if vcpu < vcpus_max {
            pins.vcpus.insert(Vcpu(vcpu), cpus);
        }
    }
    pins.iothreads = numbered(sheet, tune, "iothreadpin", "iothread")?;
    if let Some(node) = sheet.only(tune, "emulatorpin")? {
        pins.emulator = Some(needed_set(sheet, node, "cpuset")?);
    }
    Ok(pins)
}

fn numbered(
    sheet: &Sheet,
    tune: Node,
    name: &str,
    key: &str,
) -> Result<BTreeMap<u32, CpuSet>, DomainXmlError> {
    let mut nodes = BTreeMap::new();
    let mut pins = BTreeMap::new();
    for node in children(tune, name) {
        let number = needed_number(sheet, node, key)?;
        if let Some(first) = nodes.insert(number, node) {
            return Err(sheet.duplicate(first, node));
        }
        pins.insert(number, needed_set(sheet, node, "cpuset")?);
    }
    Ok(pins)
}

/// The ids in `<iothreadids>`, and as many more from 1 up as `<iothreads>` still asks for.
pub(super) fn iothreads(sheet: &Sheet) -> Result<Vec<u32>, DomainXmlError> {
    let mut ids = Vec::new();
    if let Some(list) = sheet.find(&["iothreadids"])? {
        for node in children(list, "iothread") {
            ids.push(needed_number(sheet, node, "id")?);
        }
    }
    if let Some(node) = sheet.find(&["iothreads"])? {
        let written = text(node);
        let count = whole_number(&written).filter(|n| *n <= MAX_IOTHREADS).ok_or_else(|| {
            sheet.invalid(node, written.trim(), "a number of I/O threads from 0 to 8192")
        })?;
        let mut next = 1;
        while (ids.len() as u64) < count {
            if !ids.contains(&next) {
                ids.push(next);
            }
            next += 1;
        }
    }
    ids.sort_unstable();
    Ok(ids)
}

pub(crate) fn numatune(sheet: &Sheet) -> Result<Option<Numatune>, DomainXmlError> {
    let Some(tune) = sheet.find(&["numatune"])? else { return Ok(None) };
    let mut found = Numatune::default();
    if let Some(memory) = sheet.only(tune, "memory")? {
        found.memory_mode = Some(mode(sheet, memory)?);
        found.memory_nodeset = set(sheet, memory, "nodeset")?;
    }
    let mut nodes = BTreeMap::new();
    for node in children(tune, "memnode") {
        let cell = Vnode(needed_number(sheet, node, "cellid")?);
        if let Some(first) = nodes.insert(cell, node) {
            return Err(sheet.duplicate(first, node));
        }
        found.memnodes.insert(cell, (mode(sheet, node)?, needed_set(sheet, node, "nodeset")?));
    }
    Ok(Some(found))
}

/// An absent mode is libvirt's default, `strict`.
fn mode(sheet: &Sheet, node: Node) -> Result<MemoryMode, DomainXmlError> {
    let Some(word) = attr_value(node, "mode") else { return Ok(MemoryMode::Strict) };
    MemoryMode::from_word(word).ok_or_else(|| {
        let wanted = "strict, preferred, restrictive or interleave";
        sheet.invalid_attr(node, "mode", Some(word), wanted)
    })
}
