//! Load for databases: MySQL and its family, PostgreSQL, SQLite.

mod admin;
mod catalog;
mod drive;
mod error;
mod facts;
mod mysql;
pub mod oltp;
mod postgres;
mod prepare;
mod session;
mod sqlite;
mod stream;
mod target;
pub mod tpcc;

pub use admin::{Admin, AdminError, TextRow, Value};
pub use drive::{Connected, Load, Rate, Spacing};
pub use error::LoadError;
pub use facts::{Told, ask};
pub use mysql::Ignored;
pub use prepare::{Filling, Progress, TableCheck, check, cleanup, prepare};
pub use target::{Address, Engine, Target, TargetError, Tls};
