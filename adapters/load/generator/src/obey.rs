//! A generator's own side: ready, answering pings, starting when it is told.

use numawise_documents::generator::{FromGenerator, ToGenerator, line, parse_line};
use numawise_experiment::{Interval, Measured, Metric};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A generator under somebody's orders.
pub struct Coordinated {
    output: Arc<Mutex<Box<dyn Write + Send>>>,
    starts: Receiver<u64>,
}

impl Coordinated {
    /// Listens from now on. `measure` hears from when on since the start, and for how long, the load is
    /// to count. `stop` is set when the other side says so, or is gone.
    pub fn begin(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        measure: impl Fn(Duration, Duration) + Send + 'static,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let output: Arc<Mutex<Box<dyn Write + Send>>> = Arc::new(Mutex::new(Box::new(output)));
        let (start, starts) = channel();
        let answers = Arc::clone(&output);
        // Ends with its input; nobody waits for it.
        thread::spawn(move || {
            for line in BufReader::new(input).lines() {
                let Ok(line) = line else { break };
                match parse_line::<ToGenerator>(&line) {
                    Ok(ToGenerator::Ping { number }) => {
                        say(&answers, &FromGenerator::Pong { number, unix_nsec: now_unix_nsec() });
                    }
                    Ok(ToGenerator::Start { at_unix_nsec }) => {
                        let _ = start.send(at_unix_nsec);
                    }
                    Ok(ToGenerator::Measure { after_start_nsec, for_nsec }) => measure(
                        Duration::from_nanos(after_start_nsec),
                        Duration::from_nanos(for_nsec),
                    ),
                    Ok(ToGenerator::Stop {}) => break,
                    Err(error) => {
                        say(&answers, &FromGenerator::Failed { why: error.to_string() });
                        break;
                    }
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        Self { output, starts }
    }

    /// Says that all is ready, and waits for the instant to start at; nothing when there will be none.
    pub fn ready(&self, version: &str) -> Option<Instant> {
        self.say(&FromGenerator::Ready { numawise: version.to_owned() });
        let at = self.starts.recv().ok()?;
        let lead = Duration::from_nanos(at.saturating_sub(now_unix_nsec()));
        Some(Instant::now() + lead)
    }

    pub fn interval(&self, interval: &Interval) {
        self.say(&FromGenerator::interval(interval));
    }

    pub fn done(&self, measured: &Measured, values: &BTreeMap<Metric, f64>) {
        self.say(&FromGenerator::done(measured, values));
    }

    pub fn failed(&self, why: &str) {
        self.say(&FromGenerator::Failed { why: why.to_owned() });
    }

    fn say(&self, said: &FromGenerator) {
        say(&self.output, said);
    }
}

/// A reader that is gone has closed the input too, which stops everything.
fn say(output: &Mutex<Box<dyn Write + Send>>, said: &FromGenerator) {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = output.write_all(line(said).as_bytes()).and_then(|()| output.flush());
}

/// A clock before 1970 reads as 1970: the other side sees the skew and says so.
pub(crate) fn now_unix_nsec() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
