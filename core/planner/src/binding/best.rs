//! The best place by ordered preferences: a request made ready for [`crate::fit`], and its answer
//! made a binding.
//!
//! What is free ([`super::passes`]) is the same as for every exclusive binding, with the CPUs kept for the
//! host left out. Where the kernel isolates CPUs, those are tried first and alone: they were taken from everybody
//! else for guests like this one. Only when it does not fit there, and the operator named no pool,
//! do the others take part.
//!
//! A guest that has been seen running keeps its virtual topology: its cells are given, and only
//! where they go is looked for. Else the cells follow from the placement, numbered by area.
//!
//! Memory is a constraint where vNUMA binds it. Without vNUMA it is wanted, and done without where
//! nothing else fits.

use super::Pins;
use super::passes::{Ready, answer};
use crate::availability::{Availability, ReservedUse};
use crate::fit::{CellFit, Cells, DeviceNear, Fit, GivenCell, Layout, NoFit, Parting, Wanted};
use crate::memory;
use crate::situation::Situation;
use crate::vnuma::Cell;
use crate::{Notes, explain, nearest};
use numawise_model::placement::{Best, DevicePolicy, EmulatorPolicy, Proof, Split};
use numawise_model::topology::Locality;
use numawise_model::{
    CpuSet, FindingKind, L3Policy, NodeSet, Pnode, Reason, Refusal, Request, Severity, SmtPolicy,
    Vcpu, VcpuSet, VirtualTopology, Vnode,
};

/// What the search found beside the binding.
pub struct Place {
    pub cells: Vec<Cell>,
    /// Pages of each cell.
    pub pages: Vec<u64>,
    /// Siblings that nobody else may have.
    pub kept_idle: CpuSet,
    /// The emulator's own pCPU.
    pub emulator: Option<CpuSet>,
    /// The frozen topology that is kept: all of it but where it is.
    pub keeps_frozen: bool,
}

pub fn bind(
    situation: &Situation,
    request: &Request,
    best: &Best,
    notes: &mut Notes,
) -> Option<(Pins, Place)> {
    check(situation, request, best, notes)?;
    let availability = Availability::of(situation, ReservedUse::MayNot);
    availability.note(notes);
    let (ready, found) = answer(situation, request, best);
    match found {
        Ok(mut fit) => {
            cut_cells(&ready, request, &mut fit, notes)?;
            if let Some(cpus) = ready.isolated_alone.clone() {
                notes.reason(Reason::IsolatedFirst { cpus });
            }
            explain::place(&ready, &fit, notes);
            remark(&ready, &fit, best, notes);
            let (pins, place) = bound(situation, request, best, &ready, &fit);
            for cell in &place.cells {
                let pcpus = cell.vcpus.iter().filter_map(|vcpu| pins[&vcpu].first()).collect();
                let (node, vcpus) = (cell.host_node(), cell.vcpus.clone());
                notes.reason(Reason::Filled { node, vcpus, pcpus });
            }
            Some((pins, place))
        }
        Err(_) if request.vnuma && ready.has_no_memory() => {
            notes.refuse(Refusal::NoMemoryAnywhere { vnode: Vnode(0) });
            None
        }
        Err(no_fit) => {
            let held = availability.held();
            let seats = match no_fit {
                NoFit::Seats { seats } => Some(seats),
                NoFit::NoWay | NoFit::GaveUp => None,
            };
            let would_fit = nearest::that_fit(situation, request, best, seats);
            notes.refuse(Refusal::NoPlace {
                vcpus: request.vcpus,
                pages: ready.wanted.pages,
                page_size: request.page_size,
                nodes: explain::lacks(&ready),
                held,
                gave_up: no_fit == NoFit::GaveUp,
                would_fit,
            });
            None
        }
    }
}

