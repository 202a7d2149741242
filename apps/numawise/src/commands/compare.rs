//! `numawise compare`: any command under several placements, in turn, with a verdict.

use crate::commands::experiment::carry_out_file;
use crate::config::GlobalArgs;
use crate::cpu_words::WORDS;
use crate::failure::{USAGE, coded};
use anyhow::Result;
use clap::Args;
use numawise_documents::experiment::file::HERE;
use numawise_documents::experiment::{
    CommandDoc, ExperimentFile, MetricDoc, OutputDoc, ScenarioDoc, WorkloadDoc, parse_experiment,
};
use std::process::ExitCode;

/// Runs the command under each placement in turn, the first one twice, in an order that is drawn, and says
/// which is better, by how much, and whether that is more than chance. The time that it takes is compared,
/// or what its report says.
#[derive(Args)]
pub struct CompareArgs {
    /// A placement: NAME=WHERE, where WHERE is CPUs (0-3,^2), node:0, l3:5, compact:8 or spread:8. The first
    /// is what the others are held against.
    #[arg(long = "placement", short = 'p', required = true, value_name = "NAME=WHERE", value_parser = placement)]
    placements: Vec<(String, String)>,
    /// How many times each.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repetitions: u32,
    /// Its output is a report of this tool, and that is compared; else the time is.
    #[arg(long, value_enum, value_name = "TOOL")]
    reads: Option<Tool>,
    /// The smallest difference worth claiming, in per cent.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    worth: f64,
    /// Draws the order.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Under which runs are recorded; with the same name and the same words it goes on where it stood.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Tool {
    Sysbench,
    Hammerdb,
}

fn placement(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, place)) if !name.is_empty() && !place.is_empty() => {
            Ok((name.to_owned(), place.to_owned()))
        }
        _ => Err(format!("NAME=WHERE is wanted, and WHERE is {WORDS}")),
    }
}

/// What a file of an experiment says where `compare` has no word for it.
const SHORT: &str = r#"
    name = "compare"
    threads = [1]
    measure-sec = 1
    warm-up = { at-least-sec = 0, at-most-sec = 0 }
    scenario = []
    workload = []
"#;

pub fn run(global: &GlobalArgs, args: &CompareArgs) -> Result<ExitCode> {
    let short = parse_experiment(SHORT).map_err(|error| coded(USAGE, error.to_string()))?;
    let scenario = |(name, cpus): &(String, String)| ScenarioDoc {
        name: name.clone(),
        hosts: vec![HERE.to_owned()],
        apply: Vec::new(),
        check: Vec::new(),
        leave: Vec::new(),
        cpus: Some(cpus.clone()),
        targets: Vec::new(),
        remote_pages: None,
        l3_crossings: None,
    };
    let (reads, primary) = match args.reads {
        None => (OutputDoc::Time, MetricDoc::LatencyMean),
        Some(Tool::Sysbench) => (OutputDoc::Sysbench, MetricDoc::Tps),
        Some(Tool::Hammerdb) => (OutputDoc::Hammerdb, MetricDoc::Nopm),
    };
    let workload = WorkloadDoc {
        name: args.command.join(" "),
        load: Vec::new(),
        command: Some(CommandDoc::Words(args.command.clone())),
        reads: Some(reads),
        targets: Vec::new(),
        prepare: Vec::new(),
        cleanup: Vec::new(),
    };
    let name = args.name.clone().unwrap_or_else(|| format!("compare-{}", uuid::Uuid::new_v4()));
    let file = ExperimentFile {
        name,
        seed: args.seed,
        blocks: args.repetitions,
        worth_percent: args.worth,
        primary,
        scenarios: args.placements.iter().map(scenario).collect(),
        workloads: vec![workload],
        ..short
    };
    carry_out_file(global, file)
}
