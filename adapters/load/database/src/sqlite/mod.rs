//! SQLite: the database that needs no server.
//!
//! Each connection runs on its worker's own thread, so a statement has its answer when it was sent. There
//! is one writer at a time, so a transaction that will write says so with its BEGIN.

use crate::catalog::Catalog;
use crate::error::LoadError;
use crate::oltp::{Event, Options, Step, Value, table_name};
use crate::prepare::{Admin, Filling, Known, Range, TextRows};
use crate::session::{Fault, Outcome, Refusal, Session};
use crate::target::{Address, Target};
use rusqlite::types::{ToSqlOutput, Value as SqlValue, ValueRef};
use rusqlite::{Connection, ErrorCode, ToSql, params_from_iter};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

/// How long a connection waits for another's lock before that is an ignored error.
const BUSY: Duration = Duration::from_secs(5);

pub struct SqliteSession {
    connection: Connection,
    catalog: Arc<Catalog>,
    text: Vec<u8>,
    answer: Option<Result<Outcome, rusqlite::Error>>,
}

fn open(target: &Target) -> Result<Connection, LoadError> {
    let Address::File(file) = &target.address else {
        let why = "SQLite lives in a file".to_owned();
        return Err(LoadError::Protocol { target: target.to_string(), why });
    };
    let open = || {
        let connection = Connection::open(file)?;
        connection.busy_timeout(BUSY)?;
        // Readers and the writer do not wait for each other; a power cut may lose the last commits, never
        // the database.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(connection)
    };
    open().map_err(|error: rusqlite::Error| LoadError::Unreachable {
        target: target.to_string(),
        source: io::Error::other(error),
    })
}

fn statement_error(target: &Target, sql: &str, error: &rusqlite::Error) -> LoadError {
    LoadError::Statement {
        target: target.to_string(),
        code: code(error),
        message: error.to_string(),
        statement: sql.chars().take(120).collect(),
    }
}

/// SQLite's own number, with its refinement.
fn code(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => failure.extended_code.to_string(),
        _ => "-".to_owned(),
    }
}

impl SqliteSession {
    pub fn connect(target: &Target, catalog: &Arc<Catalog>) -> Result<Self, LoadError> {
        let connection = open(target)?;
        connection.set_prepared_statement_cache_capacity(catalog.prepared.len() + 1);
        for &(template, table) in &catalog.prepared {
            let sql = catalog.sql(template, table);
            connection.prepare_cached(sql).map_err(|error| statement_error(target, sql, &error))?;
        }
        Ok(Self { connection, catalog: Arc::clone(catalog), text: Vec::new(), answer: None })
    }

    fn run(&mut self, step: Step, event: &Event) -> Result<Outcome, rusqlite::Error> {
        let parameters = self.catalog.parameters(step.template);
        if self.catalog.is_text(step.template) {
            self.text.clear();
            let pieces = self.catalog.pieces(step.template, step.table);
            event.append_text(step, pieces, parameters, &mut self.text);
            let sql = String::from_utf8_lossy(&self.text).into_owned();
            let mut statement = self.connection.prepare(&sql)?;
            return outcome(&self.connection, &mut statement, []);
        }
        let mut statement =
            self.connection.prepare_cached(self.catalog.sql(step.template, step.table))?;
        let values = event.values(step, parameters).map(Bound);
        outcome(&self.connection, &mut statement, params_from_iter(values))
    }
}

/// A parameter, lent to SQLite.
struct Bound<'a>(Value<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Number(number) => ToSqlOutput::Owned(SqlValue::Integer(number)),
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text)),
        })
    }
}

fn outcome(
    connection: &Connection,
    statement: &mut rusqlite::Statement<'_>,
    values: impl rusqlite::Params,
) -> Result<Outcome, rusqlite::Error> {
    let gives_rows = statement.column_count() > 0;
    let mut rows = statement.query(values)?;
    while rows.next()?.is_some() {}
    drop(rows);
    if gives_rows {
        return Ok(Outcome::ResultSet);
    }
    let writes = !statement.readonly();
    Ok(Outcome::Changed(if writes { connection.changes() } else { 0 }))
}

