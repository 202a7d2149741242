//! The domain XMLs of the fixtures on a real libvirt: what `define` accepts before an edit it
//! accepts after.

use super::OnLibvirt;
use crate::bench::{Ran, repository};

/// What this libvirt has no emulator or machine type for, or does not take (a long password), with
/// what stands in on both sides.
const SUBSTITUTIONS: [(&str, &str); 11] = [
    ("<gic version='3'/>", ""),
    ("swordfish-vnc", "seafish"),
    ("/usr/bin/qemu-system-aarch64", "/usr/bin/qemu-system-x86_64"),
    ("type='kvm'", "type='qemu'"),
    ("type=\"kvm\"", "type=\"qemu\""),
    ("/usr/bin/kvm", "/usr/bin/qemu-system-x86_64"),
    ("pc-q35-8.1", "pc-q35-7.2"),
    ("pc-q35-rhel8.6.0", "pc-q35-7.2"),
    ("arch='aarch64'", "arch='x86_64'"),
    ("machine='virt-7.2'", "machine='q35'"),
    ("machine='virt'", "machine='q35'"),
];

/// The text with what stands in, and which substitutions were needed.
fn substituted(xml: &str) -> (String, Vec<&'static str>) {
    let mut text = xml.to_owned();
    let mut used = Vec::new();
    for (from, to) in SUBSTITUTIONS {
        if text.contains(from) {
            text = text.replace(from, to);
            used.push(from);
        }
    }
    (text, used)
}

fn define(on: &OnLibvirt, name: &str, xml: &str) -> Result<(), String> {
    let file = on.path(name);
    std::fs::write(&file, xml).expect("the XML is written");
    let ran = Ran::of(on.daemon.virsh(&["define", &file.to_string_lossy()]));
    if ran.code != Some(0) {
        return Err(ran.err);
    }
    // A definition without a UUID gets a new one each time, and names are taken once.
    let known = on.virsh(&["list", "--all", "--name"]);
    on.virsh(&["undefine", known.trim(), "--nvram"]);
    Ok(())
}

#[test]
fn what_define_takes_before_an_edit_it_takes_after() {
    let Some(on) = OnLibvirt::start() else { return };
    let (mut accepted, mut with_substitution) = (0, 0);
    let (mut refused_before, mut declined_to_plan) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(repository().join("fixtures/domains")).expect("the fixtures") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|end| end != "xml") {
            continue;
        }
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let (before, used) = substituted(&std::fs::read_to_string(&path).expect("text"));
        if let Err(why) = define(&on, &name, &before) {
            refused_before.push(format!("{name}: {why}"));
            continue;
        }
        match edit(&on, &name) {
            None => declined_to_plan.push(name),
            Some(after) => {
                if let Err(why) = define(&on, &format!("edited-{name}"), &after) {
                    panic!("{name} was taken before the edit and not after: {why}");
                }
                accepted += 1;
                with_substitution += usize::from(!used.is_empty());
            }
        }
    }
    println!(
        "{accepted} definitions taken before and after, {with_substitution} of them with a \
         stand-in; not planned: {declined_to_plan:?}; not taken even before: {refused_before:#?}"
    );
    assert!(accepted >= 19, "only {accepted}, {refused_before:#?}, {declined_to_plan:?}");
}

/// The definition as a plan leaves it: with vNUMA or, where that is declined (memory modules, devices
/// and interconnects that speak of nodes), with pins alone.
fn edit(on: &OnLibvirt, name: &str) -> Option<String> {
    plan(on, name, &["--fix-guest", "--new-topology", "--page-size", "4K"])
        .or_else(|| plan(on, name, &["--no-vnuma"]))
}

/// Nothing where numawise declines, with a way out and without a file that could be defined.
fn plan(on: &OnLibvirt, name: &str, how: &[&str]) -> Option<String> {
    let (file, out) = (on.path(name), on.path(&format!("planned-{name}")));
    let (from, to) = (file.to_string_lossy(), out.to_string_lossy());
    let host = ["--host", "bundled:two-socket-64", "--policy", "smart", "--shared", "--overcommit"];
    let planned = on.run(&[&["plan", "--xml", &from, "--xml-out", &to], &host[..], how].concat());
    if planned.code != Some(0) {
        let declined = planned.err.contains("change or take out that element first");
        assert!(planned.code == Some(3) || declined, "{name}: {planned:?}");
        assert!(!out.exists(), "{name}");
        return None;
    }
    Some(std::fs::read_to_string(out).expect("the planned XML"))
}
