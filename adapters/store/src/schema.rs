//! Opening the file: who may read it, how SQLite is to treat it, and which tables it has.

use crate::error::Access;
use numawise_engine::ports::PortError;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

/// Fifty processes that commit at once take turns in well under a second each.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Says that a SQLite file is ours: "nwis" in ASCII.
const APPLICATION_ID: i32 = 0x6e77_6973;

/// One entry per version, each leading from the one before it to its own; `user_version` counts
/// them. Entries that were released are never edited.
const MIGRATIONS: [&str; 3] = [
    "
    CREATE TABLE hosts (
        host TEXT PRIMARY KEY,
        revision INTEGER NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    CREATE TABLE steps (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        intent TEXT NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    CREATE INDEX steps_of_intent ON steps (intent, id);
    CREATE TABLE plans (
        id TEXT PRIMARY KEY,
        document TEXT NOT NULL
    ) STRICT;
    CREATE TABLE usage_samples (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        host TEXT NOT NULL,
        at_unix_sec INTEGER NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    CREATE INDEX usage_samples_of_host ON usage_samples (host, at_unix_sec, id);
",
    "
    CREATE TABLE tunings (
        host TEXT PRIMARY KEY,
        document TEXT NOT NULL
    ) STRICT;
    CREATE TABLE tuning_plans (
        id TEXT PRIMARY KEY,
        document TEXT NOT NULL
    ) STRICT;
",
    "
    CREATE TABLE experiments (
        name TEXT PRIMARY KEY,
        began_unix_sec INTEGER NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        experiment TEXT NOT NULL REFERENCES experiments (name),
        id TEXT NOT NULL,
        document TEXT NOT NULL,
        UNIQUE (experiment, id)
    ) STRICT;
",
];

/// Opens the file ready for use. An existing directory keeps its permissions (whoever made it had a
/// reason); the files in it are always closed to others.
pub fn open(dir: &Path, path: &Path) -> Result<Connection, PortError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| {
        Access { action: "create the state directory", path: dir }.io_failed(&error)
    })?;
    // One at a time: switching to the write-ahead log and making tables meet no other opener.
    let setup = private_file(&dir.join("setup.lock"))?;
    setup.lock().map_err(|error| Access { action: "lock", path: dir }.io_failed(&error))?;
    private_file(path)?;
    let access = Access { action: "open", path };
    let mut connection = connect(path).map_err(|error| access.failed(&error))?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// Opens or makes a file that only its owner can read, whatever the umask. SQLite gives its
/// companion files the same permissions.
pub fn private_file(path: &Path) -> Result<File, PortError> {
    let access = Access { action: "open", path };
    let open = || -> io::Result<File> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        if file.metadata()?.permissions().mode() & 0o777 != 0o600 {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        Ok(file)
    };
    open().map_err(|error| access.io_failed(&error))
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), PortError> {
    let access = Access { action: "open", path };
    let failed = |error| access.failed(&error);
    let number = |name: &str, connection: &Connection| -> rusqlite::Result<i32> {
        connection.pragma_query_value(None, name, |row| row.get(0))
    };
    let application = number("application_id", connection).map_err(failed)?;
    let version = number("user_version", connection).map_err(failed)?;
    if application == APPLICATION_ID && version == MIGRATIONS.len() as i32 {
        return Ok(());
    }
    if version > MIGRATIONS.len() as i32 && application == APPLICATION_ID {
        return Err(PortError::Unreadable(format!(
            "{} has schema version {version}, written by a newer numawise; this one knows versions \
             up to {}: use the newer one, or name another state directory with --state",
            path.display(),
            MIGRATIONS.len()
        )));
    }
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(failed)?;
    if application != APPLICATION_ID && (application != 0 || version != 0 || tables != 0) {
        return Err(PortError::Unreadable(format!(
            "{} is the SQLite file of another program; name another state directory with --state",
            path.display()
        )));
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    for sql in MIGRATIONS.iter().skip(version as usize) {
        transaction.execute_batch(sql).map_err(failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i32).map_err(failed)?;
    transaction.commit().map_err(failed)
}
