//! Makes sets of what the files say, and settles what they disagree about.
//!
//! The rules, none of them a guess: a map counts before its list; CPUs that are not online are left
//! out of every set; a mask that lacks its own CPU describes that CPU alone; of two sets that
//! overlap the first, by CPU number, keeps what it has. Each is reported.

use crate::facts::RawHost;
use crate::facts::cgroup::CgroupFacts;
use crate::facts::cpus::{MaskFact, PackageFact};
use crate::facts::nodes::NodeFacts;
use numawise_model::finding::SetKind;
use numawise_model::{
    Allowed, Core, CpuSet, Finding, FindingKind, L3Domain, NodeSet, Package, Pnode, Severity,
};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
pub struct Derived {
    pub online: CpuSet,
    pub offline: CpuSet,
    /// Online nodes that have a directory, ascending, with their online CPUs.
    pub nodes: Vec<(Pnode, CpuSet)>,
    pub distances: BTreeMap<Pnode, BTreeMap<Pnode, u32>>,
    pub packages: Vec<Package>,
    pub l3_domains: Vec<L3Domain>,
    pub cores: Vec<Core>,
    pub allowed: Allowed,
    pub findings: Vec<Finding>,
}

pub fn derive(raw: &RawHost) -> Derived {
    let online = raw.cpus.online();
    let mut findings = Findings(raw.findings.clone());
    let nameless = online.difference(&raw.cpus.directories);
    if !nameless.is_empty() {
        findings.warn(FindingKind::OnlineWithoutDirectory { cpus: nameless });
    }
    let nodes = nodes(&raw.nodes, &online, &mut findings);
    let distances = distances(&raw.nodes, &mut findings);
    let node_ids = nodes.iter().map(|(id, _)| *id).collect();
    Derived {
        offline: raw.cpus.offline(),
        packages: packages(raw, &online, &mut findings),
        l3_domains: l3_domains(raw, &online, &mut findings),
        cores: cores(raw, &online, &mut findings),
        allowed: allowed(&raw.cgroup, &online, &node_ids),
        nodes,
        distances,
        online,
        findings: findings.0,
    }
}

struct Findings(Vec<Finding>);

impl Findings {
    fn warn(&mut self, kind: FindingKind) {
        let finding = Finding::host(Severity::Warning, kind);
        if !self.0.contains(&finding) {
            self.0.push(finding);
        }
    }
}

fn nodes(facts: &NodeFacts, online: &CpuSet, findings: &mut Findings) -> Vec<(Pnode, CpuSet)> {
    let missing = facts.online().difference(&facts.directories);
    if !missing.is_empty() {
        findings.warn(FindingKind::NotBelieved {
            file: "sys/devices/system/node/online".to_owned(),
            value: facts.online().to_string(),
            wanted: format!("nodes that have a directory; {missing} have none"),
        });
    }
    let mut nodes = Vec::new();
    for node in &facts.nodes {
        if let (Some(map), Some(list)) = (&node.map, &node.list)
            && map != list
        {
            findings.warn(mismatch(node.file("cpumap"), list, map));
        }
        let cpus = node.cpus();
        let offline = cpus.difference(online);
        if !offline.is_empty() {
            findings
                .warn(FindingKind::MaskNamesOffline { file: node.file("cpumap"), cpus: offline });
        }
        nodes.push((node.id, cpus.intersection(online)));
    }
    nodes
}

/// A row has a column for each online node, ascending. A row of another length cannot be told apart.
fn distances(facts: &NodeFacts, findings: &mut Findings) -> BTreeMap<Pnode, BTreeMap<Pnode, u32>> {
    let columns: Vec<Pnode> = facts.online().iter().collect();
    let mut rows = BTreeMap::new();
    for node in &facts.nodes {
        let Some(row) = &node.distances else { continue };
        if row.len() == columns.len() {
            rows.insert(node.id, columns.iter().copied().zip(row.iter().copied()).collect());
        } else {
            findings.warn(FindingKind::DistanceColumns {
                node: node.id,
                columns: row.len() as u32,
                online_nodes: columns.len() as u32,
            });
        }
    }
    rows
}

fn mismatch(file: String, list: &CpuSet, map: &CpuSet) -> FindingKind {
    FindingKind::ListMapMismatch { file, list: list.to_string(), map: map.to_string() }
}

/// Sets that do not overlap, made from masks in the order of the CPUs that were asked.
struct Partition<'a> {
    kind: SetKind,
    online: &'a CpuSet,
    taken: CpuSet,
    /// What each mask said, to tell a repetition from a contradiction; and all of it together, so
    /// that a host without contradictions is not searched for them.
    said: Vec<CpuSet>,
    said_of: CpuSet,
}

