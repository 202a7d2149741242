//! A machine's files behind one interface, wherever they are: under a directory (`/` for the live
//! machine) or in an archive unpacked in memory. Paths are relative: `sys/devices/system/cpu/online`.

mod directory;
mod record;
mod tree;

pub use directory::DirectoryRoot;
pub use record::Record;
pub use tree::{Entry, Tree, join, parent};

use crate::error::ReadError;
use numawise_model::{Id, IdSet, MAX_ID, parse_list, parse_mask};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum Root {
    Directory(DirectoryRoot),
    Tree(Arc<Tree>),
}

/// Reads files of a root through one reused buffer, and keeps what it read when it is to be
/// captured. `None` is "this kernel has no such file".
pub struct Reader<'r> {
    root: &'r Root,
    buffer: Vec<u8>,
    record: Option<Record>,
    /// Whether a list beside a map is read to be compared with it.
    pub compares_lists: bool,
}

impl<'r> Reader<'r> {
    pub fn new(root: &'r Root) -> Self {
        Self { root, buffer: vec![0; directory::BUFFER_BYTES], record: None, compares_lists: true }
    }

    /// A reader that remembers everything it is asked for.
    pub fn recording(root: &'r Root) -> Self {
        Self { record: Some(Record::default()), ..Self::new(root) }
    }

    pub fn into_record(self) -> Record {
        // Absent means that nothing was to be remembered.
        self.record.unwrap_or_default()
    }

    pub fn is_live(&self) -> bool {
        matches!(self.root, Root::Directory(directory) if directory.is_live())
    }

    /// A whole file without the blanks and NULs around it.
    pub fn text(&mut self, path: &str) -> Result<Option<&str>, ReadError> {
        self.head(path, usize::MAX)
    }

    /// The first `limit` bytes of a file, or somewhat more.
    pub fn head(&mut self, path: &str, limit: usize) -> Result<Option<&str>, ReadError> {
        let bytes = match self.root {
            Root::Directory(directory) => match directory.read(path, limit, &mut self.buffer)? {
                Some(length) => &self.buffer[..length],
                None => return Ok(None),
            },
            Root::Tree(tree) => match tree.file(path) {
                Some(bytes) => bytes,
                None => return Ok(None),
            },
        };
        if let Some(record) = &mut self.record {
            record.file(path, bytes);
        }
        let blank = |c: char| c.is_whitespace() || c == '\0';
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text.trim_matches(blank))),
            // A cut through a character at the limit is no fault of the file.
            Err(error) if limit != usize::MAX && error.error_len().is_none() => {
                Ok(std::str::from_utf8(&bytes[..error.valid_up_to()]).ok())
            }
            Err(_) => Err(ReadError::value(
                path,
                &String::from_utf8_lossy(bytes),
                "text, not binary data,",
            )),
        }
    }

    /// A number as the kernel prints it.
    pub fn number(&mut self, path: &str) -> Result<Option<i64>, ReadError> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(ReadError::value(path, text, "a whole number")),
        }
    }

    /// A count: a number that is not negative.
    pub fn count(&mut self, path: &str) -> Result<Option<u64>, ReadError> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(ReadError::value(path, text, "a count")),
        }
    }

    /// A kernel list, `0-3,8`.
    pub fn list<I: Id>(&mut self, path: &str) -> Result<Option<IdSet<I>>, ReadError> {
        self.set(path, |text| parse_list(text))
    }

    /// A kernel mask, `ff,00000001`.
    pub fn mask<I: Id>(&mut self, path: &str) -> Result<Option<IdSet<I>>, ReadError> {
        self.set(path, |text| parse_mask(text))
    }

    fn set<I: Id>(
        &mut self,
        path: &str,
        parse: impl Fn(&str) -> Result<IdSet<I>, numawise_model::ListError>,
    ) -> Result<Option<IdSet<I>>, ReadError> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        let set =
            parse(text).map_err(|source| ReadError::BadSet { file: path.to_owned(), source })?;
        Ok(Some(set))
    }

    /// The names in a directory, sorted.
    pub fn names(&mut self, path: &str) -> Result<Option<Vec<String>>, ReadError> {
        let Some(names) = self.list_directory(path)? else { return Ok(None) };
        if let Some(record) = &mut self.record {
            record.directory(path);
            for name in &names {
                record.directory(&format!("{path}/{name}"));
            }
        }
        Ok(Some(names))
    }

    /// The ids in names such as `cpu12`; other names are passed over.
    pub fn numbered<I: Id>(
        &mut self,
        path: &str,
        prefix: &str,
    ) -> Result<Option<IdSet<I>>, ReadError> {
        let Some(names) = self.list_directory(path)? else { return Ok(None) };
        let number = |name: &String| {
            let digits = name.strip_prefix(prefix)?;
            let number = digits.parse::<u32>().ok().filter(|_| !digits.starts_with('+'))?;
            (number <= MAX_ID).then(|| I::new(number))
        };
        let ids: IdSet<I> = names.iter().filter_map(number).collect();
        if let Some(record) = &mut self.record {
            record.directory(path);
            for id in ids.iter() {
                record.directory(&format!("{path}/{prefix}{id}"));
            }
        }
        Ok(Some(ids))
    }

    /// The numbers among the names in a directory, ascending; nothing of it is remembered.
    pub fn numbers(&mut self, path: &str) -> Result<Option<Vec<u32>>, ReadError> {
        let Some(names) = self.list_directory(path)? else { return Ok(None) };
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(Some(numbers))
    }

    /// Reads without remembering: what is only looked through does not belong in a capture.
    pub fn unrecorded<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        let record = self.record.take();
        let found = look(self);
        self.record = record;
        found
    }

    /// Whether not even its owner may write a file; `None` where there is no such file, and in an
    /// archive, which has no modes of the kernel's.
    pub fn is_read_only(&self, path: &str) -> Option<bool> {
        match self.root {
            Root::Directory(directory) => directory.is_read_only(path),
            Root::Tree(_) => None,
        }
    }

    pub fn is_directory(&mut self, path: &str) -> Result<bool, ReadError> {
        let found = match self.root {
            Root::Directory(directory) => directory.is_directory(path)?,
            Root::Tree(tree) => tree.directory(path).is_some(),
        };
        if let (true, Some(record)) = (found, &mut self.record) {
            record.directory(path);
        }
        Ok(found)
    }

    /// Where a symbolic link leads, as a path from the root; `None` when it is none.
    pub fn link(&mut self, path: &str) -> Result<Option<String>, ReadError> {
        let target = match self.root {
            Root::Directory(directory) => directory.link(path)?,
            Root::Tree(tree) => tree.link(path).map(str::to_owned),
        };
        let Some(target) = target else { return Ok(None) };
        let resolved = tree::join(tree::parent(path), &target);
        if let (Some(record), true) = (&mut self.record, resolved.is_some()) {
            record.link(path, &target);
        }
        Ok(resolved)
    }

    fn list_directory(&self, path: &str) -> Result<Option<Vec<String>>, ReadError> {
        match self.root {
            Root::Directory(directory) => directory.names(path),
            Root::Tree(tree) => {
                Ok(tree.directory(path).map(|names| names.iter().cloned().collect()))
            }
        }
    }
}
