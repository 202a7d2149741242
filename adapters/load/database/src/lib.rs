//! Load for databases: MySQL and its family, PostgreSQL, SQLite.

mod target;

pub use target::{Address, Engine, Target, TargetError, Tls};
