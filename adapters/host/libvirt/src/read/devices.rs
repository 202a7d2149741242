//! The devices that placement depends on: the balloon, and what is passed through from the host.

use crate::error::DomainXmlError;
use crate::sheet::{Sheet, attr_value, children};
use numawise_model::guest::Balloon;
use roxmltree::Node;

pub(super) fn balloon(sheet: &Sheet) -> Result<Balloon, DomainXmlError> {
    let Some(node) = sheet.find(&["devices", "memballoon"])? else { return Ok(Balloon::Implicit) };
    match attr_value(node, "model") {
        Some("none") => Ok(Balloon::Off),
        Some(model) => Ok(Balloon::Model(model.to_owned())),
        None => Err(sheet.invalid_attr(node, "model", None, "virtio, none or another model")),
    }
}

/// `<memory>` among the devices: DIMMs, NVDIMMs and the like.
pub(super) fn memory_modules(sheet: &Sheet) -> Result<u32, DomainXmlError> {
    let Some(devices) = sheet.find(&["devices"])? else { return Ok(0) };
    Ok(children(devices, "memory").map(|_| 1).sum())
}

/// PCI devices of the host in the guest: `<hostdev type='pci'>`, and network cards given whole.
pub(super) fn passed_through(sheet: &Sheet) -> Result<Vec<String>, DomainXmlError> {
    let Some(devices) = sheet.find(&["devices"])? else { return Ok(Vec::new()) };
    let mut addresses = Vec::new();
    for device in children(devices, "hostdev").chain(children(devices, "interface")) {
        let is_hostdev = device.tag_name().name() == "hostdev";
        let wanted = if is_hostdev { "pci" } else { "hostdev" };
        if attr_value(device, "type") != Some(wanted) {
            continue;
        }
        let Some(source) = sheet.only(device, "source")? else { continue };
        let Some(address) = sheet.only(source, "address")? else { continue };
        if is_hostdev || attr_value(address, "type") == Some("pci") {
            addresses.push(pci_address(sheet, address)?);
        }
    }
    Ok(addresses)
}

fn pci_address(sheet: &Sheet, node: Node) -> Result<String, DomainXmlError> {
    // A missing PCI domain is domain 0, in libvirt as in lspci.
    let domain = if attr_value(node, "domain").is_some() {
        part(sheet, node, "domain", 0xffff_ffff)?
    } else {
        0
    };
    let bus = part(sheet, node, "bus", 0xff)?;
    let slot = part(sheet, node, "slot", 0x1f)?;
    let function = part(sheet, node, "function", 7)?;
    Ok(format!("{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"))
}

/// `0x41`, or a decimal number.
fn part(sheet: &Sheet, node: Node, name: &str, max: u32) -> Result<u32, DomainXmlError> {
    let value = attr_value(node, name);
    let number = value.and_then(|text| match text.strip_prefix("0x") {
        Some(hex) if !hex.starts_with('+') => u32::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        None => None,
    });
    number.filter(|n| *n <= max).ok_or_else(|| {
        sheet.invalid_attr(node, name, value, &format!("a number from 0x0 to {max:#x}"))
    })
}
