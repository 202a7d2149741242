//! Which software made a domain: each leaves an element of its own namespace in the metadata.

use crate::error::DomainXmlError;
use crate::sheet::Sheet;
use numawise_model::Manager;

/// By the host name in the namespace's URI: versions and paths in it change, the owner does not.
const HOSTS: [(&str, Manager); 6] = [
    ("openstack.org", Manager::Nova),
    ("ovirt.org", Manager::Ovirt),
    ("kubevirt.io", Manager::KubeVirt),
    ("proxmox.com", Manager::Proxmox),
    ("opennebula.org", Manager::OpenNebula),
    ("zstack.org", Manager::ZStack),
];

pub(crate) fn find(sheet: &Sheet) -> Result<Option<Manager>, DomainXmlError> {
    let Some(metadata) = sheet.find(&["metadata"])? else { return Ok(None) };
    let namespaces = metadata.children().filter_map(|node| node.tag_name().namespace());
    let owner = |uri: &str| {
        let host = uri.split_once("://").map_or(uri, |(_, rest)| rest).split('/').next();
        HOSTS.iter().find(|(known, _)| host == Some(*known)).map(|(_, manager)| *manager)
    };
    Ok(namespaces.filter_map(owner).next())
}
