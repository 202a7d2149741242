//! Changes to a text that is otherwise left alone.
//!
//! A [`Patch`] collects splices (a byte range and what stands there instead) against one parsed
//! text. Whatever no splice covers comes back byte for byte. New elements are indented and broken
//! like the ones around them (see [`crate::layout`]), and what was put in takes out again without a
//! trace: an element goes together with the line break and blanks before it, which is exactly what
//! was put in with it.

use crate::layout;
use crate::markup::Markup;
use crate::sheet::{Sheet, attr};
use roxmltree::Node;
use std::ops::Range;

/// Where a child stands among its siblings: libvirt's order of names, then a number.
pub(crate) type Rank = (u32, u32);

pub(crate) struct Patch<'s, 'x> {
    pub(crate) sheet: &'s Sheet<'x>,
    splices: Vec<(Range<usize>, String)>,
}

/// What is to happen to the children of one element.
pub(crate) struct ChildChanges<'a, 'x> {
    pub(crate) remove: Vec<Node<'a, 'x>>,
    pub(crate) insert: Vec<(Rank, Markup)>,
    /// The place of the children that are there; `None` for those that nothing is put next to.
    pub(crate) rank: fn(Node) -> Option<Rank>,
    /// Whether the element stays when its last child goes.
    pub(crate) keep_empty: bool,
}

impl<'s, 'x> Patch<'s, 'x> {
    pub(crate) fn new(sheet: &'s Sheet<'x>) -> Self {
        Self { sheet, splices: Vec::new() }
    }

    /// The changed text, or `None` when nothing changes.
    pub(crate) fn finish(mut self) -> Option<String> {
        if self.splices.is_empty() {
            return None;
        }
        // Insertions at one place keep the order they were asked for in (the sort is stable), and
        // come before a removal that begins there.
        self.splices.sort_by_key(|(range, _)| (range.start, range.end));
        let mut text = String::with_capacity(self.sheet.xml.len() + 4096);
        let mut at = 0;
        for (range, replacement) in &self.splices {
            text.push_str(&self.sheet.xml[at..range.start]);
            text.push_str(replacement);
            at = range.end;
        }
        text.push_str(&self.sheet.xml[at..]);
        Some(text)
    }

    /// Gives an attribute a value; where it is and how it is quoted stays.
    pub(crate) fn set_attribute(&mut self, node: Node, name: &str, value: &str) {
        if let Some(found) = attr(node, name) {
            if found.value() == value {
                return;
            }
            let range = found.range();
            let written = &self.sheet.xml[range.clone()];
            let Some(open) = written.find(['\'', '"']) else { return };
            let quote = written.as_bytes()[open] as char;
            let text = crate::markup::escape(value, Some(quote));
            self.splices.push((range.start + open + 1..range.end - 1, text));
            return;
        }
        let at = layout::attributes_end(self.sheet.xml, node);
        let quote = layout::quote(self.sheet, node);
        let text = crate::markup::escape(value, Some(quote));
        self.splices.push((at..at, format!(" {name}={quote}{text}{quote}")));
    }

    pub(crate) fn remove_attribute(&mut self, node: Node, name: &str) {
        if let Some(found) = attr(node, name) {
            let range = found.range();
            let before = self.sheet.xml[..range.start].trim_end_matches(layout::is_blank).len();
            self.splices.push((before..range.end, String::new()));
        }
    }

    /// Replaces the text of an element that has no child elements; blanks around it stay.
    pub(crate) fn set_text(&mut self, node: Node, text: &str) {
        let escaped = crate::markup::escape(text, None);
        let range = layout::content(self.sheet.xml, node);
        let Some(range) = range else {
            let replacement = layout::opened(self.sheet.xml, node) + &escaped;
            let end = layout::end_tag(self.sheet.xml, node);
            self.splices.push((node.range(), replacement + &end));
            return;
        };
        let written = &self.sheet.xml[range.clone()];
        let range = if written.contains('<') || written.trim().is_empty() {
            range
        } else {
            let start = range.start + (written.len() - written.trim_start().len());
            start..start + written.trim().len()
        };
        self.splices.push((range, escaped));
    }

    /// Puts another text in the place of a node.
    pub(crate) fn replace(&mut self, node: Node, text: String) {
        self.splices.push((node.range(), text));
    }

    /// Puts an element in the place of a node, indented as that one was.
    pub(crate) fn replace_with(&mut self, node: Node, markup: &Markup) {
        let text = self.render(markup, &layout::lead(self.sheet.xml, node), node);
        self.splices.push((node.range(), text));
    }

    /// Takes children out of an element and puts others in.
    pub(crate) fn change_children(&mut self, parent: Node, mut changes: ChildChanges) {
        let xml = self.sheet.xml;
        if changes.insert.is_empty() {
            if changes.remove.is_empty() {
                return;
            }
            if layout::only_holds(parent, &changes.remove) {
                self.empty(parent, changes.keep_empty);
                return;
            }
        }
        for node in &changes.remove {
            self.splices.push((layout::with_blanks(xml, *node), String::new()));
        }
        changes.insert.sort_by_key(|(rank, _)| *rank);
        let lead = layout::child_lead(self.sheet, parent);
        let places: Vec<(Rank, usize)> = parent
            .children()
            .filter(|child| child.is_element())
            .filter_map(|child| Some(((changes.rank)(child)?, layout::anchor(xml, child))))
            .collect();
        let mut inserted: Vec<(usize, String)> = Vec::new();
        for (rank, markup) in &changes.insert {
            let before = places.iter().filter(|(other, _)| other <= rank).max_by_key(|p| p.0);
            let at = before.map_or_else(|| layout::start_tag_end(xml, parent), |place| place.1);
            let text = lead.clone() + &self.render(markup, &lead, parent);
            match inserted.last_mut() {
                Some((place, texts)) if *place == at => texts.push_str(&text),
                _ => inserted.push((at, text)),
            }
        }
        self.insert_all(parent, inserted);
    }

    /// Insertions into an element without any content open it up: `<cpu/>` becomes
    /// `<cpu>...</cpu>`.
    fn insert_all(&mut self, parent: Node, inserted: Vec<(usize, String)>) {
        let xml = self.sheet.xml;
        if parent.has_children() {
            self.splices.extend(inserted.into_iter().map(|(at, text)| (at..at, text)));
            return;
        }
        let texts: String = inserted.into_iter().map(|(_, text)| text).collect();
        if texts.is_empty() {
            return;
        }
        let close = layout::line_lead(xml, parent);
        match layout::content(xml, parent) {
            Some(content) => self.splices.push((content, texts + &close)),
            None => {
                let end = parent.range().end;
                let text = format!(">{texts}{close}{}", layout::end_tag(xml, parent));
                self.splices.push((end - 2..end, text));
            }
        }
    }

    /// Nothing is left in the element: it goes too, unless it says something by itself.
    fn empty(&mut self, node: Node, keep: bool) {
        let xml = self.sheet.xml;
        let says_something = node.attributes().next().is_some() || node.parent_element().is_none();
        if keep || says_something {
            let open = layout::start_tag_end(xml, node);
            self.splices.push((open - 1..node.range().end, "/>".to_owned()));
        } else {
            self.splices.push((layout::with_blanks(xml, node), String::new()));
        }
    }

    fn render(&self, markup: &Markup, lead: &str, near: Node) -> String {
        let style = layout::Style {
            unit: layout::unit(self.sheet),
            quote: layout::quote(self.sheet, near),
        };
        markup.render(lead, &style)
    }
}
