//! Files for their owner alone: plans and domain XML may hold secrets.

use crate::failure::{FAILURE, NO_ACCESS, coded};
use anyhow::{Error, Result};
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Mode 0600, written whole or not at all. What is no ordinary file (`/dev/stdout`, a pipe) is
/// written into; a link keeps its place, and what it points at is replaced.
pub fn write(path: &Path, text: &str) -> Result<()> {
    write_io(path, text).map_err(|error| told(path, &error))
}

fn write_io(path: &Path, text: &str) -> io::Result<()> {
    // Asked of what the name leads to in the end: /dev/stdout leads to a pipe that has no path.
    let place = match path.metadata() {
        Ok(found) if !found.is_file() => {
            return OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
        }
        Ok(_) => path.canonicalize()?,
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Err(_) if path.is_symlink() => {
            let reason = "it is a link that leads nowhere";
            return Err(io::Error::new(ErrorKind::NotFound, reason));
        }
        Err(_) => path.to_owned(),
    };
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(place)?;
    Ok(())
}

/// By the name that was given, not by that of the file that was to become it.
fn told(path: &Path, error: &io::Error) -> Error {
    let code = if error.kind() == ErrorKind::PermissionDenied { NO_ACCESS } else { FAILURE };
    let why = error.raw_os_error().map_or_else(
        || error.to_string(),
        |number| io::Error::from_raw_os_error(number).to_string(),
    );
    coded(code, format!("{} cannot be written: {why}", path.display()))
}
