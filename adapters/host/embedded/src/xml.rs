//! Small readers over a parsed domain XML. An absent element is `None`; a present one that makes no
//! sense is an error with its line.

use numawise_engine::ports::PortError;
use roxmltree::Node;
use std::str::FromStr;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum XmlError {
    #[error("the text is not well-formed XML: {0}")]
    NotWellFormed(#[from] roxmltree::Error),
    #[error("a <domain> is wanted, and <{0}> stands there")]
    NotADomain(String),
    #[error("line {line}: <{element}> lacks '{wanted}'")]
    Missing { line: u32, element: String, wanted: &'static str },
    #[error("line {line}: <{element}> has '{value}' for {attribute}, but wanted is {wanted}")]
    BadValue { line: u32, element: String, attribute: &'static str, value: String, wanted: String },
}

impl From<XmlError> for PortError {
    fn from(error: XmlError) -> Self {
        PortError::Unreadable(format!("simulated host: domain XML: {error}"))
    }
}

/// Child elements of a name, in no namespace (metadata and qemu: elements are somebody else's).
pub fn children<'a, 'd>(
    node: Node<'a, 'd>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'd>> {
    node.children().filter(move |child| {
        child.is_element()
            && child.tag_name().name() == name
            && child.tag_name().namespace().is_none()
    })
}

pub fn child<'a, 'd>(node: Node<'a, 'd>, name: &'static str) -> Option<Node<'a, 'd>> {
    children(node, name).next()
}

pub fn required_child<'a, 'd>(
    node: Node<'a, 'd>,
    name: &'static str,
) -> Result<Node<'a, 'd>, XmlError> {
    child(node, name).ok_or_else(|| missing(node, name))
}

/// The element's text; an empty element is an error.
pub fn text<'a>(node: Node<'a, '_>) -> Result<&'a str, XmlError> {
    node.text().map(str::trim).filter(|text| !text.is_empty()).ok_or_else(|| missing(node, "text"))
}

pub fn number<T: FromStr>(
    node: Node<'_, '_>,
    attribute: &'static str,
    text: &str,
) -> Result<T, XmlError> {
    text.trim().parse().map_err(|_| bad(node, attribute, text, "a whole number"))
}

pub fn number_attribute<T: FromStr>(
    node: Node<'_, '_>,
    attribute: &'static str,
) -> Result<T, XmlError> {
    let text = node.attribute(attribute).ok_or_else(|| missing(node, attribute))?;
    number(node, attribute, text)
}

/// A size with the element's `unit`, which is KiB when it is not named.
pub fn bytes(node: Node<'_, '_>, text: &str) -> Result<u64, XmlError> {
    let unit = node.attribute("unit").unwrap_or("KiB");
    let factor = unit_bytes(unit)
        .ok_or_else(|| bad(node, "unit", unit, "b, bytes, or K, M, G, T with B or iB"))?;
    let count: u64 = number(node, "size", text)?;
    count.checked_mul(factor).ok_or_else(|| bad(node, "size", text, "fewer than 2^64 bytes"))
}

/// `KiB` and `k` are 1024, `KB` is 1000; case does not matter.
fn unit_bytes(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    if unit == "b" || unit == "bytes" {
        return Some(1);
    }
    let power = match unit.chars().next()? {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        'p' => 5,
        _ => return None,
    };
    match &unit[1..] {
        "" | "ib" => Some(1024u64.pow(power)),
        "b" => Some(1000u64.pow(power)),
        _ => None,
    }
}

pub fn missing(node: Node<'_, '_>, wanted: &'static str) -> XmlError {
    XmlError::Missing { line: line(node), element: node.tag_name().name().to_owned(), wanted }
}

pub fn bad(node: Node<'_, '_>, attribute: &'static str, value: &str, wanted: &str) -> XmlError {
    XmlError::BadValue {
        line: line(node),
        element: node.tag_name().name().to_owned(),
        attribute,
        value: value.to_owned(),
        wanted: wanted.to_owned(),
    }
}

fn line(node: Node<'_, '_>) -> u32 {
    node.document().text_pos_at(node.range().start).row
}

/// The name alone, of a text that has been accepted before.
pub fn domain_name(text: &str) -> Result<String, XmlError> {
    let document = roxmltree::Document::parse(text)?;
    let name = required_child(document.root_element(), "name")?;
    self::text(name).map(str::to_owned)
}

/// The same text with a `<uuid>` after the name. The rest stays as it is.
pub fn with_uuid(text: &str, uuid: &numawise_model::GuestUuid) -> Result<String, XmlError> {
    let document = roxmltree::Document::parse(text)?;
    let end = required_child(document.root_element(), "name")?.range().end;
    Ok(format!("{}<uuid>{uuid}</uuid>{}", &text[..end], &text[end..]))
}
