//! Packets and their numbers.

use crate::session::Fault;
use crate::stream::Stream;

/// A packet that is this long goes on in the next one.
pub const LONGEST: usize = 0xff_ffff;
pub const HEADER: usize = 4;

pub mod capability {
    pub const LONG_PASSWORD: u64 = 1;
    pub const LONG_FLAG: u64 = 1 << 2;
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    pub const LOCAL_FILES: u64 = 1 << 7;
    pub const PROTOCOL_41: u64 = 1 << 9;
    pub const TLS: u64 = 1 << 11;
    pub const TRANSACTIONS: u64 = 1 << 13;
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    pub const MULTI_RESULTS: u64 = 1 << 17;
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    /// MariaDB's own, in the upper half: a prepared statement's columns are described once.
    pub const CACHE_METADATA: u64 = 1 << 36;
}

pub mod command {
    pub const QUIT: u8 = 0x01;
    pub const QUERY: u8 = 0x03;
    pub const PREPARE: u8 = 0x16;
    pub const EXECUTE: u8 = 0x17;
}

/// Reads numbers and texts of a packet from the front; a packet that ends too early is an error.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        if count > self.0.len() {
            return Err(Fault::Garbled("a packet ends before what it announced".to_owned()));
        }
        let (front, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(front)
    }

    /// A number of so many bytes, the lowest first.
    pub fn number(&mut self, bytes: usize) -> Result<u64, Fault> {
        let front = self.bytes(bytes)?;
        Ok(front.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A number that says its own length; nothing for NULL.
    pub fn length_encoded(&mut self) -> Result<Option<u64>, Fault> {
        match self.number(1)? {
            0xfb => Ok(None),
            0xfc => self.number(2).map(Some),
            0xfd => self.number(3).map(Some),
            0xfe => self.number(8).map(Some),
            0xff => Err(Fault::Garbled("an error stands where a number should".to_owned())),
            small => Ok(Some(small)),
        }
    }

    pub fn until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let (front, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or(&[]);
        front
    }

    /// A text that says its own length; nothing for NULL.
    pub fn text(&mut self) -> Result<Option<&'a [u8]>, Fault> {
        match self.length_encoded()? {
            None => Ok(None),
            Some(length) => self.bytes(usize::try_from(length).unwrap_or(usize::MAX)).map(Some),
        }
    }
}

/// Sends one payload, in as many packets as it needs, numbered from `sequence`.
pub fn send(stream: &mut Stream, sequence: u8, payload: &[u8]) -> Result<(), Fault> {
    let mut sequence = sequence;
    let mut rest = payload;
    loop {
        let (front, back) = rest.split_at(rest.len().min(LONGEST));
        let mut packet = Vec::with_capacity(HEADER + front.len());
        packet.extend_from_slice(&(front.len() as u32).to_le_bytes()[..3]);
        packet.push(sequence);
        packet.extend_from_slice(front);
        stream.send(&packet)?;
        sequence = sequence.wrapping_add(1);
        rest = back;
        if front.len() < LONGEST {
            return Ok(());
        }
    }
}

/// Waits for one payload, however many packets it comes in; gives it with the number of its last packet.
pub fn receive(stream: &mut Stream) -> Result<(Vec<u8>, u8), Fault> {
    let mut payload = Vec::new();
    loop {
        let mut header = [0; HEADER];
        stream.receive_exact(&mut header)?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        let begin = payload.len();
        payload.resize(begin + length, 0);
        stream.receive_exact(&mut payload[begin..])?;
        if length < LONGEST {
            return Ok((payload, header[3]));
        }
    }
}

/// What the server says in a packet that begins with 0xff: code and message.
pub fn refusal(payload: &[u8]) -> Result<(u16, String), Fault> {
    let mut fields = Fields(payload);
    fields.bytes(1)?;
    let code = fields.number(2)? as u16;
    if fields.0.first() == Some(&b'#') {
        fields.bytes(6)?;
    }
    Ok((code, String::from_utf8_lossy(fields.0).into_owned()))
}
