//! `numawise cpu`: how fast CPUs are, one by one or together.

use crate::config::GlobalArgs;
use crate::failure::{USAGE, coded};
use crate::load_args::some_duration;
use crate::output;
use crate::session::cancelled_by_signals;
use anyhow::Result;
use clap::Args;
use numawise_cpu_load::{CpuLoad, CpuLoadError, Frequencies};
use numawise_model::{CpuSet, parse_rule};
use numawise_render::text;
use std::process::ExitCode;
use std::time::Duration;

/// The loop of sysbench's cpu test: primes up to a limit by trial division, in registers only.
#[derive(Args)]
pub struct CpuArgs {
    /// Threads; as many as --cpus has where that is given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// How long.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = some_duration)]
    time: Duration,
    /// Each event looks for primes up to here.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(3..))]
    cpu_max_prime: u64,
    /// Pin the threads, each to one of these CPUs in turn, like 0-7,^4.
    #[arg(long, value_name = "CPUS", value_parser = cpus)]
    cpus: Option<CpuSet>,
    /// A line of progress every so often.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = some_duration)]
    interval: Duration,
}

fn cpus(text: &str) -> Result<CpuSet, String> {
    let set = parse_rule(text).map_err(|error| error.to_string())?.set;
    if set.is_empty() { Err(format!("'{text}' names no CPU")) } else { Ok(set) }
}

pub fn run(global: &GlobalArgs, args: &CpuArgs) -> Result<ExitCode> {
    let cancel = cancelled_by_signals()?;
    let cpus: Vec<_> = args.cpus.iter().flat_map(CpuSet::iter).collect();
    let load = CpuLoad {
        threads: args.threads.map_or(cpus.len().max(1), usize::from),
        max_prime: args.cpu_max_prime,
        time: args.time,
        interval: args.interval,
        cpus,
    };
    let mut progress = |interval: &_| output::remark(&text::cpu_progress(interval));
    let frequencies = Frequencies::live();
    let done = numawise_cpu_load::run(&load, &frequencies, &cancel.flag(), &mut progress);
    let done = done.map_err(|error| match error {
        CpuLoadError::NotAllowed { .. } | CpuLoadError::TooHigh { .. } => {
            coded(USAGE, error.to_string())
        }
        CpuLoadError::Panicked => error.into(),
    })?;
    match global.json {
        true => output::print(&numawise_documents::cpu_run_to_json(&done))?,
        false => output::print(&text::cpu_run(&done, &output::look(false)))?,
    }
    Ok(ExitCode::SUCCESS)
}
