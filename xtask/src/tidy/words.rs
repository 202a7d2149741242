//! Words that belong to somebody's machine and not into the repository.

use super::Violation;
use super::tree::Tree;

/// The first directory of paths that exist on one machine only. Written in two halves here and
/// below, or this file would break its own rules.
const PLACES: &[&str] = &[concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/")];

/// Which registry or mirror is asked is the machine's own setting.
const REGISTRY_HOSTS: &[&str] = &[
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("crates.io", "-index"),
    concat!("pypi.", "org"),
    concat!("files.", "pythonhosted.org"),
    concat!("registry.", "npmjs.org"),
    concat!("proxy.", "golang.org"),
    concat!("deb.", "debian.org"),
    concat!("security.", "debian.org"),
    concat!("archive.", "ubuntu.com"),
];

/// Fixtures are files of other machines: what stands in them is data.
fn is_ours(path: &str) -> bool {
    path != "Cargo.lock" && (!path.starts_with("fixtures/") || path.ends_with(".md"))
}

pub fn no_developers_paths(tree: &Tree) -> Vec<Violation> {
    search(tree, PLACES, |line, at| {
        // `adapters/home/` or `${root}/home/` is no absolute path.
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-/}{)$".contains(c))
    })
    .map(|(path, line, word)| {
        let why = format!("'{word}' is a place on one machine; use a path from the repository");
        Violation::new(path, line, "no-developers-paths", why)
    })
    .collect()
}

pub fn no_registry_hosts(tree: &Tree) -> Vec<Violation> {
    search(tree, REGISTRY_HOSTS, |_, _| true)
        .map(|(path, line, word)| {
            let why = format!("'{word}' is named; the machine's settings say which host to ask");
            Violation::new(path, line, "no-registry-hosts", why)
        })
        .collect()
}

/// Each line of ours that has one of the words at a place that counts.
fn search<'a>(
    tree: &'a Tree,
    words: &'static [&'static str],
    counts: impl Fn(&str, usize) -> bool + Copy + 'a,
) -> impl Iterator<Item = (&'a str, usize, &'static str)> + 'a {
    tree.texts().filter(|(path, _)| is_ours(path)).flat_map(move |(path, text)| {
        text.lines().enumerate().flat_map(move |(index, line)| {
            words
                .iter()
                .filter(move |word| line.match_indices(**word).any(|(at, _)| counts(line, at)))
                .map(move |word| (path, index + 1, *word))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_developers_paths_are_found() {
        let bad = format!("fine\nsee {}me/notes\n[x](a{}b)\n", PLACES[1], PLACES[0]);
        let tree = Tree::of(&[
            ("docs/a.md", &bad),
            ("fixtures/domains/a.xml", &bad),
            ("fixtures/domains/README.md", &bad),
        ]);
        let found: Vec<(String, usize)> =
            no_developers_paths(&tree).into_iter().map(|v| (v.file, v.line)).collect();
        assert_eq!(
            found,
            [("docs/a.md".to_owned(), 2), ("fixtures/domains/README.md".to_owned(), 2)]
        );
    }

    #[test]
    fn registry_hosts_are_found_outside_the_lock_file() {
        let bad = format!("deb http://{}/debian\n", REGISTRY_HOSTS[7]);
        let tree = Tree::of(&[(".ci/run", &bad), ("Cargo.lock", &bad)]);
        let files: Vec<String> = no_registry_hosts(&tree).into_iter().map(|v| v.file).collect();
        assert_eq!(files, [".ci/run"]);
    }
}
