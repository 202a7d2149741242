//! Loads against real databases, each a private server of the test, and beside sysbench.

mod counts;
mod distributions;
mod encrypted;
mod faults;
mod sysbench;
mod tables;
mod tpcc;
