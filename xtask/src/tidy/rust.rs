//! Rules on what Rust code says.

use super::Violation;
use super::tokens::{self, Token, find};
use super::tree::Tree;

/// Parts of `std` through which the outside gets in.
const OUTSIDE: &[&str] = &["fs", "net", "process", "env", "time", "thread"];
const PRINTS: &[&str] = &["print", "println", "eprint", "eprintln"];

/// Files that are no Rust are reported by `files::named_for_what_they_hold`, once.
fn each_file<'a>(
    tree: &'a Tree,
    wanted: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = (&'a str, &'a str, Vec<Token>)> + 'a {
    tree.rust_files()
        .filter(move |(path, _)| wanted(path))
        .filter_map(|(path, text)| Some((path, text, tokens::of_file(path, text).ok()?)))
}

fn is_core_source(path: &str) -> bool {
    path.starts_with("core/") && path.contains("/src/")
}

/// core/ cannot name I/O, the clock, threads or the terminal. Clippy bans the usual calls; this
/// bans the modules, so that a new function of `std` needs no new entry.
pub fn core_is_pure(tree: &Tree) -> Vec<Violation> {
    const RULE: &str = "core-is-pure";
    let mut found = Vec::new();
    for (path, _, tokens) in each_file(tree, is_core_source) {
        for index in find(&tokens, &["std", ":", ":"]) {
            for (name, line) in named_after(&tokens, index + 3) {
                if OUTSIDE.contains(&name) {
                    let why = format!("std::{name} in core; an adapter passes the value in");
                    found.push(Violation::new(path, line, RULE, why));
                }
            }
        }
        for name in PRINTS {
            for index in find(&tokens, &[name, "!"]) {
                let why = format!("{name}! in core; only the command line prints");
                found.push(Violation::new(path, tokens[index].line, RULE, why));
            }
        }
    }
    found
}

/// What follows `std::`: one name, or the first names in braces.
fn named_after(tokens: &[Token], start: usize) -> Vec<(&str, usize)> {
    let at = |index: usize| tokens.get(index).map(|token| (token.text.as_str(), token.line));
    match at(start) {
        Some(("{", _)) => {}
        single => return single.into_iter().collect(),
    }
    let mut names = Vec::new();
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(start) {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => break,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 1 && matches!(token.text.as_str(), "{" | ",") {
            names.extend(at(index + 1));
        }
    }
    names
}

/// `#[expect]` says why, and speaks up when the reason is gone; `#[allow]` does neither.
pub fn no_allow_attribute(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, _, tokens) in each_file(tree, |_| true) {
        let outer = find(&tokens, &["#", "[", "allow", "("]);
        let inner = find(&tokens, &["#", "!", "[", "allow", "("]);
        for index in outer.chain(inner) {
            let why = "use #[expect(.., reason = \"..\")] instead of allow";
            found.push(Violation::new(path, tokens[index].line, "no-allow-attribute", why));
        }
    }
    found
}

pub fn nothing_unfinished(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, _, tokens) in each_file(tree, |_| true) {
        for name in ["todo", "unimplemented", "dbg"] {
            for index in find(&tokens, &[name, "!"]) {
                let why = format!("{name}! is for work in progress");
                found.push(Violation::new(path, tokens[index].line, "nothing-unfinished", why));
            }
        }
    }
    found
}

/// Absent, unreadable and nonsense are three results. A default number in an adapter makes a
/// wrong placement out of a missing file; where zero really is what absence means, say so. Loads place
/// nothing: what they count begins at nothing.
pub fn no_invented_machine_facts(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let reads_machines = |path: &str| {
        path.starts_with("adapters/")
            && !path.starts_with("adapters/load/")
            && path.contains("/src/")
    };
    for (path, text, tokens) in each_file(tree, reads_machines) {
        let lines: Vec<&str> = text.lines().collect();
        let defaults = find(&tokens, &[".", "unwrap_or_default", "("]);
        let zeros = find(&tokens, &[".", "unwrap_or", "("]).filter(|index| {
            let argument = tokens.get(index + 3).is_some_and(|token| is_zero(&token.text));
            argument && tokens.get(index + 4).is_some_and(|token| token.text == ")")
        });
        for index in defaults.chain(zeros) {
            let line = tokens[index + 1].line;
            if !says_what_absence_means(&lines, line) {
                let why = "a default for a fact of the machine; keep it absent, or write \
                           '// absent means ...' on the line above";
                found.push(Violation::new(path, line, "no-invented-machine-facts", why));
            }
        }
    }
    found
}

