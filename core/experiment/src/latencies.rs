//! Latencies as a histogram with three significant digits.
//!
//! A percentile of percentiles means nothing, so nothing here hands out a number before everything that
//! belongs together has been merged. Merging is exact: each value falls into the same bucket wherever it
//! was recorded.

use core::time::Duration;
use hdrhistogram::Histogram;

/// What is shorter is recorded as this: one microsecond.
pub const SMALLEST_NSEC: u64 = 1_000;
/// What is longer is recorded as this, an hour. Nothing is lost but its exact length.
pub const LARGEST_NSEC: u64 = 3_600_000_000_000;

const SIGNIFICANT_DIGITS: u8 = 3;

/// Latencies that were recorded, each with its relative error of at most one in a thousand.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies {
    histogram: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

impl Latencies {
    pub fn new() -> Self {
        let mut histogram = Histogram::new(SIGNIFICANT_DIGITS)
            .unwrap_or_else(|_| unreachable!("three digits are allowed"));
        histogram.auto(true);
        Self { histogram }
    }

    /// Takes over a histogram that was kept elsewhere, in nanoseconds.
    pub fn from_histogram(histogram: Histogram<u64>) -> Self {
        Self { histogram }
    }

    /// For writing it down, whole.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    pub fn record(&mut self, latency: Duration) {
        self.record_nsec(u64::try_from(latency.as_nanos()).unwrap_or(LARGEST_NSEC));
    }

    /// The hot path: no conversion, no way to fail.
    pub fn record_nsec(&mut self, nsec: u64) {
        self.histogram.saturating_record(nsec.clamp(SMALLEST_NSEC, LARGEST_NSEC));
    }

    /// Adds what another generator, thread or interval has recorded.
    pub fn merge(&mut self, other: &Self) {
        // Only a histogram that may not grow can refuse another one.
        let _ = self.histogram.add(&other.histogram);
    }

    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    pub fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// The mean, or nothing where nothing was recorded.
    pub fn mean(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_nanos(self.histogram.mean().round() as u64))
    }

    pub fn max(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_nanos(self.histogram.max()))
    }

    pub fn min(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_nanos(self.histogram.min()))
    }

    /// The latency that this share of all was no longer than: 0.95 for the 95th percentile.
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        (!self.is_empty()).then(|| Duration::from_nanos(self.histogram.value_at_quantile(quantile)))
    }
}
