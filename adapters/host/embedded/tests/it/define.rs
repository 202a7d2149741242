//! What can be defined, and what the definition of a running guest does.

use crate::scene::{CELLS, UUID, cpus, domain, failed, named, open, scene, uuid};
use numawise_engine::ports::{Depth, GuestSummary, Hypervisor, PortError, find_guest};
use numawise_model::{GuestUuid, Vcpu};
use std::os::unix::fs::PermissionsExt;

const OTHER: &str = "5f3f6a0e-2d0c-4f50-9d0b-6d6f6f6c0002";

#[test]
fn a_definition_comes_back_byte_for_byte() {
    let scene = scene();
    let xml = "<?xml version='1.0'?>\n<!-- kept -->\n<domain type='kvm' \
               xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\r\n\t<name>vm</name>\
               <uuid>5F3F6A0E2D0C4F509D0B6D6F6F6C0001</uuid>\n<memory>1048576</memory>\
               <devices><graphics passwd='s3cret'/></devices>\
               <qemu:commandline><qemu:arg value='-s'/></qemu:commandline></domain>";
    scene.define(xml);
    // UUIDs are kept in one form, in whatever form they are written.
    assert_eq!(scene.hypervisor.inactive_xml(&uuid()).expect("the definition"), xml);
    let again = open(scene.dir.path());
    assert_eq!(again.inactive_xml(&uuid()).expect("the definition"), xml);
    let guest =
        GuestSummary { uuid: uuid(), name: "vm".to_owned(), running: false, persistent: true };
    assert_eq!(again.guests().expect("guests"), std::slice::from_ref(&guest));
    assert_eq!(find_guest(&again, "vm").expect("a guest"), guest);
    assert_eq!(again.live_xml(&uuid()).expect("no live XML"), None);
    assert_eq!(again.observe(&uuid(), Depth::Guest).expect("no facts"), None);
}

#[test]
fn names_and_uuids_clash_as_in_libvirt() {
    let scene = scene();
    scene.define(&domain(""));
    let text = failed(scene.hypervisor.define(&named("vm", OTHER, "")));
    assert!(text.contains("domain 'vm' already exists with uuid 5f3f"), "{text}");
    let text = failed(scene.hypervisor.define(&named("other", UUID, "")));
    assert!(text.contains("domain 'vm' is already defined with uuid 5f3f"), "{text}");
    let without = domain("").replace(&format!("<uuid>{UUID}</uuid>"), "");
    let text = failed(scene.hypervisor.define(&without));
    assert!(text.contains("already exists"), "{text}");
    scene.define(&named("other", OTHER, ""));
    let names: Vec<String> =
        scene.hypervisor.guests().expect("guests").into_iter().map(|guest| guest.name).collect();
    assert_eq!(names, ["other", "vm"]);
}

#[test]
fn a_new_guest_without_uuid_gets_one_and_an_existing_one_is_refused() {
    let scene = scene();
    let without = domain("<!-- kept -->").replace(&format!("<uuid>{UUID}</uuid>"), "");
    let made = scene.hypervisor.define_new(&without).expect("a guest");
    let xml = scene.hypervisor.inactive_xml(&made).expect("the definition");
    assert_eq!(xml.replace(&format!("<uuid>{made}</uuid>"), ""), without);
    assert_eq!(scene.hypervisor.define_new(&named("b", UUID, "")).expect("a guest"), uuid());
    let text = failed(scene.hypervisor.define_new(&named("b", UUID, "")));
    assert!(text.contains("already"), "{text}");
}

#[test]
fn a_definition_of_a_running_guest_waits_for_the_next_boot() {
    let scene = scene();
    let old = domain("<cputune><vcpupin vcpu='0' cpuset='1'/></cputune>");
    let new = domain("<cputune><vcpupin vcpu='0' cpuset='2'/></cputune>");
    scene.start(&old);
    scene.define(&new);
    assert_eq!(scene.facts().vcpu_affinity[&Vcpu(0)], cpus("1"));
    assert_eq!(scene.hypervisor.live_xml(&uuid()).expect("live"), Some(old));
    assert_eq!(scene.hypervisor.inactive_xml(&uuid()).expect("inactive"), new);
    scene.shutdown().expect("a shutdown");
    scene.hypervisor.start(&uuid()).expect("a start");
    assert_eq!(scene.facts().vcpu_affinity[&Vcpu(0)], cpus("2"));
    assert_eq!(scene.hypervisor.live_xml(&uuid()).expect("live"), Some(new));
}

