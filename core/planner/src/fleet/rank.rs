//! The preferences between hosts as numbers, for a place that is known and for one that is not yet.

use super::index::Class;
use super::{Fleet, Held};
use crate::fit::{Fit, PartingFound, Places, Wanted};
use numawise_model::{L3Policy, SmtPolicy};

/// Smaller is better. See the preferences in [`super`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    pub sharing_cells: u32,
    pub areas: u32,
    pub parting: PartingFound,
    pub distance: u64,
    pub sharing_areas: u64,
    /// Under `compact` the number of L3 domains alone; the rest of it is the fleet's loss.
    pub l3: [u64; 3],
    pub opened_hosts: u32,
    pub opened_areas: u32,
    pub opened_domains: u64,
    /// Free threads left over in the areas used and in the host; for guests of several areas in the
    /// host and in the areas.
    pub left_over: [u32; 2],
}

impl Rank {
    pub fn of(fleet: &Fleet, host: usize, fit: &Fit, wanted: &Wanted) -> Self {
        let stock = fleet.stock(host);
        let held = Held::of(fit, fleet.layout(host), wanted);
        let in_host = fleet.left(host).saturating_sub(held.cpus.len() as u32);
        let (mut opened_areas, mut in_areas) = (0, 0);
        for part in &fit.parts {
            let taken = (part.pcpus.len() + part.kept_idle.len()) as u32;
            let free = stock.area(part.area).threads;
            let left = free.saturating_sub(taken);
            let wholly_free = free == fleet.whole(host).area(part.area).threads;
            opened_areas += u32::from(wholly_free && left > 0);
            in_areas += left;
        }
        let compact = wanted.l3 == L3Policy::Compact;
        let [first, second, third] = fit.score.l3;
        Self {
            sharing_cells: fit.score.sharing_cells,
            areas: fit.score.areas,
            parting: fit.score.parting,
            distance: fit.score.distance,
            sharing_areas: fit.score.sharing_areas,
            l3: if compact { [first, 0, 0] } else { [first, second, third] },
            opened_hosts: u32::from(fleet.has_no_guest(host)),
            opened_areas,
            opened_domains: if compact && fit.parts.len() == 1 { second } else { 0 },
            left_over: if fit.parts.len() == 1 { [in_areas, in_host] } else { [in_host, in_areas] },
        }
    }

    /// vNUMA nodes of different sizes, or several of them in one area.
    pub fn is_unequal(&self) -> bool {
        (self.sharing_cells, self.parting) > (0, PartingFound::Even)
    }

    /// Without what differs between members of a class.
    pub fn of_class(self) -> Self {
        Self { left_over: [self.left_over[0], 0], ..self }
    }

    /// No better rank is found in the class, for a guest in one area.
    pub fn at_best(class: &Class, wanted: &Wanted, width: u32) -> Self {
        let vcpus = wanted.vcpus;
        let shared = wanted.smt == SmtPolicy::Avoid && class.places.whole_cores < vcpus;
        let taken = match wanted.smt {
            SmtPolicy::Isolate => vcpus * width,
            _ => vcpus,
        };
        let left_in_areas = class.places.threads.saturating_sub(taken);
        let compact = wanted.l3 == L3Policy::Compact;
        let seat = |places: Places| match wanted.smt {
            SmtPolicy::Avoid if !shared => places.whole_cores,
            smt => seats(places, smt),
        };
        let (domains, opened) = if compact { fewest(&class.domains, vcpus, seat) } else { (0, 0) };
        Self {
            areas: 1,
            distance: u64::from(vcpus).pow(2) * class.beyond_own,
            sharing_areas: u64::from(shared),
            l3: [domains, 0, 0],
            opened_hosts: class.empty_hosts.into(),
            opened_areas: u32::from(class.wholly_free && left_in_areas > 0),
            opened_domains: opened,
            left_over: [left_in_areas, 0],
            ..Self::default()
        }
    }
}

/// How many vCPUs find a seat at the most.
pub fn seats(places: Places, smt: SmtPolicy) -> u32 {
    match smt {
        SmtPolicy::Prefer | SmtPolicy::Avoid => places.threads,
        SmtPolicy::Require => places.paired,
        SmtPolicy::Isolate => places.whole_cores,
    }
}

/// The fewest domains that seat so many, and at least how many free ones that opens unfilled.
pub fn fewest(free: &[(Places, u32)], vcpus: u32, seat: impl Fn(Places) -> u32) -> (u64, u64) {
    let is_free = |places: &Places, width: u32| places.threads == width;
    let one = || free.iter().filter(|(places, _)| seat(*places) >= vcpus);
    if one().next().is_some() {
        let unopened =
            |(places, width): &(Places, u32)| !is_free(places, *width) || seat(*places) == vcpus;
        return (1, u64::from(!one().any(unopened)));
    }
    let mut capacities: Vec<u32> = free.iter().map(|(places, _)| seat(*places)).collect();
    capacities.sort_unstable_by(|a, b| b.cmp(a));
    let mut held = 0;
    let needed = capacities.iter().position(|capacity| {
        held += capacity;
        held >= vcpus
    });
    let domains = needed.map_or(capacities.len() + 1, |index| index + 1);
    let opened = if domains == 2 { opened_by_pairs(free, vcpus, seat) } else { 0 };
    (domains as u64, opened)
}

/// With two domains: none is opened unfilled when both are filled, or when one that is not wholly
/// free can leave over what is left over.
fn opened_by_pairs(free: &[(Places, u32)], vcpus: u32, seat: impl Fn(Places) -> u32) -> u64 {
    let domains: Vec<(u32, bool)> =
        free.iter().map(|(places, width)| (seat(*places), places.threads == *width)).collect();
    let unopened = |a: &(u32, bool), b: &(u32, bool)| {
        let Some(over) = (a.0 + b.0).checked_sub(vcpus) else { return false };
        let takes = |(seats, free): &(u32, bool)| if *free { 0 } else { seats.saturating_sub(1) };
        over <= takes(a) + takes(b)
    };
    let any = (0..domains.len())
        .any(|a| domains[a + 1..].iter().any(|other| unopened(&domains[a], other)));
    u64::from(!any)
}
