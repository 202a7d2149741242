//! Writes a host into an archive that reads back as the same host: a bug report that is a test.
//!
//! A capture is what the strict reader asked for, no more: the reader remembers each file as it
//! reads. Of files that could say who the machine is or what else it does (processors' serial
//! numbers, the command line, mounts, the vendor in the firmware) only the lines are kept that
//! numawise reads. Where no cgroup limits anything the cgroup files are left out altogether.

use crate::build;
use crate::derive::derive;
use crate::error::ReadError;
use crate::facts::{self, RawHost, cgroup, machine};
use crate::root::{Entry, Reader, Tree};
use crate::source::Source;
use crate::ReadOptions;
use std::io::{self, Write};
use std::path::Path;

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
    fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz" | "tgz") => Self::Gzip,
            Some("xz" | "txz") => Self::Xz,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }
}

/// Captures into a file that only its owner may read. It is written beside its place and moved
/// there whole, so that a file of the name is never half a capture.
pub fn capture(source: &Source, path: &Path) -> Result<(), ReadError> {
    let bytes = capture_bytes(source)?;
    let failed = |source| ReadError::Write { path: path.display().to_string(), source };
    let directory = match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    };
    // Temporary files have mode 0600 from the start.
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    let compressed = compress(&bytes, Compression::of(path)).map_err(failed)?;
    file.write_all(&compressed).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// The capture as a plain tar. The same host gives the same bytes.
pub fn capture_bytes(source: &Source) -> Result<Vec<u8>, ReadError> {
    let root = source.root()?;
    let mut reader = Reader::recording(&root);
    let raw = facts::read(&mut reader, &ReadOptions { strict: true })?;
    let tree = scrub(reader.into_record().into_tree(), &raw);
    write_tar(&tree).map_err(|source| ReadError::Write { path: TOP.to_owned(), source })
}

/// Leaves out or shortens what could identify the machine.
fn scrub(recorded: Tree, raw: &RawHost) -> Tree {
    let limited_by = derive(raw).allowed.limited_by;
    let mut tree = Tree::default();
    for (path, entry) in recorded.entries() {
        let Entry::File(bytes) = entry else {
            tree.replace(path, entry.clone());
            continue;
        };
        if limited_by.is_none() && is_about_cgroups(path, raw) {
            continue;
        }
        let text = || String::from_utf8_lossy(bytes);
        let kept = match path {
            machine::DMI_VENDOR | machine::NOTES | "proc/hwloc-nofile-info" => continue,
            machine::CPUINFO => machine::essential_cpuinfo(&text()).into_bytes(),
            machine::CMDLINE => match machine::essential_cmdline(&text()) {
                Some(argument) => argument.as_bytes().to_vec(),
                None => continue,
            },
            machine::MEMINFO => machine::essential_meminfo(&text()).into_bytes(),
            cgroup::MOUNTS => cgroup::essential_mounts(&text()).into_bytes(),
            cgroup::SELF_CGROUP => cgroup::essential_cgroup(&text()).into_bytes(),
            _ => bytes.clone(),
        };
        tree.replace(path, Entry::File(kept));
    }
    let notes = machine::notes(&raw.machine, build::noted_vendor(&raw.machine));
    if !notes.is_empty() {
        tree.replace(machine::NOTES, Entry::File(notes.into_bytes()));
    }
    tree
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
