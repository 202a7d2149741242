//! Text for a terminal: pictures, tables and lists of sentences.

mod audit;
mod cpu;
mod experiment;
mod experiment_runs;
mod fleet;
mod frame;
mod guest;
mod host;
mod measured;
mod oltp;
mod plan;
mod said;
mod tables;
mod tpcc;
mod tuning;

pub use audit::{audit, essay, rules};
pub use cpu::{cpu_progress, cpu_run};
pub use experiment::{design_refusals, gains, impossible, judgement, orders, procedures, targets};
pub use experiment_runs::{
    ExperimentLine, ExperimentRow, PlannedLine, experiment_event, experiment_head, experiment_list,
    experiment_plan, experiment_runs,
};
pub use fleet::{
    FleetMove, FleetPlace, FleetRank, FleetRefusal, FleetStands, FleetStays, fleet_all_or_nothing,
    fleet_cut_short, fleet_memory_unknown, fleet_more_than_there_is, fleet_moves, fleet_no_room,
    fleet_places, fleet_reasons, fleet_refusals, fleet_room, fleet_stays,
};
pub use guest::guest;
pub use host::host;
pub use measured::measured;
pub use oltp::{
    LoadHead, TableState, load_checks, load_foot, load_head, load_interval, load_next_step,
    load_prepared,
};
pub use plan::{arrival, changes, plan, reasons};
pub use said::{
    UndoElement, agreement, checks, event, findings, list_error, moves_as_it_is, predicates,
    refusals, refusals_for, undo_conflicts, watch_event,
};
pub use tables::{guests, usage};
pub use tpcc::{
    tpcc_condition, tpcc_consistent, tpcc_indexes, tpcc_loading, tpcc_progress, tpcc_run,
};
pub use tuning::{
    TuningValue, tuning_applied, tuning_findings, tuning_hint, tuning_plan, tuning_recovered,
    tuning_refusals, tuning_stale, tuning_status, tuning_undo, tuning_undo_conflicts,
    tuning_undone, tuning_waiting,
};

pub use crate::captions::{printable, printable_lines};
use crate::en::labels;
use crate::look::Look;

/// The words that every output about a modelled host carries, for outputs that are no picture.
pub fn simulated_note() -> &'static str {
    labels::SIMULATED
}

/// ` (simulated host)`, or nothing.
fn simulated_suffix(look: &Look) -> String {
    if look.simulated { format!(" ({})", labels::SIMULATED) } else { String::new() }
}
