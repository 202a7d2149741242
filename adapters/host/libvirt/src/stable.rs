//! A domain XML reduced to what it means: the text a digest is made of, and by which two elements
//! are compared.
//!
//! libvirt rewrites what it is given: it reorders and re-indents, drops comments, writes sizes in
//! KiB and sets as normalised lists, spells defaults out, and adds aliases, guest-side addresses
//! and dynamic labels. None of that may change a digest. Whatever else changes does, also where
//! numawise does not know the element.

use crate::cpuset;
use crate::note;
use crate::sheet::{Sheet, attr_value, children, named, place, text, whole_number};
use crate::size;
use numawise_model::Pcpu;
use roxmltree::Node;
use std::fmt::Write;

/// Elements that mean nothing when they hold nothing.
const EMPTY_MEANS_ABSENT: [&str; 4] = ["metadata", "cputune", "numatune", "memoryBacking"];

/// The whole definition.
pub(crate) fn definition(sheet: &Sheet) -> String {
    element(sheet.domain())
}

/// One element with all that is in it. Children of different names have no order among each other
/// (libvirt groups them its own way); children of one name keep theirs.
pub(crate) fn element(node: Node) -> String {
    let mut out = String::new();
    let name = match node.tag_name().namespace() {
        Some(namespace) => format!("{{{namespace}}}{}", node.tag_name().name()),
        None => node.tag_name().name().to_owned(),
    };
    out.push('<');
    out.push_str(&name);
    for (name, value) in attributes(node) {
        // Writing into a string cannot fail.
        let _ = write!(out, " {name}={value:?}");
    }
    out.push('>');
    out.push_str(&own_text(node));
    let mut inner: Vec<(&str, String)> = node
        .children()
        .filter(|child| child.is_element() && !is_generated(*child))
        .map(|child| (child.tag_name().name(), element(child)))
        .collect();
    inner.sort_by_key(|(name, _)| *name);
    for (_, text) in inner {
        out.push_str(&text);
    }
    let _ = write!(out, "</{name}>");
    out
}

/// What libvirt makes by itself, or what says no more than its absence.
fn is_generated(node: Node) -> bool {
    if note::is_note(node) {
        return true;
    }
    let empty = !node.children().any(|c| c.is_element() && !is_generated(c))
        && node.attributes().next().is_none()
        && text(node).trim().is_empty();
    match place(node).as_str() {
        "seclabel" => attr_value(node, "type") == Some("dynamic"),
        "currentMemory" => says_the_same_as_memory(node),
        path if path.starts_with("devices/") => {
            let levels = path.split('/').count();
            levels == 3 && (named(node, "alias") || named(node, "address"))
        }
        path => empty && EMPTY_MEANS_ABSENT.contains(&path),
    }
}

pub(crate) fn says_the_same_as_memory(current: Node) -> bool {
    let memory = current.parent_element().and_then(|domain| children(domain, "memory").next());
    match (size_of(current, None), memory.and_then(|memory| size_of(memory, None))) {
        (Some(0), _) => true,
        (Some(current), Some(memory)) => current >= memory,
        _ => false,
    }
}

/// The size in an attribute or, without one, in the element's text.
fn size_of(node: Node, attribute: Option<&str>) -> Option<u64> {
    let written = match attribute {
        Some(name) => attr_value(node, name)?.to_owned(),
        None => text(node),
    };
    size::in_bytes(whole_number(&written)?, size::unit_bytes(attr_value(node, "unit"))?)
}

/// Sizes in bytes, sets as lists, everything else as text without the blanks around it.
fn own_text(node: Node) -> String {
    if matches!(place(node).as_str(), "memory" | "currentMemory" | "maxMemory")
        && let Some(bytes) = size_of(node, None)
    {
        return format!("{bytes}b");
    }
    let text = text(node);
    let trimmed = text.trim();
    // Escaped, so that no text can look like an element.
    crate::markup::escape(trimmed, None)
}

fn attributes(node: Node) -> Vec<(String, String)> {
    let place = place(node);
    let mut attributes: Vec<(String, String)> = Vec::new();
    for attribute in node.attributes() {
        let name = attribute.name();
        if attribute.namespace().is_none() && is_default(node, &place, name, attribute.value()) {
            continue;
        }
        let value = canonical_value(node, &place, name).unwrap_or(attribute.value().to_owned());
        let name = match attribute.namespace() {
            Some(namespace) => format!("{{{namespace}}}{name}"),
            None => name.to_owned(),
        };
        attributes.push((name, value));
    }
    attributes.sort();
    attributes
}

/// Attributes that say what their absence says, or that only live XML has.
pub(crate) fn is_default(node: Node, place: &str, name: &str, value: &str) -> bool {
    match (place, name) {
        ("domain", "id") => node.parent_element().is_none(),
        ("vcpu", "placement") => value == "static",
        ("vcpu", "current") => whole_number(value) == whole_number(&text(node)),
        ("cpu/topology", "dies" | "clusters") => whole_number(value) == Some(1),
        ("memory" | "currentMemory" | "maxMemory", "unit") => size_of(node, None).is_some(),
        ("cpu/numa/cell", "unit") => size_of(node, Some("memory")).is_some(),
        ("memoryBacking/hugepages/page", "unit") => size_of(node, Some("size")).is_some(),
        ("numatune/memory", "placement") => value == "static",
        _ => false,
    }
}

fn canonical_value(node: Node, place: &str, name: &str) -> Option<String> {
    let set = || Some(cpuset::parse::<Pcpu>(attr_value(node, name)?)?.to_string());
    let bytes = || Some(format!("{}b", size_of(node, Some(name))?));
    match (place, name) {
        ("cpu/numa/cell", "memory") | ("memoryBacking/hugepages/page", "size") => bytes(),
        ("cpu/numa/cell", "cpus") | (_, "nodeset" | "cpuset") => set(),
        _ => None,
    }
}
