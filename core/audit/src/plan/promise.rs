//! What the plan takes: the claims it makes and what it tests before it makes them.

use super::Case;
use numawise_model::placement::EmulatorPolicy;
use numawise_model::{
    CpuSet, FindingKind, Mode, NodeSet, Owner, PageSize, Pnode, Policy, Predicate, Purpose,
    Request, SmtPolicy, Topology, VirtualTopology,
};
use std::collections::BTreeMap;

impl Case<'_> {
    /// A plan for a size alone is never claimed, so nothing is asked of it here.
    pub(super) fn judge_promises(&mut self) {
        if self.plan.guest.is_none() {
            return;
        }
        self.claims_cover();
        self.requires_cpus();
        if let Some(topology) = &self.plan.vnuma {
            self.requires_frozen();
            if self.memory_is_bound() {
                self.claims_memory(topology);
                self.requires_pages(topology);
            }
        }
    }

    fn claims_cover(&mut self) {
        let plan = self.plan;
        let uuid = plan.guest.as_ref().map(|guest| &guest.uuid);
        let mut held = CpuSet::new();
        for claim in &plan.claims {
            let own = matches!(&claim.owner, Owner::Guest { uuid: u, .. } if Some(u) == uuid);
            if !own {
                self.broken("claims-cover", format!("claim {} is for another", claim.id));
            }
            if claim.purpose == Purpose::Vcpus {
                held.extend(&claim.cpus);
                if claim.mode != plan.binding.mode {
                    let detail = format!("claim {} is {}", claim.id, mode(claim.mode));
                    self.broken("claims-cover", detail);
                }
            } else if claim.mode == Mode::Exclusive
                && !claim.cpus.is_empty()
                && !self.has_own_emulator(&claim.cpus)
            {
                let detail = format!("claim {} takes more than the vCPUs need", claim.id);
                self.broken("claims-cover", detail);
            }
        }
        let (bound, wanted) = (plan.binding.pcpus(), self.cpus_taken());
        if held != wanted {
            let idle = wanted.difference(&bound);
            let idle = match idle.is_empty() {
                true => String::new(),
                false => format!(" and their siblings {idle} are to be idle"),
            };
            let detail = format!("pCPUs {bound} are bound{idle}, {held} are claimed");
            self.broken("claims-cover", detail);
        }
    }

    /// One pCPU for the emulator alone, where that was asked for.
    fn has_own_emulator(&self, cpus: &CpuSet) -> bool {
        let asked = matches!(&self.plan.request.policy,
            Policy::Best(best) if best.emulator == EmulatorPolicy::Isolate);
        asked && cpus.len() == 1
    }

    /// What the guest takes: the pCPUs that its vCPUs are bound to and, where the request wants
    /// cores to itself, the other threads of those cores, which stay idle.
    pub(super) fn cpus_taken(&self) -> CpuSet {
        let bound = self.plan.binding.pcpus();
        let alone = self.plan.binding.mode == Mode::Exclusive;
        if alone && wants_idle_siblings(&self.plan.request) {
            whole_cores(&self.host.topology, &bound)
        } else {
            bound
        }
    }

    fn claims_memory(&mut self, topology: &VirtualTopology) {
        let mut claimed: BTreeMap<(Pnode, PageSize), u64> = BTreeMap::new();
        for claim in &self.plan.claims {
            for (node, sizes) in &claim.pages {
                for (size, pages) in sizes.iter().filter(|(_, pages)| **pages > 0) {
                    *claimed.entry((pool_of(topology, *node), *size)).or_default() += pages;
                }
            }
        }
        let wanted = self.pages_wanted(topology);
        if claimed != wanted {
            let detail = format!("{} are wanted, {} claimed", shown(&wanted), shown(&claimed));
            self.broken("claims-memory", detail);
        }
    }

    /// Pages of the size that was asked for, per node, or per lowest of the nodes that a vNUMA node
    /// takes its memory from together.
    pub(super) fn pages_wanted(
        &self,
        topology: &VirtualTopology,
    ) -> BTreeMap<(Pnode, PageSize), u64> {
        let size = self.plan.request.page_size;
        let mut wanted = BTreeMap::new();
        for node in &topology.nodes {
            let pages = node.memory_bytes / size.bytes().max(1);
            *wanted.entry((pool_of(topology, node.memory_node()), size)).or_default() += pages;
        }
        wanted.retain(|_, pages| *pages > 0);
        wanted
    }

    fn requires_cpus(&mut self) {
        let plan = self.plan;
        let mut tested = CpuSet::new();
        for predicate in &plan.requires {
            if let Predicate::CpusUnclaimed { cpus, mode } = predicate
                && *mode == plan.binding.mode
            {
                tested.extend(cpus);
            }
        }
        let untested = self.cpus_taken().difference(&tested);
        if !untested.is_empty() {
            self.broken("requires-cover", format!("pCPUs {untested} are not tested again"));
        }
    }

    fn requires_pages(&mut self, topology: &VirtualTopology) {
        for ((node, size), pages) in self.pages_wanted(topology) {
            let tested = self.plan.requires.iter().filter_map(|predicate| match predicate {
                Predicate::PagesAvailable { node: n, size: s, pages }
                    if pool_of(topology, *n) == node && *s == size =>
                {
                    Some(*pages)
                }
                _ => None,
            });
            let unchecked = FindingKind::MemoryUnchecked { node };
            if tested.sum::<u64>() < pages
                && !self.plan.findings.iter().any(|known| known.kind == unchecked)
            {
                let detail = format!("{pages} pages of {size} on node {node} are not tested again");
                self.broken("requires-cover", detail);
            }
        }
    }

    fn requires_frozen(&mut self) {
        let wanted = self.frozen.is_some();
        let tested = self.plan.requires.iter().any(|predicate| {
            matches!(predicate, Predicate::FrozenTopology { digest } if digest.is_some() == wanted)
        });
        if !tested {
            self.broken("requires-cover", "the frozen topology is not tested again".to_owned());
        }
    }
}

