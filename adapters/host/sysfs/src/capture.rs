//! Writes a host into an archive that reads back as the same host: a bug report that is a test.
//!
//! A capture is what the strict reader asked for, no more: the reader remembers each file as it
//! reads. Of files that could say who the machine is or what else it does (processors' serial
//! numbers, the command line, mounts, the vendor in the firmware) only the lines are kept that
//! numawise reads. Of processes only the kernel's own threads are in it. Where no cgroup limits anything the cgroup files are left out altogether.

use crate::ReadOptions;
use crate::build;
use crate::derive::derive;
use crate::error::ReadError;
use crate::facts::{self, RawHost, cgroup, machine, pci};
use crate::root::{Entry, Reader, Tree};
use crate::source::Source;
use crate::surroundings;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The top folder of every capture: a host's name would identify it.
const TOP: &str = "host";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Xz,
    Zstd,
}

impl Compression {
    /// By the name; a name that promises something else is refused, or it would lie.
    fn of(path: &Path) -> io::Result<Self> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz" | "tgz") => Ok(Self::Gzip),
            Some("xz" | "txz") => Ok(Self::Xz),
            Some("zst") => Ok(Self::Zstd),
            Some("tar") => Ok(Self::None),
            _ => {
                let reason = "a capture is named .tar, .tar.gz, .tar.xz or .tar.zst";
                Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
            }
        }
    }
}

/// Captures into a file that only its owner may read. It is written beside its place and moved
/// there whole, so that a file of the name is never half a capture.
pub fn capture(source: &Source, path: &Path) -> Result<(), ReadError> {
    let failed = |source| ReadError::Write { path: path.display().to_string(), source };
    let compression = Compression::of(path).map_err(failed)?;
    let place = replaceable(path).map_err(failed)?;
    let bytes = capture_bytes(source)?;
    let directory = match place.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    };
    // Temporary files have mode 0600 from the start.
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    let compressed = compress(&bytes, compression).map_err(failed)?;
    file.write_all(&compressed).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(&place).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Where the file really goes. Moving a file onto a name takes away what had the name: a link is
/// followed, and a device or a pipe is refused, or `/dev/null` would be an archive afterwards.
fn replaceable(path: &Path) -> io::Result<PathBuf> {
    // Asked of what the name leads to in the end: /dev/stdout leads to a pipe that has no path.
    let kind = match path.metadata() {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(path.to_owned());
        }
        Err(error) => return Err(error),
    };
    if kind.is_file() || kind.is_dir() {
        return path.canonicalize();
    }
    let reason = "it is a device, a pipe or a socket, and a capture takes the place of a file: name an ordinary file";
    Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
}

/// The capture as a plain tar. The same host gives the same bytes.
pub fn capture_bytes(source: &Source) -> Result<Vec<u8>, ReadError> {
    let root = source.root()?;
    let mut reader = Reader::recording(&root);
    let raw = facts::read(&mut reader, &ReadOptions { strict: true })?;
    let around = surroundings::read(&mut reader);
    let mut tree = scrub(&reader.into_record().into_tree(), &raw);
    if around.interrupts.is_ok() || source.is_live() {
        let note = surroundings::managed_note(&around);
        tree.replace(surroundings::MANAGED, Entry::File(note.into_bytes()));
    }
    write_tar(&tree).map_err(|source| ReadError::Write { path: TOP.to_owned(), source })
}

