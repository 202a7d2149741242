//! How many pairs an experiment needs.
//!
//! # The problem
//!
//! Too few pairs end in "inconclusive" after hours; too many are hours for nothing. The number depends on
//! how far runs lie apart, which only runs can tell.
//!
//! # The approach
//!
//! A pilot of a few blocks estimates the spread of the logarithm of a pair's ratio, from all arms of each
//! block, the control too: what one run does that its block and its arm do not explain. A few blocks
//! estimate it badly, so its upper 80 % bound is taken. That bound is not the normal distribution's: noise of
//! benchmarks has longer tails, so a pilot that happens to miss them tells too little. The bound allows for
//! an excess kurtosis of [`TAILS`].
//!
//! Then the interval's end has to clear the smallest gain worth claiming in nine experiments of ten:
//!
//! > n ≥ (3.24 s / (ln(1 + effect) − ln(1 + worth)))²
//!
//! where 3.24 is 1.96 (an interval of 95 %) and 1.28 (nine of ten). For few pairs both belong to Student's
//! distribution, and are larger. Where several claims are made at once, 1.96 is larger too.
//!
//! # Properties
//!
//! - Never fewer pairs than the formula above gives.
//! - Never fewer than a sign-flip test needs to reach the level at all, and never fewer than
//!   [`LEAST_PAIRS`], since a pilot may be lucky.
//! - An effect that is not larger than what is worth claiming needs no number: none is enough.
//! - The number is even, since blocks come in mirrored twos.

use crate::order::Arm;
use crate::stats::{Bounds, mean, t_quantile};
use crate::trial::{Cell, Trial};
use crate::verdict::{Question, counted};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::collections::{BTreeMap, BTreeSet};

/// How many blocks a pilot has, unless told otherwise.
pub const PILOT_BLOCKS: u32 = 8;
/// Fewer pairs are never recommended.
pub const LEAST_PAIRS: u32 = 10;
/// Above it, noise is what has to be mended.
pub const MOST_PAIRS: u32 = 10_000;
/// The chance of a wrong claim, in either direction.
pub const ERROR_RATE: f64 = 0.05;
/// The excess kurtosis that is allowed for: that of Student's distribution with five degrees of freedom. A
/// double exponential has half of it; normal noise in which one run of twenty lies far out has two thirds.
pub const TAILS: f64 = 6.0;
const POWER: f64 = 0.90;
const BOUND: f64 = 0.80;

/// What a pilot says.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommended {
    /// For the cell that needs most; `None` where that is above [`MOST_PAIRS`], or where none is enough.
    pub pairs: Option<u32>,
    pub cell: Cell,
    /// Upper bound of the spread there.
    pub spread: f64,
}

/// How many pairs the primary metric needs for an effect of this size, by the runs of a pilot. `None` where
/// no cell has two complete blocks.
pub fn recommend(question: &Question, pilot: &[Trial], effect: f64) -> Option<Recommended> {
    let mut cells: BTreeMap<&Cell, BTreeMap<u32, BTreeMap<Arm, f64>>> = BTreeMap::new();
    for trial in pilot {
        let Some(value) = counted(trial, question.primary) else { continue };
        let blocks = cells.entry(&trial.cell).or_default();
        blocks.entry(trial.block).or_default().insert(trial.arm, value.ln());
    }
    let scenarios = u32::try_from(question.scenarios.len()).unwrap_or(u32::MAX);
    let claims = u32::try_from(cells.len()).ok()?.saturating_mul(scenarios.saturating_sub(1));
    let bounds = cells.into_iter().filter_map(|(cell, blocks)| {
        let arms: BTreeSet<Arm> = blocks.values().flat_map(|b| b.keys().copied()).collect();
        let complete = blocks.into_values().filter(|block| block.len() == arms.len());
        let blocks: Vec<Vec<f64>> = complete.map(|block| block.into_values().collect()).collect();
        Some((cell, spread_bound(&blocks)?))
    });
    let (cell, spread) = bounds.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let pairs = pairs_to_prove(spread, effect, question.worth, claims);
    Some(Recommended { pairs, cell: cell.clone(), spread })
}

