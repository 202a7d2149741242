//! What is drawn and said, beside what it is drawn from.

mod hosts;
mod pictures;