/// Several vNUMA nodes on each pNUMA node, where that was asked for and their sizes were not. A cell
/// takes whole cores as far as there are enough.
fn cut_cells(ready: &Ready, request: &Request, fit: &mut Fit, notes: &mut Notes) -> Option<()> {
    let asked = request.cells_per_node;
    if asked == 1 || !request.vnuma || !matches!(ready.wanted.cells, Cells::Free(_)) {
        return Some(());
    }
    let mut cells = Vec::new();
    for (index, part) in fit.parts.iter().enumerate() {
        let vcpus = part.pcpus.len() as u32;
        if asked == 0 || vcpus < asked {
            let node = ready.layout.areas[part.area].nodes.first().unwrap_or(Pnode(0));
            notes.refuse(Refusal::CellsPerNode { asked, node, vcpus });
            return None;
        }
        let width = ready.layout.smt_width();
        let unit = if vcpus.is_multiple_of(width) && vcpus / width >= asked { width } else { 1 };
        let (each, larger) = (vcpus / unit / asked, vcpus / unit % asked);
        let sizes = (0..asked).map(|cell| (each + u32::from(cell < larger)) * unit);
        let weights: Vec<u64> = sizes.clone().map(u64::from).collect();
        let Some(pages) = memory::share_pages(part.pages, &weights) else {
            let (pages, page_size, vnodes) = (part.pages, request.page_size, asked);
            notes.refuse(Refusal::FewerPagesThanNodes { pages, page_size, vnodes });
            return None;
        };
        let cell = |(vcpus, pages)| CellFit { part: index, vcpus, pages };
        cells.extend(sizes.zip(pages).map(cell));
    }
    fit.cells = cells;
    Some(())
}

fn check(situation: &Situation, request: &Request, best: &Best, notes: &mut Notes) -> Option<()> {
    let before = notes.refusals.len();
    if let Split::Exact(parts) = &best.split {
        let sum: u64 = parts.iter().map(|part| u64::from(*part)).sum();
        if sum != u64::from(request.vcpus) || parts.contains(&0) {
            let (parts, vcpus) = (parts.clone(), request.vcpus);
            notes.refuse(Refusal::SplitDoesNotAddUp { parts, vcpus });
        }
    }
    for address in &best.near {
        if !situation.topology.devices.iter().any(|device| device.address == *address) {
            notes.refuse(Refusal::DeviceUnknown { address: address.clone() });
        }
    }
    (notes.refusals.len() == before).then_some(())
}

pub(super) fn wanted(
    situation: &Situation,
    request: &Request,
    best: &Best,
    layout: &Layout,
) -> Wanted {
    let pages = request.memory_bytes.div_ceil(request.page_size.bytes());
    Wanted {
        vcpus: request.vcpus,
        pages,
        page_size: request.page_size,
        smt: best.smt,
        l3: best.l3,
        cells: cells(situation, request, best, pages),
        emulator_cpus: u32::from(best.emulator == EmulatorPolicy::Isolate),
        devices: devices(situation, best, layout),
    }
}

fn cells(situation: &Situation, request: &Request, best: &Best, pages: u64) -> Cells {
    if let Some(cells) = frozen_cells(situation, request) {
        return Cells::Given(cells);
    }
    let parting = match &best.split {
        Split::EvenFirst => Parting::EvenFirst,
        Split::Even => Parting::Even,
        Split::Uneven => Parting::Uneven,
        Split::Exact(parts) => {
            let weights: Vec<u64> = parts.iter().map(|part| u64::from(*part)).collect();
            let pages =
                memory::share_pages(pages, &weights).unwrap_or_else(|| vec![1; parts.len()]);
            let cell = |(vcpus, pages): (&u32, u64)| GivenCell { vcpus: *vcpus, pages };
            return Cells::Given(parts.iter().zip(pages).map(cell).collect());
        }
    };
    match best.vnodes {
        Some(count) => Cells::Count(count, parting),
        None => Cells::Free(parting),
    }
}

