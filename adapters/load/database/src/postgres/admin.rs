//! A connection that waits: for tables, rows by `COPY`, and questions about them.

use super::login::{log_in, receive};
use super::reply::error_fields;
use super::{message, statement_error};
use crate::error::LoadError;
use crate::oltp::{Options, table_name};
use crate::prepare::{Admin, Filling, Known, Range, TextRows};
use crate::session::Fault;
use crate::stream::Stream;
use crate::target::Target;

/// About so much is sent at once.
const PIECE: usize = 256 << 10;

pub struct PostgresAdmin {
    target: Target,
    stream: Stream,
}

impl Admin for PostgresAdmin {
    fn connect(target: &Target) -> Result<Self, LoadError> {
        let stream = log_in(target)?;
        stream
            .wait_forever()
            .map_err(|source| LoadError::Lost { target: target.to_string(), source })?;
        Ok(Self { target: target.clone(), stream })
    }

    fn query(&mut self, sql: &str) -> Result<TextRows, LoadError> {
        self.run(sql).map_err(|fault| statement_error(&self.target, sql, fault))
    }

    fn fill(&mut self, range: Range, filling: &Filling, _: bool) -> Result<(), LoadError> {
        let table = table_name(range.table);
        if filling.as_statements {
            let sql = insert(&table, range, filling);
            return self.query(&sql).map(drop);
        }
        let sql = format!("COPY {table} (id, k, c, pad) FROM STDIN");
        self.copy(&sql, range, filling).map_err(|fault| statement_error(&self.target, &sql, fault))
    }

    /// The sequence has not seen the ids that rows brought along.
    fn settle(&mut self, table: u32, options: &Options) -> Result<(), LoadError> {
        let name = table_name(table);
        if options.auto_inc {
            let last = options.table_size;
            self.query(&format!("SELECT setval(pg_get_serial_sequence('{name}', 'id'), {last})"))?;
        }
        Ok(())
    }

    fn known(kind: Known, name: &str) -> String {
        match kind {
            Known::Table => {
                format!("SELECT 1 WHERE to_regclass('{name}') IS NOT NULL")
            }
            Known::Index(table) => {
                format!(
                    "SELECT 1 FROM pg_indexes WHERE tablename = '{name}' AND indexname = 'k_{table}'"
                )
            }
        }
    }
}

fn insert(table: &str, range: Range, filling: &Filling) -> String {
    let mut rows = range.rows(filling);
    let mut sql = format!("INSERT INTO {table} (id, k, c, pad) VALUES ").into_bytes();
    for id in range.first..=range.last {
        if id > range.first {
            sql.push(b',');
        }
        rows.draw(id).append_values(&mut sql);
    }
    String::from_utf8_lossy(&sql).into_owned()
}

impl PostgresAdmin {
    fn ask(&mut self, sql: &str) -> Result<(), Fault> {
        let mut out = Vec::with_capacity(sql.len() + 6);
        message(b'Q', &mut out, |out| {
            out.extend_from_slice(sql.as_bytes());
            out.push(0);
        });
        Ok(self.stream.send(&out)?)
    }

    fn run(&mut self, sql: &str) -> Result<TextRows, Fault> {
        self.ask(sql)?;
        self.answer()
    }

    fn answer(&mut self) -> Result<TextRows, Fault> {
        let (mut rows, mut refusal) = (Vec::new(), None);
        loop {
            match receive(&mut self.stream)? {
                (b'D', body) => rows.push(row(&body)?),
                (b'E', body) => refusal = Some(error_fields(&body)),
                (b'Z', _) => break,
                _ => {}
            }
        }
        refusal.map_or(Ok(rows), |refusal| Err(Fault::Refused(refusal)))
    }

    fn copy(&mut self, sql: &str, range: Range, filling: &Filling) -> Result<(), Fault> {
        self.ask(sql)?;
        match receive(&mut self.stream)? {
            (b'G', _) => {}
            (b'E', body) => {
                let refusal = error_fields(&body);
                self.answer()?;
                return Err(Fault::Refused(refusal));
            }
            _ => return Err(Fault::Garbled("it does not ask for the rows".to_owned())),
        }
        let (mut rows, mut id) = (range.rows(filling), range.first);
        let mut out = Vec::with_capacity(PIECE + 4096);
        while id <= range.last {
            out.clear();
            message(b'd', &mut out, |out| {
                while out.len() < PIECE && id <= range.last {
                    rows.draw(id).append_tabbed(out);
                    id += 1;
                }
            });
            self.stream.send(&out)?;
        }
        out.clear();
        message(b'c', &mut out, |_| {});
        self.stream.send(&out)?;
        self.answer().map(drop)
    }
}

/// A row of texts.
fn row(body: &[u8]) -> Result<Vec<Option<String>>, Fault> {
    let short = || Fault::Garbled("a row ends before its columns".to_owned());
    let (count, mut rest) = body.split_at_checked(2).ok_or_else(short)?;
    let count = u16::from_be_bytes([count[0], count[1]]);
    let mut row = Vec::new();
    for _ in 0..count {
        let (length, after) = rest.split_at_checked(4).ok_or_else(short)?;
        let length = i32::from_be_bytes([length[0], length[1], length[2], length[3]]);
        let Ok(length) = usize::try_from(length) else {
            row.push(None);
            rest = after;
            continue;
        };
        let (text, after) = after.split_at_checked(length).ok_or_else(short)?;
        row.push(Some(String::from_utf8_lossy(text).into_owned()));
        rest = after;
    }
    Ok(row)
}
