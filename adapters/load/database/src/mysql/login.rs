//! Logging in: what both sides can do, encryption, and the password.
//!
//! `caching_sha2_password` has three ways: a digest that the server has cached; the password itself where
//! nobody can listen (TLS, unix socket); else the password under the server's public key.

use super::wire::{Fields, capability as can, receive, refusal, send};
use crate::error::LoadError;
use crate::session::Fault;
use crate::stream::Stream;
use crate::target::{Address, Target, Tls};
use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
use mysql_common::auth::plugins::mysql_native_password::scramble_native;

const NATIVE: &str = "mysql_native_password";
const CACHING_SHA2: &str = "caching_sha2_password";
const CLEAR: &str = "mysql_clear_password";
const NONCE: usize = 20;

const UTF8: u8 = 45;
const LARGEST_PACKET: u32 = 1 << 30;

/// A connection that is logged in.
pub struct LoggedIn {
    pub stream: Stream,
    pub deprecate_eof: bool,
    pub cache_metadata: bool,
    /// The server may ask this client for files.
    pub local_files: bool,
}

/// Connects and logs in. With `local_files` the server may be sent rows in bulk.
pub fn log_in(target: &Target, local_files: bool) -> Result<LoggedIn, LoadError> {
    let shown = target.to_string();
    let mut stream = Stream::connect(target)
        .map_err(|source| LoadError::Unreachable { target: shown.clone(), source })?;
    exchange(&mut stream, target, local_files)
        .map(|common| LoggedIn {
            stream,
            deprecate_eof: common & can::DEPRECATE_EOF != 0,
            cache_metadata: common & can::CACHE_METADATA != 0,
            local_files: common & can::LOCAL_FILES != 0,
        })
        .map_err(|failure| match failure {
            Failure::Said(code, message) => {
                LoadError::Login { target: shown, code: code.to_string(), message }
            }
            Failure::Fault(Fault::Lost(source)) => LoadError::Unreachable { target: shown, source },
            Failure::Fault(Fault::Garbled(why)) => LoadError::Protocol { target: shown, why },
            Failure::Fault(Fault::Refused(refusal)) => {
                LoadError::Login { target: shown, code: refusal.code, message: refusal.message }
            }
        })
}

