//! Several generators of load as one: processes here or elsewhere that start together and whose
//! histograms are merged whole.
//!
//! # The problem
//!
//! One process on one machine is soon the thing that is measured. Figures of several, started by hand and
//! added with a calculator, are of different times, and their percentiles cannot be added at all.
//!
//! # The approach
//!
//! A generator is any command that speaks the lines of [`numawise_documents::generator`] on its standard
//! input and output; what carries the two streams (ssh, a namespace) is no matter. All connect first. Then
//! each is asked for its clock several times, and the answer that came back fastest says how far that clock
//! is from this one, to within half its way. All get one instant to start at, each by its own clock. No
//! latency is ever a difference of two clocks, so the skew only moves the edges of the common time, and
//! it is stated. The warm-up ends when the sum of all is steady: one order then names the end of an interval
//! from which on all of them count.
//!
//! # Properties
//!
//! - Nothing starts before everybody is ready; one that fails to get ready ends the others.
//! - A generator that is lost is named, with the time it was last heard of. The others go on.
//! - When the coordinator is gone, generators stop: their input has ended.

mod command;
mod coordinate;
mod obey;
mod seen;
mod window;

pub use command::{Ended, run_command};
pub use coordinate::{
    Clock, Course, GeneratorError, GeneratorSpec, Generators, Lost, Outcome, PartOutcome,
};
pub use obey::Coordinated;
pub use seen::{Beside, CpuWatch};
pub use window::{Samples, Window};
