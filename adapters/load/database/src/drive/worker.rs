//! One worker: its connections, each with the event that it is in the middle of.

use super::arrivals::Arrivals;
use super::tally::{Board, Tally};
use super::waiting::Waiting;
use crate::error::LoadError;
use crate::oltp::{Drawer, Event};
use crate::session::{Fault, Outcome, Refusal, Session};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// At the latest then a worker looks whether it is to stop.
const LOOKS_UP: u64 = 200_000_000;
/// A lost connection is tried again after this, then twice as long, up to a second.
const FIRST_RETRY: u64 = 1_000_000;
const LAST_RETRY: u64 = 1_000_000_000;

/// What all workers of a run have in common. Times are nanoseconds since its start.
pub struct Shared {
    pub board: Board,
    pub arrivals: Option<Arrivals>,
    /// Events that may still begin, where a number was asked for.
    pub budget: Option<AtomicU64>,
    pub warm_up: u64,
    pub end: u64,
    pub interval: u64,
    /// What is still under way at the end is waited for until then.
    pub patience: u64,
    pub stop: AtomicBool,
    pub failure: Mutex<Option<LoadError>>,
    pub start: OnceLock<Instant>,
}

impl Shared {
    fn clock(&self) -> u64 {
        let since = self.start.get().map(|start| Instant::now().saturating_duration_since(*start));
        since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The end of the interval that this time lies in. The end of the warm-up always is one.
    pub fn next_boundary(&self, now: u64) -> u64 {
        if now < self.warm_up {
            ((now / self.interval + 1) * self.interval).min(self.warm_up)
        } else {
            self.warm_up + ((now - self.warm_up) / self.interval + 1) * self.interval
        }
    }

    fn fail(&self, error: LoadError) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Where a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Waits for the arrival that it has taken.
    Taken {
        at: u64,
    },
    Running {
        step: usize,
    },
    /// Waits for its rollback, then runs an event again.
    RollingBack,
    /// Lost; tried again then.
    Lost {
        retry: u64,
        pause: u64,
    },
    Ended,
}

pub struct Link<S> {
    session: Option<S>,
    /// Counted over all workers.
    number: u32,
    event: Event,
    state: State,
    /// Intended start in an open loop, real start in a closed one.
    began: u64,
    is_late: bool,
}

/// Makes a connection anew.
pub type Connect<S> = Box<dyn Fn() -> Result<S, LoadError> + Send>;

pub struct Worker<S> {
    shared: Arc<Shared>,
    target: String,
    drawer: Drawer,
    connect: Connect<S>,
    links: Vec<Link<S>>,
    waiting: Waiting,
    tally: Tally,
    scratch: Vec<u8>,
    /// The clock when it was last read.
    now: u64,
    boundary: u64,
    last_end: u64,
    /// How many connections have a statement under way.
    busy: usize,
    /// When it was seen that no more events begin.
    over_at: Option<u64>,
}

impl<S: Session> Worker<S> {
    /// With all its connections up; they are counted from `first`.
    pub fn new(
        shared: Arc<Shared>,
        target: String,
        drawer: Drawer,
        connect: Connect<S>,
        numbers: std::ops::Range<u32>,
    ) -> Result<Self, LoadError> {
        let system = |source| LoadError::System { what: "waiting for many connections", source };
        let mut links = Vec::with_capacity(numbers.len());
        for number in numbers {
            let session = Some(connect()?);
            let (event, state) = (Event::default(), State::Idle);
            links.push(Link { session, number, event, state, began: 0, is_late: false });
        }
        let has_descriptor = |link: &Link<S>| {
            link.session.as_ref().is_some_and(|session| session.descriptor().is_some())
        };
        let waiting = match links.as_slice() {
            all if !all.iter().all(has_descriptor) => Waiting::Immediate,
            [_] => Waiting::One,
            _ => Waiting::many().map_err(system)?,
        };
        for (index, link) in links.iter().enumerate() {
            if let Some(descriptor) = link.session.as_ref().and_then(|s| s.descriptor()) {
                waiting.add(descriptor, index).map_err(system)?;
            }
        }
        let (tally, scratch) = (Tally::new(), vec![0; 32 << 10]);
        Ok(Self {
            shared,
            target,
            drawer,
            connect,
            links,
            waiting,
            tally,
            scratch,
            now: 0,
            boundary: 0,
            last_end: 0,
            busy: 0,
            over_at: None,
        })
    }

