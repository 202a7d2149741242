//! What the engine needs of a connection, whichever database is behind it.

use crate::oltp::{Event, Step};
use std::io;
use std::os::fd::BorrowedFd;

/// How a statement ended. sysbench's rule makes the counters of it: a result set is a read, a changed row
/// a write, everything else is other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    ResultSet,
    Changed(u64),
}

/// Why a statement did not end well.
#[derive(Debug)]
pub enum Fault {
    /// The server said no, and the connection stands.
    Refused(Refusal),
    /// The connection is gone.
    Lost(io::Error),
    /// What came is no answer: the connection cannot be used any more.
    Garbled(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: String,
    pub message: String,
    /// A deadlock, a lost race: the event is run again.
    pub ignorable: bool,
    /// Whether the server may still hold the transaction open.
    pub holds_transaction: bool,
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// A connection that runs one statement at a time and never waits: who owns it waits for its descriptor.
pub trait Session {
    /// Sends a statement of an event.
    fn submit(&mut self, step: Step, event: &Event) -> Result<(), Fault>;
    /// Ends the transaction that an error left open.
    fn roll_back(&mut self) -> Result<(), Fault>;
    /// Takes what has come; nothing as long as the answer is not whole.
    fn advance(&mut self, scratch: &mut [u8]) -> Result<Option<Outcome>, Fault>;
    /// What to wait for; nothing where [`submit`](Self::submit) has the answer when it returns.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
}
