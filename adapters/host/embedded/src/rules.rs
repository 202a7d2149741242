//! What libvirt refuses to define: configurations that contradict themselves, whatever the host.

use crate::domain::Domain;
use numawise_model::{MemoryMode, VcpuSet, Vnode};
use std::collections::BTreeSet;

/// The first rule that the configuration breaks, as a sentence.
pub fn check(domain: &Domain) -> Result<(), String> {
    topology(domain)?;
    cells(domain)?;
    distances(domain)?;
    memory(domain)?;
    hugepages(domain)
}

fn topology(domain: &Domain) -> Result<(), String> {
    match domain.topology_vcpus {
        Some(product) if product != u64::from(domain.vcpus_max) => Err(format!(
            "CPU topology doesn't match maximum vcpu count: <topology> makes {product} vCPUs and \
             <vcpu> says {}",
            domain.vcpus_max
        )),
        _ => Ok(()),
    }
}

fn cells(domain: &Domain) -> Result<(), String> {
    let mut seen = VcpuSet::new();
    for (index, cell) in domain.cells.iter().enumerate() {
        if cell.id.0 as usize != index {
            return Err(format!(
                "NUMA cells are numbered 0 to {} without gaps, and cell {} is the {}. of them",
                domain.cells.len() - 1,
                cell.id,
                index + 1
            ));
        }
        let twice = cell.vcpus.intersection(&seen);
        if !twice.is_empty() {
            return Err(format!("NUMA cell {}: vCPUs {twice} are in another cell too", cell.id));
        }
        if let Some(last) = cell.vcpus.last().filter(|last| last.0 >= domain.vcpus_max) {
            return Err(format!(
                "CPU IDs in <numa> exceed the <vcpu> count: cell {} has vCPU {last} of {}",
                cell.id, domain.vcpus_max
            ));
        }
        if cell.memory_bytes == 0 {
            return Err(format!("NUMA cell {} has no memory", cell.id));
        }
        seen.extend(&cell.vcpus);
    }
    Ok(())
}

fn distances(domain: &Domain) -> Result<(), String> {
    for cell in &domain.cells {
        for (other, value) in &cell.distances {
            if other.0 as usize >= domain.cells.len() {
                return Err(format!(
                    "cell {} has a distance to cell {other}: there is none",
                    cell.id
                ));
            }
            if (*other == cell.id) != (*value == 10) {
                return Err(format!(
                    "cell {} has the distance {value} to cell {other}; 10 is for a cell to itself",
                    cell.id
                ));
            }
        }
    }
    Ok(())
}

fn memory(domain: &Domain) -> Result<(), String> {
    if domain.memory_bytes == 0 {
        return Err("the guest has no memory".to_owned());
    }
    if domain.cells.is_empty() && !domain.memnodes.is_empty() {
        return Err("<memnode> is invalid without any guest NUMA cells".to_owned());
    }
    let default_restrictive =
        domain.memory.as_ref().map(|tuning| tuning.mode == MemoryMode::Restrictive);
    for (cell, tuning) in &domain.memnodes {
        if cell.0 as usize >= domain.cells.len() {
            return Err(format!("<memnode> names the guest NUMA cell {cell}: there is none"));
        }
        let restrictive = tuning.mode == MemoryMode::Restrictive;
        if default_restrictive.is_some_and(|default| default != restrictive) {
            return Err(format!(
                "<memnode> of cell {cell} and <memory>: either both are restrictive or none is"
            ));
        }
    }
    Ok(())
}

fn hugepages(domain: &Domain) -> Result<(), String> {
    let mut seen: BTreeSet<Vnode> = BTreeSet::new();
    let mut defaults = 0;
    for page in domain.hugepages.iter().flatten() {
        let Some(vnodes) = &page.vnodes else {
            defaults += 1;
            continue;
        };
        for vnode in vnodes {
            // A guest without cells counts as node 0.
            if vnode.0 as usize >= domain.cells.len().max(1) {
                return Err(format!("hugepages: guest NUMA node {vnode} not found"));
            }
            if !seen.insert(*vnode) {
                return Err(format!("hugepages: guest NUMA node {vnode} has two page sizes"));
            }
        }
    }
    if defaults > 1 {
        return Err("hugepages: more than one <page> without a nodeset".to_owned());
    }
    Ok(())
}
