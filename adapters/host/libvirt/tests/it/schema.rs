//! Whatever libvirt's own schema accepted before an edit, it accepts after.
//!
//! The tool is Debian's `libvirt-clients` with `libxml2-utils`; without it the test says so and
//! passes.

use crate::corpus::{EDITOR, all, folder, keep, pins, read, vnuma, whole_edit};
use numawise_engine::ports::DomainEditor;
use numawise_model::{GuestEdit, GuestFix, MemoryMode, PageSize, PinEdit, VnumaEdit};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Fixtures that the schema of Debian 12 refuses as they are.
const ODD: [&str; 1] = ["arm64-clusters.xml"];

/// The files that are not valid, of those in the folder.
fn invalid(folder: &Path, names: &[String]) -> Option<Vec<String>> {
    let mut complaints = Vec::new();
    for name in names {
        let output =
            Command::new("virt-xml-validate").arg(folder.join(name)).arg("domain").output().ok()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if said.contains("xmllint: not found") || said.contains("xmllint: command not found") {
            return None;
        }
        if !output.status.success() {
            complaints.push(name.clone());
        }
    }
    Some(complaints)
}

fn edits(guest: &numawise_model::GuestConfig) -> Vec<(&'static str, GuestEdit)> {
    let mut edits = vec![
        ("pins", GuestEdit { pins: pins(guest.vcpus_max), ..keep() }),
        ("whole", whole_edit(guest)),
        ("unbound", GuestEdit { pins: PinEdit::Remove, ..keep() }),
        (
            "off",
            GuestEdit { vnuma: VnumaEdit::Remove { cpu_topology: guest.cpu_topology }, ..keep() },
        ),
    ];
    for (name, mode) in [
        ("preferred", MemoryMode::Preferred),
        ("restrictive", MemoryMode::Restrictive),
        ("interleave", MemoryMode::Interleave),
    ] {
        let vnuma = vnuma(guest, 3, mode, PageSize::BASE_4K);
        edits.push((name, GuestEdit { vnuma, ..keep() }));
    }
    let fixes = vec![GuestFix::BalloonOff, GuestFix::AllVcpusAtBoot, GuestFix::StaticPlacement];
    edits.push(("fixes", GuestEdit { fixes, ..keep() }));
    edits
}

#[test]
fn valid_before_is_valid_after() {
    let fixtures: Vec<String> = all().into_iter().map(|(name, _)| name).collect();
    let Some(refused) = invalid(&folder(), &fixtures) else {
        println!("skipped: virt-xml-validate is not installed (libvirt-clients, libxml2-utils)");
        return;
    };
    assert!(refused.iter().all(|name| ODD.contains(&name.as_str())), "{refused:?}");
    let folder = std::env::temp_dir().join(format!("numawise-schema-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the edited texts");
    let mut names = Vec::new();
    for (name, xml) in all().into_iter().filter(|(name, _)| !refused.contains(name)) {
        for (what, edit) in edits(&read(&xml)) {
            if let Ok(text) = EDITOR.apply(&xml, &edit, Some("<note & more>")) {
                let mut file = name.trim_end_matches(".xml").to_owned();
                write!(file, "-{what}.xml").expect("into a string");
                std::fs::write(folder.join(&file), text).expect("written");
                names.push(file);
            }
        }
    }
    assert!(names.len() > 150, "{}", names.len());
    let refused = invalid(&folder, &names);
    std::fs::remove_dir_all(&folder).expect("removed");
    assert_eq!(refused, Some(Vec::new()));
}
