//! PostgreSQL's protocol, as far as a load needs it.
//!
//! Statements are parsed once and then bound and executed in one write, with one read for the answer, whose
//! rows are passed over. Logging in rests on `postgres-protocol`.

mod admin;
mod login;
mod reply;
mod session;

pub use admin::PostgresAdmin;
pub use session::PostgresSession;

use crate::error::LoadError;
use crate::session::{Fault, Refusal};
use crate::target::Target;

fn statement_error(target: &Target, sql: &str, fault: Fault) -> LoadError {
    let target = target.to_string();
    match fault {
        Fault::Lost(source) => LoadError::Lost { target, source },
        Fault::Garbled(why) => LoadError::Protocol { target, why },
        Fault::Refused(Refusal { code, message, .. }) => {
            let statement = sql.chars().take(120).collect();
            LoadError::Statement { target, code, message, statement }
        }
    }
}

/// A message with its length, which counts itself, filled in behind its letter.
fn message(letter: u8, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(letter);
    let begin = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - begin) as u32;
    out[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
}
