//! The three texts a set is written in: kernel lists (`0-3,8`), kernel masks (`ff,00000001`) and the
//! rule text that people type (`1-7,^2,^3,^4,10`).
//!
//! A rule is what is included minus everything excluded, in whatever order it is written. libvirt
//! reads such a text from left to right, so `^3,1-7` would keep CPU 3 there; the parser tells of
//! every exclusion that stands before the inclusion it applies to, and numawise writes only
//! normalised lists without `^`.
//!
//! Limits come before expansion: numbers above [`MAX_ID`] and texts longer than [`MAX_TEXT`] are
//! errors, found without building anything of that size.

use crate::id_set::{IdSet, MAX_ID};
use crate::ids::Id;
use thiserror::Error;

/// Longer texts are refused: every second CPU of 8,192 takes about 20,000 characters.
pub const MAX_TEXT: usize = 1 << 16;

/// Why a text is no set, with the place (a byte offset) that a caret can be drawn under.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind} at character {} of '{}'", at + 1, shorten(text))]
pub struct ListError {
    pub text: String,
    pub at: usize,
    pub kind: ListErrorKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ListErrorKind {
    #[error("a number is wanted, but '{0}' stands there")]
    NotANumber(String),
    #[error("a number is missing")]
    MissingNumber,
    #[error("{0} is above the highest number there can be, {MAX_ID}")]
    TooLarge(String),
    #[error("the range {0}-{1} runs backwards; write it as {1}-{0}")]
    Reversed(u32, u32),
    #[error("a range has one '-', and a second one stands there")]
    SecondDash,
    #[error("a list has no '^' here")]
    UnexpectedExclusion,
    #[error("'{0}' is no hexadecimal mask word of up to 8 digits")]
    BadMaskWord(String),
    #[error("the text is longer than {MAX_TEXT} characters")]
    TooLong,
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 80 {
        text.to_owned()
    } else {
        text.chars().take(77).collect::<String>() + "..."
    }
}

/// A parsed rule text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule<I: Id> {
    pub set: IdSet<I>,
    /// Ids that are excluded earlier in the text than they are included: libvirt would keep them.
    pub excluded_before_included: IdSet<I>,
}

/// Parses a kernel list. Blanks around it, a trailing NUL and an empty text are what kernels write.
pub fn parse_list<I: Id>(text: &str) -> Result<IdSet<I>, ListError> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    let mut set = IdSet::new();
    for part in parts(text)? {
        if part.excluded {
            return Err(error(text, part.at, ListErrorKind::UnexpectedExclusion));
        }
        insert_range(&mut set, part.first, part.last);
    }
    Ok(set)
}

/// Parses rule text: included minus excluded, whatever the order.
pub fn parse_rule<I: Id>(text: &str) -> Result<Rule<I>, ListError> {
    let mut included = IdSet::new();
    let mut excluded = IdSet::new();
    let mut excluded_before_included = IdSet::new();
    for part in parts(text)? {
        let mut range = IdSet::new();
        insert_range(&mut range, part.first, part.last);
        if part.excluded {
            excluded.extend(&range);
        } else {
            excluded_before_included.extend(&range.intersection(&excluded));
            included.extend(&range);
        }
    }
    Ok(Rule { set: included.difference(&excluded), excluded_before_included })
}

/// Parses a kernel mask: hexadecimal words of 32 bits, the highest first, commas between them.
pub fn parse_mask<I: Id>(text: &str) -> Result<IdSet<I>, ListError> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    if text.len() > MAX_TEXT {
        return Err(error(text, MAX_TEXT, ListErrorKind::TooLong));
    }
    let text = text.strip_prefix("0x").unwrap_or(text);
    let mut set = IdSet::new();
    let words: Vec<&str> = text.split(',').collect();
    let mut at = 0;
    for (index, word) in words.iter().enumerate() {
        let first = (words.len() - 1 - index) * 32;
        let bits = match word.len() {
            1..=8 => u32::from_str_radix(word, 16).ok(),
            _ => None,
        };
        let Some(mut bits) = bits.filter(|_| !word.starts_with('+')) else {
            return Err(error(text, at, ListErrorKind::BadMaskWord((*word).to_owned())));
        };
        while bits != 0 {
            let id = first + bits.trailing_zeros() as usize;
            if id > MAX_ID as usize {
                return Err(error(text, at, ListErrorKind::TooLarge(id.to_string())));
            }
            set.insert(I::new(id as u32));
            bits &= bits - 1;
        }
        at += word.len() + 1;
    }
    Ok(set)
}

struct Part {
    at: usize,
    excluded: bool,
    first: u32,
    last: u32,
}

fn insert_range<I: Id>(set: &mut IdSet<I>, first: u32, last: u32) {
    for id in first..=last {
        set.insert(I::new(id));
    }
}

fn error(text: &str, at: usize, kind: ListErrorKind) -> ListError {
    ListError { text: text.to_owned(), at, kind }
}

/// Splits at commas and reads each part; empty parts (a doubled or trailing comma) mean nothing.
fn parts(text: &str) -> Result<Vec<Part>, ListError> {
    if text.len() > MAX_TEXT {
        return Err(error(&shorten(text), 0, ListErrorKind::TooLong));
    }
    let mut parts = Vec::new();
    let mut at = 0;
    for piece in text.split(',') {
        if let Some(part) = part(text, at, piece)? {
            parts.push(part);
        }
        at += piece.len() + 1;
    }
    Ok(parts)
}

fn part(text: &str, start: usize, piece: &str) -> Result<Option<Part>, ListError> {
    let mut cursor = Cursor { text, at: start, end: start + piece.len() };
    cursor.skip_blanks();
    if cursor.at == cursor.end {
        return Ok(None);
    }
    let at = cursor.at;
    let excluded = cursor.take('^');
    cursor.skip_blanks();
    let (first, _) = cursor.number()?;
    cursor.skip_blanks();
    let mut last = first;
    if cursor.take('-') {
        cursor.skip_blanks();
        let (number, number_at) = cursor.number()?;
        if number < first {
            return Err(error(text, number_at, ListErrorKind::Reversed(first, number)));
        }
        last = number;
        cursor.skip_blanks();
    }
    match cursor.peek() {
        None => Ok(Some(Part { at, excluded, first, last })),
        Some('-') => Err(error(text, cursor.at, ListErrorKind::SecondDash)),
        Some(_) => {
            let rest = text[cursor.at..cursor.end].trim().to_owned();
            Err(error(text, cursor.at, ListErrorKind::NotANumber(rest)))
        }
    }
}

struct Cursor<'t> {
    text: &'t str,
    at: usize,
    end: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..self.end].chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn skip_blanks(&mut self) {
        while let Some(c) = self.peek().filter(|c| c.is_whitespace()) {
            self.at += c.len_utf8();
        }
    }

    /// A number and the place where it begins.
    fn number(&mut self) -> Result<(u32, usize), ListError> {
        let at = self.at;
        let rest = &self.text[at..self.end];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            let kind = match rest.trim() {
                "" => ListErrorKind::MissingNumber,
                other => ListErrorKind::NotANumber(other.to_owned()),
            };
            return Err(error(self.text, at, kind));
        }
        self.at += digits;
        let number = rest[..digits].trim_start_matches('0');
        let value = if number.is_empty() { Ok(0) } else { number.parse::<u32>() };
        match value {
            Ok(value) if value <= MAX_ID => Ok((value, at)),
            _ => {
                let shown =
                    if digits > 20 { "a number of that many digits" } else { &rest[..digits] };
                Err(error(self.text, at, ListErrorKind::TooLarge(shown.to_owned())))
            }
        }
    }
}
