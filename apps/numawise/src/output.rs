//! The one place that prints: text and documents to standard output, remarks to standard error.

use anyhow::Result;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};

/// Prints text; a reader that has gone away ends the program quietly, as with any filter.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let newline = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    match out.write_all(text.as_bytes()).and_then(|()| out.write_all(newline.as_bytes())) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        other => Ok(other?),
    }
}

pub fn print_json<T: Serialize>(value: &T) -> Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}

/// A remark for the person at the terminal: never mixed into a document.
pub fn remark(text: &str) {
    anstream::eprintln!("{}", text.trim_end());
}

pub fn is_colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Columns of the terminal; 100 where there is none.
pub fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    match size.map(|size| usize::from(size.ws_col)) {
        Some(columns) if columns >= 40 => columns.min(160),
        _ => 100,
    }
}
