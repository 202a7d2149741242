//! Carrying out a design: every run that is not recorded yet, in the design's order.
//!
//! # The problem
//!
//! An experiment takes hours, and something goes wrong in hours: a machine restarts, a connection is lost,
//! somebody needs the host. What was measured by then must not be lost, and must not be measured twice into
//! the same figures.
//!
//! # The approach
//!
//! The order of runs follows from the design alone. Each run has an id in it, and is recorded under that id
//! in one transaction when it has ended; a run that did not end leaves nothing. Whoever carries the design
//! out again leaves out what is recorded. The design is recorded before the first run, and an experiment of
//! the same name with another design is refused: figures of two designs are never mixed.
//!
//! Placements are applied when the order says so, and again after an interruption. A run says which
//! application it belongs to, and its attempt, so that figures from one block that were taken under two
//! applications of the same placement can be told from others.
//!
//! # Properties
//!
//! - Killed at any moment and carried out again, an experiment ends with each run exactly once.
//! - Two that carry out one experiment at once do not both: the second is refused by the lock.
//! - What was put in place is taken back in the end, also after a failed run and an interruption.

mod ports;

pub use ports::{Bench, ExperimentClock, Progress, Results};

use crate::ports::{Cancel, PortError};
use numawise_documents::experiment::{ExperimentFile, ExperimentRecord};
use numawise_experiment::{Arm, Design, DesignRefused, PlannedRun, Run, order};
use std::collections::BTreeSet;
use thiserror::Error;

/// What happens while a design is carried out.
#[derive(Clone, Debug, PartialEq)]
pub enum ExperimentEvent {
    /// So many of the design's runs are recorded already.
    Begun {
        runs: usize,
        recorded: usize,
    },
    Applying {
        scenario: String,
        host: String,
    },
    CoolingDown {
        for_sec: u64,
    },
    Running {
        run: PlannedRun,
        number: usize,
        of: usize,
    },
    Progress(Progress),
    Recorded {
        run: PlannedRun,
        number: usize,
        of: usize,
        tps: Option<f64>,
    },
    /// The placement could not be taken back; what stands is told.
    NotTakenBack {
        scenario: String,
        why: String,
    },
}

#[derive(Debug, Error)]
pub enum ExperimentError {
    /// The design cannot answer its question. Nothing was run.
    #[error("the design is refused")]
    Refused(Vec<DesignRefused>),
    /// An experiment of this name was begun with another design.
    #[error("experiment '{name}' was begun with another design")]
    OtherDesign { name: String },
    #[error("scenario '{scenario}' could not be put in place: {source}")]
    NotApplied { scenario: String, source: PortError },
    #[error("run {run} failed: {source}")]
    RunFailed { run: String, source: PortError },
    #[error(transparent)]
    Port(#[from] PortError),
}

impl ExperimentError {
    /// Whether somebody asked for the end; then what is recorded is kept, and the rest can follow.
    pub fn is_interruption(&self) -> bool {
        matches!(
            self,
            Self::Port(PortError::Cancelled)
                | Self::NotApplied { source: PortError::Cancelled, .. }
                | Self::RunFailed { source: PortError::Cancelled, .. }
        )
    }
}

/// The outside that an experiment needs.
pub struct ExperimentParts<'a> {
    pub bench: &'a mut dyn Bench,
    pub results: &'a dyn Results,
    pub clock: &'a dyn ExperimentClock,
    pub cancel: &'a Cancel,
    pub emit: &'a mut dyn FnMut(ExperimentEvent),
}

