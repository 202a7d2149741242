//! One request on one host, with what is asked of areas again and again kept at hand.

use super::area::{self, Ask, Domains, Share};
use super::cost::{Cost, Field};
use super::layout::Layout;
use super::seat::{Seat, Spot};
use super::stock::{Places, Stock};
use super::{Cells, Wanted};
use numawise_model::{L3Policy, SmtPolicy};
use std::cell::RefCell;

pub struct Problem<'a> {
    pub layout: &'a Layout,
    pub stock: &'a Stock,
    pub wanted: &'a Wanted,
    /// vCPUs that each area can seat at most.
    pub seats: Vec<u32>,
    /// Shares found so far, by area.
    shares: RefCell<Vec<Known>>,
}

/// The shares of an area that were asked for, by vCPUs.
type Known = Vec<(u32, Option<Share>)>;

/// Areas with their vCPUs and shares: one way to place the whole guest.
#[derive(Clone, Debug)]
pub struct Choice {
    /// By area.
    pub parts: Vec<(usize, u32, Share)>,
    pub rank: Rank,
}

/// The preferences of a choice inside a fixed number of areas and a fixed distance, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    pub head: u128,
    /// Whole cores lost by the area that had the most, and by the L3 domain that had the most.
    pub lost_in_largest: (u32, u32),
    pub tail: u64,
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// How many vCPUs each area can seat.
pub fn seats(stock: &Stock, smt: SmtPolicy) -> Vec<u32> {
    let of = |places: &Places| match smt {
        SmtPolicy::Prefer | SmtPolicy::Avoid => places.threads,
        SmtPolicy::Require => places.paired,
        SmtPolicy::Isolate => places.whole_cores,
    };
    stock.areas().iter().map(of).collect()
}

impl<'a> Problem<'a> {
    pub fn new(layout: &'a Layout, stock: &'a Stock, wanted: &'a Wanted) -> Self {
        let seats = seats(stock, wanted.smt);
        let shares = RefCell::new(vec![Vec::new(); layout.areas.len()]);
        Self { layout, stock, wanted, seats, shares }
    }

    pub fn areas(&self) -> usize {
        self.layout.areas.len()
    }

    /// What `count` parts are multiples of: the host's threads per core, where the guest has whole
    /// cores and enough of them.
    pub fn unit_for(&self, count: u32) -> u32 {
        let (width, vcpus) = (self.per_core(), self.wanted.vcpus);
        if vcpus.is_multiple_of(width) && vcpus / width >= count { width } else { 1 }
    }

    fn per_core(&self) -> u32 {
        match self.wanted.smt {
            SmtPolicy::Isolate | SmtPolicy::Avoid => 1,
            SmtPolicy::Prefer | SmtPolicy::Require => self.layout.smt_width(),
        }
    }

    /// What unequal parts are multiples of, to be multiples of `unit` and to have a whole number of
    /// the L3 domains where those are counted: the parts then have domains by their vCPUs.
    pub fn multiple_for_domains(&self, unit: u32) -> u32 {
        let L3Policy::Exactly(domains) = self.wanted.l3 else { return unit };
        let vcpus = self.wanted.vcpus;
        let per_step = vcpus / common_divisor(vcpus, domains);
        per_step / common_divisor(per_step, unit) * unit
    }

    /// Pages that so many of the guest's vCPUs bring along, rounded down; never none.
    pub fn pages_at_least(&self, vcpus: u32) -> u64 {
        let (pages, of) = (self.wanted.pages, u64::from(self.wanted.vcpus));
        let due = match pages.checked_mul(u64::from(vcpus)) {
            Some(due) => due / of,
            // Wider numbers only where they are needed: their division is slow.
            None => (u128::from(pages) * u128::from(vcpus) / u128::from(of)) as u64,
        };
        due.max(1)
    }

    /// The same rounded up.
    pub fn pages_at_most(&self, vcpus: u32) -> u64 {
        let (pages, of) = (self.wanted.pages, u64::from(self.wanted.vcpus));
        let due = match pages.checked_mul(u64::from(vcpus)) {
            Some(due) => due.div_ceil(of),
            None => (u128::from(pages) * u128::from(vcpus)).div_ceil(u128::from(of)) as u64,
        };
        due.max(1)
    }

