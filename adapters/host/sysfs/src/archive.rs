//! Unpacks an archive in memory: tar, plain or compressed with gzip, xz or zstd, told by content.
//!
//! Archives come from strangers. Nothing is written to disk, the sizes are capped before they are
//! reached, and names or links that lead out of the archive are refused by name.

use crate::error::ReadError;
use crate::root::{Entry, Tree};
use std::collections::BTreeSet;
use std::io::{self, Read};
use tar::EntryType;

/// How much may come out of an archive.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// The unpacked stream; a machine of 8,192 CPUs with every file there is comes to half of it.
    stream_bytes: u64,
    entries: usize,
    content_bytes: u64,
}

const LIMITS: Limits =
    Limits { stream_bytes: 1 << 30, entries: 1_000_000, content_bytes: 256 << 20 };

/// Files past this size are kept as if they were absent: no kernel file that is read here has it.
const MAX_FILE_BYTES: u64 = 4 << 20;

const GZIP: &[u8] = &[0x1f, 0x8b];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Where every tar header has its magic.
const TAR_MAGIC_AT: usize = 257;

pub fn looks_like_archive(bytes: &[u8]) -> bool {
    [GZIP, XZ, ZSTD].iter().any(|magic| bytes.starts_with(magic))
        || bytes.get(TAR_MAGIC_AT..).is_some_and(|rest| rest.starts_with(b"ustar"))
}

/// The host's tree: what lies around `sys/devices/system/cpu`, whatever the top folder is called.
pub fn unpack(name: &str, bytes: &[u8]) -> Result<Tree, ReadError> {
    unpack_within(LIMITS, name, bytes)
}

fn unpack_within(limits: Limits, name: &str, bytes: &[u8]) -> Result<Tree, ReadError> {
    let damaged = |source: io::Error| ReadError::Damaged { archive: name.to_owned(), source };
    let stream: Box<dyn Read + '_> = match bytes {
        _ if bytes.starts_with(GZIP) => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
        _ if bytes.starts_with(XZ) => {
            Box::new(lzma_rust2::XzReader::new_mem_limit(bytes, true, XZ_MEMORY_KIB))
        }
        _ if bytes.starts_with(ZSTD) => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(bytes);
            Box::new(decoder.map_err(|error| damaged(io::Error::other(error)))?)
        }
        _ => Box::new(bytes),
    };
    let mut unpacking =
        Unpacking { name, limits, tree: Tree::default(), entries: 0, content_bytes: 0 };
    let capped = Capped { inner: stream, most: limits.stream_bytes, got: 0 };
    let mut archive = tar::Archive::new(io::BufReader::with_capacity(1 << 16, capped));
    for entry in archive.entries().map_err(damaged)? {
        unpacking.take(&mut entry.map_err(damaged)?)?;
    }
    let top = unpacking.find_top()?;
    Ok(unpacking.tree.below(&top))
}

/// xz -9 needs 65 MiB.
const XZ_MEMORY_KIB: u32 = 128 << 10;

struct Unpacking<'n> {
    name: &'n str,
    limits: Limits,
    tree: Tree,
    entries: usize,
    content_bytes: u64,
}

