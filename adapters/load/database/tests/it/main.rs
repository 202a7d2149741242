//! The load against real servers, and beside sysbench.

mod counts;
mod distributions;
mod encrypted;
mod faults;
mod sysbench;
mod tables;