impl<'a> Partition<'a> {
    fn new(kind: SetKind, online: &'a CpuSet) -> Self {
        Self { kind, online, taken: CpuSet::new(), said: Vec::new(), said_of: CpuSet::new() }
    }

    /// The new set that a mask gives; `None` when an earlier one has said the same.
    fn add(&mut self, fact: &MaskFact, findings: &mut Findings) -> Option<CpuSet> {
        if let Some(list) = &fact.differing_list {
            findings.warn(mismatch(fact.file.clone(), list, &fact.mask));
        }
        let offline = fact.mask.difference(self.online);
        if !offline.is_empty() {
            let file = fact.file.clone();
            findings.warn(FindingKind::MaskNamesOffline { file, cpus: offline });
        }
        let mut set = fact.mask.intersection(self.online);
        if !set.contains(fact.cpu) {
            let file = fact.file.clone();
            findings.warn(FindingKind::BadMask { file, cpu: fact.cpu });
            set = CpuSet::single(fact.cpu);
        }
        if !set.is_disjoint(&self.said_of) {
            if self.said.contains(&set) {
                return None;
            }
            if let Some(other) = self.said.iter().find(|other| !other.is_disjoint(&set)) {
                let (a, b) = (other.clone(), set.clone());
                findings.warn(FindingKind::OverlappingSets { what: self.kind, a, b });
            }
        }
        self.said_of.extend(&set);
        self.said.push(set.clone());
        let free = set.difference(&self.taken);
        // A CPU that already has its place does not make a second one for others.
        if self.taken.contains(fact.cpu) || free.is_empty() {
            return None;
        }
        self.taken.extend(&free);
        Some(free)
    }
}

fn cores(raw: &RawHost, online: &CpuSet, findings: &mut Findings) -> Vec<Core> {
    let mut partition = Partition::new(SetKind::Core, online);
    let mut cores: Vec<Core> = raw
        .masks
        .cores
        .iter()
        .filter_map(|fact| partition.add(fact, findings))
        .map(|cpus| Core { cpus })
        .collect();
    cores.sort_by_key(|core| core.cpus.first());
    cores
}

fn l3_domains(raw: &RawHost, online: &CpuSet, findings: &mut Findings) -> Vec<L3Domain> {
    let mut partition = Partition::new(SetKind::L3Domain, online);
    let mut domains = Vec::new();
    for fact in &raw.masks.l3 {
        if let Some(cpus) = partition.add(&fact.mask, findings) {
            let (size_bytes, kernel_id) = (fact.size_bytes, fact.kernel_id);
            domains.push(L3Domain { cpus, size_bytes, kernel_id });
        }
    }
    domains.sort_by_key(|domain| domain.cpus.first());
    domains
}

fn packages(raw: &RawHost, online: &CpuSet, findings: &mut Findings) -> Vec<Package> {
    let mut partition = Partition::new(SetKind::Package, online);
    let mut packages = Vec::new();
    let mut by_id: BTreeMap<i64, CpuSet> = BTreeMap::new();
    for PackageFact { mask, cpu, id } in &raw.masks.packages {
        match (mask, id) {
            (Some(mask), _) => {
                if let Some(cpus) = partition.add(mask, findings) {
                    packages.push(Package { cpus, firmware_id: *id });
                }
            }
            // An id of -1 is "unknown", not a package that all such CPUs share.
            (None, Some(id)) if *id >= 0 => by_id.entry(*id).or_default().insert(*cpu),
            (None, _) => {}
        }
    }
    for (id, cpus) in by_id {
        let cpus = cpus.difference(&partition.taken);
        if !cpus.is_empty() {
            packages.push(Package { cpus, firmware_id: Some(id) });
        }
    }
    packages.sort_by_key(|package| package.cpus.first());
    packages
}

fn allowed(cgroup: &CgroupFacts, online: &CpuSet, nodes: &NodeSet) -> Allowed {
    let mut allowed =
        Allowed { cpus: online.clone(), memory_nodes: nodes.clone(), limited_by: None };
    if let Some((file, cpus)) = &cgroup.cpus {
        allowed.cpus = cpus.intersection(online);
        if allowed.cpus != *online {
            allowed.limited_by = Some(file.clone());
        }
    }
    if let Some((file, memory_nodes)) = &cgroup.memory_nodes {
        allowed.memory_nodes = memory_nodes.intersection(nodes);
        if allowed.memory_nodes != *nodes {
            allowed.limited_by.get_or_insert_with(|| file.clone());
        }
    }
    allowed
}
