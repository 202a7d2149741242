//! The coordinator's side: start, ready, clocks, go, and what each gave.

use crate::obey::now_unix_nsec;
use numawise_documents::generator::{FromGenerator, ToGenerator, line, parse_line};
use numawise_documents::wire::Wire;
use numawise_engine::ports::Cancel;
use numawise_experiment::{Interval, Measured, Metric, Standing, Steadiness, WarmUp, standing};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// A command that is a generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratorSpec {
    pub name: String,
    /// The program and its arguments, with whatever carries it: `ssh client1 numawise oltp run ...`.
    pub words: Vec<String>,
}

/// How far a generator's clock is ahead of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    pub ahead_nsec: i64,
    /// It may be so much more or less.
    pub within: Duration,
}

/// What all gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    pub parts: Vec<PartOutcome>,
}

/// What one measured, with figures that are not in a measurement.
pub type PartResult = Result<(Measured, BTreeMap<Metric, f64>), Lost>;

#[derive(Clone, Debug, PartialEq)]
pub struct PartOutcome {
    pub name: String,
    pub clock: Clock,
    pub result: PartResult,
}

/// A generator that did not come to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Lost {
    /// Since the common start; when it was last heard of.
    pub after: Duration,
    pub why: String,
    /// What it had told by then.
    pub intervals: Vec<Interval>,
}

impl Outcome {
    /// All that came to their end as one run. Nothing where none did.
    pub fn merged(&self) -> Option<Measured> {
        let mut whole = self.parts.iter().filter_map(|part| part.result.as_ref().ok());
        let mut merged = whole.next()?.0.clone();
        whole.for_each(|(measured, _)| merged.merge(measured));
        Some(merged)
    }

    /// By how much the clocks differ at most, with what is not known of each.
    pub fn skew(&self) -> Duration {
        let ends = |part: &PartOutcome| {
            let within = i64::try_from(part.clock.within.as_nanos()).unwrap_or(i64::MAX);
            (
                part.clock.ahead_nsec.saturating_sub(within),
                part.clock.ahead_nsec.saturating_add(within),
            )
        };
        let lowest = self.parts.iter().map(|part| ends(part).0).min().unwrap_or(0);
        let highest = self.parts.iter().map(|part| ends(part).1).max().unwrap_or(0);
        Duration::from_nanos(highest.abs_diff(lowest))
    }
}

#[derive(Debug, Error)]
pub enum GeneratorError {
    #[error("generator {name} could not be started: {program}: {source}")]
    NotStarted { name: String, program: String, source: std::io::Error },
    #[error("generator {name} did not get ready: {why}")]
    NotReady { name: String, why: String },
    #[error("interrupted")]
    Cancelled,
}

/// Everybody is connected, and nothing has started.
pub struct Generators {
    running: Vec<Running>,
    clocks: Vec<Clock>,
    news: Receiver<News>,
}

struct Running {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    complaints: Arc<Mutex<String>>,
}

/// From which generator, and what; `None` at the end of its output.
struct News {
    from: usize,
    said: Option<FromGenerator>,
    at: Instant,
}

const PINGS: u64 = 20;
/// Looked at often enough that an interruption is not felt.
const TICK: Duration = Duration::from_millis(50);
/// From the order to start until the start: whoever is slow to hear of it still starts in time.
const LEAD: Duration = Duration::from_millis(300);
/// A generator that was stopped gets so long to say what it has.
const LAST_WORDS: Duration = Duration::from_secs(15);
const COMPLAINT_BYTES: usize = 4 << 10;

impl Generators {
    /// Starts all of them and waits until each has its connections.
    pub fn start(
        specs: &[GeneratorSpec],
        patience: Duration,
        cancel: &Cancel,
    ) -> Result<Self, GeneratorError> {
        let (tell, news) = channel();
        let mut this = Self { running: Vec::new(), clocks: Vec::new(), news };
        for (from, spec) in specs.iter().enumerate() {
            this.running.push(launch(from, spec, tell.clone())?);
        }
        drop(tell);
        this.wait_until_ready(patience, cancel)?;
        for from in 0..this.running.len() {
            let clock = this.ask_clock(from)?;
            this.clocks.push(clock);
        }
        Ok(this)
    }

