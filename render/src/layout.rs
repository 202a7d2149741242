//! What a picture of a host shows, before anybody draws it.
//!
//! Packages, nodes and L3 domains are three independent partitions of the CPUs, so the tree below
//! is made of their intersections: a package holds its share of each node, that share holds its
//! share of each L3 domain. Where a share is not the whole, the block says so, and drawing says it
//! too. CPUs that are in no node, no package or no L3 domain get blocks of their own.

use numawise_model::{
    CpuSet, Host, L3Id, Ledger, Mode, Owner, PackageId, Pcpu, Pnode, Topology, Utilisation,
};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLayout {
    pub packages: Vec<PackageBlock>,
    /// Nodes without CPUs: they are in no package.
    pub memory_only: Vec<Pnode>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageBlock {
    /// `None` holds the CPUs that no package claims.
    pub package: Option<PackageId>,
    pub cpus: CpuSet,
    pub nodes: Vec<NodeBlock>,
}

/// A node's CPUs in one package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeBlock {
    /// `None` holds the CPUs that no node claims.
    pub node: Option<Pnode>,
    pub cpus: CpuSet,
    pub share: Share,
    /// The first block of its node: facts of the whole node are shown once, here.
    pub first: bool,
    pub l3: Vec<L3Block>,
}

/// An L3 domain's CPUs in one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L3Block {
    /// `None` holds CPUs whose L3 domain is not described.
    pub l3: Option<L3Id>,
    pub cpus: CpuSet,
    pub share: Share,
    pub size_bytes: Option<u64>,
    /// The block's CPUs by physical core.
    pub cores: Vec<CpuSet>,
}

/// Whether a block is all of the thing it is named after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    Whole,
    /// So many CPUs in all; the others are in another block.
    PartOf(usize),
}

impl Share {
    fn of(part: &CpuSet, whole: &CpuSet) -> Self {
        if whole.is_subset(part) { Self::Whole } else { Self::PartOf(whole.len()) }
    }
}

impl HostLayout {
    pub fn of(topology: &Topology) -> Self {
        let whole: Vec<(PackageId, &CpuSet)> =
            (0..).map(PackageId).zip(topology.packages.iter().map(|p| &p.cpus)).collect();
        let mut seen_nodes = Vec::new();
        let packages = split(&topology.online, &whole)
            .into_iter()
            .map(|(package, cpus)| {
                let nodes = node_blocks(topology, &cpus, &mut seen_nodes);
                PackageBlock { package, cpus, nodes }
            })
            .collect();
        let memory_only = topology.nodes.iter().filter(|n| n.is_memory_only());
        Self { packages, memory_only: memory_only.map(|n| n.id).collect() }
    }

    pub fn l3_blocks(&self) -> impl Iterator<Item = &L3Block> {
        self.packages.iter().flat_map(|p| &p.nodes).flat_map(|n| &n.l3)
    }
}

fn node_blocks(topology: &Topology, within: &CpuSet, seen: &mut Vec<Pnode>) -> Vec<NodeBlock> {
    let whole: Vec<(Pnode, &CpuSet)> = topology.nodes.iter().map(|n| (n.id, &n.cpus)).collect();
    split(within, &whole)
        .into_iter()
        .map(|(node, cpus)| {
            let all = node.and_then(|id| topology.node(id)).map(|n| &n.cpus);
            let first = node.is_none_or(|id| !seen.contains(&id));
            seen.extend(node.filter(|_| first));
            NodeBlock {
                node,
                share: all.map_or(Share::Whole, |all| Share::of(&cpus, all)),
                first,
                l3: l3_blocks(topology, &cpus),
                cpus,
            }
        })
        .collect()
}

fn l3_blocks(topology: &Topology, within: &CpuSet) -> Vec<L3Block> {
    let whole: Vec<(L3Id, &CpuSet)> =
        (0..).map(L3Id).zip(topology.l3_domains.iter().map(|d| &d.cpus)).collect();
    split(within, &whole)
        .into_iter()
        .map(|(l3, cpus)| {
            let domain = l3.and_then(|id| topology.l3_domains.get(id.0 as usize));
            L3Block {
                l3,
                share: domain.map_or(Share::Whole, |d| Share::of(&cpus, &d.cpus)),
                size_bytes: domain.and_then(|d| d.size_bytes),
                cores: cores(topology, &cpus),
                cpus,
            }
        })
        .collect()
}

