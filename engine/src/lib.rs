//! The loop itself: plan, write an intent, carry it out, verify, undo. Knows ports, not what is
//! behind them; emits events and never prints.
//!
//! [`loop_parts::Engine`] holds the ports. One file per thing it does: [`planning`], [`apply`],
//! `reconcile` (the steps and the way back), `recover` (after a crash), [`undo`], [`verify`].

pub mod apply;
pub mod error;
pub mod intent;
pub mod ledger_view;
pub mod loop_parts;
pub mod planning;
pub mod ports;
mod predicates;
pub mod reconcile;
mod recover;
pub mod state_document;
pub mod undo;
pub mod usage;
pub mod verify;
