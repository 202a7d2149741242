//! How a text is laid out: where tags end, what stands before an element, how deep lines are
//! indented. New elements follow what is there, in tabs, CRLF or all on one line.

use crate::sheet::Sheet;
use roxmltree::Node;
use std::ops::Range;

/// What new text looks like.
pub(crate) struct Style {
    /// One step of indentation.
    pub(crate) unit: String,
    pub(crate) quote: char,
}

impl Style {
    /// The lead one level further in; a text on one line stays on one line.
    pub(crate) fn deeper(&self, lead: &str) -> String {
        if lead.contains('\n') { format!("{lead}{}", self.unit) } else { lead.to_owned() }
    }
}

/// XML's white space; Rust's own notion of it is wider.
pub(crate) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// The place behind the `>` of a start tag. A `>` inside of quotes ends nothing.
pub(crate) fn start_tag_end(xml: &str, node: Node) -> usize {
    let range = node.range();
    let mut quote = None;
    for (offset, byte) in xml[range.clone()].bytes().enumerate() {
        match (quote, byte) {
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            (None, b'>') => return range.start + offset + 1,
            _ => {}
        }
    }
    range.end
}

/// Where another attribute goes: behind the last one, or behind the name.
pub(crate) fn attributes_end(xml: &str, node: Node) -> usize {
    let tag = &xml[node.range().start..start_tag_end(xml, node) - 1];
    let tag = tag.strip_suffix('/').unwrap_or(tag);
    node.range().start + tag.trim_end_matches(is_blank).len()
}

/// What stands between the tags; `None` for `<a/>`.
pub(crate) fn content(xml: &str, node: Node) -> Option<Range<usize>> {
    let open = start_tag_end(xml, node);
    let range = node.range();
    let end = xml[range.clone()].rfind("</")? + range.start;
    (open <= end).then_some(open..end)
}

/// `<a b='c'>` of `<a b='c'/>`.
pub(crate) fn opened(xml: &str, node: Node) -> String {
    let open = start_tag_end(xml, node);
    let tag = &xml[node.range().start..open];
    tag.strip_suffix("/>").map_or_else(|| tag.to_owned(), |tag| format!("{tag}>"))
}

/// `</a>` with the prefix that the start tag has.
pub(crate) fn end_tag(xml: &str, node: Node) -> String {
    let tag = &xml[node.range().start + 1..];
    let end = tag.find(|c| is_blank(c) || matches!(c, '/' | '>')).unwrap_or(tag.len());
    format!("</{}>", &tag[..end])
}

/// The line break and blanks right before a node; blanks alone when no line begins there.
pub(crate) fn lead(xml: &str, node: Node) -> String {
    xml[lead_range(xml, node.range().start)].to_owned()
}

fn lead_range(xml: &str, at: usize) -> Range<usize> {
    let blanks = xml[..at].trim_end_matches([' ', '\t']);
    let start = match blanks.strip_suffix('\n') {
        Some(before) => before.strip_suffix('\r').unwrap_or(before).len(),
        None => blanks.len(),
    };
    start..at
}

/// The lead of a node where it begins a line, or nothing.
pub(crate) fn line_lead(xml: &str, node: Node) -> String {
    let lead = lead(xml, node);
    if lead.contains('\n') { lead } else { String::new() }
}

/// A node with the blanks that go when it goes: those before it, or those after it when a comment
/// stands on the same line, which then takes its place.
pub(crate) fn with_blanks(xml: &str, node: Node) -> Range<usize> {
    let range = node.range();
    let rest = &xml[range.end..];
    let after = rest.trim_start_matches([' ', '\t']);
    if after.starts_with("<!--") {
        return range.start..range.end + (rest.len() - after.len());
    }
    lead_range(xml, range.start).start..range.end
}

/// Where something goes that is to follow a node: behind the comments on the node's own line.
pub(crate) fn anchor(xml: &str, node: Node) -> usize {
    let mut at = node.range().end;
    let mut next = node.next_sibling();
    while let Some(sibling) = next {
        let is_gap = sibling.is_text() && xml[sibling.range()].trim_matches([' ', '\t']).is_empty();
        if sibling.is_comment() {
            at = sibling.range().end;
        } else if !is_gap {
            break;
        }
        next = sibling.next_sibling();
    }
    at
}

/// What stands before the children of an element, as the first of them shows it.
pub(crate) fn child_lead(sheet: &Sheet, parent: Node) -> String {
    let xml = sheet.xml;
    let on_own_line = |node: &Node| node.is_element() && lead(xml, *node).contains('\n');
    if let Some(child) = parent.children().find(on_own_line) {
        return lead(xml, child);
    }
    if let Some(child) = parent.first_element_child() {
        return lead(xml, child);
    }
    let own = line_lead(xml, parent);
    if own.is_empty() && parent.parent_element().is_some() {
        return String::new();
    }
    if own.is_empty() && !xml.contains('\n') {
        return String::new();
    }
    let line_break = if xml.contains("\r\n") { "\r\n" } else { "\n" };
    let own = if own.is_empty() { line_break.to_owned() } else { own };
    format!("{own}{}", unit(sheet))
}

/// One step of indentation: what stands before the first child of the domain that begins a line.
pub(crate) fn unit(sheet: &Sheet) -> String {
    let of = |node: Node| lead(sheet.xml, node).trim_start_matches(['\r', '\n']).to_owned();
    let root = sheet.domain();
    let child = root.children().find(|c| c.is_element() && lead(sheet.xml, *c).contains('\n'));
    match child {
        None => "  ".to_owned(),
        Some(child) => {
            let (outer, inner) = (of(root), of(child));
            inner.strip_prefix(outer.as_str()).map_or(inner.clone(), str::to_owned)
        }
    }
}

/// The quote in use: the element's own, or the domain's, or libvirt's `'`.
pub(crate) fn quote(sheet: &Sheet, node: Node) -> char {
    let first = |node: Node| {
        let range = node.attributes().next()?.range();
        sheet.xml[range].chars().next_back()
    };
    first(node).or_else(|| first(sheet.domain())).unwrap_or('\'')
}

/// Whether nothing but those nodes and blanks is in an element.
pub(crate) fn only_holds(parent: Node, nodes: &[Node]) -> bool {
    parent.children().all(|child| {
        let is_space = child.is_text() && child.text().is_some_and(|t| t.trim().is_empty());
        is_space || nodes.contains(&child)
    })
}
