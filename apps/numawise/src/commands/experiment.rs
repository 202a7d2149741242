//! `numawise experiment`: scenarios, repeated in turn under load, and what they are worth.

use crate::bench::LocalBench;
use crate::config::{Config, GlobalArgs};
use crate::failure::{FAILURE, INTERRUPTED, REFUSED, USAGE, coded};
use crate::session::cancelled_by_signals;
use crate::{host_source, input_file, output};
use anyhow::{Error, Result};
use clap::{Args, Subcommand};
use numawise_documents::experiment::{ExperimentFile, ExperimentRecord, parse_experiment_with};
use numawise_documents::{judgement_to_json, topology_digest};
use numawise_engine::experiment::{
    ExperimentClock, ExperimentError, ExperimentEvent, ExperimentParts, Results, carry_out,
};
use numawise_engine::ports::{Cancel, PortError};
use numawise_experiment::{Judgement, Question, Run, Trial, judge, order};
use numawise_render::text;
use numawise_store::SqliteStore;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Subcommand)]
pub enum ExperimentCommand {
    /// Make every run that is missing, in the design's order, and say what they show.
    Run(RunArgs),
    /// What a file's design is: its runs, in order, and how long they take. Nothing is run.
    Plan(FileArgs),
    /// What is recorded of an experiment, and the verdict that it allows so far.
    Show {
        /// Its name.
        name: String,
    },
    /// All experiments of this machine.
    List,
    /// Drop an experiment with all of its runs.
    Forget {
        /// Its name.
        name: String,
    },
}

/// Killed or interrupted, it goes on where it stood when it is run again. A file with more blocks than were
/// recorded adds to the end; with anything else changed, it is another experiment and wants another name.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    file: FileArgs,
}

#[derive(Args)]
pub struct FileArgs {
    /// The experiment, in TOML.
    file: PathBuf,
    /// Which of the file's [scale.NAME] tables sizes are taken from.
    #[arg(long, value_name = "NAME")]
    scale: Option<String>,
    /// A value for ${NAME} in the file, as often as there are such.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = named_value)]
    set: Vec<(String, String)>,
}

fn named_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("NAME=VALUE is wanted".to_owned()),
    }
}

impl FileArgs {
    fn read(&self) -> Result<ExperimentFile> {
        let text = input_file::read(&self.file)?;
        let given = self.set.iter().cloned().collect();
        parse_experiment_with(&text, self.scale.as_deref(), &given)
            .map_err(|error| coded(USAGE, format!("{}: {error}", self.file.display())))
    }
}

