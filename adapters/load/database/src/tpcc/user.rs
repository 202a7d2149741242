//! One virtual user: a connection, its transactions one after the other, and what came of them.

use super::inputs::{Input, Inputs};
use super::transactions::{NoOutcome, Outcome, Transactions};
use super::{Run, TpccError};
use crate::admin::{Admin, AdminError};
use crate::target::{Engine, Target};
use numawise_experiment::{Counts, Latencies, TransactionKind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two tries to reach a server that is away.
const RECONNECT_EVERY: Duration = Duration::from_millis(100);

/// What all users are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    Rest,
    RampUp,
    Measure,
    Stop,
}

/// Leads the users through their phases.
pub struct Lead {
    phase: AtomicU8,
    still: Mutex<Still>,
    changed: Condvar,
}

/// Users that do not work.
#[derive(Clone, Copy, Default)]
struct Still {
    resting: usize,
    ended: usize,
}

impl Lead {
    /// Users rest at first, once they have connected.
    pub fn new() -> Self {
        Self {
            phase: AtomicU8::new(Phase::Rest as u8),
            still: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Still> {
        self.still.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is(&self, phase: Phase) -> bool {
        self.phase.load(Ordering::Acquire) == phase as u8
    }

    /// The phase, if it is one to work in.
    fn work(&self) -> Option<Phase> {
        [Phase::RampUp, Phase::Measure].into_iter().find(|&phase| self.is(phase))
    }

    pub fn say(&self, phase: Phase) {
        let guard = self.locked();
        self.phase.store(phase as u8, Ordering::Release);
        drop(guard);
        self.changed.notify_all();
    }

    pub fn is_still(&self, users: usize) -> bool {
        let Still { resting, ended } = *self.locked();
        resting + ended >= users
    }

    pub fn has_lost_somebody(&self) -> bool {
        self.locked().ended > 0
    }

    fn rest(&self) {
        let mut still = self.locked();
        still.resting += 1;
        while self.is(Phase::Rest) {
            still = self.changed.wait(still).unwrap_or_else(PoisonError::into_inner);
        }
        still.resting -= 1;
    }

    fn end(&self) {
        self.locked().ended += 1;
    }

    /// Waits so long; false when the phase ends before.
    fn wait(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut still = self.locked();
        loop {
            if self.work().is_none() {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let waited = self.changed.wait_timeout(still, left);
            still = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// What came of transactions, by kind.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub kinds: [KindTally; 5],
    pub reconnects: u64,
}

#[derive(Clone, Debug, Default)]
pub struct KindTally {
    pub committed: u64,
    pub rolled_back: u64,
    pub conflicts: u64,
    pub unknown: u64,
    pub latencies: Latencies,
}

/// What the next interval will show; emptied by whoever shows it.
#[derive(Default)]
pub struct Live {
    pub counts: Counts,
    pub latencies: Latencies,
}

/// One tally for each stretch of work.
pub type Tallies = Vec<(Phase, Tally)>;

pub struct User<'a> {
    pub number: usize,
    pub target: &'a Target,
    pub run: &'a Run,
    pub lead: &'a Lead,
    pub live: &'a Mutex<Live>,
    pub inputs: Inputs,
}

impl User<'_> {
    /// Works until told to stop.
    pub fn work(mut self) -> Result<Tallies, TpccError> {
        let worked = self.connect().map_err(TpccError::from).and_then(|it| self.stretches(it));
        self.lead.end();
        worked
    }

    fn connect(&self) -> Result<Transactions, AdminError> {
        Ok(Transactions::new(Admin::open(self.target)?, self.run.route))
    }

    fn stretches(&mut self, first: Transactions) -> Result<Tallies, TpccError> {
        let mut connection = Some(first);
        let mut tallies = Vec::new();
        loop {
            if let Some(transactions) = &mut connection {
                settle(transactions);
            }
            self.lead.rest();
            if self.lead.is(Phase::Stop) {
                return Ok(tallies);
            }
            let Some(phase) = self.lead.work() else { continue };
            let mut tally = Tally::default();
            while self.lead.is(phase) {
                self.one(&mut connection, &mut tally)?;
            }
            tallies.push((phase, tally));
        }
    }

    /// One transaction with its waits, or one try to get a connection.
    fn one(
        &mut self,
        connection: &mut Option<Transactions>,
        tally: &mut Tally,
    ) -> Result<(), TpccError> {
        let Some(transactions) = connection else {
            match self.connect() {
                Ok(transactions) => {
                    *connection = Some(transactions);
                    tally.reconnects += 1;
                    self.with_live(|live| live.counts.reconnects += 1);
                }
                Err(_) => {
                    self.lead.wait(RECONNECT_EVERY);
                }
            }
            return Ok(());
        };
        let input = self.inputs.next();
        if self.run.waits && !self.lead.wait(keying(input.kind())) {
            return Ok(());
        }
        let goes_on = self.until_answered(transactions, &input, tally)?;
        if !goes_on {
            *connection = None;
        } else if self.run.waits {
            let time = thinking(input.kind(), self.inputs.fraction());
            self.lead.wait(time);
        }
        Ok(())
    }

    /// Tries until the database has answered; false when the connection is gone.
    ///
    /// The latency is that of the user, who waits for all tries.
    fn until_answered(
        &self,
        transactions: &mut Transactions,
        input: &Input,
        tally: &mut Tally,
    ) -> Result<bool, TpccError> {
        let kind = &mut tally.kinds[input.kind() as usize];
        let begun = Instant::now();
        loop {
            match transactions.execute(input) {
                Ok(outcome) => {
                    let took = begun.elapsed();
                    kind.latencies.record(took);
                    let is_rolled_back = outcome == Outcome::RolledBack;
                    kind.rolled_back += u64::from(is_rolled_back);
                    kind.committed += u64::from(!is_rolled_back);
                    self.with_live(|live| {
                        live.counts.transactions += 1;
                        live.counts.rollbacks += u64::from(is_rolled_back);
                        live.latencies.record(took);
                    });
                    return Ok(true);
                }
                Err(NoOutcome::Conflict) => {
                    kind.conflicts += 1;
                    self.with_live(|live| live.counts.ignored_errors += 1);
                    if self.lead.work().is_none() {
                        return Ok(true);
                    }
                }
                Err(NoOutcome::Unknown) => {
                    kind.unknown += 1;
                    return Ok(false);
                }
                Err(NoOutcome::Lost) => return Ok(false),
                Err(NoOutcome::Failed(error)) => {
                    let said = format!("{} {error}", self.number);
                    return Err(TpccError::UserEnded { said });
                }
            }
        }
    }

    fn with_live(&self, change: impl FnOnce(&mut Live)) {
        change(&mut self.live.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// PostgreSQL's backends report what they did once a second, and a resting one would keep the last of it.
fn settle(transactions: &mut Transactions) {
    let admin = transactions.admin();
    if admin.engine() == Engine::PostgreSql {
        // Versions before 15 do not have it; their counters are then up to a second late.
        let _ = admin.rows("SELECT pg_stat_force_next_flush()");
    }
}

/// The specification's 5.2.5.7, in seconds.
fn keying(kind: TransactionKind) -> Duration {
    Duration::from_secs(match kind {
        TransactionKind::NewOrder => 18,
        TransactionKind::Payment => 3,
        TransactionKind::OrderStatus | TransactionKind::Delivery | TransactionKind::StockLevel => 2,
    })
}

/// Negative exponential, and never longer than ten times its mean.
fn thinking(kind: TransactionKind, fraction: f64) -> Duration {
    let mean = match kind {
        TransactionKind::NewOrder | TransactionKind::Payment => 12.0,
        TransactionKind::OrderStatus => 10.0,
        TransactionKind::Delivery | TransactionKind::StockLevel => 5.0,
    };
    Duration::from_secs_f64(mean * (-(1.0 - fraction).ln()).min(10.0))
}
