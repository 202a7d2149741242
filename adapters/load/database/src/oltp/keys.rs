//! Which rows are hit: sysbench's key distributions.
//!
//! The formulas are facts of sysbench 1.0.20 and of its development line (1.1), written anew. u is uniform
//! in [0, 1), keys are `low..=high`.

use super::random::Random;
use std::sync::atomic::{AtomicU32, Ordering};

/// A distribution with its parameters. The defaults are sysbench's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    Uniform,
    /// The mean of so many uniform draws: a bell over the whole range. In 1.1 the number of draws is no
    /// longer read, which makes every key the lowest; here it is still a bell.
    Gaussian {
        iterations: u32,
    },
    /// 1.0 only: `result` per cent of all draws fall into the upper three quarters of the middle `percent`
    /// per cent of keys (the draw that chose the middle is used again), the others are a bell.
    Special {
        iterations: u32,
        percent: u32,
        result: u32,
    },
    /// The lowest keys are the hottest: with 0.2, a fifth of them gets four fifths.
    Pareto {
        h: f64,
    },
    /// 1.1 only: key k of n is drawn in proportion to k^-exponent.
    Zipfian {
        exponent: f64,
    },
}

impl Distribution {
    pub const GAUSSIAN: Self = Self::Gaussian { iterations: 12 };
    pub const SPECIAL: Self = Self::Special { iterations: 12, percent: 1, result: 75 };
    pub const PARETO: Self = Self::Pareto { h: 0.2 };
    pub const ZIPFIAN: Self = Self::Zipfian { exponent: 0.8 };

    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Gaussian { .. } => "gaussian",
            Self::Special { .. } => "special",
            Self::Pareto { .. } => "pareto",
            Self::Zipfian { .. } => "zipfian",
        }
    }
}

/// Draws keys of one range.
#[derive(Clone, Debug)]
pub struct Keys {
    low: u64,
    high: u64,
    shape: Shape,
}

/// A distribution with all that does not change between two draws worked out.
#[derive(Clone, Debug)]
enum Shape {
    Uniform,
    Bell { iterations: u32 },
    Special { iterations: u32, stretched: f64, middle: f64, offset: f64 },
    Power { exponent: f64 },
    Zipfian(Zipfian),
}

impl Keys {
    /// Keys of `low..=high`.
    pub fn new(distribution: Distribution, low: u64, high: u64) -> Self {
        let width = high.saturating_sub(low) as f64;
        let shape = match distribution {
            Distribution::Uniform => Shape::Uniform,
            Distribution::Gaussian { iterations } => Shape::Bell { iterations },
            Distribution::Special { iterations, percent, result } => {
                let percent = f64::from(percent);
                Shape::Special {
                    iterations,
                    stretched: width * (100.0 / (100.0 - f64::from(result))),
                    middle: width * (percent / 100.0),
                    offset: width * (0.5 - percent / 200.0),
                }
            }
            Distribution::Pareto { h } => Shape::Power { exponent: h.ln() / (1.0 - h).ln() },
            Distribution::Zipfian { exponent } => {
                Shape::Zipfian(Zipfian::new(width + 1.0, exponent))
            }
        };
        Self { low, high, shape }
    }

    pub fn draw(&self, random: &mut Random) -> u64 {
        let width = (self.high - self.low) as f64;
        let offset = match &self.shape {
            Shape::Uniform => random.unit() * (width + 1.0),
            Shape::Bell { iterations } => bell(random, *iterations) * (width + 1.0),
            Shape::Special { iterations, stretched, middle, offset } => {
                let unit = random.unit();
                if unit * stretched < width {
                    bell(random, *iterations) * width
                } else {
                    unit * (middle + 1.0) + offset
                }
            }
            Shape::Power { exponent } => (width + 1.0) * random.unit().powf(*exponent),
            Shape::Zipfian(zipfian) => zipfian.draw(random) - 1.0,
        };
        (self.low + offset as u64).min(self.high)
    }
}

/// The mean of so many uniform draws.
fn bell(random: &mut Random, iterations: u32) -> f64 {
    let sum: f64 = (0..iterations).map(|_| random.unit()).sum();
    sum / f64::from(iterations)
}

/// Rejection-inversion (Hörmann and Derflinger, 1996): constant time for any number of keys.
#[derive(Clone, Debug)]
struct Zipfian {
    count: f64,
    exponent: f64,
    integral_first: f64,
    integral_last: f64,
    shortcut: f64,
}

impl Zipfian {
    fn new(count: f64, exponent: f64) -> Self {
        let mut this =
            Self { count, exponent, integral_first: 0.0, integral_last: 0.0, shortcut: 0.0 };
        this.integral_first = this.integral(1.5) - 1.0;
        this.integral_last = this.integral(count + 0.5);
        this.shortcut = 2.0 - this.inverse(this.integral(2.5) - this.density(2.0));
        this
    }

