//! `cargo xtask tidy`: the rules of the repository that no compiler knows, each a function from the
//! files to what breaks it, then the formatting and the lints.
//!
//! A rule is worth its place here when breaking it has cost somebody a wrong placement or a lost
//! afternoon. Each has a unit test on a small bad example beside it.

mod crates;
mod docs;
mod files;
mod fixtures;
mod rust;
mod tokens;
mod tree;
mod words;

use crate::process::{cargo, succeeds};
use anyhow::Result;
use crates::Crate;
use std::fmt;
use std::path::Path;
use tree::Tree;

#[derive(clap::Args, Default)]
pub struct Args {
    /// Only the repository's own rules: no formatting, no clippy.
    #[arg(long)]
    rules_only: bool,
}

/// One place where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    pub file: String,
    /// Counted from 1; 0 means the file as a whole.
    pub line: usize,
    pub rule: &'static str,
    pub why: String,
}

impl Violation {
    fn new(file: &str, line: usize, rule: &'static str, why: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, rule, why: why.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, rule, why } = self;
        match line {
            0 => write!(f, "{file}: {why} [{rule}]"),
            _ => write!(f, "{file}:{line}: {why} [{rule}]"),
        }
    }
}

type FileRule = fn(&Tree) -> Vec<Violation>;
type CrateRule = fn(&[Crate]) -> Vec<Violation>;

const FILE_RULES: &[FileRule] = &[
    files::named_for_what_they_hold,
    files::begin_with_prose,
    files::not_too_long,
    rust::core_is_pure,
    rust::no_allow_attribute,
    rust::nothing_unfinished,
    rust::no_invented_machine_facts,
    crates::lints_come_from_the_workspace,
    docs::links_resolve,
    docs::pages_are_reachable,
    docs::changelog_has_unreleased,
    fixtures::are_described,
    words::no_developers_paths,
    words::no_registry_hosts,
];

const CRATE_RULES: &[CrateRule] = &[crates::directions_hold, crates::core_does_not_serialise];

pub fn run(root: &Path, args: &Args) -> Result<bool> {
    let tree = Tree::of_checkout(root)?;
    let crates = crates::read(root)?;
    let mut violations: Vec<Violation> = FILE_RULES.iter().flat_map(|rule| rule(&tree)).collect();
    violations.extend(CRATE_RULES.iter().flat_map(|rule| rule(&crates)));
    violations.sort();

    for warning in files::long(&tree) {
        eprintln!("warning: {warning}");
    }
    for violation in &violations {
        eprintln!("error: {violation}");
    }
    let rules = FILE_RULES.len() + CRATE_RULES.len();
    println!("tidy: {rules} rules over {} files: {} broken", tree.len(), violations.len());

    let mut tidy = violations.is_empty();
    if !args.rules_only {
        tidy &= succeeds(cargo(root).args(["fmt", "--all", "--check"]))?;
        let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        tidy &= succeeds(cargo(root).args(clippy))?;
    }
    println!("tidy: {}", if tidy { "clean" } else { "not clean (see above)" });
    Ok(tidy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_reads_like_a_compilers() {
        let in_line = Violation::new("core/model/src/a.rs", 3, "core-is-pure", "std::fs is I/O");
        assert_eq!(in_line.to_string(), "core/model/src/a.rs:3: std::fs is I/O [core-is-pure]");
        let of_file = Violation::new("docs/a.md", 0, "pages-are-reachable", "no page links to it");
        assert_eq!(of_file.to_string(), "docs/a.md: no page links to it [pages-are-reachable]");
    }
}
