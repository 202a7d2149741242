//! The best host for one request.

use super::groups::Allowed;
use super::index::{Class, Largest, Need};
use super::rank::{fewest, seats};
use super::{Bound, Fleet, Rank};
use crate::fit::{Cells, Fit, Layout, Parting, Places, Proof, Stock, Wanted, fit};
use numawise_model::{L3Policy, SmtPolicy};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// Of hosts where parts must be unequal or an area shared, so many with a place are compared.
const PATIENCE: u32 = 4;

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

/// The place in one area of one host.
pub(super) fn choose_in_area(
    fleet: &Fleet,
    wanted: &Wanted,
    host: usize,
    area: usize,
    bound: &mut Bound,
) -> Option<Choice> {
    let allowed = Allowed::default();
    let mut search = Search { fleet, wanted, allowed: &allowed, best: None, gave_up: false };
    if bound.step() {
        search.ask(host, Some(&[area]));
    }
    search.best
}

/// A question to `fit`, with the best that it can be answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    at_best: Rank,
    host: usize,
    areas: Option<(usize, usize)>,
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

    /// Host by host, the fullest first. Hosts that could give each vNUMA node an area of its own in
    /// equal parts come before all others, so those are asked only when there is none.
    fn in_several(&mut self, bound: &mut Bound) {
        if let Some(cells) = equal_cells(self.wanted) {
            // In whole cores, one part may be smaller by almost a core.
            let widest = self.fleet.makes.iter().map(|make| make.layout.smt_width()).max();
            let each = (self.wanted.vcpus / cells).saturating_sub(widest.unwrap_or(1) - 1);
            let (index, each) = (cells as usize - 1, u8::try_from(each).unwrap_or(u8::MAX));
            let is_large = |largest: &Largest| largest.get(index).is_none_or(|most| *most >= each);
            self.by_host(bound, is_large, |search, host, bound| {
                let equal = search.next(host, None);
                search.ask_in_turn(equal, bound);
                true
            });
        }
        if self.best.is_none() {
            let mut found = 0;
            self.by_host(
                bound,
                |_| true,
                |search, host, bound| {
                    if bound.step() {
                        found += u32::from(search.ask(host, None));
                    }
                    search.gave_up |= found == PATIENCE;
                    found < PATIENCE
                },
            );
        }
    }

    /// Looks at hosts while that is wanted and while they could have a better rank.
    fn by_host(
        &mut self,
        bound: &mut Bound,
        is_large: impl Fn(&Largest) -> bool,
        mut look_at: impl FnMut(&mut Self, usize, &mut Bound) -> bool,
    ) {
        let fleet = self.fleet;
        let at_best = self.at_best_anywhere();
        let mut seen: Vec<&Rc<Stock>> = Vec::new();
        for (host, largest) in fleet.index.hosts_with(self.wanted.vcpus) {
            let no_guest = fleet.has_no_guest(host);
            let left = fleet.left(host).saturating_sub(self.taken(fleet.layout(host)));
            let at_best = Rank { opened_hosts: no_guest.into(), left_over: [left, 0], ..at_best };
            if bound.is_reached() || self.best.as_ref().is_some_and(|best| best.rank < at_best) {
                return;
            }
            if !is_large(largest) || !self.allowed.allows(fleet, host) {
                continue;
            }
            let stock = &fleet.hosts[host].stock;
            if no_guest && seen.iter().any(|seen| Rc::ptr_eq(seen, stock)) {
                continue;
            }
            if no_guest {
                seen.push(stock);
            }
            if could_hold(fleet, host, self.wanted) && !look_at(self, host, bound) {
                return;
            }
        }
    }

    /// No host without guests, of any make, has a better rank.
    fn at_best_anywhere(&self) -> Rank {
        let fleet = self.fleet;
        let (Some(2), true) = (equal_cells(self.wanted), self.best.is_none()) else {
            return Rank::default();
        };
        let vcpus = u64::from(self.wanted.vcpus);
        let between = fleet.makes.iter().flat_map(|make| {
            let areas = make.layout.areas.len();
            (0..areas).flat_map(move |a| (a + 1..areas).map(move |b| make.layout.between(a, b)))
        });
        let between = between.min().unwrap_or(0);
        if !self.halves_are_whole() {
            // Parts differ by less than two cores: of such parts these have the smallest product.
            let least = (vcpus / 2).saturating_sub(16) * (vcpus / 2 + 16).min(vcpus);
            return Rank { areas: 2, distance: least * between, ..Rank::default() };
        }
        let domains = fleet.makes.iter().flat_map(|make| {
            let areas = 0..make.layout.areas.len();
            areas.map(|area| {
                self.fewest_domains(&make.layout, &make.whole, area, self.wanted.vcpus / 2)
            })
        });
        let distance = (vcpus / 2) * (vcpus / 2) * between;
        Rank { areas: 2, distance, l3: [2 * domains.min().unwrap_or(0), 0, 0], ..Rank::default() }
    }

    /// Both halves are whole cores on every make, or cores do not count.
    fn halves_are_whole(&self) -> bool {
        self.fleet.makes.iter().all(|make| self.has_whole_halves(&make.layout))
    }

    fn has_whole_halves(&self, layout: &Layout) -> bool {
        let vcpus = self.wanted.vcpus;
        match self.wanted.smt {
            SmtPolicy::Isolate | SmtPolicy::Avoid => vcpus.is_multiple_of(2),
            SmtPolicy::Prefer | SmtPolicy::Require => vcpus.is_multiple_of(2 * layout.smt_width()),
        }
    }

    /// Threads that the guest takes.
    fn taken(&self, layout: &Layout) -> u32 {
        let isolate = self.wanted.smt == SmtPolicy::Isolate;
        self.wanted.vcpus * if isolate { layout.smt_width() } else { 1 }
    }

    /// A candidate and those after it on the same host, while they could be better.
    fn ask_in_turn(&mut self, first: Option<Candidate>, bound: &mut Bound) {
        let mut next = first;
        while let Some(candidate) = next {
            let worse = self.best.as_ref().is_some_and(|best| best.rank < candidate.at_best);
            if worse || !bound.step() {
                return;
            }
            let areas = candidate.areas.map(|(a, b)| [a, b]);
            self.ask(candidate.host, areas.as_ref().map(<[usize; 2]>::as_slice));
            next = areas.and_then(|_| self.next(candidate.host, Some(&candidate)));
        }
    }

    /// What to ask of the host first, or after something else. Two equal parts are the usual case:
    /// there each pair of areas is a candidate, and the host as a whole only without one.
    fn next(&self, host: usize, after: Option<&Candidate>) -> Option<Candidate> {
        let (fleet, wanted) = (self.fleet, self.wanted);
        let (stock, layout) = (fleet.stock(host), fleet.layout(host));
        let taken = self.taken(layout);
        let left_in_host = fleet.left(host).saturating_sub(taken);
        let floor = Rank {
            opened_hosts: fleet.has_no_guest(host).into(),
            left_over: [left_in_host, 0],
            ..Rank::default()
        };
        let whole = |at_best: Rank| Some(Candidate { at_best, host, areas: None });
        if equal_cells(wanted) != Some(2) || !self.has_whole_halves(layout) {
            return whole(floor);
        }
        let each = wanted.vcpus / 2;
        let due = u128::from(wanted.pages) * u128::from(each) / u128::from(wanted.vcpus);
        let holds = |area: &usize| {
            seats(stock.area(*area), wanted.smt) >= each
                && u128::from(pages(fleet, host, *area, wanted)) >= due
        };
        let holding: Vec<usize> = (0..layout.areas.len()).filter(holds).collect();
        let left = |area: usize| stock.area(area).threads.saturating_sub(taken / 2);
        let opened = |area: usize| {
            let wholly_free = stock.area(area).threads == fleet.whole(host).area(area).threads;
            u32::from(wholly_free && left(area) > 0)
        };
        let l3: Vec<u64> =
            holding.iter().map(|area| self.fewest_domains(layout, stock, *area, each)).collect();
        let pairs = (0..holding.len())
            .flat_map(|first| (first + 1..holding.len()).map(move |second| (first, second)));
        let ranks = pairs.map(|(first, second)| {
            let (a, b) = (holding[first], holding[second]);
            let at_best = Rank {
                areas: 2,
                distance: u64::from(each) * u64::from(each) * layout.between(a, b),
                l3: [l3[first] + l3[second], 0, 0],
                opened_areas: opened(a) + opened(b),
                left_over: [left_in_host, left(a) + left(b)],
                ..floor
            };
            Candidate { at_best, host, areas: Some((a, b)) }
        });
        ranks.filter(|candidate| after.is_none_or(|after| candidate > after)).min()
    }

    /// Of an area alone, under `compact`: how many domains so many vCPUs take.
    fn fewest_domains(&self, layout: &Layout, stock: &Stock, area: usize, vcpus: u32) -> u64 {
        let smt = self.wanted.smt;
        // Under `avoid` it depends on the other area whether cores are shared.
        if self.wanted.l3 != L3Policy::Compact || smt == SmtPolicy::Avoid {
            return 0;
        }
        let segments = layout.areas[area].segments.clone();
        let free: Vec<(Places, u32)> = segments
            .map(|segment| (stock.segment(segment), layout.segments[segment].width))
            .filter(|(places, _)| places.threads > 0)
            .collect();
        fewest(&free, vcpus, |places| seats(places, smt)).0
    }

    /// The host, or these areas of it alone; whether there was a place.
    fn ask(&mut self, host: usize, areas: Option<&[usize]>) -> bool {
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
            self.best = Some(Choice { host, fit: found, rank, is_best: false });
        }
        true
    }
}

/// The number of vNUMA nodes, where it is given and they may be equal.
fn equal_cells(wanted: &Wanted) -> Option<u32> {
    match wanted.cells {
        Cells::Count(cells, Parting::Even | Parting::EvenFirst) if cells > 0 => Some(cells),
        _ => None,
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
fn pages(fleet: &Fleet, host: usize, area: usize, wanted: &Wanted) -> u64 {
    let area = &fleet.layout(host).areas[area];
    if area.memory_nodes.is_empty() {
        return 0;
    }
    fleet.stock(host).pages(wanted.page_size, area.pool).unwrap_or(u64::MAX)
}