enum Failure {
    Said(u16, String),
    Fault(Fault),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// What the server says first.
struct Greeting {
    capabilities: u64,
    nonce: Vec<u8>,
    plugin: String,
}

impl Greeting {
    fn read(payload: &[u8]) -> Result<Self, Failure> {
        if payload.first() == Some(&0xff) {
            let (code, message) = refusal(payload)?;
            return Err(Failure::Said(code, message));
        }
        let mut fields = Fields(payload);
        if fields.number(1)? != 10 {
            return Err(
                Fault::Garbled("it does not speak version 10 of the protocol".into()).into()
            );
        }
        let _version = fields.until_zero();
        fields.bytes(4)?;
        let mut nonce = fields.bytes(8)?.to_vec();
        fields.bytes(1)?;
        let mut capabilities = fields.number(2)?;
        fields.bytes(3)?;
        capabilities |= fields.number(2)? << 16;
        fields.bytes(1)?;
        fields.bytes(6)?;
        let extended = fields.number(4)?;
        // MariaDB leaves the first bit out, and says what only it can where MySQL has zeros.
        if capabilities & can::LONG_PASSWORD == 0 {
            capabilities |= extended << 32;
        }
        // The oldest servers have no second part, and are refused for that further on.
        let second = if capabilities & can::SECURE_CONNECTION == 0 { 0 } else { NONCE - 8 };
        nonce.extend_from_slice(fields.bytes(second)?);
        fields.until_zero();
        let plugin = String::from_utf8_lossy(fields.until_zero()).into_owned();
        let plugin = if plugin.is_empty() { NATIVE.to_owned() } else { plugin };
        Ok(Self { capabilities, nonce, plugin })
    }
}

fn exchange(stream: &mut Stream, target: &Target, local_files: bool) -> Result<u64, Failure> {
    let (payload, mut sequence) = receive(stream)?;
    let greeting = Greeting::read(&payload)?;
    let common = greeting.capabilities & wanted(local_files);
    if common & can::PROTOCOL_41 == 0 || common & can::SECURE_CONNECTION == 0 {
        return Err(Fault::Garbled("it is older than MySQL 4.1".to_owned()).into());
    }
    // Without the end markers of columns nobody can say where undescribed rows begin.
    let common =
        if common & can::DEPRECATE_EOF == 0 { common & !can::CACHE_METADATA } else { common };
    let mut common = common | can::CONNECT_WITH_DB;
    sequence = sequence.wrapping_add(1);
    if target.tls != Tls::Off {
        if greeting.capabilities & can::TLS == 0 {
            return Err(Fault::Garbled("TLS is asked for, and it has none".to_owned()).into());
        }
        common |= can::TLS;
        send(stream, sequence, &response_head(common))?;
        stream.start_tls(target).map_err(Fault::Lost)?;
        sequence = sequence.wrapping_add(1);
    }
    let password = target.password.as_deref().unwrap_or("").as_bytes();
    let is_private = stream.is_encrypted() || matches!(target.address, Address::Socket(_));
    let mut response = response_head(common);
    response.extend_from_slice(target.user.as_bytes());
    response.push(0);
    let proof = proof(&greeting.plugin, &greeting.nonce, password, is_private)?;
    response.push(proof.len() as u8);
    response.extend_from_slice(&proof);
    response.extend_from_slice(target.database.as_bytes());
    response.push(0);
    response.extend_from_slice(greeting.plugin.as_bytes());
    response.push(0);
    send(stream, sequence, &response)?;
    answer_questions(stream, greeting, password, is_private)?;
    Ok(common)
}

/// Until the server is content, or not.
fn answer_questions(
    stream: &mut Stream,
    greeting: Greeting,
    password: &[u8],
    is_private: bool,
) -> Result<(), Failure> {
    let Greeting { mut nonce, mut plugin, .. } = greeting;
    loop {
        let (payload, sequence) = receive(stream)?;
        let answer = match payload.first() {
            Some(0x00) => return Ok(()),
            Some(0xff) => {
                let (code, message) = refusal(&payload)?;
                return Err(Failure::Said(code, message));
            }
            Some(0xfe) => {
                let mut fields = Fields(&payload[1..]);
                plugin = String::from_utf8_lossy(fields.until_zero()).into_owned();
                nonce = fields.0.strip_suffix(&[0]).unwrap_or(fields.0).to_vec();
                proof(&plugin, &nonce, password, is_private)?
            }
            Some(0x01) if plugin == CACHING_SHA2 => {
                match sha2_step(&payload[1..], &nonce, password, is_private)? {
                    Some(answer) => answer,
                    None => continue,
                }
            }
            _ => return Err(Fault::Garbled("it asks something unknown at login".into()).into()),
        };
        send(stream, sequence.wrapping_add(1), &answer)?;
    }
}

fn wanted(local_files: bool) -> u64 {
    let always = can::LONG_FLAG
        | can::PROTOCOL_41
        | can::TRANSACTIONS
        | can::SECURE_CONNECTION
        | can::MULTI_RESULTS
        | can::PLUGIN_AUTH
        | can::DEPRECATE_EOF
        | can::CACHE_METADATA;
    if local_files { always | can::LOCAL_FILES } else { always }
}

/// The front of the client's answer, which is also all of its wish for TLS.
fn response_head(common: u64) -> Vec<u8> {
    let mut head = Vec::with_capacity(32);
    head.extend_from_slice(&(common as u32).to_le_bytes());
    head.extend_from_slice(&LARGEST_PACKET.to_le_bytes());
    head.push(UTF8);
    head.extend_from_slice(&[0; 19]);
    head.extend_from_slice(&((common >> 32) as u32).to_le_bytes());
    head
}

/// What shows that we know the password, for a server that has just sent this nonce.
fn proof(
    plugin: &str,
    nonce: &[u8],
    password: &[u8],
    is_private: bool,
) -> Result<Vec<u8>, Failure> {
    match plugin {
        NATIVE => Ok(scramble_native(nonce, password).map(Vec::from).unwrap_or_default()),
        CACHING_SHA2 => {
            let nonce: &[u8; NONCE] = nonce.try_into().map_err(|_| {
                Fault::Garbled(format!("a nonce has {NONCE} bytes, not {}", nonce.len()))
            })?;
            Ok(scramble_sha256(nonce, password).map(Vec::from).unwrap_or_default())
        }
        CLEAR if is_private => Ok([password, &[0]].concat()),
        other => Err(Fault::Garbled(format!(
            "its user logs in by {other}; what is known here is {NATIVE}, {CACHING_SHA2}, and \
             {CLEAR} under TLS"
        ))
        .into()),
    }
}

/// An answer to what `caching_sha2_password` sends after the first proof; none where it only says "good".
fn sha2_step(
    said: &[u8],
    nonce: &[u8],
    password: &[u8],
    is_private: bool,
) -> Result<Option<Vec<u8>>, Failure> {
    const CACHED: u8 = 3;
    const SEND_PASSWORD: u8 = 4;
    const SEND_KEY: u8 = 2;
    match said {
        [CACHED] => Ok(None),
        [SEND_PASSWORD] if is_private => Ok(Some([password, &[0]].concat())),
        [SEND_PASSWORD] => Ok(Some(vec![SEND_KEY])),
        key => encrypted(key, nonce, password).map(Some),
    }
}

/// The password, mixed with the nonce, under the server's public key.
fn encrypted(key: &[u8], nonce: &[u8], password: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut mixed = [password, &[0]].concat();
    for (byte, nonce) in mixed.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= nonce;
    }
    mysql_common::crypto::encrypt(&mixed, key)
        .map_err(|error| Fault::Garbled(format!("its public key is none: {error}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTING: [u8; NONCE] =
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn shown(proof: Result<Vec<u8>, Failure>) -> String {
        match proof {
            Ok(proof) => hex(&proof),
            Err(Failure::Fault(Fault::Garbled(why))) => why,
            Err(_) => "another failure".to_owned(),
        }
    }

    /// Worked out apart, by the formulas of the protocol's description.
    #[test]
    fn proofs_are_those_of_the_protocol() {
        let of = |plugin, password| shown(proof(plugin, &COUNTING, password, false));
        assert_eq!(of(NATIVE, b"secret"), "b32bb3a583e1340c0a1108d58b1be49781ad8c2f");
        assert_eq!(
            of(CACHING_SHA2, b"secret"),
            "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9"
        );
        assert_eq!(of(NATIVE, b""), "");
        assert!(of(CLEAR, b"secret").contains("under TLS"), "never in clear");
        assert!(of("client_ed25519", b"secret").contains("client_ed25519"));
    }

    #[test]
    fn the_password_itself_goes_where_nobody_listens_only() {
        let step = |said: &[u8], is_private| sha2_step(said, &COUNTING, b"secret", is_private);
        assert!(matches!(step(&[3], false), Ok(None)), "the server knew the digest");
        assert!(matches!(step(&[4], true), Ok(Some(answer)) if answer == b"secret\0"));
        assert!(matches!(step(&[4], false), Ok(Some(answer)) if answer == [2]), "asks for the key");
        assert!(
            shown(step(b"no key", false).map(Option::unwrap_or_default)).contains("public key")
        );
    }

    #[test]
    fn a_greeting_that_is_cut_short_is_an_error() {
        let mut whole = vec![10];
        whole.extend_from_slice(b"8.4.0\0\x01\0\0\0abcdefgh\0\xff\xff\x21\x02\0\xff\xdf\x15");
        whole.extend_from_slice(&[0; 10]);
        whole.extend_from_slice(b"ijklmnopqrst\0caching_sha2_password\0");
        let greeting = Greeting::read(&whole).ok().expect("it is whole");
        assert_eq!(greeting.nonce, b"abcdefghijklmnopqrst");
        assert_eq!(greeting.plugin, CACHING_SHA2);
        assert_eq!(greeting.capabilities, 0xdfff_ffff);
        for end in 1..40 {
            assert!(Greeting::read(&whole[..end]).is_err(), "{end} bytes");
        }
    }
}