/// Makes every run that is missing. Returns when all are recorded.
pub fn carry_out(
    experiment: &ExperimentRecord,
    parts: &mut ExperimentParts<'_>,
) -> Result<(), ExperimentError> {
    let file = &experiment.file;
    let design = &file.design();
    let planned = order(design).map_err(ExperimentError::Refused)?;
    let _lock = parts.results.lock_experiment(&file.name, parts.cancel)?;
    match parts.results.experiment(&file.name)? {
        None => parts.results.begin(experiment)?,
        Some(begun) if begun.file == *file => {}
        // More blocks only add to the end of the order: what is recorded stays true.
        Some(begun) if is_longer(file, &begun.file) => parts.results.extend(experiment)?,
        Some(_) => return Err(ExperimentError::OtherDesign { name: file.name.clone() }),
    }
    let recorded: BTreeSet<String> = parts.results.run_ids(&file.name)?.into_iter().collect();
    let missing: Vec<(usize, &PlannedRun)> =
        (1..).zip(&planned).filter(|(_, run)| !recorded.contains(&run.id.to_string())).collect();
    (parts.emit)(ExperimentEvent::Begun {
        runs: planned.len(),
        recorded: planned.len() - missing.len(),
    });
    let mut in_place = None;
    let result = missing.into_iter().try_for_each(|(number, run)| {
        let of = planned.len();
        make(design, run, Place { number, of }, &mut in_place, parts)
    });
    take_back(in_place, parts);
    result
}

/// Which of how many.
#[derive(Clone, Copy)]
struct Place {
    number: usize,
    of: usize,
}

/// A placement that stands.
struct Applied {
    application: u32,
    scenario: String,
    host: String,
}

fn make(
    design: &Design,
    run: &PlannedRun,
    place: Place,
    in_place: &mut Option<Applied>,
    parts: &mut ExperimentParts<'_>,
) -> Result<(), ExperimentError> {
    let scenario = scenario_of(design, run.id.arm);
    if in_place.as_ref().is_none_or(|applied| applied.application != run.application) {
        take_back(in_place.take(), parts);
        let host = run.host.clone();
        (parts.emit)(ExperimentEvent::Applying { scenario: scenario.clone(), host: host.clone() });
        // Noted before it is tried: half of it may stand when it fails.
        *in_place =
            Some(Applied { application: run.application, scenario: scenario.clone(), host });
        parts
            .bench
            .apply(&scenario, &run.host, parts.cancel)
            .map_err(|source| ExperimentError::NotApplied { scenario: scenario.clone(), source })?;
    }
    if !design.cool_down.is_zero() {
        (parts.emit)(ExperimentEvent::CoolingDown { for_sec: design.cool_down.as_secs() });
        parts.clock.wait(design.cool_down, parts.cancel)?;
    }
    let Place { number, of } = place;
    (parts.emit)(ExperimentEvent::Running { run: run.clone(), number, of });
    let began_unix_sec = parts.clock.now_unix_sec();
    let emit = &mut *parts.emit;
    let observed = parts
        .bench
        .run(&Cell { scenario: &scenario, run, design }, parts.cancel, &mut |progress| {
            emit(ExperimentEvent::Progress(progress))
        })
        .map_err(|source| ExperimentError::RunFailed { run: run.id.to_string(), source })?;
    let tps = observed.measured.transactions_per_second();
    let workload = design.workloads[run.id.workload as usize].clone();
    let planned = run.clone();
    let whole = Run { planned, scenario, workload, began_unix_sec, observed };
    parts.results.record(&design.name, &whole)?;
    (parts.emit)(ExperimentEvent::Recorded { run: run.clone(), number, of, tps });
    Ok(())
}

/// One run to be made.
pub struct Cell<'a> {
    pub scenario: &'a str,
    pub run: &'a PlannedRun,
    pub design: &'a Design,
}

impl Cell<'_> {
    pub fn workload(&self) -> &str {
        &self.design.workloads[self.run.id.workload as usize]
    }
}

/// The control is the baseline under another name.
fn scenario_of(design: &Design, arm: Arm) -> String {
    match arm {
        Arm::Scenario { index } => design.scenarios[index as usize].name.clone(),
        Arm::Control => design.baseline.clone(),
    }
}

fn take_back(in_place: Option<Applied>, parts: &mut ExperimentParts<'_>) {
    let Some(Applied { scenario, host, .. }) = in_place else { return };
    if let Err(error) = parts.bench.leave(&scenario, &host) {
        let why = error.to_string();
        (parts.emit)(ExperimentEvent::NotTakenBack { scenario, why });
    }
}

/// The same file but for more blocks.
fn is_longer(file: &ExperimentFile, begun: &ExperimentFile) -> bool {
    file.blocks > begun.blocks && ExperimentFile { blocks: begun.blocks, ..file.clone() } == *begun
}