    /// What an area can promise; no limit where it is not known.
    pub fn pages(&self, area: usize) -> u64 {
        let pool = self.layout.areas[area].pool;
        if self.layout.areas[area].memory_nodes.is_empty() {
            return 0;
        }
        self.stock.pages(self.wanted.page_size, pool).unwrap_or(u64::MAX)
    }

    /// Whether the area by itself could take so many of the guest's vCPUs with their memory.
    pub fn holds(&self, area: usize, vcpus: u32) -> bool {
        self.seats[area] >= vcpus && self.pages(area) >= self.pages_at_least(vcpus)
    }

    /// The most vCPUs an area could take, in multiples of `unit`.
    pub fn most(&self, area: usize, unit: u32) -> u32 {
        let pages = self.pages(area);
        let most = self.seats[area].min(self.wanted.vcpus);
        let holds = |vcpus: u32| self.pages_at_least(vcpus) <= pages;
        let mut most = most - most % unit;
        if most > 0 && !holds(most) {
            let due = u128::from(pages).saturating_add(1) * u128::from(self.wanted.vcpus);
            let bound = due.div_ceil(u128::from(self.wanted.pages.max(1)));
            most = most.min(u32::try_from(bound).unwrap_or(most));
            most -= most % unit;
            while most > 0 && !holds(most) {
                most -= unit;
            }
        }
        most
    }

    /// The cheapest share of `vcpus` in an area, its distance to devices among the cost.
    pub fn share(&self, area: usize, vcpus: u32) -> Option<Share> {
        self.with_share(area, vcpus, |share| share.cloned())
    }

    /// What that share costs.
    pub fn share_cost(&self, area: usize, vcpus: u32) -> Option<Cost> {
        self.with_share(area, vcpus, |share| share.map(|share| share.cost))
    }

    fn with_share<T>(&self, area: usize, vcpus: u32, look: impl Fn(Option<&Share>) -> T) -> T {
        if let Some((_, share)) = self.shares.borrow()[area].iter().find(|(n, _)| *n == vcpus) {
            return look(share.as_ref());
        }
        let share = match self.same_elsewhere(area, vcpus) {
            Some(share) => share,
            None => self.share_keeping(area, vcpus, None),
        };
        let seen = look(share.as_ref());
        self.shares.borrow_mut()[area].push((vcpus, share));
        seen
    }

    /// What was found for an area in the same state, with the ids of this one: all preferences but
    /// the ids, and all choices, are the same there.
    fn same_elsewhere(&self, area: usize, vcpus: u32) -> Option<Option<Share>> {
        let (layout, stock) = (self.layout, self.stock);
        if !self.wanted.devices.is_empty() || stock.knows_use() {
            return None;
        }
        let shares = self.shares.borrow();
        let known = (0..shares.len()).find_map(|other| {
            let (_, share) = shares[other].iter().find(|(n, _)| *n == vcpus)?;
            let same = layout.are_alike(other, area) && stock.same_free(layout, other, area);
            same.then_some((other, share))
        });
        let (other, share) = known?;
        let Some(share) = share else { return Some(None) };
        let shift = layout.id_shift(other, area) * i64::from(vcpus);
        let segment = |segment| {
            segment - layout.areas[other].segments.start + layout.areas[area].segments.start
        };
        Some(Some(Share {
            cost: Cost { tail: share.cost.tail.wrapping_add_signed(shift), ..share.cost },
            by_segment: share.by_segment.iter().map(|(of, count)| (segment(*of), *count)).collect(),
        }))
    }

    fn share_keeping(&self, area: usize, vcpus: u32, keep: Option<(usize, u32)>) -> Option<Share> {
        let (ask, shared) = self.ask(area, vcpus);
        let share = area::share(self.layout, self.stock, area, &ask, keep)?;
        let distance: u64 = self.wanted.devices.iter().map(|d| u64::from(d.distance[area])).sum();
        let more = Cost::of(Field::Device, distance.min(1023) * u64::from(vcpus))
            + Cost::of(Field::SharedCores, shared.into());
        Some(Share { cost: share.cost + more, ..share })
    }

