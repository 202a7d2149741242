//! The one place that prints: text and documents to standard output, remarks to standard error.

use anyhow::Result;
use numawise_render::Look;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once somebody who read standard output has gone away.
static READER_IS_GONE: AtomicBool = AtomicBool::new(false);

/// Prints text. A reader that has gone away is no failure and ends no work that is under way; the
/// exit code says how that went.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let newline = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    match out.write_all(text.as_bytes()).and_then(|()| out.write_all(newline.as_bytes())) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            READER_IS_GONE.store(true, Ordering::Relaxed);
            Ok(())
        }
        other => Ok(other?),
    }
}

/// Whether what is printed reaches nobody: commands that only watch end then.
pub fn reader_is_gone() -> bool {
    READER_IS_GONE.load(Ordering::Relaxed)
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