/// `0`, `0u64`, `0_i32`.
fn is_zero(literal: &str) -> bool {
    literal.strip_prefix('0').is_some_and(|rest| {
        let suffix = rest.trim_start_matches('_');
        suffix.is_empty() || suffix.starts_with(['u', 'i'])
    })
}

/// Looks through the comment that stands directly above the line.
fn says_what_absence_means(lines: &[&str], line: usize) -> bool {
    lines
        .iter()
        .take(line.saturating_sub(1))
        .rev()
        .map(|above| above.trim_start())
        .take_while(|above| above.starts_with("//"))
        .any(|above| above.contains("absent means") || above.contains("Absent means"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(found: &[Violation]) -> Vec<usize> {
        found.iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn core_may_not_reach_outside() {
        let bad = "//! Reads.\n\
                   use std::{collections::BTreeMap, fs, io::{self, process}};\n\
                   fn f() -> std::time::Duration {\n\
                   \x20   println!(\"std::net\"); // std::env\n\
                   \x20   std::thread::yield_now()\n\
                   }\n";
        let tree = Tree::of(&[("core/planner/src/a.rs", bad), ("engine/src/a.rs", bad)]);
        let mut found = core_is_pure(&tree);
        found.sort();
        assert_eq!(lines(&found), [2, 3, 4, 5]);
        assert!(found.iter().all(|v| v.file == "core/planner/src/a.rs"));
        assert_eq!(found[0].why, "std::fs in core; an adapter passes the value in");
    }

    #[test]
    fn allow_is_found_inside_and_outside_of_items() {
        let bad = "//! Lenient.\n#![allow(dead_code)]\n#[allow(unused)]\nfn f() {}\n\
                   #[expect(unused, reason = \"a test\")]\nfn allow(x: u8) {}\n";
        let mut found = no_allow_attribute(&Tree::of(&[("render/src/a.rs", bad)]));
        found.sort();
        assert_eq!(lines(&found), [2, 3]);
    }

    #[test]
    fn unfinished_work_is_found() {
        let bad = "//! Later.\nfn f() { todo!() }\nfn g() { unimplemented!(\"x\") }\n\
                   fn h() { dbg!(1); }\nfn todo() {}\n";
        let found = nothing_unfinished(&Tree::of(&[("engine/src/a.rs", bad)]));
        assert_eq!(lines(&found), [2, 3, 4]);
    }

    #[test]
    fn an_adapter_may_not_make_up_a_number() {
        let bad = "//! Reads.\n\
                   fn f(x: Option<u64>) -> u64 {\n\
                   \x20   let a = x.unwrap_or(0);\n\
                   \x20   let b = x.unwrap_or_default();\n\
                   \x20   let c = x.unwrap_or(0_u64);\n\
                   \x20   // Not every kernel has it: absent means that there is no such pool;\n\
                   \x20   // then nothing is in it.\n\
                   \x20   let d = x.unwrap_or(0);\n\
                   \x20   a + b + c + d + x.unwrap_or(07)\n\
                   }\n";
        let tree = Tree::of(&[("adapters/host/sysfs/src/a.rs", bad), ("render/src/a.rs", bad)]);
        let mut found = no_invented_machine_facts(&tree);
        found.sort();
        assert_eq!(lines(&found), [3, 4, 5]);
        assert!(found.iter().all(|v| v.file == "adapters/host/sysfs/src/a.rs"));
    }
}