    /// How vCPUs sit in an area, and whether that is against `avoid`.
    fn ask(&self, area: usize, vcpus: u32) -> (Ask, bool) {
        let whole_cores = self.stock.area(area).whole_cores;
        let (seat, shared) = match self.wanted.smt {
            SmtPolicy::Prefer => (Seat::Thread, false),
            SmtPolicy::Require => (Seat::Paired, false),
            SmtPolicy::Isolate => (Seat::Core { keeps_siblings: true }, false),
            SmtPolicy::Avoid if whole_cores >= vcpus => {
                (Seat::Core { keeps_siblings: false }, false)
            }
            SmtPolicy::Avoid => (Seat::Thread, true),
        };
        let per_core = if matches!(seat, Seat::Core { .. }) { 1 } else { self.layout.smt_width() };
        let domains = match self.wanted.l3 {
            L3Policy::Compact => Domains::Compact,
            L3Policy::Spread => Domains::Spread,
            L3Policy::Exactly(domains) => Domains::Exactly(self.domains_here(domains, vcpus)),
        };
        (Ask { vcpus, seat, domains, per_core }, shared)
    }

    /// Of the domains asked for in all, those of an area with so many vCPUs: in proportion, or none
    /// when that is no whole number.
    fn domains_here(&self, domains: u32, vcpus: u32) -> u32 {
        let due = u64::from(domains) * u64::from(vcpus);
        let all = u64::from(self.wanted.vcpus);
        if due.is_multiple_of(all) { (due / all) as u32 } else { 0 }
    }

    pub fn seat(&self, area: usize, vcpus: u32) -> Seat {
        self.ask(area, vcpus).0.seat
    }

    /// What holds only of the whole: memory to the last page, CPUs for the emulator, devices.
    pub fn holds_together(&self, parts: &[(usize, u32)]) -> bool {
        // Cells of given sizes have their memory checked with each of them.
        let given = matches!(self.wanted.cells, Cells::Given(_));
        (given || self.memory_holds(parts))
            && self.emulator_holds(parts)
            && self.devices_hold(parts)
    }

    fn memory_holds(&self, parts: &[(usize, u32)]) -> bool {
        let (mut at_least, mut at_most) = (0u64, 0u64);
        for pool in 0..self.layout.pools() {
            let inside = || parts.iter().filter(|(area, _)| self.layout.areas[*area].pool == pool);
            let Some((first, _)) = inside().next() else { continue };
            let have = self.pages(*first);
            let low: u64 = inside().map(|(_, vcpus)| self.pages_at_least(*vcpus)).sum();
            let high: u64 = inside().map(|(_, vcpus)| self.pages_at_most(*vcpus)).sum();
            if low > have {
                return false;
            }
            at_least += low;
            at_most += high.min(have);
        }
        (at_least..=at_most).contains(&self.wanted.pages)
    }

    fn emulator_holds(&self, parts: &[(usize, u32)]) -> bool {
        let left = |(area, vcpus): &(usize, u32)| {
            let places = self.stock.area(*area);
            match self.seat(*area, *vcpus) {
                // The siblings that are kept idle are gone too.
                Seat::Core { keeps_siblings: true } => {
                    places.threads.saturating_sub(vcpus * self.layout.smt_width())
                }
                _ => places.threads - vcpus,
            }
        };
        self.wanted.emulator_cpus == 0
            || parts.iter().map(left).sum::<u32>() >= self.wanted.emulator_cpus
    }

    /// What the distance counts for memory that is elsewhere: how much farther it is than an area's own,
    /// for each vCPU there and each of the guest (as if all that it does went to that memory).
    pub fn to_memory(&self, area: usize, vcpus: u32) -> u64 {
        u64::from(vcpus) * u64::from(self.wanted.vcpus) * self.layout.beyond_own(area)
    }

    /// Whether all areas together have the pages.
    pub fn has_pages(&self) -> bool {
        let mut pools = vec![0; self.layout.pools()];
        for area in 0..self.areas() {
            pools[self.layout.areas[area].pool] = self.pages(area);
        }
        pools.into_iter().fold(0, u64::saturating_add) >= self.wanted.pages
    }

    /// Whether all areas together have a pCPU left for the emulator. Where siblings are kept idle each
    /// area must be asked.
    pub fn has_threads_for_the_emulator(&self) -> bool {
        let threads: u64 = self.stock.areas().iter().map(|places| u64::from(places.threads)).sum();
        let wanted = u64::from(self.wanted.vcpus) + u64::from(self.wanted.emulator_cpus);
        self.wanted.emulator_cpus == 0 || self.wanted.smt == SmtPolicy::Isolate || threads >= wanted
    }

