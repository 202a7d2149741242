//! One blocking connection to any of the three engines, for work where a crate's client is fast enough:
//! schemas, loads in bulk, transactions whose cost is the server's.
//!
//! Failures are parted by what may be done about them, since that differs between servers in its codes
//! only: try again, connect again, or give up.

mod value;

pub use value::Value;

use crate::target::{Address, Engine, Target, Tls};
use mysql::prelude::Queryable;
use std::io::Write;
use std::time::Duration;
use thiserror::Error;

const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// As long as InnoDB waits for a lock, so that all engines give up alike.
const SQLITE_WAITS_FOR: Duration = Duration::from_secs(50);

/// MySQL's: a deadlock, a lock waited for too long, a row that changed since it was read; and TiDB's own.
const MYSQL_RETRIED: &[u16] = &[1213, 1205, 1020, 8002, 8022, 9007];
/// The server shuts down, or has killed the connection.
const MYSQL_LOST: &[u16] = &[1053, 1927, 1077, 1079];

/// What went wrong with a statement, by what may be done about it.
#[derive(Debug, Error)]
pub enum AdminError {
    #[error("cannot connect to {target}: {said}")]
    Connect { target: String, said: String },
    #[error(
        "{target}: encryption of connections to PostgreSQL is not built for this load; without tls= it works"
    )]
    NoTls { target: String },
    /// Another transaction was in the way: the whole transaction is to be tried again.
    #[error("another transaction was in the way: {said}")]
    Conflict { said: String },
    /// Whether the statement was carried out is not known.
    #[error("the connection was lost: {said}")]
    Lost { said: String },
    #[error("the database refused {statement:?}: {said}")]
    Refused { statement: String, said: String },
}

/// A row as text, whatever its columns are.
pub type TextRow = Vec<Option<String>>;

pub struct Admin(Client);

enum Client {
    MySql(Box<mysql::Conn>, Slots<mysql::Statement>),
    PostgreSql(Box<postgres::Client>, Slots<postgres::Statement>),
    Sqlite(rusqlite::Connection),
}

/// Prepared statements by the number that the caller gave them.
type Slots<T> = Vec<Option<T>>;

impl Admin {
    pub fn open(target: &Target) -> Result<Self, AdminError> {
        match target.engine {
            Engine::MySql => mysql_client(target),
            Engine::PostgreSql => postgres_client(target),
            Engine::Sqlite => sqlite_client(target),
        }
    }

    pub fn engine(&self) -> Engine {
        match self.0 {
            Client::MySql(..) => Engine::MySql,
            Client::PostgreSql(..) => Engine::PostgreSql,
            Client::Sqlite(_) => Engine::Sqlite,
        }
    }

    /// One statement without rows.
    pub fn run(&mut self, sql: &str) -> Result<(), AdminError> {
        match &mut self.0 {
            Client::MySql(conn, _) => conn.query_drop(sql).map_err(|e| of_mysql(sql, &e)),
            Client::PostgreSql(client, _) => {
                client.batch_execute(sql).map_err(|e| of_postgres(sql, &e))
            }
            Client::Sqlite(connection) => {
                connection.execute_batch(sql).map_err(|e| of_sqlite(sql, &e))
            }
        }
    }

