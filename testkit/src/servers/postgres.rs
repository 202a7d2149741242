//! A PostgreSQL server of a test's own.

use super::{Account, DATABASE, PASSWORD, USER, free_port, run, wait_until};
use crate::testbed::{Unavailable, or_skip};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Debian keeps each version in a folder of its own here.
const VERSIONS: &str = "/usr/lib/postgresql";

/// On a busy machine they take their time.
const CHILDREN_END_WITHIN: Duration = Duration::from_secs(30);

/// A running PostgreSQL, which ends with this value.
pub struct PrivatePostgres {
    folder: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
    options: Vec<String>,
    server: Child,
}

impl PrivatePostgres {
    /// Ready for connections when it returns. The options are settings: `max_connections=500`.
    pub fn start(options: &[&str]) -> Option<Self> {
        or_skip(Self::try_start(options))
    }

    fn try_start(options: &[&str]) -> Result<Self, Unavailable> {
        let programs = newest_programs()?;
        let account = Account::find("postgres", "the package postgresql")?;
        let folder = tempfile::Builder::new()
            .prefix("numawise-postgres-")
            .tempdir()
            .map_err(|source| Unavailable::File { doing: "create", path: "/tmp".into(), source })?;
        account.give(folder.path())?;
        let data = folder.path().join("data");
        run(
            "initdb",
            account
                .command(&programs.join("initdb"))
                .args(["-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"])
                .args(["--auth-local=trust", "--auth-host=scram-sha-256", "-D"])
                .arg(&data),
        )?;
        let options = options.iter().map(|&option| option.to_owned()).collect();
        let port = free_port()?;
        let server = launch(folder.path(), &programs, port, &options)?;
        let mut this = Self { folder, programs, port, options, server };
        this.wait()?;
        this.sql_or_error(
            "postgres",
            &[
                &format!("CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'"),
                &format!("CREATE DATABASE {DATABASE} OWNER {USER}"),
            ],
        )?;
        Ok(this)
    }

    fn wait(&mut self) -> Result<(), Unavailable> {
        let log = self.folder.path().join("log");
        let mut ready = Command::new(self.programs.join("pg_isready"));
        ready.arg("-q").arg("-h").arg(self.folder.path()).args(["-p", &self.port.to_string()]);
        wait_until("postgres", &mut self.server, &log, || {
            ready.status().is_ok_and(|status| status.success())
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    /// As `numawise` takes it, over the unix socket.
    pub fn target(&self) -> String {
        let socket = self.folder.path().join(format!(".s.PGSQL.{}", self.port));
        format!("postgres://{USER}:{PASSWORD}@localhost/{DATABASE}?socket={}", socket.display())
    }

    /// As `numawise` takes it, over TCP, where a password is asked for (SCRAM).
    pub fn tcp_target(&self) -> String {
        format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{}/{DATABASE}", self.port)
    }

    /// What psql prints for these statements in the database `sbtest`, as the superuser: columns parted by `|`.
    ///
    /// # Panics
    ///
    /// When the server refuses one.
    pub fn sql(&self, statements: &str) -> String {
        self.sql_or_error(DATABASE, &[statements]).unwrap_or_else(|error| panic!("{error}"))
    }

    fn sql_or_error(&self, database: &str, statements: &[&str]) -> Result<String, Unavailable> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h"]);
        psql.arg(self.folder.path()).args(["-p", &self.port.to_string(), "-d", database]);
        for statement in statements {
            psql.args(["-c", statement]);
        }
        run("psql", &mut psql)
    }

    /// Kills it as a power cut would, and starts it again over the same data.
    ///
    /// # Panics
    ///
    /// When it does not come back.
    pub fn crash_and_restart(&mut self) {
        self.kill();
        // Its children see their postmaster gone and end. Until then a new one refuses to start.
        let begun = Instant::now();
        loop {
            self.server = launch(self.folder.path(), &self.programs, self.port, &self.options)
                .unwrap_or_else(|error| panic!("{error}"));
            match self.wait() {
                Ok(()) => return,
                Err(error) if begun.elapsed() > CHILDREN_END_WITHIN => panic!("{error}"),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    /// Kills it as a power cut would.
    pub fn kill(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn newest_programs() -> Result<PathBuf, Unavailable> {
    let lacking = Unavailable::Lacks { what: "the package postgresql" };
    let Ok(versions) = fs::read_dir(VERSIONS) else { return Err(lacking) };
    versions
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            let programs = entry.path().join("bin");
            programs.join("initdb").exists().then_some((version, programs))
        })
        .max()
        .map(|(_, programs)| programs)
        .ok_or(lacking)
}

fn launch(
    folder: &Path,
    programs: &Path,
    port: u16,
    options: &Vec<String>,
) -> Result<Child, Unavailable> {
    let account = Account::find("postgres", "the package postgresql")?;
    let log = folder.join("log");
    let file = File::options().create(true).append(true).open(&log);
    let file = file.map_err(|source| Unavailable::File { doing: "create", path: log, source })?;
    let mut command = account.command(&programs.join("postgres"));
    command
        .current_dir(folder)
        .arg("-D")
        .arg(folder.join("data"))
        .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c"])
        .arg(format!("unix_socket_directories={}", folder.display()))
        .args(["-c", "shared_buffers=128MB"]);
    for option in options {
        command.args(["-c", option]);
    }
    command.stderr(file);
    command.spawn().map_err(|error| Unavailable::Failed {
        what: "starting postgres".to_owned(),
        said: error.to_string(),
    })
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(self.folder.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_its_own_comes_back_after_a_crash() {
        let Some(mut server) = PrivatePostgres::start(&["max_connections=77"]) else { return };
        server.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (5)");
        assert_eq!(server.sql("SHOW max_connections").trim(), "77");
        server.crash_and_restart();
        assert_eq!(server.sql("SELECT a FROM t").trim(), "5");
    }
}