/// Whether the request asks for cores of which only one thread is used.
fn wants_idle_siblings(request: &Request) -> bool {
    matches!(&request.policy, Policy::Best(best) if best.smt == SmtPolicy::Isolate)
}

/// These CPUs with every other thread of their cores.
fn whole_cores(topology: &Topology, cpus: &CpuSet) -> CpuSet {
    let mut whole = CpuSet::new();
    for cpu in cpus.iter() {
        whole.extend(&topology.siblings(cpu));
    }
    whole
}

fn shown(pages: &BTreeMap<(Pnode, PageSize), u64>) -> String {
    let each = pages.iter().map(|((node, size), n)| format!("{n} x {size} on node {node}"));
    let all: Vec<String> = each.collect();
    if all.is_empty() { "no pages".to_owned() } else { all.join(", ") }
}

/// The lowest of the nodes that memory is taken from together with this one.
pub(super) fn pool_of(topology: &VirtualTopology, node: Pnode) -> Pnode {
    pool_with(topology, node).first().unwrap_or(node)
}

/// All nodes that memory is taken from together with this one: directly, or by way of a vNUMA node
/// that takes from both.
pub(super) fn pool_with(topology: &VirtualTopology, node: Pnode) -> NodeSet {
    let mut pool = NodeSet::single(node);
    loop {
        let before = pool.len();
        for vnode in &topology.nodes {
            if !vnode.memory_nodes.is_disjoint(&pool) {
                pool.extend(&vnode.memory_nodes);
            }
        }
        if pool.len() == before {
            return pool;
        }
    }
}

/// For the details of a finding.
pub(super) fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "exclusive",
        Mode::Shared => "shared",
    }
}

#[cfg(test)]
mod tests {
    use super::whole_cores;
    use numawise_model::{CpuSet, Pcpu};
    use numawise_testkit::{Numbering, Shape};

    /// Cores of two threads: 0 and 8, 1 and 9, ...; the claim of a guest that wants their siblings
    /// idle is exactly that and neither a thread less nor a core more.
    #[test]
    fn idle_siblings_are_those_of_the_cores_that_are_bound() {
        let shape = Shape { threads: 2, ..Shape::two_nodes(4, 1 << 30) };
        assert_eq!(shape.numbering, Numbering::SiblingsApart);
        let topology = shape.host().topology;
        let set = |all: &[u32]| all.iter().copied().map(Pcpu).collect::<CpuSet>();
        assert_eq!(whole_cores(&topology, &set(&[0, 1])), set(&[0, 1, 8, 9]));
        assert_eq!(whole_cores(&topology, &set(&[0, 8])), set(&[0, 8]));
        assert_eq!(whole_cores(&topology, &CpuSet::new()), CpuSet::new());
    }
}
