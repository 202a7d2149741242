//! Runs in the manner of TPC-C: the two figures, the kinds of transactions, the conditions.

use super::said::paragraph;
use super::tables::{drawn, plain_table};
use crate::en::{labels, tpcc as en};
use crate::look::Look;
use crate::quantity::msec;
use crate::style::Meaning;
use core::time::Duration;
use numawise_experiment::{ConditionResult, Counts, Latencies, TpccRun};

/// The whole report of one run.
pub fn tpcc_run(run: &TpccRun, look: &Look) -> String {
    let mut text = look.paint(Meaning::Title, &en::title(run)) + "\n";
    text += &format!(
        "{}\n\n{}\n{}\n{}\n\n",
        en::manner(run),
        en::nopm(run),
        en::tpm(run),
        en::NOT_TPMC
    );
    let mut table = plain_table(look.width);
    table.set_header(en::KIND_TABLE);
    for kind in &run.measured.kinds {
        table.add_row(row(&kind.name, &kind.counts, &kind.latencies));
    }
    table.add_row(row(en::ALL_KINDS, &run.measured.counts, &run.measured.latencies));
    text += &drawn(table);
    text += &format!("\n{}\n", en::client(run));
    for said in en::remarks(run) {
        let head = look.paint(Meaning::Warning, labels::REMARK);
        text += &paragraph(&format!("{head} "), &said, look);
    }
    text
}

fn row(name: &str, counts: &Counts, latencies: &Latencies) -> [String; 10] {
    let ms = |time: Option<Duration>| time.map_or_else(|| en::UNKNOWN.to_owned(), msec);
    [
        name.to_owned(),
        counts.transactions.to_string(),
        counts.rollbacks.to_string(),
        counts.ignored_errors.to_string(),
        ms(latencies.mean()),
        ms(latencies.quantile(0.5)),
        ms(latencies.quantile(0.95)),
        ms(latencies.quantile(0.99)),
        ms(latencies.quantile(0.999)),
        ms(latencies.max()),
    ]
}

pub fn tpcc_condition(result: ConditionResult, look: &Look) -> String {
    let meaning = if result.broken == 0 { Meaning::Note } else { Meaning::Error };
    look.paint(meaning, &en::condition(result))
}

pub fn tpcc_consistent(results: &[ConditionResult]) -> String {
    en::consistent(results.iter().filter(|result| result.broken > 0).count())
}

/// One line while it runs.
pub fn tpcc_progress(
    at: Duration,
    length: Duration,
    is_ramp_up: bool,
    counts: &Counts,
    p95: Option<Duration>,
    p99: Option<Duration>,
) -> String {
    let tps = counts.transactions as f64 / length.as_secs_f64().max(1e-9);
    let mut line = en::progress(at, tps, p95, p99);
    line += &en::progress_of_errors(counts.ignored_errors, counts.reconnects);
    if is_ramp_up {
        line += en::RAMP_UP;
    }
    line
}

pub fn tpcc_loading(done: usize, all: usize) -> String {
    en::loading(done, all)
}

pub fn tpcc_indexes() -> &'static str {
    en::INDEXES
}
