//! What a reader was asked for, kept so that it can be written into a capture.

use super::tree::{Entry, Tree};
use std::collections::BTreeSet;

#[derive(Clone, Debug, Default)]
pub struct Record {
    tree: Tree,
}

impl Record {
    pub fn file(&mut self, path: &str, bytes: &[u8]) {
        self.tree.replace(path, Entry::File(bytes.to_vec()));
    }

    pub fn directory(&mut self, path: &str) {
        self.tree.insert(path, Entry::Directory(BTreeSet::new()));
    }

    /// Takes the place of the name that a listing has left there.
    pub fn link(&mut self, path: &str, target: &str) {
        self.tree.replace(path, Entry::Link(target.to_owned()));
    }

    pub fn into_tree(self) -> Tree {
        self.tree
    }
}
