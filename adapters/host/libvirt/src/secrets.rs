//! Replaces secrets by `***`, for diffs and logs. Everything else stays byte for byte.
//!
//! Masked are the attributes and elements in which libvirt keeps secrets, and values behind a word
//! like `password=` in what is handed on to others unread: QEMU's arguments and environment, the
//! kernel's command line, firmware and OEM strings. Names, UUIDs and user names that only *refer*
//! to a secret stay, since a reader needs them. MAC addresses and serial numbers are no secrets.

use crate::layout;
use crate::sheet::Sheet;
use roxmltree::Node;
use std::ops::Range;

const MASK: &str = "***";
/// What stands for a text that cannot be parsed: one cannot tell its secrets from the rest.
const UNREADABLE: &str = "*** (not a readable domain XML, so nothing of it is shown)\n";

const SECRET_ATTRIBUTES: [&str; 3] = ["passwd", "password", "passphrase"];
/// Elements whose text is a secret: `dhCert` and `session` are those of SEV.
const SECRET_ELEMENTS: [&str; 7] =
    ["secret", "passwd", "password", "passphrase", "cookie", "dhCert", "session"];
/// Words before a `=` or `:` that announce one.
const SECRET_WORDS: [&str; 8] =
    ["password", "passwd", "passphrase", "secret", "token", "credential", "private", "key"];

pub(crate) fn mask(xml: &str) -> String {
    let Ok(sheet) = Sheet::parse(xml) else { return UNREADABLE.to_owned() };
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for node in sheet.nodes().filter(Node::is_element) {
        ranges.extend(secret_attributes(&sheet, node));
        if let Some(content) = secret_content(&sheet, node) {
            ranges.push(content);
        } else if has_loose_text(node)
            && let Some(content) = layout::content(xml, node)
            && !node.children().any(|child| child.is_element())
        {
            ranges.extend(secrets_in(xml, content));
        }
    }
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut masked = String::with_capacity(xml.len());
    let mut at = 0;
    for range in ranges {
        // A value inside of one that is masked already.
        if range.start < at {
            continue;
        }
        masked.push_str(&xml[at..range.start]);
        masked.push_str(MASK);
        at = range.end;
    }
    masked.push_str(&xml[at..]);
    masked
}

fn secret_attributes(sheet: &Sheet, node: Node) -> Vec<Range<usize>> {
    let value_range = |range: Range<usize>| {
        let written = &sheet.xml[range.clone()];
        let open = written.find(['\'', '"']).unwrap_or(written.len() - 1);
        range.start + open + 1..(range.end - 1).max(range.start + open + 1)
    };
    let mut ranges = Vec::new();
    for attribute in node.attributes() {
        let range = value_range(attribute.range());
        let name = attribute.name().to_ascii_lowercase();
        if SECRET_ATTRIBUTES.contains(&name.as_str()) {
            ranges.push(range);
        } else if node.tag_name().name() == "arg" && name == "value" {
            ranges.extend(secrets_in_argument(sheet.xml, range, attribute.value()));
        } else if node.tag_name().name() == "env" && name == "value" {
            let variable = node.attribute("name").map(str::to_ascii_lowercase);
            if variable.is_some_and(|name| announces(&name)) {
                ranges.push(range);
            }
        }
    }
    ranges
}

/// The whole content of an element that holds a secret.
fn secret_content(sheet: &Sheet, node: Node) -> Option<Range<usize>> {
    let name = node.tag_name().name();
    let is_secret = SECRET_ELEMENTS.iter().any(|secret| secret.eq_ignore_ascii_case(name))
        || (name == "entry"
            && node.attribute("name").is_some_and(|n| announces(&n.to_ascii_lowercase())));
    let content = layout::content(sheet.xml, node)?;
    let says_something = !sheet.xml[content.clone()].trim().is_empty();
    let has_elements = node.children().any(|child| child.is_element());
    (is_secret && says_something && !has_elements).then_some(content)
}

/// Text that libvirt hands on without reading it.
fn has_loose_text(node: Node) -> bool {
    matches!(node.tag_name().name(), "cmdline" | "entry" | "initarg" | "bootloader_args")
}

/// `-object secret,id=s,data=...` keeps its secret behind `data`; in JSON it may be anywhere, so
/// the whole argument goes.
fn secrets_in_argument(xml: &str, range: Range<usize>, value: &str) -> Vec<Range<usize>> {
    let lower = value.to_ascii_lowercase();
    let is_json = lower.trim_start().starts_with('{');
    if is_json && SECRET_WORDS.iter().any(|word| *word != "key" && lower.contains(word)) {
        return vec![range];
    }
    if lower.starts_with("secret,") || lower.starts_with("qom-type=secret") {
        return words(xml, range)
            .into_iter()
            .filter(|(name, _)| name == "data" || announces(name))
            .map(|(_, value)| value)
            .collect();
    }
    secrets_in(xml, range)
}

fn secrets_in(xml: &str, range: Range<usize>) -> Vec<Range<usize>> {
    words(xml, range)
        .into_iter()
        .filter(|(name, _)| announces(name))
        .map(|(_, value)| value)
        .collect()
}

/// Whether a name announces a secret, as `password` and `guest.db_token` do. `password-secret` is
/// the id of a secret object, and `keymap` is no key.
fn announces(name: &str) -> bool {
    if name.ends_with("-secret") || name.ends_with("secretid") {
        return false;
    }
    let parts: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let is_word = |word: &&str| parts.iter().any(|part| part == word || part.ends_with("password"));
    SECRET_WORDS.iter().any(is_word)
}

/// `name=value` and `name:value` pairs between commas and blanks, with the place of the value.
fn words(xml: &str, range: Range<usize>) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let rest = &xml[at..range.end];
        let end = at + rest.find(is_separator).unwrap_or(rest.len());
        let word = &xml[at..end];
        at = end + 1;
        let Some(place) = word.find('=').or_else(|| word.find(':')) else { continue };
        let start = end - word.len() + place + 1;
        let value_end = value_end(xml, start, end, range.end);
        found.push((word[..place].to_ascii_lowercase(), start..value_end));
        at = at.max(value_end);
    }
    found
}

fn is_separator(c: char) -> bool {
    matches!(c, ',' | ' ' | '\t' | '\n' | '\r')
}

/// A quoted value goes on to its closing quote, and QEMU writes a comma in a value as two.
fn value_end(xml: &str, start: usize, end: usize, limit: usize) -> usize {
    for quote in ["&quot;", "&apos;", "\"", "'"] {
        if let Some(inner) = xml[start..limit].strip_prefix(quote) {
            let length = inner.find(quote).map_or(inner.len(), |close| close + quote.len());
            return start + quote.len() + length;
        }
    }
    let mut end = end;
    while let Some(more) = xml[end..limit].strip_prefix(",,") {
        end += 2 + more.find(is_separator).unwrap_or(more.len());
    }
    end
}