/// The cells that the guest has been seen with, where they still are its size.
fn frozen_cells(situation: &Situation, request: &Request) -> Option<Vec<GivenCell>> {
    let frozen = situation.inputs.frozen.filter(|_| request.vnuma && !request.new_topology)?;
    let size = request.page_size.bytes();
    let memory: u64 = frozen.cells.iter().map(|cell| cell.memory_bytes).sum();
    let vcpus: usize = frozen.cells.iter().map(|cell| cell.vcpus.len()).sum();
    let whole = frozen.cells.iter().all(|cell| cell.memory_bytes.is_multiple_of(size));
    if memory != request.memory_bytes || vcpus != request.vcpus as usize || !whole {
        return None;
    }
    let cell = |cell: &numawise_model::guest::GuestCell| GivenCell {
        vcpus: cell.vcpus.len() as u32,
        pages: cell.memory_bytes / size,
    };
    Some(frozen.cells.iter().map(cell).collect())
}

fn devices(situation: &Situation, best: &Best, layout: &Layout) -> Vec<DeviceNear> {
    let own = situation.inputs.guest.map(|guest| guest.host_devices.as_slice()).unwrap_or_default();
    let addresses = own.iter().chain(&best.near);
    let known = addresses.filter_map(|address| {
        situation.topology.devices.iter().find(|device| device.address == *address)
    });
    known.filter_map(|device| near(situation, &device.locality, best.devices, layout)).collect()
}

/// `None` where a device's place is not known and nothing depends on it.
fn near(
    situation: &Situation,
    locality: &Locality,
    policy: DevicePolicy,
    layout: &Layout,
) -> Option<DeviceNear> {
    let areas = layout.areas.len();
    let cpus_of = |area: usize| -> CpuSet {
        let nodes = situation.topology.nodes.iter();
        let inside = nodes.filter(|node| layout.areas[area].nodes.contains(node.id));
        let mut cpus = CpuSet::new();
        inside.for_each(|node| cpus.extend(&node.cpus));
        cpus
    };
    let home: Option<usize> = match locality {
        Locality::Node(node) => layout.area_of_node(*node),
        Locality::NearCpus(near) => (0..areas).find(|area| !cpus_of(*area).is_disjoint(near)),
        Locality::Unknown => None,
    };
    let required = !matches!(policy, DevicePolicy::Preferred);
    let Some(home) = home else {
        // A device that nobody can place is near nothing: `required` takes that at its word.
        let never = policy == DevicePolicy::Required;
        return never.then(|| DeviceNear {
            required: true,
            near: vec![false; areas],
            distance: vec![0; areas],
        });
    };
    let package = layout.areas[home].package;
    let same = |area: usize| match policy {
        DevicePolicy::Socket => {
            area == home || (package.is_some() && layout.areas[area].package == package)
        }
        _ => area == home,
    };
    Some(DeviceNear {
        required,
        near: (0..areas).map(same).collect(),
        distance: (0..areas).map(|area| layout.distance(home, area)).collect(),
    })
}

/// Pins and cells from the answer.
fn bound(
    situation: &Situation,
    request: &Request,
    best: &Best,
    ready: &Ready,
    fit: &Fit,
) -> (Pins, Place) {
    let frozen = frozen_cells(situation, request).and(situation.inputs.frozen);
    let mut next = 0;
    let mut taken = vec![0usize; fit.parts.len()];
    let (mut pins, mut cells) = (Pins::new(), Vec::new());
    for (index, cell) in fit.cells.iter().enumerate() {
        let vcpus: VcpuSet = match frozen {
            Some(frozen) => frozen.cells[index].vcpus.clone(),
            None => (next..next + cell.vcpus).map(Vcpu).collect(),
        };
        next += cell.vcpus;
        let part = &fit.parts[cell.part];
        let own = &part.pcpus[taken[cell.part]..taken[cell.part] + cell.vcpus as usize];
        taken[cell.part] += cell.vcpus as usize;
        pins.extend(vcpus.iter().zip(own).map(|(vcpu, pcpu)| (vcpu, CpuSet::single(*pcpu))));
        let id = frozen.map_or(Vnode(index as u32), |frozen| frozen.cells[index].id);
        let host_nodes = ready.layout.areas[part.area].nodes.clone();
        cells.push(Cell { id, vcpus, host_nodes });
    }
    let mut kept_idle = CpuSet::new();
    fit.parts.iter().for_each(|part| kept_idle.extend(&part.kept_idle));
    let place = Place {
        pages: fit.cells.iter().map(|cell| cell.pages).collect(),
        cells,
        kept_idle,
        emulator: (best.emulator == EmulatorPolicy::Isolate).then(|| emulator_cpu(ready, fit)),
        keeps_frozen: frozen.is_some(),
    };
    (pins, place)
}

