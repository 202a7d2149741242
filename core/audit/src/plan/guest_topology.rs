//! The sockets, dies, cores and threads that the guest is shown.

use super::Case;
use numawise_model::{
    CpuSet, FindingKind, GuestCpuTopology, Severity, Vcpu, VcpuSet, VirtualTopology, Vnode,
};

impl Case<'_> {
    pub(super) fn judge_guest_topology(&mut self, topology: &VirtualTopology) {
        self.frozen_kept(topology);
        let vcpus = self.plan.request.vcpus;
        let cpu = topology.cpu;
        if cpu.vcpus() != Some(vcpus) || vcpus == 0 {
            let GuestCpuTopology { sockets, dies, clusters, cores, threads } = cpu;
            let detail = format!(
                "{sockets} sockets x {dies} dies x {clusters} clusters x {cores} cores x {threads} \
                 threads for {vcpus} vCPUs"
            );
            self.broken("topology-product", detail);
            return;
        }
        let keeps_frozen = self.keeps_frozen(topology);
        if let Some(cap) = self.plan.request.max_sockets
            && cpu.sockets > cap
            && !keeps_frozen
        {
            self.broken("max-sockets", format!("{} sockets, at most {cap}", cpu.sockets));
        }
        self.no_crossing(topology);
        self.l3_picture(topology);
        if !keeps_frozen {
            self.threads_are_siblings(topology);
        }
    }

    fn frozen_kept(&mut self, topology: &VirtualTopology) {
        let may_change = self.plan.request.new_topology || self.frozen.is_none();
        if !may_change && !self.keeps_frozen(topology) {
            self.broken("frozen", "the guest would see another topology".to_owned());
        }
    }

    /// vCPUs fill threads, cores, clusters, dies and sockets in order, so a package of the guest is a
    /// run of neighbouring vCPUs.
    fn no_crossing(&mut self, topology: &VirtualTopology) {
        let forced = self.plan.request.max_sockets.is_some() || self.keeps_frozen(topology);
        let vcpus = self.plan.request.vcpus;
        let dies = dies_of_the_guest(topology, vcpus);
        for part in dies.into_iter().chain(packages_of_the_guest(topology, vcpus)) {
            let Some(vnode) = crossed(topology, &part) else { continue };
            if forced {
                let sockets = topology.cpu.sockets;
                let kind = FindingKind::MaxSocketsCrossesNodes { sockets, vnode };
                self.remark(Severity::Warning, kind);
                return;
            }
            let detail = format!("the package or L3 of vCPUs {part} crosses vNUMA node {vnode}");
            self.broken("no-crossing", detail);
        }
    }

    /// Two vCPUs that believe to share a cache should share one.
    fn l3_picture(&mut self, topology: &VirtualTopology) {
        let host = &self.host.topology;
        if host.l3_domains.is_empty() {
            return;
        }
        let dies = dies_of_the_guest(topology, self.plan.request.vcpus);
        let spread = dies.iter().any(|part| domains_under(host, &self.cpus_of(part)) > 1);
        if spread {
            let kind = FindingKind::GuestL3Differs {
                host_domains: domains_under(host, &self.plan.binding.pcpus()) as u32,
                guest_domains: dies.len() as u32,
            };
            self.remark(Severity::Warning, kind);
        }
    }

    fn threads_are_siblings(&mut self, topology: &VirtualTopology) {
        let threads = topology.cpu.threads;
        if threads < 2 {
            return;
        }
        for group in runs(self.plan.request.vcpus, threads) {
            let cpus = self.cpus_of(&group);
            let cores: Vec<_> = cpus.iter().map(|cpu| self.host.topology.core_of(cpu)).collect();
            let one_core = cores
                .first()
                .is_some_and(|first| first.is_some() && cores.iter().all(|core| core == first));
            if !one_core || cpus.len() < threads as usize {
                let detail = format!("vCPUs {group} are threads of a core, pCPUs {cpus} are not");
                self.broken("threads-siblings", detail);
            }
        }
    }

    fn cpus_of(&self, vcpus: &VcpuSet) -> CpuSet {
        let mut cpus = CpuSet::new();
        for vcpu in vcpus.iter() {
            if let Some(more) = self.plan.binding.cpus.get(&vcpu) {
                cpus.extend(more);
            }
        }
        cpus
    }
}

/// The vCPUs of each guest die: where the guest believes that an L3 ends. No package is smaller.
fn dies_of_the_guest(topology: &VirtualTopology, vcpus: u32) -> Vec<VcpuSet> {
    runs(vcpus, vcpus / topology.cpu.sockets.saturating_mul(topology.cpu.dies).max(1))
}

fn packages_of_the_guest(topology: &VirtualTopology, vcpus: u32) -> Vec<VcpuSet> {
    runs(vcpus, vcpus / topology.cpu.sockets.max(1))
}

/// Neighbouring vCPUs in runs of equal length.
fn runs(vcpus: u32, length: u32) -> Vec<VcpuSet> {
    let length = length.max(1);
    let firsts = (0..vcpus).step_by(length as usize);
    firsts.map(|first| VcpuSet::range(first, (first + length).min(vcpus) - 1)).collect()
}

/// The first vNUMA node that has some of these vCPUs, and not all.
fn crossed(topology: &VirtualTopology, part: &VcpuSet) -> Option<Vnode> {
    let first: Vcpu = part.first()?;
    let node = topology.nodes.iter().find(|node| node.vcpus.contains(first))?;
    (!part.is_subset(&node.vcpus)).then_some(node.id)
}

fn domains_under(host: &numawise_model::Topology, cpus: &CpuSet) -> usize {
    host.l3_domains.iter().filter(|domain| !domain.cpus.is_disjoint(cpus)).count()
}
