//! Logging in: encryption and the password.

use super::reply::{HEAD, error_fields};
use crate::error::LoadError;
use crate::session::Fault;
use crate::stream::Stream;
use crate::target::{Target, Tls};
use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;

const TRUSTED: u32 = 0;
const CLEAR: u32 = 3;
const MD5: u32 = 5;
const SASL: u32 = 10;
const SASL_CONTINUE: u32 = 11;
const SASL_FINAL: u32 = 12;

/// A connection that is ready for statements.
pub fn log_in(target: &Target) -> Result<Stream, LoadError> {
    let shown = target.to_string();
    let mut stream = Stream::connect(target)
        .map_err(|source| LoadError::Unreachable { target: shown.clone(), source })?;
    exchange(&mut stream, target).map_err(|fault| match fault {
        Fault::Lost(source) => LoadError::Unreachable { target: shown, source },
        Fault::Garbled(why) => LoadError::Protocol { target: shown, why },
        Fault::Refused(refusal) => {
            LoadError::Login { target: shown, code: refusal.code, message: refusal.message }
        }
    })?;
    Ok(stream)
}

/// The next message: its letter and its body.
pub fn receive(stream: &mut Stream) -> Result<(u8, Vec<u8>), Fault> {
    let mut head = [0; HEAD];
    stream.receive_exact(&mut head)?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let Some(length) = length.checked_sub(4) else {
        return Err(Fault::Garbled("a message is shorter than its length".to_owned()));
    };
    let mut body = vec![0; length];
    stream.receive_exact(&mut body)?;
    Ok((head[0], body))
}

fn exchange(stream: &mut Stream, target: &Target) -> Result<(), Fault> {
    let mut out = BytesMut::new();
    if target.tls != Tls::Off {
        frontend::ssl_request(&mut out);
        stream.send(&out)?;
        let mut answer = [0];
        stream.receive_exact(&mut answer)?;
        if answer != *b"S" {
            return Err(Fault::Garbled("TLS is asked for, and it has none".to_owned()));
        }
        stream.start_tls(target)?;
        out.clear();
    }
    let parameters = [
        ("user", target.user.as_str()),
        ("database", target.database.as_str()),
        ("client_encoding", "UTF8"),
        ("application_name", "numawise"),
    ];
    frontend::startup_message(parameters, &mut out)?;
    stream.send(&out)?;
    let mut scram = None;
    loop {
        let (letter, body) = receive(stream)?;
        match letter {
            b'R' => answer(stream, target, &body, &mut scram)?,
            b'E' => return Err(Fault::Refused(error_fields(&body))),
            b'Z' => return Ok(()),
            // Settings, the key for cancelling, notices.
            _ => {}
        }
    }
}

fn answer(
    stream: &mut Stream,
    target: &Target,
    body: &[u8],
    scram: &mut Option<ScramSha256>,
) -> Result<(), Fault> {
    let password = target.password.as_deref().unwrap_or("").as_bytes();
    let (kind, rest) = body.split_at_checked(4).ok_or_else(|| unknown("nothing"))?;
    let kind = u32::from_be_bytes([kind[0], kind[1], kind[2], kind[3]]);
    let mut out = BytesMut::new();
    match (kind, scram) {
        (TRUSTED, _) => return Ok(()),
        (CLEAR, _) if stream.is_encrypted() => frontend::password_message(password, &mut out)?,
        (CLEAR, _) => {
            return Err(unknown("for the password in clear, which is sent under TLS only"));
        }
        (MD5, _) => {
            let salt = rest.try_into().map_err(|_| unknown("for MD5 without a salt"))?;
            let hash = md5_hash(target.user.as_bytes(), password, salt);
            frontend::password_message(hash.as_bytes(), &mut out)?;
        }
        (SASL, scram) => {
            let offered = rest.split(|byte| *byte == 0);
            if !offered.into_iter().any(|name| name == SCRAM_SHA_256.as_bytes()) {
                return Err(unknown("for a mechanism other than SCRAM-SHA-256"));
            }
            let new = ScramSha256::new(password, ChannelBinding::unsupported());
            frontend::sasl_initial_response(SCRAM_SHA_256, new.message(), &mut out)?;
            *scram = Some(new);
        }
        (SASL_CONTINUE, Some(scram)) => {
            scram.update(rest)?;
            frontend::sasl_response(scram.message(), &mut out)?;
        }
        (SASL_FINAL, Some(scram)) => {
            // A wrong answer means that the server does not know the password either.
            scram.finish(rest).map_err(|error| Fault::Garbled(error.to_string()))?;
            return Ok(());
        }
        _ => return Err(unknown("for a way to log in that is not known here")),
    }
    Ok(stream.send(&out)?)
}

fn unknown(what: &str) -> Fault {
    Fault::Garbled(format!("it asks {what}"))
}
