//! A connection that runs a workload's statements.

use super::login::{log_in, receive};
use super::reply::{Reply, Skimmed, error_fields};
use super::{message, statement_error};
use crate::catalog::Catalog;
use crate::error::LoadError;
use crate::oltp::{Event, Parameter, Step, Template, Value};
use crate::session::{Fault, Outcome, Session};
use crate::stream::Stream;
use crate::target::Target;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

const INT4: u32 = 23;
const BPCHAR: u32 = 1042;
const TEXT: u16 = 0;
const BINARY: u16 = 1;

pub struct PostgresSession {
    stream: Stream,
    catalog: Arc<Catalog>,
    reply: Reply,
    /// The beginning of a message whose end has not come.
    pending: Vec<u8>,
    out: Vec<u8>,
}

impl PostgresSession {
    /// Logged in, all statements parsed.
    pub fn connect(target: &Target, catalog: &Arc<Catalog>) -> Result<Self, LoadError> {
        let stream = log_in(target)?;
        let mut this = Self {
            stream,
            catalog: Arc::clone(catalog),
            reply: Reply::default(),
            pending: Vec::new(),
            out: Vec::with_capacity(512),
        };
        for &(template, table) in &catalog.prepared {
            this.parse(template, table)
                .map_err(|fault| statement_error(target, catalog.sql(template, table), fault))?;
        }
        this.stream
            .set_nonblocking(true)
            .map_err(|source| LoadError::Lost { target: target.to_string(), source })?;
        Ok(this)
    }

    fn parse(&mut self, template: Template, table: u32) -> Result<(), Fault> {
        let catalog = Arc::clone(&self.catalog);
        let parameters = catalog.parameters(template);
        self.out.clear();
        message(b'P', &mut self.out, |out| {
            append_name(template, table, out);
            out.extend_from_slice(catalog.sql(template, table).as_bytes());
            out.push(0);
            out.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
            for parameter in parameters {
                let kind = if *parameter == Parameter::Number { INT4 } else { BPCHAR };
                out.extend_from_slice(&kind.to_be_bytes());
            }
        });
        message(b'S', &mut self.out, |_| {});
        self.stream.send(&self.out)?;
        let mut refusal = None;
        loop {
            match receive(&mut self.stream)? {
                (b'E', body) => refusal = Some(error_fields(&body)),
                (b'Z', _) => break,
                _ => {}
            }
        }
        refusal.map_or(Ok(()), |refusal| Err(Fault::Refused(refusal)))
    }

    fn encode_execute(&mut self, step: Step, event: &Event) {
        let parameters = self.catalog.parameters(step.template);
        message(b'B', &mut self.out, |out| {
            out.push(0);
            append_name(step.template, step.table, out);
            out.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
            for parameter in parameters {
                let format = if *parameter == Parameter::Number { BINARY } else { TEXT };
                out.extend_from_slice(&format.to_be_bytes());
            }
            out.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
            for value in event.values(step, parameters) {
                match value {
                    Value::Number(number) => {
                        out.extend_from_slice(&4_u32.to_be_bytes());
                        out.extend_from_slice(&(number as i32).to_be_bytes());
                    }
                    Value::Text(text) => {
                        out.extend_from_slice(&(text.len() as u32).to_be_bytes());
                        out.extend_from_slice(text);
                    }
                }
            }
            // All columns in binary.
            out.extend_from_slice(&[0, 1, 0, 1]);
        });
        message(b'E', &mut self.out, |out| out.extend_from_slice(&[0; 5]));
        message(b'S', &mut self.out, |_| {});
    }

    fn send_out(&mut self) -> Result<(), Fault> {
        self.reply.begin();
        self.pending.clear();
        Ok(self.stream.send(&self.out)?)
    }
}

/// What a parsed statement is called on its connection.
fn append_name(template: Template, table: u32, out: &mut Vec<u8>) {
    out.push(b's');
    crate::oltp::append_number(Catalog::slot(template, table) as u64, out);
    out.push(0);
}

impl Session for PostgresSession {
    fn submit(&mut self, step: Step, event: &Event) -> Result<(), Fault> {
        self.out.clear();
        if self.catalog.is_text(step.template) {
            let pieces = self.catalog.pieces(step.template, step.table);
            let parameters = self.catalog.parameters(step.template);
            message(b'Q', &mut self.out, |out| {
                event.append_text(step, pieces, parameters, out);
                out.push(0);
            });
        } else {
            self.encode_execute(step, event);
        }
        self.send_out()
    }

    fn roll_back(&mut self) -> Result<(), Fault> {
        self.out.clear();
        message(b'Q', &mut self.out, |out| out.extend_from_slice(b"ROLLBACK\0"));
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
                Skimmed::Refused(refusal) => return Err(Fault::Refused(refusal)),
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

impl Drop for PostgresSession {
    fn drop(&mut self) {
        // Politeness only.
        let _ = self.stream.send(&[b'X', 0, 0, 0, 4]);
    }
}
