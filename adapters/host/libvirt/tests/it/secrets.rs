//! Secrets do not get into diffs and logs, and everything else does.

use crate::corpus::{EDITOR, all, fixture};
use numawise_engine::ports::DomainEditor;

#[test]
fn no_secret_is_left() {
    let xml = fixture("secrets.xml");
    let masked = EDITOR.mask_secrets(&xml);
    assert!(xml.matches("swordfish").count() >= 9);
    assert!(!masked.contains("swordfish") && !masked.contains("more"), "{masked}");
    for kept in [
        "<cmdline>console=ttyS0 root=/dev/vda1 luks.password=*** quiet token=*** ro</cmdline>",
        "<entry name='opt/com.example/password'>***</entry>",
        "<entry name='opt/com.example/motd'>welcome</entry>",
        "<cookie name='session'>***</cookie>",
        "<mac address='52:54:00:aa:bb:cc'/>",
        "<graphics type='vnc' port='-1' autoport='yes' passwd='***'/>",
        "<graphics type=\"spice\" autoport=\"yes\" passwd=\"***\" keymap=\"de\"/>",
        "<qemu:arg value='secret,id=sec0,data=***,format=raw'/>",
        "<qemu:arg value='***'/>",
        "encrypt.key-secret=sec0,if=none",
        "<qemu:env name='DB_TOKEN' value='***'/>",
        "<qemu:env name='LANG' value='C'/>",
    ] {
        assert!(masked.contains(kept), "{kept} is not in\n{masked}");
    }
}

#[test]
fn launch_security_keeps_its_policy_and_loses_its_session() {
    let masked = EDITOR.mask_secrets(&fixture("sev-launch-security.xml"));
    assert!(
        masked.contains(
            "<policy>0x0003</policy>\n    <dhCert>***</dhCert>\n    <session>***</session>"
        )
    );
}

#[test]
fn passwords_with_entities_go_whole() {
    let masked = EDITOR.mask_secrets(&fixture("cockpit.xml"));
    assert!(masked.contains("listen=\"127.0.0.1\" passwd=\"***\">"), "{masked}");
    let masked = EDITOR.mask_secrets(&fixture("proxmox-style.xml"));
    assert!(!masked.contains("hunter"), "{masked}");
}

#[test]
fn without_secrets_the_text_is_the_same() {
    let with_secrets =
        ["secrets.xml", "sev-launch-security.xml", "cockpit.xml", "proxmox-style.xml", "ovirt.xml"];
    for (name, xml) in all() {
        let masked = EDITOR.mask_secrets(&xml);
        assert_eq!(masked == xml, !with_secrets.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn a_text_that_cannot_be_read_is_not_shown() {
    let masked = EDITOR.mask_secrets("<domain><graphics passwd='swordfish'>");
    assert!(masked.starts_with("***") && !masked.contains("swordfish"));
}
