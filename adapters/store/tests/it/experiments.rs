//! An experiment that is interrupted anywhere ends with each run once.

use numawise_documents::experiment::{ExperimentRecord, parse_experiment};
use numawise_engine::experiment::{
    Bench, Cell, ExperimentClock, ExperimentError, ExperimentEvent, ExperimentParts, Progress,
    Results, carry_out,
};
use numawise_engine::ports::{Cancel, PortError};
use numawise_experiment::{Observed, order};
use numawise_store::SqliteStore;
use std::collections::BTreeSet;
use std::time::Duration;

const FILE: &str = r#"
    name = "small"
    threads = [8, 4]
    measure-sec = 1
    blocks = 3
    [[scenario]]
    name = "off"
    [[scenario]]
    name = "on"
    [[workload]]
    name = "rw"
    load = ["oltp"]
"#;

fn experiment(text: &str) -> ExperimentRecord {
    ExperimentRecord::new(parse_experiment(text).expect("a file"), 1_700_000_000, "0.0.0")
}

/// Fails once after so many calls, and keeps what it was asked.
#[derive(Default)]
struct Faulty {
    calls_left: Option<u32>,
    in_place: Option<String>,
    ran: Vec<String>,
}

impl Faulty {
    fn call(&mut self) -> Result<(), PortError> {
        match &mut self.calls_left {
            Some(0) => Err(PortError::Failed("the power went".to_owned())),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Bench for Faulty {
    fn apply(&mut self, scenario: &str, _: &str, _: &Cancel) -> Result<(), PortError> {
        assert_eq!(self.in_place, None, "one placement at a time");
        self.in_place = Some(scenario.to_owned());
        self.call()
    }

    fn leave(&mut self, scenario: &str, _: &str) -> Result<(), PortError> {
        assert_eq!(self.in_place.take().as_deref(), Some(scenario));
        Ok(())
    }

    fn run(
        &mut self,
        cell: &Cell<'_>,
        _: &Cancel,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Observed, PortError> {
        self.call()?;
        assert_eq!(self.in_place.as_deref(), Some(cell.scenario));
        progress(Progress::default());
        self.ran.push(cell.run.id.to_string());
        Ok(Observed {
            command: format!("{} {}", cell.workload(), cell.run.id),
            ..Observed::default()
        })
    }
}

struct NoWaiting;

impl ExperimentClock for NoWaiting {
    fn now_unix_sec(&self) -> i64 {
        1_700_000_001
    }
    fn wait(&self, _: Duration, _: &Cancel) -> Result<(), PortError> {
        Ok(())
    }
}

fn try_once(
    store: &SqliteStore,
    experiment: &ExperimentRecord,
    bench: &mut Faulty,
) -> (Result<(), ExperimentError>, Vec<ExperimentEvent>) {
    let (cancel, mut events) = (Cancel::default(), Vec::new());
    let result = carry_out(
        experiment,
        &mut ExperimentParts {
            bench,
            results: store,
            clock: &NoWaiting,
            cancel: &cancel,
            emit: &mut |event| events.push(event),
        },
    );
    (result, events)
}

#[test]
fn interrupted_after_every_call_it_ends_with_each_run_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(folder.path()).expect("a store");
    let experiment = experiment(FILE);
    let mut ran = Vec::new();
    let mut interruptions = 0;
    loop {
        // One, two, three, ... calls and then the power goes.
        let mut bench = Faulty { calls_left: Some(2 + interruptions % 3), ..Faulty::default() };
        let (result, _) = try_once(&store, &experiment, &mut bench);
        assert_eq!(bench.in_place, None, "taken back also after a failure");
        ran.append(&mut bench.ran);
        match result {
            Ok(()) => break,
            Err(error) => assert!(error.to_string().contains("the power went"), "{error}"),
        }
        interruptions += 1;
        assert!(interruptions < 100);
    }
    assert!(interruptions > 5, "{interruptions}");
    let design = experiment.file.design();
    let planned: Vec<String> =
        order(&design).expect("sound").iter().map(|run| run.id.to_string()).collect();
    assert_eq!(planned.len(), 3 * 3 * 2, "blocks, arms with the control, threads");
    assert_eq!(ran, planned, "each once, and in the design's order");
    let runs = store.runs("small").expect("runs");
    let recorded: Vec<String> = runs.iter().map(|run| run.planned.id.to_string()).collect();
    assert_eq!(recorded, planned);
    assert_eq!(runs[0].observed.command, format!("rw {}", planned[0]));
    let (again, events) = try_once(&store, &experiment, &mut Faulty::default());
    assert!(again.is_ok());
    assert_eq!(events, [ExperimentEvent::Begun { runs: 18, recorded: 18 }]);
}

#[test]
fn figures_of_two_designs_are_not_mixed_and_more_blocks_are_added() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(folder.path()).expect("a store");
    try_once(&store, &experiment(FILE), &mut Faulty::default()).0.expect("carried out");
    for (from, to) in [("[8, 4]", "[8]"), ("blocks = 3", "blocks = 2"), ("\"on\"", "\"ON\"")] {
        let other = experiment(&FILE.replace(from, to));
        let (result, events) = try_once(&store, &other, &mut Faulty::default());
        assert!(matches!(result, Err(ExperimentError::OtherDesign { .. })), "{to}: {result:?}");
        assert_eq!(events, []);
    }
    let longer = experiment(&FILE.replace("blocks = 3", "blocks = 4"));
    let mut bench = Faulty::default();
    try_once(&store, &longer, &mut bench).0.expect("carried out");
    let blocks: BTreeSet<&str> = bench.ran.iter().map(|id| &id[..3]).collect();
    assert_eq!((bench.ran.len(), blocks), (6, BTreeSet::from(["b03"])));
    assert_eq!(store.experiment("small").expect("read").map(|e| e.file.blocks), Some(4));
}

#[test]
fn a_second_hand_on_the_same_experiment_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(folder.path()).expect("a store");
    let held = store.lock_experiment("small", &Cancel::default()).expect("free");
    let other = SqliteStore::open(folder.path()).expect("the same store");
    let (result, _) = try_once(&other, &experiment(FILE), &mut Faulty::default());
    let error = result.expect_err("held").to_string();
    assert!(error.contains("carried out by another process"), "{error}");
    drop(held);
    assert!(try_once(&other, &experiment(FILE), &mut Faulty::default()).0.is_ok());
}

#[test]
fn a_run_is_recorded_once_and_forgotten_with_its_experiment() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(folder.path()).expect("a store");
    try_once(&store, &experiment(FILE), &mut Faulty::default()).0.expect("carried out");
    let mut run = store.runs("small").expect("runs").remove(0);
    run.observed.command = "another".to_owned();
    let error = store.record("small", &run).expect_err("there already").to_string();
    assert!(error.contains("stays as it is"), "{error}");
    assert_ne!(store.runs("small").expect("runs")[0].observed.command, "another");
    assert_eq!(store.experiments().expect("names"), [("small".to_owned(), 1_700_000_000)]);
    store.forget("small").expect("forgotten");
    assert_eq!(store.run_ids("small").expect("none"), Vec::<String>::new());
    assert!(matches!(store.forget("small"), Err(PortError::NotFound(_))));
}
