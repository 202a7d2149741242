//! `numawise host tune`: prepares a host for guests, shows it first, takes it back.

use crate::config::{Config, GlobalArgs};
use crate::failure::{DRIFT, USAGE, coded};
use crate::host_source::{self, NamedHost};
use crate::session::{die, fresh_id};
use crate::tune_args::TuneArgs;
use crate::tune_failure::told;
use crate::{confirm, input_file, output};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use numawise_documents::{parse_tuning_plan, tuning_outcome_to_json, tuning_plan_to_json};
use numawise_engine::ports::{Cancel, Store};
use numawise_engine::tuning::{Tuner, TuningEvent, TuningOutcome};
use numawise_model::{PlanId, TuningPlan};
use numawise_render::text;
use numawise_store::SqliteStore;
use numawise_tune::HostRoot;
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Subcommand)]
pub enum TuneCommand {
    /// Show exactly what would be written, and keep it under an id; changes nothing.
    Plan(PlanArgs),
    /// Carry out a plan, or what the options ask for, after showing it.
    Apply(ApplyArgs),
    /// Put every value and file back as it was.
    Undo(UndoArgs),
    /// Whether the values that were set still are.
    Status(StatusArgs),
}

#[derive(Args)]
pub struct PlanArgs {
    #[command(flatten)]
    tune: TuneArgs,
    #[command(flatten)]
    root: RootArgs,
}

#[derive(Args)]
pub struct ApplyArgs {
    /// A plan file (`plan --json`), or the id of a plan in the store; without one the options count.
    #[arg(conflicts_with = "TuneArgs")]
    plan: Option<String>,
    /// Show what would be written and stop.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    tune: TuneArgs,
    #[command(flatten)]
    root: RootArgs,
}

#[derive(Args)]
pub struct UndoArgs {
    /// Show what would be written and stop.
    #[arg(long)]
    dry_run: bool,
    /// Put values back even where somebody else changed them since.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    root: RootArgs,
}

#[derive(Args)]
pub struct StatusArgs {
    #[command(flatten)]
    root: RootArgs,
}

#[derive(Args)]
struct RootArgs {
    /// Folder with a host's files (a mounted image) to work on, instead of this machine.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Kill this process after so many steps: for tests of recovery.
    #[arg(long, hide = true, value_name = "N")]
    crash_after: Option<u32>,
}

pub fn run(global: &GlobalArgs, command: &TuneCommand) -> Result<ExitCode> {
    match command {
        TuneCommand::Plan(args) => plan(global, args),
        TuneCommand::Apply(args) => apply(global, args),
        TuneCommand::Undo(args) => undo(global, args),
        TuneCommand::Status(args) => status(global, args),
    }
}

/// What every tuning command works with.
struct Bench {
    config: Config,
    store: SqliteStore,
    files: HostRoot,
    named: NamedHost,
    cancel: Cancel,
    crash_after: Option<u32>,
}

impl Bench {
    fn open(global: &GlobalArgs, args: &RootArgs) -> Result<Self> {
        let config = Config::load(global)?;
        let files = match &args.root {
            Some(folder) => HostRoot::at(folder)?,
            None => HostRoot::live()?,
        };
        let folder = args.root.as_ref().map(|folder| folder.to_string_lossy());
        let mut named = host_source::read(folder.as_deref(), false)?;
        if let Some(root) = &args.root
            && let Some(id) = numawise_sysfs::live_host_id(root, None)?
        {
            named.id = id;
        }
        let store = SqliteStore::open(&config.state)?;
        let cancel = Cancel::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, cancel.flag())
                .context("installing the handler for an interrupt")?;
        }
        Ok(Self { config, store, files, named, cancel, crash_after: args.crash_after })
    }

    fn tuner(&self) -> Tuner<'_> {
        let steps = Cell::new(0);
        let crash_after = self.crash_after;
        Tuner {
            store: &self.store,
            files: &self.files,
            cancel: &self.cancel,
            host_id: &self.named.id,
            host: &self.named.host,
            emit: RefCell::new(Box::new(|event| tell(&event))),
            probe: Box::new(move || {
                steps.set(steps.get() + 1);
                if crash_after == Some(steps.get()) {
                    die();
                }
            }),
        }
    }

    fn make_plan(&self, args: &TuneArgs) -> Result<TuningPlan> {
        let topology = &self.named.host.topology;
        let reserved = self.config.pools(topology).reserved;
        let request = args.request(topology, &reserved).map_err(|text| coded(USAGE, text))?;
        self.tuner().plan(PlanId(fresh_id()), &request).map_err(told)
    }

    fn find_plan(&self, wanted: &str) -> Result<TuningPlan> {
        let path = Path::new(wanted);
        if path.exists() {
            let text = input_file::read(path)?;
            return parse_tuning_plan(&text)
                .map_err(|error| coded(USAGE, format!("{wanted}: {error}")));
        }
        self.store.tuning_plan(&PlanId(wanted.to_owned()))?.ok_or_else(|| {
            let state = self.config.state.display();
            let text = format!(
                "'{wanted}' is neither a file nor a tuning plan in {state}; numawise host tune plan \
                 makes one and prints its id"
            );
            coded(USAGE, text)
        })
    }
}

