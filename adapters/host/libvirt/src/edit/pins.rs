//! `<cputune>`: vcpupin, emulatorpin and iothreadpin. Shares, quotas, schedulers and cache
//! allocations beside them are not numawise's.

use super::{insertion, ranked, removal};
use crate::error::DomainXmlError;
use crate::markup::Markup;
use crate::order;
use crate::patch::{ChildChanges, Patch};
use crate::sheet::{attr_value, named, whole_number};
use numawise_model::{CpuSet, Pcpu, Vcpu};
use roxmltree::Node;
use std::collections::BTreeMap;

/// The pin elements, in libvirt's order.
const KINDS: [(&str, Option<&str>); 3] =
    [("vcpupin", Some("vcpu")), ("emulatorpin", None), ("iothreadpin", Some("iothread"))];

/// A pin is told by its place in [`KINDS`] and its number.
type Key = (usize, u32);

pub(super) fn remove(patch: &mut Patch) -> Result<(), DomainXmlError> {
    write(patch, BTreeMap::new())
}

pub(super) fn set(
    patch: &mut Patch,
    vcpus: &BTreeMap<Vcpu, CpuSet>,
    emulator: Option<&CpuSet>,
    iothreads: &BTreeMap<u32, CpuSet>,
) -> Result<(), DomainXmlError> {
    let mut wanted: BTreeMap<Key, &CpuSet> = BTreeMap::new();
    wanted.extend(vcpus.iter().map(|(vcpu, cpus)| ((0, vcpu.0), cpus)));
    wanted.extend(emulator.map(|cpus| ((1, 0), cpus)));
    wanted.extend(iothreads.iter().map(|(id, cpus)| ((2, *id), cpus)));
    if let Some((kind, number)) = wanted.iter().find(|(_, c)| c.is_empty()).map(|(key, _)| *key) {
        return Err(DomainXmlError::Impossible(format!(
            "the {} {number} is to be bound to no pCPU at all; libvirt has no such pin",
            KINDS[kind].0
        )));
    }
    write(patch, wanted)
}

fn write(patch: &mut Patch, mut wanted: BTreeMap<Key, &CpuSet>) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    let tune = sheet.find(&["cputune"])?;
    let mut gone = Vec::new();
    for node in tune.iter().flat_map(|tune| tune.children()) {
        let Some(key) = key(node) else { continue };
        let Some(cpus) = wanted.remove(&key) else {
            gone.push(node);
            continue;
        };
        let written = attr_value(node, "cpuset").and_then(crate::cpuset::parse::<Pcpu>);
        if written.as_ref() != Some(cpus) {
            patch.set_attribute(node, "cpuset", &cpus.to_string());
        }
    }
    let insert = wanted.into_iter().map(|((kind, number), cpus)| {
        let (name, id) = KINDS[kind];
        let pin = Markup::new(name);
        let pin = id.map_or(pin.clone(), |id| pin.with(id, number));
        ranked("cputune", name, number, pin.with("cpuset", cpus))
    });
    let insert: Vec<_> = insert.collect();
    match tune {
        Some(tune) if insert.is_empty() => patch.change_children(tune, removal(gone)),
        Some(tune) => {
            let rank = order::rank;
            let changes = ChildChanges { remove: gone, insert, rank, keep_empty: false };
            patch.change_children(tune, changes);
        }
        None if insert.is_empty() => {}
        None => {
            let pins = insert.into_iter().map(|(_, pin)| pin).collect();
            let tune = Markup::new("cputune").holding(pins);
            let changes = insertion(vec![ranked("domain", "cputune", 0, tune)]);
            patch.change_children(sheet.domain(), changes);
        }
    }
    Ok(())
}

fn key(node: Node) -> Option<Key> {
    let kind = KINDS.iter().position(|(name, _)| named(node, name))?;
    let number = match KINDS[kind].1 {
        Some(id) => u32::try_from(attr_value(node, id).and_then(whole_number)?).ok()?,
        None => 0,
    };
    Some((kind, number))
}
