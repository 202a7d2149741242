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

/// Efron's bias-corrected and accelerated bootstrap of the mean. It follows skewed values better than
/// Student's interval, and is too narrow for few of them: take the [hull](Bounds::hull) of both.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    means: Vec<f64>,
    bias: f64,
    acceleration: f64,
}

impl Bootstrap {
    /// `None` of fewer than two values, or of numbers that are none.
    pub fn of(values: &[f64], seed: u64) -> Option<Self> {
        let count = u32::try_from(values.len()).ok().filter(|count| *count > 1)?;
        let centre = mean(values);
        let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
        if !squares.is_finite() {
            return None;
        }
        if squares == 0.0 {
            return Some(Self { means: vec![centre], bias: 0.0, acceleration: 0.0 });
        }
        let means = resampled_means(values, count, seed);
        let below = means.iter().filter(|mean| **mean < centre).count() as f64;
        let equal = means.iter().filter(|mean| **mean == centre).count() as f64;
        let share = (below + equal / 2.0) / means.len() as f64;
        let least = 0.5 / means.len() as f64;
        let bias = Normal::standard().inverse_cdf(share.clamp(least, 1.0 - least));
        // The jackknife of a mean has this closed form.
        let cubes: f64 = values.iter().map(|value| (value - centre).powi(3)).sum();
        Some(Self { means, bias, acceleration: cubes / (6.0 * squares.powf(1.5)) })
    }

    /// At a level like 0.95.
    pub fn interval(&mut self, level: f64) -> Bounds {
        let outside = (1.0 - level) / 2.0;
        Bounds { low: self.end(outside), high: self.end(1.0 - outside) }
    }

    fn end(&mut self, probability: f64) -> f64 {
        let normal = Normal::standard();
        let z = self.bias + normal.inverse_cdf(probability);
        let adjusted = normal.cdf(self.bias + z / (1.0 - self.acceleration * z));
        let count = self.means.len() as f64;
        // As far from the one end as from the other, so that exchanged arms give the mirrored interval.
        let rank = if probability < 0.5 {
            (adjusted * count).floor()
        } else {
            (adjusted * count).ceil() - 1.0
        };
        let rank = rank.clamp(0.0, count - 1.0);
        *self.means.select_nth_unstable_by(rank as usize, f64::total_cmp).1
    }
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
