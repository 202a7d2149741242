//! Designs, orders, statistics and verdicts.

mod orders;
mod simulate;
mod simulated;
mod statistics;
mod steadiness;
mod tables;
mod trust;
mod verdicts;
