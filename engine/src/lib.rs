//! The loop itself: plan, write an intent, carry it out, verify, undo. Knows ports, not what is
//! behind them; emits events and never prints.

pub mod intent;
pub mod ports;
pub mod state_document;
pub mod usage;
