//! A connection that runs a workload's statements.

use super::Ignored;
use super::login::{LoggedIn, log_in};
use super::reply::{Reply, Skimmed};
use super::wire::{Fields, HEADER, command, receive, refusal, send};
use crate::catalog::Catalog;
use crate::error::LoadError;
use crate::oltp::{Event, Step, Template, Value};
use crate::session::{Fault, Outcome, Refusal, Session};
use crate::stream::Stream;
use crate::target::Target;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

const TYPE_LONG: u16 = 0x03;
const TYPE_STRING: u16 = 0xfe;

pub struct MySqlSession {
    stream: Stream,
    catalog: Arc<Catalog>,
    ignored: Arc<Ignored>,
    /// By the catalog's slots.
    statements: Vec<Prepared>,
    reply: Reply,
    /// The beginning of a packet whose end has not come.
    pending: Vec<u8>,
    out: Vec<u8>,
    /// The answer that is waited for is that to a rollback.
    in_transaction: bool,
}

#[derive(Clone, Copy, Default)]
struct Prepared {
    id: u32,
    /// The server knows the parameters' types from the first execution.
    is_typed: bool,
}

impl MySqlSession {
    /// Logged in, all statements prepared.
    pub fn connect(
        target: &Target,
        catalog: &Arc<Catalog>,
        ignored: &Arc<Ignored>,
    ) -> Result<Self, LoadError> {
        let LoggedIn { stream, deprecate_eof, cache_metadata, .. } = log_in(target, false)?;
        let mut this = Self {
            stream,
            catalog: Arc::clone(catalog),
            ignored: Arc::clone(ignored),
            statements: vec![Prepared::default(); catalog.slots()],
            reply: Reply::new(deprecate_eof, cache_metadata),
            pending: Vec::new(),
            out: Vec::with_capacity(512),
            in_transaction: false,
        };
        for &(template, table) in &catalog.prepared {
            let sql = catalog.sql(template, table);
            let id = prepare(&mut this.stream, sql, deprecate_eof)
                .map_err(|fault| statement_error(target, sql, fault))?;
            this.statements[Catalog::slot(template, table)].id = id;
        }
        this.stream
            .set_nonblocking(true)
            .map_err(|source| LoadError::Lost { target: target.to_string(), source })?;
        Ok(this)
    }

    fn encode_execute(&mut self, step: Step, event: &Event) {
        let slot = Catalog::slot(step.template, step.table);
        let prepared = &mut self.statements[slot];
        let parameters = self.catalog.parameters(step.template);
        self.out.push(command::EXECUTE);
        self.out.extend_from_slice(&prepared.id.to_le_bytes());
        // No cursor, one iteration.
        self.out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if parameters.is_empty() {
            return;
        }
        // None is NULL.
        self.out.resize(self.out.len() + parameters.len().div_ceil(8), 0);
        self.out.push(u8::from(!prepared.is_typed));
        if !prepared.is_typed {
            prepared.is_typed = true;
            for parameter in parameters {
                let kind = match parameter {
                    crate::oltp::Parameter::Number => TYPE_LONG,
                    crate::oltp::Parameter::C | crate::oltp::Parameter::Pad => TYPE_STRING,
                };
                self.out.extend_from_slice(&kind.to_le_bytes());
            }
        }
        for value in event.values(step, parameters) {
            match value {
                // The columns are of 32 bits, and so are all keys and ends of ranges.
                Value::Number(number) => {
                    self.out.extend_from_slice(&(number as i32).to_le_bytes());
                }
                // Shorter than the 251 from which on a length takes more than a byte.
                Value::Text(text) => {
                    self.out.push(text.len() as u8);
                    self.out.extend_from_slice(text);
                }
            }
        }
    }

    fn send_out(&mut self) -> Result<(), Fault> {
        let length = (self.out.len() - HEADER) as u32;
        self.out[..3].copy_from_slice(&length.to_le_bytes()[..3]);
        self.reply.begin();
        self.pending.clear();
        Ok(self.stream.send(&self.out)?)
    }

