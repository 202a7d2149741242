//! One run of a load: what it did, how long that took, and what the generator itself cost.

use crate::latencies::Latencies;
use core::time::Duration;

/// What one run measured, after its warm-up. Runs of several generators become one by [`Measured::merge`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The window that counts: from the end of the warm-up to the end, as the clock said.
    pub elapsed: Duration,
    pub counts: Counts,
    /// From the intended start in an open loop, from the real start in a closed one.
    pub latencies: Latencies,
    /// Each kind of transaction by its name, where a load has several: "new-order".
    pub kinds: Vec<KindMeasured>,
    /// What an open loop had scheduled, and what came of it.
    pub schedule: Option<Schedule>,
    pub intervals: Vec<Interval>,
    pub generator: GeneratorUsage,
    pub steadiness: Steadiness,
}

/// What was done. Reads, writes and others are statements; their sum is the number of queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub transactions: u64,
    pub reads: u64,
    pub writes: u64,
    /// Transaction control, and writes that met no row.
    pub others: u64,
    /// Errors after which the transaction was tried again: deadlocks, lost races.
    pub ignored_errors: u64,
    pub reconnects: u64,
    /// Transactions that were rolled back on purpose.
    pub rollbacks: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct KindMeasured {
    pub name: String,
    pub counts: Counts,
    pub latencies: Latencies,
}

/// An open loop accounts for each request that it meant to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The sum of the next three.
    pub intended: u64,
    /// Done, and begun when intended.
    pub done: u64,
    /// Done, but begun later than intended, since no connection was free.
    pub late: u64,
    /// Given up: its connection was lost, or the run ended before its turn came.
    pub failed: u64,
    /// The longest that a request waited for its turn.
    pub longest_wait: Duration,
}

/// One interval of a run, usually a second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Since the start of the run, warm-up included.
    pub begin: Duration,
    pub length: Duration,
    pub counts: Counts,
    pub latencies: Latencies,
    /// Belongs to the warm-up, and not to the figures.
    pub warm_up: bool,
}

/// What the generator used while it measured: a generator at its limit measures itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeneratorUsage {
    pub user: Duration,
    pub system: Duration,
    pub threads: u32,
    pub connections: u32,
    pub resident_peak_bytes: Option<u64>,
}

/// How the warm-up ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steadiness {
    /// None was asked for.
    #[default]
    NotWarmedUp,
    /// The load was steady after this long.
    Steady { after: Duration },
    /// The time for it ran out. The run is kept and says so; no verdict rests on it.
    NotSteady { after: Duration },
}

impl Counts {
    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    pub fn add(&mut self, other: &Self) {
        let Self { transactions, reads, writes, others, ignored_errors, reconnects, rollbacks } =
            other;
        self.transactions += transactions;
        self.reads += reads;
        self.writes += writes;
        self.others += others;
        self.ignored_errors += ignored_errors;
        self.reconnects += reconnects;
        self.rollbacks += rollbacks;
    }
}

impl Measured {
    /// So many a second of the measured window; nothing for a window of no length.
    pub fn per_second(&self, count: u64) -> Option<f64> {
        (!self.elapsed.is_zero()).then(|| count as f64 / self.elapsed.as_secs_f64())
    }

    pub fn transactions_per_second(&self) -> Option<f64> {
        self.per_second(self.counts.transactions)
    }

    /// The share of one CPU's time that the generator used, summed over its threads: 1.5 is one and a half CPUs.
    pub fn generator_cpus(&self) -> Option<f64> {
        let used = self.generator.user + self.generator.system;
        (!self.elapsed.is_zero()).then(|| used.as_secs_f64() / self.elapsed.as_secs_f64())
    }

    /// Adds what another generator measured of the same load over the same time. Latencies are merged
    /// whole, so percentiles of the sum are those of all requests together; intervals are matched by
    /// their number, and the longer window counts, since both were to be the same.
    pub fn merge(&mut self, other: &Self) {
        self.elapsed = self.elapsed.max(other.elapsed);
        self.counts.add(&other.counts);
        self.latencies.merge(&other.latencies);
        for kind in &other.kinds {
            match self.kinds.iter_mut().find(|mine| mine.name == kind.name) {
                Some(mine) => {
                    mine.counts.add(&kind.counts);
                    mine.latencies.merge(&kind.latencies);
                }
                None => self.kinds.push(kind.clone()),
            }
        }
        self.schedule = match (self.schedule, other.schedule) {
            (Some(mine), Some(other)) => Some(mine.and(other)),
            (mine, other) => mine.or(other),
        };
        for (number, interval) in other.intervals.iter().enumerate() {
            match self.intervals.get_mut(number) {
                Some(mine) => {
                    mine.counts.add(&interval.counts);
                    mine.latencies.merge(&interval.latencies);
                    mine.length = mine.length.max(interval.length);
                    mine.warm_up |= interval.warm_up;
                }
                None => self.intervals.push(interval.clone()),
            }
        }
        self.generator = self.generator.and(other.generator);
        self.steadiness = self.steadiness.worse(other.steadiness);
    }
}

