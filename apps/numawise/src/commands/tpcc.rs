//! `numawise tpcc`: TPC-C's tables and transactions on a database, as HammerDB drives them.

use crate::config::GlobalArgs;
use crate::coordinated::{self, CoordinatedArgs, Course};
use crate::failure::{DRIFT, NO_ACCESS, USAGE, coded};
use crate::load_args::{duration, some_duration, target};
use crate::output;
use crate::session::cancelled_by_signals;
use anyhow::{Error, Result};
use clap::{Args, Subcommand};
use numawise_database::tpcc::{self, Prepare, PrepareProgress, Run, RunProgress, TpccError};
use numawise_database::{AdminError, Engine, Target};
use numawise_experiment::{ConditionResult, Interval, Metric, Mix, RandomChoice, Route};
use numawise_render::text;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Subcommand)]
pub enum TpccCommand {
    /// Make the nine tables, fill them, and put the procedures beside them.
    Prepare(PrepareArgs),
    /// Put load on: virtual users, a ramp-up, a timed run; NOPM, TPM and latencies.
    Run(RunArgs),
    /// Hold the tables against the specification's twelve consistency conditions.
    Check(TargetArgs),
    /// Take tables and procedures away.
    Cleanup(TargetArgs),
}

#[derive(Args)]
pub struct TargetArgs {
    /// mysql://USER:PASSWORD@HOST:PORT/DATABASE, mysql://USER@localhost/DATABASE?socket=FILE,
    /// postgres:// alike, or sqlite:FILE.
    #[arg(value_name = "DB", value_parser = target)]
    target: Target,
}

/// One warehouse is about 100 MB in half a million rows.
#[derive(Args)]
pub struct PrepareArgs {
    #[command(flatten)]
    db: TargetArgs,
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=999_999))]
    warehouses: u32,
    /// Connections that load at the same time; SQLite has one.
    #[arg(long, value_name = "N", default_value = "4")]
    threads: NonZeroUsize,
    /// The same seed makes the same rows.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Transactions are new-order, payment, order-status, delivery and stock-level at 10:10:1:1:1. Exit code 5
/// when --check finds a condition broken.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    db: TargetArgs,
    /// Virtual users, each with a connection and a home warehouse of its own.
    #[arg(long, alias = "threads", value_name = "N", default_value = "1")]
    users: NonZeroUsize,
    /// Load before it is measured, like 2m.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration)]
    ramp_up: Duration,
    /// How long it is measured.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = some_duration)]
    time: Duration,
    /// A line of progress every so often.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = some_duration)]
    interval: Duration,
    /// Draw customers and items by NURand, as the specification wants, and not evenly, as HammerDB does.
    #[arg(long)]
    strict: bool,
    /// Deal kinds from a shuffled deck of 23, and do not draw each anew.
    #[arg(long)]
    deck: bool,
    /// Each transaction is for any warehouse: users have no home.
    #[arg(long)]
    all_warehouses: bool,
    /// Wait for keying and thinking, as long as the specification wants.
    #[arg(long)]
    key_and_think: bool,
    /// Send each statement on its own, and call no stored procedures. SQLite has no other way.
    #[arg(long)]
    statements: bool,
    /// Hold the tables against the consistency conditions before and after.
    #[arg(long)]
    check: bool,
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    coordination: CoordinatedArgs,
}

