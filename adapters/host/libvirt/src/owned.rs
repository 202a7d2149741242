//! The elements numawise owns, each with what it means and how it is written.

use crate::error::DomainXmlError;
use crate::note;
use crate::qemu_args;
use crate::sheet::{Sheet, attr, attr_value, children, whole_number};
use crate::stable;
use roxmltree::Node;
use std::collections::BTreeMap;
use std::fmt;

/// What an owned thing is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The element that holds it, below the domain; empty for the domain itself.
    pub(crate) container: &'static str,
    pub(crate) name: &'static str,
    /// The attribute and number that tell it from its like.
    pub(crate) number: Option<(&'static str, u32)>,
    /// An attribute of the element is owned, not the element.
    pub(crate) attribute: Option<&'static str>,
}

/// `cputune/vcpupin[vcpu=3]`, `vcpu/@current`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.container.is_empty() {
            write!(f, "{}/", self.container)?;
        }
        let name = if self.name == note::NAME && self.container == "metadata" {
            note::QUALIFIED
        } else {
            self.name
        };
        f.write_str(name)?;
        if let Some((attribute, number)) = self.number {
            write!(f, "[{attribute}={number}]")?;
        }
        self.attribute.map_or(Ok(()), |attribute| write!(f, "/@{attribute}"))
    }
}

pub(crate) struct Item<'a, 'x> {
    pub(crate) node: Node<'a, 'x>,
    /// What is compared; `None` when it says no more than its absence would. libvirt writes such
    /// defaults by itself.
    pub(crate) meaning: Option<String>,
    /// What is put back, and shown.
    pub(crate) text: String,
}

/// Containers, and the elements in them that are numawise's.
const ELEMENTS: [(&str, &str, Option<&str>); 13] = [
    ("", "maxMemory", None),
    ("", "currentMemory", None),
    ("", "vcpus", None),
    ("cputune", "vcpupin", Some("vcpu")),
    ("cputune", "emulatorpin", None),
    ("cputune", "iothreadpin", Some("iothread")),
    ("numatune", "memory", None),
    ("numatune", "memnode", Some("cellid")),
    ("cpu", "topology", None),
    ("cpu", "cache", None),
    ("cpu", "numa", None),
    ("memoryBacking", "hugepages", None),
    ("devices", "memballoon", None),
];

/// Attributes of `<vcpu>`, with the value that means the same as none.
const VCPU_ATTRIBUTES: [&str; 2] = ["placement", "current"];

/// Everything numawise owns in a definition.
pub(crate) fn items<'a, 'x>(
    sheet: &'a Sheet<'x>,
) -> Result<BTreeMap<Key, Item<'a, 'x>>, DomainXmlError> {
    let mut items = BTreeMap::new();
    for (container, name, number) in ELEMENTS {
        let Some(parent) = container_node(sheet, container)? else { continue };
        for node in children(parent, name) {
            let key = Key { container, name, number: numbered(node, number), attribute: None };
            let is_default = name == "currentMemory" && stable::says_the_same_as_memory(node);
            let meaning = (!is_default).then(|| stable::element(node));
            let item = Item { node, meaning, text: sheet.text_of(node).to_owned() };
            if let Some(first) = items.insert(key, item) {
                return Err(sheet.duplicate(first.node, node));
            }
        }
    }
    if let Some(node) = note::find(sheet)? {
        let key = Key { container: "metadata", name: note::NAME, number: None, attribute: None };
        let meaning = Some(crate::sheet::text(node));
        items.insert(key, Item { node, meaning, text: sheet.text_of(node).to_owned() });
    }
    if let Some(pair) = qemu_args::pair(sheet) {
        for (node, place) in [(pair.option, 0), (pair.value, 1)] {
            let number = Some(("smp-cache", place));
            let key = Key { container: qemu_args::NAME, name: "arg", number, attribute: None };
            let meaning = Some(stable::element(node));
            items.insert(key, Item { node, meaning, text: sheet.text_of(node).to_owned() });
        }
    }
    if let Some(vcpu) = sheet.find(&["vcpu"])? {
        for name in VCPU_ATTRIBUTES {
            let Some(found) = attr(vcpu, name) else { continue };
            let is_default = stable::is_default(vcpu, "vcpu", name, found.value());
            let meaning = (!is_default).then(|| found.value().to_owned());
            let key = Key { container: "", name: "vcpu", number: None, attribute: Some(name) };
            let text = sheet.xml[found.range()].to_owned();
            items.insert(key, Item { node: vcpu, meaning, text });
        }
    }
    Ok(items)
}

pub(crate) fn container_node<'a, 'x>(
    sheet: &'a Sheet<'x>,
    container: &str,
) -> Result<Option<Node<'a, 'x>>, DomainXmlError> {
    match container {
        "" => Ok(Some(sheet.domain())),
        qemu_args::NAME => Ok(qemu_args::find(sheet)),
        _ => sheet.find(&[container]),
    }
}

fn numbered(node: Node, attribute: Option<&'static str>) -> Option<(&'static str, u32)> {
    let attribute = attribute?;
    let number = whole_number(attr_value(node, attribute)?)?;
    Some((attribute, u32::try_from(number).ok()?))
}
