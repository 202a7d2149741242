//! `numawise import`: old results of other tools in our tables.

use crate::config::GlobalArgs;
use crate::failure::{FAILURE, USAGE, coded};
use crate::{input_file, output};
use anyhow::Result;
use clap::Args;
use numawise_documents::judgement_to_json;
use numawise_experiment::gain::{Impossible, gain_rows};
use numawise_experiment::imported::{Labelled, trials};
use numawise_experiment::targets::together;
use numawise_experiment::{Judgement, Metric, Question, judge};
use numawise_logs::{parse_log, parse_report};
use numawise_render::{Look, text};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

/// Reads logs of sysbench and HammerDB, or figures out of a report (a TOML file), and puts them into one
/// table, with the verdict that they allow. Several logs under one name are repetitions. What a log does not
/// have is absent.
#[derive(Args)]
pub struct ImportArgs {
    /// A log, or figures in a file that ends in .toml. NAME= names its scenario, NAME@HOST= also where it
    /// was measured; without it, the file's name does.
    #[arg(required = true, value_name = "[NAME[@HOST]=]FILE")]
    files: Vec<Source>,
    /// The files are targets that had the same load at once, not scenarios to compare.
    #[arg(long)]
    together: bool,
    /// The smallest gain worth claiming, in per cent.
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent)]
    worth: f64,
}

#[derive(Clone)]
struct Source {
    name: Option<String>,
    host: Option<String>,
    path: PathBuf,
}

impl FromStr for Source {
    type Err = String;

    /// A file whose own name has `=` in it can be given as `./a=b.log`: names have no `/`.
    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.split_once('=').filter(|(name, _)| !name.contains('/'));
        let Some((name, path)) = named else {
            return Ok(Self { name: None, host: None, path: text.into() });
        };
        let (name, host) = match name.split_once('@') {
            Some((name, host)) => (name, Some(host)),
            None => (name, None),
        };
        if name.is_empty() || path.is_empty() || host == Some("") {
            return Err(
                "a scenario, a host and a file each have a name: on@host-a=on.log".to_owned()
            );
        }
        Ok(Self { name: Some(name.to_owned()), host: host.map(str::to_owned), path: path.into() })
    }
}

/// As a share.
fn percent(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| "a number is wanted, like 1 or 0.5".to_owned())?;
    if (0.0..100.0).contains(&percent) {
        Ok(percent / 100.0)
    } else {
        Err("it has to be at least 0 and below 100".to_owned())
    }
}

/// Everything that the files hold.
#[derive(Default)]
struct Imported {
    runs: Vec<Labelled>,
    targets: Vec<Labelled>,
    impossible: Vec<(String, Impossible)>,
}

pub fn run(global: &GlobalArgs, args: &ImportArgs) -> Result<ExitCode> {
    let mut all = Imported::default();
    for source in &args.files {
        all.read(source)?;
    }
    if args.together {
        all.targets.append(&mut all.runs);
    }
    let judgements = judgements(&all.runs, args.worth);
    if global.json {
        for judgement in &judgements {
            output::print(&judgement_to_json(judgement))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let text = all.tables(&judgements, &output::look(false));
    if text.is_empty() {
        return Err(coded(FAILURE, "the targets have no throughput to add up"));
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

impl Imported {
    fn read(&mut self, source: &Source) -> Result<()> {
        let path = &source.path;
        let text = input_file::read(path)?;
        let refused =
            |error: numawise_logs::LogError| coded(USAGE, format!("{}: {error}", path.display()));
        if path.extension().is_some_and(|extension| extension == "toml") {
            let report = parse_report(&text).map_err(refused)?;
            self.runs.extend(report.runs);
            self.targets.extend(report.targets);
            self.impossible.extend(report.impossible);
            return Ok(());
        }
        let name = source.name.clone().unwrap_or_else(|| stem(path));
        self.runs.extend(parse_log(&text).map_err(refused)?.into_iter().map(|run| Labelled {
            scenario: name.clone(),
            host: source.host.clone(),
            run,
        }));
        Ok(())
    }

    fn tables(&self, judgements: &[Judgement], look: &Look) -> String {
        let mut parts = Vec::new();
        let rows = gain_rows(self.runs.iter().filter_map(Labelled::figures).collect());
        if !rows.is_empty() {
            parts.push(text::gains(&rows, look));
        }
        let counts = |labelled: &&Labelled| labelled.run.values.contains_key(&Metric::Nopm);
        let orders: Vec<Labelled> = self.runs.iter().filter(counts).cloned().collect();
        if !orders.is_empty() {
            parts.push(text::orders(&orders, look));
        }
        let profiled = self.runs.iter().filter(|labelled| !labelled.run.procedures.is_empty());
        parts.extend(profiled.map(|labelled| text::procedures(labelled, look)));
        let targets = self.targets.iter().filter_map(Labelled::target).collect();
        parts.extend(together(targets).map(|all| text::targets(&all, look)));
        parts.extend(judgements.iter().map(|judgement| text::judgement(judgement, look)));
        let mut notes = String::new();
        for (scenario, found) in &self.impossible {
            let _ = write!(notes, "{}", text::impossible(scenario, found, look));
        }
        parts.extend(Some(notes).filter(|notes| !notes.is_empty()));
        parts.join("\n")
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// One for throughput, one for orders: those of them that two scenarios have.
fn judgements(runs: &[Labelled], worth: f64) -> Vec<Judgement> {
    let (scenarios, trials) = trials(runs);
    let ask = |primary, secondary: &[Metric]| {
        let question = Question {
            scenarios: scenarios.clone(),
            baseline: 0,
            primary,
            secondary: secondary.to_vec(),
            worth,
            seed: 0,
            interleaved: false,
            mechanisms: BTreeSet::new(),
            may_differ: BTreeSet::new(),
        };
        let mut judgement = judge(&question, &trials);
        // A log has some of the metrics; what it lacks is not worth a line.
        judgement.comparisons.retain(|comparison| comparison.effect.is_some());
        judgement
    };
    let latencies = [Metric::LatencyMean, Metric::LatencyP95, Metric::LatencyP99];
    let asked = [
        ask(Metric::Tps, &latencies),
        ask(Metric::EventsPerSec, &[]),
        ask(Metric::Nopm, &[Metric::Tpm]),
    ];
    let answers = |judgement: &Judgement| {
        judgement.comparisons.iter().any(|comparison| comparison.metric == judgement.primary)
    };
    asked.into_iter().filter(answers).collect()
}