impl Unpacking<'_> {
    fn take<R: Read>(&mut self, entry: &mut tar::Entry<'_, R>) -> Result<(), ReadError> {
        self.entries += 1;
        let most = self.limits.entries;
        if self.entries > most {
            return Err(self.refused(format!("it has more than {most} entries")));
        }
        let written = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = self.inside(&written)?;
        match entry.header().entry_type() {
            EntryType::Directory => self.tree.insert(&path, Entry::Directory(BTreeSet::new())),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                self.take_file(&path, entry)?;
            }
            EntryType::Symlink => {
                let target = self.target(&written, entry)?;
                let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
                if crate::root::join(directory, &target).is_none() {
                    let why = format!("the link {written} leads out of it, to {target}");
                    return Err(self.refused(why));
                }
                self.tree.insert(&path, Entry::Link(target));
            }
            EntryType::Link => {
                let target = self.target(&written, entry)?;
                let target = self.inside(&target)?;
                if let Some(bytes) = self.tree.file(&target).map(<[u8]>::to_vec) {
                    self.add_content(bytes.len() as u64)?;
                    self.tree.insert(&path, Entry::File(bytes));
                }
            }
            // Devices, pipes and extension headers hold no fact.
            _ => {}
        }
        Ok(())
    }

    fn take_file<R: Read>(
        &mut self,
        path: &str,
        entry: &mut tar::Entry<'_, R>,
    ) -> Result<(), ReadError> {
        if entry.size() > MAX_FILE_BYTES {
            return Ok(());
        }
        self.add_content(entry.size())?;
        let mut bytes = Vec::new();
        entry
            .read_to_end(&mut bytes)
            .map_err(|source| ReadError::Damaged { archive: self.name.to_owned(), source })?;
        self.tree.insert(path, Entry::File(bytes));
        Ok(())
    }

    fn add_content(&mut self, bytes: u64) -> Result<(), ReadError> {
        self.content_bytes += bytes;
        let most = self.limits.content_bytes;
        if self.content_bytes > most {
            return Err(self.refused(format!("its files have more than {most} bytes")));
        }
        Ok(())
    }

    fn target<R: Read>(&self, path: &str, entry: &tar::Entry<'_, R>) -> Result<String, ReadError> {
        match entry.link_name_bytes() {
            Some(target) => Ok(String::from_utf8_lossy(&target).into_owned()),
            None => Err(self.refused(format!("the link {path} leads nowhere"))),
        }
    }

    fn inside(&self, path: &str) -> Result<String, ReadError> {
        if path.starts_with('/') || path.split('/').any(|part| part == "..") {
            return Err(self.refused(format!("the name {path} leads out of it")));
        }
        let parts: Vec<&str> =
            path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        Ok(parts.join("/"))
    }

    fn find_top(&self) -> Result<String, ReadError> {
        const CPU: &str = "sys/devices/system/cpu";
        let top_of = |path: &str| {
            let top = path.strip_suffix(CPU)?;
            (top.is_empty() || top.ends_with('/')).then(|| top.trim_end_matches('/').to_owned())
        };
        let tops: Vec<String> = self
            .tree
            .entries()
            .filter(|(_, entry)| matches!(entry, Entry::Directory(_)))
            .filter_map(|(path, _)| top_of(path))
            .collect();
        match tops.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(ReadError::NotAHost {
                path: self.name.to_owned(),
                seen: "an archive without sys/devices/system/cpu".to_owned(),
            }),
            several => Err(ReadError::SeveralHosts {
                path: self.name.to_owned(),
                hosts: several.join(", "),
            }),
        }
    }

    fn refused(&self, why: String) -> ReadError {
        ReadError::Refused { archive: self.name.to_owned(), why }
    }
}

/// Fails, rather than ends, when more comes out than is allowed.
struct Capped<R> {
    inner: R,
    most: u64,
    got: u64,
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.got += got as u64;
        if self.got > self.most {
            let most = self.most;
            return Err(io::Error::other(format!("it unpacks to more than {most} bytes")));
        }
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::{LIMITS, Limits, unpack_within};
    use std::io::Write;

    /// A gzipped tar of `files` files of 1,000 bytes each.
    fn archive(files: usize) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for index in 0..files {
            let mut header = tar::Header::new_ustar();
            header.set_size(1000);
            let path = format!("host/sys/devices/system/cpu/file{index}");
            builder.append_data(&mut header, path, &[b'7'; 1000][..]).expect("packed");
        }
        let tar = builder.into_inner().expect("packed");
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&tar).expect("compressed");
        encoder.finish().expect("compressed")
    }

    #[test]
    fn an_archive_that_grows_too_large_is_stopped() {
        let bytes = archive(50);
        let cases = [
            (Limits { stream_bytes: 20_000, ..LIMITS }, "more than 20000 bytes"),
            (Limits { entries: 49, ..LIMITS }, "more than 49 entries"),
            (Limits { content_bytes: 49_999, ..LIMITS }, "more than 49999 bytes"),
        ];
        for (limits, named) in cases {
            let error = unpack_within(limits, "bomb", &bytes).expect_err(named);
            let shown = format!("{error}: {:?}", std::error::Error::source(&error));
            assert!(shown.contains("bomb") && shown.contains(named), "{shown}");
        }
        let fits = Limits { stream_bytes: 80_000, entries: 50, content_bytes: 50_000 };
        assert!(unpack_within(fits, "whole", &bytes).is_ok());
    }
}
