//! As many of a batch as can be had, where there is no room for all.
//!
//! Which to leave out is a knapsack with several things in it: threads, and the pages of each size.
//! A request costs what it takes of each, measured by how scarce that is. The cheapest are chosen as far
//! as their sum fits the fleet, and placed the largest first, as a batch that fits is; what is then
//! still to be had is added, the cheapest first. Where some of the chosen had no place, fewer are chosen the
//! next time. Several measures of scarcity are tried, and the attempt with the most requests is kept;
//! what it lacks may still be placed by moving others.

use super::batch::{Batch, Item, Placed, Work, units};
use super::groups::{Allowed, Groups};
use super::{Bound, Fleet};
use numawise_model::{PageSize, SmtPolicy};
use std::collections::BTreeMap;

/// How often fewer are chosen, for each measure.
const ATTEMPTS: usize = 6;

/// As many as can be had. What is placed is taken from the fleet.
pub fn place_most(
    fleet: &mut Fleet,
    groups: &mut Groups,
    items: &[Item],
    base: &Allowed,
    bound: &mut Bound,
) -> Batch {
    let units = units(items);
    let things = Things::of(fleet, base, items, &units);
    let mut work = Work::new(fleet, groups, items, base);
    let mut missing = work.place_units(&units, bound);
    if !missing.is_empty() && things.hold_all() {
        work.mend(&missing, bound);
        missing.retain(|unit| unit.iter().any(|item| work.placed[*item].is_none()));
    }
    if !missing.is_empty() {
        let missing = choose_which(&mut work, &units, &things, bound);
        work.mend(&missing, bound);
    }
    Batch { placed: work.placed, is_cut_short: bound.is_reached() }
}

/// Leaves the best attempt in `work`, and says what it lacks, the cheapest first.
fn choose_which(
    work: &mut Work,
    units: &[Vec<usize>],
    things: &Things,
    bound: &mut Bound,
) -> Vec<Vec<usize>> {
    let count = |work: &Work| work.placed.iter().flatten().count();
    let mut best_count = count(work);
    let mut best: Vec<Option<Placed>> = work.take_all_out();
    let mut order: Vec<usize> = (0..units.len()).collect();
    for measure in things.measures() {
        let costs: Vec<f64> = (0..units.len()).map(|unit| things.cost(unit, &measure)).collect();
        let mut cheapest = order.clone();
        cheapest.sort_by(|a, b| costs[*a].total_cmp(&costs[*b]).then(a.cmp(b)));
        let mut chosen = things.as_far_as_they_fit(&cheapest);
        for _ in 0..ATTEMPTS {
            if bound.is_reached() {
                break;
            }
            // Units are numbered from the largest on.
            let mut first = cheapest[..chosen].to_vec();
            first.sort_unstable();
            let of = |numbers: &[usize]| -> Vec<Vec<usize>> {
                numbers.iter().map(|unit| units[*unit].clone()).collect()
            };
            let without = work.place_units(&of(&first), bound);
            work.place_units(&without, bound);
            work.place_units(&of(&cheapest[chosen..]), bound);
            let placed = count(work);
            let attempt = work.take_all_out();
            if placed > best_count {
                (best_count, best) = (placed, attempt);
                order.clone_from(&cheapest);
            }
            if without.is_empty() {
                break;
            }
            chosen = chosen.saturating_sub(without.len().max(1));
        }
    }
    work.put_all_back(best);
    let lacks = |unit: &&usize| units[**unit].iter().any(|item| work.placed[*item].is_none());
    order.iter().filter(lacks).map(|unit| units[*unit].clone()).collect()
}

/// What the fleet has of threads and of pages of each size, and what each unit takes of it.
struct Things {
    have: Vec<f64>,
    takes: Vec<Vec<f64>>,
}

impl Things {
    fn of(fleet: &Fleet, base: &Allowed, items: &[Item], units: &[Vec<usize>]) -> Self {
        let mut sizes: BTreeMap<PageSize, usize> = BTreeMap::new();
        for item in items {
            let next = sizes.len() + 1;
            sizes.entry(item.wanted.page_size).or_insert(next);
        }
        let mut have = vec![0.0; sizes.len() + 1];
        let mut width = 1;
        for host in (0..fleet.len()).filter(|host| base.allows(fleet, *host)) {
            let layout = fleet.layout(host);
            width = width.max(layout.smt_width());
            have[0] += f64::from(fleet.left(host));
            for (size, thing) in &sizes {
                // What is not counted is no limit.
                let pages = (0..layout.pools()).map(|pool| fleet.stock(host).pages(*size, pool));
                have[*thing] +=
                    pages.map(|pages| pages.map_or(f64::INFINITY, |n| n as f64)).sum::<f64>();
            }
        }
        let takes = |unit: &Vec<usize>| {
            let mut takes = vec![0.0; have.len()];
            for item in unit {
                let wanted = &items[*item].wanted;
                let threads = match wanted.smt {
                    SmtPolicy::Isolate => wanted.vcpus * width,
                    _ => wanted.vcpus,
                };
                takes[0] += f64::from(threads);
                takes[sizes[&wanted.page_size]] += wanted.pages as f64;
            }
            takes
        };
        let takes = units.iter().map(takes).collect();
        Self { have, takes }
    }

    fn share(&self, unit: usize, thing: usize) -> f64 {
        if self.have[thing] > 0.0 { self.takes[unit][thing] / self.have[thing] } else { 1.0 }
    }

    fn hold_all(&self) -> bool {
        let wanted = |thing| self.takes.iter().map(|takes| takes[thing]).sum::<f64>();
        (0..self.have.len()).all(|thing| wanted(thing) <= self.have[thing])
    }

    /// Weights of the things: all alike, the threads alone, and by how much more is wanted than there is.
    fn measures(&self) -> Vec<Vec<f64>> {
        let things = 0..self.have.len();
        let alike = vec![1.0; things.len()];
        let threads = things.clone().map(|thing| if thing == 0 { 1.0 } else { 0.01 }).collect();
        let wanted = |thing: usize| (0..self.takes.len()).map(|unit| self.share(unit, thing)).sum();
        let scarce: Vec<f64> = things.map(wanted).collect();
        let scarcer = scarce.iter().map(|share: &f64| share * share * share).collect();
        vec![alike, threads, scarce, scarcer]
    }

    fn cost(&self, unit: usize, measure: &[f64]) -> f64 {
        measure.iter().enumerate().map(|(thing, weight)| weight * self.share(unit, thing)).sum()
    }

    /// How many of these, in this order, the fleet could hold if it were one host.
    fn as_far_as_they_fit(&self, order: &[usize]) -> usize {
        let mut left = self.have.clone();
        let fits = |unit: &usize| {
            let enough = left.iter().zip(&self.takes[*unit]).all(|(left, takes)| left >= takes);
            left.iter_mut().zip(&self.takes[*unit]).for_each(|(left, takes)| *left -= takes);
            enough
        };
        order.iter().map(fits).position(|fits| !fits).unwrap_or(order.len())
    }
}
