//! What a guest is told of its host: caches, distances, and whether it stays what it was.

use super::{AuditedGuest, Case, union};
use numawise_model::finding::{FrozenPart, Resizing};
use numawise_model::guest::{Balloon, GuestCell};
use numawise_model::{CpuSet, FindingKind, GuestConfig, Pnode, Severity, Topology, Vcpu, VcpuSet};
use std::collections::BTreeMap;

const LOCAL_DISTANCE: u32 = 10;

impl Case<'_> {
    pub(super) fn picture(&mut self, guest: &AuditedGuest<'_>) {
        let masks = guest.masks(self.host());
        self.l3(guest, &masks);
        self.distances_told(guest, &masks);
        self.resizing(guest);
        self.frozen(guest);
    }

    /// vCPUs that believe to share an L3 hand each other work as if it cost nothing.
    fn l3(&mut self, guest: &AuditedGuest<'_>, masks: &BTreeMap<Vcpu, CpuSet>) {
        let topology = &self.host().topology;
        let mut worst: Option<(VcpuSet, u32)> = None;
        let mut lying = 0;
        for group in l3_groups(guest.config(), topology) {
            let cpus = union(masks.iter().filter(|(v, _)| group.contains(**v)).map(|(_, m)| m));
            let under = topology.l3_domains.iter().filter(|d| !d.cpus.is_disjoint(&cpus));
            let domains = under.count() as u32;
            if group.len() > 1 && domains > 1 {
                lying += 1;
                if worst.as_ref().is_none_or(|(_, most)| domains > *most) {
                    worst = Some((group, domains));
                }
            }
        }
        if let Some((vcpus, host_domains)) = worst {
            let guest_domains = lying;
            let kind = FindingKind::GuestL3Spread { vcpus, host_domains, guest_domains };
            self.on(guest, Severity::Warning, kind);
        }
    }

    fn distances_told(&mut self, guest: &AuditedGuest<'_>, masks: &BTreeMap<Vcpu, CpuSet>) {
        let config = guest.config();
        let topology = &self.host().topology;
        let homes: Vec<Option<Pnode>> =
            config.cells.iter().map(|cell| home(topology, cell, masks)).collect();
        let memory: Vec<Option<Pnode>> =
            config.cells.iter().map(|cell| memory_home(config, cell)).collect();
        let mut found = Vec::new();
        for (from, cell) in config.cells.iter().enumerate() {
            let Some(here) = homes[from] else { continue };
            let (mut told, mut host, mut right) = (Vec::new(), Vec::new(), true);
            for (to, other) in config.cells.iter().enumerate() {
                let distance = |node: Option<Pnode>| topology.distance(here, node?);
                let Some(said) = cell.distances.get(&other.id) else { continue };
                let (Some(there), Some(truth)) = (homes[to], distance(homes[to])) else { continue };
                // Cells of one node are as near as it is to itself, or one more, or kernels throw
                // the table away; where a node has no memory, the way to the memory counts too.
                let near = here == there && (LOCAL_DISTANCE..=LOCAL_DISTANCE + 1).contains(said);
                right &= *said == truth || near || distance(memory[to]) == Some(*said);
                told.push(*said);
                host.push(truth);
            }
            if !right {
                found.push(FindingKind::DistancesTold { vnode: cell.id, told, host });
            }
        }
        for kind in found {
            self.on(guest, Severity::Warning, kind);
        }
    }

    /// The guest kernel counts on the memory of each node; what shrinks or grows has no node.
    fn resizing(&mut self, guest: &AuditedGuest<'_>) {
        let config = guest.config();
        if config.cells.is_empty() {
            return;
        }
        let hotplug = config.max_memory.is_some() || config.memory_modules > 0;
        let resizes = [
            (config.balloon != Balloon::Off, Resizing::Balloon),
            (hotplug, Resizing::MemoryHotplug),
            (config.vcpus_current < config.vcpus_max, Resizing::VcpuHotplug),
        ];
        for (_, what) in resizes.into_iter().filter(|(has, _)| *has) {
            self.on(guest, Severity::Warning, FindingKind::ResizingWithVnuma { what });
        }
    }

    /// A guest with a plan is held against that. A definition without vNUMA nodes has it switched
    /// off, and keeps what it is frozen to for the day it is switched on again.
    fn frozen(&mut self, guest: &AuditedGuest<'_>) {
        let Some(frozen) = guest.frozen.filter(|_| !guest.is_planned) else { return };
        let stored = guest.stored;
        if stored.cells.is_empty() {
            return;
        }
        type Show = fn(&GuestCell) -> String;
        let differ = |show: Show| {
            let each = |cells: &[GuestCell]| cells.iter().map(show).collect::<Vec<_>>();
            each(&frozen.cells) != each(&stored.cells)
        };
        let nodes = differ(|cell| format!("{} {}", cell.id, cell.vcpus));
        let cpu = stored.cpu_topology.is_some_and(|cpu| cpu != frozen.cpu);
        let all = [
            (nodes, FrozenPart::Nodes),
            (differ(|cell| cell.memory_bytes.to_string()), FrozenPart::Memory),
            (differ(|cell| format!("{:?}", cell.distances)), FrozenPart::Distances),
            (cpu, FrozenPart::CpuTopology),
        ];
        let parts: Vec<FrozenPart> =
            all.into_iter().filter(|(differs, _)| *differs).map(|(_, part)| part).collect();
        if !parts.is_empty() {
            self.on(guest, Severity::Warning, FindingKind::FrozenOtherwise { parts });
        }
    }
}

