//! The files of the checkout: what git tracks and what it would track, so that a rule speaks up
//! before the commit and not after it.

use crate::process::output_of;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Paths from the root of the repository, with `/`, and their text.
pub struct Tree {
    files: BTreeMap<String, Content>,
}

enum Content {
    Text(String),
    Binary,
}

impl Tree {
    pub fn of_checkout(root: &Path) -> Result<Self> {
        // The checkout may belong to another user than the one that runs the tests (a CI volume).
        let mut git = Command::new("git");
        git.current_dir(root).args(["-c", "safe.directory=*", "ls-files", "-z"]);
        git.args(["--cached", "--others", "--exclude-standard"]);
        let listed = output_of(&mut git).context("tidy asks git which files there are")?;
        let mut files = BTreeMap::new();
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            // Tracked and deleted, or a link: no text to judge.
            if !root.join(path).is_file() {
                continue;
            }
            let bytes =
                std::fs::read(root.join(path)).with_context(|| format!("cannot read {path}"))?;
            let content = match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => Content::Text(text),
                _ => Content::Binary,
            };
            files.insert(path.to_owned(), content);
        }
        Ok(Self { files })
    }

    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let text = |text: &str| Content::Text(text.to_owned());
        Self { files: files.iter().map(|(path, t)| ((*path).to_owned(), text(t))).collect() }
    }

    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Every path, binary files included.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, content)| match content {
            Content::Text(text) => Some((path.as_str(), text.as_str())),
            Content::Binary => None,
        })
    }

    pub fn text(&self, wanted: &str) -> Option<&str> {
        match self.files.get(wanted)? {
            Content::Text(text) => Some(text),
            Content::Binary => None,
        }
    }

    pub fn rust_files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".rs"))
    }

    pub fn pages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".md"))
    }

    /// A file, or a directory that holds one.
    pub fn has(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self
                .files
                .range(inside.clone()..)
                .next()
                .is_some_and(|(p, _)| p.starts_with(&inside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_there_when_a_file_is_in_it() {
        let tree = Tree::of(&[("docs/a.md", ""), ("docs-old/b.md", "")]);
        assert!(tree.has("docs"));
        assert!(tree.has("docs/a.md"));
        assert!(tree.has(""));
        assert!(!tree.has("doc"));
        assert!(!tree.has("docs/b.md"));
    }

    #[test]
    fn this_checkout_can_be_listed() {
        let root = crate::process::repository().expect("tests run in the repository");
        let tree = Tree::of_checkout(&root).expect("git lists it");
        assert!(
            tree.text("xtask/src/tidy/tree.rs").is_some_and(|text| text.contains("of_checkout"))
        );
        assert!(!tree.paths().any(|path| path.starts_with("target/")));
    }
}
