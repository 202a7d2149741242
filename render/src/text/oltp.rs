//! What one run of a load did: a line for each interval, and the figures at the end.

use crate::en::oltp as en;
use numawise_experiment::{Interval, Latencies};
use std::time::Duration;

/// What was run, for the head of its figures.
#[derive(Clone, Debug)]
pub struct LoadHead {
    pub target: String,
    pub workload: &'static str,
    pub dialect: &'static str,
    pub distribution: String,
    pub tables: u32,
    pub table_size: u32,
    pub seed: u64,
    /// Statements go as text.
    pub as_text: bool,
    /// Arrivals per second of an open loop.
    pub rate: Option<f64>,
    /// A percentile that was asked for besides the usual ones.
    pub percentile: Option<f64>,
}

/// `[ 3s ] ...`, as soon as an interval is over.
pub fn load_interval(interval: &Interval, connections: u32) -> String {
    let seconds = interval.length.as_secs_f64();
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let counts = &interval.counts;
    let queries = counts.reads + counts.writes + counts.others;
    let end = (interval.begin + interval.length).as_secs_f64();
    let mark = if interval.warm_up { en::WARM_UP_MARK } else { "" };
    format!(
        "[ {end:.0}s ] thds: {connections} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms): p95 {} p99 {} \
         err/s: {:.2} reconn/s: {:.2}{mark}",
        rate(counts.transactions),
        rate(queries),
        rate(counts.reads),
        rate(counts.writes),
        rate(counts.others),
        quantile(&interval.latencies, 0.95),
        quantile(&interval.latencies, 0.99),
        rate(counts.ignored_errors),
        rate(counts.reconnects),
    )
}

/// What stands above the figures of a run.
pub fn load_head(head: &LoadHead) -> String {
    en::head(head)
}

/// What stands below them.
pub fn load_foot(head: &LoadHead, latencies: &Latencies) -> String {
    let mut lines = Vec::new();
    if let Some(percentile) = head.percentile {
        lines.push(format!("p{percentile}: {} ms", quantile(latencies, percentile / 100.0)));
    }
    if head.rate.is_none() {
        lines.push(en::CLOSED_LOOP.to_owned());
    }
    lines.join("\n")
}

fn quantile(latencies: &Latencies, quantile: f64) -> String {
    millis(latencies.quantile(quantile))
}

fn millis(time: Option<Duration>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| format!("{:.2}", time.as_secs_f64() * 1000.0))
}

/// Table, its rows, those misshapen, whether it has its index, and whether all that is as it should be.
pub type TableState = (u32, Option<u64>, u64, bool, bool);

/// A line for each table.
pub fn load_checks(tables: &[TableState], wanted: u32, wants_index: bool) -> String {
    tables.iter().map(|state| en::table_state(state, wanted, wants_index) + "\n").collect()
}

/// The tables are there.
pub fn load_prepared(tables: u32, rows: u64, seconds: f64, seed: u64) -> String {
    en::prepared(tables, rows, seconds, seed)
}

/// What to do about a statement that was refused with this code, if that is known.
pub fn load_next_step(code: Option<&String>) -> Option<&'static str> {
    en::next_step(code?)
}
