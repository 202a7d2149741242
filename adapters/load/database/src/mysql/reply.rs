//! The answer to one statement, skimmed for its end.

use super::wire::{Fields, HEADER, LONGEST, refusal};
use crate::session::{Fault, Outcome};

const MORE_RESULTS: u64 = 0x0008;

/// Where in an answer we are. Rows are passed over without being looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Head,
    Columns { left: u64 },
    ColumnsEnd,
    Rows,
}

/// Takes bytes as they come.
#[derive(Clone, Debug)]
pub struct Reply {
    phase: Phase,
    /// Bytes of a row that are still to come, and of no interest.
    skip: usize,
    /// The packet before was as long as can be, so the next is its rest.
    is_continued: bool,
    outcome: Option<Outcome>,
    deprecate_eof: bool,
    cache_metadata: bool,
}

/// What a piece of an answer came to.
pub enum Skimmed {
    /// So many bytes were of use; the rest is the beginning of a packet.
    More {
        used: usize,
    },
    End(Outcome),
    /// The server's code and words.
    Refused(u16, String),
}

impl Reply {
    pub fn new(deprecate_eof: bool, cache_metadata: bool) -> Self {
        let (phase, outcome) = (Phase::Head, None);
        Self { phase, skip: 0, is_continued: false, outcome, deprecate_eof, cache_metadata }
    }

    /// For the next statement.
    pub fn begin(&mut self) {
        self.phase = Phase::Head;
        self.skip = 0;
        self.is_continued = false;
        self.outcome = None;
    }

    pub fn skim(&mut self, bytes: &[u8]) -> Result<Skimmed, Fault> {
        let mut used = self.skip.min(bytes.len());
        self.skip -= used;
        while self.skip == 0 {
            let rest = &bytes[used..];
            if rest.len() <= HEADER {
                break;
            }
            let length = u32::from_le_bytes([rest[0], rest[1], rest[2], 0]) as usize;
            let packet = &rest[HEADER..];
            if length == 0 {
                // Only the rest of a packet of exactly the greatest length is empty.
                self.is_continued = false;
                used += HEADER;
                continue;
            }
            let is_row =
                self.is_continued || (self.phase == Phase::Rows && !ends_rows(packet[0], length));
            if is_row {
                self.is_continued = length == LONGEST;
                let there = length.min(packet.len());
                self.skip = length - there;
                used += HEADER + there;
                continue;
            }
            if packet.len() < length {
                break;
            }
            used += HEADER + length;
            if packet[0] == 0xff {
                let (code, message) = refusal(&packet[..length])?;
                return Ok(Skimmed::Refused(code, message));
            }
            if self.packet(&packet[..length])? {
                let outcome = self.outcome.take().unwrap_or(Outcome::Changed(0));
                return Ok(Skimmed::End(outcome));
            }
        }
        Ok(Skimmed::More { used })
    }

    /// One packet that is no row; says whether it was the last.
    fn packet(&mut self, packet: &[u8]) -> Result<bool, Fault> {
        match self.phase {
            Phase::Head => self.head(packet),
            Phase::Columns { left } => {
                self.phase = match left - 1 {
                    0 if self.deprecate_eof => Phase::Rows,
                    0 => Phase::ColumnsEnd,
                    left => Phase::Columns { left },
                };
                Ok(false)
            }
            Phase::ColumnsEnd => {
                self.phase = Phase::Rows;
                Ok(false)
            }
            Phase::Rows => {
                let mut fields = Fields(&packet[1..]);
                let status = if self.deprecate_eof {
                    fields.length_encoded()?;
                    fields.length_encoded()?;
                    fields.number(2)?
                } else {
                    fields.number(2)?;
                    fields.number(2)?
                };
                self.phase = Phase::Head;
                Ok(status & MORE_RESULTS == 0)
            }
        }
    }

    fn head(&mut self, packet: &[u8]) -> Result<bool, Fault> {
        let mut fields = Fields(packet);
        match packet[0] {
            0x00 => {
                fields.bytes(1)?;
                let changed = fields.length_encoded()?.unwrap_or(0);
                fields.length_encoded()?;
                let status = fields.number(2)?;
                self.outcome.get_or_insert(Outcome::Changed(changed));
                Ok(status & MORE_RESULTS == 0)
            }
            0xfb => Err(Fault::Garbled("the server asks for a file".to_owned())),
            _ => {
                let columns = fields.length_encoded()?.unwrap_or(0);
                let described = !self.cache_metadata || fields.number(1)? != 0;
                self.outcome.get_or_insert(Outcome::ResultSet);
                self.phase = if described { Phase::Columns { left: columns } } else { Phase::Rows };
                Ok(false)
            }
        }
    }
}

