//! How sure the mean of a few values is.

use super::location::{mean, spread};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// How often a bootstrap draws.
pub const RESAMPLES: usize = 10_000;

/// An interval, its ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub low: f64,
    pub high: f64,
}

impl Bounds {
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    pub fn excludes(&self, value: f64) -> bool {
        value < self.low || value > self.high
    }

    /// The smallest interval that holds both.
    pub fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Wider by this factor on both sides of a value inside it.
    pub fn widened(self, around: f64, factor: f64) -> Self {
        Self {
            low: around - (around - self.low) * factor,
            high: around + (self.high - around) * factor,
        }
    }
}

/// Student's interval of the mean at this level (0.95); `None` of fewer than two values.
pub fn t_interval(values: &[f64], level: f64) -> Option<Bounds> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    let quantile = t_quantile(f64::midpoint(1.0, level), freedom as f64)?;
    let centre = mean(values);
    let error = quantile * spread(values) / (values.len() as f64).sqrt();
    error.is_finite().then_some(Bounds { low: centre - error, high: centre + error })
}

pub(crate) fn t_quantile(probability: f64, freedom: f64) -> Option<f64> {
    StudentsT::new(0.0, 1.0, freedom).ok().map(|t| t.inverse_cdf(probability))
}

/// Efron's bias-corrected and accelerated bootstrap of the mean; `None` of fewer than two values. It follows
/// skewed values better than Student's, and is too narrow for few of them: take the [hull](Bounds::hull) of
/// both.
pub fn bca_interval(values: &[f64], level: f64, seed: u64) -> Option<Bounds> {
    let count = u32::try_from(values.len()).ok().filter(|count| *count > 1)?;
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    if !squares.is_finite() {
        return None;
    }
    if squares == 0.0 {
        return Some(Bounds { low: centre, high: centre });
    }
    // The jackknife of a mean has this closed form.
    let cubes: f64 = values.iter().map(|value| (value - centre).powi(3)).sum();
    let acceleration = cubes / (6.0 * squares.powf(1.5));

    let mut means = resampled_means(values, count, seed);
    let below = means.iter().filter(|mean| **mean < centre).count() as f64;
    let equal = means.iter().filter(|mean| **mean == centre).count() as f64;
    let share = (below + equal / 2.0) / RESAMPLES as f64;
    let normal = Normal::standard();
    let least = 0.5 / RESAMPLES as f64;
    let bias = normal.inverse_cdf(share.clamp(least, 1.0 - least));

    let mut end = |probability: f64| {
        let z = bias + normal.inverse_cdf(probability);
        let adjusted = normal.cdf(bias + z / (1.0 - acceleration * z));
        let rank = (adjusted * RESAMPLES as f64).floor().clamp(0.0, RESAMPLES as f64 - 1.0);
        *means.select_nth_unstable_by(rank as usize, f64::total_cmp).1
    };
    let outside = (1.0 - level) / 2.0;
    Some(Bounds { low: end(outside), high: end(1.0 - outside) })
}

/// Means of as many values as there are, drawn with replacement.
fn resampled_means(values: &[f64], count: u32, seed: u64) -> Vec<f64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    // Two indices of each draw: its halves, scaled.
    let scaled = |half: u64| ((half * u64::from(count)) >> 32) as usize;
    let pairs = count / 2;
    let odd = count % 2 == 1;
    let one = |_| {
        let mut sum = 0.0;
        for _ in 0..pairs {
            let drawn = rng.next_u64();
            sum += values[scaled(drawn >> 32)] + values[scaled(drawn & 0xFFFF_FFFF)];
        }
        if odd {
            sum += values[scaled(rng.next_u64() >> 32)];
        }
        sum / f64::from(count)
    };
    (0..RESAMPLES).map(one).collect()
}
