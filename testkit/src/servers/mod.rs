//! Database servers of a test's own: in a folder of their own, on a socket and a free port of their own.
//!
//! Each is the packaged server, started under its own user with no configuration file of the machine, and
//! ends with its value, at the latest with the thread that started it. There is a user `sbtest` with the
//! password [`PASSWORD`] that owns a database `sbtest`.
//!
//! Where the packages are not there, or nobody may start a server as another user, `start` prints one line
//! and gives nothing; under [`REQUIRED`](crate::testbed::REQUIRED) it panics instead.

mod mariadb;
mod postgres;

pub use mariadb::PrivateMariaDb;
pub use postgres::PrivatePostgres;

use crate::testbed::Unavailable;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub const USER: &str = "sbtest";
pub const PASSWORD: &str = "sb-secret";
pub const DATABASE: &str = "sbtest";

const START_WITHIN: Duration = Duration::from_secs(60);

/// A user of the machine that a package made for its server.
#[derive(Clone, Copy, Debug)]
struct Account {
    name: &'static str,
    uid: u32,
    gid: u32,
}

impl Account {
    fn find(name: &'static str, what: &'static str) -> Result<Self, Unavailable> {
        if !rustix::process::geteuid().is_root() {
            return Err(Unavailable::Lacks { what: "root, to start a database as its own user" });
        }
        let users = fs::read_to_string("/etc/passwd").map_err(|source| Unavailable::File {
            doing: "read",
            path: "/etc/passwd".into(),
            source,
        })?;
        users
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>())
            .find(|fields| fields[0] == name)
            .and_then(|fields| {
                let (uid, gid) = (fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?);
                Some(Self { name, uid, gid })
            })
            .ok_or(Unavailable::Lacks { what })
    }

    /// A command that runs as this user and dies with the thread that started it.
    fn command(self, program: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", self.name, "--regid", &self.gid.to_string(), "--init-groups"]);
        command.args(["--pdeathsig", "KILL"]).arg(program);
        command.stdin(Stdio::null());
        command
    }

    fn give(self, path: &Path) -> Result<(), Unavailable> {
        chown(path, Some(self.uid), Some(self.gid)).map_err(|source| Unavailable::File {
            doing: "give away",
            path: path.to_owned(),
            source,
        })
    }
}

/// Runs it to its end; what it said is in the error.
fn run(what: &str, command: &mut Command) -> Result<String, Unavailable> {
    let failed = |said: String| Unavailable::Failed { what: what.to_owned(), said };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

/// Waits until it answers; an early end of the server is told with its log.
fn wait_until(
    what: &str,
    server: &mut Child,
    log: &Path,
    mut answers: impl FnMut() -> bool,
) -> Result<(), Unavailable> {
    let begun = Instant::now();
    while begun.elapsed() < START_WITHIN {
        if answers() {
            return Ok(());
        }
        if !matches!(server.try_wait(), Ok(None)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let said = fs::read_to_string(log).unwrap_or_default();
    let last: Vec<&str> = said.lines().rev().take(10).collect();
    Err(Unavailable::Failed {
        what: format!("starting {what}"),
        said: last.into_iter().rev().collect::<Vec<_>>().join("; "),
    })
}

/// A port that nobody listens on at this moment.
fn free_port() -> Result<u16, Unavailable> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| Unavailable::Failed {
            what: "looking for a free port".to_owned(),
            said: error.to_string(),
        })
}
