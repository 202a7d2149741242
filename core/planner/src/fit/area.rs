//! Some vCPUs in one area: which L3 domains, and how many vCPUs on each.
//!
//! # Compact
//!
//! As few domains as can hold them. Of those choices, first the one that opens the fewest free
//! domains without filling them, then the one that leaves the fewest places over in the domains it
//! uses: whole domains stay whole for the next guest, and what is left of the others stays usable.
//!
//! Every one of these numbers is a sum over the domains used, as are the preferences after them. So
//! the cheapest choice is found domain by domain: the cheapest way to have seated `n` vCPUs in the
//! domains so far, for each `n`.
//!
//! # Spread
//!
//! As many domains as there are, but no more than the guest has cores' worth of vCPUs, with equal
//! shares or shares that differ by at most one core. A host half taken may not have equal shares to
//! give on so many domains; then fewer domains with equal shares are better than more with unequal
//! ones, for the slowest domain holds up the rest. Only where no number of domains gives equal
//! shares are they as equal as can be.
//!
//! `--l3 N` is the same with the number given.

use super::cost::{Cost, Field};
use super::fold::Fold;
use super::layout::Layout;
use super::seat::{Seat, Spot};
use super::stock::Stock;

/// What is asked of one area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    pub vcpus: u32,
    pub seat: Seat,
    pub domains: Domains,
    /// vCPUs to a core of the guest: 2 where siblings are given in pairs.
    pub per_core: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domains {
    Compact,
    Spread,
    Exactly(u32),
}

/// An answer: how many vCPUs on which segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    pub cost: Cost,
    /// By segment, none empty.
    pub by_segment: Vec<(usize, u32)>,
}

impl Ask {
    /// Whether the area has as many seats when so many whole cores of a segment stay free.
    fn leaves(
        &self,
        layout: &Layout,
        stock: &Stock,
        area: usize,
        segment: usize,
        cores: u32,
    ) -> bool {
        let of = &layout.segments[segment];
        // Where cores differ, no more is known than that each kept one has a thread.
        let width = match layout.cores_of(of).first() {
            Some(core) if of.regular => core.width(),
            _ => 1,
        };
        let seats = match self.seat {
            Seat::Thread => width,
            Seat::Paired => 0,
            Seat::Core { .. } => 1,
        };
        self.seat.capacity(stock.area(area)) >= self.vcpus.saturating_add(cores * seats)
    }
}

/// A domain that could take part.
pub struct Candidate<'a> {
    pub spot: Spot<'a>,
    capacity: u32,
    wholly_free: bool,
}

/// The cheapest share, or `None` when the area cannot seat them. `keep` are segments of which some
/// whole cores must stay free.
pub fn share(
    layout: &Layout,
    stock: &Stock,
    area: usize,
    ask: &Ask,
    keep: Option<(usize, u32)>,
) -> Option<Share> {
    if ask.seat.capacity(stock.area(area)) < ask.vcpus {
        return None;
    }
    if keep.is_some_and(|(segment, cores)| !ask.leaves(layout, stock, area, segment, cores)) {
        return None;
    }
    let candidate = |segment: usize| {
        let spot = Spot { layout, stock, segment };
        let places = spot.places();
        let capacity = ask.seat.capacity(places);
        let wholly_free = spot.is_wholly_free();
        (capacity > 0).then_some(Candidate { spot, capacity, wholly_free })
    };
    let candidates: Vec<Candidate> =
        layout.areas[area].segments.clone().filter_map(candidate).collect();
    match ask.domains {
        Domains::Compact => compact(&candidates, ask, keep),
        Domains::Spread => spread(&candidates, ask, keep),
        Domains::Exactly(domains) => exactly(&candidates, ask, domains as usize, keep),
    }
}

impl Candidate<'_> {
    /// What `count` vCPUs here cost under `compact`.
    fn compact_cost(&self, count: u32, seats: Cost) -> Cost {
        let opened = self.wholly_free && count < self.capacity;
        seats
            + Cost::of(Field::L3First, 1)
            + Cost::of(Field::L3Second, opened.into())
            + Cost::of(Field::L3Third, (self.capacity - count).into())
    }

    fn costs(&self, most: u32, seat: Seat, keep: Option<(usize, u32)>) -> Vec<Cost> {
        let mut costs = self.spot.costs(most.min(self.capacity), seat);
        if let Some((_, cores)) = keep.filter(|(segment, _)| *segment == self.spot.segment) {
            let may_lose = u64::from(self.spot.places().whole_cores.saturating_sub(cores));
            for cost in &mut costs {
                if cost.get(Field::CoresLost) > may_lose {
                    *cost = Cost::MAX;
                }
            }
        }
        costs
    }
}