    /// In 1..=count.
    fn draw(&self, random: &mut Random) -> f64 {
        loop {
            let area =
                self.integral_last + random.unit() * (self.integral_first - self.integral_last);
            let x = self.inverse(area);
            let key = (x + 0.5).floor().clamp(1.0, self.count);
            if key - x <= self.shortcut || area >= self.integral(key + 0.5) - self.density(key) {
                return key;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// (x^(1-e) - 1) / (1-e), also where e is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        expm1_over((1.0 - self.exponent) * log) * log
    }

    fn inverse(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        (log1p_over(t) * area).exp()
    }
}

fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 * (1.0 + x / 3.0) }
}

fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x * (0.5 - x / 3.0) }
}

/// Numbers that never come twice (until all 2^32 have come): ids for inserts that name their own.
#[derive(Debug)]
pub struct Unique {
    next: AtomicU32,
    offset: u32,
}

impl Unique {
    pub fn new(random: &mut Random) -> Self {
        let base = permuted(random.next_u64() as u32).wrapping_add(0x682f_0161);
        let offset = permuted(random.next_u64() as u32).wrapping_add(0x4679_0905);
        Self { next: AtomicU32::new(permuted(base)), offset: permuted(offset) }
    }

    pub fn draw(&self) -> u32 {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        permuted(permuted(index).wrapping_add(self.offset) ^ 0x5bf0_3635)
    }
}

/// Quadratic residues modulo a prime that is 3 modulo 4 give a permutation (Preshing).
fn permuted(x: u32) -> u32 {
    const PRIME: u32 = 4_294_967_291;
    if x >= PRIME {
        return x;
    }
    let residue = (u64::from(x) * u64::from(x) % u64::from(PRIME)) as u32;
    if x <= PRIME / 2 { residue } else { PRIME - residue }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 1_000_000;

    /// Against exact probabilities: Pearson's statistic over the cells, and its degrees of freedom.
    fn chi_square(counts: &[f64], probabilities: &[f64]) -> f64 {
        let all: f64 = counts.iter().sum();
        let cell = |(count, p): (&f64, &f64)| (count - all * p).powi(2) / (all * p);
        counts.iter().zip(probabilities).map(cell).sum()
    }

    /// Few of a thousand fixed seeds would lie above: mean + 4 standard deviations.
    fn limit(cells: usize) -> f64 {
        let degrees = (cells - 1) as f64;
        degrees + 4.0 * (2.0 * degrees).sqrt()
    }

    fn counts(distribution: Distribution, keys: u64) -> Vec<f64> {
        let drawer = Keys::new(distribution, 1, keys);
        let mut random = Random::new(11, 0);
        let mut counts = vec![0.0; keys as usize];
        for _ in 0..DRAWS {
            counts[drawer.draw(&mut random) as usize - 1] += 1.0;
        }
        counts
    }

    #[test]
    fn zipfian_has_its_exact_probabilities() {
        for exponent in [0.2, 0.8, 1.0, 1.3] {
            let weights: Vec<f64> = (1..=1000).map(|k| f64::from(k).powf(-exponent)).collect();
            let all: f64 = weights.iter().sum();
            let probabilities: Vec<f64> = weights.iter().map(|weight| weight / all).collect();
            let chi = chi_square(&counts(Distribution::Zipfian { exponent }, 1000), &probabilities);
            assert!(chi < limit(1000), "{exponent}: {chi}");
        }
    }

    #[test]
    fn pareto_has_its_exact_probabilities() {
        let exponent = 0.2_f64.ln() / 0.8_f64.ln();
        let below = |k: u32| (f64::from(k) / 100.0).powf(1.0 / exponent);
        let probabilities: Vec<f64> = (0..100).map(|k| below(k + 1) - below(k)).collect();
        let chi = chi_square(&counts(Distribution::PARETO, 100), &probabilities);
        assert!(chi < limit(100), "{chi}");
    }

    #[test]
    fn uniform_is_uniform_and_a_bell_is_no_constant() {
        let chi = chi_square(&counts(Distribution::Uniform, 100), &[0.01; 100]);
        assert!(chi < limit(100), "{chi}");
        let bell = counts(Distribution::GAUSSIAN, 100);
        assert!(bell[0] < 10.0 && bell[50] > 40_000.0, "1.1 would draw key 1 only: {bell:?}");
    }

    /// The hot band that was measured of sysbench 1.0.20 itself: 752 keys of 100,000 get 75.8 %.
    #[test]
    fn special_has_its_hot_band() {
        let counts = counts(Distribution::SPECIAL, 100_000);
        let band: f64 = counts[49_749..50_501].iter().sum();
        assert!((0.755..0.761).contains(&(band / DRAWS as f64)), "{band}");
    }

    #[test]
    fn unique_numbers_do_not_repeat() {
        let unique = Unique::new(&mut Random::new(5, 0));
        let drawn: std::collections::BTreeSet<u32> = (0..100_000).map(|_| unique.draw()).collect();
        assert_eq!(drawn.len(), 100_000);
    }

    #[test]
    fn a_range_of_one_key_gives_it() {
        let kinds = [
            Distribution::Uniform,
            Distribution::GAUSSIAN,
            Distribution::SPECIAL,
            Distribution::PARETO,
            Distribution::ZIPFIAN,
        ];
        for kind in kinds {
            assert_eq!(Keys::new(kind, 7, 7).draw(&mut Random::new(1, 1)), 7, "{kind:?}");
        }
    }
}
