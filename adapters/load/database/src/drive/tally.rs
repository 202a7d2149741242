//! What workers have done, and the board they put it on.

use numawise_experiment::{Counts, Latencies, Schedule};
use std::sync::{Mutex, PoisonError};

/// So many latencies are kept by a worker before they go into the histogram all share. One histogram for
/// each worker would be tens of kilobytes each, to be added up each second.
const KEPT: usize = 1024;

/// What was done in some time.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    pub counts: Counts,
    pub latencies: Latencies,
    pub schedule: Schedule,
}

impl Gathered {
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.latencies.merge(&other.latencies);
        add_schedule(&mut self.schedule, &other.schedule);
    }
}

/// What came since the last look, apart for the warm-up and for what counts.
#[derive(Default)]
pub struct Board {
    warm_up: Mutex<Gathered>,
    measured: Mutex<Gathered>,
}

impl Board {
    fn of(&self, warm_up: bool) -> &Mutex<Gathered> {
        if warm_up { &self.warm_up } else { &self.measured }
    }

    pub fn take(&self, warm_up: bool) -> Gathered {
        std::mem::take(&mut self.of(warm_up).lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What one worker has done and not yet put on the board.
pub struct Tally {
    pub counts: Counts,
    pub schedule: Schedule,
    latencies_nsec: Vec<u64>,
}

impl Tally {
    pub fn new() -> Self {
        let (counts, schedule) = (Counts::default(), Schedule::default());
        Self { counts, schedule, latencies_nsec: Vec::with_capacity(KEPT) }
    }

    /// The hot path: mostly one push.
    pub fn record(&mut self, latency_nsec: u64, board: &Board, warm_up: bool) {
        self.latencies_nsec.push(latency_nsec);
        if self.latencies_nsec.len() == KEPT {
            self.put_on(board, warm_up);
        }
    }

    pub fn put_on(&mut self, board: &Board, warm_up: bool) {
        let mut gathered = board.of(warm_up).lock().unwrap_or_else(PoisonError::into_inner);
        for latency in self.latencies_nsec.drain(..) {
            gathered.latencies.record_nsec(latency);
        }
        gathered.counts.add(&self.counts);
        add_schedule(&mut gathered.schedule, &self.schedule);
        self.counts = Counts::default();
        self.schedule = Schedule::default();
    }
}

fn add_schedule(sum: &mut Schedule, other: &Schedule) {
    sum.intended += other.intended;
    sum.done += other.done;
    sum.late += other.late;
    sum.failed += other.failed;
    sum.longest_wait = sum.longest_wait.max(other.longest_wait);
}
