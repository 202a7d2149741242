//! Text files that people name: told by their name when they cannot be read, and never read without
//! end.

use crate::failure::{NO_ACCESS, USAGE, coded};
use anyhow::{Error, Result};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Domain XML, plans and configurations have some kilobytes, the largest some megabytes.
const MOST_BYTES: u64 = 16 << 20;

pub fn read(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let failed = |error| told(path, &error);
    let shown = path.display();
    if fs::metadata(path).map_err(failed)?.is_dir() {
        return Err(coded(
            USAGE,
            format!("{shown} is a folder, and a file is wanted: name one in it"),
        ));
    }
    let file = File::open(path).map_err(failed)?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(coded(USAGE, format!("{shown} has more than {} MiB", MOST_BYTES >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| {
        let text =
            format!("{shown} is no text in UTF-8, and a text file is wanted: save it as one");
        coded(USAGE, text)
    })
}

fn told(path: &Path, error: &io::Error) -> Error {
    let code = if error.kind() == ErrorKind::PermissionDenied { NO_ACCESS } else { USAGE };
    coded(code, format!("{}: {error}", path.display()))
}
