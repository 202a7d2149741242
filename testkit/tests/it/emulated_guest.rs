//! A Linux guest boots inside the emulated host, and sees its own nodes.

use crate::scene::{becomes, tiny_domain};
use numawise_testkit::testbed::{EmulatedHost, TinyGuest};
use std::time::Duration;

#[test]
#[ignore = "nightly: Linux boots under emulation under emulation, which takes minutes"]
fn a_guest_boots_in_the_emulated_host_and_sees_its_nodes() {
    let Some(host) = EmulatedHost::start() else { return };
    let xml = tiny_domain("bed-nested", "/var/log/bed-nested.log", false);
    host.text_of(&format!(
        "cat > /tmp/nested.xml <<'XML'\n{xml}XML\n\
         virsh -c qemu:///system define /tmp/nested.xml\nvirsh -c qemu:///system start bed-nested"
    ));
    let said = || host.run("cat /var/log/bed-nested.log").stdout;
    let up = becomes(Duration::from_secs(900), || {
        std::thread::sleep(Duration::from_secs(5));
        said().contains(TinyGuest::READY)
    });
    let said = said();
    assert!(up, "{said}");
    assert!(said.contains("GUEST-NODE 0 cpus=0 distances=10,20 "), "{said}");
    assert!(said.contains("GUEST-NODE 1 cpus=1 distances=20,10 "), "{said}");
}