    fn devices_hold(&self, parts: &[(usize, u32)]) -> bool {
        let required = self.wanted.devices.iter().filter(|device| device.required);
        required.into_iter().all(|device| parts.iter().any(|(area, _)| device.near[*area]))
    }

    /// The whole of some parts, with the losses that only the whole has.
    pub fn choice(&self, parts: &[(usize, u32)]) -> Option<Choice> {
        if !self.holds_together(parts) {
            return None;
        }
        let shares: Option<Vec<(usize, u32, Share)>> =
            parts.iter().map(|(area, n)| Some((*area, *n, self.share(*area, *n)?))).collect();
        let mut parts = shares?;
        parts.sort_by_key(|(area, ..)| *area);
        let mut choice = Choice { rank: self.rank(&parts), parts };
        self.keep_a_large_domain(&mut choice);
        Some(choice)
    }

    fn rank(&self, parts: &[(usize, u32, Share)]) -> Rank {
        let cost = parts.iter().fold(Cost::default(), |sum, (_, _, share)| sum + share.cost);
        let lost_in_largest = (self.lost_by_areas(parts), self.lost_by_segments(parts));
        Rank { head: cost.head, lost_in_largest, tail: cost.tail }
    }

    fn lost_by_areas(&self, parts: &[(usize, u32, Share)]) -> u32 {
        let places = self.stock.areas();
        let lost = |area: usize| {
            let part = parts.iter().find(|(taken, ..)| *taken == area);
            part.map_or(0, |(_, _, share)| share.cost.get(Field::CoresLost) as u32)
        };
        let before = places.iter().map(|p| p.whole_cores).max().unwrap_or(0);
        let after = places.iter().enumerate().map(|(area, p)| p.whole_cores - lost(area)).max();
        before - after.unwrap_or(0)
    }

    fn lost_by_segments(&self, parts: &[(usize, u32, Share)]) -> u32 {
        let before = self.largest_segment();
        let mut after = 0;
        let used = || {
            parts.iter().flat_map(|(area, n, s)| {
                s.by_segment.iter().map(move |(segment, count)| (*area, *n, *segment, *count))
            })
        };
        for (segment, places) in self.stock.segments().iter().enumerate() {
            if places.whole_cores <= after {
                continue;
            }
            let part = used().find(|(_, _, taken, _)| *taken == segment);
            let lost = part.map_or(0, |(area, vcpus, segment, count)| {
                self.cores_lost(segment, count, self.seat(area, vcpus))
            });
            after = after.max(places.whole_cores - lost);
        }
        before - after
    }

    fn largest_segment(&self) -> u32 {
        self.stock.segments().iter().map(|p| p.whole_cores).max().unwrap_or(0)
    }

    fn cores_lost(&self, segment: usize, count: u32, seat: Seat) -> u32 {
        let spot = Spot { layout: self.layout, stock: self.stock, segment };
        spot.cost(count, seat).map_or(0, |cost| cost.get(Field::CoresLost) as u32)
    }

    /// The largest L3 domain of the host may be spared at no other cost: what it loses does not add
    /// up over domains, so each that could be the one left is tried.
    fn keep_a_large_domain(&self, choice: &mut Choice) {
        let (_, lost) = choice.rank.lost_in_largest;
        let largest = self.largest_segment();
        for fewer in 0..lost {
            let mut best: Option<Choice> = None;
            let keep = largest - fewer;
            for (index, (area, vcpus, share)) in choice.parts.iter().enumerate() {
                for (segment, _) in &share.by_segment {
                    if self.stock.segment(*segment).whole_cores < keep {
                        continue;
                    }
                    let other = self.share_keeping(*area, *vcpus, Some((*segment, keep)));
                    let Some(other) = other.filter(|other| other.cost.head == share.cost.head)
                    else {
                        continue;
                    };
                    let mut parts = choice.parts.clone();
                    parts[index].2 = other;
                    let rank = self.rank(&parts);
                    if best.as_ref().is_none_or(|best| rank < best.rank) {
                        best = Some(Choice { parts, rank });
                    }
                }
            }
            if let Some(best) = best.filter(|best| best.rank < choice.rank) {
                *choice = best;
                return;
            }
        }
    }
}
