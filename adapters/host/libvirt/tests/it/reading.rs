//! What is read out of definitions, and what is refused with which words.

use crate::corpus::{EDITOR, all, fixture, read};
use numawise_engine::ports::{DomainEditor, PortError};
use numawise_model::guest::{Balloon, GuestHugepages, MaxMemory, Numatune};
use numawise_model::{
    CpuSet, GuestConfig, GuestCpuTopology, GuestUuid, MemoryMode, NodeSet, PageSize, Pnode, Vcpu,
    Vnode,
};

const GIB: u64 = 1 << 30;

#[test]
fn every_fixture_is_read() {
    for (name, xml) in all() {
        let guest = read(&xml);
        assert!(!guest.name.is_empty() && guest.memory_bytes >= 512 << 20, "{name}");
    }
}

#[test]
fn absent_elements_have_the_defaults_of_libvirt() {
    let expected = GuestConfig {
        name: "minimal".to_owned(),
        vcpus_max: 1,
        vcpus_current: 1,
        memory_bytes: GIB,
        current_memory_bytes: GIB,
        ..GuestConfig::default()
    };
    assert_eq!(read(&fixture("minimal.xml")), expected);
}

#[test]
fn a_managed_guest_is_read_in_full() {
    let guest = read(&fixture("kubevirt-like.xml"));
    assert_eq!(guest.memory_bytes, 4 * GIB);
    assert_eq!(guest.vcpu_pins[&Vcpu(3)].to_string(), "8");
    assert_eq!(guest.emulator_pin.as_ref().map(CpuSet::to_string).as_deref(), Some("9"));
    assert_eq!(guest.iothread_pins.keys().copied().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(guest.iothreads, [1, 2]);
    assert_eq!(guest.cells[0].vcpus.to_string(), "0-3");
    assert_eq!(guest.cells[0].memory_bytes, 4 * GIB);
    assert!(guest.immediate_allocation);
    assert_eq!(guest.balloon, Balloon::Off);
    let pages = GuestHugepages { size: PageSize::HUGE_2M, vnodes: Some(vec![Vnode(0)]) };
    assert_eq!(guest.hugepages, Some(vec![pages]));
    let node = NodeSet::single(Pnode(0));
    let expected = Numatune {
        memory_mode: Some(MemoryMode::Strict),
        memory_nodeset: Some(node.clone()),
        memnodes: [(Vnode(0), (MemoryMode::Strict, node))].into(),
    };
    assert_eq!(guest.numatune, Some(expected));
    assert_eq!(guest.frozen_note, None);
}

#[test]
fn hot_plug_shows_in_each_of_its_forms() {
    let guest = read(&fixture("proxmox-style.xml"));
    assert_eq!((guest.vcpus_current, guest.vcpus_max), (4, 24));
    assert_eq!(guest.current_memory_bytes, 8 * GIB);
    let listed = read(&fixture("cockpit.xml"));
    assert_eq!((listed.vcpus_current, listed.vcpus_max), (2, 4));
    assert_eq!(listed.balloon, Balloon::Implicit);
    let memory = read(&fixture("memory-hotplug.xml"));
    assert_eq!(memory.max_memory, Some(MaxMemory { bytes: 64 * GIB, slots: 8 }));
    assert!(memory.placement_auto);
    let tune = memory.numatune.expect("a numatune");
    assert_eq!((tune.memory_mode, tune.memory_nodeset), (Some(MemoryMode::Strict), None));
}

#[test]
fn devices_and_caches_of_the_host_are_found() {
    let guest = read(&fixture("gpu-passthrough.xml"));
    let devices = ["0000:41:00.0", "0001:c1:1f.7", "0000:81:02.3"];
    assert_eq!(guest.host_devices, devices);
    assert_eq!(guest.l3_cache_mode.as_deref(), Some("passthrough"));
    assert_eq!(guest.default_cpuset.map(|c| c.to_string()).as_deref(), Some("32-63,96-127"));
}

#[test]
fn clusters_ids_entities_and_sets_are_read_as_libvirt_reads_them() {
    let clusters = GuestCpuTopology { sockets: 2, dies: 1, clusters: 4, cores: 4, threads: 1 };
    assert_eq!(read(&fixture("arm64-clusters.xml")).cpu_topology, Some(clusters));
    assert_eq!(read(&fixture("iothreads.xml")).iothreads, [1, 2, 3, 7]);
    let pxb = read(&fixture("pxb-nodes.xml"));
    assert_eq!(pxb.vcpu_pins[&Vcpu(1)].to_string(), "0-2,4-7");
    let odd = read(&fixture("cdata-entities.xml"));
    assert_eq!(odd.name, "rätsel & co");
    let uuid = "ddeeff00-1122-4334-8556-677889900112";
    assert_eq!(odd.uuid, Some(GuestUuid(uuid.to_owned())));
    assert_eq!((odd.vcpus_max, odd.memory_bytes), (4, 2 * GIB));
    let ovirt = read(&fixture("ovirt.xml"));
    assert_eq!(ovirt.cpu_mode.as_deref(), Some("custom"));
    assert_eq!(ovirt.cells.len(), 1);
    let managed = read(&fixture("numawise-managed.xml"));
    assert_eq!(managed.frozen_note.as_deref(), Some("{\"cells\":2}"));
    assert_eq!(managed.cells[1].distances[&Vnode(0)], 21);
}

/// A definition with something in the place of `{}`.
fn refusal(extra: &str) -> String {
    let xml =
        format!("<domain type='kvm'>\n<name>g</name>\n<memory>1024</memory>\n{extra}\n</domain>");
    match EDITOR.read(&xml) {
        Err(PortError::Unreadable(message)) => message,
        other => panic!("'{extra}' gives {other:?}"),
    }
}

#[test]
fn nonsense_is_refused_with_place_value_and_what_was_wanted() {
    let set = "a list like 0-3,8 or 0-7,^2 (numbers up to 8191, ranges ascending, '^' before one \
               number) is wanted";
    let cases: Vec<(&str, String)> = vec![
        ("<vcpu>many</vcpu>", "line 4: <vcpu> is 'many'; a number of vCPUs from 1 to 8192 is wanted".into()),
        ("<vcpu>0</vcpu>", "line 4: <vcpu> is '0'; a number of vCPUs from 1 to 8192 is wanted".into()),
        ("<vcpu>4294967296</vcpu>", "line 4: <vcpu> is '4294967296'; a number of vCPUs from 1 to 8192 is wanted".into()),
        ("<vcpu current='5'>4</vcpu>", "line 4: <vcpu current=...> is '5'; at most the 4 vCPUs of the element is wanted".into()),
        ("<vcpu placement='near'>4</vcpu>", "line 4: <vcpu placement=...> is 'near'; static or auto is wanted".into()),
        ("<vcpu cpuset='7-1'>4</vcpu>", format!("line 4: <vcpu cpuset=...> is '7-1'; {set}")),
        ("<cputune>\n<vcpupin vcpu='0' cpuset='0-99999999999'/></cputune>", format!("line 5: <cputune/vcpupin cpuset=...> is '0-99999999999'; {set}")),
        ("<cputune><vcpupin vcpu='0'/></cputune>", format!("line 4: <cputune/vcpupin cpuset=...> is 'not there'; {set}")),
        ("<cputune><vcpupin vcpu='-1' cpuset='0'/></cputune>", "line 4: <cputune/vcpupin vcpu=...> is '-1'; a whole number is wanted".into()),
        ("<currentMemory unit='pages'>1</currentMemory>", "line 4: <currentMemory unit=...> is 'pages'; b, KB, KiB, MB, MiB, GB, GiB, TB, TiB, PB, PiB, EB or EiB is wanted".into()),
        ("<currentMemory unit='EiB'>99</currentMemory>", "line 4: <currentMemory> is '99'; a whole number that fits 64 bits in bytes is wanted".into()),
        ("<numatune><memory mode='loose' nodeset='0'/></numatune>", "line 4: <numatune/memory mode=...> is 'loose'; strict, preferred, restrictive or interleave is wanted".into()),
        ("<cpu><topology sockets='1' cores='0' threads='1'/></cpu>", "line 4: <cpu/topology cores=...> is '0'; a number from 1 up is wanted".into()),
        ("<cpu><topology sockets='1' threads='1'/></cpu>", "line 4: <cpu/topology cores=...> is 'not there'; a number from 1 up is wanted".into()),
        ("<cpu><numa><cell id='1' memory='1'/></numa></cpu>", "line 4: <cpu/numa/cell id=...> is '1'; 0 to 0: cells are numbered without gaps is wanted".into()),
        ("<cpu><numa><cell memory='1'><distances><sibling id='0' value='9'/></distances></cell></numa></cpu>", "line 4: <cpu/numa/cell/distances/sibling value=...> is '9'; a distance from 10 to 255 is wanted".into()),
        ("<uuid>12</uuid>", "line 4: <uuid> is '12'; a UUID of 32 hexadecimal digits is wanted".into()),
        ("<memoryBacking><hugepages><page size='3000'/></hugepages></memoryBacking>", "line 4: <memoryBacking/hugepages/page size=...> is '3000'; a page size, a power of two like 2048 KiB or 1 GiB is wanted".into()),
    ];
    for (extra, message) in cases {
        assert_eq!(refusal(extra), message);
    }
}

#[test]
fn what_stands_twice_is_refused_with_both_lines() {
    let cases = [
        ("<vcpu>1</vcpu>\n<vcpu>2</vcpu>", "vcpu", 4, 5),
        ("<memory>1024</memory>", "memory", 3, 4),
        ("<cputune/>\n\n<cputune/>", "cputune", 4, 6),
        ("<cpu/><cpu/>", "cpu", 4, 4),
        ("<cpu><numa/>\n<numa/></cpu>", "cpu/numa", 4, 5),
        (
            "<cputune><vcpupin vcpu='1' cpuset='0'/>\n<vcpupin vcpu='01' cpuset='1'/></cputune>",
            "cputune/vcpupin",
            4,
            5,
        ),
        (
            "<numatune><memnode cellid='0' nodeset='0'/>\n<memnode cellid='0' nodeset='1'/></numatune>",
            "numatune/memnode",
            4,
            5,
        ),
        (
            "<cpu><numa><cell id='0' memory='1'/>\n<cell id='0' memory='1'/></numa></cpu>",
            "cpu/numa/cell",
            4,
            5,
        ),
        ("<metadata/>\n<metadata/>", "metadata", 4, 5),
    ];
    for (extra, element, first, second) in cases {
        let expected = format!(
            "<{element}> stands twice in the domain XML, in lines {first} and {second}; which of \
             them counts is not for numawise to choose: take one out"
        );
        assert_eq!(refusal(extra), expected);
    }
}

#[test]
fn what_is_no_domain_xml_is_refused() {
    let deep = format!("<domain>{}{}</domain>", "<a>".repeat(120), "</a>".repeat(120));
    let cases: [(&str, &str); 8] = [
        ("", "the domain XML is not well-formed"),
        ("<domain>", "the domain XML is not well-formed"),
        ("<network/>", "the XML is a <network>, and a libvirt <domain> is wanted"),
        ("<domstatus><domain/></domstatus>", "take the <domain> out of it"),
        ("<domain xmlns='urn:x'/>", "the element is in a namespace"),
        ("<?xml version='1.0' encoding='ISO-8859-1'?><domain/>", "encoding 'ISO-8859-1'"),
        (
            "<!DOCTYPE d [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><domain>&a;</domain>",
            "not well-formed",
        ),
        (&deep, "nested more than 100 deep"),
    ];
    for (xml, part) in cases {
        let error = EDITOR.read(xml).expect_err("refused").to_string();
        assert!(error.contains(part), "{error}");
    }
    assert!(
        EDITOR
            .read("<domain><name>g</name></domain>")
            .expect_err("no memory")
            .to_string()
            .contains("<memory>")
    );
    assert!(
        EDITOR
            .read("<domain><memory>9</memory></domain>")
            .expect_err("no name")
            .to_string()
            .contains("<name>")
    );
    let huge = format!("<domain><!--{}--></domain>", "x".repeat(17 << 20));
    assert!(EDITOR.read(&huge).expect_err("too large").to_string().contains("16777216"));
}

#[test]
fn a_byte_order_mark_and_ascii_are_utf8() {
    let body = "<domain><name>g</name><memory>1024</memory></domain>";
    for head in [
        "\u{feff}",
        "\u{feff}<?xml version=\"1.0\" encoding = \"UTF-8\"?>",
        "<?xml version='1.0' encoding='us-ascii'?>",
    ] {
        assert_eq!(read(&format!("{head}{body}")).name, "g");
    }
}

#[test]
fn elements_of_other_namespaces_are_not_libvirts() {
    let xml = "<domain xmlns:x='urn:x'><name>g</name><memory>2048</memory><x:vcpu>9</x:vcpu>\
               <vcpu x:current='7' current='2'>4</vcpu><x:cputune/><x:cputune/></domain>";
    let guest = read(xml);
    assert_eq!((guest.vcpus_current, guest.vcpus_max), (2, 4));
}

#[test]
fn files_of_the_host_are_named() {
    let xml = "<domain><name>a</name><os><type>hvm</type><loader>/fw/code.fd</loader>\
               <nvram>/var/a.fd</nvram></os><devices>\
               <disk type='file' device='disk'><source file='/srv/a.img'/><target dev='vda'/></disk>\
               <disk type='file' device='cdrom'><target dev='sda'/></disk>\
               <disk type='block'><source dev='/dev/vg/a'/><target dev='vdb'/></disk>\
               <disk type='network'><source protocol='rbd' name='p/a'/><target dev='vdc'/></disk>\
               <tpm model='tpm-crb'><backend type='emulator' version='2.0'/></tpm>\
               </devices></domain>";
    let files = EDITOR.files(xml).expect("read");
    assert_eq!(files.paths, ["/fw/code.fd", "/var/a.fd", "/srv/a.img", "/dev/vg/a"]);
    assert!(files.tpm);
    let passed_through = xml.replace("'emulator' version='2.0'", "'passthrough'");
    assert!(!EDITOR.files(&passed_through).expect("read").tpm);
}
