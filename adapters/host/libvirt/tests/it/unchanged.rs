//! What is not to change does not change by a byte.

use crate::corpus::{EDITOR, all, apply, keep, read, whole_edit};
use numawise_engine::ports::DomainEditor;
use numawise_model::guest::Balloon;
use numawise_model::{GuestEdit, GuestFix, PinEdit, VnumaEdit};

#[test]
fn an_empty_edit_gives_the_same_bytes() {
    for (name, xml) in all() {
        assert_eq!(apply(&xml, &keep(), None), xml, "{name}");
    }
}

#[test]
fn an_edit_that_is_there_already_gives_the_same_bytes() {
    for (name, xml) in all() {
        let guest = read(&xml);
        let edit = whole_edit(&guest);
        let Ok(once) = EDITOR.apply(&xml, &edit, Some("note")) else { continue };
        assert_ne!(once, xml, "{name}");
        assert_eq!(apply(&once, &edit, Some("note")), once, "{name}");
        assert_eq!(apply(&once, &edit, None), once, "{name}");
    }
}

#[test]
fn pins_that_say_the_same_in_other_words_stay_as_they_are() {
    for (name, xml) in all() {
        let guest = read(&xml);
        let edit = GuestEdit {
            pins: PinEdit::Set {
                vcpus: guest.vcpu_pins.clone(),
                emulator: guest.emulator_pin.clone(),
                iothreads: guest.iothread_pins.clone(),
            },
            ..keep()
        };
        assert_eq!(apply(&xml, &edit, guest.frozen_note.as_deref()), xml, "{name}");
    }
}

#[test]
fn fixes_that_are_not_needed_change_nothing() {
    let fixes = [GuestFix::AllVcpusAtBoot, GuestFix::NoMemoryHotplug, GuestFix::StaticPlacement];
    let mut untouched = 0;
    for (name, xml) in all() {
        let guest = read(&xml);
        let fit = guest.vcpus_max == guest.vcpus_current
            && guest.max_memory.is_none()
            && !guest.placement_auto;
        if fit {
            let edit = GuestEdit { fixes: fixes.to_vec(), ..keep() };
            assert_eq!(apply(&xml, &edit, None), xml, "{name}");
        }
        if guest.balloon == Balloon::Off {
            let edit = GuestEdit { fixes: vec![GuestFix::BalloonOff], ..keep() };
            assert_eq!(apply(&xml, &edit, None), xml, "{name}");
            untouched += 1;
        }
    }
    assert!(untouched >= 10, "{untouched}");
}

#[test]
fn taking_out_what_is_not_there_changes_nothing() {
    let mut untouched = 0;
    for (name, xml) in all() {
        let guest = read(&xml);
        let untied = guest.hugepages.iter().flatten().all(|page| page.vnodes.is_none());
        let has_l3 = guest.l3_cache_mode.as_deref() == Some("emulate");
        if guest.cells.is_empty() && guest.numatune.is_none() && untied && !has_l3 {
            let edit = GuestEdit {
                pins: PinEdit::Keep,
                vnuma: VnumaEdit::Remove { cpu_topology: guest.cpu_topology },
                fixes: Vec::new(),
            };
            assert_eq!(apply(&xml, &edit, None), xml, "{name}");
            untouched += 1;
        }
    }
    assert!(untouched >= 10, "{untouched}");
}
