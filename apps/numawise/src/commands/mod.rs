//! One file per command: its arguments, and what it does.

pub mod apply;
pub mod audit;
pub mod bind;
pub mod compare;
pub mod cpu;
pub mod cpuset;
pub mod demo;
pub mod doctor;
mod doctor_database;
pub mod embedded;
pub mod experiment;
pub mod fleet;
pub mod generate;
pub mod host;
pub mod host_tune;
pub mod import;
pub mod list;
pub mod migrate;
pub mod oltp;
pub mod plan;
pub mod show;
pub mod tpcc;
pub mod undo;
pub mod verify;
pub mod vnuma;
pub mod watch;