/// The vCPUs that the guest is told share an L3. vCPUs fill threads, cores, dies and sockets in
/// order. QEMU shows one L3 for each die, unless it passes the host's cache leaf through: then the
/// guest reads the number of threads of a *host* L3 in it, and counts off its own vCPUs by that.
/// Without a topology libvirt makes each vCPU a socket, and none shares anything.
fn l3_groups(config: &GuestConfig, topology: &Topology) -> Vec<VcpuSet> {
    let Some(cpu) = config.cpu_topology else { return Vec::new() };
    let vcpus = config.vcpus_max;
    let of_socket = vcpus / cpu.sockets.max(1);
    let told = config.l3_level().map(|level| level.vcpus(&cpu));
    let length = match config.l3_cache_mode.as_deref() {
        Some("disable") => return Vec::new(),
        Some("passthrough") => {
            let widest = topology.l3_domains.iter().map(|domain| domain.cpus.len()).max();
            // The leaf counts places in the APIC id, of which there are powers of two.
            widest.map_or(1, |width| (width as u32).next_power_of_two()).min(of_socket)
        }
        _ => told.unwrap_or(of_socket / cpu.dies.max(1)),
    };
    let length = length.max(1);
    let firsts = (0..vcpus).step_by(length as usize);
    firsts.map(|first| VcpuSet::range(first, (first + length).min(vcpus) - 1)).collect()
}

/// The one node that a vNUMA node's vCPUs are pinned to.
fn home(topology: &Topology, cell: &GuestCell, masks: &BTreeMap<Vcpu, CpuSet>) -> Option<Pnode> {
    let all_pinned = !cell.vcpus.is_empty() && cell.vcpus.iter().all(|v| masks.contains_key(&v));
    let cpus = union(masks.iter().filter(|(v, _)| cell.vcpus.contains(**v)).map(|(_, mask)| mask));
    let nodes = topology.nodes_of(&cpus);
    nodes.first().filter(|_| all_pinned && nodes.len() == 1)
}

fn memory_home(config: &GuestConfig, cell: &GuestCell) -> Option<Pnode> {
    let (_, nodes) = config.numatune.as_ref()?.memnodes.get(&cell.id)?;
    nodes.first().filter(|_| nodes.len() == 1)
}
