//! `numawise oltp`: sysbench's tables and workloads.

use crate::config::GlobalArgs;
use crate::coordinated::{self, CoordinatedArgs, Course};
use crate::failure::{DRIFT, FAILURE, NO_ACCESS, USAGE, coded};
use crate::oltp_args::{PaceArgs, ShapeArgs, TableArgs};
use crate::output;
use anyhow::{Error, Result};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use numawise_database::oltp::{Options, Workload};
use numawise_database::{Connected, Filling, Load, LoadError, Progress, TableCheck, Target};
use numawise_documents::measured_to_json;
use numawise_render::text::{LoadHead, load_checks, load_foot, load_head, load_interval, measured};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const TARGET: &str = "Like mysql://USER:PASSWORD@HOST:3306/DATABASE, \
                      mysql://USER@localhost/DATABASE?socket=FILE, postgres://... alike, or sqlite:FILE";

#[derive(Subcommand)]
pub enum OltpCommand {
    /// Make and fill the tables sbtest1, sbtest2, ...
    Prepare(PrepareArgs),
    /// Put a workload on them and measure.
    Run(Box<RunArgs>),
    /// Look whether the tables are as they were filled.
    Check {
        #[arg(help = TARGET)]
        target: Target,
        #[command(flatten)]
        tables: TableArgs,
    },
    /// Drop the tables.
    Cleanup {
        #[arg(help = TARGET)]
        target: Target,
        #[command(flatten)]
        tables: TableArgs,
    },
}

#[derive(Args)]
pub struct PrepareArgs {
    #[arg(help = TARGET)]
    target: Target,
    /// Connections that load at once, also into one table.
    #[arg(long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Send rows in INSERT statements even where LOAD DATA is to be had.
    #[arg(long)]
    inserts: bool,
    #[command(flatten)]
    tables: TableArgs,
}

#[derive(Args)]
pub struct RunArgs {
    /// point_select, read_only, read_write, write_only, update_index, update_non_index, insert,
    /// delete, select_random_points or select_random_ranges.
    #[arg(value_parser = workload)]
    workload: Workload,
    #[arg(help = TARGET)]
    target: Target,
    #[command(flatten)]
    pace: PaceArgs,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    tables: TableArgs,
    #[command(flatten)]
    coordination: CoordinatedArgs,
}

fn workload(text: &str) -> Result<Workload, String> {
    Workload::named(text).ok_or_else(|| {
        let names: Vec<&str> = Workload::ALL.iter().map(|workload| workload.name()).collect();
        format!("one of {} is wanted", names.join(", "))
    })
}

