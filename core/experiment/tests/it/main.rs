//! Designs, orders, statistics and verdicts.

mod simulate;
mod simulated;
mod trust;
