//! Asking before anything is changed.

use crate::failure::{USAGE, coded};
use anyhow::Result;
use std::io::{BufRead, IsTerminal, Write};

/// Whether to go on. Without a terminal to ask at, `--yes` has to be given.
pub fn go_on(yes: bool, question: &str) -> Result<bool> {
    if yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        let text = "there is no terminal to ask at: add --yes to go on, or --dry-run to look only";
        return Err(coded(USAGE, text));
    }
    let mut err = std::io::stderr();
    write!(err, "{} [y/N] ", numawise_render::text::printable(question))?;
    err.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
