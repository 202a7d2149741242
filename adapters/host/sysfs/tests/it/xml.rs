//! hwloc XML and libvirt capabilities.

use crate::scene::{FAST, text};
use numawise_model::{CpuSet, Host};
use numawise_sysfs::{ReadError, open, read_host};
use std::fs;

fn read(content: &str) -> Result<Host, ReadError> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("host.xml");
    fs::write(&path, content).expect("written");
    read_host(&open(&path)?, &FAST)
}

/// A host in a few lines: what the tests below compare.
pub fn summary(host: &Host) -> String {
    let topology = &host.topology;
    let mut lines = vec![format!("online {} allowed {}", topology.online, topology.allowed.cpus)];
    for node in &topology.nodes {
        let distances: Vec<String> =
            node.distances.iter().map(|(id, value)| format!("{id}:{value}")).collect();
        let memory = node.memory_total_bytes.map(|bytes| bytes >> 20);
        lines.push(format!("node {} [{}] {memory:?} {}", node.id, node.cpus, distances.join(" ")));
    }
    let sets = |what: &str, sets: Vec<&CpuSet>| {
        let sets: Vec<String> = sets.into_iter().map(ToString::to_string).collect();
        format!("{what} {}", sets.join(" | "))
    };
    lines.push(sets("packages", topology.packages.iter().map(|p| &p.cpus).collect()));
    lines.push(sets("l3", topology.l3_domains.iter().map(|d| &d.cpus).collect()));
    lines.push(sets("cores", topology.cores.iter().map(|c| &c.cpus).collect()));
    let pages: Vec<String> = topology.page_sizes.iter().map(ToString::to_string).collect();
    lines.push(format!("pages {}", pages.join(" ")));
    for device in &topology.devices {
        let (kind, place, names) = (device.kind, &device.locality, &device.names);
        lines.push(format!("{} {kind:?} {place:?} {names:?}", device.address));
    }
    lines.join("\n")
}

const HWLOC_2: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" allowed_cpuset="0x00000007" nodeset="0x00000007" allowed_nodeset="0x00000007">
    <info name="Architecture" value="x86_64"/>
    <object type="Package" os_index="0" cpuset="0x00000005">
      <info name="CPUModel" value="Example 9000 "/>
      <object type="NUMANode" os_index="0" cpuset="0x00000005" nodeset="0x1" local_memory="1073741824">
        <page_type size="4096" count="262144"/>
        <page_type size="2097152" count="0"/>
      </object>
      <object type="NUMANode" subtype="HBM" os_index="2" cpuset="0x00000005" nodeset="0x4" local_memory="536870912"/>
      <object type="L3Cache" cpuset="0x00000005" cache_size="33554432" depth="3" cache_type="0">
        <object type="Core" os_index="0" cpuset="0x00000005">
          <object type="PU" os_index="0" cpuset="0x00000001"/>
          <object type="PU" os_index="2" cpuset="0x00000004"/>
        </object>
      </object>
      <object type="Bridge" bridge_type="0-1" bridge_pci="0000:[00-05]">
        <object type="PCIDev" pci_busid="0000:02:00.0" pci_type="0200 [8086:1521] [8086:0001] 01">
          <object type="OSDev" name="eth0" osdev_type="2"/>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000a">
      <object type="NUMANode" os_index="1" cpuset="0x0000000a" nodeset="0x2" local_memory="2147483648"/>
      <object type="L3Cache" cpuset="0x0000000a" cache_size="33554432" depth="3" cache_type="0">
        <object type="Core" os_index="0" cpuset="0x00000002"><object type="PU" os_index="1" cpuset="0x00000002"/></object>
        <object type="Core" os_index="1" cpuset="0x00000008"><object type="PU" os_index="3" cpuset="0x00000008"/></object>
      </object>
    </object>
    <object type="Bridge" bridge_type="0-1" bridge_pci="0001:[00-05]">
      <object type="PCIDev" pci_busid="0001:01:00.0" pci_type="0108 [144d:a808] [144d:a801] 00"/>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="3" kind="8" name="Bandwidth" indexing="os">
    <indexes length="6">0 1 2 </indexes><u64values length="18">1 2 3 4 5 6 7 8 9 </u64values>
  </distances2>
  <distances2 type="NUMANode" nbobjs="3" kind="5" name="NUMALatency" indexing="os">
    <indexes length="6">0 1 2 </indexes><u64values length="18">10 21 13 21 10 23 </u64values><u64values length="9">13 23 10 </u64values>
  </distances2>
</topology>"#;

