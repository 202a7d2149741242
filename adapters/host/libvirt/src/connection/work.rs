//! What others do with a guest, and what its XML tells of it.

use super::XML_SECURE;
use super::fault::{Fault, OPERATION_INVALID};
use super::is_live;
use super::link::Domain;
use numawise_engine::ports::{GuestSnapshot, PortError};
use numawise_model::Obstacle;
use roxmltree::{Document, Node};

const AGENT_CHANNEL: &str = "org.qemu.guest_agent.0";

pub(super) fn obstacles(domain: &Domain) -> Result<Vec<Obstacle>, Fault> {
    let mut found = Vec::new();
    if none_if_unsupported(domain.has_saved_state())?.is_some_and(|saved| saved) {
        found.push(Obstacle::ManagedSave);
    }
    let xml = domain.xml(XML_SECURE)?;
    if !is_live(&xml) {
        return Ok(found);
    }
    for disk in disks(&xml) {
        if none_if_unsupported(domain.has_block_job(&disk))?.is_some_and(|job| job) {
            found.push(Obstacle::BlockJob { disk });
        }
    }
    if let Some(Some(operation)) = none_if_unsupported(domain.job())? {
        found.push(Obstacle::Job { what: operation_name(operation).to_owned() });
    }
    Ok(found)
}

/// Drivers without such work have none; a guest that stopped meanwhile has none any more.
fn none_if_unsupported<T>(answer: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(fault) if fault.is_unsupported() || fault.code == OPERATION_INVALID => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// `virDomainJobOperation`.
fn operation_name(operation: i32) -> &'static str {
    match operation {
        1 => "start",
        2 => "save",
        3 => "restore",
        4 => "migration to this host",
        5 => "migration to another host",
        6 => "snapshot",
        7 => "revert to a snapshot",
        8 => "dump",
        9 => "backup",
        10 => "deletion of a snapshot",
        _ => "one that libvirt does not name",
    }
}

/// Targets of the disks that have something in them.
fn disks(xml: &str) -> Vec<String> {
    let Ok(document) = Document::parse(xml) else { return Vec::new() };
    let disks = elements(&document, "disk").filter(|disk| child(*disk, "source").is_some());
    disks.filter_map(|disk| Some(child(disk, "target")?.attribute("dev")?.to_owned())).collect()
}

pub(super) fn agent_is_connected(xml: &str) -> bool {
    let Ok(document) = Document::parse(xml) else { return false };
    elements(&document, "channel").filter_map(|channel| child(channel, "target")).any(|target| {
        target.attribute("name") == Some(AGENT_CHANNEL)
            && target.attribute("state") == Some("connected")
    })
}

/// What becomes of the guest when it powers off.
pub(super) fn on_poweroff(xml: &str) -> Option<String> {
    let document = Document::parse(xml).ok()?;
    Some(child(document.root_element(), "on_poweroff")?.text()?.trim().to_owned())
}

fn elements<'a, 'x>(
    document: &'a Document<'x>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'x>> {
    let devices = child(document.root_element(), "devices");
    devices.into_iter().flat_map(|d| d.children()).filter(move |node| node.has_tag_name(name))
}

fn child<'a, 'x>(node: Node<'a, 'x>, name: &str) -> Option<Node<'a, 'x>> {
    node.children().find(|child| child.has_tag_name(name))
}

/// The definition that reverting to the snapshot brings back: the inactive one where a running
/// guest's snapshot has both. `None` for one without a definition, which libvirt does not revert to
/// without being forced.
pub(super) fn snapshot(xml: &str) -> Result<Option<GuestSnapshot>, PortError> {
    let unreadable = |what: String| PortError::Unreadable(format!("a snapshot's XML {what}"));
    let document =
        Document::parse(xml).map_err(|error| unreadable(format!("is not well-formed: {error}")))?;
    let root = document.root_element();
    let name = child(root, "name").and_then(|name| name.text());
    let name = name.ok_or_else(|| unreadable("has no <name>".to_owned()))?.to_owned();
    let definition = child(root, "inactiveDomain").or_else(|| child(root, "domain"));
    let Some(definition) = definition else { return Ok(None) };
    let text = &xml[definition.range()];
    let domain_xml = match text
        .strip_prefix("<inactiveDomain")
        .and_then(|text| text.strip_suffix("</inactiveDomain>"))
    {
        Some(inside) => format!("<domain{inside}</domain>"),
        None => text.to_owned(),
    };
    Ok(Some(GuestSnapshot { name, domain_xml }))
}

#[cfg(test)]
mod tests {
    use super::{agent_is_connected, disks, snapshot};

    #[test]
    fn the_inactive_definition_of_a_snapshot_is_what_reverting_brings_back() {
        let xml = "<domainsnapshot><name>a</name>\
                   <domain type='qemu' id='1'><name>g</name></domain>\
                   <inactiveDomain type='kvm'><name>g</name></inactiveDomain></domainsnapshot>";
        let found = snapshot(xml).expect("readable").expect("has a definition");
        assert_eq!(found.name, "a");
        assert_eq!(found.domain_xml, "<domain type='kvm'><name>g</name></domain>");
        let xml = "<domainsnapshot><name>b</name><domain type='qemu'><name>g</name></domain>\
                   </domainsnapshot>";
        let found = snapshot(xml).expect("readable").expect("has a definition");
        assert_eq!(found.domain_xml, "<domain type='qemu'><name>g</name></domain>");
        let none = snapshot("<domainsnapshot><name>c</name></domainsnapshot>");
        assert_eq!(none.expect("readable"), None);
        assert!(snapshot("<domainsnapshot/>").is_err());
    }

    #[test]
    fn an_agent_counts_when_its_channel_is_connected() {
        let xml = |state: &str| {
            format!(
                "<domain><devices><channel type='unix'><target type='virtio' \
                 name='org.qemu.guest_agent.0'{state}/></channel></devices></domain>"
            )
        };
        assert!(agent_is_connected(&xml(" state='connected'")));
        assert!(!agent_is_connected(&xml(" state='disconnected'")));
        assert!(!agent_is_connected(&xml("")));
    }

    #[test]
    fn an_empty_drive_has_no_jobs() {
        let xml = "<domain><devices><disk device='cdrom'><target dev='sda'/></disk>\
                   <disk><source file='/x'/><target dev='vda'/></disk></devices></domain>";
        assert_eq!(disks(xml), ["vda"]);
    }
}
