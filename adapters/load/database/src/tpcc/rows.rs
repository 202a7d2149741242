//! Rows on their way into a table: statements of many rows, or lines for PostgreSQL's COPY.

use super::TpccError;
use super::random::Random;
use crate::admin::Admin;
use crate::target::Engine;
use std::fmt::Write as _;

/// A statement is sent once it is this long. Longer ones load no faster.
const STATEMENT_BYTES: usize = 512 * 1024;

/// Values are put in one by one, in the order of the columns. None of the texts has a character that
/// either form would have to escape: letters, digits and blanks only.
pub struct Rows<'a> {
    admin: &'a mut Admin,
    form: Form,
    begin: String,
    text: String,
    is_first_value: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Insert { engine: Engine },
    Copy,
}

impl<'a> Rows<'a> {
    pub fn new(admin: &'a mut Admin, table: &str, columns: &str) -> Self {
        let (form, begin) = match admin.engine() {
            Engine::PostgreSql => (Form::Copy, format!("COPY {table} ({columns}) FROM STDIN")),
            engine => (Form::Insert { engine }, format!("INSERT INTO {table} ({columns}) VALUES ")),
        };
        Self { admin, form, begin, text: String::new(), is_first_value: true }
    }

    fn next_value(&mut self) {
        match (self.form, self.is_first_value) {
            (Form::Copy, true) => {}
            (Form::Copy, false) => self.text.push('\t'),
            (Form::Insert { .. }, true) if self.text.is_empty() => {
                self.text.push_str(&self.begin);
                self.text.push('(');
            }
            (Form::Insert { .. }, true) => self.text.push_str(",("),
            (Form::Insert { .. }, false) => self.text.push(','),
        }
        self.is_first_value = false;
    }

    pub fn int(&mut self, number: i64) {
        self.next_value();
        let _ = write!(self.text, "{number}");
    }

    pub fn null(&mut self) {
        self.next_value();
        self.text.push_str(if self.form == Form::Copy { "\\N" } else { "NULL" });
    }

    pub fn text(&mut self, text: &str) {
        self.quoted(|out| out.push_str(text));
    }

    pub fn letters(&mut self, random: &mut Random, shortest: i64, longest: i64) {
        self.quoted(|out| random.letters(out, shortest, longest));
    }

    fn quoted(&mut self, write: impl FnOnce(&mut String)) {
        self.next_value();
        let quote = if self.form == Form::Copy { "" } else { "'" };
        self.text.push_str(quote);
        write(&mut self.text);
        self.text.push_str(quote);
    }

    /// Money, given in cents.
    pub fn cents(&mut self, cents: i64) {
        self.decimal(cents, 2);
    }

    /// A tax or a discount, in parts of ten thousand.
    pub fn parts(&mut self, parts: i64) {
        self.decimal(parts, 4);
    }

    fn decimal(&mut self, units: i64, places: u32) {
        if self.form == (Form::Insert { engine: Engine::Sqlite }) {
            return self.int(units);
        }
        self.next_value();
        let one = 10_u64.pow(places);
        let (sign, units) = (if units < 0 { "-" } else { "" }, units.unsigned_abs());
        let width = places as usize;
        let _ = write!(self.text, "{sign}{}.{:0width$}", units / one, units % one);
    }

    pub fn now(&mut self) {
        self.next_value();
        self.text.push_str(match self.form {
            Form::Copy => "now",
            Form::Insert { engine: Engine::Sqlite } => "unixepoch()",
            Form::Insert { .. } => "NOW()",
        });
    }

    /// Ends a row; sends what has gathered when it is enough.
    pub fn end(&mut self) -> Result<(), TpccError> {
        self.text.push(if self.form == Form::Copy { '\n' } else { ')' });
        self.is_first_value = true;
        if self.text.len() >= STATEMENT_BYTES { self.flush() } else { Ok(()) }
    }

    pub fn flush(&mut self) -> Result<(), TpccError> {
        if !self.text.is_empty() {
            match self.form {
                Form::Copy => self.admin.copy_in(&self.begin, self.text.as_bytes())?,
                Form::Insert { .. } => self.admin.run(&self.text)?,
            }
            self.text.clear();
        }
        Ok(())
    }
}