fn compact(candidates: &[Candidate], ask: &Ask, keep: Option<(usize, u32)>) -> Option<Share> {
    let holds_all = |candidate: &&Candidate| candidate.capacity >= ask.vcpus;
    if keep.is_none() && ask.seat != Seat::Paired {
        // With one domain there is nothing to weigh but which.
        let one = candidates.iter().filter(holds_all).filter_map(|candidate| {
            let seats = candidate.spot.cost(ask.vcpus, ask.seat)?;
            let cost = candidate.compact_cost(ask.vcpus, seats);
            Some((cost, candidate.spot.segment))
        });
        if let Some((cost, segment)) = one.min() {
            return Some(Share { cost, by_segment: vec![(segment, ask.vcpus)] });
        }
    }
    let all: u32 = candidates.iter().map(|candidate| candidate.capacity).sum();
    if keep.is_none() && all == ask.vcpus && ask.seat != Seat::Paired {
        return everything(candidates, ask.seat);
    }
    let left_over = least_left_over(candidates, ask);
    let mut fold = Fold::new(ask.vcpus as usize, 0);
    for candidate in candidates {
        let costs = candidate.costs(ask.vcpus, ask.seat, keep);
        // Where it is known how many places are left over in all, no domain leaves more.
        let least = left_over.map_or(1, |over| candidate.capacity.saturating_sub(over).max(1));
        let counts = (least as usize..costs.len()).filter(|count| costs[*count] != Cost::MAX);
        let options: Vec<(usize, Cost)> = counts
            .map(|count| (count, candidate.compact_cost(count as u32, costs[count])))
            .collect();
        fold.add(&options);
    }
    fold.finish(candidates, ask, 0)
}

/// There is one way to take all that is there.
fn everything(candidates: &[Candidate], seat: Seat) -> Option<Share> {
    let mut cost = Cost::default();
    for candidate in candidates {
        let seats = candidate.spot.cost(candidate.capacity, seat)?;
        cost = cost + candidate.compact_cost(candidate.capacity, seats);
    }
    let by_segment = candidates.iter().map(|c| (c.spot.segment, c.capacity)).collect();
    Some(Share { cost, by_segment })
}

/// The places left over by the best compact choice, where that is known beforehand: with the fewest
/// domains, those that can leave least over, a partly used one among them before a free one is
/// opened and not filled. (With the fewest domains what is left over is less than any of them holds,
/// so one partly used domain can be the one that is not filled.)
fn least_left_over(candidates: &[Candidate], ask: &Ask) -> Option<u32> {
    if ask.seat == Seat::Paired && ask.per_core > 2 {
        return None;
    }
    let (domains, vcpus) = (fewest(candidates, ask.vcpus), ask.vcpus as usize);
    let largest = candidates.iter().map(|candidate| candidate.capacity as usize).max()?;
    let words = (vcpus + largest) / 64 + 1;
    // For each number of domains, without a partly used one and with: the sums that can be held.
    let mut sums = vec![0u64; (domains + 1) * 2 * words];
    sums[0] = 1;
    for candidate in candidates {
        for taken in (0..domains).rev() {
            let (before, into) = sums.split_at_mut((taken + 1) * 2 * words);
            for partly in 0..2 {
                let after = if candidate.wholly_free { partly } else { 1 };
                let from = &before[(taken * 2 + partly) * words..][..words];
                or_shifted(&mut into[after * words..][..words], from, candidate.capacity as usize);
            }
        }
    }
    let least = |sums: &[u64], from: usize| {
        (from..sums.len() * 64).find(|sum| sums[sum / 64] & (1 << (sum % 64)) != 0)
    };
    let (whole, partly) = sums[domains * 2 * words..].split_at(words);
    let full = least(whole, vcpus).filter(|sum| *sum == vcpus);
    let best = full.or_else(|| least(partly, vcpus)).or_else(|| least(whole, vcpus))?;
    Some((best - vcpus) as u32)
}

/// Adds to a set of numbers those of another, each larger by so much; what runs over is dropped.
fn or_shifted(into: &mut [u64], bits: &[u64], by: usize) {
    let (words, rest) = (by / 64, by % 64);
    for (index, word) in bits.iter().enumerate().filter(|(_, word)| **word != 0) {
        if let Some(low) = into.get_mut(index + words) {
            *low |= word << rest;
        }
        if rest > 0
            && let Some(high) = into.get_mut(index + words + 1)
        {
            *high |= word >> (64 - rest);
        }
    }
}

