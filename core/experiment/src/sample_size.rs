//! How many pairs an experiment needs.
//!
//! # The problem
//!
//! Too few pairs end in "inconclusive" after hours; too many are hours for nothing. The number depends on
//! how far runs lie apart, which only runs can tell.
//!
//! # The approach
//!
//! A pilot of a few pairs estimates the spread of the logarithm of a pair's ratio. A few pairs estimate it
//! badly, so its upper 80 % bound is taken. Then the interval's end has to clear the smallest gain worth
//! claiming in nine experiments of ten:
//!
//! > n ≥ (3.24 s / (ln(1 + effect) − ln(1 + worth)))²
//!
//! where 3.24 is 1.96 (an interval of 95 %) and 1.28 (nine of ten). For few pairs both belong to Student's
//! distribution, and are larger. Where several claims are made at once, 1.96 is larger too.
//!
//! # Properties
//!
//! - Never fewer pairs than the formula above gives.
//! - Never fewer than a sign-flip test needs to reach the level at all.
//! - An effect that is not larger than what is worth claiming needs no number: none is enough.
//! - The number is even, since blocks come in mirrored twos.

use crate::stats::{Bounds, spread};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// How many pairs a pilot has, unless told otherwise.
pub const PILOT_PAIRS: u32 = 6;
/// The chance of a wrong claim, in either direction.
pub const ERROR_RATE: f64 = 0.05;
const POWER: f64 = 0.90;
const BOUND: f64 = 0.80;
/// Above it, noise is what has to be mended.
pub const MOST_PAIRS: u32 = 10_000;

/// The upper 80 % bound of the spread, from the logarithms of a pilot's ratios. `None` of fewer than two.
pub fn spread_bound(log_ratios: &[f64]) -> Option<f64> {
    let freedom = log_ratios.len().checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
    let low = ChiSquared::new(freedom).ok()?.inverse_cdf(1.0 - BOUND);
    let bound = spread(log_ratios) * (freedom / low).sqrt();
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
        let quantiles = crate::stats::t_quantile(1.0 - tail, freedom)?
            + crate::stats::t_quantile(POWER, freedom)?;
        Some(f64::from(pairs) >= (quantiles * spread / distance).powi(2))
    };
    let least = fewest_pairs(claims).max(2).next_multiple_of(2);
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
