//! Experiments through the real command line, on real databases.

use crate::bench::{Bench, repository};
use numawise_testkit::servers::PrivateMariaDb;
use std::time::{Duration, Instant};

/// A folder with a database in it.
fn prepared() -> (Bench, String) {
    let bench = Bench::empty();
    let target = format!("sqlite:{}", bench.path("a.db").display());
    bench.ok(&["oltp", "prepare", &target, "--table-size=1000"]);
    (bench, target)
}

/// Ids of the runs that are recorded, in the order in which they were.
fn runs(bench: &Bench, name: &str) -> Vec<String> {
    let shown = bench.ok(&["experiment", "show", name]);
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    shown.lines().filter(|line| line.starts_with("b0")).filter_map(first).collect()
}

fn write(bench: &Bench, text: &str) {
    std::fs::write(bench.path("e.toml"), text).expect("written");
}

fn two_arms(target: &str, more: &str) -> String {
    format!(
        r#"name = "two"
        threads = [2, 1]
        measure-sec = 0.2
        warm-up = {{ at-least-sec = 0, at-most-sec = 0 }}
        {more}
        [[scenario]]
        name = "a"
        cpus = "0"
        [[scenario]]
        name = "b"
        cpus = "0"
        [[workload]]
        name = "points"
        load = ["oltp", "run", "point_select", "--table-size=1000"]
        targets = ["{target}"]
        "#
    )
}

#[test]
fn killed_ten_times_it_ends_with_every_run_once() {
    let (bench, target) = prepared();
    write(&bench, &two_arms(&target, "blocks = 5"));
    let planned: Vec<String> = bench
        .ok(&["experiment", "plan", "e.toml"])
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned))
        .filter(|word| word.starts_with("b0"))
        .collect();
    assert_eq!(planned.len(), 5 * 3 * 2);
    // Primes, so that each kill meets another moment of a run.
    for msec in [37, 151, 263, 389, 503, 619, 743, 877, 991, 1_109] {
        let mut child = bench.spawn(&["experiment", "run", "e.toml"]);
        std::thread::sleep(Duration::from_millis(msec));
        child.kill().expect("killed");
        child.wait().expect("waited for");
    }
    let before = match bench.run(&["experiment", "show", "two"]).code {
        Some(0) => runs(&bench, "two"),
        _ => Vec::new(),
    };
    assert!(before.len() < planned.len(), "{before:?}");
    bench.ok(&["experiment", "run", "e.toml"]);
    let after = runs(&bench, "two");
    assert_eq!(after, planned, "each once, in the order of the design");
    assert_eq!(after[..before.len()], before, "what was recorded stays");
}

#[test]
fn another_design_under_the_same_name_is_refused_and_an_interruption_keeps_what_there_is() {
    let (bench, target) = prepared();
    write(&bench, &two_arms(&target, "blocks = 40"));
    let mut child = bench.spawn(&["experiment", "run", "e.toml"]);
    let begun = Instant::now();
    while !bench.run(&["experiment", "show", "two"]).out.contains("b00-") {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is recorded");
        std::thread::sleep(Duration::from_millis(100));
    }
    let pid = rustix::process::Pid::from_raw(child.id() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("interrupted");
    assert_eq!(child.wait().expect("waited for").code(), Some(7));
    assert!(!runs(&bench, "two").is_empty());
    write(&bench, &two_arms(&target, "blocks = 40\nseed = 9"));
    let other = bench.run(&["experiment", "run", "e.toml"]);
    assert_eq!(other.code, Some(3), "{other:?}");
    assert!(other.err.contains("numawise experiment forget two"));
    bench.ok(&["experiment", "forget", "two"]);
    assert!(bench.ok(&["experiment", "list"]).contains("No experiment"));
}

#[test]
fn a_design_that_cannot_answer_its_question_is_refused_before_anything_runs() {
    let bench = Bench::empty();
    let apply = "apply = [\"touch ran\"]\nhosts = [\"h1\"]";
    let text_of = two_arms("sqlite:x", "").replacen("cpus = \"0\"", apply, 1);
    write(&bench, &text_of);
    let output = bench.run(&["experiment", "run", "e.toml"]);
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(!bench.path("ran").exists());
    assert!(output.err.contains("host"), "{output:?}");
}

#[test]
fn a_scenario_that_cannot_be_put_in_place_ends_it_and_is_taken_back() {
    let (bench, target) = prepared();
    let apply = "apply = [\"touch applied\"]\ncheck = [\"echo wrong node >&2; exit 5\"]\n\
                 leave = [\"rm applied; touch left\"]";
    write(&bench, &two_arms(&target, "seed = 3").replace("cpus = \"0\"", apply));
    let output = bench.run(&["experiment", "run", "e.toml"]);
    let said = &output.err;
    assert_eq!(output.code, Some(1), "{said}");
    assert!(said.contains("wrong node") && said.contains("experiment show two"), "{said}");
    assert!(bench.path("left").exists() && !bench.path("applied").exists());
    assert_eq!(runs(&bench, "two"), Vec::<String>::new());
}

#[test]
fn four_servers_at_once_at_the_small_scale() {
    let servers: Vec<Option<PrivateMariaDb>> = (0..4).map(|_| PrivateMariaDb::start(&[])).collect();
    let Some(servers) = servers.into_iter().collect::<Option<Vec<_>>>() else { return };
    let bench = Bench::empty();
    let file = repository().join("experiments/four-targets.toml");
    let file = file.display().to_string();
    let mut arguments = vec!["experiment", "run", &file, "--scale=small"];
    let sets: Vec<String> = ["a", "b", "c", "d"]
        .iter()
        .zip(&servers)
        .map(|(name, server)| format!("--set={name}={}", server.target()))
        .chain(["--set=before=true".to_owned(), "--set=after=true".to_owned()])
        .collect();
    arguments.extend(sets.iter().map(String::as_str));
    let shown = bench.ok(&arguments);
    assert_eq!(runs(&bench, "four-targets").len(), 2 * 3 * 2, "{shown}");
    // Two blocks prove nothing, whatever the figures are.
    assert!(!shown.contains("proven"), "{shown}");
    assert!(shown.contains("inconclusive"), "{shown}");
    for server in &servers {
        let rows = server.sql("SELECT COUNT(*) FROM sbtest.sbtest2");
        assert_eq!(rows.trim(), "1000");
    }
}

#[test]
fn compare_runs_any_command_under_placements_in_turn() {
    let bench = Bench::empty();
    let shown = bench.ok(&[
        "compare",
        "--connect",
        "embedded:",
        "--placement=one=0",
        "--placement=other=0",
        "--repetitions=3",
        "--name=sleep",
        "--",
        "sh",
        "-c",
        "sleep 0.05; taskset -pc $$ >> seen",
    ]);
    let seen = std::fs::read_to_string(bench.path("seen")).expect("written");
    assert_eq!(seen.lines().count(), 3 * 3, "{shown}");
    assert!(seen.lines().all(|line| line.ends_with(": 0")), "{seen}");
    // Three pairs prove nothing.
    assert!(shown.contains("against one") && shown.contains("inconclusive"), "{shown}");
    assert!(!shown.contains("proven"), "{shown}");
}
