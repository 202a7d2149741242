//! The best place for a guest on one host: `compact` and `spread`.
//!
//! # Problem
//!
//! A guest's vCPUs are to be seated on pCPUs of their own. Each pCPU lies in a NUMA node, under an
//! L3 cache and on a core with SMT siblings; each node has some pages left. Some places are better:
//! near each other's memory, under one cache or under many, on whole cores, near a device, and such
//! that the next guest still finds room. These preferences are ordered, and the first that tells two
//! placements apart decides.
//!
//! # Approach
//!
//! Two levels. How many vCPUs in which area ([`layout`] says what an area is), then which L3
//! domains, cores and threads inside each ([`area`], [`seat`]). Inside an area every preference is
//! a sum over domains and cores ([`cost`]), so the best is found exactly by going through them once.
//! Between areas the distance is a sum over pairs, which is where enumerations explode; three walks
//! divide the work so that they need not:
//!
//! - [`even`]: parts of equal size. Areas that no distance tells apart are counted, not enumerated.
//! - [`uneven`]: parts of free size, when no equal ones fit. Best parts are full, single or one between.
//! - [`given`]: cells whose sizes are given. Possible or not is a matching, not a permutation.
//!
//! Each walk has a number of steps, not a time, after which it stops: the same input gives the same
//! answer on any machine. The answer then is [`Proof::BestFound`] with the bound that is known, and
//! "there is none" becomes "none was found". Neither happens on hosts with few kinds of distance.
//!
//! # Preferences
//!
//! In this order; [`Score`] has a number for each.
//!
//! 1. With a number of vNUMA nodes given: fewest of them that share an area. Then fewest areas.
//! 2. Equal parts; else unequal parts of whole cores; else any.
//! 3. The smallest distance: over all pairs of vCPUs in different areas, there and back; and where an
//!    area has no memory of its own, for each of its vCPUs how much farther that memory is, times the
//!    vCPUs of the guest (as if it were paired with each of them). So an area that is served from
//!    elsewhere loses to one that is not.
//! 4. Under `avoid`, fewest areas where cores must be shared.
//! 5. The L3 policy: three numbers, see [`area`].
//! 6. Fewest cores of which the guest has only a part.
//! 7. Nearest to its devices.
//! 8. Fewest free whole cores lost: in all, then by the area with the most, then by the L3 domain
//!    with the most.
//! 9. Least used over 15 minutes, in steps of 10 % summed over the pCPUs.
//! 10. Lowest pCPU ids, in the sum.
//!
//! # Properties
//!
//! 1. *Sound*: the placement meets every constraint.
//! 2. *Complete*: a refusal means that there is none (or is [`NoFit::GaveUp`]).
//! 3. *Optimal* by the preferences, where it says so.
//!
//! Each is tested against exhaustive search on small hosts, soundness and completeness against an
//! independent solver on large ones.

mod area;
mod cost;
mod division;
mod even;
mod fold;
mod given;
mod layout;
mod problem;
mod seat;
mod slices;
mod stock;
mod uneven;

pub use layout::{Area, Core, Layout, Segment};
pub use slices::has_l3_as_numa;
pub use stock::{Places, Stock};

use cost::{Cost, Field};
use even::{Found, Parts};
pub use numawise_model::placement::{PartingFound, Proof, Score};
use numawise_model::{CpuSet, Id, L3Policy, PageSize, Pcpu, SmtPolicy};
pub use problem::seats;
use problem::{Choice, Problem, Rank};
use seat::{Seat, Spot};

/// What is to be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub vcpus: u32,
    /// In all. Shared out by vCPUs, unless the cells are given with theirs.
    pub pages: u64,
    pub page_size: PageSize,
    pub smt: SmtPolicy,
    pub l3: L3Policy,
    pub cells: Cells,
    /// pCPUs to be left beside the vCPUs on the guest's areas, for its emulator alone.
    pub emulator_cpus: u32,
    pub devices: Vec<DeviceNear>,
}

/// How the guest is cut into vNUMA nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cells {
    /// As many as it takes, one for each area.
    Free(Parting),
    /// So many; each has an area of its own where that is possible.
    Count(u32, Parting),
    /// These.
    Given(Vec<GivenCell>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// Even where that fits, else uneven.
    EvenFirst,
    Even,
    Uneven,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenCell {
    pub vcpus: u32,
    pub pages: u64,
}

/// How a device lies to the areas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceNear {
    /// Some vCPUs must be near it; for a guest in one area, all.
    pub required: bool,
    /// By area.
    pub near: Vec<bool>,
    /// By area; 0 where it is not known.
    pub distance: Vec<u32>,
}

