//! The host and the guests of these tests. The host: nodes 0 and 1 with CPUs 0-7 and 8-15, 16 GiB
//! each, of which 4 GiB are 2 MiB pages; two more nodes only where a test asks for them.

use numawise_embedded::EmbeddedHypervisor;
use numawise_engine::ports::{Cancel, Depth, Hypervisor, PortError, ShutdownOptions};
use numawise_model::{
    CpuSet, GuestFacts, GuestUuid, Host, HostId, PageCounts, PageSize, Pnode, Vcpu, Vnode,
    parse_list,
};
use numawise_testkit::Shape;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

pub const OPTIONS: ShutdownOptions =
    ShutdownOptions { timeout: Duration::from_secs(1), force: false };

pub const UUID: &str = "5f3f6a0e-2d0c-4f50-9d0b-6d6f6f6c0001";
pub const GIB: u64 = 1 << 30;
pub const BASE: PageSize = PageSize::BASE_4K;

pub struct Scene {
    pub dir: TempDir,
    pub hypervisor: EmbeddedHypervisor,
}

pub fn host() -> Host {
    let mut shape = Shape::two_nodes(8, 16 * GIB);
    shape.hugepages = BTreeMap::from([(PageSize::HUGE_2M, 2048)]);
    shape.host()
}

pub fn open(dir: &Path) -> EmbeddedHypervisor {
    open_with(dir, host())
}

pub fn open_with(dir: &Path, host: Host) -> EmbeddedHypervisor {
    let id = HostId("simulated".to_owned());
    EmbeddedHypervisor::open(dir, host, id).unwrap_or_else(|error| panic!("{error}"))
}

pub fn scene() -> Scene {
    scene_on(host())
}

pub fn scene_on(host: Host) -> Scene {
    let dir = tempfile::tempdir().expect("a directory");
    let hypervisor = open_with(dir.path(), host);
    Scene { dir, hypervisor }
}

/// A guest called `vm` with 4 vCPUs and 2 GiB, and `extra` in it.
pub fn domain(extra: &str) -> String {
    named("vm", UUID, extra)
}

pub fn named(name: &str, uuid: &str, extra: &str) -> String {
    format!(
        "<domain type='kvm'>\n  <name>{name}</name>\n  <uuid>{uuid}</uuid>\n  \
         <memory unit='GiB'>2</memory>\n  <vcpu>4</vcpu>\n  {extra}\n</domain>\n"
    )
}

/// Two cells: vCPUs 0-2 with 1.5 GiB, vCPU 3 with 512 MiB.
pub const CELLS: &str = "<cpu><numa>\
    <cell id='0' cpus='0-2' memory='1536' unit='MiB'/>\
    <cell id='1' cpus='3' memory='524288'/>\
    </numa></cpu>";

pub fn uuid() -> GuestUuid {
    GuestUuid(UUID.to_owned())
}

pub fn cpus(text: &str) -> CpuSet {
    parse_list(text).expect("a list")
}

impl Scene {
    pub fn define(&self, xml: &str) {
        self.hypervisor.define(xml).unwrap_or_else(|error| panic!("{error}"));
    }

    pub fn start(&self, xml: &str) -> GuestFacts {
        self.define(xml);
        self.hypervisor.start(&uuid()).unwrap_or_else(|error| panic!("{error}"));
        self.facts()
    }

    /// What the hypervisor says instead of starting it.
    pub fn start_error(&self, xml: &str) -> String {
        self.define(xml);
        failed(self.hypervisor.start(&uuid()))
    }

    pub fn facts(&self) -> GuestFacts {
        self.hypervisor.observe(&uuid(), Depth::Guest).expect("observing").expect("a running guest")
    }

    pub fn shutdown(&self) -> Result<(), PortError> {
        self.hypervisor.shutdown(&uuid(), OPTIONS, &Cancel::default()).map(drop)
    }
}

/// The text of a refusal, which is always of the kind "the other side said no".
pub fn failed<T>(result: Result<T, PortError>) -> String {
    match result {
        Err(PortError::Failed(text)) => {
            assert!(text.starts_with("simulated host: "), "{text}");
            text
        }
        Err(error) => panic!("another kind of error: {error:?}"),
        Ok(_) => panic!("it succeeded"),
    }
}

/// `N0=..., N1=...` of one size, as numa_maps has it.
pub fn places(pages: &PageCounts, size: PageSize) -> String {
    let by_node = pages.iter().filter_map(|(node, sizes)| Some((node, sizes.get(&size)?)));
    by_node.map(|(node, pages)| format!("N{node}={pages}")).collect::<Vec<_>>().join(" ")
}

pub fn of_cell(facts: &GuestFacts, cell: u32, size: PageSize) -> String {
    let by_vnode = facts.pages_by_vnode.as_ref().expect("pages by vNUMA node");
    places(&by_vnode[&Vnode(cell)], size)
}

pub fn affinities(facts: &GuestFacts) -> Vec<String> {
    (0..4).map(|n| facts.vcpu_affinity[&Vcpu(n)].to_string()).collect()
}

pub fn free_bytes(host: &Host, node: u32) -> u64 {
    host.levels.nodes[&Pnode(node)].memory_free_bytes.expect("known")
}

pub fn free_2m(host: &Host, node: u32) -> u64 {
    host.levels.nodes[&Pnode(node)].hugepages[&PageSize::HUGE_2M].free
}
