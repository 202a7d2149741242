//! One run: the generators that it takes, and what their figures are worth.

use super::LocalBench;
use super::words::{self, Values};
use numawise_documents::experiment::{
    CommandDoc, GeneratorDoc, OutputDoc, ScenarioDoc, WorkloadDoc,
};
use numawise_engine::experiment::{Cell, Progress};
use numawise_engine::ports::{Cancel, PortError};
use numawise_experiment::{
    Conditions, Counts, GeneratorUsage, Interval, Latencies, LostGenerator, Measured, Observed,
    Part, Tier,
};
use numawise_generator::{
    Beside, Course, CpuWatch, GeneratorError, GeneratorSpec, Generators, Outcome, run_command,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// Connections by the thousand take their time.
const PATIENCE: Duration = Duration::from_secs(120);
/// A run of less than ten intervals cannot be looked at for steadiness.
const INTERVALS: u32 = 10;

impl LocalBench<'_> {
    /// A load of numawise's own, by one generator for each that the file names and each target.
    pub(super) fn run_load(
        &self,
        cell: &Cell<'_>,
        scenario: &ScenarioDoc,
        workload: &WorkloadDoc,
        cancel: &Cancel,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Observed, PortError> {
        let interval = Duration::from_secs(1).min(cell.design.measure / INTERVALS);
        let specs = self.specs(cell, scenario, workload, interval)?;
        let command = specs.iter().map(|spec| shown(&spec.words)).collect::<Vec<_>>().join("\n");
        let generators = Generators::start(&specs, PATIENCE, cancel).map_err(port_error)?;
        let course =
            Course { warm_up: cell.design.warm_up, measure: cell.design.measure, interval };
        let watch = CpuWatch::begin(&[]);
        let mut told = Told::new(specs.len());
        let outcome = generators.run(&course, cancel, &mut |from, interval| {
            if let Some(all) = told.hear(from, interval) {
                progress(all);
            }
        });
        if cancel.is_set() {
            return Err(PortError::Cancelled);
        }
        let mut observed = observed(outcome, &watch.end(), command)?;
        if self.is_its_own_server(scenario, workload) {
            observed.conditions.client_use = None;
        }
        Ok(observed)
    }

    fn specs(
        &self,
        cell: &Cell<'_>,
        scenario: &ScenarioDoc,
        workload: &WorkloadDoc,
        interval: Duration,
    ) -> Result<Vec<GeneratorSpec>, PortError> {
        let targets = targets_of(scenario, workload);
        let here = GeneratorDoc { name: "here".to_owned(), via: vec![], program: None, cpus: None };
        let generators = match self.file.generators.as_slice() {
            [] => std::slice::from_ref(&here),
            generators => generators,
        };
        let (threads, of) = (cell.run.id.threads, generators.len() as u32);
        if threads < of {
            return Err(PortError::Unreadable(format!(
                "{threads} threads are fewer than {of} generators; each needs one at least"
            )));
        }
        let mut specs = Vec::new();
        for (number, generator) in (0..).zip(generators) {
            let share = threads / of + u32::from(number < threads % of);
            let each_target: Vec<Option<&String>> = match targets {
                [] => vec![None],
                targets => targets.iter().map(Some).collect(),
            };
            for (place, target) in each_target.into_iter().enumerate() {
                let name = match targets.len() {
                    0 | 1 => generator.name.clone(),
                    _ => format!("{} to target {}", generator.name, place + 1),
                };
                let mut words = self.generator_words(generator, workload);
                words.extend(["--coordinated".to_owned(), format!("--threads={share}")]);
                words.push(format!("--interval-msec={}", interval.as_millis().max(1)));
                words.extend(course_words(&workload.load, cell));
                if let Some(cpus) = generator.cpus.as_ref().or(scenario.cpus.as_ref()) {
                    let cpus = crate::cpu_words::resolve(cpus, self.topology)
                        .map_err(|why| PortError::Unreadable(format!("cpus = {cpus:?}: {why}")))?;
                    words.push(format!("--cpus={cpus}"));
                }
                words.extend(target.cloned());
                specs.push(GeneratorSpec { name, words });
            }
        }
        Ok(specs)
    }

    /// A load without a server, or with the database in its own process, is to use all that it has.
    fn is_its_own_server(&self, scenario: &ScenarioDoc, workload: &WorkloadDoc) -> bool {
        targets_of(scenario, workload).iter().all(|target| target.starts_with("sqlite:"))
    }

    fn generator_words(&self, generator: &GeneratorDoc, workload: &WorkloadDoc) -> Vec<String> {
        let program =
            generator.program.clone().unwrap_or_else(|| self.program.display().to_string());
        let via = generator.via.iter().cloned();
        via.chain([program]).chain(workload.load.iter().cloned()).collect()
    }

    /// Any command: its time, or what its report says.
    pub(super) fn run_foreign(
        &self,
        cell: &Cell<'_>,
        scenario: &ScenarioDoc,
        workload: &WorkloadDoc,
        command: &CommandDoc,
        cancel: &Cancel,
    ) -> Result<Observed, PortError> {
        let targets = targets_of(scenario, workload);
        let values = Values {
            threads: Some(cell.run.id.threads),
            seconds: Some(cell.design.measure.as_secs_f64()),
            scenario: cell.scenario,
            host: &cell.run.host,
            targets,
        };
        let words = words::of(command, &values, &self.program, &self.global);
        let pinned = scenario
            .cpus
            .as_ref()
            .map(|cpus| {
                crate::cpu_words::resolve(cpus, self.topology)
                    .map_err(|why| PortError::Unreadable(format!("cpus = {cpus:?}: {why}")))
            })
            .transpose()?;
        let watch = CpuWatch::begin(&[]);
        let ended = match &pinned {
            Some(cpus) => crate::cpu_words::on_cpus(cpus, || run_command(&words, cancel))?,
            None => run_command(&words, cancel)?,
        };
        let beside = watch.end();
        let (measured, values) = match workload.reads.unwrap_or(OutputDoc::Time) {
            OutputDoc::Time => (as_one_transaction(ended.took), BTreeMap::new()),
            reads => {
                let figures = crate::foreign_report::read(reads, &ended.output)?;
                (Measured { elapsed: ended.took, ..Measured::default() }, figures)
            }
        };
        let generator = GeneratorUsage {
            user: ended.user,
            system: ended.system,
            threads: cell.run.id.threads,
            ..measured.generator
        };
        Ok(Observed {
            measured: Measured { generator, ..measured },
            values,
            conditions: Conditions { steal: beside.steal, ..Conditions::default() },
            command: shown(&words),
            ..Observed::default()
        })
    }
}

/// A scenario's own go in the place of the workload's.
fn targets_of<'a>(scenario: &'a ScenarioDoc, workload: &'a WorkloadDoc) -> &'a [String] {
    match &scenario.targets[..] {
        [] => &workload.targets,
        targets => targets,
    }
}

fn as_one_transaction(took: Duration) -> Measured {
    let mut latencies = Latencies::new();
    latencies.record(took);
    let counts = Counts { transactions: 1, ..Counts::default() };
    Measured { elapsed: took, counts, latencies, ..Measured::default() }
}

fn observed(outcome: Outcome, beside: &Beside, command: String) -> Result<Observed, PortError> {
    let Some(measured) = outcome.merged() else {
        let why: Vec<String> = outcome
            .parts
            .iter()
            .filter_map(|part| {
                part.result.as_ref().err().map(|lost| format!("{}: {}", part.name, lost.why))
            })
            .collect();
        return Err(PortError::Failed(format!("no generator came to its end: {}", why.join("; "))));
    };
    let mut values = BTreeMap::new();
    let (mut parts, mut lost_generators, mut client_use) = (Vec::new(), Vec::new(), None::<f64>);
    let several = outcome.parts.len() > 1;
    for part in outcome.parts {
        match part.result {
            Ok((measured, figures)) => {
                for (metric, figure) in figures {
                    // What servers count themselves adds up over servers.
                    *values.entry(metric).or_insert(0.0) += figure;
                }
                let threads = f64::from(measured.generator.threads.max(1));
                let use_ = measured.generator_cpus().map(|cpus| cpus / threads);
                client_use = client_use.into_iter().chain(use_).reduce(f64::max);
                if several {
                    parts.push(Part { name: part.name, measured });
                }
            }
            Err(lost) => {
                lost_generators.push(LostGenerator { name: part.name, after: lost.after });
            }
        }
    }
    let Counts { transactions, ignored_errors, .. } = measured.counts;
    let tried = transactions + ignored_errors;
    let conditions = Conditions {
        steadiness: measured.steadiness,
        client_use,
        tiers: beside.disk_use.map(|disk| (Tier::Disk, disk)).into_iter().collect(),
        steal: beside.steal,
        error_share: (tried > 0).then(|| ignored_errors as f64 / tried as f64),
        lost_generators,
        ..Conditions::default()
    };
    Ok(Observed { measured, parts, values, conditions, servers: Vec::new(), command })
}

/// TPC-C rests between its ramp-up and what counts, to have its orders counted: it has to know both.
fn course_words(load: &[String], cell: &Cell<'_>) -> Vec<String> {
    if load.first().is_none_or(|first| first != "tpcc") {
        return Vec::new();
    }
    let design = cell.design;
    vec![
        format!("--ramp-up={}ms", design.warm_up.at_least.as_millis()),
        format!("--time={}ms", design.measure.as_millis()),
    ]
}

/// Intervals of all generators, as one line when each has told its own.
struct Told {
    waiting: Vec<Vec<Interval>>,
}

impl Told {
    fn new(generators: usize) -> Self {
        Self { waiting: vec![Vec::new(); generators] }
    }

    fn hear(&mut self, from: usize, interval: &Interval) -> Option<Progress> {
        self.waiting[from].push(interval.clone());
        if self.waiting.iter().any(Vec::is_empty) {
            return None;
        }
        let all: Vec<Interval> = self.waiting.iter_mut().map(|waiting| waiting.remove(0)).collect();
        let mut latencies = Latencies::new();
        all.iter().for_each(|interval| latencies.merge(&interval.latencies));
        let rate = |interval: &Interval| {
            interval.counts.transactions as f64 / interval.length.as_secs_f64().max(1e-9)
        };
        let first = &all[0];
        Some(Progress {
            elapsed: first.begin + first.length,
            warming_up: all.iter().any(|interval| interval.warm_up),
            transactions_per_sec: all.iter().map(rate).sum(),
            p95: latencies.quantile(0.95),
            errors: all.iter().map(|interval| interval.counts.ignored_errors).sum(),
        })
    }
}

/// As one would type it, without passwords.
fn shown(words: &[String]) -> String {
    let word = |word: &String| {
        let secret = word.split_once("://").and_then(|(scheme, rest)| {
            let (login, host) = rest.split_once('@')?;
            let (user, _) = login.split_once(':')?;
            Some(format!("{scheme}://{user}:***@{host}"))
        });
        let word = secret.unwrap_or_else(|| word.clone());
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@*?&%+".contains(c);
        if word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn port_error(error: GeneratorError) -> PortError {
    match error {
        GeneratorError::Cancelled => PortError::Cancelled,
        other => PortError::Failed(other.to_string()),
    }
}
