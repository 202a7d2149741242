//! Which part of a run counts, when that is decided while it goes on.
//!
//! A load that was started without an end tells its intervals. The coordinator names the end of one of
//! them as the beginning of what counts, and how long that lasts. The figures are then those of the
//! intervals inside, whose histograms are whole: nothing has to be told to the load's workers.

use crate::seen::used;
use nix::sys::resource::UsageWho;
use numawise_experiment::{Counts, GeneratorUsage, Interval, Latencies, Measured};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Boundaries are met to within this.
const SLACK: Duration = Duration::from_millis(1);

/// The part of a run that counts, once it is known.
#[derive(Clone, Default)]
pub struct Window {
    bounds: Arc<Mutex<Option<(Duration, Duration)>>>,
    /// Ends the load.
    pub stop: Arc<AtomicBool>,
}

/// What this process had used at the end of each interval.
#[derive(Default)]
pub struct Samples {
    at: Vec<(Duration, Duration, Duration)>,
}

impl Window {
    /// The order of the coordinator.
    pub fn open(&self, after: Duration, length: Duration) {
        *self.bounds.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((after, after.saturating_add(length)));
    }

    fn bounds(&self) -> Option<(Duration, Duration)> {
        *self.bounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be called at the end of each interval. Gives it back as what it is, warm-up or not, and ends
    /// the load after the last one.
    pub fn hear(&self, interval: &Interval, samples: &mut Samples) -> Interval {
        let end = interval.begin + interval.length;
        let (user, system) = used(UsageWho::RUSAGE_SELF);
        samples.at.push((end, user, system));
        if self.bounds().is_some_and(|(_, until)| end + SLACK >= until) {
            self.stop.store(true, Ordering::Relaxed);
        }
        Interval { warm_up: !self.holds(interval), ..interval.clone() }
    }

    fn holds(&self, interval: &Interval) -> bool {
        self.bounds().is_some_and(|(from, until)| {
            interval.begin + SLACK >= from && interval.begin + interval.length <= until + SLACK
        })
    }

    /// The figures of the part that counts, out of those of the whole run.
    pub fn measured(&self, whole: Measured, samples: &Samples) -> Measured {
        let intervals: Vec<Interval> = whole
            .intervals
            .iter()
            .map(|interval| Interval { warm_up: !self.holds(interval), ..interval.clone() })
            .collect();
        let (mut counts, mut latencies, mut elapsed) =
            (Counts::default(), Latencies::new(), Duration::ZERO);
        for interval in intervals.iter().filter(|interval| !interval.warm_up) {
            counts.add(&interval.counts);
            latencies.merge(&interval.latencies);
            elapsed += interval.length;
        }
        let generator = self.usage(&whole.generator, samples);
        Measured { elapsed, counts, latencies, intervals, generator, ..whole }
    }

    fn usage(&self, whole: &GeneratorUsage, samples: &Samples) -> GeneratorUsage {
        let Some((from, until)) = self.bounds() else { return *whole };
        let at = |time: Duration| samples.at.iter().find(|(end, _, _)| *end + SLACK >= time);
        // From the very beginning, nothing had been used.
        let before = if from.is_zero() { None } else { at(from) };
        let Some(after) = at(until).or(samples.at.last()) else { return *whole };
        let (user, system) = before.map_or((Duration::ZERO, Duration::ZERO), |b| (b.1, b.2));
        GeneratorUsage {
            user: after.1.saturating_sub(user),
            system: after.2.saturating_sub(system),
            ..*whole
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(second: u64, transactions: u64) -> Interval {
        let mut latencies = Latencies::new();
        (0..transactions).for_each(|_| latencies.record(Duration::from_millis(second + 1)));
        Interval {
            begin: Duration::from_secs(second),
            length: Duration::from_secs(1),
            counts: Counts { transactions, ..Counts::default() },
            latencies,
            warm_up: false,
        }
    }

    #[test]
    fn only_what_lies_in_the_window_counts_and_the_load_ends_after_it() {
        let (window, mut samples) = (Window::default(), Samples::default());
        let mut whole = Measured::default();
        for second in 0..6 {
            if second == 2 {
                window.open(Duration::from_secs(3), Duration::from_secs(2));
            }
            let told = window.hear(&interval(second, 10 * (second + 1)), &mut samples);
            assert_eq!(told.warm_up, !(3..5).contains(&second), "{second}");
            assert_eq!(window.stop.load(Ordering::Relaxed), second >= 4, "{second}");
            whole.intervals.push(interval(second, 10 * (second + 1)));
        }
        let measured = window.measured(whole, &samples);
        assert_eq!(measured.elapsed, Duration::from_secs(2));
        assert_eq!((measured.counts.transactions, measured.latencies.count()), (90, 90));
        assert!(measured.latencies.min() > Some(Duration::from_micros(3_990)));
        assert_eq!(measured.intervals.len(), 6);
    }

    #[test]
    fn a_run_that_nobody_told_to_count_counts_nothing() {
        let (window, mut samples) = (Window::default(), Samples::default());
        assert!(window.hear(&interval(0, 5), &mut samples).warm_up);
        let whole = Measured { intervals: vec![interval(0, 5)], ..Measured::default() };
        assert_eq!(window.measured(whole, &samples).counts.transactions, 0);
    }
}
