//! Latencies as a histogram with three significant digits.
//!
//! A percentile of percentiles means nothing, so nothing here hands out a number before everything that
//! belongs together has been merged. Merging is exact: each value falls into the same bucket wherever it
//! was recorded.

use core::fmt;
use core::time::Duration;
use hdrhistogram::Histogram;

/// What is shorter is recorded as this: one microsecond.
pub const SMALLEST_NSEC: u64 = 1_000;
/// What is longer is recorded as this, an hour. Nothing is lost but its exact length.
pub const LARGEST_NSEC: u64 = 3_600_000_000_000;

const SIGNIFICANT_DIGITS: u8 = 3;

/// Latencies that were recorded, each with its relative error of at most one in a thousand.
#[derive(Clone, PartialEq)]
pub struct Latencies {
    histogram: Histogram<u64>,
}

/// Thousands of buckets are no text for anybody.
impl fmt::Debug for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = [0.5, 0.95, 0.99, 1.0].map(|quantile| self.quantile(quantile));
        write!(f, "Latencies({} of {figures:?})", self.count())
    }
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
    pub fn from_histogram(mut histogram: Histogram<u64>) -> Self {
        histogram.auto(true);
        Self { histogram }
    }

    /// For writing it down, whole.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    pub fn record(&mut self, latency: Duration) {
        self.record_nsec(u64::try_from(latency.as_nanos()).unwrap_or(LARGEST_NSEC));
    }

    /// A load with no time to lose keeps a histogram of fixed bounds itself and hands it over at the end:
    /// this one grows with its values, which is why an empty interval costs next to nothing.
    pub fn record_nsec(&mut self, nsec: u64) {
        // A histogram that grows takes every value; saturating would cut at what it holds today.
        let _ = self.histogram.record(nsec.clamp(SMALLEST_NSEC, LARGEST_NSEC));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_latencies_are_those_of_all_recorded_together() {
        let nsec = |i: u64| (i * i * 7_919) % 40_000_000_000 + i;
        let (mut parts, mut whole) = ([Latencies::new(), Latencies::new()], Latencies::new());
        for i in 0..10_000 {
            parts[(i % 2) as usize].record_nsec(nsec(i));
            whole.record_nsec(nsec(i));
        }
        let [mut first, second] = parts;
        first.merge(&second);
        assert_eq!(first, whole);
        let mut exact: Vec<u64> = (0..10_000).map(|i| nsec(i).max(SMALLEST_NSEC)).collect();
        exact.sort_unstable();
        for quantile in [0.5, 0.95, 0.99, 0.999] {
            let exact = exact[(quantile * 10_000.0) as usize - 1] as f64;
            let seen = whole.quantile(quantile).map_or(0.0, |found| found.as_nanos() as f64);
            assert!((seen / exact - 1.0).abs() < 0.002, "{quantile}: {seen} for {exact}");
        }
    }

    #[test]
    fn nothing_recorded_is_no_number_and_what_is_too_long_is_kept_as_the_longest() {
        let mut latencies = Latencies::new();
        assert_eq!(
            (latencies.mean(), latencies.quantile(0.5), latencies.max()),
            (None, None, None)
        );
        latencies.record(Duration::from_secs(1_000_000));
        latencies.record(Duration::ZERO);
        assert!(latencies.max() >= Some(Duration::from_nanos(LARGEST_NSEC)));
        assert_eq!(latencies.count(), 2);
        assert!(latencies.min() <= Some(Duration::from_micros(1)));
    }
}
