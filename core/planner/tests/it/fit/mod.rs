//! The search for the best place, held against hosts small enough to try everything, against an
//! independent solver on large ones, and on machines that people know.

mod exhaustive;
mod known_hosts;
mod large_hosts;
mod oracle;
pub mod small_host;
