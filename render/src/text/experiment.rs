//! Verdicts, and the tables that reports of placements print.

use super::said::paragraph;
use super::tables::{drawn, plain_table};
use crate::captions::printable;
use crate::en::experiment as en;
use crate::en::labels;
use crate::look::Look;
use crate::style::Meaning;
use numawise_experiment::gain::{GainRow, Impossible};
use numawise_experiment::imported::{ImportedRun, Labelled};
use numawise_experiment::targets::Together;
use numawise_experiment::{Comparison, DesignRefused, Doubt, Judgement, Metric, Panel, Verdict};

/// A table of all comparisons, the control's beside it, then each verdict in a line, and under them every
/// doubt once.
pub fn judgement(judgement: &Judgement, look: &Look) -> String {
    let mut table = plain_table(look.width);
    table.set_header(en::COMPARISON_TABLE);
    for comparison in &judgement.comparisons {
        table.add_row(comparison_row(comparison));
    }
    let mut text = drawn(table);
    if !judgement.panels.is_empty() {
        text += &format!("\n{}", panels(&judgement.panels, look));
    }
    if !judgement.comparisons.is_empty() {
        text += &format!("\n{}\n", printable(&en::against(&judgement.baseline, judgement.worth)));
    }
    for comparison in &judgement.comparisons {
        text += &format!("  {}", verdict(comparison, judgement.worth, look));
    }
    let doubts = distinct_doubts(&judgement.comparisons);
    if !doubts.is_empty() {
        text.push('\n');
    }
    for doubt in doubts {
        text += &one_doubt(doubt, &judgement.comparisons, look);
    }
    text
}

/// Each once, those that bar a verdict first.
fn distinct_doubts(comparisons: &[Comparison]) -> Vec<&Doubt> {
    let mut found: Vec<&Doubt> = Vec::new();
    for doubt in comparisons.iter().flat_map(|comparison| &comparison.doubts) {
        if !found.contains(&doubt) {
            found.push(doubt);
        }
    }
    found.sort_by_key(|doubt| !doubt.bars());
    found
}

/// Whom a doubt is about: nobody in particular, scenarios as a whole, or single comparisons.
fn doubted(doubt: &Doubt, comparisons: &[Comparison]) -> Option<String> {
    let has = |comparison: &Comparison| comparison.doubts.contains(doubt);
    if comparisons.iter().all(has) {
        return None;
    }
    let concerned: Vec<&Comparison> = comparisons.iter().filter(|c| has(c)).collect();
    let mut scenarios: Vec<&str> = concerned.iter().map(|c| c.scenario.as_str()).collect();
    scenarios.sort_unstable();
    scenarios.dedup();
    let is_of_them = |c: &&Comparison| scenarios.contains(&c.scenario.as_str());
    if comparisons.iter().filter(is_of_them).all(has) {
        return Some(scenarios.join("; "));
    }
    Some(concerned.into_iter().map(en::about).collect::<Vec<_>>().join("; "))
}

fn comparison_row(comparison: &Comparison) -> [String; 8] {
    let nothing = || en::NOTHING.to_owned();
    let value = |value: Option<f64>| value.map_or_else(nothing, |value| format!("{value:.2}"));
    let effect = comparison.effect.as_ref();
    [
        printable(&comparison.scenario),
        printable(&en::cell(&comparison.cell)),
        en::metric(comparison.metric).to_owned(),
        value(comparison.baseline_value),
        value(comparison.scenario_value),
        effect.map_or_else(nothing, |effect| en::changed(effect.change)),
        en::interval(effect.and_then(|effect| effect.interval)),
        effect.map_or_else(nothing, |effect| effect.pairs.to_string()),
    ]
}

fn panels(panels: &[Panel], look: &Look) -> String {
    let mut table = plain_table(look.width);
    table.set_header(en::PANEL_TABLE);
    for panel in panels {
        let floor =
            panel.noise_floor.map_or_else(|| en::NOTHING.to_owned(), |f| format!("{f:.2} %"));
        table.add_row([
            printable(&en::cell(&panel.cell)),
            en::metric(panel.metric).to_owned(),
            en::changed(panel.change),
            en::interval(panel.interval),
            panel.pairs.to_string(),
            floor,
        ]);
    }
    drawn(table)
}

fn verdict(comparison: &Comparison, worth: f64, look: &Look) -> String {
    let meaning = match comparison.verdict {
        Verdict::ProvenGain => Meaning::Added,
        Verdict::ProvenLoss => Meaning::Error,
        Verdict::Equivalent => Meaning::Note,
        Verdict::Inconclusive { .. } => Meaning::Warning,
    };
    let about = printable(&en::about(comparison));
    let line = printable(&en::verdict_line(comparison, worth));
    format!("{about}: {}\n", look.paint(meaning, &line))
}