/// A placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// By area.
    pub parts: Vec<Part>,
    /// The vNUMA nodes, in their order.
    pub cells: Vec<CellFit>,
    pub score: Score,
    pub proof: Proof,
}

/// A vNUMA node of a placement: which part it is in, and what of it is its own. Parts give their
/// pCPUs to their cells in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellFit {
    pub part: usize,
    pub vcpus: u32,
    pub pages: u64,
}

/// The vCPUs in one area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub area: usize,
    /// One for each vCPU: L3 domain by L3 domain, siblings side by side.
    pub pcpus: Vec<Pcpu>,
    /// Siblings that nobody else may have either.
    pub kept_idle: CpuSet,
    /// vCPUs on each segment.
    pub by_segment: Vec<(usize, u32)>,
    pub pages: u64,
}

/// There is no placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFit {
    /// The whole host has fewer seats than vCPUs.
    Seats { seats: u32 },
    /// Seats, memory and the other conditions do not come together.
    NoWay,
    /// None was found in the steps there are; there may be one.
    GaveUp,
}

/// The best placement, or that there is none.
pub fn fit(layout: &Layout, stock: &Stock, wanted: &Wanted) -> Result<Fit, NoFit> {
    let problem = Problem::new(layout, stock, wanted);
    let seats: u64 = problem.seats.iter().map(|seats| u64::from(*seats)).sum();
    if wanted.vcpus == 0 || seats < u64::from(wanted.vcpus) {
        return Err(NoFit::Seats { seats: u32::try_from(seats).unwrap_or(u32::MAX) });
    }
    if !problem.has_threads_for_the_emulator() || !problem.has_pages() {
        return Err(NoFit::NoWay);
    }
    match &wanted.cells {
        Cells::Free(parting) => free(&problem, *parting),
        Cells::Count(count, parting) => counted(&problem, *count, *parting),
        Cells::Given(cells) => given::place(&problem, cells)
            .map_err(no_fit)
            .map(|placed| given_fit(&problem, cells, placed)),
    }
}

fn no_fit(gave: given::Gave) -> NoFit {
    match gave {
        given::Gave::No => NoFit::NoWay,
        given::Gave::Up => NoFit::GaveUp,
    }
}

/// Fewest areas first.
fn free(problem: &Problem, parting: Parting) -> Result<Fit, NoFit> {
    if let Some(fit) = one_area(problem) {
        return Ok(fit);
    }
    let mut most: Vec<u32> = (0..problem.areas()).map(|area| problem.most(area, 1)).collect();
    most.sort_unstable_by(|a, b| b.cmp(a));
    let (mut held, mut gave_up) = (0, false);
    for (index, seats) in most.iter().enumerate() {
        held += u64::from(*seats);
        let count = index as u32 + 1;
        if held < u64::from(problem.wanted.vcpus) || count < 2 {
            continue;
        }
        match with_count(problem, count, parting) {
            Ok(Some(fit)) => return Ok(fit),
            Ok(None) => {}
            Err(uneven::GaveUp) => gave_up = true,
        }
    }
    Err(if gave_up { NoFit::GaveUp } else { NoFit::NoWay })
}

fn one_area(problem: &Problem) -> Option<Fit> {
    let vcpus = problem.wanted.vcpus;
    let mut best: Option<(u64, Choice)> = None;
    for area in 0..problem.areas() {
        if !problem.holds(area, vcpus) {
            continue;
        }
        let distance = problem.to_memory(area, vcpus);
        // Nothing that only the whole has makes a choice better than its cost alone.
        let Some(cost) = problem.share_cost(area, vcpus) else { continue };
        let least = Rank { head: cost.head, lost_in_largest: (0, 0), tail: cost.tail };
        if best.as_ref().is_some_and(|(near, best)| (*near, best.rank) <= (distance, least)) {
            continue;
        }
        let Some(choice) = problem.choice(&[(area, vcpus)]) else { continue };
        let better = |(near, best): &(u64, Choice)| (distance, choice.rank) < (*near, best.rank);
        if best.as_ref().is_none_or(better) {
            best = Some((distance, choice));
        }
    }
    let (distance, choice) = best?;
    let found = Found { choice, distance, proof: Proof::Optimal };
    Some(finish(problem, found, PartingFound::Even))
}