    fn wait_until_ready(&self, patience: Duration, cancel: &Cancel) -> Result<(), GeneratorError> {
        let begun = Instant::now();
        let mut waiting: Vec<usize> = (0..self.running.len()).collect();
        while let Some(first) = waiting.first() {
            if cancel.is_set() {
                return Err(GeneratorError::Cancelled);
            }
            if begun.elapsed() > patience {
                let why = format!("nothing was heard of it in {} s", patience.as_secs());
                return Err(self.not_ready(*first, why));
            }
            match self.news.recv_timeout(TICK) {
                Ok(News { from, said: Some(FromGenerator::Ready { .. }), .. }) => {
                    waiting.retain(|other| *other != from);
                }
                Ok(News { from, said, .. }) => return Err(self.not_ready(from, told(said))),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.not_ready(*first, told(None)));
                }
            }
        }
        Ok(())
    }

    /// The answer with the shortest way says most.
    fn ask_clock(&mut self, from: usize) -> Result<Clock, GeneratorError> {
        let mut best: Option<Clock> = None;
        for number in 0..PINGS {
            let sent = (Instant::now(), now_unix_nsec());
            self.running[from].say(&ToGenerator::Ping { number });
            let (unix_nsec, arrived) = match self.news.recv_timeout(LAST_WORDS) {
                Ok(News {
                    from: who,
                    said: Some(FromGenerator::Pong { number: n, unix_nsec }),
                    at,
                }) if who == from && n == number => (unix_nsec, at),
                Ok(News { from, said, .. }) => return Err(self.not_ready(from, told(said))),
                Err(_) => {
                    let why = "it does not answer when its clock is asked for".to_owned();
                    return Err(self.not_ready(from, why));
                }
            };
            let way = arrived.duration_since(sent.0);
            let middle = sent.1.saturating_add(nsec(way) / 2);
            let ahead_nsec = i64::try_from(i128::from(unix_nsec) - i128::from(middle))
                .unwrap_or(if unix_nsec > middle { i64::MAX } else { i64::MIN });
            if best.is_none_or(|best| way / 2 < best.within) {
                best = Some(Clock { ahead_nsec, within: way / 2 });
            }
        }
        best.ok_or_else(|| self.not_ready(from, "no clock".to_owned()))
    }

    fn not_ready(&self, from: usize, why: String) -> GeneratorError {
        let running = &self.running[from];
        GeneratorError::NotReady { name: running.name.clone(), why: running.with_complaints(why) }
    }

    /// Starts all at one instant, measures once they are steady together, and waits for their ends.
    /// `progress` hears each interval of each, with the number of its generator.
    pub fn run(
        mut self,
        course: &Course,
        cancel: &Cancel,
        progress: &mut dyn FnMut(usize, &Interval),
    ) -> Outcome {
        let start = Instant::now() + LEAD;
        let start_here = now_unix_nsec().saturating_add(nsec(LEAD));
        for (running, clock) in self.running.iter_mut().zip(&self.clocks) {
            let at_unix_nsec = start_here.saturating_add_signed(clock.ahead_nsec);
            running.say(&ToGenerator::Start { at_unix_nsec });
        }
        let mut ends: Vec<Ending> = self.running.iter().map(|_| Ending::new(start)).collect();
        let mut warming = WarmingUp { course, start, decided: None };
        let mut stopped: Option<Instant> = None;
        while ends.iter().any(|ending| ending.result.is_none()) {
            if stopped.is_none() && cancel.is_set() {
                stopped = Some(Instant::now());
                self.running.iter_mut().for_each(|running| running.say(&ToGenerator::Stop {}));
            }
            if stopped.is_some_and(|at| at.elapsed() > LAST_WORDS) {
                break;
            }
            match self.news.recv_timeout(TICK) {
                Ok(news) => ends[news.from].hear(news, progress),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if let Some(order) = warming.order(&ends) {
                self.running.iter_mut().for_each(|running| running.say(&order));
            }
        }
        let steadiness = warming.decided.unwrap_or_default();
        let parts =
            self.running.iter().zip(ends).zip(&self.clocks).map(|((running, ending), clock)| {
                let lost = ending.lost(start);
                PartOutcome {
                    name: running.name.clone(),
                    clock: *clock,
                    result: ending
                        .result
                        .unwrap_or(Err(lost))
                        .map(|(measured, values)| (Measured { steadiness, ..measured }, values))
                        .map_err(|lost| Lost { why: running.with_complaints(lost.why), ..lost }),
                }
            });
        Outcome { parts: parts.collect() }
    }
}

/// How a run goes: until when it warms up, and for how long it is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    pub warm_up: WarmUp,
    pub measure: Duration,
    /// How long the generators' intervals are.
    pub interval: Duration,
}

/// Looks whether all together are steady, until the order to measure is given.
struct WarmingUp<'a> {
    course: &'a Course,
    start: Instant,
    decided: Option<Steadiness>,
}

impl WarmingUp<'_> {
    /// The order, once. It names the next end of an interval that all hear of in time.
    fn order(&mut self, ends: &[Ending]) -> Option<ToGenerator> {
        if self.decided.is_some() {
            return None;
        }
        let WarmUp { at_least, at_most, rule } = self.course.warm_up;
        let for_nsec = nsec(self.course.measure);
        if at_most.is_zero() {
            self.decided = Some(Steadiness::NotWarmedUp);
            return Some(ToGenerator::Measure { after_start_nsec: 0, for_nsec });
        }
        let since_start = self.start.elapsed();
        let series = throughput(ends);
        let is_steady = since_start >= at_least && standing(&series, &rule) == Standing::Steady;
        if !is_steady && since_start < at_most {
            return None;
        }
        let interval = nsec(self.course.interval).max(1);
        let after_start_nsec = (nsec(since_start) + nsec(LEAD)).div_ceil(interval) * interval;
        let after = Duration::from_nanos(after_start_nsec);
        self.decided = Some(match is_steady {
            true => Steadiness::Steady { after },
            false => Steadiness::NotSteady { after },
        });
        Some(ToGenerator::Measure { after_start_nsec, for_nsec })
    }
}

