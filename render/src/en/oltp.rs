//! What is said of a load and of its figures.

use crate::quantity::count;
use crate::text::{LoadHead, TableState};

pub const WARM_UP_MARK: &str = " (warm-up)";
pub const CLOSED_LOOP: &str = "A closed loop sends nothing while the server stalls, so these are no \
                               latencies of users; --rate measures those.";

pub fn head(head: &LoadHead) -> String {
    let LoadHead { target, workload, dialect, distribution, tables, table_size, seed, .. } = head;
    let how = if head.as_text { "as text" } else { "prepared" };
    let pace = match head.rate {
        Some(rate) => format!("open loop, {rate} arrivals per second"),
        None => "closed loop".to_owned(),
    };
    format!(
        "{workload} on {target}, {pace}\nsysbench dialect {dialect}, keys {distribution}, {}, \
         statements {how}, seed {seed}",
        count(u64::from(*tables), "table") + &format!(" of {table_size} rows"),
    )
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
