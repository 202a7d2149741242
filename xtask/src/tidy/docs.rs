//! Rules on the pages: nothing points into the void, nothing lies where nobody finds it.

use super::Violation;
use super::tree::Tree;
use pulldown_cmark::{Event, Parser, Tag};
use std::collections::BTreeSet;

/// A link to another file of the repository.
struct Link {
    line: usize,
    written: String,
    /// From the root; `None` when it leaves the repository.
    target: Option<String>,
}

fn links_of(page: &str, text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else {
            continue;
        };
        let path = dest_url.split(['#', '?']).next().unwrap_or(&dest_url);
        // `https:`, `mailto:`, or a place on the same page.
        if path.is_empty() || path.contains(':') {
            continue;
        }
        let line = text[..range.start].matches('\n').count() + 1;
        links.push(Link { line, written: dest_url.to_string(), target: resolve(page, path) });
    }
    links
}

/// From the directory of the page, or from the root when it begins with `/`.
fn resolve(page: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = match path.starts_with('/') {
        true => Vec::new(),
        false => page.split('/').collect(),
    };
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

pub fn links_resolve(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (page, text) in tree.pages() {
        for link in links_of(page, text) {
            let why = match &link.target {
                Some(target) if tree.has(target) => continue,
                Some(target) => format!("links to '{}', but there is no {target}", link.written),
                None => format!("links to '{}', which is outside the repository", link.written),
            };
            found.push(Violation::new(page, link.line, "links-resolve", why));
        }
    }
    found
}

/// Every page under docs/ is linked from some other page.
pub fn pages_are_reachable(tree: &Tree) -> Vec<Violation> {
    let mut linked = BTreeSet::new();
    for (page, text) in tree.pages() {
        linked.extend(
            links_of(page, text).into_iter().filter_map(|l| l.target).filter(|t| t != page),
        );
    }
    tree.pages()
        .filter(|(page, _)| page.starts_with("docs/") && !linked.contains(*page))
        .map(|(page, _)| {
            Violation::new(
                page,
                0,
                "pages-are-reachable",
                "neither README nor any page links to it",
            )
        })
        .collect()
}

/// A change to behaviour comes with its line for operators; this is where it goes.
pub fn changelog_has_unreleased(tree: &Tree) -> Vec<Violation> {
    const FILE: &str = "CHANGELOG.md";
    let is_there = tree.text(FILE).is_some_and(|text| {
        text.lines().any(|line| line.starts_with("## ") && line.contains("Unreleased"))
    });
    match is_there {
        true => Vec::new(),
        false => vec![Violation::new(FILE, 0, "changelog-has-unreleased", "no '## Unreleased'")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_into_the_void_are_found() {
        let page = "# A\n\n[good](b.md#part), [root](../README.md), [dir](../core)\n\
                    [web](https://example.org/x), [here](#a), `[code](no.md)`\n\n\
                    [gone](c.md) ![picture](img/no.svg)\n[out](../../elsewhere)\n";
        let tree = Tree::of(&[
            ("docs/a.md", page),
            ("docs/b.md", ""),
            ("README.md", ""),
            ("core/model/src/lib.rs", ""),
        ]);
        let found: Vec<(usize, String)> =
            links_resolve(&tree).into_iter().map(|v| (v.line, v.why)).collect();
        assert_eq!(
            found,
            [
                (6, "links to 'c.md', but there is no docs/c.md".to_owned()),
                (6, "links to 'img/no.svg', but there is no docs/img/no.svg".to_owned()),
                (7, "links to '../../elsewhere', which is outside the repository".to_owned()),
            ]
        );
    }

    #[test]
    fn a_link_from_the_root_is_followed_from_there() {
        assert_eq!(resolve("docs/deep/a.md", "/docs/./b.md").as_deref(), Some("docs/b.md"));
    }

    #[test]
    fn a_page_that_only_links_to_itself_is_lost() {
        let tree = Tree::of(&[
            ("README.md", "[a](docs/a.md)"),
            ("docs/a.md", "[b](b.md)"),
            ("docs/b.md", ""),
            ("docs/lost.md", "[me](lost.md)"),
        ]);
        let files: Vec<String> = pages_are_reachable(&tree).into_iter().map(|v| v.file).collect();
        assert_eq!(files, ["docs/lost.md"]);
    }

    #[test]
    fn a_changelog_needs_room_for_the_next_line() {
        let with =
            |text: &str| changelog_has_unreleased(&Tree::of(&[("CHANGELOG.md", text)])).len();
        assert_eq!(with("# Changes\n\n## Unreleased\n"), 0);
        assert_eq!(with("# Changes\n\n## [Unreleased]\n"), 0);
        assert_eq!(with("# Changes\n\nUnreleased\n"), 1);
        assert_eq!(changelog_has_unreleased(&Tree::of(&[])).len(), 1);
    }
}