/// The upper bound of a pair's spread, from blocks that each have the logarithm of every arm, in one order.
/// `None` of fewer than two blocks or arms.
pub fn spread_bound(blocks: &[Vec<f64>]) -> Option<f64> {
    let arms = blocks.first()?.len();
    let arm_mean = |arm: usize| mean(&blocks.iter().map(|block| block[arm]).collect::<Vec<_>>());
    let arm_means: Vec<f64> = (0..arms).map(arm_mean).collect();
    let squares: f64 = blocks
        .iter()
        .map(|block| {
            let rest: Vec<f64> = block.iter().zip(&arm_means).map(|(log, arm)| log - arm).collect();
            let centre = mean(&rest);
            rest.iter().map(|log| (log - centre).powi(2)).sum::<f64>()
        })
        .sum();
    let freedom = (arms.checked_sub(1)? * (blocks.len() - 1)) as f64;
    let pair_spread = (2.0 * squares / freedom).sqrt();
    // With tails, a variance is as unsure as with fewer degrees of freedom.
    let runs = (arms * blocks.len()) as f64;
    let freedom = 2.0 / (2.0 / freedom + TAILS / runs);
    let low = ChiSquared::new(freedom).ok()?.inverse_cdf(1.0 - BOUND);
    let bound = pair_spread * (freedom / low).sqrt();
    bound.is_finite().then_some(bound)
}

/// The fewest pairs with which a sign-flip test can reach the level for so many claims at once.
pub fn fewest_pairs(claims: u32) -> u32 {
    // Two-sided, the smallest chance of n pairs is 2 / 2^n.
    let wanted = f64::from(claims.max(1)) * 2.0 / ERROR_RATE;
    wanted.log2().ceil() as u32
}

/// How many pairs prove an effect, a share: 0.05 is 5 %. `None` where no number would, or where it is above
/// [`MOST_PAIRS`]. `claims` is how many are made at once.
pub fn pairs_to_prove(spread: f64, effect: f64, worth: f64, claims: u32) -> Option<u32> {
    pairs_for(spread, effect.ln_1p() - worth.ln_1p(), claims)
}

/// The same for a distance between logarithms that the interval has to clear.
pub(crate) fn pairs_for(spread: f64, distance: f64, claims: u32) -> Option<u32> {
    if !(distance > 0.0 && spread.is_finite()) {
        return None;
    }
    let tail = ERROR_RATE / f64::from(claims.max(1)) / 2.0;
    let enough = |pairs: u32| {
        let freedom = f64::from(pairs - 1);
        let quantiles = t_quantile(1.0 - tail, freedom)? + t_quantile(POWER, freedom)?;
        Some(f64::from(pairs) >= (quantiles * spread / distance).powi(2))
    };
    let least = fewest_pairs(claims).max(LEAST_PAIRS).next_multiple_of(2);
    // It is a handful of steps above the normal distribution's number.
    let first = (3.24 * spread / distance).powi(2).ceil();
    if first > f64::from(MOST_PAIRS) {
        return None;
    }
    let first = least.max((first as u32).next_multiple_of(2));
    (first..=MOST_PAIRS).step_by(2).find(|pairs| enough(*pairs) == Some(true))
}

/// How many pairs would settle what is open: those that prove the estimated effect, or, where it is smaller
/// than what is worth claiming, those that show that it is.
pub(crate) fn pairs_to_settle(
    estimate: f64,
    spread_bound: f64,
    worth: f64,
    claims: u32,
) -> Option<u32> {
    pairs_for(spread_bound, (estimate.abs() - worth.ln_1p()).abs(), claims)
}

/// An interval inside the gain that is not worth claiming, both ways.
pub(crate) fn is_inside(bounds: &Bounds, worth: f64) -> bool {
    bounds.low > -worth.ln_1p() && bounds.high < worth.ln_1p()
}
