//! What the server counts for an event is the same whichever tool sends it.

use crate::sysbench::{self, Server, script};
use crate::tables::{fill, options, run_events, target};
use numawise_database::oltp::{Options, Workload};
use numawise_testkit::servers::{PrivateMariaDb, PrivatePostgres};
use std::collections::BTreeMap;

const EVENTS: u64 = 50;

/// The server's counters of statements, and of what they did to rows.
fn counters(server: &PrivateMariaDb) -> BTreeMap<String, i64> {
    let names = "'Com_select','Com_insert','Com_update','Com_delete','Com_begin','Com_commit',\
                 'Com_rollback','Com_stmt_execute','Handler_commit','Com_stmt_prepare'";
    let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({names})");
    let text = server.sql(&sql);
    let pairs = text.lines().filter_map(|line| {
        let (name, value) = line.split_once('\t')?;
        Some((name.to_owned(), value.parse().ok()?))
    });
    pairs.collect()
}

fn difference(
    before: &BTreeMap<String, i64>,
    after: &BTreeMap<String, i64>,
) -> BTreeMap<String, i64> {
    after.iter().map(|(name, value)| (name.clone(), value - before[name])).collect()
}

fn sizes(options: &Options) -> Vec<String> {
    vec![format!("--tables={}", options.tables), format!("--table-size={}", options.table_size)]
}

#[test]
fn mariadb_counts_the_same_statements_for_each_workload() {
    if !sysbench::is_here() {
        return;
    }
    let Some(server) = PrivateMariaDb::start(&["--local-infile=1"]) else { return };
    let socket = server.socket();
    fill(&target(&server.target()), &options(Workload::ReadWrite, 2, 20_000), 2, false);
    for workload in Workload::ALL {
        let one = matches!(workload, Workload::RandomPoints | Workload::RandomRanges);
        let wanted = options(workload, if one { 1 } else { 2 }, 20_000);
        let mut flags = sizes(&wanted);
        flags.extend(["--rand-type=uniform", "--threads=1", "--time=0"].map(str::to_owned));
        flags.push(format!("--events={EVENTS}"));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let before = counters(&server);
        sysbench::run(Server::MariaDb { socket: &socket }, &script(workload), "run", &flags);
        let theirs = difference(&before, &counters(&server));
        let before = counters(&server);
        let measured = run_events(&target(&server.target()), &wanted, 1, EVENTS);
        let ours = difference(&before, &counters(&server));
        assert_eq!(ours, theirs, "{workload:?}");
        assert_eq!(measured.counts.transactions, EVENTS, "{workload:?}");
    }
}

/// sysbench says how many of its queries were reads, writes and others.
fn said_counts(said: &str) -> [u64; 3] {
    ["read:", "write:", "other:"].map(|name| {
        let line = said.lines().find(|line| line.trim().starts_with(name)).expect(name);
        line.rsplit(' ').next().and_then(|number| number.parse().ok()).expect(name)
    })
}

#[test]
fn reads_writes_and_others_are_told_apart_as_sysbench_does() {
    if !sysbench::is_here() {
        return;
    }
    let Some(server) = PrivateMariaDb::start(&[]) else { return };
    let socket = server.socket();
    fill(&target(&server.target()), &options(Workload::ReadWrite, 1, 20_000), 2, false);
    for workload in [Workload::ReadOnly, Workload::ReadWrite, Workload::WriteOnly, Workload::Insert]
    {
        let wanted = options(workload, 1, 20_000);
        let flags = ["--table-size=20000", "--rand-type=uniform", "--events=50", "--time=0"];
        let judge = Server::MariaDb { socket: &socket };
        let theirs = said_counts(&sysbench::run(judge, &script(workload), "run", &flags));
        let counts = run_events(&target(&server.target()), &wanted, 1, EVENTS).counts;
        assert_eq!([counts.reads, counts.writes, counts.others], theirs, "{workload:?}");
    }
}

/// Calls by the texts that the server keeps, whatever stands for the parameters.
fn postgres_calls(server: &PrivatePostgres) -> Vec<String> {
    let sql = "SELECT query, calls FROM pg_stat_statements WHERE query ILIKE '%sbtest%' OR \
               query IN ('BEGIN', 'COMMIT') ORDER BY 1, 2";
    server.sql(sql).lines().map(str::to_owned).collect()
}

#[test]
fn postgres_counts_the_same_statements_for_each_workload() {
    if !sysbench::is_here() {
        return;
    }
    let Some(server) = PrivatePostgres::start(&["shared_preload_libraries=pg_stat_statements"])
    else {
        return;
    };
    server.sql("CREATE EXTENSION pg_stat_statements");
    fill(&target(&server.target()), &options(Workload::ReadWrite, 1, 20_000), 2, false);
    for workload in Workload::ALL {
        let wanted = options(workload, 1, 20_000);
        let flags =
            ["--table-size=20000", "--rand-type=uniform", "--threads=1", "--events=50", "--time=0"];
        server.sql("SELECT pg_stat_statements_reset()");
        let judge = Server::Postgres { port: server.port() };
        sysbench::run(judge, &script(workload), "run", &flags);
        // sysbench's own indentation is no difference.
        let plain = |calls: Vec<String>| -> Vec<String> {
            let words = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ");
            calls
                .iter()
                .map(words)
                .collect::<Vec<_>>()
                .join(" ")
                .split('|')
                .map(str::to_owned)
                .collect()
        };
        let theirs = plain(postgres_calls(&server));
        server.sql("SELECT pg_stat_statements_reset()");
        run_events(&target(&server.tcp_target()), &wanted, 1, EVENTS);
        let ours = plain(postgres_calls(&server));
        assert_eq!(ours, theirs, "{workload:?}");
    }
}