#[test]
fn contradictions_cannot_be_defined() {
    let cell = |id: u32, cpus: &str| format!("<cell id='{id}' cpus='{cpus}' memory='1048576'/>");
    let numa = |cells: &str| format!("<cpu><numa>{cells}</numa></cpu>");
    let memnode = |id: u32| {
        format!("<numatune><memnode cellid='{id}' mode='strict' nodeset='0'/></numatune>")
    };
    let huge = |nodeset: &str| {
        format!(
            "<memoryBacking><hugepages><page size='2' unit='M' nodeset='{nodeset}'/>\
             <page size='1' unit='G' nodeset='0'/></hugepages></memoryBacking>"
        )
    };
    let cases = [
        (
            "<cpu><topology sockets='1' dies='1' cores='3' threads='1'/></cpu>".to_owned(),
            "CPU topology doesn't match maximum vcpu count: <topology> makes 3 vCPUs and <vcpu> \
             says 4",
        ),
        (numa(&(cell(0, "0-1") + &cell(1, "1-3"))), "vCPUs 1 are in another cell too"),
        (numa(&cell(0, "0-4")), "exceed the <vcpu> count"),
        (numa(&(cell(0, "0-1") + &cell(2, "2-3"))), "without gaps"),
        (memnode(0), "invalid without any guest NUMA cells"),
        (CELLS.to_owned() + &memnode(2), "names the guest NUMA cell 2"),
        (
            CELLS.to_owned()
                + "<numatune><memory mode='restrictive' nodeset='0'/>\
                   <memnode cellid='0' mode='strict' nodeset='0'/></numatune>",
            "either both are restrictive or none is",
        ),
        (CELLS.to_owned() + &huge("2"), "guest NUMA node 2 not found"),
        (CELLS.to_owned() + &huge("0-1"), "guest NUMA node 0 has two page sizes"),
        (
            numa(
                "<cell id='0' cpus='0-3' memory='1048576'><distances><sibling id='0' value='11'/>\
                 </distances></cell>",
            ),
            "10 is for a cell to itself",
        ),
    ];
    for (extra, wanted) in cases {
        let scene = scene();
        let text = failed(scene.hypervisor.define(&domain(&extra)));
        assert!(text.contains("unsupported configuration: "), "{text}");
        assert!(text.contains(wanted), "{text}\nwanted: {wanted}");
        assert_eq!(scene.hypervisor.guests().expect("guests"), [], "it is defined all the same");
    }
}

#[test]
fn what_cannot_be_read_names_the_line_and_the_value() {
    let cases = [
        ("<domain>", "not well-formed"),
        ("<network><name>n</name></network>", "<network> stands there"),
        ("<domain><memory>1</memory></domain>", "line 1: <domain> lacks 'name'"),
        ("<domain>\n<name>a/b</name><memory>1</memory></domain>", "line 2: <name> has 'a/b'"),
        ("<domain><name>a</name></domain>", "<domain> lacks 'memory'"),
        ("<domain><name>a</name><memory unit='XiB'>1</memory></domain>", "'XiB' for unit"),
        ("<domain><name>a</name><memory unit='TiB'>99999999999</memory></domain>", "2^64"),
        ("<domain><name>a</name><memory>1</memory><vcpu>0</vcpu></domain>", "'0 of 0' for vcpu"),
        (
            "<domain><name>a</name><memory>1</memory><vcpu current='3'>2</vcpu></domain>",
            "'3 of 2' for vcpu",
        ),
        (
            "<domain><name>a</name><memory>1</memory><vcpu cpuset='^1-2'>2</vcpu></domain>",
            "'^1-2' for cpuset",
        ),
        (
            "<domain><name>a</name><memory>1</memory><cputune>\n<vcpupin vcpu='0' cpuset='1'/>\n\
             <vcpupin vcpu='0' cpuset='2'/></cputune></domain>",
            "line 3: <vcpupin> has '0' for vcpu, but wanted is one vcpupin for each vCPU",
        ),
        (
            "<domain><name>a</name><memory>1</memory><cputune>\
             <iothreadpin iothread='1' cpuset='1'/></cputune></domain>",
            "an I/O thread of the guest",
        ),
        (
            "<domain><name>a</name><memory>1</memory><numatune>\
             <memory mode='firm' nodeset='0'/></numatune></domain>",
            "'firm' for mode",
        ),
    ];
    for (xml, wanted) in cases {
        let error = scene().hypervisor.define(xml).expect_err(xml);
        assert!(matches!(error, PortError::Unreadable(_)), "{error:?}");
        assert!(error.to_string().contains(wanted), "{error}\nwanted: {wanted}");
    }
}

#[test]
fn files_are_for_their_owner_alone() {
    let scene = scene();
    let dir = scene.dir.path().join("inner");
    let hypervisor = open(&dir);
    hypervisor.define(&domain("")).expect("a definition");
    hypervisor.start(&uuid()).expect("a start");
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path).expect("a file").permissions().mode() & 0o777
    };
    assert_eq!(mode(&dir), 0o700);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&dir).expect("listing") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().expect("a name").to_string_lossy().replace(UUID, "U"));
    }
    names.sort();
    assert_eq!(names, ["U.inactive.xml", "U.live.xml", "U.running.json", "lock"]);
}

#[test]
fn an_id_that_is_no_uuid_opens_no_file() {
    let scene = scene();
    let error = scene.hypervisor.inactive_xml(&GuestUuid("../../etc/passwd".to_owned()));
    assert!(matches!(error, Err(PortError::NotFound(_))), "{error:?}");
    let error = scene.hypervisor.start(&uuid());
    assert!(matches!(error, Err(PortError::NotFound(_))), "{error:?}");
}
