//! A connection that waits: for tables, rows in bulk, and questions about them.
//!
//! InnoDB holds a lock on a table's counter until the end of a `LOAD DATA` (unless
//! `innodb_autoinc_lock_mode` is 2), so two of them on one table run one after the other. Where several
//! loaders share a table, rows therefore go in inserts, which do not wait for each other.

use super::connection::statement_error;
use super::login::{LoggedIn, log_in};
use super::wire::{Fields, LONGEST, command, receive, refusal, send};
use crate::error::LoadError;
use crate::oltp::{Options, table_name};
use crate::prepare::{Admin, Filling, Known, Range, TextRows};
use crate::session::{Fault, Refusal};
use crate::target::Target;

/// The most that is sent of a file in one packet.
const PIECE: usize = 256 << 10;
/// sysbench's: an insert is sent when it has grown beyond this.
const INSERT_BYTES: usize = 512 << 10;

pub struct MySqlAdmin {
    target: Target,
    connection: LoggedIn,
    /// Loads in bulk do not lock a table's counter. Asked for when it first matters.
    counts_freely: Option<bool>,
    /// The server has refused to take rows in bulk.
    refuses_files: bool,
}

/// The server, or its settings, take no rows in bulk.
struct InfileRefused;

impl Admin for MySqlAdmin {
    fn connect(target: &Target) -> Result<Self, LoadError> {
        let connection = log_in(target, true)?;
        // Building an index over many rows may take its time.
        connection
            .stream
            .wait_forever()
            .map_err(|source| LoadError::Lost { target: target.to_string(), source })?;
        let refuses_files = !connection.local_files;
        Ok(Self { target: target.clone(), connection, counts_freely: None, refuses_files })
    }

    fn query(&mut self, sql: &str) -> Result<TextRows, LoadError> {
        self.run(sql.as_bytes()).map_err(|fault| statement_error(&self.target, sql, fault))
    }

    fn fill(&mut self, range: Range, filling: &Filling, is_alone: bool) -> Result<(), LoadError> {
        let may_load = !filling.as_statements
            && !self.refuses_files
            && (is_alone || !filling.options.auto_inc || self.counts_freely()?);
        if may_load {
            match self.load(range, filling)? {
                Ok(()) => return Ok(()),
                Err(InfileRefused) => self.refuses_files = true,
            }
        }
        self.insert(range, filling)
    }

    fn settle(&mut self, _: u32, _: &Options) -> Result<(), LoadError> {
        Ok(())
    }

    fn known(kind: Known, name: &str) -> String {
        match kind {
            Known::Table => format!("SHOW TABLES LIKE '{name}'"),
            Known::Index(table) => format!("SHOW INDEX FROM {name} WHERE Key_name = 'k_{table}'"),
        }
    }
}

impl MySqlAdmin {
    fn counts_freely(&mut self) -> Result<bool, LoadError> {
        if let Some(known) = self.counts_freely {
            return Ok(known);
        }
        let mode = self.query("SELECT @@innodb_autoinc_lock_mode")?;
        let is_free = mode.first().and_then(|row| row.first()?.as_deref()) == Some("2");
        self.counts_freely = Some(is_free);
        Ok(is_free)
    }

    fn insert(&mut self, range: Range, filling: &Filling) -> Result<(), LoadError> {
        let mut rows = range.rows(filling);
        let head = format!("INSERT INTO {} (id, k, c, pad) VALUES ", table_name(range.table));
        let mut statement = Vec::with_capacity(INSERT_BYTES + 4096);
        for id in range.first..=range.last {
            if statement.is_empty() {
                statement.extend_from_slice(head.as_bytes());
            } else {
                statement.push(b',');
            }
            rows.draw(id).append_values(&mut statement);
            if statement.len() >= INSERT_BYTES || id == range.last {
                let done = self.run(&statement).map(drop);
                done.map_err(|fault| statement_error(&self.target, &head, fault))?;
                statement.clear();
            }
        }
        Ok(())
    }

    /// Where the server takes no files, nothing has been done.
    fn load(
        &mut self,
        range: Range,
        filling: &Filling,
    ) -> Result<Result<(), InfileRefused>, LoadError> {
        let table = table_name(range.table);
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET binary (id, k, c, pad)"
        );
        let (mut rows, mut id) = (range.rows(filling), range.first);
        let loaded = self.try_load(sql.as_bytes(), &mut |out| {
            if id > range.last {
                return false;
            }
            rows.draw(id).append_tabbed(out);
            id += 1;
            true
        });
        loaded.map_err(|fault| statement_error(&self.target, &sql, fault))
    }

    fn run(&mut self, sql: &[u8]) -> Result<TextRows, Fault> {
        self.ask(sql)?;
        self.rows()
    }

    fn ask(&mut self, sql: &[u8]) -> Result<(), Fault> {
        send(&mut self.connection.stream, 0, &[&[command::QUERY], sql].concat())
    }

    fn rows(&mut self) -> Result<TextRows, Fault> {
        let head = self.packet()?;
        if head.first() == Some(&0x00) {
            return Ok(Vec::new());
        }
        let columns = Fields(&head).length_encoded()?.unwrap_or(0);
        let markers = u64::from(!self.connection.deprecate_eof);
        for _ in 0..columns + markers {
            self.packet()?;
        }
        let mut rows = Vec::new();
        loop {
            let packet = self.packet()?;
            if packet.first() == Some(&0xfe) && packet.len() < LONGEST {
                return Ok(rows);
            }
            let mut fields = Fields(&packet);
            let row = (0..columns).map(|_| {
                let text = fields.text()?;
                Ok(text.map(|text| String::from_utf8_lossy(text).into_owned()))
            });
            rows.push(row.collect::<Result<_, Fault>>()?);
        }
    }

    /// The next packet; a refusal is an error.
    fn packet(&mut self) -> Result<Vec<u8>, Fault> {
        let (packet, _) = receive(&mut self.connection.stream)?;
        if packet.first() != Some(&0xff) {
            return Ok(packet);
        }
        let (code, message) = refusal(&packet)?;
        let code = code.to_string();
        Err(Fault::Refused(Refusal { code, message, ignorable: false, holds_transaction: false }))
    }

    fn try_load(
        &mut self,
        sql: &[u8],
        next: &mut impl FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<Result<(), InfileRefused>, Fault> {
        self.ask(sql)?;
        match receive(&mut self.connection.stream)?.0 {
            packet if packet.first() == Some(&0xfb) => {}
            packet if packet.first() == Some(&0xff) => {
                let (code, message) = refusal(&packet)?;
                // Not allowed by the server, or unknown to it.
                if matches!(code, 1148 | 3948 | 4166 | 1235) {
                    return Ok(Err(InfileRefused));
                }
                return Err(Fault::Refused(Refusal {
                    code: code.to_string(),
                    message,
                    ignorable: false,
                    holds_transaction: false,
                }));
            }
            _ => return Err(Fault::Garbled("it does not ask for the rows".to_owned())),
        }
        let (mut rows, mut sequence) = (Vec::with_capacity(PIECE + 4096), 2_u8);
        loop {
            rows.clear();
            while rows.len() < PIECE && next(&mut rows) {}
            send(&mut self.connection.stream, sequence, &rows)?;
            sequence = sequence.wrapping_add(1);
            if rows.is_empty() {
                break;
            }
        }
        self.packet()?;
        Ok(Ok(()))
    }
}
