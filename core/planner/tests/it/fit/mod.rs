//! The search for the best place, held against hosts small enough to try everything.

mod exhaustive;
mod oracle;
mod small_host;
