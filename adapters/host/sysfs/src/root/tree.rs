//! Files, directories and links by path, in memory.

use std::collections::{BTreeMap, BTreeSet};

/// As many links as Linux follows.
const MAX_LINKS: u32 = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Directory(BTreeSet<String>),
    File(Vec<u8>),
    /// The target as written, relative to the link's directory.
    Link(String),
}

/// A tree from its root, which is the empty path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
}

impl Tree {
    /// Puts an entry in, and the directories above it. A directory that is already there stays; so
    /// does a file where a directory is wanted (then the entry is out of reach, as on a disk).
    pub fn insert(&mut self, path: &str, entry: Entry) {
        self.insert_parents(path);
        match self.entries.get(path) {
            Some(Entry::Directory(_)) => {}
            _ => {
                self.entries.insert(path.to_owned(), entry);
            }
        }
    }

    /// Puts an entry in the place of whatever is there.
    pub fn replace(&mut self, path: &str, entry: Entry) {
        self.insert_parents(path);
        self.entries.insert(path.to_owned(), entry);
    }

    fn insert_parents(&mut self, path: &str) {
        if !path.is_empty() {
            let above = parent(path);
            if !self.entries.contains_key(above) {
                self.insert(above, Entry::Directory(BTreeSet::new()));
            }
            if let Some(Entry::Directory(names)) = self.entries.get_mut(above) {
                names.insert(name(path).to_owned());
            }
        }
    }

    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    pub fn file(&self, path: &str) -> Option<&[u8]> {
        match self.resolve(path)? {
            Entry::File(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub fn directory(&self, path: &str) -> Option<&BTreeSet<String>> {
        match self.resolve(path)? {
            Entry::Directory(names) => Some(names),
            _ => None,
        }
    }

    /// The target of a link that stands at this very path.
    pub fn link(&self, path: &str) -> Option<&str> {
        match self.entries.get(path)? {
            Entry::Link(target) => Some(target),
            _ => None,
        }
    }

    /// The tree below `top`, as a tree of its own.
    #[must_use]
    pub fn below(self, top: &str) -> Self {
        if top.is_empty() {
            return self;
        }
        let prefix = format!("{top}/");
        let strip = |(path, entry): (String, Entry)| {
            let inner = if path == top { "" } else { path.strip_prefix(&prefix)? };
            Some((inner.to_owned(), entry))
        };
        Self { entries: self.entries.into_iter().filter_map(strip).collect() }
    }

    fn resolve(&self, path: &str) -> Option<&Entry> {
        match self.entries.get(path) {
            Some(Entry::Link(_)) | None => {}
            Some(entry) => return Some(entry),
        }
        let mut wanted = path.to_owned();
        for _ in 0..MAX_LINKS {
            let Some((end, target)) = self.first_link(&wanted) else {
                return self.entries.get(&wanted);
            };
            let target = join(parent(&wanted[..end]), target)?;
            wanted = format!("{target}{}", &wanted[end..]);
        }
        None
    }

    /// The first part of a path that is a link: where it ends, and its target.
    fn first_link(&self, path: &str) -> Option<(usize, &str)> {
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        ends.into_iter().find_map(|end| Some((end, self.link(&path[..end])?)))
    }
}

/// The directory of a path; the empty path for a name at the top.
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// A relative target seen from a directory. `None` when it is absolute or leads out at the top.
pub fn join(directory: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{Entry, Tree, join};

    #[test]
    fn links_are_followed_inside_and_not_outside() {
        let mut tree = Tree::default();
        tree.insert("sys/devices/a/b/value", Entry::File(b"7".to_vec()));
        tree.insert("sys/bus/b", Entry::Link("../devices/a/b".to_owned()));
        tree.insert("sys/loop", Entry::Link("loop".to_owned()));
        tree.insert("sys/out", Entry::Link("../../etc".to_owned()));
        assert_eq!(tree.file("sys/bus/b/value"), Some(&b"7"[..]));
        assert_eq!(tree.file("sys/loop/value"), None);
        assert_eq!(tree.file("sys/out/passwd"), None);
        let names: Vec<&String> =
            tree.directory("sys/bus/b").expect("a directory").iter().collect();
        assert_eq!(names, ["value"]);
    }

    #[test]
    fn a_target_that_leads_out_is_none() {
        assert_eq!(join("a/b", "../c/./d").as_deref(), Some("a/c/d"));
        assert_eq!(join("a", "../../c"), None);
        assert_eq!(join("a", "/c"), None);
    }
}