#[test]
fn hwloc_version_2() {
    let host = read(HWLOC_2).expect("a host");
    let wanted = "online 0-3 allowed 0-2
node 0 [0,2] Some(1024) 0:10 1:21 2:13
node 1 [1,3] Some(2048) 0:21 1:10 2:23
node 2 [] Some(512) 0:13 1:23 2:10
packages 0,2 | 1,3
l3 0,2 | 1,3
cores 0,2 | 1 | 3
pages 4K 2M
0000:02:00.0 Nic Node(Pnode(0)) [\"eth0\"]
0001:01:00.0 Nvme Unknown []";
    assert_eq!(summary(&host), wanted);
    assert_eq!(host.topology.model_name.as_deref(), Some("Example 9000"));
    assert_eq!(host.topology.memory_total_bytes, Some(3584 << 20));
}

const HWLOC_1: &str = r#"<topology>
  <object type="Machine" os_index="0" cpuset="0x0000000f" online_cpuset="0x00000007" allowed_cpuset="0x0000000f">
    <distances nbobjs="2" relative_depth="1" latency_base="10.000000">
      <latency value="1.000000"/><latency value="2.100000"/><latency value="2.100000"/><latency value="1.000000"/>
    </distances>
    <object type="NUMANode" os_index="0" cpuset="0x00000003" local_memory="1073741824">
      <object type="Socket" os_index="0" cpuset="0x00000003">
        <object type="Cache" cpuset="0x00000003" cache_size="8388608" depth="3" cache_type="0">
          <object type="Cache" cpuset="0x00000003" cache_size="65536" depth="1" cache_type="1">
            <object type="Core" os_index="0" cpuset="0x00000003">
              <object type="PU" os_index="0" cpuset="0x00000001"/><object type="PU" os_index="1" cpuset="0x00000002"/>
            </object></object></object></object></object>
    <object type="NUMANode" os_index="4" cpuset="0x0000000c" local_memory="1073741824">
      <object type="Socket" os_index="1" cpuset="0x0000000c">
        <object type="Core" os_index="0" cpuset="0x0000000c">
          <object type="PU" os_index="2" cpuset="0x00000004"/><object type="PU" os_index="3" cpuset="0x00000008"/>
        </object></object></object>
  </object>
</topology>"#;

#[test]
fn hwloc_version_1_with_a_cpu_switched_off() {
    let host = read(HWLOC_1).expect("a host");
    let wanted = "online 0-2 allowed 0-2
node 0 [0-1] Some(1024) 0:10 4:21
node 4 [2] Some(1024) 0:21 4:10
packages 0-1 | 2
l3 0-1
cores 0-1 | 2
pages 4K";
    assert_eq!(summary(&host), wanted);
}

const CAPABILITIES: &str = r#"<capabilities>
  <host>
    <uuid>01234567-0000-0000-0000-000000000000</uuid>
    <cpu><arch>x86_64</arch><model>EPYC-Milan</model></cpu>
    <topology>
      <cells num='2'>
        <cell id='0'>
          <memory unit='KiB'>1048576</memory>
          <pages unit='KiB' size='4'>262144</pages>
          <pages unit='KiB' size='2048'>16</pages>
          <distances><sibling id='0' value='10'/><sibling id='7' value='32'/></distances>
          <cpus num='2'>
            <cpu id='0' socket_id='0' die_id='0' core_id='0' siblings='0,2'/>
            <cpu id='2' socket_id='0' die_id='0' core_id='0' siblings='0,2'/>
          </cpus>
        </cell>
        <cell id='7'>
          <memory unit='KiB'>2097152</memory>
          <distances><sibling id='0' value='32'/><sibling id='7' value='10'/></distances>
          <cpus num='2'>
            <cpu id='1' socket_id='1' die_id='0' core_id='0' siblings='1'/>
            <cpu id='3'/>
          </cpus>
        </cell>
      </cells>
    </topology>
    <cache>
      <bank id='0' level='3' type='code' size='16' unit='MiB' cpus='0,2'/>
      <bank id='0' level='3' type='data' size='16' unit='MiB' cpus='0,2'/>
      <bank id='9' level='3' type='both' size='32' unit='MiB' cpus='1,3'/>
      <bank id='1' level='2' type='both' size='1' unit='MiB' cpus='1'/>
    </cache>
  </host>
</capabilities>"#;

#[test]
fn libvirt_capabilities_with_a_cpu_switched_off() {
    let host = read(CAPABILITIES).expect("a host");
    let wanted = "online 0-2 allowed 0-2
node 0 [0,2] Some(1024) 0:10 7:32
node 7 [1] Some(2048) 0:32 7:10
packages 0,2 | 1
l3 0,2 | 1
cores 0,2 | 1
pages 4K 2M";
    assert_eq!(summary(&host), wanted);
    assert_eq!(host.topology.offline.to_string(), "3");
    assert_eq!(host.topology.l3_domains[1].size_bytes, Some(32 << 20));
    assert_eq!(host.topology.l3_domains[1].kernel_id, Some(9));
}

#[test]
fn xml_that_says_nothing_or_nonsense_is_an_error() {
    let cases = [
        (HWLOC_2.replace("</topology>", ""), "no well-formed XML"),
        (HWLOC_2.replace("type=\"PU\"", "type=\"Pu\""), "without an object of type PU"),
        (HWLOC_2.replace("os_index=\"3\"", "os_index=\"4294967295\""), "says '4294967295'"),
        (HWLOC_2.replace("0x0000000a", "0xqq"), "'qq' is no hexadecimal mask word"),
        (HWLOC_2.replace("10 21 13", "10 far 13"), "says 'far'"),
        (HWLOC_2.replace("0200 [8086", "0200 8086"), "a pci_type is wanted"),
        (CAPABILITIES.replace("cells", "sells"), "without <topology><cells>"),
        (CAPABILITIES.replace("<cpu id", "<gpu id"), "without a <cpu> in its cells"),
        (CAPABILITIES.replace("siblings='0,2'", "siblings='0-'"), "siblings holds no set"),
        (CAPABILITIES.replace("unit='KiB'>1048576", "unit='acres'>1048576"), "says 'acres'"),
        (CAPABILITIES.replace("socket_id='1'", "socket_id='one'"), "says 'one'"),
    ];
    for (content, named) in cases {
        let error = text(&read(&content).expect_err(named));
        assert!(error.contains("host.xml") && error.contains(named), "{error}");
    }
}