/// Equal parts, parts of whole cores, any parts: on so many areas.
fn with_count(
    problem: &Problem,
    count: u32,
    parting: Parting,
) -> Result<Option<Fit>, uneven::GaveUp> {
    let (vcpus, unit) = (problem.wanted.vcpus, problem.unit_for(count));
    if count == 1 {
        return Ok(one_area(problem));
    }
    if parting != Parting::Uneven
        && let Some(parts) = Parts::of(vcpus, count, unit)
        && let Some(found) = even::place(problem, parts)
    {
        return Ok(Some(finish(problem, found, PartingFound::Even)));
    }
    if parting == Parting::Even {
        return Ok(None);
    }
    let (whole_cores, any) = (problem.multiple_for_domains(unit), problem.multiple_for_domains(1));
    let whole = uneven::place(problem, count, whole_cores)?;
    if let Some(found) = whole {
        return Ok(Some(finish(problem, found, PartingFound::WholeCores)));
    }
    let any = if whole_cores > any { uneven::place(problem, count, any)? } else { None };
    Ok(any.map(|found| finish(problem, found, PartingFound::Any)))
}

/// A vNUMA node for each area, so many; where there are not enough areas, several on one.
fn counted(problem: &Problem, count: u32, parting: Parting) -> Result<Fit, NoFit> {
    let vcpus = problem.wanted.vcpus;
    if count == 0 || count > vcpus || u64::from(count) > problem.wanted.pages {
        return Err(NoFit::NoWay);
    }
    let mut gave_up = false;
    match with_count(problem, count, parting) {
        Ok(Some(fit)) => return Ok(fit),
        Ok(None) => {}
        Err(uneven::GaveUp) => gave_up = true,
    }
    let mut equal = match parting {
        Parting::Uneven => None,
        _ => {
            let cells = equal_cells(problem, count);
            match given::place(problem, &cells) {
                Ok(placed) => Some(given_fit(problem, &cells, placed)),
                Err(gave) => {
                    gave_up |= matches!(gave, given::Gave::Up);
                    None
                }
            }
        }
    };
    for fewer in (1..count).rev() {
        let sharing = count - fewer;
        if let Some(fit) = equal.take_if(|fit| fit.score.sharing_cells == sharing) {
            return Ok(fit);
        }
        if parting == Parting::Even {
            continue;
        }
        match with_count(problem, fewer, Parting::Uneven) {
            Ok(Some(mut fit)) => {
                fit.score.sharing_cells = sharing;
                fit.cells = cut_into_cells(&fit.parts, count);
                return Ok(fit);
            }
            Ok(None) => {}
            Err(uneven::GaveUp) => gave_up = true,
        }
    }
    Err(if gave_up { NoFit::GaveUp } else { NoFit::NoWay })
}

/// As equal as whole cores allow, with pages by vCPUs.
fn equal_cells(problem: &Problem, count: u32) -> Vec<GivenCell> {
    let (vcpus, unit) = (problem.wanted.vcpus, problem.unit_for(count));
    let (each, larger) = (vcpus / unit / count, vcpus / unit % count);
    let sizes: Vec<u32> = (0..count).map(|cell| (each + u32::from(cell < larger)) * unit).collect();
    let weights: Vec<u64> = sizes.iter().map(|size| u64::from(*size)).collect();
    let pages = crate::memory::share_pages(problem.wanted.pages, &weights).unwrap_or_default();
    sizes.into_iter().zip(pages).map(|(vcpus, pages)| GivenCell { vcpus, pages }).collect()
}

/// More cells than parts: the largest parts are cut first. Cells are numbered part by part.
fn cut_into_cells(parts: &[Part], cells: u32) -> Vec<CellFit> {
    let mut number = vec![1usize; parts.len()];
    for _ in parts.len()..cells as usize {
        let largest = (0..parts.len())
            .filter(|part| number[*part] < parts[*part].pcpus.len())
            .filter(|part| (number[*part] as u64) < parts[*part].pages)
            .max_by_key(|part| {
                (parts[*part].pcpus.len() / number[*part], std::cmp::Reverse(*part))
            });
        if let Some(largest) = largest {
            number[largest] += 1;
        }
    }
    let cut = |part: usize| {
        let (of, cells) = (&parts[part], number[part]);
        let (each, larger) = (of.pcpus.len() / cells, of.pcpus.len() % cells);
        let sizes: Vec<u64> = (0..cells).map(|i| (each + usize::from(i < larger)) as u64).collect();
        let pages = crate::memory::share_pages(of.pages, &sizes).unwrap_or_default();
        let cell = move |(vcpus, pages)| CellFit { part, vcpus: vcpus as u32, pages };
        sizes.into_iter().zip(pages).map(cell)
    };
    (0..parts.len()).flat_map(cut).collect()
}

