//! TPC-C's tables and transactions, driven as HammerDB drives them.
//!
//! # What is as the specification has it
//!
//! The nine tables and what is loaded into them, all five transactions with every column that they change,
//! the one order in a hundred that is rolled back, payments and lines for other warehouses, and the twelve
//! consistency conditions.
//!
//! # What is as HammerDB has it
//!
//! Virtual users without keying and thinking, a home warehouse for each, kinds drawn with replacement,
//! customers and items drawn evenly, procedures in the server where it has them, a ramp-up and a timed run,
//! NOPM and TPM. Options bring the specification's way instead.
//!
//! # What is neither
//!
//! The time that counts is measured, not nominal. At its begin and its end all users rest for as long as two
//! queries take, so that the database's count of orders and the clients' are of the same orders. Homes are
//! dealt out evenly. Nothing here is an audited result, and none of its figures is tpmC.

mod check;
mod dialect;
mod inputs;
mod load;
mod random;
mod rows;
mod run;
mod schema;
mod snapshot;
mod transactions;
mod user;

pub use check::check;
pub use load::prepare;
pub use run::run;

use crate::admin::{Admin, AdminError};
use crate::target::Target;
use numawise_experiment::{Counts, Mix, RandomChoice, Route};
use std::time::Duration;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum TpccError {
    #[error(transparent)]
    Database(#[from] AdminError),
    #[error("{target} has a table {table:?} already; numawise tpcc cleanup takes all nine away")]
    AlreadyThere { target: String, table: &'static str },
    #[error("{target} has no tables of this load; numawise tpcc prepare makes them")]
    NotPrepared { target: String },
    #[error("{target} has no stored procedures; --statements does without them")]
    NoProcedures { target: String },
    #[error("interrupted; what was loaded is not whole: numawise tpcc cleanup takes it away")]
    Cancelled,
    #[error("a virtual user ended early: {said}")]
    UserEnded { said: String },
}

#[derive(Clone, Copy, Debug)]
pub struct Prepare {
    pub warehouses: i64,
    pub threads: usize,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug)]
pub enum PrepareProgress {
    Rows { done: usize, all: usize },
    Indexes,
}

#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub users: usize,
    pub ramp_up: Duration,
    pub time: Duration,
    pub interval: Duration,
    pub choice: RandomChoice,
    pub mix: Mix,
    pub route: Route,
    pub all_warehouses: bool,
    /// Keying and thinking, as long as the specification wants.
    pub waits: bool,
    pub seed: u64,
}

/// What the last interval saw.
#[derive(Clone, Debug)]
pub struct RunProgress {
    pub at: Duration,
    pub length: Duration,
    pub is_ramp_up: bool,
    pub counts: Counts,
    pub p95: Option<Duration>,
    pub p99: Option<Duration>,
}

/// Takes tables and procedures away, those that are there.
pub fn cleanup(target: &Target) -> Result<(), TpccError> {
    let mut admin = Admin::open(target)?;
    Ok(schema::drop_everything(&mut admin)?)
}

/// How many warehouses are loaded.
fn warehouses(admin: &mut Admin, target: &Target) -> Result<i64, TpccError> {
    let not_prepared = || TpccError::NotPrepared { target: target.to_string() };
    if schema::tables_there(admin)?.len() < schema::TABLES.len() {
        return Err(not_prepared());
    }
    match admin.number("SELECT COUNT(*) FROM warehouse")? {
        Some(warehouses) if warehouses > 0 => Ok(warehouses),
        _ => Err(not_prepared()),
    }
}
