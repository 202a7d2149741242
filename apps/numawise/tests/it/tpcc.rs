//! TPC-C through the command line, on the database that needs no server.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn numawise(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("numawise")
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_numawise"));
    command.current_dir(folder).arg("tpcc").args(args);
    command
}

/// Here the killed program is client and database in one.
#[test]
fn a_killed_run_leaves_consistent_tables() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let prepared = numawise(folder, &["prepare", "sqlite:t.db"]);
    assert!(prepared.status.success(), "{prepared:?}");
    let log = folder.join("t.db-wal");
    let mut run = command(folder, &["run", "sqlite:t.db", "--users", "2", "--time", "5m"])
        .stderr(Stdio::null())
        .spawn()
        .expect("a run");
    // Until it has written something beside the tables.
    let begun = Instant::now();
    while std::fs::metadata(&log).map_or(0, |log| log.len()) < 1 << 20 {
        assert!(begun.elapsed() < Duration::from_secs(120), "it writes nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
    run.kill().expect("killed");
    run.wait().expect("gone");
    let checked = numawise(folder, &["check", "sqlite:t.db"]);
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{checked:?}");
    assert!(said.contains("All twelve conditions hold."), "{said}");
}

#[test]
fn what_is_not_there_is_said_with_its_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    for (args, code, said) in [
        (&["check", "sqlite:t.db"][..], 2, "numawise tpcc prepare"),
        (&["run", "mysql://127.0.0.1:1/x"], 6, "cannot connect to mysql://root@127.0.0.1:1/x"),
        (&["run", "db1"], 2, "wanted mysql://"),
        (&["run", "sqlite:t.db", "--time", "0s"], 2, "no time at all"),
    ] {
        let output = numawise(folder.path(), args);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.contains(said), "{args:?}: {text}");
    }
}
