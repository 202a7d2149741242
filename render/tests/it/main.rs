//! What is drawn and said, beside what it is drawn from.

mod drawings;
mod guests;
mod hosts;
mod pictures;
mod sentences;
