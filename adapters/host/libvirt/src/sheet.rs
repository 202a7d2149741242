//! A parsed domain XML together with its text, and the ways to find an element in it.
//!
//! Everything goes through [`named`] and [`attr`], which look at elements and attributes *without*
//! a namespace: `<x:numa>` of somebody's metadata, or an `x:cpuset` attribute, is not libvirt's.

use crate::error::DomainXmlError;
use roxmltree::{Attribute, Document, Node, ParsingOptions};

/// The largest text that is parsed. Real definitions stay under 1 MiB even with 512 vCPUs.
const MAX_BYTES: usize = 16 << 20;
/// The deepest nesting that is read; libvirt's own schema goes 8 deep, metadata a little more.
const MAX_DEPTH: usize = 100;

pub(crate) struct Sheet<'x> {
    pub(crate) xml: &'x str,
    tree: Document<'x>,
}

impl<'x> Sheet<'x> {
    /// Parses a domain XML. A DOCTYPE, and with it every external or self-made entity, is refused.
    pub(crate) fn parse(xml: &'x str) -> Result<Self, DomainXmlError> {
        if xml.len() > MAX_BYTES {
            return Err(DomainXmlError::TooLarge { bytes: xml.len(), limit: MAX_BYTES });
        }
        check_encoding(xml)?;
        let options = ParsingOptions { allow_dtd: false, ..ParsingOptions::default() };
        let sheet = Self { xml, tree: Document::parse_with_options(xml, options)? };
        sheet.check_depth()?;
        let root = sheet.domain();
        if named(root, "domain") {
            return Ok(sheet);
        }
        Err(DomainXmlError::NotADomain {
            found: root.tag_name().name().to_owned(),
            hint: match (root.tag_name().name(), root.tag_name().namespace()) {
                ("domain", Some(_)) => ": the element is in a namespace, libvirt's is in none",
                ("domstatus" | "domainsnapshot" | "domaincheckpoint", _) => {
                    ": take the <domain> out of it, or use 'virsh dumpxml --inactive'"
                }
                _ => "",
            },
        })
    }

    pub(crate) fn domain(&self) -> Node<'_, 'x> {
        self.tree.root_element()
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = Node<'_, 'x>> {
        self.tree.descendants()
    }

    /// The line a node begins in. It counts through the text, so it is for messages only.
    pub(crate) fn line(&self, node: Node) -> u32 {
        self.tree.text_pos_at(node.range().start).row
    }

    /// The text of a node with its tags, as written.
    pub(crate) fn text_of(&self, node: Node) -> &'x str {
        &self.xml[node.range()]
    }

    /// The one child of that name; two are refused.
    pub(crate) fn only<'a>(
        &self,
        parent: Node<'a, 'x>,
        name: &str,
    ) -> Result<Option<Node<'a, 'x>>, DomainXmlError> {
        let mut found = children(parent, name);
        let first = found.next();
        match (first, found.next()) {
            (Some(first), Some(second)) => Err(self.duplicate(first, second)),
            _ => Ok(first),
        }
    }

    /// The element at a path below the domain; two elements of one name on the way are refused.
    pub(crate) fn find(&self, path: &[&str]) -> Result<Option<Node<'_, 'x>>, DomainXmlError> {
        let mut node = self.domain();
        for name in path {
            match self.only(node, name)? {
                Some(child) => node = child,
                None => return Ok(None),
            }
        }
        Ok(Some(node))
    }

    pub(crate) fn duplicate(&self, first: Node, second: Node) -> DomainXmlError {
        DomainXmlError::Duplicate {
            element: place(first),
            first: self.line(first),
            second: self.line(second),
        }
    }

    pub(crate) fn invalid(&self, node: Node, value: &str, wanted: &str) -> DomainXmlError {
        DomainXmlError::Invalid {
            line: self.line(node),
            element: format!("<{}>", place(node)),
            value: shorten(value),
            wanted: wanted.to_owned(),
        }
    }

    pub(crate) fn invalid_attr(
        &self,
        node: Node,
        name: &str,
        value: Option<&str>,
        wanted: &str,
    ) -> DomainXmlError {
        DomainXmlError::Invalid {
            line: self.line(node),
            element: format!("<{} {name}=...>", place(node)),
            value: value.map_or_else(|| "not there".to_owned(), shorten),
            wanted: wanted.to_owned(),
        }
    }

    pub(crate) fn in_the_way(&self, node: Node, problem: impl Into<String>) -> DomainXmlError {
        DomainXmlError::InTheWay {
            line: self.line(node),
            element: format!("<{}>", place(node)),
            problem: problem.into(),
        }
    }

    /// Nodes are numbered in document order, so a parent's depth is known before its children's.
    fn check_depth(&self) -> Result<(), DomainXmlError> {
        let mut depths: Vec<usize> = Vec::new();
        for node in self.tree.descendants() {
            let depth = match node.parent() {
                Some(parent) => depths[parent.id().get_usize()] + 1,
                None => 0,
            };
            if depth > MAX_DEPTH {
                return Err(DomainXmlError::TooDeep { line: self.line(node), limit: MAX_DEPTH });
            }
            depths.push(depth);
        }
        Ok(())
    }
}

