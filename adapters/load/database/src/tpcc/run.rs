//! A run: all users connect, ramp up, rest while the database is asked, work for the measured time, and
//! rest again.

use super::inputs::{Inputs, Profile};
use super::schema;
use super::snapshot::Snapshot;
use super::user::{Lead, Live, Phase, Tally, User};
use super::{Run, RunProgress, TpccError, warehouses};
use crate::admin::Admin;
use crate::target::{Engine, Target};
use nix::sys::resource::{UsageWho, getrusage};
use numawise_experiment::{
    Counts, GeneratorUsage, Interval, KindMeasured, Latencies, Measured, Mix, NoServerCounters,
    Orders, Route, ServerTransactions, Steadiness, TpccRun, TransactionKind,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A server that was killed gets this long to answer at the end.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs the load. `cancelled` ends the measured time early; what was measured until then counts.
pub fn run(
    target: &Target,
    run: &Run,
    cancelled: &AtomicBool,
    progress: &mut dyn FnMut(RunProgress),
) -> Result<TpccRun, TpccError> {
    let mut admin = Admin::open(target)?;
    let warehouses = warehouses(&mut admin, target)?;
    if run.route == Route::Procedures && !schema::has_procedures(&mut admin)? {
        return Err(TpccError::NoProcedures { target: target.to_string() });
    }
    let profile = Profile {
        warehouses,
        choice: run.choice,
        deck: run.mix == Mix::Dealt,
        all_warehouses: run.all_warehouses,
    };
    let lead = Lead::new();
    let lives: Vec<Mutex<Live>> = (0..run.users).map(|_| Mutex::default()).collect();
    let mut watch = Watch {
        run,
        lead: &lead,
        lives: &lives,
        cancelled,
        begun: Instant::now(),
        intervals: Vec::new(),
    };
    std::thread::scope(|scope| {
        let users: Vec<_> = lives
            .iter()
            .enumerate()
            .map(|(number, live)| {
                let inputs = Inputs::new(profile, run.seed, number);
                let user = User { number, target, run, lead: &lead, live, inputs };
                scope.spawn(|| user.work())
            })
            .collect();
        let windows = watch.lead_through(&mut admin, target, progress);
        lead.say(Phase::Stop);
        let mut tally = Tally::default();
        for user in users {
            let tallies = user
                .join()
                .unwrap_or_else(|_| Err(TpccError::UserEnded { said: "it panicked".to_owned() }))?;
            for (_, measured) in tallies.iter().filter(|(phase, _)| *phase == Phase::Measure) {
                tally.add(measured);
            }
        }
        let mut done =
            finished(run, warehouses, tally, windows?, std::mem::take(&mut watch.intervals));
        if target.engine == Engine::PostgreSql {
            let rolled_back = done.measured.counts.rollbacks;
            let once_more = if run.route == Route::Procedures { rolled_back } else { 0 };
            done.besides = u64::from(done.users) + once_more;
        }
        Ok(done)
    })
}

/// What the database and the clock said at the ends of the measured time.
struct Window {
    elapsed: Duration,
    steadiness: Steadiness,
    generator: GeneratorUsage,
    growth: Option<u64>,
    server: ServerTransactions,
}

struct Watch<'a> {
    run: &'a Run,
    lead: &'a Lead,
    lives: &'a [Mutex<Live>],
    cancelled: &'a AtomicBool,
    begun: Instant,
    intervals: Vec<Interval>,
}

