//! Colour as meaning. Drawing code says what a text is; only here it becomes an escape sequence, and
//! only when the look asks for it.

use crate::look::Look;
use anstyle::{AnsiColor, Style};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Title,
    /// Frames and what is of lesser weight.
    Dim,
    Error,
    Warning,
    Note,
    ToDo,
    Added,
    Removed,
    Free,
    Busy,
    /// An owner, by its index: neighbours get different colours.
    Owner(usize),
}

fn style(meaning: Meaning) -> Style {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match meaning {
        Meaning::Title => Style::new().bold(),
        Meaning::Dim => Style::new().dimmed(),
        Meaning::Error => colour(AnsiColor::Red).bold(),
        Meaning::Warning => colour(AnsiColor::Yellow).bold(),
        Meaning::Note => colour(AnsiColor::Cyan),
        Meaning::ToDo => colour(AnsiColor::Green),
        Meaning::Added => colour(AnsiColor::Green),
        Meaning::Removed => colour(AnsiColor::Red),
        Meaning::Free => Style::new().dimmed(),
        Meaning::Busy => colour(AnsiColor::Yellow),
        Meaning::Owner(index) => colour(OWNERS[index % OWNERS.len()]),
    }
}

const OWNERS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Magenta,
    AnsiColor::Green,
    AnsiColor::Blue,
    AnsiColor::Yellow,
    AnsiColor::Red,
];

impl Look {
    pub(crate) fn paint(&self, meaning: Meaning, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let style = style(meaning);
        format!("{style}{text}{style:#}")
    }
}