/// The text is a Rust string and so UTF-8 already; a declaration that says otherwise means that
/// somebody converted it, and that whoever reads it next would decode it once more.
fn check_encoding(xml: &str) -> Result<(), DomainXmlError> {
    let text = xml.strip_prefix('\u{feff}').unwrap_or(xml);
    let Some(declaration) = text.strip_prefix("<?xml").and_then(|rest| rest.split_once("?>"))
    else {
        return Ok(());
    };
    let Some((_, after)) = declaration.0.split_once("encoding") else { return Ok(()) };
    let quoted = after.trim_start().trim_start_matches('=').trim_start();
    let name: String = quoted.chars().skip(1).take_while(|c| !matches!(c, '\'' | '"')).collect();
    match name.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" | "us-ascii" | "ascii" => Ok(()),
        _ => Err(DomainXmlError::Encoding(name)),
    }
}

/// Whether it is libvirt's element of that name.
pub(crate) fn named(node: Node, name: &str) -> bool {
    node.is_element() && node.tag_name().namespace().is_none() && node.tag_name().name() == name
}

pub(crate) fn children<'a, 'x: 'a>(
    parent: Node<'a, 'x>,
    name: &str,
) -> impl Iterator<Item = Node<'a, 'x>> {
    parent.children().filter(move |child| named(*child, name))
}

pub(crate) fn attr<'a, 'x>(node: Node<'a, 'x>, name: &str) -> Option<Attribute<'a, 'x>> {
    node.attributes().find(|a| a.namespace().is_none() && a.name() == name)
}

pub(crate) fn attr_value<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    attr(node, name).map(|a| a.value())
}

/// All text directly in a node, CDATA included.
pub(crate) fn text(node: Node) -> String {
    node.children().filter(|child| child.is_text()).filter_map(|child| child.text()).collect()
}

/// `cpu/numa/cell`: the path below the domain.
pub(crate) fn place(node: Node) -> String {
    let mut names: Vec<&str> = node
        .ancestors()
        .filter(|n| n.is_element() && n.parent_element().is_some())
        .map(|n| n.tag_name().name())
        .collect();
    names.reverse();
    if names.is_empty() { node.tag_name().name().to_owned() } else { names.join("/") }
}

/// Digits only: libvirt takes no sign, and neither does the schema.
pub(crate) fn whole_number(text: &str) -> Option<u64> {
    let digits = text.trim();
    let only_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    only_digits.then(|| digits.parse().ok()).flatten()
}

fn shorten(value: &str) -> String {
    if value.chars().count() <= 80 {
        return value.to_owned();
    }
    value.chars().take(77).collect::<String>() + "..."
}