impl Watch<'_> {
    fn lead_through(
        &mut self,
        admin: &mut Admin,
        target: &Target,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<Window, TpccError> {
        self.until_still();
        self.begun = Instant::now();
        let mut steadiness = Steadiness::NotWarmedUp;
        if !self.run.ramp_up.is_zero() {
            self.work_for(Phase::RampUp, self.run.ramp_up, progress);
            steadiness = steadiness_of(&self.intervals, self.run.ramp_up);
        }
        let begin = Snapshot::take(admin)?;
        let used = usage();
        let resumed = Instant::now();
        self.work_for(Phase::Measure, self.run.time, progress);
        let elapsed = resumed.elapsed();
        let generator = usage_since(used, self.run.users);
        let end = snapshot_at_the_end(admin, target);
        let seconds = i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX);
        Ok(Window {
            elapsed,
            steadiness,
            generator,
            growth: end.as_ref().and_then(|end| end.orders_since(&begin)),
            server: match end {
                Some(end) => end.server_since(&begin, seconds),
                None => ServerTransactions::NotAvailable { why: NoServerCounters::Unanswered },
            },
        })
    }

    /// Until every user rests or has ended.
    fn until_still(&self) {
        while !self.lead.is_still(self.lives.len()) {
            std::thread::sleep(LOOK_EVERY / 10);
        }
    }

    /// Lets the users work, shows each interval, and has them rest again.
    fn work_for(&mut self, phase: Phase, time: Duration, progress: &mut dyn FnMut(RunProgress)) {
        let warm_up = phase == Phase::RampUp;
        let begun = Instant::now();
        self.lead.say(phase);
        let mut shown = begun;
        loop {
            let left = time.saturating_sub(begun.elapsed());
            // Users that ended early have an error to tell.
            let is_over = left.is_zero()
                || self.cancelled.load(Ordering::Relaxed)
                || self.lead.has_lost_somebody();
            if is_over {
                break;
            }
            if shown.elapsed() >= self.run.interval {
                self.show(&mut shown, warm_up, progress);
            }
            std::thread::sleep(LOOK_EVERY.min(left));
        }
        self.lead.say(Phase::Rest);
        self.until_still();
        self.show(&mut shown, warm_up, progress);
    }

    fn show(&mut self, shown: &mut Instant, warm_up: bool, progress: &mut dyn FnMut(RunProgress)) {
        let length = shown.elapsed();
        let begin = shown.saturating_duration_since(self.begun);
        *shown = Instant::now();
        let (mut counts, mut latencies) = (Counts::default(), Latencies::new());
        for live in self.lives {
            let live = std::mem::take(&mut *live.lock().unwrap_or_else(PoisonError::into_inner));
            counts.transactions += live.counts.transactions;
            counts.rollbacks += live.counts.rollbacks;
            counts.ignored_errors += live.counts.ignored_errors;
            counts.reconnects += live.counts.reconnects;
            latencies.merge(&live.latencies);
        }
        progress(RunProgress {
            at: begin + length,
            length,
            is_ramp_up: warm_up,
            counts,
            p95: latencies.quantile(0.95),
            p99: latencies.quantile(0.99),
        });
        self.intervals.push(Interval { begin, length, counts, latencies, warm_up });
    }
}

/// The last half of the ramp-up counts as steady when its own two halves differ by less than this.
const STEADY_WITHIN: f64 = 0.05;
/// Fewer intervals in a half say nothing.
const FEWEST_INTERVALS: usize = 3;

fn steadiness_of(intervals: &[Interval], after: Duration) -> Steadiness {
    // The last interval is what was left over.
    let whole = &intervals[..intervals.len().saturating_sub(1)];
    let half = &whole[whole.len() / 2..];
    let (first, second) = half.split_at(half.len() / 2);
    if first.len() < FEWEST_INTERVALS {
        return Steadiness::NotSteady { after };
    }
    let (first, second) = (median_rate(first), median_rate(second));
    match (first - second).abs() <= STEADY_WITHIN * first {
        true => Steadiness::Steady { after },
        false => Steadiness::NotSteady { after },
    }
}

fn median_rate(intervals: &[Interval]) -> f64 {
    let mut rates: Vec<f64> = intervals
        .iter()
        .map(|interval| interval.counts.transactions as f64 / interval.length.as_secs_f64())
        .collect();
    rates.sort_unstable_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// The server may have been killed; then it needs another connection, and time to recover.
fn snapshot_at_the_end(admin: &mut Admin, target: &Target) -> Option<Snapshot> {
    let begun = Instant::now();
    loop {
        if let Ok(snapshot) = Snapshot::take(admin) {
            return Some(snapshot);
        }
        if begun.elapsed() > ANSWERS_WITHIN {
            return None;
        }
        std::thread::sleep(LOOK_EVERY);
        if let Ok(again) = Admin::open(target) {
            *admin = again;
        }
    }
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.reconnects += other.reconnects;
        for (kind, other) in self.kinds.iter_mut().zip(&other.kinds) {
            kind.committed += other.committed;
            kind.rolled_back += other.rolled_back;
            kind.conflicts += other.conflicts;
            kind.unknown += other.unknown;
            kind.latencies.merge(&other.latencies);
        }
    }
}

