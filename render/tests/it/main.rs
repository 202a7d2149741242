//! What is drawn and said, beside what it is drawn from.

mod audit;
mod drawings;
mod experiments;
mod findings;
mod guests;
mod hosts;
mod others;
mod pictures;
mod refusals;
mod sentences;