/// Leaves out or shortens what could identify the machine.
fn scrub(recorded: &Tree, raw: &RawHost) -> Tree {
    let unlimited = derive(raw).allowed.limited_by.is_none();
    let kept = |path: &str, bytes: &[u8]| match path {
        path if unlimited && is_about_cgroups(path, raw) => None,
        path => essential(path, bytes),
    };
    let files = recorded.entries().filter_map(|(path, entry)| match entry {
        Entry::File(bytes) => Some((path, kept(path, bytes))),
        Entry::Directory(_) | Entry::Link(_) => None,
    });
    let files: Vec<(&str, Option<Vec<u8>>)> = files.collect();
    let left_out: Vec<&str> =
        files.iter().filter(|(_, kept)| kept.is_none()).map(|(path, _)| *path).collect();
    let mut tree = Tree::default();
    for (path, entry) in recorded.entries() {
        // A directory that leads to nothing but files that are left out tells of them by its name.
        let leads_to = |file: &&str| file.strip_prefix(path).is_some_and(|r| r.starts_with('/'));
        match entry {
            Entry::Directory(_) if left_out.iter().any(leads_to) => {}
            Entry::File(_) => {}
            Entry::Directory(_) | Entry::Link(_) => tree.replace(path, entry.clone()),
        }
    }
    for (path, kept) in files {
        if let Some(bytes) = kept {
            tree.replace(path, Entry::File(bytes));
        }
    }
    let notes = machine::notes(&raw.machine, build::noted_vendor(&raw.machine));
    if !notes.is_empty() {
        tree.replace(machine::NOTES, Entry::File(notes.into_bytes()));
    }
    tree
}

/// The part of a file that is read; `None` when none is, or when it is noted elsewhere.
fn essential(path: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let text = || String::from_utf8_lossy(bytes);
    let kept = match path {
        machine::DMI_VENDOR | machine::NOTES | machine::HWLOC_NOTES | surroundings::MANAGED => {
            return None;
        }
        machine::CPUINFO => machine::essential_cpuinfo(&text()),
        machine::CMDLINE => machine::essential_cmdline(&text())?.to_owned(),
        machine::MEMINFO => machine::essential_meminfo(&text()),
        cgroup::MOUNTS => cgroup::essential_mounts(&text()),
        cgroup::SELF_CGROUP => cgroup::essential_cgroup(&text()),
        surroundings::INTERRUPTS => surroundings::essential_interrupts(&text()),
        path if path.ends_with("/uevent") => pci::essential_uevent(&text()),
        path => match surroundings::essential_process_file(path, &text()) {
            Some(kept) => kept,
            None => return Some(bytes.to_vec()),
        },
    };
    (!kept.is_empty()).then(|| kept.into_bytes())
}

fn is_about_cgroups(path: &str, raw: &RawHost) -> bool {
    let limits = [
        raw.cgroup.cpus.as_ref().map(|(file, _)| file),
        raw.cgroup.memory_nodes.as_ref().map(|(file, _)| file),
    ];
    [cgroup::MOUNTS, cgroup::SELF_CGROUP, cgroup::SELF_CPUSET].contains(&path)
        || limits.into_iter().flatten().any(|file| file.trim_start_matches('/') == path)
}

fn write_tar(tree: &Tree) -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, entry) in tree.entries() {
        let path = format!("{TOP}/{path}");
        let mut header = tar::Header::new_ustar();
        header.set_mtime(0);
        header.set_mode(0o600);
        header.set_size(0);
        match entry {
            Entry::Directory(_) => {
                header.set_entry_type(tar::EntryType::Directory);
                header.set_mode(0o700);
                builder.append_data(&mut header, path, io::empty())?;
            }
            Entry::File(bytes) => {
                header.set_entry_type(tar::EntryType::Regular);
                header.set_size(bytes.len() as u64);
                builder.append_data(&mut header, path, bytes.as_slice())?;
            }
            Entry::Link(target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                builder.append_link(&mut header, path, target)?;
            }
        }
    }
    builder.into_inner()
}

fn compress(bytes: &[u8], compression: Compression) -> io::Result<Vec<u8>> {
    match compression {
        Compression::None => Ok(bytes.to_vec()),
        Compression::Gzip => {
            let level = flate2::Compression::best();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes)?;
            encoder.finish()
        }
        Compression::Xz => {
            let options = lzma_rust2::XzOptions::with_preset(6);
            let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options)?;
            encoder.write_all(bytes)?;
            encoder.finish()
        }
        Compression::Zstd => {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            Ok(ruzstd::encoding::compress_to_vec(bytes, level))
        }
    }
}
