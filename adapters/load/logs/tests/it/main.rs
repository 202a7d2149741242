//! Logs that were really written, and what is to be read out of them.

use numawise_experiment::Metric;
use numawise_experiment::imported::{ImportedRun, Tool};
use numawise_logs::{LogError, parse_log, parse_report};
use std::path::PathBuf;
use std::time::Duration;

fn text(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/logs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn runs(name: &str) -> Vec<ImportedRun> {
    parse_log(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn one(name: &str) -> ImportedRun {
    let mut runs = runs(name);
    assert_eq!(runs.len(), 1, "{name}");
    runs.remove(0)
}

fn value(run: &ImportedRun, metric: Metric) -> Option<f64> {
    run.values.get(&metric).copied()
}

fn check_read_write(run: &ImportedRun) {
    assert_eq!(run.threads, Some(4));
    assert_eq!(
        (run.transactions, run.ignored_errors, run.reconnects),
        (Some(2902), Some(2), Some(0))
    );
    assert_eq!(run.elapsed, Some(Duration::from_secs_f64(5.0032)));
    let figures =
        [Metric::Tps, Metric::Qps, Metric::LatencyMean, Metric::LatencyP95, Metric::LatencyMax];
    let wanted = [579.98, 11606.47, 6.89, 17.63, 153.53];
    assert_eq!(figures.map(|metric| value(run, metric)), wanted.map(Some));
    assert_eq!(value(run, Metric::LatencyP99), None);
    assert_eq!(run.intervals.len(), 5);
    let last = &run.intervals[4];
    assert_eq!(
        (last.end, last.tps, last.percentile),
        (Duration::from_secs(5), 539.71, Some((95, 17.63)))
    );
}

#[test]
fn a_run_with_intervals() {
    let run = one("read-write-intervals.log");
    check_read_write(&run);
    assert_eq!(run.tool, Tool::Sysbench { version: Some("1.0.20".to_owned()) });
}

#[test]
fn the_development_branch_and_decimal_commas_say_the_same() {
    let run = one("sysbench-1.1.log");
    check_read_write(&run);
    assert_eq!(run.tool, Tool::Sysbench { version: Some("1.1.0-3ceba0b".to_owned()) });
    check_read_write(&one("decimal-comma.log"));
}

#[test]
fn figures_without_their_head() {
    let whole = text("read-write-intervals.log");
    let at = whole.find("SQL statistics:").expect("it is there");
    let twice = whole[at..].repeat(2);
    let runs = parse_log(&twice).expect("two runs");
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0].tool, Tool::Sysbench { version: None });
    assert_eq!((runs[0].threads, value(&runs[1], Metric::Tps)), (None, Some(579.98)));
}

#[test]
fn another_percentile_is_not_made_the_95th() {
    let run = one("point-select-p99.log");
    assert!(value(&run, Metric::LatencyP99).is_some());
    assert_eq!(value(&run, Metric::LatencyP95), None);
    let run = one("no-percentile.log");
    assert_eq!(
        (value(&run, Metric::Tps), value(&run, Metric::LatencyMean)),
        (Some(25459.48), Some(0.08))
    );
    assert_eq!(value(&run, Metric::LatencyP95), None);
    let other = text("point-select-p99.log").replace("99th percentile", "90th percentile");
    let run = parse_log(&other).expect("a run").remove(0);
    assert_eq!(run.percentiles.keys().collect::<Vec<_>>(), [&90]);
}

#[test]
fn what_stands_between_the_lines_is_passed_over() {
    assert_eq!(one("rate.log").intervals.len(), 3);
    assert_eq!(one("rate.log").transactions, Some(587));
    assert_eq!(one("events-debug.log").transactions, Some(50));
    assert!(one("histogram.log").transactions > Some(1000));
}

#[test]
fn a_load_without_transactions() {
    let run = one("cpu.log");
    assert_eq!(
        (value(&run, Metric::EventsPerSec), value(&run, Metric::Tps)),
        (Some(1055.81), None)
    );
    assert_eq!(run.throughput(), Some(1055.81));
}

#[test]
fn several_runs_in_one_file() {
    let runs = runs("two-runs.log");
    assert_eq!(runs.iter().map(|run| run.line).collect::<Vec<_>>(), [1, 38]);
    assert!(runs.iter().all(|run| run.threads == Some(2) && run.throughput().is_some()));
}

#[test]
fn what_is_no_complete_log_is_refused_by_its_line() {
    let cut = LogError::CutShort { line: 1, intervals: 1 };
    assert_eq!(parse_log(&text("cut-short.log")), Err(cut));
    for none in ["", "hello\n", "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n"] {
        assert_eq!(parse_log(none), Err(LogError::NoRun), "{none:?}");
    }
    let broken = text("read-write-intervals.log").replace("(579.98 per sec.)", "(many per sec.)");
    let error = parse_log(&broken).expect_err("no rate").to_string();
    assert!(
        error.starts_with("line 24: 'transactions:")
            && error.ends_with("no count and rate that can be read"),
        "{error}"
    );
    let broken = text("hammerdb-mysql.log").replace("101005 NOPM", "- NOPM");
    let error = parse_log(&broken).expect_err("no result").to_string();
    assert!(error.starts_with("line 20:") && error.contains("no NOPM and TPM"), "{error}");
}

#[test]
fn hammerdb_says_nopm_and_tpm() {
    let run = one("hammerdb-mysql.log");
    assert_eq!(run.tool, Tool::HammerDb);
    assert_eq!(
        (value(&run, Metric::Nopm), value(&run, Metric::Tpm)),
        (Some(101_005.0), Some(232_149.0))
    );
    assert_eq!((run.threads, run.elapsed), (Some(2), Some(Duration::from_secs(300))));
    assert_eq!(value(&run, Metric::Tps), None);
    let old = one("hammerdb-old.log");
    assert_eq!(
        (value(&old, Metric::Nopm), value(&old, Metric::Tpm)),
        (Some(13_207.0), Some(60_501.0))
    );
    assert_eq!(old.threads, Some(4));
}

#[test]
fn a_time_profile_counts_all_virtual_users_once() {
    let run = one("hammerdb-xtprof.log");
    assert_eq!(run.threads, Some(2));
    let names: Vec<&str> = run.procedures.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["NEWORD", "PAYMENT"]);
    let neword = &run.procedures[0];
    assert_eq!(
        (neword.calls, neword.min, neword.mean, neword.max),
        (100_240, 0.391, 3.412, 246.555)
    );
    assert_eq!((neword.p50, neword.p95, neword.p99), (2.915, 6.204, 9.871));
    let both = text("hammerdb-mysql.log") + &text("hammerdb-xtprof.log");
    let runs = parse_log(&both).expect("a run");
    assert_eq!((runs.len(), runs[0].procedures.len()), (1, 2));
    assert_eq!(value(&runs[0], Metric::Nopm), Some(101_005.0));
}