pub fn run(global: &GlobalArgs, command: &ExperimentCommand) -> Result<ExitCode> {
    match command {
        ExperimentCommand::Run(args) => carry_out_file(global, args.file.read()?),
        ExperimentCommand::Plan(args) => plan(&args.read()?),
        ExperimentCommand::Show { name } => {
            let store = open_store(global)?;
            let record = recorded(&store, name)?;
            show(global, &record.file, &store.runs(name)?)
        }
        ExperimentCommand::List => list(&open_store(global)?),
        ExperimentCommand::Forget { name } => {
            let store = open_store(global)?;
            recorded(&store, name)?;
            let cancel = cancelled_by_signals()?;
            let _lock = store.lock_experiment(name, &cancel)?;
            store.forget(name)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn open_store(global: &GlobalArgs) -> Result<SqliteStore> {
    Ok(SqliteStore::open(&Config::load(global)?.state)?)
}

fn recorded(store: &SqliteStore, name: &str) -> Result<ExperimentRecord> {
    if let Some(record) = store.experiment(name)? {
        return Ok(record);
    }
    let names: Vec<String> = store.experiments()?.into_iter().map(|(name, _)| name).collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err(coded(USAGE, format!("no experiment '{name}' is recorded; there are: {known}")))
}

/// Every missing run, then the verdict. Also what `compare` does with the file that it makes.
pub fn carry_out_file(global: &GlobalArgs, file: ExperimentFile) -> Result<ExitCode> {
    let config = Config::load(global)?;
    let store = SqliteStore::open(&config.state)?;
    let cancel = cancelled_by_signals()?;
    let host = host_source::read(None, false)?;
    let mut record = ExperimentRecord::new(file, now_unix_sec(), env!("CARGO_PKG_VERSION"));
    record.host_id = Some(host.id.0.clone());
    record.topology_digest = Some(topology_digest(&host.host.topology));
    let options = passed_on(&config);
    let fresh = store.run_ids(&record.file.name)?.is_empty();
    let topology = &host.host.topology;
    let mut bench = LocalBench::new(&record.file, options, topology, fresh)?;
    let mut emit = |event: ExperimentEvent| {
        if let Some(line) = text::experiment_event(&event_line(&event)) {
            output::remark(&line);
        }
    };
    let mut parts = ExperimentParts {
        bench: &mut bench,
        results: &store,
        clock: &RealClock,
        cancel: &cancel,
        emit: &mut emit,
    };
    carry_out(&record, &mut parts).map_err(|error| told(error, &record.file))?;
    bench.clean_up(&cancel)?;
    show(global, &record.file, &store.runs(&record.file.name)?)
}

/// The global options as the commands of scenarios get them.
fn passed_on(config: &Config) -> Vec<String> {
    vec![format!("--state={}", config.state.display()), format!("--connect={}", config.connect)]
}

fn told(error: ExperimentError, file: &ExperimentFile) -> Error {
    let look = output::look(false);
    if error.is_interruption() {
        return coded(
            INTERRUPTED,
            "interrupted; what was recorded stays, and the same command goes on from there",
        );
    }
    match error {
        ExperimentError::Refused(refusals) => coded(
            REFUSED,
            format!("the design is refused\n{}", text::design_refusals(&refusals, &look)),
        ),
        ExperimentError::OtherDesign { name } => coded(
            REFUSED,
            format!(
                "experiment '{name}' was begun with another design, and figures of two designs are \
                 not mixed\nGive this one another name, or drop the other: numawise experiment forget {name}"
            ),
        ),
        ExperimentError::Port(error) => error.into(),
        other => coded(
            FAILURE,
            format!(
                "{other}\nWhat was recorded stays. Once this is mended, the same command goes on from \
                 there; numawise experiment show {} shows how far it is",
                file.name
            ),
        ),
    }
}

fn event_line(event: &ExperimentEvent) -> text::ExperimentLine {
    use text::ExperimentLine as Line;
    match event {
        ExperimentEvent::Begun { runs, recorded } => {
            Line::Begun { runs: *runs, recorded: *recorded }
        }
        ExperimentEvent::Applying { scenario, host } => {
            Line::Applying { scenario: scenario.clone(), host: host.clone() }
        }
        ExperimentEvent::CoolingDown { .. } | ExperimentEvent::Progress(_) => Line::Nothing,
        ExperimentEvent::Running { run, number, of } => Line::Running {
            run: run.id.to_string(),
            threads: run.id.threads,
            number: *number,
            of: *of,
        },
        ExperimentEvent::Recorded { run, number, of, tps } => {
            Line::Recorded { run: run.id.to_string(), number: *number, of: *of, per_second: *tps }
        }
        ExperimentEvent::NotTakenBack { scenario, why } => {
            Line::NotTakenBack { scenario: scenario.clone(), why: why.clone() }
        }
    }
}

fn plan(file: &ExperimentFile) -> Result<ExitCode> {
    let design = file.design();
    let runs = order(&design).map_err(|refusals| told(ExperimentError::Refused(refusals), file))?;
    let shown = |run: &numawise_experiment::PlannedRun| text::PlannedLine {
        run: run.id.to_string(),
        scenario: match run.id.arm {
            numawise_experiment::Arm::Scenario { index } => {
                design.scenarios[index as usize].name.clone()
            }
            numawise_experiment::Arm::Control => design.baseline.clone(),
        },
        is_control: run.id.arm == numawise_experiment::Arm::Control,
        workload: design.workloads[run.id.workload as usize].clone(),
        threads: run.id.threads,
        host: run.host.clone(),
    };
    let lines: Vec<text::PlannedLine> = runs.iter().map(shown).collect();
    let each = design.measure + design.cool_down;
    let count = u32::try_from(runs.len()).unwrap_or(u32::MAX);
    let least = (each + design.warm_up.at_least).saturating_mul(count);
    let most = (each + design.warm_up.at_most).saturating_mul(count);
    output::print(&text::experiment_plan(&lines, least, most, &output::look(false)))?;
    Ok(ExitCode::SUCCESS)
}

/// The verdict on runs of a design.
pub fn judgement(file: &ExperimentFile, runs: &[Run]) -> Option<Judgement> {
    let trials: Vec<Trial> = runs.iter().map(Run::trial).collect();
    Some(judge(&Question::of(&file.design())?, &trials))
}

fn show(global: &GlobalArgs, file: &ExperimentFile, runs: &[Run]) -> Result<ExitCode> {
    let Some(judgement) = judgement(file, runs) else {
        return Err(coded(FAILURE, format!("experiment '{}' has no baseline", file.name)));
    };
    if global.json {
        output::print(&judgement_to_json(&judgement))?;
        return Ok(ExitCode::SUCCESS);
    }
    let look = output::look(false);
    let planned = order(&file.design()).map_or(0, |runs| runs.len());
    let head = text::experiment_head(&file.name, file.question.as_deref(), runs.len(), planned);
    let table = text::experiment_runs(runs, &look);
    output::print(&format!("{head}\n{table}\n{}", text::judgement(&judgement, &look)))?;
    Ok(ExitCode::SUCCESS)
}

fn list(store: &SqliteStore) -> Result<ExitCode> {
    let mut rows = Vec::new();
    for (name, began_unix_sec) in store.experiments()? {
        let file = recorded(store, &name)?.file;
        let planned = order(&file.design()).map_or(0, |runs| runs.len());
        let recorded = store.run_ids(&name)?.len();
        rows.push(text::ExperimentRow { name, begun: utc(began_unix_sec), recorded, planned });
    }
    output::print(&text::experiment_list(&rows, &output::look(false)))?;
    Ok(ExitCode::SUCCESS)
}

/// `2026-11-30 21:05 UTC`; a time that no calendar has is told as it is.
fn utc(unix_sec: i64) -> String {
    match jiff::Timestamp::from_second(unix_sec) {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        Err(_) => unix_sec.to_string(),
    }
}

struct RealClock;

impl ExperimentClock for RealClock {
    fn now_unix_sec(&self) -> i64 {
        now_unix_sec()
    }

    fn wait(&self, time: Duration, cancel: &Cancel) -> Result<(), PortError> {
        let begun = Instant::now();
        while let Some(left) = time.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
            if cancel.is_set() {
                return Err(PortError::Cancelled);
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
        Ok(())
    }
}

fn now_unix_sec() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
