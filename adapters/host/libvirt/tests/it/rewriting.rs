//! libvirt's own hand: what it makes of an edited definition has the same digest, and undo works on
//! it.
//!
//! `virsh -c test:///default` is libvirt's parser and writer without a daemon or a hypervisor. It
//! is in Debian's `libvirt-clients`; without it the test says so and passes.

use crate::corpus::{EDITOR, all, apply, folder, read, whole_edit};
use numawise_engine::ports::DomainEditor;
use numawise_model::GuestFix;
use std::path::Path;
use std::process::Command;

/// What libvirt has after defining a file; `None` when there is no virsh.
fn defined(path: &Path, name: &str) -> Option<String> {
    let commands =
        format!("define '{}'; dumpxml --inactive --security-info '{name}'", path.display());
    let output = Command::new("virsh").args(["-q", "-c", "test:///default", &commands]).output();
    let output = output.ok()?;
    let text = String::from_utf8(output.stdout).expect("libvirt writes UTF-8");
    let Some(start) = text.find("<domain") else {
        panic!("{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    };
    Some(text[start..].trim_end().to_owned() + "\n")
}

#[test]
fn what_libvirt_makes_of_an_edit_means_the_same() {
    let stable = |xml: &str| EDITOR.stable_part(xml).expect("readable");
    let file = std::env::temp_dir().join(format!("numawise-define-{}.xml", std::process::id()));
    let mut agreed = 0;
    for (name, xml) in all() {
        let guest = read(&xml);
        let Some(before) = defined(&folder().join(&name), &guest.name) else {
            println!("skipped: virsh is not installed (libvirt-clients)");
            return;
        };
        let mut edit = whole_edit(&read(&before));
        edit.fixes =
            vec![GuestFix::BalloonOff, GuestFix::AllVcpusAtBoot, GuestFix::StaticPlacement];
        if EDITOR.apply(&before, &edit, None).is_err() {
            continue;
        }
        let after = apply(&before, &edit, Some("a <note>"));
        std::fs::write(&file, &after).expect("written");
        let today = defined(&file, &guest.name).expect("virsh is there");
        assert_eq!(stable(&today), stable(&after), "{name}");
        assert_eq!(read(&today), read(&after), "{name}");
        let back =
            EDITOR.revert(&today, &before, &after).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert_eq!(stable(&back), stable(&before), "{name}");
        agreed += 1;
    }
    std::fs::remove_file(&file).expect("removed");
    assert!(agreed >= 20, "{agreed}");
}
