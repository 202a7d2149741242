//! The conformance rules, each on a store of its own; children are this very executable.

use numawise_engine::ports::Store;
use numawise_store::{SqliteStore, conformance};
use std::env;
use std::path::Path;
use std::process::{Child, Command};

const TASK: &str = "NUMAWISE_STORE_TEST_TASK";
const DIR: &str = "NUMAWISE_STORE_TEST_DIR";

fn open(dir: &Path) -> Box<dyn Store> {
    Box::new(SqliteStore::open(dir).unwrap_or_else(|error| panic!("{error}")))
}

fn spawn(dir: &Path, task: &str) -> Child {
    Command::new(env::current_exe().expect("own path"))
        .args(["rules::child", "--exact", "--ignored", "--quiet"])
        .env(TASK, task)
        .env(DIR, dir)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("starting a process")
}

/// Not a test by itself: what [`spawn`] runs.
#[test]
#[ignore = "the other side of the tests with several processes"]
fn child() {
    if let (Ok(task), Some(dir)) = (env::var(TASK), env::var_os(DIR)) {
        conformance::in_child(&task, &*open(Path::new(&dir)));
    }
}

#[test]
fn holds_in_one_process() {
    let dir = tempfile::tempdir().expect("a directory");
    conformance::in_one_process(&|| open(dir.path()));
}

#[test]
fn one_handle_serves_many_threads() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = SqliteStore::open(dir.path()).expect("a store");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| conformance::unknown_things_are_absent(&store));
        }
    });
}

#[test]
fn processes_commit_at_once() {
    let dir = tempfile::tempdir().expect("a directory");
    // The store is not there yet: the processes also race for making it.
    conformance::processes_commit_at_once(&|| open(dir.path()), &|task| spawn(dir.path(), task));
}

#[test]
fn killed_holder_frees_the_lock() {
    let dir = tempfile::tempdir().expect("a directory");
    conformance::killed_holder_frees_the_lock(&|| open(dir.path()), &|task| {
        spawn(dir.path(), task)
    });
}

#[test]
fn killed_writer_keeps_its_journal() {
    let dir = tempfile::tempdir().expect("a directory");
    conformance::killed_writer_keeps_its_journal(&|| open(dir.path()), &|task| {
        spawn(dir.path(), task)
    });
}
