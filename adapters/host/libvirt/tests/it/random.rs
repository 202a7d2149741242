//! Definitions with blanks and comments strewn between their elements.

use crate::corpus::{EDITOR, fixture, foreign_part, keep, pins, read, vnuma};
use numawise_engine::ports::DomainEditor;
use numawise_model::{GuestEdit, MemoryMode, PageSize, PinEdit, VnumaEdit};
use proptest::prelude::*;

const BASES: [&str; 6] = [
    "virt-manager-linux.xml",
    "numawise-managed.xml",
    "commented.xml",
    "iothreads.xml",
    "single-line.xml",
    "tabs.xml",
];

/// Something between two elements that means nothing to libvirt.
fn filler() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        1 => "[ \t]{1,3}",
        1 => "\n[ \t]{0,4}",
        1 => "\r\n\r\n {0,2}",
        1 => "<!--[ a-z<>'\"&]{0,12}-->",
        1 => " <!-- [a-z]{0,5} -->\n {0,3}",
        1 => Just("<?note here?>".to_owned()),
    ]
}

/// Puts the fillers behind tags that other elements may stand next to.
fn strewn(xml: &str, fillers: &[String]) -> String {
    let mut text = String::new();
    let mut turn = fillers.iter().cycle();
    let mut rest = xml;
    while let Some(end) = rest.find('>') {
        let (tag, after) = rest.split_at(end + 1);
        text.push_str(tag);
        // Not into a comment, an element with text, or behind the declaration or the domain.
        let between = after.trim_start().starts_with('<')
            && !text.trim_end().ends_with("-->")
            && !tag.contains("</domain")
            && !tag.contains("<!--")
            && !open_comment(&text);
        if between && let Some(filler) = turn.next() {
            text.push_str(filler);
        }
        rest = after;
    }
    text + rest
}

fn open_comment(text: &str) -> bool {
    text.rfind("<!--").is_some_and(|open| !text[open..].contains("-->"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edits_touch_nothing_but_their_elements(
        base in proptest::sample::select(&BASES[..]),
        fillers in proptest::collection::vec(filler(), 5..60),
        nodes in 1u32..4,
        huge in any::<bool>(),
    ) {
        let xml = strewn(&fixture(base), &fillers);
        prop_assume!(roxmltree::Document::parse(&xml).is_ok());
        let guest = read(&xml);
        prop_assert_eq!(EDITOR.apply(&xml, &keep(), None).expect("applies"), xml.clone());
        let size = if huge { PageSize::HUGE_2M } else { PageSize::BASE_4K };
        let edit = GuestEdit {
            pins: pins(guest.vcpus_max),
            vnuma: vnuma(&guest, nodes, MemoryMode::Strict, size),
            fixes: Vec::new(),
        };
        let on = EDITOR.apply(&xml, &edit, Some("note")).expect("applies");
        prop_assert_eq!(foreign_part(&on), foreign_part(&xml));
        prop_assert_eq!(EDITOR.apply(&on, &edit, Some("note")).expect("applies"), on.clone());
        let back = EDITOR.revert(&format!("{on}\n"), &xml, &on).expect("reverts");
        prop_assert_eq!(read(&back), guest.clone());
        prop_assert_eq!(foreign_part(&back), foreign_part(&xml));
        let fresh = guest.vcpu_pins.is_empty() && guest.cells.is_empty()
            && guest.emulator_pin.is_none() && guest.frozen_note.is_none();
        if fresh && !huge {
            let remove = GuestEdit {
                pins: PinEdit::Remove,
                vnuma: VnumaEdit::Remove { cpu_topology: guest.cpu_topology },
                fixes: Vec::new(),
            };
            let off = EDITOR.apply(&on, &remove, Some("")).expect("applies");
            prop_assert_eq!(off, xml);
        }
    }
}
