//! Frames of box-drawing characters and the fitting of words into them. Widths count characters:
//! everything drawn here is one column wide, and painting happens after the measuring.

use crate::look::Look;
use crate::style::Meaning;
use numawise_model::{Id, IdSet};

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
        let text = text.into();
        self.columns += text.chars().count();
        self.text += &text;
        self
    }

    pub fn painted(mut self, look: &Look, meaning: Meaning, text: &str) -> Self {
        self.columns += text.chars().count();
        self.text += &look.paint(meaning, text);
        self
    }

    pub fn join(mut self, other: Line) -> Self {
        self.columns += other.columns;
        self.text += &other.text;
        self
    }

    pub fn columns(&self) -> usize {
        self.columns
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

/// A frame with a title in its upper edge, `width` columns wide in all.
pub fn boxed(title: &str, body: Vec<Line>, width: usize, look: &Look) -> Vec<Line> {
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
    for line in body {
        let line = line.padded(inner).into_text();
        let text = format!("{} {line} {}", side("│"), side("│"));
        lines.push(Line { text, columns: width });
    }
    lines.push(Line::default().painted(look, Meaning::Dim, &bottom));
    lines
}

/// Cut with an ellipsis to so many columns.
pub fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
}

/// Broken into lines at blanks and after commas; what has neither is broken where it must be.
pub fn wrap(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let columns = columns.max(indent + 8);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for piece in pieces(text) {
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

/// A CPU list in so many columns: whole where it fits, else its beginning and a `…`.
pub fn fit_list<I: Id>(set: &IdSet<I>, columns: usize) -> String {
    let whole = set.to_string();
    if whole.chars().count() <= columns {
        return whole;
    }
    let mut shown = String::new();
    for part in whole.split_inclusive(',') {
        if shown.len() + part.len() + 1 > columns {
            break;
        }
        shown += part;
    }
    shown + "…"
}

/// Lines as text, each without trailing blanks.
pub fn to_text(lines: Vec<Line>) -> String {
    lines.into_iter().map(|line| line.into_text().trim_end().to_owned() + "\n").collect()
}