    /// All rows of one query.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<TextRow>, AdminError> {
        match &mut self.0 {
            Client::MySql(conn, _) => {
                let rows: Vec<mysql::Row> = conn.query(sql).map_err(|e| of_mysql(sql, &e))?;
                Ok(rows.into_iter().map(value::text_of_mysql).collect())
            }
            Client::PostgreSql(client, _) => {
                let messages = client.simple_query(sql).map_err(|e| of_postgres(sql, &e))?;
                Ok(messages.iter().filter_map(value::text_of_postgres).collect())
            }
            Client::Sqlite(connection) => sqlite_rows(connection, sql, &[])
                .map(|rows| rows.into_iter().map(value::text_row).collect())
                .map_err(|e| of_sqlite(sql, &e)),
        }
    }

    /// The one number that a query gives; nothing where it is NULL or there is no row.
    pub fn number(&mut self, sql: &str) -> Result<Option<i64>, AdminError> {
        let rows = self.rows(sql)?;
        let Some(Some(text)) = rows.first().and_then(|row| row.first()) else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(AdminError::Refused {
                statement: sql.to_owned(),
                said: format!("{text:?} came back, where a whole number was wanted"),
            }),
        }
    }

    /// The one number that a query always gives, never below zero.
    pub fn count(&mut self, sql: &str) -> Result<u64, AdminError> {
        let number = self.number(sql)?;
        number
            .and_then(|number| u64::try_from(number).ok())
            .ok_or_else(|| refused(sql, format!("{number:?} came back, where a count was wanted")))
    }

    /// A statement that is prepared at its first use; `slot` is its own number among the caller's.
    ///
    /// The rows are those of the first result set.
    pub fn prepared(
        &mut self,
        slot: usize,
        sql: &str,
        values: &[Value],
    ) -> Result<Vec<Vec<Value>>, AdminError> {
        match &mut self.0 {
            Client::MySql(conn, slots) => {
                let statement = match slot_of(slots, slot) {
                    Some(statement) => statement.clone(),
                    empty => empty.insert(conn.prep(sql).map_err(|e| of_mysql(sql, &e))?).clone(),
                };
                let values =
                    mysql::Params::Positional(values.iter().map(Value::to_mysql).collect());
                let rows: Vec<mysql::Row> =
                    conn.exec(&statement, values).map_err(|e| of_mysql(sql, &e))?;
                Ok(rows.into_iter().map(value::of_mysql).collect())
            }
            Client::PostgreSql(client, slots) => {
                let statement = match slot_of(slots, slot) {
                    Some(statement) => statement.clone(),
                    empty => {
                        let made = client.prepare(sql).map_err(|e| of_postgres(sql, &e))?;
                        empty.insert(made).clone()
                    }
                };
                let values: Vec<&(dyn postgres::types::ToSql + Sync)> =
                    values.iter().map(|value| value as _).collect();
                let rows = client.query(&statement, &values).map_err(|e| of_postgres(sql, &e))?;
                rows.iter()
                    .map(|row| value::of_postgres(row).map_err(|e| of_postgres(sql, &e)))
                    .collect()
            }
            Client::Sqlite(connection) => {
                sqlite_rows(connection, sql, values).map_err(|e| of_sqlite(sql, &e))
            }
        }
    }

    /// PostgreSQL's way to load: rows as lines, columns parted by tabs.
    pub fn copy_in(&mut self, sql: &str, lines: &[u8]) -> Result<(), AdminError> {
        let Client::PostgreSql(client, _) = &mut self.0 else {
            return Err(AdminError::Refused {
                statement: sql.to_owned(),
                said: "only PostgreSQL has COPY".to_owned(),
            });
        };
        let mut writer = client.copy_in(sql).map_err(|e| of_postgres(sql, &e))?;
        writer.write_all(lines).map_err(|e| AdminError::Lost { said: e.to_string() })?;
        writer.finish().map(drop).map_err(|e| of_postgres(sql, &e))
    }
}

fn slot_of<T>(slots: &mut Slots<T>, slot: usize) -> &mut Option<T> {
    if slots.len() <= slot {
        slots.resize_with(slot + 1, || None);
    }
    &mut slots[slot]
}

fn sqlite_rows(
    connection: &rusqlite::Connection,
    sql: &str,
    values: &[Value],
) -> rusqlite::Result<Vec<Vec<Value>>> {
    let mut statement = connection.prepare_cached(sql)?;
    let columns = statement.column_count();
    if columns == 0 {
        statement.execute(rusqlite::params_from_iter(values))?;
        return Ok(Vec::new());
    }
    let mut rows = statement.query(rusqlite::params_from_iter(values))?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push((0..columns).map(|at| row.get(at)).collect::<rusqlite::Result<_>>()?);
    }
    Ok(all)
}

fn mysql_client(target: &Target) -> Result<Admin, AdminError> {
    let mut options = mysql::OptsBuilder::new()
        .user(Some(&target.user))
        .pass(target.password.as_deref())
        .db_name(Some(&target.database))
        // A TCP target stays one, and no statement is evicted while it is used.
        .prefer_socket(false)
        .stmt_cache_size(1024)
        .tcp_connect_timeout(Some(CONNECT_WITHIN));
    options = match &target.address {
        Address::Tcp { host, port } => options.ip_or_hostname(Some(host)).tcp_port(*port),
        Address::Socket(path) | Address::File(path) => options.socket(Some(path.to_string_lossy())),
    };
    options = match &target.tls {
        Tls::Off => options,
        Tls::Unverified => options.ssl_opts(
            mysql::SslOpts::default()
                .with_danger_accept_invalid_certs(true)
                .with_danger_skip_domain_validation(true),
        ),
        Tls::Verified { authority } => options.ssl_opts(match authority {
            Some(file) => mysql::SslOpts::default().with_root_cert_path(Some(file.clone())),
            None => mysql::SslOpts::default(),
        }),
    };
    match mysql::Conn::new(options) {
        Ok(conn) => Ok(Admin(Client::MySql(Box::new(conn), Vec::new()))),
        Err(error) => Err(unconnected(target, &error)),
    }
}

