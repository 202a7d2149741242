//! Files below `/proc` and below the root that cgroups are mounted in.

use crate::error::ProcessError;
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Files {
    pub proc: PathBuf,
    pub root: PathBuf,
}

impl Files {
    /// The path as messages give it.
    pub fn shown(&self, name: &str) -> String {
        self.proc.join(name).display().to_string()
    }

    /// A file of `/proc`; `None` when it, or the process that it is about, is not there.
    pub fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, ProcessError> {
        read(&self.proc.join(name))
    }

    pub fn text(&self, name: &str) -> Result<Option<String>, ProcessError> {
        Ok(self.bytes(name)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// A file of a cgroup, by its path from the root.
    pub fn text_below_root(&self, path: &str) -> Result<Option<String>, ProcessError> {
        let bytes = read(&self.root.join(path.trim_start_matches('/')))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Entries of a folder of `/proc` whose names are numbers, ascending: processes or threads.
    pub fn numbers(&self, folder: &str) -> Result<Option<Vec<u32>>, ProcessError> {
        let path = self.proc.join(folder);
        let Some(entries) = present(&path, std::fs::read_dir(&path))? else { return Ok(None) };
        let mut numbers = Vec::new();
        for entry in entries {
            let Some(entry) = present(&path, entry)? else { break };
            numbers.extend(entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
        }
        numbers.sort_unstable();
        Ok(Some(numbers))
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, ProcessError> {
    present(path, std::fs::read(path))
}

/// A process that ends while it is read gives `ESRCH`.
fn present<T>(path: &Path, result: io::Result<T>) -> Result<Option<T>, ProcessError> {
    let gone = [Errno::NOENT, Errno::SRCH, Errno::NOTDIR, Errno::NODEV];
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if Errno::from_io_error(&error).is_some_and(|e| gone.contains(&e)) => Ok(None),
        Err(source) => Err(ProcessError::Io { path: path.display().to_string(), source }),
    }
}
