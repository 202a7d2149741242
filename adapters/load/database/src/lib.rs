//! Load for databases: MySQL and its family, PostgreSQL, SQLite.

mod admin;
mod facts;
mod target;
pub mod tpcc;

pub use admin::{Admin, AdminError, TextRow, Value};
pub use facts::{Told, ask};
pub use target::{Address, Engine, Target, TargetError, Tls};
