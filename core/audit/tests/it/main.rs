//! The judge against plans, guests and ledgers that are right, and against each of them with one
//! thing broken.

mod case;
mod changes;
mod database;
mod essay;
mod guest_broken;
mod guest_seen;
mod host_changes;
mod host_rules;
mod host_scene;
mod host_told;
mod ledger;
mod plan_broken;
mod plan_good;
