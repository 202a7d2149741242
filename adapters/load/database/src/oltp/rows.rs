//! The rows that a table is filled with, and the ways each loader writes them.

use super::keys::Keys;
use super::options::Options;
use super::random::Random;

/// Draws rows one after the other into a buffer that is used again.
pub struct Rows {
    random: Random,
    keys: Keys,
    text: Vec<u8>,
}

/// One row; its texts hold digits and dashes only, so nobody has to escape them.
pub struct Row<'a> {
    pub id: u32,
    pub k: u64,
    pub c: &'a [u8],
    pub pad: &'a [u8],
}

impl Rows {
    /// Rows of this table; each range of ids has a stream of its own, so that parallel loading gives the
    /// same table however it is cut.
    pub fn new(options: &Options, seed: u64, stream: u64) -> Self {
        let keys = Keys::new(options.distribution, 1, u64::from(options.table_size));
        Self { random: Random::new(seed, stream), keys, text: Vec::with_capacity(256) }
    }

    pub fn draw(&mut self, id: u32) -> Row<'_> {
        let k = self.keys.draw(&mut self.random);
        self.text.clear();
        self.random.append_c(&mut self.text);
        let end = self.text.len();
        self.random.append_pad(&mut self.text);
        let (c, pad) = self.text.split_at(end);
        Row { id, k, c, pad }
    }
}

impl Row<'_> {
    /// Tab-separated, as `LOAD DATA` and `COPY` take it.
    pub fn append_tabbed(&self, out: &mut Vec<u8>) {
        append_number(u64::from(self.id), out);
        out.push(b'\t');
        append_number(self.k, out);
        out.push(b'\t');
        out.extend_from_slice(self.c);
        out.push(b'\t');
        out.extend_from_slice(self.pad);
        out.push(b'\n');
    }

    /// As one of the `VALUES` of an `INSERT`.
    pub fn append_values(&self, out: &mut Vec<u8>) {
        out.push(b'(');
        append_number(u64::from(self.id), out);
        out.push(b',');
        append_number(self.k, out);
        out.extend_from_slice(b",'");
        out.extend_from_slice(self.c);
        out.extend_from_slice(b"','");
        out.extend_from_slice(self.pad);
        out.extend_from_slice(b"')");
    }
}

/// Decimal, without the machinery of formatting.
pub fn append_number(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
