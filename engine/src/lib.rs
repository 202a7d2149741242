//! The loop itself: plan, write an intent, carry it out, verify, undo. Knows ports, not what is
//! behind them; emits events and never prints.
//!
//! [`loop_parts::Engine`] holds the ports. One file per thing it does: [`planning`], [`apply`],
//! `reconcile` (the steps), `way_back` (when one of them fails), `live_pins` (moving threads),
//! `recover` (after a crash),
//! [`undo`], [`verify`], [`watch`], [`audit`]; [`permission`] says whose guests are left alone.
//! [`experiment`] carries out a design of runs. [`moves`] takes a guest to another host. [`tuning`] is the same loop for the host's own files.

pub mod apply;
pub mod audit;
pub mod error;
pub mod experiment;
pub mod intent;
pub mod ledger_view;
mod live_pins;
pub mod loop_parts;
pub mod moves;
pub mod permission;
pub mod planning;
pub mod ports;
mod predicates;
pub mod reconcile;
mod recover;
pub mod state_document;
pub mod tuning;
pub mod undo;
pub mod usage;
pub mod verify;
pub mod watch;
mod way_back;