fn postgres_client(target: &Target) -> Result<Admin, AdminError> {
    if target.tls != Tls::Off {
        return Err(AdminError::NoTls { target: target.to_string() });
    }
    let mut config = postgres::Config::new();
    config.user(&target.user).dbname(&target.database).connect_timeout(CONNECT_WITHIN);
    if let Some(password) = &target.password {
        config.password(password);
    }
    match &target.address {
        Address::Tcp { host, port } => {
            config.host(host).port(*port);
        }
        // The client makes the socket's name of its folder and the port.
        Address::Socket(path) | Address::File(path) => {
            let port = path.extension().and_then(|port| port.to_str()?.parse().ok());
            let folder = if port.is_some() { path.parent().unwrap_or(path) } else { path };
            config.host_path(folder).port(port.unwrap_or(5432));
        }
    }
    match config.connect(postgres::NoTls) {
        Ok(client) => Ok(Admin(Client::PostgreSql(Box::new(client), Vec::new()))),
        Err(error) => Err(unconnected(target, &error)),
    }
}

fn sqlite_client(target: &Target) -> Result<Admin, AdminError> {
    let (Address::File(path) | Address::Socket(path)) = &target.address else {
        let said = "SQLite is a file".to_owned();
        return Err(AdminError::Connect { target: target.to_string(), said });
    };
    let open = || {
        let connection = rusqlite::Connection::open(path)?;
        connection.busy_timeout(SQLITE_WAITS_FOR)?;
        connection.set_prepared_statement_cache_capacity(128);
        // Readers beside one writer, and each commit outlives the program that made it.
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        Ok(connection)
    };
    match open() {
        Ok(connection) => Ok(Admin(Client::Sqlite(connection))),
        Err::<_, rusqlite::Error>(error) => Err(unconnected(target, &error)),
    }
}

fn unconnected(target: &Target, error: &dyn std::error::Error) -> AdminError {
    AdminError::Connect { target: target.to_string(), said: chain(error) }
}

/// The client crates leave the reason in the source.
fn chain(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !said.contains(&more) {
            said = format!("{said}: {more}");
        }
        next = source.source();
    }
    said
}

fn refused(statement: &str, said: String) -> AdminError {
    const SHOWN: usize = 120;
    AdminError::Refused { statement: statement.chars().take(SHOWN).collect(), said }
}

fn of_mysql(statement: &str, error: &mysql::Error) -> AdminError {
    let said = chain(error);
    match error {
        mysql::Error::MySqlError(server) if MYSQL_RETRIED.contains(&server.code) => {
            AdminError::Conflict { said }
        }
        mysql::Error::MySqlError(server) if MYSQL_LOST.contains(&server.code) => {
            AdminError::Lost { said }
        }
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) => AdminError::Lost { said },
        mysql::Error::DriverError(
            mysql::DriverError::ConnectTimeout | mysql::DriverError::CouldNotConnect(_),
        ) => AdminError::Lost { said },
        _ => refused(statement, said),
    }
}

fn of_postgres(statement: &str, error: &postgres::Error) -> AdminError {
    use postgres::error::SqlState;
    let said = chain(error);
    let Some(code) = error.code() else {
        let lost = error.is_closed() || said.contains("communicating with the server");
        return if lost { AdminError::Lost { said } } else { refused(statement, said) };
    };
    if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED {
        AdminError::Conflict { said }
    } else if code.code().starts_with("57P") || code.code().starts_with("08") {
        AdminError::Lost { said }
    } else {
        refused(statement, said)
    }
}

fn of_sqlite(statement: &str, error: &rusqlite::Error) -> AdminError {
    use rusqlite::ErrorCode;
    let said = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => AdminError::Conflict { said },
        _ => refused(statement, said),
    }
}
