//! numawise's own element in the metadata, in its own namespace.

use crate::error::DomainXmlError;
use crate::sheet::Sheet;
use roxmltree::Node;

pub(crate) const NAMESPACE: &str = "https://numawise.dev/xmlns/1";
pub(crate) const NAME: &str = "topology";
/// The prefix numawise writes; what it reads may have any.
pub(crate) const QUALIFIED: &str = "numawise:topology";

pub(crate) fn is_note(node: Node) -> bool {
    node.is_element()
        && node.tag_name().name() == NAME
        && node.tag_name().namespace() == Some(NAMESPACE)
}

/// The note on the topology that the guest has been seen with.
pub(crate) fn find<'a, 'x>(sheet: &'a Sheet<'x>) -> Result<Option<Node<'a, 'x>>, DomainXmlError> {
    let Some(metadata) = sheet.find(&["metadata"])? else { return Ok(None) };
    let mut notes = metadata.children().filter(|node| is_note(*node));
    match (notes.next(), notes.next()) {
        (Some(first), Some(second)) => Err(sheet.duplicate(first, second)),
        (first, _) => Ok(first),
    }
}
