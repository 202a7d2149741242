//! What is said of a load and of its figures.

use crate::quantity::count;
use crate::text::{LoadHead, TableState};
use numawise_experiment::{GeneratorUsage, Measured, Schedule, Steadiness};

pub const WARM_UP_MARK: &str = " (warm-up)";
pub const PER_SECOND: &str = "per s";
pub const TRANSACTIONS: &str = "transactions:";
pub const QUERIES: &str = "queries:";
pub const READS: &str = "  read:";
pub const WRITES: &str = "  write:";
pub const OTHERS: &str = "  other:";
pub const IGNORED: &str = "ignored errors:";
pub const RECONNECTS: &str = "reconnects:";
pub const TIME: &str = "time:";
pub const SCHEDULE: &str = "arrivals:";
pub const GENERATOR: &str = "this generator:";
pub const CLOSED_LOOP: &str = "A closed loop sends nothing while the server stalls, so these are no \
                               latencies of users; --rate measures those.";

pub fn head(head: &LoadHead, measured: &Measured) -> String {
    let LoadHead { target, workload, dialect, distribution, tables, table_size, seed, .. } = head;
    let how = if head.as_text { "as text" } else { "prepared" };
    let loop_kind = match head.rate {
        Some(rate) => format!("open loop, {rate} arrivals per second"),
        None => "closed loop".to_owned(),
    };
    let warm_up = match measured.steadiness {
        Steadiness::NotWarmedUp => "without warm-up".to_owned(),
        Steadiness::Assumed { after } => {
            format!("after {:.0} s, whether steady by then or not", after.as_secs_f64())
        }
        Steadiness::Steady { after } => format!("steady after {:.0} s", after.as_secs_f64()),
        Steadiness::NotSteady { after } => {
            format!("not steady after {:.0} s", after.as_secs_f64())
        }
    };
    format!(
        "{workload} on {target}\nsysbench dialect {dialect}, keys {distribution}, {tables} x {table_size} rows, \
         statements {how}, seed {seed}\n{} connections on {} threads, {loop_kind}, {warm_up}",
        measured.generator.connections, measured.generator.threads,
    )
}

pub fn latency(is_open: bool) -> &'static str {
    if is_open { "latency from the intended start (ms):" } else { "latency (ms):" }
}

pub fn schedule(schedule: &Schedule) -> String {
    let Schedule { intended, done, late, failed, longest_wait } = schedule;
    format!(
        "{intended} intended: {done} done in time, {late} done late (up to {:.2} ms), {failed} failed",
        longest_wait.as_secs_f64() * 1000.0
    )
}

pub fn generator(usage: &GeneratorUsage, queries: u64) -> String {
    let cpu = (usage.user + usage.system).as_secs_f64();
    let mut text = format!("{cpu:.2} s of CPU");
    if queries > 0 {
        text.push_str(&format!(", {:.1} us per query", cpu * 1e6 / queries as f64));
    }
    if let Some(bytes) = usage.resident_peak_bytes {
        text.push_str(&format!(", up to {:.1} MiB of memory", bytes as f64 / 1_048_576.0));
    }
    text
}

pub fn table_state(state: &TableState, wanted: u32, wants_index: bool) -> String {
    let (table, rows, misshapen, is_indexed, is_good) = state;
    let Some(rows) = rows else { return format!("sbtest{table}: is not there") };
    let mut said = vec![format!("{rows} rows")];
    if *rows != u64::from(wanted) {
        said[0].push_str(&format!(", not {wanted}"));
    }
    if *misshapen > 0 {
        said.push(format!("{misshapen} rows with texts that are not sysbench's"));
    }
    match (is_indexed, wants_index) {
        (true, true) | (false, false) => {}
        (false, true) => said.push("no index on k".to_owned()),
        (true, false) => said.push("an index on k that was not asked for".to_owned()),
    }
    let verdict = if *is_good { "good" } else { "not as it was filled" };
    format!("sbtest{table}: {verdict}: {}", said.join("; "))
}

pub fn prepared(tables: u32, rows: u64, seconds: f64, seed: u64) -> String {
    format!(
        "{rows} rows in {} after {seconds:.1} s, seed {seed}",
        count(u64::from(tables), "table")
    )
}

/// By the server's code: MySQL's number, or PostgreSQL's state.
pub fn next_step(code: &str) -> Option<&'static str> {
    match code {
        "1146" | "42P01" => Some("Make the tables first: numawise oltp prepare"),
        "1050" | "42P07" => Some("They are there already; numawise oltp cleanup drops them."),
        "1461" => Some(
            "Each connection prepares each statement for each table. Raise max_prepared_stmt_count, \
             or send statements as text: --db-ps-mode disable",
        ),
        "1062" | "23505" => Some(
            "With --skip-trx, or with ids of the generator's, two connections may insert the same \
             id; --mysql-ignore-errors 1213,1020,1205,1062 runs such a transaction again.",
        ),
        _ => None,
    }
}