fn cores(topology: &Topology, within: &CpuSet) -> Vec<CpuSet> {
    let whole: Vec<((), &CpuSet)> = topology.cores.iter().map(|c| ((), &c.cpus)).collect();
    let parts = split(within, &whole).into_iter();
    parts
        .flat_map(|(core, cpus)| match core {
            Some(()) => vec![cpus],
            None => cpus.iter().map(CpuSet::single).collect(),
        })
        .collect()
}

/// The non-empty shares of `within` that the parts have, and last what none of them has. A CPU that
/// two parts name stays with the first, so that it is drawn once.
fn split<K: Copy>(within: &CpuSet, parts: &[(K, &CpuSet)]) -> Vec<(Option<K>, CpuSet)> {
    let mut rest = within.clone();
    let mut shares = Vec::new();
    for (key, cpus) in parts {
        let share = rest.intersection(cpus);
        if !share.is_empty() {
            rest = rest.difference(&share);
            shares.push((Some(*key), share));
        }
    }
    if !rest.is_empty() {
        shares.push((None, rest));
    }
    shares
}

/// Who has a CPU, as a picture marks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    Free,
    /// An index into [`Marks::owners`].
    Exclusive(usize),
    Shared(usize),
    /// Several owners share it.
    SharedBySeveral,
    Reserved,
    /// Free, but the kernel's scheduler leaves it alone.
    Isolated,
    /// A cgroup keeps this process from it.
    NotAllowed,
}

/// The marks of a host's CPUs, and the owners that they point at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub owners: Vec<Owner>,
    by_cpu: BTreeMap<Pcpu, Mark>,
}

impl Marks {
    pub fn of(topology: &Topology, ledger: Option<&Ledger>, reserved: Option<&CpuSet>) -> Self {
        let mut marks = Self::default();
        for cpu in topology.online.iter() {
            let is = |set: Option<&CpuSet>| set.is_some_and(|set| set.contains(cpu));
            let mark = match () {
                () if is(reserved) => Mark::Reserved,
                () if !topology.allowed.cpus.contains(cpu) => Mark::NotAllowed,
                () if is(topology.isolated.as_ref()) => Mark::Isolated,
                () => Mark::Free,
            };
            marks.by_cpu.insert(cpu, mark);
        }
        for claim in ledger.iter().flat_map(|l| &l.claims) {
            marks.claim(&claim.owner, &claim.cpus, claim.mode);
        }
        marks
    }

    fn claim(&mut self, owner: &Owner, cpus: &CpuSet, mode: Mode) {
        if cpus.is_empty() {
            return;
        }
        let known = self.owners.iter().position(|known| known == owner);
        let index = known.unwrap_or(self.owners.len());
        if known.is_none() && *owner != Owner::Reserved {
            self.owners.push(owner.clone());
        }
        for cpu in cpus.iter() {
            let before = self.of_cpu(cpu);
            let mark = match (owner, mode, before) {
                (Owner::Reserved, _, _) => Mark::Reserved,
                (_, Mode::Exclusive, _) => Mark::Exclusive(index),
                (_, Mode::Shared, Mark::Shared(other)) if other != index => Mark::SharedBySeveral,
                (_, Mode::Shared, Mark::SharedBySeveral) => Mark::SharedBySeveral,
                (_, Mode::Shared, _) => Mark::Shared(index),
            };
            self.by_cpu.insert(cpu, mark);
        }
    }

    pub fn of_cpu(&self, cpu: Pcpu) -> Mark {
        self.by_cpu.get(&cpu).copied().unwrap_or(Mark::Free)
    }

    /// Every mark that occurs, in the order of a legend.
    pub fn used(&self) -> Vec<Mark> {
        let mut used: Vec<Mark> = self.by_cpu.values().copied().collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// CPUs with this mark.
    pub fn cpus(&self, wanted: Mark) -> CpuSet {
        self.by_cpu.iter().filter(|(_, mark)| **mark == wanted).map(|(cpu, _)| *cpu).collect()
    }
}

/// The mean use of those CPUs that have been sampled; `None` when none has.
pub fn mean_use(host: &Host, cpus: &CpuSet) -> Option<Utilisation> {
    let used: Vec<u32> = cpus
        .iter()
        .filter_map(|cpu| host.levels.utilisation.get(&cpu))
        .map(|u| u32::from(u.0))
        .collect();
    let mean = used.iter().sum::<u32>().checked_div(used.len() as u32)?;
    u16::try_from(mean).ok().map(Utilisation)
}