fn one_doubt(doubt: &Doubt, comparisons: &[Comparison], look: &Look) -> String {
    let meaning = if doubt.bars() { Meaning::Warning } else { Meaning::Note };
    let head = look.paint(meaning, &format!("{}:", en::is_barring(doubt)));
    let whom = doubted(doubt, comparisons).map_or_else(String::new, |whom| printable(&whom) + ": ");
    paragraph(&format!("{head} {whom}"), &en::doubts::doubt(doubt), look)
}

/// Why an experiment cannot be run as it was designed.
pub fn design_refusals(refusals: &[DesignRefused], look: &Look) -> String {
    let head = look.paint(Meaning::Error, &format!("{}:", labels::REFUSED));
    let said = refusals.iter().map(en::designs::refused);
    said.map(|said| paragraph(&format!("{head} "), &said, look)).collect()
}

/// Throughput and its gain, 95th percentile and its fall, against the first row.
pub fn gains(rows: &[GainRow], look: &Look) -> String {
    let mut table = plain_table(look.width);
    table.set_header(en::GAIN_TABLE);
    let percent = |value: Option<f64>, first: bool| match value {
        Some(value) => format!("{value:.2} %"),
        None if first => en::AGAINST.to_owned(),
        None => en::NOTHING.to_owned(),
    };
    for (index, row) in rows.iter().enumerate() {
        let figures = &row.figures;
        table.add_row([
            printable(&figures.scenario),
            printable(figures.host.as_deref().unwrap_or(en::NOTHING)),
            known(figures.threads),
            en::tps(figures.tps),
            percent(row.tps_gain, index == 0),
            milliseconds(figures.latency_p95),
            percent(row.latency_fall, index == 0),
        ]);
    }
    drawn(table)
}

/// Several targets at once: each, then all together.
pub fn targets(all: &Together, look: &Look) -> String {
    let mut table = plain_table(look.width);
    table.set_header(en::TARGET_TABLE);
    for target in &all.targets {
        table.add_row([
            printable(&target.name),
            en::tps(target.tps),
            format!("{:+.1} %", 100.0 * (target.tps / all.average_tps - 1.0)),
            milliseconds(target.latency_mean),
            milliseconds(target.latency_p99),
            milliseconds(target.latency_max),
        ]);
    }
    let lines = en::together(all).into_iter().map(|line| printable(&line) + "\n");
    drawn(table) + "\n" + &lines.collect::<String>()
}

/// Runs that count orders instead of seconds.
pub fn orders(runs: &[Labelled], look: &Look) -> String {
    let mut table = plain_table(look.width);
    table.set_header(en::HAMMER_TABLE);
    let value = |run: &ImportedRun, metric| {
        run.values
            .get(&metric)
            .map_or_else(|| en::NOTHING.to_owned(), |value| format!("{value:.0}"))
    };
    for labelled in runs {
        table.add_row([
            printable(&labelled.scenario),
            printable(labelled.host.as_deref().unwrap_or(en::NOTHING)),
            known(labelled.run.threads),
            value(&labelled.run, Metric::Nopm),
            value(&labelled.run, Metric::Tpm),
        ]);
    }
    drawn(table)
}

/// The stored procedures of a run, as its time profile has them.
pub fn procedures(labelled: &Labelled, look: &Look) -> String {
    let mut table = plain_table(look.width);
    table.set_header(en::PROCEDURE_TABLE);
    for one in &labelled.run.procedures {
        let latencies = [one.min, one.mean, one.p50, one.p95, one.p99, one.max];
        let latencies = latencies.map(|latency| format!("{latency:.2}"));
        let begin = [printable(&one.name), one.calls.to_string()];
        table.add_row(begin.into_iter().chain(latencies));
    }
    let of = format!("{} ({})", labelled.scenario, en::tool(&labelled.run.tool));
    format!("{}\n{}", printable(&of), drawn(table))
}

/// A latency in a report that cannot be.
pub fn impossible(scenario: &str, found: &Impossible, look: &Look) -> String {
    let head = look.paint(Meaning::Warning, &format!("{}:", en::NOTE));
    format!("{head} {}\n", printable(&en::impossible(scenario, found)))
}

fn known(number: Option<u32>) -> String {
    number.map_or_else(|| en::NOTHING.to_owned(), |number| number.to_string())
}

fn milliseconds(latency: Option<f64>) -> String {
    latency.map_or_else(|| en::NOTHING.to_owned(), |latency| format!("{latency:.2}"))
}
