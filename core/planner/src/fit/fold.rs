//! vCPUs over the L3 domains of an area, domain by domain.
//!
//! A knapsack: costs add up, so the cheapest way to a number of vCPUs goes through the cheapest ways
//! to smaller numbers. One table for all domains, changed in place.

use super::area::{Ask, Candidate, Share};
use super::cost::{Cost, Field};
use super::seat::Seat;

/// The cheapest way to have seated `n` vCPUs on `d` of the domains so far; `d` is not counted when
/// the number of domains is free.
pub struct Fold {
    vcpus: usize,
    rows: usize,
    costs: Vec<Cost>,
    /// For each domain, how many vCPUs it got in the cheapest way to each state.
    choices: Vec<u16>,
    /// Domains so far.
    added: usize,
}

impl Fold {
    pub fn new(vcpus: usize, domains: usize) -> Self {
        let rows = domains + 1;
        let mut costs = vec![Cost::MAX; rows * (vcpus + 1)];
        costs[0] = Cost::default();
        Self { vcpus, rows, costs, choices: Vec::new(), added: 0 }
    }

    /// Options by count. In place: each state is made from smaller ones, which come later.
    pub fn add(&mut self, options: &[(usize, Cost)]) {
        let width = self.vcpus + 1;
        let step = usize::from(self.rows > 1);
        let start = self.choices.len();
        self.choices.resize(start + self.costs.len(), 0);
        // No row beyond the domains so far has been reached.
        let rows = (self.rows - step).min(self.added * step + 1);
        for row in (0..rows).rev() {
            for after in (0..width).rev() {
                let index = (row + step) * width + after;
                let mut best = self.costs[index];
                // Of equals the largest count, as when going up through the states.
                for (count, more) in options.iter().rev().filter(|(count, _)| *count <= after) {
                    let cost = self.costs[row * width + after - count];
                    if cost == Cost::MAX {
                        continue;
                    }
                    let total = cost + *more;
                    if total < best {
                        best = total;
                        self.choices[start + index] = *count as u16;
                    }
                }
                self.costs[index] = best;
            }
        }
        self.added += 1;
    }

    pub fn finish(self, candidates: &[Candidate], ask: &Ask, domains: usize) -> Option<Share> {
        let width = self.vcpus + 1;
        let step = usize::from(self.rows > 1);
        let (mut row, mut left) = (domains, self.vcpus);
        let cost = self.costs[row * width + left];
        // One vCPU of an odd number has no partner; two without one are against `require`.
        let alone = cost.get(Field::SharedCores);
        if cost == Cost::MAX || (ask.seat == Seat::Paired && alone > u64::from(ask.vcpus % 2)) {
            return None;
        }
        let mut by_segment = Vec::new();
        for (candidate, choice) in
            candidates.iter().zip(self.choices.chunks(self.costs.len())).rev()
        {
            let count = usize::from(choice[row * width + left]);
            if count > 0 {
                by_segment.push((candidate.spot.segment, count as u32));
                left -= count;
                row -= step;
            }
        }
        by_segment.reverse();
        Some(Share { cost, by_segment })
    }
}
