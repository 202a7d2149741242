//! Tables that either tool has filled are good for the other.

use crate::sysbench::{self, Server};
use numawise_database::oltp::{Dialect, Options, Workload};
use numawise_database::{Connected, Filling, Load, LoadError, Target, check, cleanup, prepare};
use numawise_experiment::Measured;
use numawise_testkit::servers::{PrivateMariaDb, PrivatePostgres};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const ROWS: u32 = 60_000;

pub fn target(text: &str) -> Target {
    text.parse().expect("a target")
}

pub fn options(workload: Workload, tables: u32, table_size: u32) -> Options {
    Options { tables, table_size, ..Options::new(workload, Dialect::V1_1) }
}

pub fn fill(target: &Target, options: &Options, loaders: u32, as_statements: bool) {
    let filling = Filling { options: options.clone(), loaders, seed: 7, as_statements };
    prepare(target, &filling, &AtomicBool::new(false), &|_| {}).expect("tables");
}

/// Runs so many events over these connections.
pub fn run_events(target: &Target, options: &Options, connections: u32, events: u64) -> Measured {
    let load = Load {
        connections,
        time: None,
        events: Some(events),
        seed: 3,
        ..Load::new(options.clone())
    };
    run(target, &load).expect("a run")
}

pub fn run(target: &Target, load: &Load) -> Result<Measured, LoadError> {
    let connected = Connected::connect(target, load)?;
    connected.run(Instant::now(), &AtomicBool::new(false), |_| {})
}

/// Rows, least and greatest id, and what a checksum of shapes says, by the server's own client.
const SHAPE: &str = "SELECT COUNT(*), MIN(id), MAX(id), MIN(LENGTH(c)), MAX(LENGTH(c)), \
                     MIN(LENGTH(pad)), MAX(LENGTH(pad)), MIN(k) >= 1, MAX(k) <= 60000 FROM ";

#[test]
fn either_tool_runs_on_the_others_tables_on_mariadb() {
    if !sysbench::is_here() {
        return;
    }
    let Some(server) = PrivateMariaDb::start(&["--local-infile=1"]) else { return };
    let socket = server.socket();
    let judge = Server::MariaDb { socket: &socket };
    let sizes = ["--tables=2", "--table-size=60000", "--threads=2"];
    sysbench::run(judge, "oltp_read_write", "prepare", &sizes);
    let schema = |table: u32| {
        let sql = format!("SHOW CREATE TABLE sbtest.sbtest{table}");
        // The counter stands behind the last id, and how far behind is the way of filling's.
        let text = server.sql(&sql);
        text.split("AUTO_INCREMENT=")
            .map(|part| part.trim_start_matches(char::is_numeric).to_owned())
            .collect::<String>()
    };
    let shape = |table: u32| server.sql(&format!("{SHAPE} sbtest.sbtest{table}"));
    let theirs: Vec<_> = (1..=2).map(|table| (schema(table), shape(table))).collect();
    let wanted = options(Workload::ReadWrite, 2, ROWS);
    let ours_on_theirs = run_events(&target(&server.tcp_target()), &wanted, 2, 100);
    assert_eq!(ours_on_theirs.counts.transactions, 100);

    for (loaders, as_statements) in [(3, false), (2, true), (1, false)] {
        let target = target(&server.target());
        cleanup(&target, &wanted).expect("gone");
        fill(&target, &wanted, loaders, as_statements);
        let ours: Vec<_> = (1..=2).map(|table| (schema(table), shape(table))).collect();
        assert_eq!(ours, theirs, "{loaders} loaders, statements: {as_statements}");
        let checks = check(&target, &wanted).expect("a look");
        assert!(
            checks
                .iter()
                .all(|c| c.rows == Some(u64::from(ROWS)) && c.misshapen == 0 && c.is_indexed),
            "{checks:?}"
        );
    }
    let said = sysbench::run(
        judge,
        "oltp_read_write",
        "run",
        &["--tables=2", "--table-size=60000", "--threads=2", "--events=100", "--time=0"],
    );
    assert!(said.contains("transactions:                        100"), "{said}");
    // What it deletes it inserts again.
    assert_eq!(shape(1), theirs[0].1);
}