    fn refused(&self, code: u16, message: String) -> Fault {
        // A deadlock has rolled back all of the transaction; after a lock that took too long the server
        // has taken back one statement only, and would commit the others with the next BEGIN.
        let holds_transaction = self.in_transaction && code != 1213;
        let ignorable = self.ignored.has(code);
        Fault::Refused(Refusal { code: code.to_string(), message, ignorable, holds_transaction })
    }
}

impl Session for MySqlSession {
    fn submit(&mut self, step: Step, event: &Event) -> Result<(), Fault> {
        self.out.clear();
        self.out.resize(HEADER, 0);
        match step.template {
            Template::Begin => self.in_transaction = true,
            Template::Commit => self.in_transaction = false,
            _ => {}
        }
        if self.catalog.is_text(step.template) {
            self.out.push(command::QUERY);
            let pieces = self.catalog.pieces(step.template, step.table);
            event.append_text(step, pieces, self.catalog.parameters(step.template), &mut self.out);
        } else {
            self.encode_execute(step, event);
        }
        self.send_out()
    }

    fn roll_back(&mut self) -> Result<(), Fault> {
        self.in_transaction = false;
        self.out.clear();
        self.out.resize(HEADER, 0);
        self.out.push(command::QUERY);
        self.out.extend_from_slice(b"ROLLBACK");
        self.send_out()
    }

    fn advance(&mut self, scratch: &mut [u8]) -> Result<Option<Outcome>, Fault> {
        loop {
            let read = match self.stream.receive(scratch) {
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            let skimmed = if self.pending.is_empty() {
                let skimmed = self.reply.skim(&scratch[..read])?;
                if let Skimmed::More { used } = skimmed {
                    self.pending.extend_from_slice(&scratch[used..read]);
                }
                skimmed
            } else {
                self.pending.extend_from_slice(&scratch[..read]);
                let skimmed = self.reply.skim(&self.pending)?;
                if let Skimmed::More { used } = skimmed {
                    self.pending.drain(..used);
                }
                skimmed
            };
            match skimmed {
                Skimmed::End(outcome) => return Ok(Some(outcome)),
                Skimmed::Refused(code, message) => return Err(self.refused(code, message)),
                // A buffer that was not full was all there is; TLS may hold more back.
                Skimmed::More { .. } if read < scratch.len() && !self.stream.is_encrypted() => {
                    return Ok(None);
                }
                Skimmed::More { .. } => {}
            }
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stream.as_fd())
    }
}

impl Drop for MySqlSession {
    fn drop(&mut self) {
        // Politeness only: the server counts what hangs up without it as aborted.
        let _ = send(&mut self.stream, 0, &[command::QUIT]);
    }
}

/// The id that the server gives a statement.
fn prepare(stream: &mut Stream, sql: &str, deprecate_eof: bool) -> Result<u32, Fault> {
    let mut payload = vec![command::PREPARE];
    payload.extend_from_slice(sql.as_bytes());
    send(stream, 0, &payload)?;
    let (head, _) = receive(stream)?;
    if head.first() == Some(&0xff) {
        let (code, message) = refusal(&head)?;
        return Err(Fault::Refused(Refusal {
            code: code.to_string(),
            message,
            ignorable: false,
            holds_transaction: false,
        }));
    }
    let mut fields = Fields(&head);
    fields.bytes(1)?;
    let id = fields.number(4)? as u32;
    let columns = fields.number(2)?;
    let parameters = fields.number(2)?;
    for definitions in [parameters, columns] {
        let markers = u64::from(definitions > 0 && !deprecate_eof);
        for _ in 0..definitions + markers {
            receive(stream)?;
        }
    }
    Ok(id)
}

pub fn statement_error(target: &Target, sql: &str, fault: Fault) -> LoadError {
    let target = target.to_string();
    match fault {
        Fault::Lost(source) => LoadError::Lost { target, source },
        Fault::Garbled(why) => LoadError::Protocol { target, why },
        Fault::Refused(Refusal { code, message, .. }) => {
            let mut statement: String = sql.chars().take(120).collect();
            if statement.len() < sql.len() {
                statement.push_str("...");
            }
            LoadError::Statement { target, code, message, statement }
        }
    }
}
