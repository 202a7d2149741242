//! A load on CPUs: events, latencies, each thread with its CPU's frequency.

use super::tables::{drawn, plain_table};
use crate::en::cpu as en;
use crate::look::Look;
use crate::quantity::msec;
use crate::style::Meaning;
use core::time::Duration;
use numawise_experiment::{CpuRun, Interval};

pub fn cpu_run(run: &CpuRun, look: &Look) -> String {
    let mut text = look.paint(Meaning::Title, &en::title(run)) + "\n";
    text += &format!("{}\n\n", en::events(run));
    let latencies = &run.measured.latencies;
    let ms = |time: Option<Duration>| time.map_or_else(|| en::UNKNOWN.to_owned(), msec);
    let mut table = plain_table(look.width);
    table.set_header(en::LATENCY_TABLE);
    let quantiles = [0.5, 0.95, 0.99, 0.999].map(|quantile| ms(latencies.quantile(quantile)));
    table.add_row(
        [String::new(), ms(latencies.mean())]
            .into_iter()
            .chain(quantiles)
            .chain([ms(latencies.max())]),
    );
    text += &(drawn(table) + "\n");
    let mut table = plain_table(look.width);
    table.set_header(en::THREAD_TABLE);
    for (number, thread) in run.threads.iter().enumerate() {
        let rate = run.measured.per_second(thread.events);
        table.add_row([
            number.to_string(),
            en::place(thread.pinned),
            thread.events.to_string(),
            rate.map_or_else(|| en::UNKNOWN.to_owned(), |rate| format!("{rate:.2}")),
            en::frequency(thread.frequency),
        ]);
    }
    text + &drawn(table) + "\n" + en::source(run.source) + "\n"
}

/// One line while it runs.
pub fn cpu_progress(interval: &Interval) -> String {
    let ms = |quantile| {
        interval.latencies.quantile(quantile).map_or_else(|| en::UNKNOWN.to_owned(), msec)
    };
    let at = (interval.begin + interval.length).as_secs_f64();
    let rate = interval.counts.transactions as f64 / interval.length.as_secs_f64().max(1e-9);
    format!("[{at:>6.1} s] {rate:>9.1} events/s  p95 {} ms  p99 {} ms", ms(0.95), ms(0.99))
}