#[test]
fn figures_of_a_report() {
    let report = parse_report(
        "[[run]]\nscenario = \"off\"\nhost = \"B\"\nthreads = 300\ntps = 1843\nlatency_p95_sec = 292.60\n\
         [[target]]\nscenario = \"guest 1\"\ntps = 694\nlatency_mean_msec = 46.07\n",
    )
    .expect("a report");
    let run = &report.runs[0];
    assert_eq!(
        (run.host.as_deref(), value(&run.run, Metric::LatencyP95)),
        (Some("B"), Some(292.60))
    );
    let [(scenario, impossible)] = &report.impossible[..] else { panic!("{report:?}") };
    assert_eq!((scenario.as_str(), impossible.mean.round()), ("off", 163.0));
    assert_eq!(report.targets[0].target().expect("it has throughput").tps, 694.0);
}

#[test]
fn a_report_that_cannot_be_read_says_where() {
    let error = |text: &str| parse_report(text).expect_err("refused").to_string();
    assert!(error("").contains("[[run]] or [[target]] is wanted"));
    assert!(error("[[run]\n").starts_with("it is no TOML: "));
    let unknown = error("[[run]]\nscenario = \"off\"\ntsp = 3\n");
    assert!(unknown.starts_with("run[0].tsp: unknown field"), "{unknown}");
}
