//! What a run measured, as tables.

use super::tables::{drawn, plain_table};
use crate::en::measured as en;
use crate::look::Look;
use crate::quantity::msec;
use core::time::Duration;
use numawise_experiment::{Latencies, Measured};

/// Counts with their rates, latencies, each kind of transaction, and what the generator cost.
pub fn measured(measured: &Measured, look: &Look) -> String {
    let mut text = en::window(measured.elapsed, &measured.generator) + "\n";
    text += &(en::steadiness(measured.steadiness) + "\n\n");
    text += &(counts(measured, look) + "\n");
    text += &latencies(&measured.latencies, look);
    if !measured.kinds.is_empty() {
        text += &format!("\n{}", kinds(measured, look));
    }
    text.push('\n');
    if let Some(schedule) = &measured.schedule {
        text += &(en::schedule(schedule) + "\n");
    }
    let (usage, done) = (&measured.generator, measured.counts.transactions);
    text + &en::generator(usage, measured.generator_cpus(), done) + "\n"
}

fn counts(measured: &Measured, look: &Look) -> String {
    let counts = &measured.counts;
    let mut table = plain_table(look.width);
    table.set_header(en::COUNT_TABLE);
    let usual = [(en::TRANSACTIONS, counts.transactions), (en::QUERIES, counts.queries())];
    let statements =
        [(en::READS, counts.reads), (en::WRITES, counts.writes), (en::OTHERS, counts.others)];
    let rare = [
        (en::IGNORED_ERRORS, counts.ignored_errors),
        (en::RECONNECTS, counts.reconnects),
        (en::ROLLBACKS, counts.rollbacks),
    ];
    let rare = rare.into_iter().filter(|(_, count)| *count > 0);
    // A load that is no database's has no statements.
    let statements = statements.into_iter().filter(|_| counts.queries() > 0);
    let usual = usual.into_iter().filter(|(name, n)| *name != en::QUERIES || *n > 0);
    for (name, count) in usual.chain(statements).chain(rare) {
        table.add_row([name.to_owned(), count.to_string(), en::rate(measured.per_second(count))]);
    }
    drawn(table)
}

fn latencies(latencies: &Latencies, look: &Look) -> String {
    let mut table = plain_table(look.width);
    table.set_header(en::LATENCY_TABLE);
    let quantiles = [0.5, 0.95, 0.99, 0.999].map(|quantile| latencies.quantile(quantile));
    let figures = [latencies.mean()]
        .into_iter()
        .chain(quantiles)
        .chain([latencies.min(), latencies.max()])
        .map(latency);
    table.add_row([en::LATENCY.to_owned()].into_iter().chain(figures));
    drawn(table)
}

fn kinds(measured: &Measured, look: &Look) -> String {
    let mut table = plain_table(look.width);
    table.set_header(en::KIND_TABLE);
    for kind in &measured.kinds {
        let latencies = &kind.latencies;
        let (count, rate) =
            (kind.counts.transactions, measured.per_second(kind.counts.transactions));
        let figures = [
            latencies.mean(),
            latencies.quantile(0.5),
            latencies.quantile(0.95),
            latencies.quantile(0.99),
            latencies.max(),
        ];
        let begin = [kind.name.clone(), count.to_string(), en::rate(rate)];
        table.add_row(begin.into_iter().chain(figures.map(latency)));
    }
    drawn(table)
}

fn latency(latency: Option<Duration>) -> String {
    latency.map_or_else(|| en::UNKNOWN.to_owned(), msec)
}
