//! Designs, orders, statistics and verdicts.

mod simulated;
