//! How a tuning that failed is told, and with which exit code.

use crate::failure::{FAILURE, INTERRUPTED, NO_ACCESS, REFUSED, STALE, coded};
use anyhow::Error;
use numawise_engine::ports::PortError;
use numawise_engine::tuning::{TuningConflict, TuningError, TuningStale};
use numawise_render::Look;
use numawise_render::text::{self, TuningValue};

pub fn told(error: TuningError) -> Error {
    let look = Look { width: 100, colour: false, simulated: false };
    let first = error.to_string();
    let (code, more) = match error {
        TuningError::Port(port) => return port.into(),
        TuningError::Refused(refusals) => (REFUSED, text::tuning_refusals(&refusals, &look)),
        TuningError::UndoConflicts(conflicts) => {
            (REFUSED, text::tuning_undo_conflicts(&values(conflicts), &look))
        }
        TuningError::Stale(stale) => {
            let values = match stale {
                TuningStale::Values(conflicts) => text::tuning_stale(&values(conflicts)),
                TuningStale::OtherHost { .. } | TuningStale::OtherChanges => String::new(),
            };
            (STALE, format!("{values}Nothing was changed. Plan again: numawise host tune plan"))
        }
        TuningError::NothingApplied => {
            (FAILURE, "numawise host tune plan shows what one would do".to_owned())
        }
        TuningError::RolledBack { path, cause } => {
            let code = match cause {
                PortError::Cancelled => INTERRUPTED,
                PortError::NoAccess(_) => NO_ACCESS,
                _ => FAILURE,
            };
            (code, text::tuning_hint(&path).unwrap_or("").to_owned())
        }
        TuningError::Stuck { .. } => {
            (FAILURE, "The old values are kept; any numawise host tune command tries again.".into())
        }
    };
    let more = more.trim_end();
    coded(code, if more.is_empty() { first } else { format!("{first}\n{more}") })
}

fn values(conflicts: Vec<TuningConflict>) -> Vec<TuningValue> {
    let value = |conflict: TuningConflict| {
        let TuningConflict { path, before, wrote, now } = conflict;
        TuningValue { path, before, wrote, now }
    };
    conflicts.into_iter().map(value).collect()
}
