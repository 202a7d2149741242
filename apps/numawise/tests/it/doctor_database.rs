//! `numawise doctor DB` on real servers of the test's own.

use numawise_testkit::servers::{PrivateMariaDb, PrivatePostgres};
use std::process::{Command, Output};

fn doctor(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_numawise"));
    command.arg("doctor").args(args).output().expect("numawise")
}

fn told(output: &Output) -> String {
    // Wrapped where a terminal would.
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn two_servers_are_seen_by_the_kernel_and_compared() {
    let Some(one) = PrivateMariaDb::start(&[]) else { return };
    let Some(other) = PrivateMariaDb::start(&["--innodb-flush-log-at-trx-commit=1"]) else {
        return;
    };
    let output = doctor(&[&one.target(), &other.tcp_target()]);
    let text = told(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for server in [&one, &other] {
        assert!(text.contains(&format!("process {} with", server.pid())), "{text}");
    }
    assert!(text.contains("innodb_flush_log_at_trx_commit is 2: what was confirmed"), "{text}");
    assert!(text.contains("innodb_flush_log_at_trx_commit is not the same everywhere"), "{text}");
    assert!(text.contains("innodb_buffer_pool_size is 128 MiB, of"), "{text}");
    assert!(!text.contains("sb-secret"), "{text}");
    let written = doctor(&["--json", &one.target()]);
    let checkup: serde_json::Value = serde_json::from_slice(&written.stdout).expect("JSON");
    let checks = checkup["checks"].as_array().expect("checks");
    let places: Vec<_> =
        checks.iter().filter(|check| check["fields"]["check"]["found"] == "place").collect();
    assert_eq!(places.len(), 1, "{checkup:#}");
}

#[test]
fn postgresql_is_seen_with_all_of_its_processes() {
    let Some(server) = PrivatePostgres::start(&["fsync=off"]) else { return };
    for target in [server.target(), server.tcp_target()] {
        let output = doctor(&[&target]);
        let text = told(&output);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(text.contains(&format!("process {} with", server.pid())), "{text}");
        assert!(!text.contains("with 1 thread:"), "{text}");
        assert!(text.contains("shared_buffers is 128 MiB, of"), "{text}");
        assert!(text.contains("fsync is off: what was confirmed"), "{text}");
    }
}

#[test]
fn a_server_that_does_not_answer_is_bad() {
    let output = doctor(&["mysql://127.0.0.1:1/x"]);
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    assert!(told(&output).contains("bad: mysql://root@127.0.0.1:1/x: does not answer"));
}
