//! A run from its connections to its figures.

use super::arrivals::Arrivals;
use super::load::Load;
use super::pinning::pin;
use super::tally::Board;
use super::watch::Watch;
use super::worker::{Connect, Shared, Worker};
use crate::catalog::Catalog;
use crate::error::LoadError;
use crate::mysql::MySqlSession;
use crate::oltp::{Drawer, Random, Unique};
use crate::postgres::PostgresSession;
use crate::session::Session;
use crate::sqlite::SqliteSession;
use crate::target::{Engine, Target};
use numawise_experiment::{Interval, Measured};
use numawise_model::CpuSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What is under way at the end may take so long, then it is given up.
const PATIENCE: Duration = Duration::from_secs(10);
/// Streams of random numbers below this number belong to workers.
const STREAM_OF_ARRIVALS: u64 = 1 << 40;
const STREAM_OF_IDS: u64 = 1 << 41;
/// SQLite wants more than it says, a handshake under TLS too.
const STACK: usize = 1 << 20;

/// All connections are up and all statements prepared; nothing has run.
pub struct Connected {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<u64>>,
    gates: Vec<mpsc::Sender<()>>,
    connections: u32,
}

impl Connected {
    pub fn connect(target: &Target, load: &Load) -> Result<Self, LoadError> {
        load.options.check()?;
        match target.engine {
            Engine::MySql => {
                let ignored = Arc::new(load.ignored.clone());
                Self::connect_with(target, load, move |target, catalog| {
                    MySqlSession::connect(target, catalog, &ignored)
                })
            }
            Engine::PostgreSql => Self::connect_with(target, load, PostgresSession::connect),
            Engine::Sqlite => Self::connect_with(target, load, SqliteSession::connect),
        }
    }

    fn connect_with<S: Session + 'static>(
        target: &Target,
        load: &Load,
        connect: impl Fn(&Target, &Arc<Catalog>) -> Result<S, LoadError> + Send + Sync + 'static,
    ) -> Result<Self, LoadError> {
        let catalog = Arc::new(Catalog::new(target.engine, &load.options, load.as_text));
        let connect = Arc::new(connect);
        let shared = Arc::new(shared(load));
        let options = Arc::new(load.options.clone());
        let unique = Arc::new(Unique::new(&mut Random::new(load.seed, STREAM_OF_IDS)));
        let (report, reports) = mpsc::channel();
        let (mut threads, mut gates) = (Vec::new(), Vec::new());
        let (workers, connections) = (load.workers(), load.connections.max(1));
        for worker in 0..workers {
            let share = |worker: u32| {
                (u64::from(worker) * u64::from(connections) / u64::from(workers)) as u32
            };
            let numbers = share(worker)..share(worker + 1);
            let drawer = Drawer::new(
                Arc::clone(&options),
                Random::new(load.seed, u64::from(worker)),
                Arc::clone(&unique),
                connections,
            );
            let (gate, opened) = mpsc::channel();
            gates.push(gate);
            let start = Starting {
                shared: Arc::clone(&shared),
                target: target.to_string(),
                cpus: load.cpus.clone(),
                report: report.clone(),
                opened,
            };
            let (target, catalog) = (target.clone(), Arc::clone(&catalog));
            let connect = Arc::clone(&connect);
            let connect: Connect<S> = Box::new(move || connect(&target, &catalog));
            let thread = thread::Builder::new()
                .name(format!("load-{worker}"))
                .stack_size(STACK)
                .spawn(move || start.work(drawer, connect, numbers))
                .map_err(|source| LoadError::System { what: "so many threads", source })?;
            threads.push(thread);
        }
        drop(report);
        // The first failure is told; the other workers end when their gates fall.
        reports.iter().collect::<Result<(), LoadError>>()?;
        Ok(Self { shared, threads, gates, connections })
    }

    /// Runs from `start` to its end. Each interval is told when it is over. A cancelled run gives what it
    /// has measured until then.
    pub fn run(
        mut self,
        start: Instant,
        cancel: &AtomicBool,
        mut progress: impl FnMut(&Interval),
    ) -> Result<Measured, LoadError> {
        // Nobody else sets it.
        let _ = self.shared.start.set(start);
        let gates = std::mem::take(&mut self.gates);
        for gate in gates {
            // A worker that is gone has told why.
            let _ = gate.send(());
        }
        let mut watch = Watch::new(Arc::clone(&self.shared), start);
        let mut cancelled_at = None;
        while !self.threads.iter().all(JoinHandle::is_finished) {
            if cancelled_at.is_none() && cancel.load(Ordering::Relaxed) {
                self.shared.stop.store(true, Ordering::Relaxed);
                cancelled_at = Some(nsec(start.elapsed()));
            }
            watch.look(&mut progress);
            thread::sleep(watch.pause());
        }
        let workers = self.threads.len();
        let mut last_end = 0;
        for thread in self.threads.drain(..) {
            last_end = last_end.max(thread.join().unwrap_or(0));
        }
        let failure = self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(error) = failure {
            return Err(error);
        }
        let planned = if self.shared.end == u64::MAX { 0 } else { self.shared.end };
        let end = cancelled_at.unwrap_or(planned);
        let mut measured = watch.finish(end, last_end, &mut progress);
        measured.generator.connections = self.connections;
        measured.generator.threads = u32::try_from(workers).unwrap_or(u32::MAX);
        Ok(measured)
    }
}

/// What a worker's thread begins with.
struct Starting {
    shared: Arc<Shared>,
    target: String,
    cpus: Option<CpuSet>,
    report: mpsc::Sender<Result<(), LoadError>>,
    opened: mpsc::Receiver<()>,
}

impl Starting {
    fn work<S: Session>(self, drawer: Drawer, connect: Connect<S>, numbers: Range<u32>) -> u64 {
        let Self { shared, target, cpus, report, opened } = self;
        let pinned = cpus.as_ref().map_or(Ok(()), pin);
        let worker = pinned
            .map_err(|source| LoadError::System { what: "running on these CPUs", source })
            .and_then(|()| Worker::new(shared, target, drawer, connect, numbers));
        let worker = match worker {
            Ok(worker) => worker,
            Err(error) => {
                // Nobody listens any more once another worker has failed.
                let _ = report.send(Err(error));
                return 0;
            }
        };
        let _ = report.send(Ok(()));
        drop(report);
        if opened.recv().is_ok() { worker.run() } else { 0 }
    }
}

fn shared(load: &Load) -> Shared {
    let warm_up = nsec(load.warm_up);
    let arrivals =
        load.rate.map(|rate| Arrivals::new(rate, Random::new(load.seed, STREAM_OF_ARRIVALS)));
    Shared {
        board: Board::default(),
        arrivals,
        budget: load.events.map(AtomicU64::new),
        warm_up,
        end: load.time.map_or(u64::MAX, |time| warm_up.saturating_add(nsec(time))),
        interval: nsec(load.interval).max(1),
        patience: nsec(PATIENCE),
        stop: AtomicBool::new(false),
        failure: Mutex::new(None),
        start: OnceLock::new(),
    }
}

fn nsec(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
