//! Text files that people name: told by their name when they cannot be read, and never read without
//! end.

use crate::failure::{NO_ACCESS, USAGE, coded};
use anyhow::{Error, Result};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Domain XML, plans and configurations have some kilobytes, the largest some megabytes.
const MOST_BYTES: u64 = 16 << 20;

pub fn read(path: &Path) -> Result<String> {
    let mut text = String::new();
    let failed = |error| told(path, &error);
    let file = File::open(path).map_err(failed)?;
    file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MOST_BYTES {
        let text = format!("{} has more than {} MiB", path.display(), MOST_BYTES >> 20);
        return Err(coded(USAGE, text));
    }
    Ok(text)
}

fn told(path: &Path, error: &io::Error) -> Error {
    let code = if error.kind() == ErrorKind::PermissionDenied { NO_ACCESS } else { USAGE };
    coded(code, format!("{}: {error}", path.display()))
}