/// Whether a packet among rows ends them. The end may carry words, a row of 16 MB may begin alike.
fn ends_rows(first: u8, length: usize) -> bool {
    first == 0xff || (first == 0xfe && length < LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(payload: &[u8]) -> Vec<u8> {
        let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
        packet.push(1);
        packet.extend_from_slice(payload);
        packet
    }

    /// Fed a byte, three bytes, ... at a time, as a socket may give them.
    fn skimmed(reply: &Reply, answer: &[u8], step: usize) -> Result<Outcome, (u16, String)> {
        let mut reply = reply.clone();
        let mut rest: Vec<u8> = Vec::new();
        for piece in answer.chunks(step) {
            rest.extend_from_slice(piece);
            match reply.skim(&rest).expect("it is an answer") {
                Skimmed::More { used } => drop(rest.drain(..used)),
                Skimmed::End(outcome) => return Ok(outcome),
                Skimmed::Refused(code, message) => return Err((code, message)),
            }
        }
        panic!("the answer has no end: {reply:?}");
    }

    fn check(reply: &Reply, packets: &[&[u8]], expected: &Result<Outcome, (u16, String)>) {
        let answer: Vec<u8> = packets.iter().flat_map(|payload| packet(payload)).collect();
        for step in [1, 2, 3, 7, answer.len()] {
            assert_eq!(&skimmed(reply, &answer, step), expected, "{step} bytes at a time");
        }
    }

    const COLUMN: &[u8] = b"\x03def\x06sbtest\x07sbtest1\x07sbtest1\x01c\x01c";
    const ROW: &[u8] = b"\x00\x00\x05hello";

    #[test]
    fn an_answer_has_its_end_in_each_form() {
        let classic = Reply::new(false, false);
        let eof: &[u8] = b"\xfe\x00\x00\x02\x00";
        check(&classic, &[b"\x01", COLUMN, eof, ROW, ROW, eof], &Ok(Outcome::ResultSet));
        let short = Reply::new(true, false);
        let ok_eof: &[u8] = b"\xfe\x00\x00\x02\x00\x00\x00";
        check(&short, &[b"\x01", COLUMN, ROW, ok_eof], &Ok(Outcome::ResultSet));
        check(&short, &[b"\x01", COLUMN, ok_eof], &Ok(Outcome::ResultSet));
        let cached = Reply::new(true, true);
        check(&cached, &[b"\x01\x01", COLUMN, ROW, ok_eof], &Ok(Outcome::ResultSet));
        check(&cached, &[b"\x01\x00", ROW, ok_eof], &Ok(Outcome::ResultSet));
        check(&cached, &[b"\x00\x03\x00\x02\x00\x00\x00"], &Ok(Outcome::Changed(3)));
    }

    #[test]
    fn a_refusal_is_one_wherever_it_comes() {
        let refused = Err((1213, "Deadlock found".to_owned()));
        let error: &[u8] = b"\xff\xbd\x04#40001Deadlock found";
        let reply = Reply::new(true, false);
        check(&reply, &[error], &refused);
        check(&reply, &[b"\x01", COLUMN, ROW, error], &refused);
    }

    #[test]
    fn several_results_are_one_answer() {
        let reply = Reply::new(true, false);
        let more: &[u8] = b"\xfe\x00\x00\x0a\x00\x00\x00";
        let packets: &[&[u8]] = &[b"\x01", COLUMN, ROW, more, b"\x00\x00\x00\x02\x00\x00\x00"];
        check(&reply, packets, &Ok(Outcome::ResultSet));
    }

    #[test]
    fn a_row_of_sixteen_megabytes_is_passed_over() {
        let mut answer = [packet(b"\x01"), packet(COLUMN)].concat();
        let mut row = vec![0; LONGEST];
        row[1] = 0xfe;
        answer.extend(packet(&row));
        answer.extend(packet(b"\xfe the rest of the row"));
        answer.extend(packet(b"\xfe\x00\x00\x02\x00\x00\x00"));
        assert_eq!(skimmed(&Reply::new(true, false), &answer, 65_536), Ok(Outcome::ResultSet));
    }
}
