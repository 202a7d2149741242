//! Frames of box-drawing characters and the fitting of words into them. Widths count characters:
//! everything drawn here is one column wide, and painting happens after the measuring.

use crate::captions::{cut, printable};
use crate::look::Look;
use crate::style::Meaning;

/// A line that knows its width apart from the escape sequences in it.
#[derive(Clone, Debug, Default)]
pub struct Line {
    text: String,
    columns: usize,
}

impl Line {
    pub fn plain(text: impl Into<String>) -> Self {
        Self::default().and(text)
    }

    pub fn and(mut self, text: impl Into<String>) -> Self {
        let text = printable(&text.into());
        self.columns += text.chars().count();
        self.text += &text;
        self
    }

    pub fn painted(mut self, look: &Look, meaning: Meaning, text: &str) -> Self {
        let text = printable(text);
        self.columns += text.chars().count();
        self.text += &look.paint(meaning, &text);
        self
    }

    pub fn join(mut self, other: Line) -> Self {
        self.columns += other.columns;
        self.text += &other.text;
        self
    }

    /// Padded to a column.
    pub fn padded(self, columns: usize) -> Self {
        let missing = columns.saturating_sub(self.columns);
        self.and(" ".repeat(missing))
    }

    pub fn into_text(self) -> String {
        self.text
    }
}

/// The side on which a line is joined to a box, at the box's first row below its title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    None,
    Left,
    Right,
}

/// A frame with a title in its upper edge, `width` columns wide in all.
pub fn boxed(title: &str, body: Vec<Line>, width: usize, look: &Look) -> Vec<Line> {
    joined(title, body, width, Port::None, look)
}

/// The same with a place for a line to end at.
pub fn joined(title: &str, body: Vec<Line>, width: usize, port: Port, look: &Look) -> Vec<Line> {
    let inner = width.saturating_sub(4);
    let title = cut(title, inner.saturating_sub(1));
    let rule = "─".repeat(width.saturating_sub(title.chars().count() + 5));
    let side = |text: &str| look.paint(Meaning::Dim, text);
    let top = Line::default()
        .painted(look, Meaning::Dim, "┌─ ")
        .painted(look, Meaning::Title, &title)
        .painted(look, Meaning::Dim, &format!(" {rule}┐"));
    let bottom = format!("└{}┘", "─".repeat(width.saturating_sub(2)));
    let mut lines = vec![top];
    for (row, line) in body.into_iter().enumerate() {
        let line = line.padded(inner).into_text();
        let left = if row == 0 && port == Port::Left { "┤" } else { "│" };
        let right = if row == 0 && port == Port::Right { "├" } else { "│" };
        let text = format!("{} {line} {}", side(left), side(right));
        lines.push(Line { text, columns: width });
    }
    lines.push(Line::default().painted(look, Meaning::Dim, &bottom));
    lines
}

/// Broken into lines at blanks and after commas; what has neither is broken where it must be.
pub fn wrap(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let columns = columns.max(indent + 8);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let text = printable(text);
    for piece in pieces(&text) {
        let mut piece = piece.to_owned();
        loop {
            let used = line.chars().count();
            if used + piece.trim_end().chars().count() <= columns {
                line += &piece;
                break;
            }
            let margin = if lines.is_empty() { 0 } else { indent };
            if used > margin {
                lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
                continue;
            }
            let fits: String = piece.chars().take(columns - used).collect();
            piece = piece[fits.len()..].to_owned();
            lines.push(line + &fits);
            line = " ".repeat(indent);
        }
    }
    lines.push(line);
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive([' ', ','])
}

/// Lines as text, each without trailing blanks.
pub fn to_text(lines: Vec<Line>) -> String {
    lines.into_iter().map(|line| line.into_text().trim_end().to_owned() + "\n").collect()
}
