//! Load on CPUs: primes, found the way that sysbench's cpu test finds them.
//!
//! One event tries each number up to a limit for divisors up to its root. It lives in registers: it tells
//! how fast cores are, and nothing of memory. Events a second are therefore the same on every placement of a
//! machine, unless frequency, SMT neighbours or stolen time differ; that is what it is for.

mod frequency;
mod primes;

pub use frequency::Frequencies;
pub use primes::count_primes;

use nix::sys::resource::{UsageWho, getrusage};
use numawise_experiment::{
    Counts, CpuRun, CpuThread, Frequency, GeneratorUsage, Interval, Latencies, Measured, Steadiness,
};
use numawise_model::Pcpu;
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;

const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Reading a frequency interrupts the CPU that is asked for it on some kernels.
const SAMPLE_EVERY: Duration = Duration::from_millis(500);

#[derive(Clone, Debug)]
pub struct CpuLoad {
    pub threads: usize,
    pub max_prime: u64,
    pub time: Duration,
    pub interval: Duration,
    /// Thread 0 is pinned to the first, thread 1 to the second, and after the last it begins again.
    /// Empty: wherever the kernel puts them.
    pub cpus: Vec<Pcpu>,
}

#[derive(Debug, Error)]
pub enum CpuLoadError {
    #[error(
        "CPU {cpu}: this process may not run there: {said}; the CPUs that it may have: taskset -p $$"
    )]
    NotAllowed { cpu: Pcpu, said: String },
    #[error("CPU {cpu}: only CPUs up to {highest} can be asked for")]
    TooHigh { cpu: Pcpu, highest: usize },
    #[error("a thread ended early")]
    Panicked,
}

/// What a thread has done so far; emptied by whoever shows it.
#[derive(Default)]
struct Live {
    events: u64,
    latencies: Latencies,
}

/// Runs until the time is over, or until `cancelled`.
pub fn run(
    load: &CpuLoad,
    frequencies: &Frequencies,
    cancelled: &AtomicBool,
    progress: &mut dyn FnMut(&Interval),
) -> Result<CpuRun, CpuLoadError> {
    let threads = load.threads.max(1);
    let pins: Vec<Option<Pcpu>> = (0..threads)
        .map(|number| load.cpus.get(number % load.cpus.len().max(1)).copied())
        .collect();
    let lives: Vec<Mutex<Live>> = pins.iter().map(|_| Mutex::default()).collect();
    let places: Vec<AtomicUsize> = pins.iter().map(|_| AtomicUsize::new(usize::MAX)).collect();
    let (ready, go, stop) = (AtomicUsize::new(0), AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let workers: Vec<_> = pins
            .iter()
            .zip(&lives)
            .zip(&places)
            .map(|((&pin, live), place)| {
                let (ready, go, stop) = (&ready, &go, &stop);
                scope.spawn(move || {
                    let pinned = pin.map_or(Ok(()), pin_to);
                    ready.fetch_add(1, Ordering::AcqRel);
                    pinned?;
                    while !go.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                    work(load.max_prime, live, place, stop);
                    Ok(())
                })
            })
            .collect();
        while ready.load(Ordering::Acquire) < threads {
            std::thread::sleep(LOOK_EVERY / 10);
        }
        let used = usage();
        let begun = Instant::now();
        go.store(true, Ordering::Release);
        let mut watch = Watch {
            lives: &lives,
            places: &places,
            frequencies,
            begun,
            shown: begun,
            sampled: begun,
            samples: vec![Vec::new(); threads],
            intervals: Vec::new(),
            events: vec![0; threads],
        };
        while begun.elapsed() < load.time && !cancelled.load(Ordering::Relaxed) {
            // Whoever could not be pinned has ended.
            if workers.iter().any(std::thread::ScopedJoinHandle::is_finished) {
                break;
            }
            std::thread::sleep(LOOK_EVERY.min(load.time.saturating_sub(begun.elapsed())));
            watch.sample();
            if watch.shown.elapsed() >= load.interval {
                watch.show(progress);
            }
        }
        stop.store(true, Ordering::Release);
        for worker in workers {
            worker.join().map_err(|_| CpuLoadError::Panicked)??;
        }
        let elapsed = begun.elapsed();
        watch.show(progress);
        Ok(watch.finished(load, &pins, elapsed, usage_since(used, threads)))
    })
}

fn work(max_prime: u64, live: &Mutex<Live>, place: &AtomicUsize, stop: &AtomicBool) {
    let mut begun = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        std::hint::black_box(count_primes(std::hint::black_box(max_prime)));
        let now = Instant::now();
        let mut live = live.lock().unwrap_or_else(PoisonError::into_inner);
        live.events += 1;
        live.latencies.record(now - begun);
        drop(live);
        place.store(sched_getcpu(), Ordering::Relaxed);
        begun = now;
    }
}

fn pin_to(cpu: Pcpu) -> Result<(), CpuLoadError> {
    let mut set = CpuSet::new();
    let Pcpu(number) = cpu;
    let number = number as usize;
    if number >= CpuSet::MAX_CPU {
        return Err(CpuLoadError::TooHigh { cpu, highest: CpuSet::MAX_CPU - 1 });
    }
    set.set(number);
    sched_setaffinity(None, &set)
        .map_err(|error| CpuLoadError::NotAllowed { cpu, said: error.to_string() })
}