pub fn run(global: &GlobalArgs, command: &TpccCommand) -> Result<ExitCode> {
    match command {
        TpccCommand::Prepare(args) => prepare(args),
        TpccCommand::Run(args) => put_load_on(global, args),
        TpccCommand::Check(args) => {
            let results = checked(global, &args.target)?;
            output::print(&text::tpcc_consistent(&results))?;
            Ok(code_of(&results))
        }
        TpccCommand::Cleanup(args) => {
            tpcc::cleanup(&args.target).map_err(told)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A database that does not answer is no access; a wrong order of commands is wrong usage.
fn told(error: TpccError) -> Error {
    let code = match &error {
        TpccError::Database(AdminError::Connect { .. }) => NO_ACCESS,
        TpccError::AlreadyThere { .. }
        | TpccError::NotPrepared { .. }
        | TpccError::NoProcedures { .. } => USAGE,
        _ => return error.into(),
    };
    coded(code, error.to_string())
}

fn prepare(args: &PrepareArgs) -> Result<ExitCode> {
    let cancel = cancelled_by_signals()?;
    let wanted = Prepare {
        warehouses: args.warehouses.into(),
        threads: args.threads.get(),
        seed: args.seed,
    };
    // A remark for every tenth is enough.
    let mut told_tenth = 0;
    let mut progress = |progress| match progress {
        PrepareProgress::Rows { done, all } => {
            let tenth = done * 10 / all.max(1);
            if tenth > told_tenth {
                told_tenth = tenth;
                output::remark(&text::tpcc_loading(done, all));
            }
        }
        PrepareProgress::Indexes => output::remark(text::tpcc_indexes()),
    };
    tpcc::prepare(&args.db.target, &wanted, &cancel.flag(), &mut progress).map_err(told)?;
    Ok(ExitCode::SUCCESS)
}

impl RunArgs {
    fn wanted(&self) -> Run {
        Run {
            users: self.users.get(),
            ramp_up: self.ramp_up,
            time: self.time,
            interval: self.interval,
            choice: if self.strict { RandomChoice::Specification } else { RandomChoice::HammerDb },
            mix: if self.deck { Mix::Dealt } else { Mix::Drawn },
            route: match self.statements || self.db.target.engine == Engine::Sqlite {
                true => Route::Statements,
                false => Route::Procedures,
            },
            all_warehouses: self.all_warehouses,
            waits: self.key_and_think,
            seed: self.seed,
        }
    }
}

/// One of several generators. Users connect when the common start is there: they ramp up all the same.
fn run_coordinated(args: &RunArgs) -> Result<ExitCode> {
    coordinated::run(&Course::Own, || {
        let run = Run { interval: args.coordination.interval(), ..args.wanted() };
        Ok(Box::new(move |start, stop, hear| {
            std::thread::sleep(start.saturating_duration_since(Instant::now()));
            let mut progress = |seen: RunProgress| {
                hear(&Interval {
                    begin: seen.at.saturating_sub(seen.length),
                    length: seen.length,
                    counts: seen.counts,
                    warm_up: seen.is_ramp_up,
                    ..Interval::default()
                });
            };
            let done = tpcc::run(&args.db.target, &run, stop, &mut progress).map_err(told)?;
            let figures = [(Metric::Nopm, done.nopm()), (Metric::Tpm, done.tpm())];
            let figures = figures.into_iter().filter_map(|(metric, value)| Some((metric, value?)));
            Ok((done.measured.clone(), figures.collect()))
        }))
    })
}

fn put_load_on(global: &GlobalArgs, args: &RunArgs) -> Result<ExitCode> {
    if args.coordination.coordinated {
        return run_coordinated(args);
    }
    let target = &args.db.target;
    let cancel = cancelled_by_signals()?;
    let run = args.wanted();
    let mut results = Vec::new();
    if args.check {
        results.extend(checked(global, target)?);
    }
    let mut progress = |seen: RunProgress| {
        if !global.json {
            let line = text::tpcc_progress(
                seen.at,
                seen.length,
                seen.is_ramp_up,
                &seen.counts,
                seen.p95,
                seen.p99,
            );
            output::remark(&line);
        }
    };
    let done = tpcc::run(target, &run, &cancel.flag(), &mut progress).map_err(told)?;
    match global.json {
        true => output::print(&numawise_documents::tpcc_run_to_json(&done))?,
        false => output::print(&text::tpcc_run(&done, &output::look(false)))?,
    }
    if args.check {
        results.extend(checked(global, target)?);
        output::remark(&text::tpcc_consistent(&results));
    }
    Ok(code_of(&results))
}

fn checked(global: &GlobalArgs, target: &Target) -> Result<Vec<ConditionResult>> {
    let look = output::look(false);
    let mut each = |result| {
        let line = text::tpcc_condition(result, &look);
        if global.json {
            output::remark(&line);
        } else {
            // A reader that has gone away does not end a check that decides the exit code.
            let _ = output::print(&line);
        }
    };
    tpcc::check(target, &mut each).map_err(told)
}

fn code_of(results: &[ConditionResult]) -> ExitCode {
    match results.iter().all(|result| result.broken == 0) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(DRIFT),
    }
}