fn spread(candidates: &[Candidate], ask: &Ask, keep: Option<(usize, u32)>) -> Option<Share> {
    let cores_worth = ask.vcpus.div_ceil(ask.per_core) as usize;
    let least = fewest(candidates, ask.vcpus);
    let most = candidates.len().min(cores_worth).max(least);
    let unused = |domains: usize| Cost::of(Field::L3Second, (candidates.len() - domains) as u64);
    let equal = (1..=most).rev().find_map(|domains| {
        let share = in_equal_shares(candidates, ask, domains, keep)?;
        Some(Share { cost: share.cost + unused(domains), ..share })
    });
    equal.or_else(|| {
        let share =
            (least..=most).rev().find_map(|d| as_equal_as_can_be(candidates, ask, d, keep))?;
        let domains = share.by_segment.len();
        Some(Share { cost: share.cost + unused(domains), ..share })
    })
}

fn exactly(
    candidates: &[Candidate],
    ask: &Ask,
    domains: usize,
    keep: Option<(usize, u32)>,
) -> Option<Share> {
    in_equal_shares(candidates, ask, domains, keep)
        .or_else(|| as_equal_as_can_be(candidates, ask, domains, keep))
}

/// The fewest domains that can hold so many.
fn fewest(candidates: &[Candidate], vcpus: u32) -> usize {
    let mut capacities: Vec<u32> = candidates.iter().map(|c| c.capacity).collect();
    capacities.sort_unstable_by(|a, b| b.cmp(a));
    let mut held = 0;
    let needed = capacities.iter().position(|capacity| {
        held += capacity;
        held >= vcpus
    });
    needed.map_or(candidates.len() + 1, |index| index + 1)
}

/// On so many domains, with shares that differ by at most one core's worth.
fn in_equal_shares(
    candidates: &[Candidate],
    ask: &Ask,
    domains: usize,
    keep: Option<(usize, u32)>,
) -> Option<Share> {
    let per_core = ask.per_core as usize;
    let vcpus = ask.vcpus as usize;
    if domains == 0 || domains > candidates.len() || domains > vcpus {
        return None;
    }
    // Shares of `cores` or `cores + 1` cores' worth. An average tells which can be meant.
    let average = vcpus / domains;
    let lowest = (average / per_core).saturating_sub(1).max(1);
    let shares = (lowest..=average / per_core + 2).filter_map(|cores| {
        let range = (cores - 1) * per_core + 1..=(cores + 1) * per_core;
        let mut capacities: Vec<usize> = candidates
            .iter()
            .map(|candidate| candidate.capacity as usize)
            .filter(|capacity| capacity >= range.start())
            .map(|capacity| capacity.min(*range.end()))
            .collect();
        capacities.sort_unstable_by(|a, b| b.cmp(a));
        let held: usize = capacities.iter().take(domains).sum();
        let possible =
            capacities.len() >= domains && held >= vcpus && domains * range.start() <= vcpus;
        if !possible {
            return None;
        }
        let mut fold = Fold::new(vcpus, domains);
        for candidate in candidates {
            let costs = candidate.costs(*range.end() as u32, ask.seat, keep);
            let counts = range.clone().filter(|n| costs.get(*n).is_some_and(|c| *c != Cost::MAX));
            fold.add(&counts.map(|count| (count, costs[count])).collect::<Vec<_>>());
        }
        fold.finish(candidates, ask, domains)
    });
    shares.min_by_key(|share| share.cost)
}

/// On so many domains; the sum of squares is least where shares are most equal.
fn as_equal_as_can_be(
    candidates: &[Candidate],
    ask: &Ask,
    domains: usize,
    keep: Option<(usize, u32)>,
) -> Option<Share> {
    if domains == 0 || domains > candidates.len() {
        return None;
    }
    let mut fold = Fold::new(ask.vcpus as usize, domains);
    for candidate in candidates {
        let costs = candidate.costs(ask.vcpus, ask.seat, keep);
        let counts = (1..costs.len()).filter(|count| costs[*count] != Cost::MAX);
        let option = |count: usize| {
            let cores = (count as u64).div_ceil(u64::from(ask.per_core));
            (count, costs[count] + Cost::of(Field::L3Third, cores * cores))
        };
        fold.add(&counts.map(option).collect::<Vec<_>>());
    }
    let share = fold.finish(candidates, ask, domains)?;
    Some(Share { cost: share.cost + Cost::of(Field::L3First, 1), ..share })
}
