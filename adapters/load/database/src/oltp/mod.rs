//! The OLTP workloads of sysbench, as data: which statements an event has, with which keys, on which tables.
//!
//! Nothing here talks to a server. An [`Event`] is drawn whole before its first statement is sent, so that
//! drawing is never inside a statement's time, and so that each engine and each way of waiting runs the
//! same events. The order of statements, the drawing of one table for each group of statements, and the
//! shapes of the rows are sysbench's: either tool runs on tables that the other has prepared.
//!
//! # Dialects
//!
//! sysbench 1.0 and 1.1 draw different keys by default: 1.0 gives three quarters of all draws to less than
//! one row in a hundred ("special"), 1.1 is uniform. Results of one are no results of the other, so a
//! [`Dialect`] is named with each run. 1.1's gaussian draws the lowest key always, since it divides by a
//! parameter that it no longer reads; that is not copied, see [`Distribution::Gaussian`].

mod event;
mod keys;
mod options;
mod random;
mod rows;
mod schema;
mod template;

pub use event::{Drawer, Event, Step, Value, templates};
pub use keys::{Distribution, Keys, Unique};
pub use options::{Dialect, Options, OptionsError, Workload};
pub use random::{C_LENGTH, PAD_LENGTH, Random};
pub use rows::{Row, Rows, append_number};
pub use schema::{create_index, create_table, drop_table, table_name};
pub use template::{Parameter, Template};
