//! Hosts made from a few integers, the test bed of real ones, and database servers; for tests only.

pub mod servers;
pub mod sysfs_tree;
pub mod testbed;

use numawise_model::{
    Allowed, Core, CpuSet, Host, L3Domain, Levels, Node, NodeLevels, NodeSet, Package, PageSize,
    Pcpu, Pnode, Topology,
};
use std::collections::BTreeMap;

/// The shape of a host whose parts are all alike.
#[derive(Clone, Debug)]
pub struct Shape {
    pub packages: u32,
    pub nodes_per_package: u32,
    pub l3_per_node: u32,
    pub cores_per_l3: u32,
    pub threads: u32,
    pub numbering: Numbering,
    pub node_bytes: u64,
    /// Hugepages per node, all free.
    pub hugepages: BTreeMap<PageSize, u64>,
}

/// How the kernel numbers SMT siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// 0-1, 2-3, ...
    SiblingsAdjacent,
    /// 0 and n, 1 and n+1, ...: what x86 servers do.
    SiblingsApart,
}

impl Shape {
    /// Two packages, one node and one L3 each: `cores` single-thread cores a node.
    pub fn two_nodes(cores: u32, node_bytes: u64) -> Self {
        Self {
            packages: 2,
            nodes_per_package: 1,
            l3_per_node: 1,
            cores_per_l3: cores,
            threads: 1,
            numbering: Numbering::SiblingsApart,
            node_bytes,
            hugepages: BTreeMap::new(),
        }
    }

    fn cores(&self) -> u32 {
        self.packages * self.nodes_per_package * self.l3_per_node * self.cores_per_l3
    }

    fn core_cpus(&self, core: u32) -> CpuSet {
        let cpu = |thread| match self.numbering {
            Numbering::SiblingsAdjacent => core * self.threads + thread,
            Numbering::SiblingsApart => core + thread * self.cores(),
        };
        (0..self.threads).map(|t| Pcpu(cpu(t))).collect()
    }

    fn group(&self, index: u32, cores_each: u32) -> CpuSet {
        let mut cpus = CpuSet::new();
        for core in index * cores_each..(index + 1) * cores_each {
            cpus.extend(&self.core_cpus(core));
        }
        cpus
    }

    /// The host, everything free. Distances: 10 at home, 12 in the package, 21 (or 32 with several
    /// nodes a package) across.
    pub fn host(&self) -> Host {
        let nodes = self.packages * self.nodes_per_package;
        let cores_per_node = self.l3_per_node * self.cores_per_l3;
        let across = if self.nodes_per_package > 1 { 32 } else { 21 };
        let distance = |a: u32, b: u32| match () {
            () if a == b => 10,
            () if a / self.nodes_per_package == b / self.nodes_per_package => 12,
            () => across,
        };
        let online = CpuSet::range(0, self.cores() * self.threads - 1);
        let mut page_sizes = vec![PageSize::BASE_4K];
        page_sizes.extend([PageSize::HUGE_2M, PageSize::HUGE_1G]);
        let topology = Topology {
            model_name: Some("synthetic".to_owned()),
            architecture: Some("x86_64".to_owned()),
            online: online.clone(),
            possible: Some(online.clone()),
            isolated: Some(CpuSet::new()),
            nohz_full: Some(CpuSet::new()),
            nodes: (0..nodes)
                .map(|n| Node {
                    id: Pnode(n),
                    cpus: self.group(n, cores_per_node),
                    memory_total_bytes: Some(self.node_bytes),
                    distances: (0..nodes).map(|m| (Pnode(m), distance(n, m))).collect(),
                })
                .collect(),
            packages: (0..self.packages)
                .map(|p| Package {
                    cpus: self.group(p, cores_per_node * self.nodes_per_package),
                    firmware_id: Some(i64::from(p)),
                })
                .collect(),
            l3_domains: (0..nodes * self.l3_per_node)
                .map(|d| L3Domain {
                    cpus: self.group(d, self.cores_per_l3),
                    size_bytes: Some(32 << 20),
                    kernel_id: Some(d),
                })
                .collect(),
            cores: (0..self.cores()).map(|c| Core { cpus: self.core_cpus(c) }).collect(),
            allowed: Allowed {
                cpus: online,
                memory_nodes: (0..nodes).map(Pnode).collect::<NodeSet>(),
                limited_by: None,
            },
            page_sizes,
            memory_total_bytes: Some(self.node_bytes * u64::from(nodes)),
            ..Topology::default()
        };
        Host { topology, levels: self.levels(nodes), findings: Vec::new() }
    }

    fn levels(&self, nodes: u32) -> Levels {
        use numawise_model::HugepageLevels;
        let pool = |&total: &u64| HugepageLevels { total, free: total, reserved: None };
        let huge_bytes: u64 = self.hugepages.iter().map(|(size, n)| size.bytes() * n).sum();
        let free = self.node_bytes.saturating_sub(huge_bytes);
        let node = NodeLevels {
            memory_free_bytes: Some(free),
            memory_available_bytes: Some(free),
            hugepages: self.hugepages.iter().map(|(size, n)| (*size, pool(n))).collect(),
        };
        Levels {
            nodes: (0..nodes).map(|n| (Pnode(n), node.clone())).collect(),
            utilisation: BTreeMap::new(),
        }
    }
}
