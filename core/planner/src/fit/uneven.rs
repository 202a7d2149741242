//! A number of areas with parts of whatever size: what remains when equal parts do not fit.
//!
//! With the areas given, the distance between vCPUs in different parts is least where one part is as
//! large as can be: moving a vCPU from a smaller part to a larger one never brings vCPUs apart that
//! were together. (Along every exchange between two parts the sum is strictly concave, so at its
//! least no two parts can both still give and take. The way to memory adds the same for each vCPU of
//! an area, which changes nothing of that.) Therefore only parts that are full, parts of
//! one unit and at most one part between need to be looked at, and for small guests all are.
//!
//! The walk over areas keeps the best found and cuts what cannot be better; what it has not seen
//! when its steps are used up it does not call worse, and the bound is told.

use super::Proof;
use super::division::{Division, divide};
use super::even::Found;
use super::problem::{Choice, Problem};
use numawise_model::L3Policy;

const PATIENCE: u32 = 40_000;
/// Up to this many units every size is tried, so that conditions on the whole (memory to the last
/// page) cannot hide an answer.
const EVERY_SIZE: u32 = 8;

struct Walk<'a, 'b> {
    problem: &'a Problem<'b>,
    unit: u32,
    /// Areas that could take a unit, with the most each can take, the roomiest first.
    areas: Vec<(usize, u32)>,
    nearest: u64,
    taken: Vec<(usize, u32)>,
    /// Where in `taken` the part stands whose size follows from the others.
    between: Option<usize>,
    best: Option<(u64, Choice)>,
    every_size: bool,
    steps: u32,
}

/// The cheapest choice of `count` areas, in whole units; `Err` when there may be one that was not
/// found.
pub fn place(problem: &Problem, count: u32, unit: u32) -> Result<Option<Found>, GaveUp> {
    let most = |area: usize| (area, most_with_domains(problem, area, unit));
    let mut areas: Vec<(usize, u32)> =
        (0..problem.areas()).map(most).filter(|(_, most)| *most > 0).collect();
    areas.sort_by_key(|(area, most)| (std::cmp::Reverse(*most), *area));
    let wanted = problem.wanted.vcpus;
    let held: u64 = areas.iter().take(count as usize).map(|(_, most)| u64::from(*most)).sum();
    let possible = wanted.is_multiple_of(unit) && wanted / unit >= count;
    if areas.len() < count as usize || held < u64::from(wanted) || !possible {
        return Ok(None);
    }
    let pairs = || areas.iter().flat_map(|(a, _)| areas.iter().map(move |(b, _)| (*a, *b)));
    let nearest = pairs().filter(|(a, b)| a != b).map(|(a, b)| problem.layout.between(a, b)).min();
    let bound = least_pairs(&areas, count, unit, wanted) * nearest.unwrap_or(0);
    let few = wanted / unit <= EVERY_SIZE;
    let mut walk = Walk {
        problem,
        unit,
        areas,
        nearest: nearest.unwrap_or(0),
        taken: Vec::new(),
        between: None,
        best: None,
        every_size: few,
        steps: PATIENCE,
    };
    walk.go(0, count, wanted, 0);
    let mut settled = walk.steps > 0;
    if walk.best.is_none() && !(few && settled) {
        // What holds only of the whole refused all that were looked at.
        match divide(problem, &walk.areas, count, unit) {
            Division::Impossible => return Ok(None),
            Division::NotSaid => {}
            Division::Possible(parts) => {
                settled = false;
                let distance = distance(problem, &parts);
                walk.best = problem.choice(&parts).map(|choice| (distance, choice));
            }
        }
    }
    if walk.best.is_none() && !few {
        (walk.every_size, walk.steps) = (true, PATIENCE);
        walk.go(0, count, wanted, 0);
        settled &= walk.steps > 0;
    }
    let Some((distance, choice)) = walk.best else {
        return if settled { Ok(None) } else { Err(GaveUp) };
    };
    let proof = match settled || distance == bound {
        true => Proof::Optimal,
        false => Proof::BestFound { bound },
    };
    Ok(Some(Found { choice, distance, proof }))
}

/// The most vCPUs of an area, in whole units; where L3 domains are counted, with as many of them as
/// are the part's due. (What `n` vCPUs need of domains grows as `n`, and what the largest domains hold
/// ever more slowly: so below the most there is room as well, but for cores that `avoid` may share.)
fn most_with_domains(problem: &Problem, area: usize, unit: u32) -> u32 {
    let mut most = problem.most(area, unit);
    if matches!(problem.wanted.l3, L3Policy::Exactly(_)) {
        while most > 0 && problem.share_cost(area, most).is_none() {
            most -= unit;
        }
    }
    most
}

