//! Trees of files to read: written into a temporary directory, or packed in memory.

use numawise_model::{FindingKind, Host};
use numawise_sysfs::{ReadError, ReadOptions, Source, open, read_host};
use numawise_testkit::sysfs_tree::{Files, write_files};
use std::path::PathBuf;

pub const FAST: ReadOptions = ReadOptions { strict: false };
pub const STRICT: ReadOptions = ReadOptions { strict: true };

/// `fixtures/` of the repository.
pub fn fixtures() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/hosts"))
}

/// Machines kept beside the checkout; `None` (and a line that says so) when they are not there.
pub fn corpus() -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/corpus"));
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

pub fn files(list: &[(&str, &str)]) -> Files {
    list.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect()
}

/// Reads files from a directory.
pub fn read_files(files: &Files) -> Result<Host, ReadError> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    write_files(files, directory.path()).expect("files are written");
    read_host(&open(directory.path())?, &FAST)
}

/// Packs files under a top folder.
pub fn pack(top: &str, files: &Files) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_ustar();
        let directory = path.ends_with('/');
        header.set_entry_type(if directory {
            tar::EntryType::Directory
        } else {
            tar::EntryType::Regular
        });
        header.set_mode(if directory { 0o700 } else { 0o600 });
        header.set_mtime(0);
        header.set_size(content.len() as u64);
        let path = format!("{top}{path}");
        builder.append_data(&mut header, path, content.as_bytes()).expect("packed");
    }
    builder.into_inner().expect("packed")
}

pub fn read_archive(bytes: &[u8]) -> Result<Host, ReadError> {
    read_host(&Source::from_archive_bytes("test.tar", bytes)?, &FAST)
}

pub fn has(host: &Host, wanted: impl Fn(&FindingKind) -> bool) -> bool {
    host.findings.iter().any(|finding| wanted(&finding.kind))
}

/// An error and its causes in one line.
pub fn text(error: &ReadError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
