//! The best host for one request.

use super::groups::Allowed;
use super::index::{Class, Need};
use super::rank::seats;
use super::{Bound, Fleet, Rank};
use crate::fit::{Cells, DeviceNear, Fit, Parting, Proof, Stock, Wanted, fit};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// A place on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub host: usize,
    pub fit: Fit,
    pub rank: Rank,
    /// No host has a better rank; else the best of those that were asked.
    pub is_best: bool,
}

/// There is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPlace {
    /// No host could take it; else none was found within the bound.
    pub is_certain: bool,
}

/// The best host for a guest, and its place there.
pub fn choose(
    fleet: &Fleet,
    wanted: &Wanted,
    allowed: &Allowed,
    bound: &mut Bound,
) -> Result<Choice, NoPlace> {
    let mut search = Search { fleet, wanted, allowed, best: None, gave_up: false };
    if let Some(host) = allowed.single(fleet) {
        search.on_host(host, bound);
        return search.finish(bound);
    }
    let one_area = matches!(wanted.cells, Cells::Free(_) | Cells::Count(1, _));
    if wanted.vcpus > 0 && one_area {
        search.in_one_area(bound);
    }
    if search.best.is_none() && !matches!(wanted.cells, Cells::Count(1, _)) {
        search.in_several(bound);
    }
    search.finish(bound)
}

struct Search<'a> {
    fleet: &'a Fleet,
    wanted: &'a Wanted,
    allowed: &'a Allowed,
    best: Option<Choice>,
    gave_up: bool,
}

impl Search<'_> {
    fn finish(self, bound: &Bound) -> Result<Choice, NoPlace> {
        let is_certain = !self.gave_up && !bound.is_reached();
        match self.best {
            Some(choice) => Ok(Choice { is_best: is_certain, ..choice }),
            None => Err(NoPlace { is_certain }),
        }
    }

    /// Area by area, without the index.
    fn on_host(&mut self, host: Option<usize>, bound: &mut Bound) {
        let Some(host) = host.filter(|host| self.could_hold(*host)) else { return };
        let (fleet, wanted) = (self.fleet, self.wanted);
        let areas = fleet.layout(host).areas.len();
        if matches!(wanted.cells, Cells::Free(_) | Cells::Count(1, _)) {
            for area in 0..areas {
                let seats = seats(fleet.stock(host).area(area), wanted.smt);
                let holds =
                    seats >= wanted.vcpus && pages(fleet, host, area, wanted) >= wanted.pages;
                if holds && bound.step() {
                    self.ask(host, &in_area(wanted, area, areas));
                }
            }
        }
        let several = !matches!(wanted.cells, Cells::Count(1, _));
        if self.best.is_none() && several && bound.step() {
            self.ask(host, wanted);
        }
    }

    /// Class by class, the one with the best bound first.
    fn in_one_area(&mut self, bound: &mut Bound) {
        let (fleet, wanted) = (self.fleet, self.wanted);
        let widths: Vec<u32> = fleet.makes.iter().map(|make| make.layout.smt_width()).collect();
        let mut heap: BinaryHeap<Reverse<(Rank, usize)>> = BinaryHeap::new();
        let mut classes: Vec<&Class> = Vec::new();
        for class in fleet.index.classes() {
            if seats(class.places, wanted.smt) >= wanted.vcpus {
                let best = Rank::at_best(class, wanted, widths[class.make as usize]);
                heap.push(Reverse((best, classes.len())));
                classes.push(class);
            }
        }
        let need = Need::new(wanted.page_size, wanted.pages.max(1));
        let pages = |host: usize, area: usize| pages(fleet, host, area, wanted);
        while let Some(Reverse((at_best, class))) = heap.pop() {
            if self.best.as_ref().is_some_and(|best| best.rank.of_class() < at_best) {
                return;
            }
            let allowed = self.allowed;
            let mut may = |host: usize| allowed.allows(fleet, host);
            let Some((host, area)) = classes[class].first(&need, &mut may, &pages) else {
                continue;
            };
            if !bound.step() {
                return;
            }
            let restricted = in_area(wanted, area, fleet.layout(host).areas.len());
            self.ask(host, &restricted);
        }
    }

    fn in_several(&mut self, bound: &mut Bound) {
        let fleet = self.fleet;
        let mut seen: Vec<&Rc<Stock>> = Vec::new();
        for host in fleet.index.hosts_with(self.wanted.vcpus) {
            let stock = &fleet.hosts[host].stock;
            let again = fleet.has_no_guest(host) && seen.iter().any(|seen| Rc::ptr_eq(seen, stock));
            if again || !self.allowed.allows(fleet, host) || !self.could_hold(host) {
                continue;
            }
            if !bound.step() {
                return;
            }
            if fleet.has_no_guest(host) {
                seen.push(stock);
            }
            self.ask(host, self.wanted);
        }
    }

    /// By seats and memory of each area alone.
    fn could_hold(&self, host: usize) -> bool {
        let (fleet, wanted) = (self.fleet, self.wanted);
        let stock = fleet.stock(host);
        let caps = (0..fleet.layout(host).areas.len()).map(|area| {
            let seats = seats(stock.area(area), wanted.smt);
            let pages = pages(fleet, host, area, wanted);
            let due = u128::from(pages) + 1;
            let by_pages =
                (due * u128::from(wanted.vcpus)).div_ceil(u128::from(wanted.pages.max(1)));
            seats.min(u32::try_from(by_pages).unwrap_or(u32::MAX))
        });
        match &wanted.cells {
            Cells::Count(count, Parting::Even) if *count > 0 => {
                let each = (wanted.vcpus / count).max(1);
                // Cores are not divided, so a cell may be smaller by almost one.
                let each = if wanted.vcpus.is_multiple_of(*count) { each } else { 1 };
                caps.map(|cap| cap / each).sum::<u32>() >= *count
            }
            _ => caps.map(u64::from).sum::<u64>() >= u64::from(wanted.vcpus),
        }
    }

    fn ask(&mut self, host: usize, wanted: &Wanted) {
        let fleet = self.fleet;
        let found = match fit(fleet.layout(host), fleet.stock(host), wanted) {
            Ok(found) => found,
            Err(no) => {
                self.gave_up |= no == crate::fit::NoFit::GaveUp;
                return;
            }
        };
        self.gave_up |= found.proof != Proof::Optimal;
        let rank = Rank::of(fleet, host, &found, wanted);
        let better = |best: &Choice| (rank, host) < (best.rank, best.host);
        if self.best.as_ref().is_none_or(better) {
            self.best = Some(Choice { host, fit: found, rank, is_best: false });
        }
    }
}

/// Pages that an area can promise.
fn pages(fleet: &Fleet, host: usize, area: usize, wanted: &Wanted) -> u64 {
    let area = &fleet.layout(host).areas[area];
    if area.memory_nodes.is_empty() {
        return 0;
    }
    fleet.stock(host).pages(wanted.page_size, area.pool).unwrap_or(u64::MAX)
}

/// The same, in this area: said as a device that all vCPUs must be near.
pub(super) fn in_area(wanted: &Wanted, area: usize, areas: usize) -> Wanted {
    let near = (0..areas).map(|other| other == area).collect();
    let device = DeviceNear { required: true, near, distance: vec![0; areas] };
    Wanted { cells: Cells::Count(1, Parting::EvenFirst), devices: vec![device], ..wanted.clone() }
}