impl Session for SqliteSession {
    fn submit(&mut self, step: Step, event: &Event) -> Result<(), Fault> {
        let answer = self.run(step, event);
        // What was changed last is still told after a statement that changes nothing.
        let answer = match answer {
            Ok(Outcome::Changed(_)) if step.template.is_control() => Ok(Outcome::Changed(0)),
            other => other,
        };
        self.answer = Some(answer);
        Ok(())
    }

    fn roll_back(&mut self) -> Result<(), Fault> {
        let rolled_back = self.connection.execute_batch("ROLLBACK");
        self.answer = Some(rolled_back.map(|()| Outcome::Changed(0)));
        Ok(())
    }

    fn advance(&mut self, _: &mut [u8]) -> Result<Option<Outcome>, Fault> {
        match self.answer.take() {
            None => Ok(None),
            Some(Ok(outcome)) => Ok(Some(outcome)),
            Some(Err(error)) => {
                let busy = [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked];
                Err(Fault::Refused(Refusal {
                    code: code(&error),
                    message: error.to_string(),
                    ignorable: error.sqlite_error_code().is_some_and(|code| busy.contains(&code)),
                    holds_transaction: !self.connection.is_autocommit(),
                }))
            }
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

pub struct SqliteAdmin {
    target: Target,
    connection: Connection,
}

impl Admin for SqliteAdmin {
    fn connect(target: &Target) -> Result<Self, LoadError> {
        Ok(Self { target: target.clone(), connection: open(target)? })
    }

    fn query(&mut self, sql: &str) -> Result<TextRows, LoadError> {
        let query = || {
            let mut statement = self.connection.prepare(sql)?;
            let columns = statement.column_count();
            let mut rows = statement.query([])?;
            let mut texts = Vec::new();
            while let Some(row) = rows.next()? {
                let text = |at| match row.get_ref(at)? {
                    ValueRef::Null => Ok(None),
                    ValueRef::Integer(number) => Ok(Some(number.to_string())),
                    ValueRef::Real(number) => Ok(Some(number.to_string())),
                    ValueRef::Text(text) | ValueRef::Blob(text) => {
                        Ok(Some(String::from_utf8_lossy(text).into_owned()))
                    }
                };
                texts.push((0..columns).map(text).collect::<rusqlite::Result<Vec<_>>>()?);
            }
            Ok(texts)
        };
        query().map_err(|error: rusqlite::Error| statement_error(&self.target, sql, &error))
    }

    fn fill(&mut self, range: Range, filling: &Filling, _: bool) -> Result<(), LoadError> {
        let sql =
            format!("INSERT INTO {} (id, k, c, pad) VALUES (?, ?, ?, ?)", table_name(range.table));
        let mut rows = range.rows(filling);
        let mut fill = || {
            let transaction = self.connection.transaction()?;
            {
                let mut statement = transaction.prepare_cached(&sql)?;
                for id in range.first..=range.last {
                    let row = rows.draw(id);
                    statement.execute((
                        row.id,
                        row.k as i64,
                        ToSqlOutput::Borrowed(ValueRef::Text(row.c)),
                        ToSqlOutput::Borrowed(ValueRef::Text(row.pad)),
                    ))?;
                }
            }
            transaction.commit()
        };
        fill().map_err(|error: rusqlite::Error| statement_error(&self.target, &sql, &error))
    }

    fn settle(&mut self, _: u32, _: &Options) -> Result<(), LoadError> {
        Ok(())
    }

    fn known(kind: Known, name: &str) -> String {
        let (kind, name) = match kind {
            Known::Table => ("table", name.to_owned()),
            Known::Index(table) => ("index", format!("k_{table}")),
        };
        format!("SELECT name FROM sqlite_master WHERE type = '{kind}' AND name = '{name}'")
    }
}