/// Looks on, from a thread that sleeps nearly always.
struct Watch<'a> {
    lives: &'a [Mutex<Live>],
    places: &'a [AtomicUsize],
    frequencies: &'a Frequencies,
    begun: Instant,
    shown: Instant,
    sampled: Instant,
    samples: Vec<Vec<u64>>,
    intervals: Vec<Interval>,
    events: Vec<u64>,
}

impl Watch<'_> {
    fn sample(&mut self) {
        if self.sampled.elapsed() < SAMPLE_EVERY {
            return;
        }
        self.sampled = Instant::now();
        let there: Vec<usize> =
            self.places.iter().map(|place| place.load(Ordering::Relaxed)).collect();
        let read = self.frequencies.khz(&there);
        for (samples, khz) in self.samples.iter_mut().zip(read) {
            samples.extend(khz);
        }
    }

    fn show(&mut self, progress: &mut dyn FnMut(&Interval)) {
        let now = Instant::now();
        let mut interval = Interval {
            begin: self.shown - self.begun,
            length: now - self.shown,
            ..Interval::default()
        };
        self.shown = now;
        for (live, events) in self.lives.iter().zip(&mut self.events) {
            let live = std::mem::take(&mut *live.lock().unwrap_or_else(PoisonError::into_inner));
            *events += live.events;
            interval.counts.transactions += live.events;
            interval.latencies.merge(&live.latencies);
        }
        progress(&interval);
        self.intervals.push(interval);
    }

    fn finished(
        self,
        load: &CpuLoad,
        pins: &[Option<Pcpu>],
        elapsed: Duration,
        generator: GeneratorUsage,
    ) -> CpuRun {
        let mut latencies = Latencies::new();
        self.intervals.iter().for_each(|interval| latencies.merge(&interval.latencies));
        let threads = pins
            .iter()
            .zip(&self.events)
            .zip(&self.samples)
            .map(|((&pinned, &events), samples)| CpuThread {
                pinned,
                events,
                frequency: Frequency::of(samples),
            })
            .collect();
        CpuRun {
            measured: Measured {
                elapsed,
                counts: Counts { transactions: self.events.iter().sum(), ..Counts::default() },
                latencies,
                kinds: Vec::new(),
                schedule: None,
                intervals: self.intervals,
                generator,
                steadiness: Steadiness::NotWarmedUp,
            },
            max_prime: load.max_prime,
            threads,
            source: self.frequencies.source(),
        }
    }
}

fn usage() -> Option<(Duration, Duration, i64)> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let duration = |time: nix::sys::time::TimeVal| {
        Duration::from_micros((time.tv_sec() * 1_000_000 + time.tv_usec()).unsigned_abs())
    };
    Some((duration(usage.user_time()), duration(usage.system_time()), usage.max_rss()))
}

fn usage_since(before: Option<(Duration, Duration, i64)>, threads: usize) -> GeneratorUsage {
    let mut generator = GeneratorUsage { threads: threads as u32, ..GeneratorUsage::default() };
    if let (Some(before), Some(after)) = (before, usage()) {
        generator.user = after.0.saturating_sub(before.0);
        generator.system = after.1.saturating_sub(before.1);
        generator.resident_peak_bytes = u64::try_from(after.2).ok().map(|kib| kib * 1024);
    }
    generator
}

#[cfg(test)]
mod tests {
    use super::*;
    use numawise_experiment::FrequencySource;
    use std::path::Path;

    fn ran(cpus: Vec<Pcpu>) -> Result<CpuRun, CpuLoadError> {
        let load = CpuLoad {
            threads: 2,
            max_prime: 1_000,
            time: Duration::from_millis(300),
            interval: Duration::from_millis(100),
            cpus,
        };
        let nowhere = Frequencies::below(Path::new("/nowhere"));
        run(&load, &nowhere, &AtomicBool::new(false), &mut |_| ())
    }

    #[test]
    fn events_are_counted_once_by_thread_interval_and_latency() {
        let run = ran(Vec::new()).expect("a run");
        let events = run.measured.counts.transactions;
        assert!(events > 0);
        assert_eq!(run.threads.iter().map(|thread| thread.events).sum::<u64>(), events);
        assert_eq!(run.measured.latencies.count(), events);
        let of_intervals: u64 =
            run.measured.intervals.iter().map(|interval| interval.counts.transactions).sum();
        assert_eq!(of_intervals, events);
        assert!(matches!(run.source, FrequencySource::NotAvailable { .. }));
        assert!(run.threads.iter().all(|thread| thread.frequency.is_none()));
    }

    #[test]
    fn threads_share_the_cpus_in_turn_and_a_cpu_that_is_not_there_is_an_error() {
        let own = sched_getcpu() as u32;
        let pinned = ran(vec![Pcpu(own)]).expect("a run");
        assert!(pinned.threads.iter().all(|thread| thread.pinned == Some(Pcpu(own))));
        let error = ran(vec![Pcpu(1_023)]).expect_err("no such CPU");
        assert!(error.to_string().contains("CPU 1023"), "{error}");
        let error = ran(vec![Pcpu(4_000)]).expect_err("beyond");
        assert!(matches!(error, CpuLoadError::TooHigh { .. }), "{error}");
    }
}