    /// Runs until the end; gives the time at which its last event ended.
    pub fn run(mut self) -> u64 {
        self.now = self.shared.clock();
        self.boundary = self.shared.next_boundary(self.now);
        let mut ready = Vec::with_capacity(self.links.len());
        loop {
            let wake = self.begin_what_is_due();
            let Some(wake) = wake else { break };
            let limit = Duration::from_nanos(wake.saturating_sub(self.now));
            if let Err(source) = self.wait(limit, &mut ready) {
                self.shared.fail(LoadError::System { what: "waiting for answers", source });
                break;
            }
            for &index in &ready {
                self.take_answer(index);
            }
            if ready.is_empty() || self.now >= self.boundary {
                self.look_at_clock();
            }
        }
        self.tally.put_on(&self.shared.board, self.is_warm_up());
        self.last_end
    }

    fn wait(&mut self, limit: Duration, ready: &mut Vec<usize>) -> io::Result<()> {
        if let Waiting::Immediate = self.waiting {
            ready.clear();
            let busy = |state| matches!(state, State::Running { .. } | State::RollingBack);
            ready.extend((0..self.links.len()).filter(|&at| busy(self.links[at].state)));
            if !ready.is_empty() {
                return Ok(());
            }
        }
        let one = match (&self.waiting, self.links.first()) {
            (Waiting::One, Some(Link { session: Some(session), .. })) => session.descriptor(),
            _ => None,
        };
        self.waiting.wait(one, limit, ready)
    }

    /// Begins what is due, and says when to look again; nothing when all is over.
    fn begin_what_is_due(&mut self) -> Option<u64> {
        let mut wake = self.boundary.min(self.now + LOOKS_UP);
        let is_over = self.is_over();
        if self.busy == self.links.len() && !is_over {
            return Some(wake);
        }
        if is_over {
            self.over_at.get_or_insert(self.now.min(self.shared.end));
        }
        let patience = self.shared.patience;
        let gives_up = self.over_at.is_some_and(|over| self.now >= over.saturating_add(patience));
        let mut all_ended = true;
        for index in 0..self.links.len() {
            match self.links[index].state {
                State::Ended => {}
                _ if gives_up => self.give_up(index),
                State::Running { .. } | State::RollingBack => {}
                State::Taken { .. } if self.shared.stop.load(Ordering::Relaxed) => {
                    self.give_up(index);
                }
                State::Idle => self.next_event(index),
                State::Taken { at } if at <= self.now => self.begin_taken(index, at),
                State::Taken { at } => wake = wake.min(at),
                State::Lost { .. } if is_over => self.enter(index, State::Ended),
                State::Lost { retry, pause } if retry <= self.now => self.reconnect(index, pause),
                State::Lost { retry, .. } => wake = wake.min(retry),
            }
            all_ended &= self.links[index].state == State::Ended;
        }
        (!all_ended).then_some(wake)
    }

    fn enter(&mut self, index: usize, state: State) {
        let is_busy = |state| matches!(state, State::Running { .. } | State::RollingBack);
        self.busy += usize::from(is_busy(state));
        self.busy -= usize::from(is_busy(self.links[index].state));
        self.links[index].state = state;
    }

    fn is_over(&self) -> bool {
        self.now >= self.shared.end || self.shared.stop.load(Ordering::Relaxed)
    }

    fn is_warm_up(&self) -> bool {
        self.now < self.shared.warm_up
    }

    fn look_at_clock(&mut self) {
        let now = self.shared.clock();
        if now >= self.boundary {
            // What is on hand was done before the boundary.
            let warm_up = self.boundary <= self.shared.warm_up;
            self.tally.put_on(&self.shared.board, warm_up);
            self.boundary = self.shared.next_boundary(now);
        }
        self.now = now;
    }

    /// What this connection does next; the clock has just been read.
    fn next_event(&mut self, index: usize) {
        if self.is_over() {
            self.enter(index, State::Ended);
            return;
        }
        if let Some(arrivals) = &self.shared.arrivals {
            let at = arrivals.take();
            if at >= self.shared.end {
                self.enter(index, State::Ended);
            } else if at > self.now {
                self.links[index].is_late = false;
                self.enter(index, State::Taken { at });
            } else {
                self.links[index].is_late = true;
                self.begin_taken(index, at);
            }
            return;
        }
        if let Some(budget) = &self.shared.budget {
            let taken = budget
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            if taken.is_err() {
                self.enter(index, State::Ended);
                return;
            }
        }
        self.links[index].began = self.now;
        self.begin_event(index);
    }

    fn begin_taken(&mut self, index: usize, at: u64) {
        if at >= self.shared.warm_up {
            self.tally.schedule.intended += 1;
            let wait = Duration::from_nanos(self.now.saturating_sub(at));
            if self.links[index].is_late {
                self.tally.schedule.longest_wait = self.tally.schedule.longest_wait.max(wait);
            }
        }
        self.links[index].began = at;
        self.begin_event(index);
    }

    fn begin_event(&mut self, index: usize) {
        let link = &mut self.links[index];
        self.drawer.draw(link.number, &mut link.event);
        self.submit(index, 0);
    }

