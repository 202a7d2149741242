//! The load against real servers, and beside sysbench.

mod counts;
mod distributions;
mod faults;
mod sysbench;
mod tables;
