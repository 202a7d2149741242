//! The note on the guest's topology in `<metadata>`.

use super::{insertion, ranked, removal};
use crate::error::DomainXmlError;
use crate::markup::Markup;
use crate::note;
use crate::patch::Patch;
use crate::sheet::text;

/// Writes the note; an empty one takes the element out.
pub(super) fn set(patch: &mut Patch, wanted: &str) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    if let Some(node) = note::find(sheet)? {
        let Some(metadata) = node.parent_element() else { return Ok(()) };
        if wanted.is_empty() {
            patch.change_children(metadata, removal(vec![node]));
        } else if text(node) != wanted {
            patch.set_text(node, wanted);
        }
        return Ok(());
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let element =
        Markup::new(note::QUALIFIED).with("xmlns:numawise", note::NAMESPACE).saying(wanted);
    match sheet.find(&["metadata"])? {
        Some(metadata) => {
            let changes = insertion(vec![ranked("metadata", note::NAME, 0, element)]);
            patch.change_children(metadata, changes);
        }
        None => {
            let metadata = Markup::new("metadata").holding(vec![element]);
            let changes = insertion(vec![ranked("domain", "metadata", 0, metadata)]);
            patch.change_children(sheet.domain(), changes);
        }
    }
    Ok(())
}
