//! Experiments through the real command line, on real databases.

use numawise_testkit::servers::PrivateMariaDb;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const NUMAWISE: &str = env!("CARGO_BIN_EXE_numawise");

/// A folder with a state, a database and an experiment.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path().join(name);
        std::fs::write(&file, text).expect("written");
        file
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(NUMAWISE);
        command.args(arguments).arg("--state").arg(self.path().join("state"));
        command.current_dir(self.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program")
    }

    fn well(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    fn prepared(&self) -> String {
        let target = format!("sqlite:{}", self.path().join("a.db").display());
        self.well(&["oltp", "prepare", &target, "--table-size=1000"]);
        target
    }

    /// Ids of the runs that are recorded, as they were recorded.
    fn runs(&self, name: &str) -> Vec<String> {
        let shown = self.well(&["experiment", "show", name]);
        let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
        shown.lines().filter(|line| line.starts_with("b0")).filter_map(first).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
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
    let place = Place::new();
    let target = place.prepared();
    place.write("e.toml", &two_arms(&target, "blocks = 5"));
    let planned: Vec<String> = place
        .well(&["experiment", "plan", "e.toml"])
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned))
        .filter(|word| word.starts_with("b0"))
        .collect();
    assert_eq!(planned.len(), 5 * 3 * 2);
    // Primes, so that each kill meets another moment of a run.
    for msec in [37, 151, 263, 389, 503, 619, 743, 877, 991, 1_109] {
        let mut child = place
            .command(&["experiment", "run", "e.toml"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program");
        std::thread::sleep(Duration::from_millis(msec));
        child.kill().expect("killed");
        child.wait().expect("waited for");
    }
    let before = match place.run(&["experiment", "show", "two"]).status.success() {
        true => place.runs("two"),
        false => Vec::new(),
    };
    assert!(before.len() < planned.len(), "{before:?}");
    place.well(&["experiment", "run", "e.toml"]);
    let after = place.runs("two");
    assert_eq!(after, planned, "each once, in the order of the design");
    assert_eq!(after[..before.len()], before, "what was recorded stays");
}

#[test]
fn another_design_under_the_same_name_is_refused_and_an_interruption_keeps_what_there_is() {
    let place = Place::new();
    let target = place.prepared();
    let file = place.write("e.toml", &two_arms(&target, "blocks = 40"));
    let mut child = place.command(&["experiment", "run", "e.toml"]).spawn().expect("the program");
    let begun = Instant::now();
    while place.run(&["experiment", "show", "two"]).stdout.windows(4).all(|w| w != b"b00-") {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is recorded");
        std::thread::sleep(Duration::from_millis(100));
    }
    let pid = rustix::process::Pid::from_raw(child.id() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("interrupted");
    assert_eq!(child.wait().expect("waited for").code(), Some(7));
    assert!(!place.runs("two").is_empty());
    std::fs::write(&file, two_arms(&target, "blocks = 40\nseed = 9")).expect("written");
    let other = place.run(&["experiment", "run", "e.toml"]);
    assert_eq!(other.status.code(), Some(3), "{}", text(&other.stderr));
    assert!(text(&other.stderr).contains("numawise experiment forget two"));
    place.well(&["experiment", "forget", "two"]);
    assert!(place.well(&["experiment", "list"]).contains("No experiment"));
}

#[test]
fn a_design_that_cannot_answer_its_question_is_refused_before_anything_runs() {
    let place = Place::new();
    let apply = "apply = [\"touch ran\"]\nhosts = [\"h1\"]";
    let text_of = two_arms("sqlite:x", "").replacen("cpus = \"0\"", apply, 1);
    place.write("e.toml", &text_of);
    let output = place.run(&["experiment", "run", "e.toml"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(!place.path().join("ran").exists());
    assert!(text(&output.stderr).contains("host"), "{}", text(&output.stderr));
}

#[test]
fn a_scenario_that_cannot_be_put_in_place_ends_it_and_is_taken_back() {
    let place = Place::new();
    let target = place.prepared();
    let apply = "apply = [\"touch applied\"]\ncheck = [\"echo wrong node >&2; exit 5\"]\n\
                 leave = [\"rm applied; touch left\"]";
    place.write("e.toml", &two_arms(&target, "seed = 3").replace("cpus = \"0\"", apply));
    let output = place.run(&["experiment", "run", "e.toml"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("wrong node") && said.contains("experiment show two"), "{said}");
    assert!(place.path().join("left").exists() && !place.path().join("applied").exists());
    assert_eq!(place.runs("two"), Vec::<String>::new());
}

#[test]
fn four_servers_at_once_at_the_small_scale() {
    let servers: Vec<Option<PrivateMariaDb>> = (0..4).map(|_| PrivateMariaDb::start(&[])).collect();
    let Some(servers) = servers.into_iter().collect::<Option<Vec<_>>>() else { return };
    let place = Place::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/four-targets.toml");
    let file = file.display().to_string();
    let mut arguments = vec!["experiment", "run", &file, "--scale=small"];
    let sets: Vec<String> = ["a", "b", "c", "d"]
        .iter()
        .zip(&servers)
        .map(|(name, server)| format!("--set={name}={}", server.target()))
        .chain(["--set=before=true".to_owned(), "--set=after=true".to_owned()])
        .collect();
    arguments.extend(sets.iter().map(String::as_str));
    let shown = place.well(&arguments);
    assert_eq!(place.runs("four-targets").len(), 2 * 3 * 2, "{shown}");
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
    let place = Place::new();
    let shown = place.well(&[
        "compare",
        "--placement=one=0",
        "--placement=other=0",
        "--repetitions=3",
        "--name=sleep",
        "--",
        "sh",
        "-c",
        "sleep 0.05; taskset -pc $$ >> seen",
    ]);
    let seen = std::fs::read_to_string(place.path().join("seen")).expect("written");
    assert_eq!(seen.lines().count(), 3 * 3, "{shown}");
    assert!(seen.lines().all(|line| line.ends_with(": 0")), "{seen}");
    assert!(shown.contains("other against one") && !shown.contains("proven"), "{shown}");
}