fn tell(event: &TuningEvent) {
    match event {
        TuningEvent::WaitingForHostLock => output::remark(text::tuning_waiting()),
        TuningEvent::Recovered { plan, undo } => {
            output::remark(&text::tuning_recovered(&plan.0, *undo));
        }
    }
}

fn plan(global: &GlobalArgs, args: &PlanArgs) -> Result<ExitCode> {
    let bench = Bench::open(global, &args.root)?;
    let plan = bench.make_plan(&args.tune)?;
    print_plan(global, &plan)?;
    Ok(ExitCode::SUCCESS)
}

fn print_plan(global: &GlobalArgs, plan: &TuningPlan) -> Result<()> {
    match global.json {
        true => output::print(&tuning_plan_to_json(plan)),
        false => output::print(&text::tuning_plan(plan, &output::look(false))),
    }
}

fn apply(global: &GlobalArgs, args: &ApplyArgs) -> Result<ExitCode> {
    let bench = Bench::open(global, &args.root)?;
    let plan = match &args.plan {
        Some(wanted) => bench.find_plan(wanted)?,
        None => bench.make_plan(&args.tune)?,
    };
    bench.tuner().check(&plan).map_err(told)?;
    if args.dry_run {
        print_plan(global, &plan)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !global.json {
        print_plan(global, &plan)?;
    }
    if !confirm::go_on(global.yes, "Write this?")? {
        return Ok(ExitCode::SUCCESS);
    }
    let outcome = bench.tuner().apply(&plan).map_err(told)?;
    let done = text::tuning_applied(&plan.id.0, outcome.written);
    report(global, &bench, &outcome, &done)
}

fn undo(global: &GlobalArgs, args: &UndoArgs) -> Result<ExitCode> {
    let bench = Bench::open(global, &args.root)?;
    let preview = bench.tuner().preview_undo(args.force).map_err(told)?;
    if args.dry_run || !global.json {
        let look = output::look(false);
        output::print(&text::tuning_undo(&preview.plan.0, &preview.changes, &look))?;
    }
    if args.dry_run || !confirm::go_on(global.yes, "Put this back?")? {
        return Ok(ExitCode::SUCCESS);
    }
    let outcome = bench.tuner().undo(args.force).map_err(told)?;
    let done = text::tuning_undone(outcome.written);
    report(global, &bench, &outcome, &done)
}

fn status(global: &GlobalArgs, args: &StatusArgs) -> Result<ExitCode> {
    let bench = Bench::open(global, &args.root)?;
    let outcome = bench.tuner().status().map_err(told)?;
    let plan = outcome.plan.as_ref().map(|id| id.0.as_str());
    let done = text::tuning_status(plan, outcome.written);
    report(global, &bench, &outcome, &done)
}

/// Exit code 0, or 5 when the host is not as was asked.
fn report(
    global: &GlobalArgs,
    bench: &Bench,
    outcome: &TuningOutcome,
    done: &str,
) -> Result<ExitCode> {
    let findings = &outcome.findings;
    if global.json {
        let plan = outcome.plan.as_ref().map(|id| id.0.as_str());
        output::print(&tuning_outcome_to_json(&bench.named.id.0, plan, findings))?;
    } else {
        output::print(&text::tuning_findings(findings, &output::look(false)))?;
        output::print(done)?;
    }
    let drift = findings.iter().any(numawise_model::TuningFinding::is_drift);
    Ok(if drift { ExitCode::from(DRIFT) } else { ExitCode::SUCCESS })
}