impl Schedule {
    fn and(self, other: Self) -> Self {
        Self {
            intended: self.intended + other.intended,
            done: self.done + other.done,
            late: self.late + other.late,
            failed: self.failed + other.failed,
            longest_wait: self.longest_wait.max(other.longest_wait),
        }
    }
}

impl GeneratorUsage {
    fn and(self, other: Self) -> Self {
        let resident = (self.resident_peak_bytes, other.resident_peak_bytes);
        Self {
            user: self.user + other.user,
            system: self.system + other.system,
            threads: self.threads + other.threads,
            connections: self.connections + other.connections,
            // A sum with an unknown part is unknown.
            resident_peak_bytes: match resident {
                (Some(mine), Some(other)) => Some(mine + other),
                _ => None,
            },
        }
    }
}

impl Steadiness {
    /// All are steady when the last one is; one that never was decides.
    fn worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::NotSteady { after: a }, Self::NotSteady { after: b }) => {
                Self::NotSteady { after: a.max(b) }
            }
            (bad @ Self::NotSteady { .. }, _) | (_, bad @ Self::NotSteady { .. }) => bad,
            (Self::NotWarmedUp, _) | (_, Self::NotWarmedUp) => Self::NotWarmedUp,
            (Self::Steady { after: a }, Self::Steady { after: b }) => {
                Self::Steady { after: a.max(b) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(transactions: u64, nsec: u64, kind: &str) -> Measured {
        let counts = Counts { transactions, reads: 14 * transactions, ..Counts::default() };
        let mut latencies = Latencies::new();
        (0..transactions).for_each(|_| latencies.record_nsec(nsec));
        let second = |warm_up| Interval {
            length: Duration::from_secs(1),
            counts,
            latencies: latencies.clone(),
            warm_up,
            ..Interval::default()
        };
        Measured {
            elapsed: Duration::from_secs(2),
            counts,
            latencies: latencies.clone(),
            kinds: vec![KindMeasured {
                name: kind.to_owned(),
                counts,
                latencies: latencies.clone(),
            }],
            schedule: Some(Schedule {
                intended: transactions + 1,
                failed: 1,
                ..Schedule::default()
            }),
            intervals: vec![second(true), second(false)],
            generator: GeneratorUsage {
                user: Duration::from_secs(1),
                resident_peak_bytes: Some(7),
                ..GeneratorUsage::default()
            },
            steadiness: Steadiness::Steady { after: Duration::from_nanos(nsec) },
        }
    }

    #[test]
    fn two_generators_become_one_run() {
        let mut both = run(100, 1_000_000, "payment");
        both.merge(&run(300, 9_000_000, "delivery"));
        assert_eq!(both.transactions_per_second(), Some(200.0));
        assert_eq!(both.counts.queries(), 5_600);
        // Three quarters took 9 ms: the median is theirs, and no mean of two medians.
        let median = both.latencies.quantile(0.5).map_or(0, |median| median.as_nanos());
        assert!((8_990_000..9_010_000).contains(&median), "{median}");
        let names: Vec<&str> = both.kinds.iter().map(|kind| kind.name.as_str()).collect();
        assert_eq!(names, ["payment", "delivery"]);
        assert_eq!(both.intervals.len(), 2);
        assert_eq!(both.intervals[1].counts.transactions, 400);
        assert!(both.intervals[0].warm_up && !both.intervals[1].warm_up);
        let schedule = both.schedule.map(|schedule| (schedule.intended, schedule.failed));
        assert_eq!(schedule, Some((402, 2)));
        assert_eq!(both.generator_cpus(), Some(1.0));
        assert_eq!(both.generator.resident_peak_bytes, Some(14));
        assert_eq!(both.steadiness, Steadiness::Steady { after: Duration::from_nanos(9_000_000) });
    }

    #[test]
    fn one_that_was_not_steady_decides_for_all() {
        let after = Duration::from_secs(9);
        for other in [
            Steadiness::NotWarmedUp,
            Steadiness::Steady { after: Duration::from_secs(99) },
            Steadiness::NotSteady { after: Duration::from_secs(1) },
        ] {
            let bad = Steadiness::NotSteady { after };
            assert_eq!((bad.worse(other), other.worse(bad)), (bad, bad));
        }
    }
}