/// The steps were used up before anything was found.
pub struct GaveUp;

/// Pairs of vCPUs in different parts, were the roomiest areas filled first.
fn least_pairs(areas: &[(usize, u32)], count: u32, unit: u32, wanted: u32) -> u64 {
    let (mut left, mut alike) = (wanted, 0u64);
    for (place, (_, most)) in areas.iter().take(count as usize).enumerate() {
        let others = unit * (count - 1 - place as u32);
        let here = (*most).min(left - others.min(left));
        alike += u64::from(here).pow(2);
        left -= here;
    }
    (u64::from(wanted).pow(2) - alike) / 2
}

impl Walk<'_, '_> {
    /// `left` parts for `vcpus` more vCPUs, out of the areas from `from` on. `distance` is that of
    /// the parts whose size is known.
    fn go(&mut self, from: usize, left: u32, vcpus: u32, distance: u64) {
        if self.steps == 0 || self.is_worse(distance, vcpus) {
            return;
        }
        self.steps -= 1;
        if left == 0 {
            self.finish(vcpus);
            return;
        }
        // The areas are sorted: the next ones hold the most that can still be held.
        let roomiest = self.areas[from..].iter().take(left as usize);
        let held: u64 = roomiest.map(|(_, most)| u64::from(*most)).sum();
        let open = self.between.map_or(0, |place| u64::from(self.most_between(place)));
        if self.areas.len() - from < left as usize || held + open < u64::from(vcpus) {
            return;
        }
        let (area, most) = self.areas[from];
        for size in self.sizes(most.min(vcpus)) {
            let more = self.distance_to(area, size);
            self.taken.push((area, size));
            self.go(from + 1, left - 1, vcpus - size, distance + more);
            self.taken.pop();
        }
        if self.between.is_none() && !self.every_size {
            self.between = Some(self.taken.len());
            self.taken.push((area, 0));
            self.go(from + 1, left - 1, vcpus, distance);
            self.taken.pop();
            self.between = None;
        }
        self.go(from + 1, left, vcpus, distance);
    }

    fn sizes(&self, most: u32) -> Vec<u32> {
        if self.every_size {
            return (1..=most / self.unit).rev().map(|units| units * self.unit).collect();
        }
        let full = most - most % self.unit;
        let mut sizes = vec![full, self.unit];
        sizes.dedup();
        sizes.retain(|size| *size > 0 && *size <= most);
        sizes
    }

    fn most_between(&self, place: usize) -> u32 {
        let (area, _) = self.taken[place];
        self.areas.iter().find(|(other, _)| *other == area).map_or(0, |(_, most)| *most)
    }

    fn distance_to(&self, area: usize, size: u32) -> u64 {
        let to = |(other, other_size): &(usize, u32)| {
            u64::from(*other_size) * u64::from(size) * self.problem.layout.between(*other, area)
        };
        let others: u64 = self.taken.iter().map(to).sum();
        others + self.problem.to_memory(area, size)
    }

    fn is_worse(&self, distance: u64, vcpus: u32) -> bool {
        let Some((best, _)) = &self.best else { return false };
        let placed: u64 = self.taken.iter().map(|(_, size)| u64::from(*size)).sum();
        let all_in_one = if self.taken.is_empty() { 0 } else { placed * u64::from(vcpus) };
        // With a part between, the rest may go there; it is as far from the placed ones.
        distance + all_in_one * self.nearest > *best
    }

    fn finish(&mut self, vcpus: u32) {
        let mut parts = self.taken.clone();
        match self.between {
            Some(place) => {
                let (least, most) = (self.unit, self.most_between(place));
                if !(least..=most).contains(&vcpus) {
                    return;
                }
                parts[place].1 = vcpus;
            }
            None if vcpus > 0 => return,
            None => {}
        }
        let distance = distance(self.problem, &parts);
        if self.best.as_ref().is_some_and(|(best, _)| distance > *best) {
            return;
        }
        let Some(choice) = self.problem.choice(&parts) else { return };
        let better = self
            .best
            .as_ref()
            .is_none_or(|(best, known)| (distance, choice.rank) < (*best, known.rank));
        if better {
            self.best = Some((distance, choice));
        }
    }
}

/// Over every pair of vCPUs in different areas, there and back, and from each vCPU to its memory.
pub fn distance(problem: &Problem, parts: &[(usize, u32)]) -> u64 {
    let mut sum = 0;
    for (index, (a, of_a)) in parts.iter().enumerate() {
        sum += problem.to_memory(*a, *of_a);
        for (b, of_b) in &parts[index + 1..] {
            if a != b {
                sum += u64::from(*of_a) * u64::from(*of_b) * problem.layout.between(*a, *b);
            }
        }
    }
    sum
}
