//! Whoever watches a run: cuts it into intervals while it goes on, and adds them up.

use super::pinning::{Used, used};
use super::tally::Gathered;
use super::worker::Shared;
use numawise_experiment::steady::{confirms, standing};
use numawise_experiment::{GeneratorUsage, Interval, Measured, Standing, Steadiness, SteadyRule};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After an interval, until all workers have put down what they had.
const SETTLES: u64 = 10_000_000;
/// Between two looks whether all has ended.
const PAUSE: u64 = 50_000_000;

pub struct Watch {
    shared: Arc<Shared>,
    start: Instant,
    /// The interval that is not over yet.
    begin: u64,
    end: u64,
    intervals: Vec<Interval>,
    sum: Gathered,
    /// What the process had used when the warm-up ended.
    before: Option<Used>,
}

impl Watch {
    pub fn new(shared: Arc<Shared>, start: Instant) -> Self {
        let end = shared.next_boundary(0);
        let before = (shared.warm_up == 0).then(used);
        let (intervals, sum) = (Vec::new(), Gathered::default());
        Self { shared, start, begin: 0, end, intervals, sum, before }
    }

    fn clock(&self) -> u64 {
        let since = Instant::now().saturating_duration_since(self.start);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    /// How long nothing can happen that has to be seen.
    pub fn pause(&self) -> Duration {
        let left = (self.end + SETTLES).saturating_sub(self.clock());
        Duration::from_nanos(left.clamp(1_000, PAUSE))
    }

    /// Closes the intervals that are over.
    pub fn look(&mut self, progress: &mut impl FnMut(&Interval)) {
        while self.clock() >= self.end + SETTLES {
            if self.before.is_none() && self.end >= self.shared.warm_up {
                self.before = Some(used());
            }
            self.close(self.end, progress);
        }
    }

    fn close(&mut self, end: u64, progress: &mut impl FnMut(&Interval)) {
        let warm_up = self.begin < self.shared.warm_up;
        let gathered = self.shared.board.take(warm_up);
        if !warm_up {
            self.sum.add(&gathered);
        }
        let interval = Interval {
            begin: Duration::from_nanos(self.begin),
            length: Duration::from_nanos(end.saturating_sub(self.begin)),
            counts: gathered.counts,
            latencies: gathered.latencies,
            warm_up,
        };
        if interval.length > Duration::ZERO {
            progress(&interval);
            self.intervals.push(interval);
        }
        self.begin = end;
        self.end = self.shared.next_boundary(end);
    }

    /// What is left at the end. A few milliseconds are no interval of their own: they belong to the last.
    fn close_rest(&mut self, over: u64, progress: &mut impl FnMut(&Interval)) {
        let length = over.saturating_sub(self.begin);
        let is_short = length < self.shared.interval / 2;
        match self.intervals.last_mut() {
            Some(last) if is_short && !last.warm_up => {
                let gathered = self.shared.board.take(false);
                self.sum.add(&gathered);
                last.length += Duration::from_nanos(length);
                last.counts.add(&gathered.counts);
                last.latencies.merge(&gathered.latencies);
            }
            _ => self.close(over, progress),
        }
    }

    /// The figures; all workers have ended, the last event at `last_end`, after the run was meant to end at
    /// `end`. What ended later counts, and so does the time that it took.
    pub fn finish(
        mut self,
        end: u64,
        last_end: u64,
        progress: &mut impl FnMut(&Interval),
    ) -> Measured {
        let over = end.max(last_end);
        while self.end <= over {
            self.close(self.end, progress);
        }
        self.close_rest(over, progress);
        let after = used();
        let before = self.before.unwrap_or(after);
        let warm_up = self.shared.warm_up;
        let schedule = self.shared.arrivals.as_ref().map(|arrivals| {
            let never = arrivals.give_up(warm_up, end);
            let mut schedule = self.sum.schedule;
            schedule.intended += never;
            schedule.failed += never;
            schedule
        });
        let steadiness = steadiness(&self.intervals, Duration::from_nanos(warm_up));
        Measured {
            elapsed: Duration::from_nanos(over.saturating_sub(warm_up)),
            counts: self.sum.counts,
            latencies: self.sum.latencies,
            kinds: Vec::new(),
            schedule,
            intervals: self.intervals,
            generator: GeneratorUsage {
                user: after.user.saturating_sub(before.user),
                system: after.system.saturating_sub(before.system),
                resident_peak_bytes: after.resident_peak_bytes,
                ..GeneratorUsage::default()
            },
            steadiness,
        }
    }
}

/// Whether the load was steady when the warm-up that was asked for ended, and the run does not contradict.
fn steadiness(intervals: &[Interval], warm_up: Duration) -> Steadiness {
    if warm_up.is_zero() {
        return Steadiness::NotWarmedUp;
    }
    let throughput =
        |interval: &Interval| interval.counts.transactions as f64 / interval.length.as_secs_f64();
    let series: Vec<f64> = intervals.iter().map(throughput).collect();
    let before = intervals.iter().take_while(|interval| interval.warm_up).count();
    let usual = SteadyRule::default();
    let rule = SteadyRule { windows: usual.windows.min(before), ..usual };
    let was_steady = standing(&series[..before], &rule) == Standing::Steady;
    match was_steady && confirms(&series, before) {
        true => Steadiness::Steady { after: warm_up },
        false => Steadiness::NotSteady { after: warm_up },
    }
}
