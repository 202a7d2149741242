//! The best host for a guest of several areas.
//!
//! Two equal parts are the usual case. There a pair of areas is a candidate, and what it can be at
//! best is told from counts: so few are asked. Hosts come the fullest first, which ends the walk as
//! soon as no fuller host is left that could be better.

use super::choose::{Choice, Search, could_hold, pages};
use super::index::Largest;
use super::rank::{fewest, seats};
use super::{Bound, Rank};
use crate::fit::{Cells, Layout, Parting, Places, Stock, Wanted};
use numawise_model::{L3Policy, SmtPolicy};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// Of hosts where parts must be unequal or an area shared, so many with a place are compared.
const PATIENCE: u32 = 4;

/// A question to `fit`, with the best that it can be answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    at_best: Rank,
    host: usize,
    areas: Option<(usize, usize)>,
}

impl Search<'_> {
    /// Host by host, the fullest first. Hosts that could give each vNUMA node an area of its own in
    /// equal parts come before all others, so those are asked only when there is none.
    pub(super) fn in_several(&mut self, bound: &mut Bound) {
        if let Some(cells) = equal_cells(self.wanted) {
            // In whole cores, one part may be smaller by almost a core.
            let widest = self.fleet.makes.iter().map(|make| make.layout.smt_width()).max();
            let each = (self.wanted.vcpus / cells).saturating_sub(widest.unwrap_or(1) - 1);
            let (index, each) = (cells as usize - 1, u8::try_from(each).unwrap_or(u8::MAX));
            let is_large = |largest: &Largest| largest.get(index).is_none_or(|most| *most >= each);
            self.in_equal_parts(bound, &is_large);
            // A host that was asked as a whole may have answered with unequal parts or a shared area.
            // Others may do that better, also those that were not large enough to be asked.
            if self.best.as_ref().is_some_and(|best| best.rank.is_unequal()) {
                self.best = None;
            }
        }
        if self.best.is_none() {
            let mut found = 0;
            self.by_host(
                bound,
                |_| true,
                |search, host, bound| {
                    if found == PATIENCE {
                        search.gave_up = true;
                        return false;
                    }
                    if bound.step() {
                        found += u32::from(search.ask(host, None));
                    }
                    true
                },
            );
        }
    }

    /// All candidates that could be the best, in the order of what they can be at best. That is what
    /// they nearly always are; where the best turns out worse than what was left out, all are asked.
    fn in_equal_parts(&mut self, bound: &mut Bound, is_large: &dyn Fn(&Largest) -> bool) {
        let mut heap: BinaryHeap<Reverse<Candidate>> = BinaryHeap::new();
        let left_out = self.by_host(bound, is_large, |search, host, _| {
            let next = search.next(host, None);
            search.at_best = next.iter().map(|c| c.at_best).chain(search.at_best).min();
            heap.extend(next.map(Reverse));
            true
        });
        self.at_best = None;
        while let Some(Reverse(candidate)) = heap.pop() {
            self.ask_in_turn(Some(candidate), bound);
        }
        let is_proven = |best: &Choice| left_out.is_none_or(|left_out| best.rank < left_out);
        if left_out.is_some() && !self.best.as_ref().is_some_and(is_proven) {
            self.by_host(bound, is_large, |search, host, bound| {
                let next = search.next(host, None);
                search.ask_in_turn(next, bound);
                true
            });
        }
    }

    /// Looks at hosts while that is wanted and while they could have a better rank than the best
    /// so far; the best that those left out could have.
    fn by_host(
        &mut self,
        bound: &mut Bound,
        is_large: impl Fn(&Largest) -> bool,
        mut look_at: impl FnMut(&mut Self, usize, &mut Bound) -> bool,
    ) -> Option<Rank> {
        let fleet = self.fleet;
        let at_best = self.at_best_anywhere();
        let mut seen: Vec<&Rc<Stock>> = Vec::new();
        for (host, largest) in fleet.index.hosts_with(self.wanted.vcpus) {
            let no_guest = fleet.has_no_guest(host);
            let left = fleet.left(host).saturating_sub(self.taken(fleet.layout(host)));
            let at_best = Rank { opened_hosts: no_guest.into(), left_over: [left, 0], ..at_best };
            let known = self.best.as_ref().map(|best| best.rank).or(self.at_best);
            if bound.is_reached() || known.is_some_and(|known| known < at_best) {
                return Some(at_best);
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
                return None;
            }
        }
        None
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
            let at_best = (candidate.at_best, candidate.host);
            let worse = self.best.as_ref().is_some_and(|best| (best.rank, best.host) < at_best);
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
                distance: u64::from(each).pow(2)
                    * (layout.between(a, b) + 2 * (layout.beyond_own(a) + layout.beyond_own(b))),
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
}

/// The number of vNUMA nodes, where it is given and they may be equal.
fn equal_cells(wanted: &Wanted) -> Option<u32> {
    match wanted.cells {
        Cells::Count(cells, Parting::Even | Parting::EvenFirst) if cells > 0 => Some(cells),
        _ => None,
    }
}
