//! What a server tells of itself, and which process on this machine it is.

use crate::admin::{Admin, AdminError};
use crate::target::{Address, Engine, Target};
use numawise_model::database::{DatabaseProduct, ServerUnseen};
use rustix::net::sockopt::socket_peercred;
use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// What it answered.
#[derive(Clone, Debug)]
pub struct Told {
    pub product: DatabaseProduct,
    pub version: String,
    /// By lower-case names; sizes of PostgreSQL's in bytes.
    pub settings: BTreeMap<String, String>,
    pub pid: Result<u32, ServerUnseen>,
}

pub fn ask(target: &Target) -> Result<Told, AdminError> {
    let mut admin = Admin::open(target)?;
    match target.engine {
        Engine::MySql => of_mysql(&mut admin, target),
        Engine::PostgreSql => of_postgres(&mut admin, target),
        Engine::Sqlite => of_sqlite(&mut admin),
    }
}

fn text_of(admin: &mut Admin, sql: &str) -> Result<String, AdminError> {
    let first = admin.rows(sql)?.into_iter().next().and_then(|row| row.into_iter().next());
    first.flatten().ok_or_else(|| AdminError::Refused {
        statement: sql.to_owned(),
        said: "nothing came back".to_owned(),
    })
}

fn pairs(admin: &mut Admin, sql: &str) -> Result<BTreeMap<String, String>, AdminError> {
    let pair = |row: Vec<Option<String>>| {
        let mut columns = row.into_iter();
        Some((columns.next()??.to_ascii_lowercase(), columns.next()??))
    };
    Ok(admin.rows(sql)?.into_iter().filter_map(pair).collect())
}

fn of_mysql(admin: &mut Admin, target: &Target) -> Result<Told, AdminError> {
    let version = text_of(admin, "SELECT VERSION()")?;
    let product = match &version {
        text if text.contains("TiDB") => DatabaseProduct::TiDb,
        text if text.contains("MariaDB") => DatabaseProduct::MariaDb,
        _ => DatabaseProduct::MySql,
    };
    let settings = pairs(admin, "SHOW GLOBAL VARIABLES")?;
    let pid = match place(&target.address) {
        Here::Socket(socket) => listener(socket),
        Here::Loopback => pid_in_file(&settings),
        Here::No => Err(ServerUnseen::NotHere),
    };
    Ok(Told { product, version, settings, pid })
}

fn of_postgres(admin: &mut Admin, target: &Target) -> Result<Told, AdminError> {
    let version = text_of(admin, "SHOW server_version")?;
    // Whoever compares two servers compares bytes, not pages of a size that can be built in.
    // The two conditions are tried in any order: neither may fail on a setting that is no number.
    let settings = pairs(
        admin,
        "SELECT name, CASE WHEN unit IN ('B', 'kB', '8kB', '16kB', '32kB', 'MB', 'GB') AND setting ~ '^[1-9][0-9]*$' \
         THEN pg_size_bytes(current_setting(name))::text ELSE setting END FROM pg_settings \
         WHERE setting IS NOT NULL",
    )?;
    let pid = match place(&target.address) {
        Here::Socket(socket) => listener(socket),
        Here::Loopback => {
            let backend = text_of(admin, "SELECT pg_backend_pid()")?;
            parent_of(&backend)
        }
        Here::No => Err(ServerUnseen::NotHere),
    };
    Ok(Told { product: DatabaseProduct::PostgreSql, version, settings, pid })
}

fn of_sqlite(admin: &mut Admin) -> Result<Told, AdminError> {
    let version = text_of(admin, "SELECT sqlite_version()")?;
    let settings = BTreeMap::new();
    let pid = Err(ServerUnseen::NoServer);
    Ok(Told { product: DatabaseProduct::Sqlite, version, settings, pid })
}

enum Here<'a> {
    Socket(&'a Path),
    Loopback,
    No,
}

fn place(address: &Address) -> Here<'_> {
    match address {
        Address::Socket(path) | Address::File(path) => Here::Socket(path),
        Address::Tcp { host, .. } => {
            let is_loopback = host == "localhost"
                || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
            if is_loopback { Here::Loopback } else { Here::No }
        }
    }
}

/// The kernel keeps who listens; a process of another PID namespace has no number here.
fn listener(socket: &Path) -> Result<u32, ServerUnseen> {
    let stream = UnixStream::connect(socket);
    let stream = stream.map_err(|error| ServerUnseen::NoAccess { why: error.to_string() })?;
    let peer = socket_peercred(&stream);
    let peer = peer.map_err(|error| ServerUnseen::NoAccess { why: error.to_string() })?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).map_err(|_| ServerUnseen::NotFound)
}

/// The file may be another machine's, when the port is forwarded: the process has to be a server's.
fn pid_in_file(settings: &BTreeMap<String, String>) -> Result<u32, ServerUnseen> {
    let file = settings.get("pid_file").ok_or(ServerUnseen::NotFound)?;
    let file = match settings.get("datadir") {
        Some(folder) => PathBuf::from(folder).join(file),
        None => PathBuf::from(file),
    };
    let text = fs::read_to_string(&file)
        .map_err(|error| ServerUnseen::NoAccess { why: format!("{}: {error}", file.display()) })?;
    let pid: u32 = text.trim().parse().map_err(|_| ServerUnseen::NotFound)?;
    if is_called(pid, &["mariadbd", "mysqld"]) { Ok(pid) } else { Err(ServerUnseen::NotFound) }
}

fn parent_of(backend: &str) -> Result<u32, ServerUnseen> {
    let stat = fs::read_to_string(format!("/proc/{backend}/stat"));
    let stat = stat.map_err(|_| ServerUnseen::NotFound)?;
    // The name, in brackets, may itself have brackets and blanks.
    let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
    parent.filter(|pid| is_called(*pid, &["postgres"])).ok_or(ServerUnseen::NotFound)
}

fn is_called(pid: u32, names: &[&str]) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| names.contains(&name.trim()))
}
