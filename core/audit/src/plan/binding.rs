//! Which pCPUs the vCPUs are bound to, and whose those are.

use super::Case;
use super::matching::too_few;
use super::promise::mode;
use crate::ledger::same_owner;
use numawise_model::{
    Best, CpuSet, FindingKind, Mode, Owner, Policy, Severity, SmtPolicy, Vcpu, VcpuSet,
};

impl Case<'_> {
    pub(super) fn judge_binding(&mut self) {
        self.complete();
        self.as_asked();
        self.usable();
        self.within_pools();
        self.nobody_elses();
        self.overcommit();
        self.isolated();
        self.siblings_of_others();
        if self.plan.request.vnuma {
            self.one_node_each();
        }
    }

    fn complete(&mut self) {
        let all = VcpuSet::range(0, self.plan.request.vcpus.saturating_sub(1));
        let bound: VcpuSet = self
            .plan
            .binding
            .cpus
            .iter()
            .filter(|(_, cpus)| !cpus.is_empty())
            .map(|(vcpu, _)| *vcpu)
            .collect();
        let missing = all.difference(&bound);
        if !missing.is_empty() {
            self.broken("binding-complete", format!("vCPUs {missing} are not bound"));
        }
        let named: VcpuSet = self.plan.binding.cpus.keys().copied().collect();
        let surplus = named.difference(&all);
        if !surplus.is_empty() {
            let detail = format!("vCPUs {surplus} are bound, and the guest does not have them");
            self.broken("binding-complete", detail);
        }
    }

    fn as_asked(&mut self) {
        let plan = self.plan;
        if plan.request.shared != (plan.binding.mode == Mode::Shared) {
            self.broken("as-asked", format!("the binding is {}", mode(plan.binding.mode)));
        }
        for (vcpu, cpus) in &plan.binding.cpus {
            let (wanted, exact) = match &plan.request.policy {
                Policy::Smart | Policy::Unbound => continue,
                Policy::Best(best) => {
                    self.as_the_search_was_asked(best, *vcpu, cpus);
                    continue;
                }
                Policy::Rules(rules) => {
                    let mut wanted = CpuSet::new();
                    for rule in rules.iter().filter(|rule| rule.vcpus.contains(*vcpu)) {
                        wanted.extend(&rule.pcpus);
                    }
                    (wanted, true)
                }
                Policy::OnNode(nodes) => (self.cpus_of_nodes_given(nodes, *vcpu), false),
            };
            let kept = if exact { *cpus == wanted } else { cpus.is_subset(&wanted) };
            if !kept {
                let detail = format!("vCPU {vcpu} is on pCPUs {cpus}, and was given {wanted}");
                self.broken("as-asked", detail);
            }
        }
    }

    /// The search binds one to one, and keeps its SMT policy.
    fn as_the_search_was_asked(&mut self, best: &Best, vcpu: Vcpu, cpus: &CpuSet) {
        if cpus.len() != 1 {
            self.broken("as-asked", format!("vCPU {vcpu} is on pCPUs {cpus}, not on one"));
        }
        let Some(cpu) = cpus.first() else { return };
        let core = self.host.topology.siblings(cpu);
        let own = self.plan.binding.pcpus().intersection(&core).len();
        let odd = self.plan.request.vcpus % 2 == 1 || self.vnode_is_odd(vcpu);
        let kept = match best.smt {
            SmtPolicy::Isolate => own == 1,
            SmtPolicy::Require => core.len() > 1 && (own > 1 || odd),
            SmtPolicy::Prefer | SmtPolicy::Avoid => true,
        };
        if !kept {
            let detail = format!("vCPU {vcpu} on pCPU {cpu} is against the SMT policy");
            self.broken("as-asked", detail);
        }
    }

    fn vnode_is_odd(&self, vcpu: Vcpu) -> bool {
        let nodes = self.plan.vnuma.iter().flat_map(|vnuma| &vnuma.nodes);
        let mut homes = nodes.filter(|node| node.vcpus.contains(vcpu));
        homes.next().is_none_or(|node| node.vcpus.len() % 2 == 1)
    }

    fn cpus_of_nodes_given(
        &self,
        nodes: &[(numawise_model::Pnode, VcpuSet)],
        vcpu: Vcpu,
    ) -> CpuSet {
        let mut cpus = CpuSet::new();
        for (id, _) in nodes.iter().filter(|(_, vcpus)| vcpus.contains(vcpu)) {
            if let Some(node) = self.host.topology.node(*id) {
                cpus.extend(&node.cpus);
            }
        }
        cpus
    }

    fn usable(&mut self) {
        let used = self.plan.binding.pcpus();
        let topology = &self.host.topology;
        let offline = used.difference(&topology.online);
        let forbidden = used.difference(&topology.allowed.cpus).difference(&offline);
        if !offline.is_empty() {
            self.broken("cpus-online", format!("pCPUs {offline} are not online"));
        }
        if !forbidden.is_empty() {
            self.broken("cpus-allowed", format!("pCPUs {forbidden} are not allowed here"));
        }
    }

    fn one_node_each(&mut self) {
        for (vcpu, cpus) in &self.plan.binding.cpus {
            let mut homes: Vec<_> = cpus.iter().map(|c| self.host.topology.node_of(c)).collect();
            homes.dedup();
            if homes.len() > 1 || homes.contains(&None) {
                let detail = format!("vCPU {vcpu} on pCPUs {cpus} is not within one node");
                self.broken("one-node", detail);
            }
        }
    }

    fn within_pools(&mut self) {
        let used = self.plan.binding.pcpus();
        let pool = match self.plan.binding.mode {
            Mode::Exclusive => &self.pools.dedicated,
            Mode::Shared => &self.pools.shared,
        };
        let outside = pool.as_ref().map(|pool| used.difference(pool)).unwrap_or_default();
        if !outside.is_empty() {
            self.broken("in-pool", format!("pCPUs {outside} are outside the set for such guests"));
        }
        let reserved = used.intersection(&self.pools.reserved);
        if reserved.is_empty() {
            return;
        }
        // The published rule may take them, and whoever writes a rule names its pCPUs himself; a
        // choice of nodes leaves them out.
        if matches!(self.plan.request.policy, Policy::OnNode(_) | Policy::Best(_)) {
            self.broken("in-pool", format!("pCPUs {reserved} are reserved for the host"));
        } else {
            self.remark(Severity::Warning, FindingKind::UsesReservedCpus { cpus: reserved });
        }
    }

    fn nobody_elses(&mut self) {
        let used = self.cpus_taken();
        let exclusive = self.plan.binding.mode == Mode::Exclusive;
        let mut shared_cpus = CpuSet::new();
        let mut shared_with: Vec<Owner> = Vec::new();
        for claim in &self.others.claims {
            let cpus = claim.cpus.intersection(&used);
            if cpus.is_empty() {
                continue;
            }
            if exclusive || claim.mode == Mode::Exclusive {
                let with = claim.owner.clone();
                self.error(FindingKind::ExclusiveCpusShared { cpus, with });
            } else {
                shared_cpus.extend(&cpus);
                if !shared_with.iter().any(|known| same_owner(known, &claim.owner)) {
                    shared_with.push(claim.owner.clone());
                }
            }
        }
        if !shared_with.is_empty() {
            let kind = FindingKind::SharesCpus { cpus: shared_cpus, with: shared_with };
            self.remark(Severity::Warning, kind);
        }
    }

    fn overcommit(&mut self) {
        let Some(short) = too_few(&self.plan.binding.cpus) else { return };
        if !self.plan.request.overcommit {
            let detail = format!("vCPUs {} have only pCPUs {}", short.vcpus, short.cpus);
            self.broken("overcommit-asked", detail);
            return;
        }
        let kind = FindingKind::Overcommitted { cpus: short.cpus, vcpus: short.vcpus };
        self.remark(Severity::Warning, kind);
    }

    fn isolated(&mut self) {
        let Some(isolated) = &self.host.topology.isolated else { return };
        let used = self.plan.binding.pcpus().intersection(isolated);
        if !used.is_empty() {
            self.remark(Severity::Info, FindingKind::UsesIsolatedCpus { cpus: used });
        }
        for (vcpu, cpus) in &self.plan.binding.cpus {
            let cpus = if cpus.len() > 1 { cpus.intersection(isolated) } else { continue };
            if !cpus.is_empty() {
                let kind = FindingKind::IsolatedInWideMask { vcpu: *vcpu, cpus };
                self.remark(Severity::Warning, kind);
            }
        }
    }

    /// A core whose other thread is somebody else's alone is half a core.
    fn siblings_of_others(&mut self) {
        let used = self.plan.binding.pcpus();
        for cpu in used.iter() {
            for sibling in self.host.topology.siblings(cpu).difference(&used).iter() {
                let owner = self
                    .others
                    .claims
                    .iter()
                    .find(|c| c.mode == Mode::Exclusive && c.cpus.contains(sibling))
                    .map(|claim| claim.owner.clone());
                if let Some(owner) = owner {
                    let kind = FindingKind::SmtSiblingOfAnother { cpu, sibling, owner };
                    self.remark(Severity::Warning, kind);
                }
            }
        }
    }
}
