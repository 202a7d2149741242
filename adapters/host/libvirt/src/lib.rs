//! libvirt's domain XML: read, edited in place, taken back.
//!
//! A domain XML belongs to whoever wrote it. numawise owns a few elements of it (listed in
//! [`owned`]) and touches nothing else: comments, blanks, order, quotes, foreign namespaces come
//! back byte for byte. That is done by parsing for byte positions only and splicing new text in
//! ([`patch`]), never by writing a tree out again. Comparing is by meaning ([`stable`]), so a text
//! that already says what an edit says is not changed at all.
//!
//! What libvirt itself does to a text when it defines it (comments go, order and units change) is
//! why undo compares elements and not bytes ([`revert`]).

mod connection;
mod cpuset;
mod edit;
mod error;
mod layout;
mod manager;
mod markup;
mod note;
mod observe;
mod order;
mod owned;
mod patch;
pub mod probe;
mod qemu_args;
mod read;
mod revert;
mod secrets;
mod sheet;
mod size;
mod stable;

pub use connection::{
    DomainState, LibraryFiles, LibvirtCarrier, LibvirtHypervisor, Place, Surroundings, Version,
    Versions,
};
pub use observe::observe;

use numawise_engine::ports::{DomainEditor, GuestFiles, PortError, RevertError};
use numawise_model::{GuestConfig, GuestEdit};
use sheet::Sheet;

/// Reads and edits domain XML as libvirt writes it. It holds nothing and keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct DomainXmlEditor;

impl DomainXmlEditor {
    /// Arguments in `<qemu:commandline>` that set the guest's CPUs or NUMA nodes behind libvirt's
    /// back (`-smp`, `-numa`). They are kept, not numawise's to change, and stand against what
    /// numawise writes: whoever plans vNUMA for such a guest should say so.
    pub fn foreign_topology_args(&self, xml: &str) -> Result<Vec<String>, PortError> {
        let sheet = Sheet::parse(xml)?;
        Ok(sheet
            .nodes()
            .filter(|node| node.is_element() && node.tag_name().name() == "arg")
            .filter(|node| {
                let parent = node.parent_element();
                parent.is_some_and(|p| p.tag_name().name() == "commandline")
            })
            .filter_map(|node| sheet::attr_value(node, "value"))
            .filter(|value| matches!(*value, "-smp" | "--smp" | "-numa" | "--numa"))
            .map(str::to_owned)
            .collect())
    }
}

impl DomainEditor for DomainXmlEditor {
    fn read(&self, xml: &str) -> Result<GuestConfig, PortError> {
        Ok(read::guest(&Sheet::parse(xml)?)?)
    }

    fn apply(&self, xml: &str, edit: &GuestEdit, note: Option<&str>) -> Result<String, PortError> {
        Ok(edit::apply(xml, edit, note)?)
    }

    fn revert(&self, today: &str, before: &str, after: &str) -> Result<String, RevertError> {
        revert::revert(today, before, after)
    }

    fn mask_secrets(&self, xml: &str) -> String {
        secrets::mask(xml)
    }

    fn stable_part(&self, xml: &str) -> Result<String, PortError> {
        Ok(stable::definition(&Sheet::parse(xml)?))
    }

    fn files(&self, xml: &str) -> Result<GuestFiles, PortError> {
        Ok(read::files(&Sheet::parse(xml)?)?)
    }
}
