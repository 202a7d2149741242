//! Exit codes, and how a failure is told: the chain once, then what to do next.

use anyhow::Error;
use numawise_engine::error::{EngineError, Staleness};
use numawise_engine::ports::{PortError, UndoConflict};
use numawise_render::Look;
use numawise_render::text::{self, UndoElement};
use numawise_sysfs::ReadError;
use std::process::ExitCode;

pub const EXIT_CODES: &str = "\
Exit codes:
  0  done, or what was asked agrees
  1  failure
  2  usage, or input that cannot be read
  3  refused by a constraint or an owner
  4  stale plan, or another claim was first
  5  drift or findings
  6  no access, or not reachable
  7  interrupted, and rolled back";

pub const FAILURE: u8 = 1;
pub const USAGE: u8 = 2;
pub const REFUSED: u8 = 3;
pub const STALE: u8 = 4;
pub const DRIFT: u8 = 5;
pub const NO_ACCESS: u8 = 6;
pub const INTERRUPTED: u8 = 7;

/// A failure with its exit code already known.
#[derive(Debug)]
pub struct Coded {
    pub code: u8,
    pub text: String,
}

impl std::fmt::Display for Coded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Coded {}

pub fn coded(code: u8, text: impl Into<String>) -> Error {
    Coded { code, text: text.into() }.into()
}

/// clap's own texts: help and version go to standard output and are no failure.
pub fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe while help is printed is nobody's problem.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS }
}

/// Options by name, of the command that was typed and of `bind`: remedies are told by them.
pub struct Options {
    pub own: Vec<String>,
    pub of_bind: Vec<String>,
}

impl Options {
    /// Of the command that these arguments chose.
    pub fn typed(mut root: clap::Command, arguments: impl Iterator<Item = String>) -> Self {
        root.build();
        let names = |command: &clap::Command| -> Vec<String> {
            let longs = command.get_arguments().filter_map(|argument| argument.get_long());
            longs.map(|long| format!("--{long}")).collect()
        };
        let of_bind = root.find_subcommand("bind").map(names).unwrap_or_default();
        let mut chosen = &root;
        for argument in arguments {
            chosen = chosen.find_subcommand(&argument).unwrap_or(chosen);
        }
        Self { own: names(chosen), of_bind }
    }
}

/// Without options every remedy is told as it is.
pub fn report(error: &Error, options: Option<&Options>) -> ExitCode {
    let told = match error.downcast_ref::<EngineError>() {
        Some(engine) => engine_text(engine, options),
        None => format!("{error:#}"),
    };
    // Names of files and guests are in it, and those hold anything.
    anstream::eprintln!("error: {}", text::printable_lines(&told));
    ExitCode::from(code(error))
}

pub fn code(error: &Error) -> u8 {
    if let Some(coded) = error.downcast_ref::<Coded>() {
        return coded.code;
    }
    if let Some(engine) = error.downcast_ref::<EngineError>() {
        return engine_code(engine);
    }
    if let Some(read) = error.downcast_ref::<ReadError>() {
        return if read.is_no_access() { NO_ACCESS } else { USAGE };
    }
    match error.downcast_ref::<PortError>() {
        Some(port) => port_code(port),
        None => FAILURE,
    }
}

fn engine_code(error: &EngineError) -> u8 {
    match error {
        EngineError::Port(port) => port_code(port),
        EngineError::Refused(_)
        | EngineError::UndoConflicts(_)
        | EngineError::PlanEdited(_)
        | EngineError::NoRoomThere { .. }
        | EngineError::CameWithMove { .. } => REFUSED,
        EngineError::Stale(_) => STALE,
        EngineError::RolledBack { cancelled: true, .. } => INTERRUPTED,
        EngineError::NothingApplied { .. }
        | EngineError::Judged(_)
        | EngineError::RolledBack { .. }
        | EngineError::NotRecorded { .. }
        | EngineError::Stuck { .. } => FAILURE,
        EngineError::PlanWithoutGuest => USAGE,
    }
}

fn port_code(error: &PortError) -> u8 {
    match error {
        PortError::Failed(_) => FAILURE,
        PortError::NoAccess(_) => NO_ACCESS,
        PortError::Unreadable(_) | PortError::NotFound(_) => USAGE,
        PortError::Cancelled => INTERRUPTED,
    }
}

fn engine_text(error: &EngineError, options: Option<&Options>) -> String {
    let first = error.to_string();
    let look = Look { width: 100, colour: false, simulated: false };
    let more = match error {
        EngineError::Refused(refusals) | EngineError::NoRoomThere { refusals, .. } => {
            let has = |name: &str| options.is_none_or(|of| of.own.iter().any(|own| own == name));
            let bind_has =
                |name: &str| options.is_some_and(|of| of.of_bind.iter().any(|own| own == name));
            text::refusals_for(refusals, &has, &bind_has, &look)
        }
        EngineError::CameWithMove { guest, from_uri } => format!(
            "Nothing was changed. To move it back: numawise migrate {guest} --to '{from_uri}'; to \
             place it otherwise here: numawise bind {guest}"
        ),
        EngineError::Judged(findings) => text::findings(findings, &look),
        EngineError::PlanEdited(broken) => {
            let told = text::findings(broken, &look);
            format!("{told}Nothing was changed. Make the plan again: numawise plan")
        }
        EngineError::UndoConflicts(conflicts) => {
            let elements: Vec<UndoElement> = conflicts.iter().map(undo_element).collect();
            text::undo_conflicts(&elements, &look)
        }
        EngineError::Stale(
            Staleness::MovedAway { .. }
            | Staleness::BeingMoved { .. }
            | Staleness::StartedOrStopped { .. },
        ) => "Nothing was changed. numawise list shows which guests are here.".to_owned(),
        EngineError::Stale(staleness) => {
            let broken = match staleness {
                Staleness::Predicates(broken) => text::predicates(broken, &look),
                _ => String::new(),
            };
            format!(
                "{broken}Nothing was changed. Make the plan again: numawise plan (or numawise bind, \
                 which plans and applies in one go)."
            )
        }
        EngineError::NothingApplied { guest } => {
            format!(
                "numawise list shows which guests have one; numawise bind {guest} --policy smart \
                 makes one"
            )
        }
        EngineError::PlanWithoutGuest => {
            "Plan for a guest (numawise plan GUEST) or for its XML (numawise plan --xml FILE \
             --xml-out FILE)."
                .to_owned()
        }
        EngineError::NotRecorded { .. } => {
            "Any numawise command writes it down once that is mended.".to_owned()
        }
        EngineError::Stuck { .. } => {
            "The old XML is in the journal; any numawise command tries again to put it back."
                .to_owned()
        }
        EngineError::Port(_) | EngineError::RolledBack { .. } => String::new(),
    };
    if more.is_empty() { first } else { format!("{first}\n{}", more.trim_end()) }
}

fn undo_element(conflict: &UndoConflict) -> UndoElement {
    UndoElement {
        element: conflict.element.clone(),
        before: conflict.before.clone(),
        written: conflict.written.clone(),
        today: conflict.today.clone(),
    }
}