/// Transactions a second of all that still run, for each interval that all have told.
fn throughput(ends: &[Ending]) -> Vec<f64> {
    let live = || ends.iter().filter(|ending| ending.result.is_none());
    let told = live().map(|ending| ending.intervals.len()).min().unwrap_or(0);
    let rate = |ending: &Ending, number: usize| {
        let interval = &ending.intervals[number];
        interval.counts.transactions as f64 / interval.length.as_secs_f64().max(1e-9)
    };
    (0..told).map(|number| live().map(|ending| rate(ending, number)).sum()).collect()
}

/// What is known of one generator while it runs.
struct Ending {
    last_heard: Instant,
    start: Instant,
    intervals: Vec<Interval>,
    result: Option<PartResult>,
}

impl Ending {
    fn new(start: Instant) -> Self {
        Self { last_heard: start, start, intervals: Vec::new(), result: None }
    }

    fn hear(&mut self, news: News, progress: &mut dyn FnMut(usize, &Interval)) {
        if self.result.is_some() {
            return;
        }
        let why = match news.said {
            Some(FromGenerator::Interval(doc)) => {
                let interval = Interval::from_doc(doc);
                progress(news.from, &interval);
                self.intervals.push(interval);
                self.last_heard = news.at;
                return;
            }
            Some(FromGenerator::Done { measured, values }) => {
                self.result = Some(Ok((Measured::from_doc(measured), Wire::from_doc(values))));
                return;
            }
            Some(FromGenerator::Pong { .. } | FromGenerator::Ready { .. }) => return,
            other => told(other),
        };
        self.result = Some(Err(Lost { why, ..self.lost(self.start) }));
    }

    fn lost(&self, start: Instant) -> Lost {
        Lost {
            after: self.last_heard.saturating_duration_since(start),
            why: "it did not end when it was stopped".to_owned(),
            intervals: self.intervals.clone(),
        }
    }
}

fn told(said: Option<FromGenerator>) -> String {
    match said {
        None => "it ended without a word".to_owned(),
        Some(FromGenerator::Failed { why }) => why,
        Some(_) => "it said something else than was asked".to_owned(),
    }
}

fn launch(
    from: usize,
    spec: &GeneratorSpec,
    tell: Sender<News>,
) -> Result<Running, GeneratorError> {
    let program = spec.words.first().cloned().unwrap_or_default();
    let mut child = Command::new(&program)
        .args(spec.words.iter().skip(1))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| GeneratorError::NotStarted {
            name: spec.name.clone(),
            program,
            source,
        })?;
    let input = child.stdin.take();
    if let Some(output) = child.stdout.take() {
        thread::spawn(move || listen(from, output, &tell));
    }
    let complaints = Arc::new(Mutex::new(String::new()));
    if let Some(errors) = child.stderr.take() {
        let complaints = Arc::clone(&complaints);
        thread::spawn(move || note(errors, &complaints));
    }
    Ok(Running { name: spec.name.clone(), child, input, complaints })
}

fn listen(from: usize, output: impl Read, tell: &Sender<News>) {
    for text in BufReader::new(output).lines() {
        let Ok(text) = text else { break };
        let said = parse_line(&text).unwrap_or_else(|_| FromGenerator::Failed {
            why: format!(
                "it said what no generator says: {:?}",
                text.chars().take(200).collect::<String>()
            ),
        });
        if tell.send(News { from, said: Some(said), at: Instant::now() }).is_err() {
            return;
        }
    }
    // Nobody may be listening any more.
    let _ = tell.send(News { from, said: None, at: Instant::now() });
}

/// Keeps the end of what it says on its standard error.
fn note(errors: impl Read, complaints: &Mutex<String>) {
    for text in BufReader::new(errors).lines() {
        let Ok(text) = text else { return };
        let mut complaints = complaints.lock().unwrap_or_else(PoisonError::into_inner);
        if complaints.len() + text.len() > COMPLAINT_BYTES {
            complaints.clear();
        }
        complaints.push_str(&text);
        complaints.push('\n');
    }
}

impl Running {
    /// One that is gone shows as the end of its output.
    fn say(&mut self, said: &ToGenerator) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(line(said).as_bytes()).and_then(|()| input.flush());
        }
    }

    /// What it says when it fails comes on another stream, and may come a little later.
    fn with_complaints(&self, why: String) -> String {
        for _ in 0..20 {
            if !self.complaints.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        match complaints.trim() {
            "" => why,
            complaints => format!("{why}; it said: {complaints}"),
        }
    }
}

/// The end of its input stops a generator; one that does not listen is killed.
impl Drop for Running {
    fn drop(&mut self) {
        self.input = None;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(500) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn nsec(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
