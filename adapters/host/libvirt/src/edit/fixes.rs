//! Edits that make a guest fit for vNUMA.

use super::{insertion, ranked, removal};
use crate::error::DomainXmlError;
use crate::markup::Markup;
use crate::patch::Patch;
use crate::sheet::{attr_value, children, text, whole_number};
use crate::size;
use numawise_model::GuestFix;

pub(super) fn apply(patch: &mut Patch, fix: GuestFix) -> Result<(), DomainXmlError> {
    match fix {
        GuestFix::BalloonOff => {
            balloon_off(patch)?;
            all_memory_at_boot(patch)
        }
        GuestFix::AllVcpusAtBoot => all_vcpus_at_boot(patch),
        GuestFix::NoMemoryHotplug => no_memory_hotplug(patch),
        GuestFix::StaticPlacement => static_placement(patch),
    }
}

/// The whole element is replaced: its address, alias and statistics mean nothing without a model.
fn balloon_off(patch: &mut Patch) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    let off = Markup::new("memballoon").with("model", "none");
    let Some(devices) = sheet.find(&["devices"])? else {
        let devices = Markup::new("devices").holding(vec![off]);
        let changes = insertion(vec![ranked("domain", "devices", 0, devices)]);
        patch.change_children(sheet.domain(), changes);
        return Ok(());
    };
    match sheet.only(devices, "memballoon")? {
        Some(node) if attr_value(node, "model") == Some("none") => {}
        Some(node) => patch.replace_with(node, &off),
        None => {
            let changes = insertion(vec![ranked("devices", "memballoon", 0, off)]);
            patch.change_children(devices, changes);
        }
    }
    Ok(())
}

/// `<currentMemory>` says what `<memory>` says, in its own unit where that divides evenly.
fn all_memory_at_boot(patch: &mut Patch) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    let Some(current) = sheet.find(&["currentMemory"])? else { return Ok(()) };
    let Some(memory) = sheet.find(&["memory"])? else {
        patch.change_children(sheet.domain(), removal(vec![current]));
        return Ok(());
    };
    let bytes = size::of_element(sheet, memory)?;
    if size::of_element(sheet, current)? == bytes {
        return Ok(());
    }
    let same_unit = attr_value(memory, "unit") == attr_value(current, "unit");
    let unit = size::unit_bytes(attr_value(current, "unit"));
    match (unit, whole_number(&text(memory))) {
        (_, Some(count)) if same_unit => patch.set_text(current, &count.to_string()),
        (Some(unit), _) if bytes.is_multiple_of(unit) => {
            patch.set_text(current, &(bytes / unit).to_string());
        }
        _ => {
            patch.set_attribute(current, "unit", "KiB");
            patch.set_text(current, &(bytes / 1024).to_string());
        }
    }
    Ok(())
}

fn all_vcpus_at_boot(patch: &mut Patch) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    if let Some(vcpu) = sheet.find(&["vcpu"])? {
        patch.remove_attribute(vcpu, "current");
    }
    // Without the list every vCPU is there from the start and none can be unplugged.
    if let Some(list) = sheet.find(&["vcpus"])? {
        patch.change_children(sheet.domain(), removal(vec![list]));
    }
    Ok(())
}

fn no_memory_hotplug(patch: &mut Patch) -> Result<(), DomainXmlError> {
    let sheet = patch.sheet;
    let Some(maximum) = sheet.find(&["maxMemory"])? else { return Ok(()) };
    if let Some(devices) = sheet.find(&["devices"])?
        && let Some(module) = children(devices, "memory").next()
    {
        return Err(sheet.in_the_way(
            module,
            "is a plugged memory module, and libvirt takes none without <maxMemory>; detach it \
             and add its size to <memory> first",
        ));
    }
    patch.change_children(sheet.domain(), removal(vec![maximum]));
    Ok(())
}

fn static_placement(patch: &mut Patch) -> Result<(), DomainXmlError> {
    if let Some(vcpu) = patch.sheet.find(&["vcpu"])?
        && attr_value(vcpu, "placement") == Some("auto")
    {
        patch.set_attribute(vcpu, "placement", "static");
    }
    Ok(())
}
