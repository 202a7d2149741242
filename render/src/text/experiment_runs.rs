//! Experiments under way and recorded: lines and tables.

use super::tables::{drawn, plain_table};
use crate::captions::printable;
use crate::en::experiment_runs as en;
use crate::en::measured::UNKNOWN;
use crate::look::Look;
use crate::quantity::per_second;
use core::time::Duration;
use numawise_experiment::{Arm, Metric, Run, Steadiness};

/// What happens while an experiment is carried out.
#[derive(Clone, Debug)]
pub enum ExperimentLine {
    Begun { runs: usize, recorded: usize },
    Applying { scenario: String, host: String },
    Running { run: String, threads: u32, number: usize, of: usize },
    Recorded { run: String, number: usize, of: usize, per_second: Option<f64> },
    NotTakenBack { scenario: String, why: String },
    Nothing,
}

/// One line, or none for what is no news.
pub fn experiment_event(line: &ExperimentLine) -> Option<String> {
    use ExperimentLine as Line;
    Some(match line {
        Line::Begun { runs, recorded } => en::begun(*runs, *recorded),
        Line::Applying { scenario, host } => en::applying(&printable(scenario), &printable(host)),
        Line::Running { run, threads, number, of } => en::running(*number, *of, run, *threads),
        Line::Recorded { run, number, of, per_second } => {
            en::recorded(*number, *of, run, *per_second)
        }
        Line::NotTakenBack { scenario, why } => en::not_taken_back(&printable(scenario), why),
        Line::Nothing => return None,
    })
}

/// A run that is to be made.
#[derive(Clone, Debug)]
pub struct PlannedLine {
    pub run: String,
    pub scenario: String,
    pub is_control: bool,
    pub workload: String,
    pub threads: u32,
    pub host: String,
}

pub fn experiment_plan(
    lines: &[PlannedLine],
    least: Duration,
    most: Duration,
    look: &Look,
) -> String {
    let mut table = plain_table(look.width);
    table.set_header(en::PLAN_TABLE);
    for (number, line) in (1..).zip(lines) {
        let scenario = scenario(&line.scenario, line.is_control);
        table.add_row([
            format!("{number}"),
            line.run.clone(),
            scenario,
            printable(&line.workload),
            line.threads.to_string(),
            printable(&line.host),
        ]);
    }
    format!("{}{}\n", drawn(table), en::duration(least, most))
}

fn scenario(name: &str, is_control: bool) -> String {
    let name = printable(name);
    if is_control { format!("{name} ({})", en::CONTROL) } else { name }
}

pub fn experiment_head(
    name: &str,
    question: Option<&str>,
    recorded: usize,
    planned: usize,
) -> String {
    let question = question.map(printable);
    en::head(&printable(name), question.as_deref(), recorded, planned)
}

/// Every raw run, in the order in which they were made.
pub fn experiment_runs(runs: &[Run], look: &Look) -> String {
    if runs.is_empty() {
        return format!("{}\n", en::NO_RUNS);
    }
    let mut table = plain_table(look.width);
    table.set_header(en::RUN_TABLE);
    for run in runs {
        let values = run.trial().values;
        let figure = |metric: Metric| {
            values.get(&metric).map_or_else(|| UNKNOWN.to_owned(), |value| per_second(*value))
        };
        let warm_up = match run.observed.measured.steadiness {
            Steadiness::NotWarmedUp => UNKNOWN.to_owned(),
            Steadiness::Steady { after } => seconds(after),
            Steadiness::NotSteady { after } => format!("{}, not steady", seconds(after)),
        };
        table.add_row([
            run.planned.id.to_string(),
            scenario(&run.scenario, run.planned.id.arm == Arm::Control),
            printable(&run.workload),
            run.planned.id.threads.to_string(),
            figure(Metric::Tps),
            figure(Metric::LatencyP95),
            figure(Metric::LatencyP99),
            warm_up,
        ]);
    }
    drawn(table)
}

fn seconds(time: Duration) -> String {
    format!("{} s", crate::quantity::seconds(time))
}

/// An experiment that is recorded.
#[derive(Clone, Debug)]
pub struct ExperimentRow {
    pub name: String,
    /// As text, in the reader's own way.
    pub begun: String,
    pub recorded: usize,
    pub planned: usize,
}

pub fn experiment_list(rows: &[ExperimentRow], look: &Look) -> String {
    if rows.is_empty() {
        return format!("{}\n", en::NO_EXPERIMENTS);
    }
    let mut table = plain_table(look.width);
    table.set_header(en::LIST_TABLE);
    for row in rows {
        table.add_row([
            printable(&row.name),
            row.begun.clone(),
            row.recorded.to_string(),
            row.planned.to_string(),
        ]);
    }
    drawn(table)
}