#[test]
fn the_same_seed_fills_the_same_rows_however_many_load() {
    let Some(server) = PrivateMariaDb::start(&["--local-infile=1"]) else { return };
    let (target, wanted) = (target(&server.target()), options(Workload::ReadWrite, 2, ROWS));
    let mut sums = Vec::new();
    for (loaders, as_statements) in [(1, false), (5, false), (3, true)] {
        cleanup(&target, &wanted).expect("gone");
        fill(&target, &wanted, loaders, as_statements);
        sums.push(server.sql("CHECKSUM TABLE sbtest.sbtest1, sbtest.sbtest2"));
    }
    assert_eq!(sums[0], sums[1]);
    assert_eq!(sums[0], sums[2]);
}

#[test]
fn where_the_server_takes_no_files_rows_go_in_statements() {
    let Some(server) = PrivateMariaDb::start(&["--local-infile=0"]) else { return };
    let (target, wanted) = (target(&server.target()), options(Workload::ReadWrite, 1, 30_000));
    fill(&target, &wanted, 1, false);
    assert_eq!(server.sql("SELECT COUNT(*) FROM sbtest.sbtest1").trim(), "30000");
    let filling = Filling { options: wanted, loaders: 1, seed: 1, as_statements: false };
    let twice = prepare(&target, &filling, &AtomicBool::new(false), &|_| {});
    assert!(matches!(twice, Err(LoadError::Statement { code, .. }) if code == "1050"));
}

#[test]
fn either_tool_runs_on_the_others_tables_on_postgres() {
    if !sysbench::is_here() {
        return;
    }
    let Some(server) = PrivatePostgres::start(&[]) else { return };
    let judge = Server::Postgres { port: server.port() };
    let sizes = ["--tables=2", "--table-size=60000", "--threads=2"];
    sysbench::run(judge, "oltp_read_write", "prepare", &sizes);
    let shape = |table: u32| server.sql(&format!("{SHAPE} sbtest{table}"));
    let schema = |table: u32| {
        server.sql(&format!(
            "SELECT column_name, data_type, character_maximum_length, is_nullable, column_default \
             FROM information_schema.columns WHERE table_name = 'sbtest{table}' ORDER BY \
             ordinal_position; SELECT indexdef FROM pg_indexes WHERE tablename = 'sbtest{table}' \
             ORDER BY 1; SELECT last_value, is_called FROM sbtest{table}_id_seq"
        ))
    };
    let theirs: Vec<_> = (1..=2).map(|table| (schema(table), shape(table))).collect();
    let wanted = options(Workload::ReadWrite, 2, ROWS);
    // Over TCP a password is asked for: SCRAM.
    let tcp = target(&server.tcp_target());
    assert_eq!(run_events(&tcp, &wanted, 2, 100).counts.transactions, 100);
    for (loaders, as_statements) in [(3, false), (1, true)] {
        let target = target(&server.target());
        cleanup(&target, &wanted).expect("gone");
        fill(&target, &wanted, loaders, as_statements);
        let ours: Vec<_> = (1..=2).map(|table| (schema(table), shape(table))).collect();
        assert_eq!(ours, theirs);
    }
    let events = ["--tables=2", "--table-size=60000", "--threads=2", "--events=100", "--time=0"];
    let said = sysbench::run(judge, "oltp_read_write", "run", &events);
    assert!(said.contains("transactions:                        100"), "{said}");
}

#[test]
fn sqlite_needs_no_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = target(&format!("sqlite:{}", folder.path().join("bench.db").display()));
    let wanted = options(Workload::ReadWrite, 2, 30_000);
    fill(&target, &wanted, 4, false);
    let checks = check(&target, &wanted).expect("a look");
    assert!(checks.iter().all(|c| c.rows == Some(30_000) && c.is_indexed), "{checks:?}");
    for workload in Workload::ALL {
        let tables =
            if matches!(workload, Workload::RandomPoints | Workload::RandomRanges) { 1 } else { 2 };
        let measured = run_events(&target, &options(workload, tables, 30_000), 3, 200);
        assert_eq!(measured.counts.transactions, 200, "{workload:?}");
        assert_eq!(measured.latencies.count(), 200, "{workload:?}");
    }
    let rows: u64 = check(&target, &wanted).expect("a look").iter().filter_map(|c| c.rows).sum();
    // read_write and write_only put back what they delete; 200 inserts, and some deletes met no row.
    assert!((60_000..=60_200).contains(&rows), "{rows}");
    let timed = Load {
        time: Some(Duration::from_millis(300)),
        connections: 4,
        ..Load::new(wanted.clone())
    };
    assert!(run(&target, &timed).expect("a run").counts.transactions > 0);
    cleanup(&target, &wanted).expect("gone");
    assert!(check(&target, &wanted).expect("a look").iter().all(|c| c.rows.is_none()));
}
