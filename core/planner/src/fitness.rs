//! Whether a guest can have vNUMA at all.
//!
//! The nodes of a guest are fixed while it runs. A vCPU or a memory stick that is plugged in later
//! belongs to no node of the plan; a balloon takes pages from whichever node it likes; with
//! `placement='auto'` numad chooses the host nodes and libvirt takes no node bindings. Each of these
//! is refused, or taken out of the guest when the user said so, which the diff then shows.
//!
//! A binding alone has none of these troubles.

use crate::Notes;
use numawise_model::guest::Balloon;
use numawise_model::{GuestConfig, GuestFix, Refusal};

/// The edits that make the guest fit; without `fix_guest` each of them is a refusal instead.
pub fn fixes(guest: Option<&GuestConfig>, fix_guest: bool, notes: &mut Notes) -> Vec<GuestFix> {
    let Some(guest) = guest else { return Vec::new() };
    let mut fixes = Vec::new();
    for (refusal, fix) in troubles(guest) {
        match fix_guest {
            true => fixes.push(fix),
            false => notes.refuse(refusal),
        }
    }
    if guest.memory_modules > 0 && guest.max_memory.is_some() {
        // libvirt takes no module without `<maxMemory>`, so that fix cannot be made.
        notes.refuse(Refusal::MemoryModules { modules: guest.memory_modules });
    }
    fixes
}

fn troubles(guest: &GuestConfig) -> Vec<(Refusal, GuestFix)> {
    let mut troubles = Vec::new();
    if guest.vcpus_current < guest.vcpus_max {
        let (current, maximum) = (guest.vcpus_current, guest.vcpus_max);
        troubles.push((Refusal::VcpuHotplug { current, maximum }, GuestFix::AllVcpusAtBoot));
    }
    if let Some(max) = guest.max_memory {
        troubles.push((Refusal::MemoryHotplug { slots: max.slots }, GuestFix::NoMemoryHotplug));
    }
    let balloon = match &guest.balloon {
        Balloon::Off => None,
        // libvirt adds one of this model where the element is absent.
        Balloon::Implicit => Some("virtio".to_owned()),
        Balloon::Model(model) => Some(model.clone()),
    };
    if let Some(model) = balloon {
        troubles.push((Refusal::Balloon { model }, GuestFix::BalloonOff));
    }
    if guest.placement_auto {
        troubles.push((Refusal::PlacementAuto, GuestFix::StaticPlacement));
    }
    troubles
}
