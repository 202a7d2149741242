//! When an open loop means to begin its events.

use crate::oltp::Random;
use std::sync::{Mutex, PoisonError};

/// How arrivals lie in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// As independent users would come: the gaps are exponential.
    #[default]
    Poisson,
    /// One gap as long as the other.
    Even,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    pub per_second: f64,
    pub spacing: Spacing,
}

/// The arrivals of a run in their order. Whoever is free takes the next one, so they form one queue, which
/// cannot overflow: what was not taken yet is not stored anywhere.
pub struct Arrivals {
    next: Mutex<Next>,
    gap_nsec: f64,
    spacing: Spacing,
}

struct Next {
    random: Random,
    at: f64,
}

impl Arrivals {
    pub fn new(rate: Rate, random: Random) -> Self {
        let gap_nsec = 1e9 / rate.per_second;
        let next = Mutex::new(Next { random, at: 0.0 });
        let this = Self { next, gap_nsec, spacing: rate.spacing };
        this.take();
        this
    }

    /// The next arrival, in nanoseconds since the start.
    pub fn take(&self) -> u64 {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let at = next.at;
        let gap = match self.spacing {
            Spacing::Even => self.gap_nsec,
            // 1 - u is never 0.
            Spacing::Poisson => -(1.0 - next.random.unit()).ln() * self.gap_nsec,
        };
        next.at += gap;
        at as u64
    }

    /// Takes all that are still due before this time, and counts those from `begin` on.
    pub fn give_up(&self, begin: u64, end: u64) -> u64 {
        let mut count = 0;
        loop {
            let at = self.take();
            if at >= end {
                return count;
            }
            count += u64::from(at >= begin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(spacing: Spacing) -> Arrivals {
        Arrivals::new(Rate { per_second: 1000.0, spacing }, Random::new(1, 1))
    }

    #[test]
    fn both_spacings_have_the_rate_and_poisson_has_its_spread() {
        for (spacing, spread) in [(Spacing::Even, 0.0), (Spacing::Poisson, 1.0)] {
            let arrivals = arrivals(spacing);
            let times: Vec<f64> = (0..100_001).map(|_| arrivals.take() as f64 / 1e6).collect();
            let gaps: Vec<f64> = times.windows(2).map(|two| two[1] - two[0]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
            let deviation = (square / gaps.len() as f64).sqrt();
            assert!((mean - 1.0).abs() < 0.02, "{spacing:?}: {mean}");
            assert!((deviation - spread).abs() < 0.02, "{spacing:?}: {deviation}");
        }
    }

    #[test]
    fn what_is_given_up_is_counted() {
        let arrivals = arrivals(Spacing::Even);
        let first = arrivals.take();
        assert_eq!(first, 1_000_000);
        // 2 ms to 9 ms, of which those from 5 ms on count.
        assert_eq!(arrivals.give_up(5_000_000, 10_000_000), 5);
    }
}
