//! Rules on files as such: their names, their first line, their length.

use super::tree::Tree;
use super::{Violation, tokens};

const WARN_ABOVE_LINES: usize = 400;
const FAIL_ABOVE_LINES: usize = 600;

/// Names that say nothing of what is inside; such a file grows by everything that has no home.
const NO_NAMES: &[&str] = &["util", "utils", "misc", "common", "helper", "helpers"];

/// No file, directory or module is named for holding "things".
pub fn named_for_what_they_hold(tree: &Tree) -> Vec<Violation> {
    const RULE: &str = "named-for-what-they-hold";
    let why = |name: &str| format!("'{name}' names nothing; name it for what it holds");
    let mut found = Vec::new();
    for path in tree.paths() {
        let mut parts = path.split('/').map(|part| part.split('.').next().unwrap_or(part));
        if let Some(name) = parts.find(|part| NO_NAMES.contains(part)) {
            found.push(Violation::new(path, 0, RULE, why(name)));
        }
    }
    for (path, text) in tree.rust_files() {
        let tokens = match tokens::of_file(path, text) {
            Ok(tokens) => tokens,
            Err(violation) => {
                found.push(violation);
                continue;
            }
        };
        for name in NO_NAMES {
            for index in tokens::find(&tokens, &["mod", name, "{"]) {
                found.push(Violation::new(path, tokens[index].line, RULE, why(name)));
            }
        }
    }
    found
}

/// Whoever opens a file for the first time is told what it is and why it is there.
pub fn begin_with_prose(tree: &Tree) -> Vec<Violation> {
    let begins = |text: &str| text.lines().next().is_some_and(|first| first.starts_with("//! "));
    tree.rust_files()
        .filter(|(_, text)| !begins(text))
        .map(|(path, _)| {
            let why = "the first line is not a '//!' comment that says what the file is";
            Violation::new(path, 1, "begin-with-prose", why)
        })
        .collect()
}

pub fn not_too_long(tree: &Tree) -> Vec<Violation> {
    longer_than(tree, FAIL_ABOVE_LINES)
}

/// Not yet a failure: worth a look for a named idea that could move out.
pub fn long(tree: &Tree) -> Vec<Violation> {
    longer_than(tree, WARN_ABOVE_LINES)
}

fn longer_than(tree: &Tree, most: usize) -> Vec<Violation> {
    tree.rust_files()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > most)
        .map(|(path, lines)| {
            let why = format!("{lines} lines, more than {most}; split it on a named idea");
            Violation::new(path, 0, "not-too-long", why)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nameless_files_directories_and_modules_are_found() {
        let tree = Tree::of(&[
            ("engine/src/util.rs", "//! Odds and ends.\n"),
            ("render/tests/common/mod.rs", "//! Shared.\n"),
            ("core/model/src/ids.rs", "//! Ids.\nmod helpers {\n}\n"),
            ("core/model/src/common_cause.rs", "//! Fine: the name says something.\n"),
        ]);
        let found: Vec<(String, usize)> =
            named_for_what_they_hold(&tree).into_iter().map(|v| (v.file, v.line)).collect();
        assert_eq!(
            found,
            [
                ("engine/src/util.rs".to_owned(), 0),
                ("render/tests/common/mod.rs".to_owned(), 0),
                ("core/model/src/ids.rs".to_owned(), 2),
            ]
        );
    }

    #[test]
    fn a_file_without_prose_is_found() {
        let tree = Tree::of(&[
            ("a.rs", "//! What it is.\n"),
            ("b.rs", "use std::fmt;\n"),
            ("c.rs", "//!\n"),
            ("d.rs", ""),
        ]);
        let files: Vec<String> = begin_with_prose(&tree).into_iter().map(|v| v.file).collect();
        assert_eq!(files, ["b.rs", "c.rs", "d.rs"]);
    }

    #[test]
    fn length_warns_before_it_fails() {
        let of_lines = |lines: usize| "//! x\n".repeat(lines);
        let (fits, warns, fails) = (of_lines(400), of_lines(600), of_lines(601));
        let tree = Tree::of(&[("a.rs", &fits), ("b.rs", &warns), ("c.rs", &fails)]);
        let files = |found: Vec<Violation>| found.into_iter().map(|v| v.file).collect::<Vec<_>>();
        assert_eq!(files(long(&tree)), ["b.rs", "c.rs"]);
        assert_eq!(files(not_too_long(&tree)), ["c.rs"]);
    }
}
