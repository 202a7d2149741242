//! Where a host's description comes from, told by content: an archive may have any name.

use crate::archive;
use crate::error::ReadError;
use crate::root::{DirectoryRoot, Root, Tree};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An XML description is a few megabytes at most (hwloc on 1,024 CPUs: 2 MB).
const MAX_XML_BYTES: u64 = 64 << 20;
/// Archives of sysfs compress a hundredfold; the largest known has 400 kB.
const MAX_ARCHIVE_BYTES: u64 = 256 << 20;

#[derive(Clone, Debug)]
pub enum Source {
    /// This machine.
    Live,
    /// A directory that holds a machine's `sys` and `proc`.
    Directory(PathBuf),
    /// The same as an archive, unpacked in memory.
    Archive {
        name: String,
        tree: Arc<Tree>,
    },
    HwlocXml {
        name: String,
        text: String,
    },
    LibvirtCapabilities {
        name: String,
        text: String,
    },
}

impl Source {
    /// An archive that is already in memory, such as one that a program carries in itself.
    pub fn from_archive_bytes(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        Ok(Self::Archive { name: name.to_owned(), tree: Arc::new(archive::unpack(name, bytes)?) })
    }

    pub fn is_live(&self) -> bool {
        matches!(self, Self::Live)
    }

    pub(crate) fn root(&self) -> Result<Root, ReadError> {
        match self {
            Self::Live => Ok(Root::Directory(DirectoryRoot::live()?)),
            Self::Directory(path) => Ok(Root::Directory(DirectoryRoot::open(path)?)),
            Self::Archive { tree, .. } => Ok(Root::Tree(Arc::clone(tree))),
            Self::HwlocXml { name, .. } | Self::LibvirtCapabilities { name, .. } => {
                Err(ReadError::NothingToCapture { name: name.clone() })
            }
        }
    }
}

/// Finds out what a path is.
pub fn open(path: &Path) -> Result<Source, ReadError> {
    let shown = path.display().to_string();
    let metadata = fs::metadata(path).map_err(|source| not_found_or_io(&shown, source))?;
    if metadata.is_dir() {
        return open_directory(path, shown);
    }
    if !metadata.is_file() {
        // A pipe or a terminal would be waited for without end.
        let seen = "no file (a pipe, a socket or a device)".to_owned();
        return Err(ReadError::NotAHost { path: shown, seen });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|source| not_found_or_io(&shown, source))?;
    file.take(MAX_ARCHIVE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| ReadError::Io { path: shown.clone(), source })?;
    if bytes.len() as u64 > MAX_ARCHIVE_BYTES {
        let why = format!("it has more than {MAX_ARCHIVE_BYTES} bytes");
        return Err(ReadError::Refused { archive: shown, why });
    }
    from_bytes(shown, bytes)
}

fn from_bytes(name: String, bytes: Vec<u8>) -> Result<Source, ReadError> {
    if archive::looks_like_archive(&bytes) {
        return Source::from_archive_bytes(&name, &bytes);
    }
    let not_a_host =
        |name: String, seen: &str| ReadError::NotAHost { path: name, seen: seen.to_owned() };
    if bytes.len() as u64 > MAX_XML_BYTES {
        return Err(not_a_host(name, "a large file of another kind"));
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(not_a_host(name, "binary data"));
    };
    match xml_root(&text) {
        Some("topology") => Ok(Source::HwlocXml { name, text }),
        Some("capabilities") => Ok(Source::LibvirtCapabilities { name, text }),
        Some(other) => Err(not_a_host(name, &format!("XML that begins with <{other}>"))),
        None if text.trim().is_empty() => Err(not_a_host(name, "an empty file")),
        None => Err(not_a_host(name, "text of another kind")),
    }
}

/// The name of the first element, without parsing the whole document.
fn xml_root(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    if !rest.starts_with('<') {
        return None;
    }
    loop {
        let skip = match rest {
            _ if rest.starts_with("<!--") => rest.find("-->")? + 3,
            _ if rest.starts_with("<?") || rest.starts_with("<!") => rest.find('>')? + 1,
            _ => break,
        };
        rest = rest[skip..].trim_start();
    }
    let name = rest.strip_prefix('<')?;
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !"_-.:".contains(c))?;
    Some(&name[..end])
}

fn open_directory(path: &Path, shown: String) -> Result<Source, ReadError> {
    if fs::canonicalize(path).is_ok_and(|real| real == Path::new("/")) {
        return Ok(Source::Live);
    }
    if holds_host(path) {
        return Ok(Source::Directory(path.to_owned()));
    }
    let entries = fs::read_dir(path).map_err(|source| not_found_or_io(&shown, source))?;
    let mut inner: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|entry| holds_host(entry)).collect();
    inner.sort();
    match inner.as_slice() {
        [one] => Ok(Source::Directory(one.clone())),
        [] => Err(ReadError::NotAHost {
            path: shown,
            seen: "a directory without sys/devices/system/cpu".to_owned(),
        }),
        several => {
            let names: Vec<String> =
                several.iter().map(|path| path.display().to_string()).collect();
            Err(ReadError::SeveralHosts { path: shown, hosts: names.join(", ") })
        }
    }
}

fn holds_host(path: &Path) -> bool {
    path.join("sys/devices/system/cpu").is_dir()
}

fn not_found_or_io(path: &str, source: std::io::Error) -> ReadError {
    match source.kind() {
        std::io::ErrorKind::NotFound => ReadError::NotFound { path: path.to_owned() },
        _ => ReadError::Io { path: path.to_owned(), source },
    }
}

#[cfg(test)]
mod tests {
    use super::xml_root;

    #[test]
    fn the_root_element_is_found_behind_declarations_and_comments() {
        let cases = [
            ("<topology>", Some("topology")),
            (
                "<?xml version='1.0'?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology v='2'>",
                Some("topology"),
            ),
            ("<!-- <x> --><capabilities\n>", Some("capabilities")),
            ("0-3", None),
            ("<", None),
            ("<!-- never closed", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(xml_root(text), wanted, "{text}");
        }
    }
}