fn finished(
    run: &Run,
    warehouses: i64,
    tally: Tally,
    window: Window,
    intervals: Vec<Interval>,
) -> TpccRun {
    let orders = Orders {
        growth: window.growth,
        committed: tally.kinds[TransactionKind::NewOrder as usize].committed,
        unknown: tally.kinds[TransactionKind::NewOrder as usize].unknown,
    };
    let unknown = tally.kinds.iter().map(|kind| kind.unknown).sum();
    let mut all = Latencies::new();
    let mut counts = Counts { reconnects: tally.reconnects, ..Counts::default() };
    let kinds = TransactionKind::ALL
        .into_iter()
        .zip(tally.kinds)
        .map(|(kind, tally)| {
            all.merge(&tally.latencies);
            let of_kind = Counts {
                transactions: tally.committed + tally.rolled_back,
                rollbacks: tally.rolled_back,
                ignored_errors: tally.conflicts,
                ..Counts::default()
            };
            counts.transactions += of_kind.transactions;
            counts.rollbacks += of_kind.rollbacks;
            counts.ignored_errors += of_kind.ignored_errors;
            let name = kind.name().to_owned();
            KindMeasured { name, counts: of_kind, latencies: tally.latencies }
        })
        .collect();
    TpccRun {
        measured: Measured {
            elapsed: window.elapsed,
            counts,
            latencies: all,
            kinds,
            schedule: None,
            intervals,
            generator: window.generator,
            steadiness: window.steadiness,
        },
        warehouses: u32::try_from(warehouses).unwrap_or(u32::MAX),
        users: u32::try_from(run.users).unwrap_or(u32::MAX),
        choice: run.choice,
        mix: run.mix,
        route: run.route,
        all_warehouses: run.all_warehouses,
        waits: run.waits,
        ramp_up: run.ramp_up,
        orders,
        server: window.server,
        unknown,
        besides: 0,
    }
}

/// User and system time of this process, and the most memory it had.
fn usage() -> (Duration, Duration, Option<u64>) {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Default::default() };
    let duration = |time: nix::sys::time::TimeVal| {
        let micros = time.tv_sec() * 1_000_000 + time.tv_usec();
        Duration::from_micros(micros.unsigned_abs())
    };
    let peak = u64::try_from(usage.max_rss()).ok().map(|kib| kib * 1024);
    (duration(usage.user_time()), duration(usage.system_time()), peak)
}

fn usage_since(before: (Duration, Duration, Option<u64>), users: usize) -> GeneratorUsage {
    let (user, system, resident_peak_bytes) = usage();
    let users = u32::try_from(users).unwrap_or(u32::MAX);
    GeneratorUsage {
        user: user.saturating_sub(before.0),
        system: system.saturating_sub(before.1),
        threads: users,
        connections: users,
        resident_peak_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(rates: &[u64]) -> Steadiness {
        let length = Duration::from_secs(1);
        let intervals: Vec<Interval> = rates
            .iter()
            .map(|&transactions| Interval {
                length,
                counts: Counts { transactions, ..Counts::default() },
                ..Interval::default()
            })
            .collect();
        steadiness_of(&intervals, length)
    }

    #[test]
    fn a_ramp_up_is_steady_when_its_last_half_no_longer_moves() {
        let after = Duration::from_secs(1);
        let steady = Steadiness::Steady { after };
        let not = Steadiness::NotSteady { after };
        assert_eq!(ramp(&[1, 5, 9, 20, 50, 80, 100, 101, 99, 100, 102, 100, 0]), steady);
        assert_eq!(ramp(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0]), not);
        assert_eq!(ramp(&[100, 100, 100]), not);
    }
}
