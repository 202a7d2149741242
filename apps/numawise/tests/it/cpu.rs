//! `numawise cpu`.

use std::process::{Command, Output};

fn cpu(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_numawise"));
    command.arg("cpu").args(["--time", "300ms"]).args(args).output().expect("numawise")
}

#[test]
fn threads_are_one_for_each_cpu_unless_they_are_counted() {
    let output = cpu(&["--cpus", "0", "--threads", "2"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(text.starts_with("primes up to 10000: 2 threads for 0.3 s"), "{text}");
    let output = cpu(&["--cpus", "0", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["run"]["measured"]["generator"]["threads"], 1, "{document:#}");
}

#[test]
fn a_cpu_that_is_not_there_is_an_error() {
    for cpus in ["1000", "9999", "^1"] {
        let output = cpu(&["--cpus", cpus]);
        assert_eq!(output.status.code(), Some(2), "{cpus}: {output:?}");
    }
}
