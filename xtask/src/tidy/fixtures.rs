//! A fixture is a machine or a guest with something odd about it; its README says what.

use super::Violation;
use super::tree::Tree;
use std::collections::BTreeSet;

const KINDS: &[&str] = &["fixtures/hosts", "fixtures/domains"];

/// Every entry is named in the README beside it.
pub fn are_described(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for kind in KINDS {
        let readme = format!("{kind}/README.md");
        let said = tree.text(&readme).map(names_in).unwrap_or_default();
        let inside = format!("{kind}/");
        let entries: BTreeSet<&str> = tree
            .paths()
            .filter_map(|path| path.strip_prefix(&inside)?.split('/').next())
            .filter(|entry| *entry != "README.md")
            .collect();
        for entry in entries {
            let stem = entry.split('.').next().unwrap_or(entry);
            if !said.contains(entry) && !said.contains(stem) {
                let why = format!("say in {readme} what is odd about '{entry}'");
                found.push(Violation::new(&format!("{inside}{entry}"), 0, "are-described", why));
            }
        }
    }
    found
}

/// The words of a text, where `.`, `-`, `_` and `+` belong to a word but do not end one.
fn names_in(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_alphanumeric() && !".-_+".contains(c))
        .map(|word| word.trim_end_matches(['.', '-']))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_without_a_word_about_it_is_found() {
        let tree = Tree::of(&[
            ("fixtures/hosts/README.md", "- `genoa-nps4-2s`: four nodes.\n- See rome-2s-l3numa.\n"),
            ("fixtures/hosts/genoa-nps4-2s/sys/online", "0-1"),
            ("fixtures/hosts/rome-2s-l3numa.tar.xz", ""),
            ("fixtures/hosts/genoa-nps4/sys/online", "0-1"),
            ("fixtures/domains/plain.xml", "<domain/>"),
        ]);
        let files: Vec<String> = are_described(&tree).into_iter().map(|v| v.file).collect();
        assert_eq!(files, ["fixtures/hosts/genoa-nps4", "fixtures/domains/plain.xml"]);
    }
}
