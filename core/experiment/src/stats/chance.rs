//! How likely chance alone had made it.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Up to so many pairs every possible flip is counted; above it, as many as a bootstrap draws are drawn.
pub const EXACT_PAIRS: usize = 16;
const DRAWS: u32 = 10_000;

/// The chance that values without effect had a sum as large as these have, when only their signs are chance:
/// within a pair, either run may have come out ahead. One-sided; 1 of nothing.
pub fn sign_flip_p(values: &[f64], seed: u64) -> f64 {
    let observed: f64 = values.iter().sum();
    let size: f64 = values.iter().map(|value| value.abs()).sum();
    if !size.is_finite() || values.is_empty() {
        return 1.0;
    }
    // Sums of the same numbers in another order are equal, and floating point does not know it.
    let at_least = observed - 1e-9 * size;
    if values.len() <= EXACT_PAIRS {
        exact(values, observed, at_least)
    } else {
        drawn(values, observed, at_least, seed)
    }
}

/// In the order of a Gray code: each flip differs from the one before it in one sign.
fn exact(values: &[f64], observed: f64, at_least: f64) -> f64 {
    let all = 1_u32 << values.len();
    let mut flipped = vec![false; values.len()];
    let mut sum = observed;
    let mut hits = 1_u32;
    for step in 1..all {
        let place = step.trailing_zeros() as usize;
        let sign = if flipped[place] { 2.0 } else { -2.0 };
        flipped[place] = !flipped[place];
        sum += sign * values[place];
        hits += u32::from(sum >= at_least);
    }
    f64::from(hits) / f64::from(all)
}

/// The observed signs count as one of the draws, so that no chance is ever zero.
fn drawn(values: &[f64], observed: f64, at_least: f64, seed: u64) -> f64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    // What the positive sign takes away from the sum, twice the value; the other one takes nothing.
    let doubled: Vec<[f64; 2]> = values.iter().map(|value| [0.0, 2.0 * value]).collect();
    let mut hits = 1_u32;
    for _ in 0..DRAWS {
        // Four sums at a time do not wait for each other.
        let mut taken = [0.0; 4];
        for part in doubled.chunks(64) {
            let signs = rng.next_u64();
            for (place, value) in part.iter().enumerate() {
                taken[place % 4] += value[(signs >> place & 1) as usize];
            }
        }
        hits += u32::from(observed - taken.iter().sum::<f64>() >= at_least);
    }
    f64::from(hits) / f64::from(DRAWS + 1)
}

/// Holm's adjustment: chances of several questions that were asked at once, each made as large as it has to
/// be for any claim among them to be wrong no more often than a single one would be. In the order given.
pub fn holm(chances: &[f64]) -> Vec<f64> {
    let mut by_size: Vec<usize> = (0..chances.len()).collect();
    by_size.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut adjusted = vec![1.0; chances.len()];
    let mut largest: f64 = 0.0;
    for (rank, index) in by_size.into_iter().enumerate() {
        let still = (chances.len() - rank) as f64;
        largest = largest.max((chances[index] * still).min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}
