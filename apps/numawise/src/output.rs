//! The one place that prints: text and documents to standard output, remarks to standard error.

use anyhow::Result;
use numawise_render::Look;
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

/// A remark for the person at the terminal: never mixed into a document.
pub fn remark(text: &str) {
    anstream::eprintln!("{}", text.trim_end());
}

/// How pictures are drawn on this terminal.
pub fn look(simulated: bool) -> Look {
    Look { width: width(), colour: is_colour(), simulated }
}

fn is_colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Columns of the terminal; 100 where there is none.
fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    match size.map(|size| usize::from(size.ws_col)) {
        Some(columns) if columns >= 40 => columns.min(160),
        _ => 100,
    }
}
