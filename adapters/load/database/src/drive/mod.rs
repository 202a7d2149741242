//! The engine: workers that own connections, wait for whichever answers, and measure.
//!
//! # Shape
//!
//! Each worker is a thread with one connection or many. With one it waits in `poll`, with many in `epoll`;
//! it never waits in `read`, which on a unix socket wakes twice for each answer. Workers share four things:
//! the [board](tally::Board) that latencies are put on, a thousand at a time; the [schedule](arrivals) of an
//! open loop; the number of events that are still to do; and the word to stop. There is no other
//! coordination: no thread hands out work.
//!
//! # Closed and open
//!
//! A closed loop sends the next event when the last has ended. While the server stalls it sends nothing, so
//! its percentiles say little about what a user would have waited. An open loop has a schedule that does not
//! depend on answers: whoever is free takes the next arrival, waits for it if it lies ahead, and is late if
//! it does not. Its latencies begin with the intended start. Nothing is dropped: at the end each arrival was
//! done in time, done late, or failed.

mod arrivals;
mod load;
mod pinning;
mod run;
mod tally;
mod waiting;
mod watch;
mod worker;

pub use arrivals::{Rate, Spacing};
pub use load::Load;
pub use run::Connected;
