//! A MariaDB server of a test's own.

use super::{Account, DATABASE, PASSWORD, USER, free_port, run, wait_until};
use crate::testbed::{Unavailable, or_skip};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

const SERVER: &str = "/usr/sbin/mariadbd";

/// A running MariaDB, which ends with this value.
pub struct PrivateMariaDb {
    folder: tempfile::TempDir,
    port: u16,
    options: Vec<String>,
    server: Child,
}

impl PrivateMariaDb {
    /// Ready for connections when it returns. The options are the server's own: `--max-connections=2000`.
    pub fn start(options: &[&str]) -> Option<Self> {
        or_skip(Self::try_start(options))
    }

    fn try_start(options: &[&str]) -> Result<Self, Unavailable> {
        let lacking = Unavailable::Lacks { what: "the package mariadb-server" };
        if !Path::new(SERVER).exists() {
            return Err(lacking);
        }
        let account = Account::find("mysql", "the package mariadb-server")?;
        let folder = tempfile::Builder::new()
            .prefix("numawise-mariadb-")
            .tempdir()
            .map_err(|source| Unavailable::File { doing: "create", path: "/tmp".into(), source })?;
        account.give(folder.path())?;
        let mut install = Command::new("mariadb-install-db");
        install
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .args(["--skip-name-resolve", "--force", "--user=mysql"])
            .arg(format!("--datadir={}", folder.path().join("data").display()));
        run("mariadb-install-db", &mut install)?;
        let options = options.iter().map(|&option| option.to_owned()).collect();
        let port = free_port()?;
        let server = launch(folder.path(), port, &options)?;
        let mut this = Self { folder, port, options, server };
        this.wait()?;
        this.sql_or_error(&format!(
            "CREATE DATABASE {DATABASE}; CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'; \
             GRANT ALL ON {DATABASE}.* TO {USER}@'%'; GRANT PROCESS ON *.* TO {USER}@'%'"
        ))?;
        Ok(this)
    }

    fn wait(&mut self) -> Result<(), Unavailable> {
        let (socket, log) = (self.socket(), self.log());
        wait_until("mariadbd", &mut self.server, &log, || {
            root_client(&socket).args(["-e", "SELECT 1"]).output().is_ok_and(|o| o.status.success())
        })
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    pub fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    /// As `numawise` takes it, over the unix socket.
    pub fn target(&self) -> String {
        format!("mysql://{USER}:{PASSWORD}@localhost/{DATABASE}?socket={}", self.socket().display())
    }

    /// As `numawise` takes it, over TCP.
    pub fn tcp_target(&self) -> String {
        format!("mysql://{USER}:{PASSWORD}@127.0.0.1:{}/{DATABASE}", self.port)
    }

    /// What the server's own client prints for these statements, as root: columns parted by tabs, no heads.
    ///
    /// # Panics
    ///
    /// When the server refuses one.
    pub fn sql(&self, statements: &str) -> String {
        self.sql_or_error(statements).unwrap_or_else(|error| panic!("{error}"))
    }

    fn sql_or_error(&self, statements: &str) -> Result<String, Unavailable> {
        run("mariadb", root_client(&self.socket()).args(["-N", "-B", "-e", statements]))
    }

    /// Kills it as a power cut would, and starts it again over the same data.
    ///
    /// # Panics
    ///
    /// When it does not come back.
    pub fn crash_and_restart(&mut self) {
        self.kill();
        self.server = launch(self.folder.path(), self.port, &self.options)
            .unwrap_or_else(|error| panic!("{error}"));
        self.wait().unwrap_or_else(|error| panic!("{error}"));
    }

    /// Kills it as a power cut would.
    pub fn kill(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn launch(folder: &Path, port: u16, options: &Vec<String>) -> Result<Child, Unavailable> {
    let account = Account::find("mysql", "the package mariadb-server")?;
    let log = folder.join("log");
    let file = File::options().create(true).append(true).open(&log);
    let file = file.map_err(|source| Unavailable::File { doing: "create", path: log, source })?;
    let mut command = account.command(Path::new(SERVER));
    command
        .arg("--no-defaults")
        .arg(format!("--datadir={}", folder.join("data").display()))
        .arg(format!("--socket={}", folder.join("socket").display()))
        .arg(format!("--pid-file={}", folder.join("pid").display()))
        .arg(format!("--port={port}"))
        .args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--skip-log-bin"])
        .args(["--innodb-buffer-pool-size=128M", "--innodb-flush-log-at-trx-commit=2"])
        .args(options)
        .stderr(file);
    command.spawn().map_err(|error| Unavailable::Failed {
        what: "starting mariadbd".to_owned(),
        said: error.to_string(),
    })
}

fn root_client(socket: &Path) -> Command {
    let mut client = Command::new("mariadb");
    client.args(["--no-defaults", "--user=root", "--socket"]).arg(socket);
    client
}

impl Drop for PrivateMariaDb {
    fn drop(&mut self) {
        self.kill();
        // The folder belongs to another user; what cannot go is in /tmp and harms nobody.
        let _ = fs::remove_dir_all(self.folder.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_its_own_comes_back_after_a_crash() {
        let Some(mut server) = PrivateMariaDb::start(&["--max-connections=77"]) else { return };
        server.sql("CREATE TABLE sbtest.t (a INT) ENGINE=InnoDB; INSERT INTO sbtest.t VALUES (5)");
        assert_eq!(server.sql("SELECT @@max_connections").trim(), "77");
        server.crash_and_restart();
        assert_eq!(server.sql("SELECT a FROM sbtest.t").trim(), "5");
        let out = Command::new("mariadb")
            .args([
                "--no-defaults",
                "-usbtest",
                &format!("-p{PASSWORD}"),
                "-h127.0.0.1",
                "-N",
                "-B",
            ])
            .args([&format!("-P{}", server.port()), "sbtest", "-e", "SELECT a FROM t"])
            .output()
            .expect("the client");
        assert_eq!(String::from_utf8_lossy(&out.stdout).trim(), "5", "{out:?}");
    }
}
