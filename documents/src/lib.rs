//! The documents: the only place that serialises.
//!
//! Every document is JSON with `schema` (what it is) and `version` (1). Fields end in their unit
//! (`_bytes`, `_unix_sec`), sets are kernel lists (`"0-3,8"`), ids are numbers, absent facts are
//! null. The same value always gives the same bytes. Unknown fields and unknown versions are
//! refused: a document that is half understood would be half applied. Callers write the files.
//!
//! [`plan`] is the one that people keep; [`host`] is printed and never read; [`guest`] has the
//! frozen topology, also as the note inside a domain XML; [`ledger`] and [`state`] are what the
//! store keeps. [`wire`] says how a model value and its written form belong together, [`digest`]
//! makes digests. The JSON schemas in `schemas/` are made from these types and checked by a test.

pub mod audit;
pub mod checkup;
pub mod digest;
pub mod error;
pub mod experiment;
pub mod finding;
pub mod fleet;
pub mod generator;
pub mod guest;
pub mod host;
pub mod ledger;
pub mod levels;
pub mod load_runs;
mod measured;
pub mod placement;
mod plan;
pub mod reason;
pub mod report;
pub mod request;
pub mod state;
pub mod tuning;
pub mod wire;

pub use audit::audit_to_json;
pub use checkup::checkup_to_json;
pub use digest::{frozen_digest, text_digest, topology_digest};
pub use error::{DocumentError, VERSION};
pub use experiment::design::{design_to_json, parse_design};
pub use experiment::judgement::{judgement_to_json, parse_judgement};
pub use experiment::trial::{parse_trial, trial_to_json};
pub use finding::findings_to_json;
pub use guest::{frozen_to_json, parse_frozen};
pub use host::host_to_json;
pub use ledger::{ledger_to_json, parse_ledger};
pub use load_runs::{cpu_run_to_json, tpcc_run_to_json};
pub use measured::{measured_to_json, parse_measured};
pub use plan::{PlanDoc, parse_plan, plan_to_json};
pub use tuning::{
    parse_tuning_plan, parse_tuning_record, tuning_outcome_to_json, tuning_plan_to_json,
    tuning_record_to_json,
};
pub use wire::Wire;

#[cfg(test)]
mod schema_tests;