pub fn run(global: &GlobalArgs, command: &OltpCommand) -> Result<ExitCode> {
    if global.json && !matches!(command, OltpCommand::Run(_)) {
        return Err(coded(USAGE, "--json: only numawise oltp run has a document"));
    }
    match command {
        OltpCommand::Prepare(args) => prepare(args),
        OltpCommand::Run(args) => run_workload(global, args),
        OltpCommand::Check { target, tables } => check(target, &any_workload(tables)),
        OltpCommand::Cleanup { target, tables } => {
            numawise_database::cleanup(target, &any_workload(tables)).map_err(told)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Tables are the same for all workloads.
fn any_workload(tables: &TableArgs) -> Options {
    tables.options(Workload::ReadWrite)
}

fn prepare(args: &PrepareArgs) -> Result<ExitCode> {
    let options = any_workload(&args.tables);
    let all = u64::from(options.tables) * u64::from(options.table_size);
    let filling = Filling {
        options,
        loaders: args.threads,
        seed: args.tables.seed(),
        as_statements: args.inserts,
    };
    let bar = if std::io::stderr().is_terminal() {
        let bar = ProgressBar::new(all);
        let style = "{bar:40} {human_pos} of {human_len} rows, {per_sec}, {eta} left";
        bar.set_style(ProgressStyle::with_template(style)?);
        bar
    } else {
        ProgressBar::hidden()
    };
    let cancel = interrupted()?;
    let begun = Instant::now();
    numawise_database::prepare(&args.target, &filling, &cancel, &|progress| {
        if let Progress::Rows { count } = progress {
            bar.inc(count);
        }
    })
    .map_err(told)?;
    bar.finish_and_clear();
    let seconds = begun.elapsed().as_secs_f64();
    output::print(&numawise_render::text::load_prepared(
        filling.options.tables,
        all,
        seconds,
        filling.seed,
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// One of several generators: connects, and runs until whoever started it has enough.
fn run_coordinated(args: &RunArgs) -> Result<ExitCode> {
    coordinated::run(&Course::Ordered, || {
        let options = args.shape.apply(args.tables.options(args.workload));
        let load = Load {
            time: None,
            warm_up: Duration::ZERO,
            interval: args.coordination.interval(),
            ..args.pace.load(options, args.tables.seed())?
        };
        let connected = Connected::connect(&args.target, &load).map_err(told)?;
        Ok(Box::new(move |start, stop, hear| {
            let measured = connected.run(start, stop, hear).map_err(told)?;
            Ok((measured, BTreeMap::new()))
        }))
    })
}

fn run_workload(global: &GlobalArgs, args: &RunArgs) -> Result<ExitCode> {
    if args.coordination.coordinated {
        return run_coordinated(args);
    }
    let options = args.shape.apply(args.tables.options(args.workload));
    let seed = args.tables.seed();
    let head = LoadHead {
        target: args.target.to_string(),
        workload: args.workload.name(),
        dialect: options.dialect.name(),
        distribution: options.distribution.name().to_owned(),
        tables: options.tables,
        table_size: options.table_size,
        seed,
        as_text: false,
        rate: None,
        percentile: args.pace.percentile(),
    };
    let load_args = args.pace.load(options, seed)?;
    let head = LoadHead {
        as_text: load_args.as_text,
        rate: load_args.rate.map(|rate| rate.per_second),
        ..head
    };
    let cancel = interrupted()?;
    let connected = Connected::connect(&args.target, &load_args).map_err(told)?;
    let start = Instant::now() + Duration::from_millis(1);
    let done = connected.run(start, &cancel, |interval| {
        if args.pace.shows_intervals() && !global.json {
            // A reader that has gone away does not end the measurement.
            let _ = output::print(&load_interval(interval, load_args.connections));
        }
    });
    let done = done.map_err(told)?;
    if global.json {
        output::print(&measured_to_json(&done))?;
    } else {
        let figures = measured(&done, &output::look(false));
        let foot = load_foot(&head, &done.latencies);
        output::print(&format!("{}\n{figures}{foot}\n", load_head(&head)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(target: &Target, options: &Options) -> Result<ExitCode> {
    let checks = numawise_database::check(target, options).map_err(told)?;
    let is_good = |check: &TableCheck| {
        check.rows == Some(u64::from(options.table_size))
            && check.misshapen == 0
            && check.is_indexed == options.create_secondary
    };
    let rows: Vec<_> = checks
        .iter()
        .map(|check| (check.table, check.rows, check.misshapen, check.is_indexed, is_good(check)))
        .collect();
    output::print(&load_checks(&rows, options.table_size, options.create_secondary))?;
    let all_good = checks.iter().all(is_good);
    Ok(if all_good { ExitCode::SUCCESS } else { ExitCode::from(DRIFT) })
}

fn interrupted() -> Result<Arc<AtomicBool>> {
    let cancel = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&cancel))?;
    }
    Ok(cancel)
}

/// With its exit code, and what to do next.
fn told(error: LoadError) -> Error {
    let code = match &error {
        LoadError::Cancelled => crate::failure::INTERRUPTED,
        error if error.is_no_access() => NO_ACCESS,
        error if error.is_usage() => USAGE,
        _ => FAILURE,
    };
    let next = numawise_render::text::load_next_step(match &error {
        LoadError::Statement { code, .. } => Some(code),
        _ => None,
    });
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    if let Some(next) = next {
        text.push_str(&format!("\n{next}"));
    }
    coded(code, text)
}
