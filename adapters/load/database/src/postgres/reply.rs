//! The answer to one statement, skimmed for its end.

use crate::session::{Fault, Outcome, Refusal};

/// A letter and a length.
pub const HEAD: usize = 5;

/// Takes bytes as they come. An answer ends when the server is ready for the next statement, also after an
/// error.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Bytes of a row that are still to come, and of no interest.
    skip: usize,
    outcome: Option<Outcome>,
    refusal: Option<Refusal>,
}

pub enum Skimmed {
    More { used: usize },
    End(Outcome),
    Refused(Refusal),
}

impl Reply {
    pub fn begin(&mut self) {
        *self = Self::default();
    }

    pub fn skim(&mut self, bytes: &[u8]) -> Result<Skimmed, Fault> {
        let mut used = self.skip.min(bytes.len());
        self.skip -= used;
        while self.skip == 0 {
            let rest = &bytes[used..];
            if rest.len() < HEAD {
                break;
            }
            let length = u32::from_be_bytes([rest[1], rest[2], rest[3], rest[4]]) as usize;
            if length < 4 {
                return Err(Fault::Garbled("a message is shorter than its length".to_owned()));
            }
            let whole = length + 1;
            if rest[0] == b'D' {
                let there = whole.min(rest.len());
                self.skip = whole - there;
                used += there;
                continue;
            }
            if rest.len() < whole {
                break;
            }
            used += whole;
            let body = &rest[HEAD..whole];
            match rest[0] {
                b'C' => self.outcome = Some(outcome(body)),
                b'E' => self.refusal = Some(error_fields(body)),
                b'Z' => return Ok(self.end(body)),
                b'G' | b'H' | b'W' => {
                    return Err(Fault::Garbled("a statement turned into a copy".to_owned()));
                }
                _ => {}
            }
        }
        Ok(Skimmed::More { used })
    }

    fn end(&mut self, body: &[u8]) -> Skimmed {
        match self.refusal.take() {
            Some(refusal) => {
                let holds_transaction = body.first() != Some(&b'I');
                Skimmed::Refused(Refusal { holds_transaction, ..refusal })
            }
            None => Skimmed::End(self.outcome.take().unwrap_or(Outcome::Changed(0))),
        }
    }
}

/// `SELECT 100`, `UPDATE 1`, `INSERT 0 1`, `COMMIT`.
fn outcome(tag: &[u8]) -> Outcome {
    let tag = tag.strip_suffix(&[0]).unwrap_or(tag);
    if tag.starts_with(b"SELECT") {
        return Outcome::ResultSet;
    }
    let last = tag.rsplit(|byte| *byte == b' ').next().unwrap_or(&[]);
    let number = std::str::from_utf8(last).ok().and_then(|last| last.parse().ok());
    Outcome::Changed(number.unwrap_or(0))
}

/// Those that sysbench runs an event again after: a deadlock, a unique key, a lost race.
const IGNORABLE: [&str; 3] = ["40P01", "23505", "40001"];

pub fn error_fields(body: &[u8]) -> Refusal {
    let (mut code, mut message) = (String::new(), String::new());
    for field in body.split(|byte| *byte == 0) {
        match field.split_first() {
            Some((b'C', text)) => code = String::from_utf8_lossy(text).into_owned(),
            Some((b'M', text)) => message = String::from_utf8_lossy(text).into_owned(),
            _ => {}
        }
    }
    let ignorable = IGNORABLE.contains(&code.as_str());
    Refusal { code, message, ignorable, holds_transaction: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(letter: u8, body: &[u8]) -> Vec<u8> {
        let mut out = vec![letter];
        out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        out.extend_from_slice(body);
        out
    }

    fn skimmed(answer: &[u8], step: usize) -> Result<Outcome, Refusal> {
        let (mut reply, mut rest) = (Reply::default(), Vec::new());
        for piece in answer.chunks(step) {
            rest.extend_from_slice(piece);
            match reply.skim(&rest).expect("it is an answer") {
                Skimmed::More { used } => drop(rest.drain(..used)),
                Skimmed::End(outcome) => return Ok(outcome),
                Skimmed::Refused(refusal) => return Err(refusal),
            }
        }
        panic!("no end: {reply:?}")
    }

    #[test]
    fn an_answer_ends_with_ready_however_it_is_cut() {
        let row = message(b'D', &[0, 1, 0, 0, 0, 3, b'Z', b'Z', b'Z']);
        let select = [message(b'2', b""), row.clone(), row, message(b'C', b"SELECT 2\0")].concat();
        let select = [select, message(b'Z', b"I")].concat();
        let update = [message(b'C', b"UPDATE 1\0"), message(b'Z', b"T")].concat();
        let insert = [message(b'C', b"INSERT 0 7\0"), message(b'Z', b"T")].concat();
        let commit = [message(b'C', b"COMMIT\0"), message(b'Z', b"I")].concat();
        for step in [1, 2, 5, 1000] {
            assert_eq!(skimmed(&select, step), Ok(Outcome::ResultSet));
            assert_eq!(skimmed(&update, step), Ok(Outcome::Changed(1)));
            assert_eq!(skimmed(&insert, step), Ok(Outcome::Changed(7)));
            assert_eq!(skimmed(&commit, step), Ok(Outcome::Changed(0)));
        }
    }

    #[test]
    fn an_error_says_whether_its_transaction_is_open() {
        let error = message(b'E', b"SERROR\0C40P01\0Mdeadlock detected\0\0");
        for (state, holds_transaction) in [(b"E", true), (b"I", false)] {
            let answer = [error.clone(), message(b'Z', state)].concat();
            let refusal = Refusal {
                code: "40P01".to_owned(),
                message: "deadlock detected".to_owned(),
                ignorable: true,
                holds_transaction,
            };
            assert_eq!(skimmed(&answer, 3), Err(refusal));
        }
    }
}
