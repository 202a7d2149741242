//! The best host for one request.

use super::groups::Allowed;
use super::index::{Class, Need};
use super::rank::seats;
use super::{Bound, Fleet, Held, Rank};
use crate::fit::{Cells, Fit, Parting, Proof, Wanted, fit};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A place on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub host: usize,
    pub fit: Fit,
    /// What the guest has there.
    pub held: Held,
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
    let mut search = Search { fleet, wanted, allowed, best: None, at_best: None, gave_up: false };
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

/// The place in one area of one host.
pub(super) fn choose_in_area(
    fleet: &Fleet,
    wanted: &Wanted,
    host: usize,
    area: usize,
    bound: &mut Bound,
) -> Option<Choice> {
    let allowed = Allowed::default();
    let mut search =
        Search { fleet, wanted, allowed: &allowed, best: None, at_best: None, gave_up: false };
    if bound.step() {
        search.ask(host, Some(&[area]));
    }
    search.best
}

pub(super) struct Search<'a> {
    pub(super) fleet: &'a Fleet,
    pub(super) wanted: &'a Wanted,
    pub(super) allowed: &'a Allowed,
    pub(super) best: Option<Choice>,
    /// Of what is still to be asked.
    pub(super) at_best: Option<Rank>,
    pub(super) gave_up: bool,
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
        let Some(host) = host.filter(|host| could_hold(self.fleet, *host, self.wanted)) else {
            return;
        };
        let (fleet, wanted) = (self.fleet, self.wanted);
        let areas = fleet.layout(host).areas.len();
        if matches!(wanted.cells, Cells::Free(_) | Cells::Count(1, _)) {
            for area in 0..areas {
                let seats = seats(fleet.stock(host).area(area), wanted.smt);
                let holds =
                    seats >= wanted.vcpus && pages(fleet, host, area, wanted) >= wanted.pages;
                if holds && bound.step() {
                    self.ask(host, Some(&[area]));
                }
            }
        }
        let several = !matches!(wanted.cells, Cells::Count(1, _));
        if self.best.is_none() && several && bound.step() {
            self.ask(host, None);
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
            self.ask(host, Some(&[area]));
        }
    }

    /// The host, or these areas of it alone; whether there was a place.
    pub(super) fn ask(&mut self, host: usize, areas: Option<&[usize]>) -> bool {
        let (fleet, wanted) = (self.fleet, self.wanted);
        let layout = fleet.layout(host);
        let found = match areas {
            Some(areas) => fit(layout, &fleet.stock(host).only_areas(layout, areas), wanted),
            None => fit(layout, fleet.stock(host), wanted),
        };
        let found = match found {
            Ok(found) => found,
            Err(no) => {
                self.gave_up |= no == crate::fit::NoFit::GaveUp;
                return false;
            }
        };
        self.gave_up |= found.proof != Proof::Optimal;
        let rank = Rank::of(fleet, host, &found, wanted);
        let better = |best: &Choice| (rank, host) < (best.rank, best.host);
        if self.best.as_ref().is_none_or(better) {
            let held = Held::on(fleet, host, &found, wanted);
            self.best = Some(Choice { host, fit: found, held, rank, is_best: false });
        }
        true
    }
}

/// By seats and memory of each area alone.
pub(super) fn could_hold(fleet: &Fleet, host: usize, wanted: &Wanted) -> bool {
    let stock = fleet.stock(host);
    let caps = (0..fleet.layout(host).areas.len()).map(|area| {
        let seats = seats(stock.area(area), wanted.smt);
        let pages = pages(fleet, host, area, wanted);
        let due = u128::from(pages) + 1;
        let by_pages = (due * u128::from(wanted.vcpus)).div_ceil(u128::from(wanted.pages.max(1)));
        seats.min(u32::try_from(by_pages).unwrap_or(u32::MAX))
    });
    match &wanted.cells {
        Cells::Count(count, Parting::Even) if *count > 0 => {
            // In whole cores, one part may be smaller by almost a core.
            let width = fleet.layout(host).smt_width();
            let each = (wanted.vcpus / count).saturating_sub(width - 1).max(1);
            caps.map(|cap| cap / each).sum::<u32>() >= *count
        }
        _ => caps.map(u64::from).sum::<u64>() >= u64::from(wanted.vcpus),
    }
}

/// Pages that an area can promise.
pub(super) fn pages(fleet: &Fleet, host: usize, area: usize, wanted: &Wanted) -> u64 {
    let area = &fleet.layout(host).areas[area];
    if area.memory_nodes.is_empty() {
        return 0;
    }
    fleet.stock(host).pages(wanted.page_size, area.pool).unwrap_or(u64::MAX)
}
