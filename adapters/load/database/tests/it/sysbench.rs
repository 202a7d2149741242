//! sysbench itself, as the judge.

use numawise_database::oltp::Workload;
use numawise_testkit::servers::{DATABASE, PASSWORD, USER};
use std::path::Path;
use std::process::Command;

/// Whether sysbench 1.0 is here; a line says so where it is not.
pub fn is_here() -> bool {
    let version = Command::new("sysbench").arg("--version").output();
    let here = version.is_ok_and(|out| out.stdout.starts_with(b"sysbench 1.0"));
    if !here {
        println!("skipped: sysbench 1.0 is not here");
        assert!(std::env::var_os(numawise_testkit::testbed::REQUIRED).is_none(), "it has to be");
    }
    here
}

#[derive(Clone, Copy)]
pub enum Server<'a> {
    MariaDb { socket: &'a Path },
    Postgres { port: u16 },
}

/// Runs a script of sysbench's with these options, and gives what it printed.
pub fn run(server: Server<'_>, script: &str, command: &str, options: &[&str]) -> String {
    let mut sysbench = Command::new("sysbench");
    match server {
        Server::MariaDb { socket } => {
            sysbench.args(["--db-driver=mysql", &format!("--mysql-user={USER}")]);
            sysbench
                .args([format!("--mysql-password={PASSWORD}"), format!("--mysql-db={DATABASE}")]);
            sysbench.arg(format!("--mysql-socket={}", socket.display()));
        }
        Server::Postgres { port } => {
            sysbench.args(["--db-driver=pgsql", &format!("--pgsql-user={USER}")]);
            sysbench
                .args([format!("--pgsql-password={PASSWORD}"), format!("--pgsql-db={DATABASE}")]);
            sysbench.args(["--pgsql-host=127.0.0.1".to_owned(), format!("--pgsql-port={port}")]);
        }
    }
    let out = sysbench.args(options).args([script, command]).output().expect("sysbench starts");
    let said =
        format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "sysbench {options:?} {script} {command}: {said}");
    said
}

/// The script of a workload.
pub fn script(workload: Workload) -> String {
    match workload {
        Workload::RandomPoints | Workload::RandomRanges => workload.name().to_owned(),
        _ => format!("oltp_{}", workload.name()),
    }
}