fn given_fit(problem: &Problem, cells: &[GivenCell], placed: given::Placed) -> Fit {
    let given::Placed { found, areas } = placed;
    let sharing = cells.len() - found.choice.parts.len();
    let mut fit = finish(problem, found, PartingFound::Even);
    fit.score.sharing_cells = sharing as u32;
    fit.cells = areas
        .iter()
        .zip(cells)
        .filter_map(|(area, cell)| {
            let part = fit.parts.iter().position(|part| part.area == *area)?;
            Some(CellFit { part, vcpus: cell.vcpus, pages: cell.pages })
        })
        .collect();
    for part in &mut fit.parts {
        let own = areas.iter().zip(cells).filter(|(area, _)| **area == part.area);
        part.pages = own.map(|(_, cell)| cell.pages).sum();
    }
    fit
}

/// Makes the threads of a choice out.
fn finish(problem: &Problem, found: Found, parting: PartingFound) -> Fit {
    let Found { choice, distance, proof } = found;
    let pages = pages(problem, &choice);
    let parts: Vec<Part> = choice
        .parts
        .iter()
        .zip(pages)
        .map(|((area, vcpus, share), pages)| {
            let seat = problem.seat(*area, *vcpus);
            let mut pcpus = Vec::with_capacity(*vcpus as usize);
            for (segment, count) in &share.by_segment {
                let spot = Spot { layout: problem.layout, stock: problem.stock, segment: *segment };
                pcpus.extend(spot.threads(*count, seat).into_iter().map(Pcpu::new));
            }
            let kept_idle = kept_idle(problem, &pcpus, seat);
            Part { area: *area, pcpus, kept_idle, by_segment: share.by_segment.clone(), pages }
        })
        .collect();
    let cost = choice.parts.iter().fold(Cost::default(), |sum, (_, _, share)| sum + share.cost);
    let (lost_by_largest_area, lost_by_largest_l3) = choice.rank.lost_in_largest;
    let score = Score {
        sharing_cells: 0,
        areas: parts.len() as u32,
        parting,
        distance,
        sharing_areas: cost.get(Field::SharedCores),
        l3: [Field::L3First, Field::L3Second, Field::L3Third].map(|field| cost.get(field)),
        broken_cores: cost.get(Field::BrokenCores),
        device_distance: cost.get(Field::Device),
        whole_cores_lost: cost.get(Field::CoresLost),
        lost_by_largest_area,
        lost_by_largest_l3,
        use_steps: cost.use_steps(),
        id_sum: cost.ids(),
    };
    let cell = |(part, of): (usize, &Part)| CellFit {
        part,
        vcpus: of.pcpus.len() as u32,
        pages: of.pages,
    };
    let cells = parts.iter().enumerate().map(cell).collect();
    Fit { parts, cells, score, proof }
}

fn kept_idle(problem: &Problem, pcpus: &[Pcpu], seat: Seat) -> CpuSet {
    let mut kept = CpuSet::new();
    if seat != (Seat::Core { keeps_siblings: true }) {
        return kept;
    }
    for core in &problem.layout.cores {
        let threads = &problem.layout.threads[core.threads.clone()];
        if threads.iter().any(|thread| pcpus.contains(&Pcpu::new(*thread))) {
            kept.extend(&threads.iter().map(|thread| Pcpu::new(*thread)).collect());
        }
    }
    for pcpu in pcpus {
        kept.remove(*pcpu);
    }
    kept
}

/// Rounded down by vCPUs; the rest one each to the largest remainders that have room for it.
fn pages(problem: &Problem, choice: &Choice) -> Vec<u64> {
    let parts = &choice.parts;
    let mut pages: Vec<u64> = parts.iter().map(|(_, n, _)| problem.pages_at_least(*n)).collect();
    let mut room: Vec<u64> =
        (0..problem.layout.pools()).map(|pool| room_of(problem, choice, pool)).collect();
    for ((area, ..), pages) in parts.iter().zip(&pages) {
        let pool = problem.layout.areas[*area].pool;
        room[pool] = room[pool].saturating_sub(*pages);
    }
    let mut rest = problem.wanted.pages.saturating_sub(pages.iter().sum());
    let due = |vcpus: u32| u128::from(problem.wanted.pages) * u128::from(vcpus);
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|i| {
        (std::cmp::Reverse(due(parts[*i].1) % u128::from(problem.wanted.vcpus)), *i)
    });
    for index in order {
        let (area, vcpus, _) = &parts[index];
        let pool = problem.layout.areas[*area].pool;
        let more = problem.pages_at_most(*vcpus) - pages[index];
        let more = more.min(rest).min(room[pool]);
        pages[index] += more;
        room[pool] -= more;
        rest -= more;
    }
    pages
}

fn room_of(problem: &Problem, choice: &Choice, pool: usize) -> u64 {
    let inside = choice.parts.iter().find(|(area, ..)| problem.layout.areas[*area].pool == pool);
    inside.map_or(0, |(area, ..)| problem.pages(*area))
}