    fn submit(&mut self, index: usize, step: usize) {
        self.enter(index, State::Running { step });
        let link = &mut self.links[index];
        let (Some(session), Some(&statement)) = (&mut link.session, link.event.steps.get(step))
        else {
            // An event without statements, as options can make one, has ended.
            self.end_event(index);
            return;
        };
        if let Err(fault) = session.submit(statement, &link.event) {
            self.fault(index, fault);
        }
    }

    fn take_answer(&mut self, index: usize) {
        let link = &mut self.links[index];
        let Some(session) = &mut link.session else { return };
        match session.advance(&mut self.scratch) {
            Ok(None) => {}
            Ok(Some(outcome)) => self.answered(index, outcome),
            Err(fault) => self.fault(index, fault),
        }
    }

    fn answered(&mut self, index: usize, outcome: Outcome) {
        match self.links[index].state {
            State::Running { step } => {
                match outcome {
                    Outcome::ResultSet => self.tally.counts.reads += 1,
                    Outcome::Changed(0) => self.tally.counts.others += 1,
                    Outcome::Changed(_) => self.tally.counts.writes += 1,
                }
                if step + 1 < self.links[index].event.steps.len() {
                    self.submit(index, step + 1);
                } else {
                    self.end_event(index);
                }
            }
            State::RollingBack => {
                self.tally.counts.others += 1;
                self.begin_event(index);
            }
            State::Idle | State::Taken { .. } | State::Lost { .. } | State::Ended => {}
        }
    }

    fn end_event(&mut self, index: usize) {
        self.look_at_clock();
        let (began, is_late) = (self.links[index].began, self.links[index].is_late);
        self.last_end = self.now;
        self.enter(index, State::Idle);
        if self.shared.arrivals.is_none() || began >= self.shared.warm_up {
            if self.shared.arrivals.is_some() {
                self.tally.schedule.done += u64::from(!is_late);
                self.tally.schedule.late += u64::from(is_late);
            }
            self.tally.counts.transactions += 1;
            let warm_up = self.is_warm_up();
            self.tally.record(self.now.saturating_sub(began), &self.shared.board, warm_up);
        }
        self.next_event(index);
    }

    fn fault(&mut self, index: usize, fault: Fault) {
        match fault {
            Fault::Refused(refusal) if refusal.ignorable => self.run_again(index, &refusal),
            Fault::Refused(Refusal { code, message, .. }) => {
                let statement = match self.links[index].state {
                    State::Running { step } => {
                        format!("{:?}", self.links[index].event.steps[step].template)
                    }
                    _ => "ROLLBACK".to_owned(),
                };
                let target = self.target.clone();
                self.shared.fail(LoadError::Statement { target, code, message, statement });
                self.give_up(index);
            }
            Fault::Garbled(why) => {
                let target = self.target.clone();
                self.shared.fail(LoadError::Protocol { target, why });
                self.give_up(index);
            }
            Fault::Lost(_) => {
                self.give_up(index);
                self.links[index].session = None;
                self.enter(
                    index,
                    State::Lost { retry: self.now + FIRST_RETRY, pause: FIRST_RETRY },
                );
            }
        }
    }

    /// An event of its own draws, whose time goes on: that is how sysbench does it, but for the rollback.
    fn run_again(&mut self, index: usize, refusal: &Refusal) {
        self.tally.counts.ignored_errors += 1;
        if !refusal.holds_transaction {
            return self.begin_event(index);
        }
        self.enter(index, State::RollingBack);
        let rolled_back = self.links[index].session.as_mut().map(Session::roll_back);
        if let Some(Err(fault)) = rolled_back {
            self.fault(index, fault);
        }
    }

    /// An event that will not end; an open loop accounts for it.
    fn give_up(&mut self, index: usize) {
        let link = &self.links[index];
        let was_taken = matches!(link.state, State::Running { .. } | State::RollingBack);
        if was_taken && self.shared.arrivals.is_some() && link.began >= self.shared.warm_up {
            self.tally.schedule.failed += 1;
        }
        if let State::Taken { at } = link.state
            && at >= self.shared.warm_up
        {
            self.tally.schedule.intended += 1;
            self.tally.schedule.failed += 1;
        }
        self.enter(index, State::Ended);
    }

    fn reconnect(&mut self, index: usize, pause: u64) {
        let made = (self.connect)();
        self.look_at_clock();
        match made {
            Ok(session) => {
                if let Some(descriptor) = session.descriptor()
                    && let Err(source) = self.waiting.add(descriptor, index)
                {
                    self.shared.fail(LoadError::System { what: "waiting for it again", source });
                }
                self.links[index].session = Some(session);
                self.tally.counts.reconnects += 1;
                self.next_event(index);
            }
            Err(_) => {
                let pause = (pause * 2).min(LAST_RETRY);
                self.enter(index, State::Lost { retry: self.now + pause, pause });
            }
        }
    }
}