/// A pCPU that is left on the guest's areas: not on a core of its vCPUs where that can be, on a
/// core that is not whole anyhow, near the first vNUMA node, the lowest.
fn emulator_cpu(ready: &Ready, fit: &Fit) -> CpuSet {
    let (layout, stock) = (&ready.layout, &ready.stock);
    let mut used = CpuSet::new();
    for part in &fit.parts {
        used.extend(&part.pcpus.iter().copied().collect());
        used.extend(&part.kept_idle);
    }
    let candidates = fit.parts.iter().enumerate().flat_map(|(order, part)| {
        let segments = layout.segments_of(part.area).iter();
        segments.flat_map(|segment| segment.cores.clone()).map(move |core| (order, core))
    });
    let threads = candidates.flat_map(|(order, core)| {
        let range = layout.cores[core].threads.clone();
        let all: CpuSet =
            layout.threads[range.clone()].iter().map(|id| numawise_model::Pcpu(*id)).collect();
        let own_core = !all.is_disjoint(&used);
        let whole = stock.free(core) == layout.cores[core].all();
        let free = stock.free_threads(layout, core);
        let left = free.difference(&used);
        left.iter().map(move |cpu| (own_core, order, whole, cpu)).collect::<Vec<_>>()
    });
    threads.min().map(|(.., cpu)| CpuSet::single(cpu)).unwrap_or_default()
}

fn remark(ready: &Ready, fit: &Fit, best: &Best, notes: &mut Notes) {
    if best.smt == SmtPolicy::Avoid && fit.score.sharing_areas > 0 {
        let shared = fit
            .parts
            .iter()
            .filter(|part| ready.stock.area(part.area).whole_cores < part.pcpus.len() as u32);
        let mut nodes = NodeSet::new();
        shared.for_each(|part| nodes.extend(&ready.layout.areas[part.area].nodes));
        notes.finding(Severity::Warning, FindingKind::SmtNotAvoided { nodes });
    }
    let spread = matches!(best.l3, L3Policy::Spread | L3Policy::Exactly(_));
    let shares: Vec<u32> =
        fit.parts.iter().flat_map(|part| part.by_segment.iter().map(|(_, vcpus)| *vcpus)).collect();
    if spread && shares.iter().min() != shares.iter().max() {
        notes.finding(Severity::Info, FindingKind::L3SharesUnequal { vcpus: shares });
    }
    if let Proof::BestFound { bound } = fit.proof {
        let distance = fit.score.distance;
        notes.finding(Severity::Info, FindingKind::NotProvenBest { distance, bound });
    }
}

/// A frozen topology in its new place.
pub fn keep_frozen(
    frozen: &numawise_model::FrozenTopology,
    planned: VirtualTopology,
) -> VirtualTopology {
    let nodes = planned.nodes.into_iter().map(|mut node| {
        if let Some(cell) = frozen.cells.iter().find(|cell| cell.id == node.id) {
            node.distances = cell.distances.clone();
            node.memory_bytes = cell.memory_bytes;
        }
        node
    });
    // A level says nothing of another topology.
    let l3_level = planned.l3_level.filter(|_| planned.cpu == frozen.cpu);
    let emulate_l3 = planned.emulate_l3;
    VirtualTopology { nodes: nodes.collect(), cpu: frozen.cpu, emulate_l3, l3_level }
}
