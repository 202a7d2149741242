//! The guest's helper threads, and the guest that the plan is for.

use super::Case;
use numawise_model::guest::Balloon;
use numawise_model::{CpuSet, FindingKind, GuestConfig, GuestFix, Mode, VirtualTopology};

impl Case<'_> {
    pub(super) fn judge_surroundings(&mut self) {
        self.helpers();
        if let Some(topology) = &self.plan.vnuma {
            self.emulator_reaches_memory(topology);
        }
        if let Some(guest) = self.guest {
            self.size(guest);
            self.known_iothreads(guest);
            if self.plan.vnuma.is_some() {
                self.fit_for_vnuma(guest);
            }
        }
    }

    fn helpers(&mut self) {
        let plan = self.plan;
        let sets = plan.helpers.emulator.iter().chain(plan.helpers.iothreads.values());
        let mut used = CpuSet::new();
        for cpus in sets {
            if cpus.is_empty() {
                self.broken("helpers-online", "a helper thread has no pCPU".to_owned());
            }
            used.extend(cpus);
        }
        let topology = &self.host.topology;
        let away = used.difference(&topology.online.intersection(&topology.allowed.cpus));
        if !away.is_empty() {
            let detail = format!("pCPUs {away} are not online or not allowed here");
            self.broken("helpers-online", detail);
        }
        for claim in self.others.claims.iter().filter(|c| c.mode == Mode::Exclusive) {
            let cpus = claim.cpus.intersection(&used);
            if !cpus.is_empty() {
                let with = claim.owner.clone();
                self.error(FindingKind::ExclusiveCpusShared { cpus, with });
            }
        }
    }

    /// QEMU's main thread takes the hugepages at start, from where it may run.
    fn emulator_reaches_memory(&mut self, topology: &VirtualTopology) {
        let Some(emulator) = &self.plan.helpers.emulator else { return };
        if !self.plan.request.page_size.is_huge() {
            return;
        }
        let mut judged = Vec::new();
        for vnode in &topology.nodes {
            // From one of several nodes all of the memory can be reached.
            let nodes = vnode.memory_nodes.iter().filter_map(|id| self.host.topology.node(id));
            let nodes: Vec<_> = nodes.filter(|node| !node.cpus.is_empty()).collect();
            let lacks = !nodes.is_empty() && nodes.iter().all(|n| n.cpus.is_disjoint(emulator));
            let node = vnode.memory_node();
            if lacks && !judged.contains(&node) {
                judged.push(node);
                self.error(FindingKind::EmulatorLacksMemoryNode { node });
            }
        }
    }

    fn size(&mut self, guest: &GuestConfig) {
        let request = &self.plan.request;
        if request.vcpus != guest.vcpus_max {
            let detail = format!("for {} vCPUs, and it has {}", request.vcpus, guest.vcpus_max);
            self.broken("guest-size", detail);
        }
        if request.vnuma && request.memory_bytes != guest.memory_bytes {
            let detail =
                format!("for {} B, and it has {} B", request.memory_bytes, guest.memory_bytes);
            self.broken("guest-size", detail);
        }
    }

    fn known_iothreads(&mut self, guest: &GuestConfig) {
        let unknown: Vec<u32> = self
            .plan
            .helpers
            .iothreads
            .keys()
            .copied()
            .filter(|id| !guest.iothreads.contains(id))
            .collect();
        if !unknown.is_empty() {
            self.broken("iothreads-known", format!("the guest has no I/O threads {unknown:?}"));
        }
    }

    fn fit_for_vnuma(&mut self, guest: &GuestConfig) {
        let unfit = [
            (guest.vcpus_current < guest.vcpus_max, GuestFix::AllVcpusAtBoot, "vCPU hot-plug"),
            (guest.max_memory.is_some(), GuestFix::NoMemoryHotplug, "memory hot-plug"),
            (guest.balloon != Balloon::Off, GuestFix::BalloonOff, "a memory balloon"),
            (guest.placement_auto, GuestFix::StaticPlacement, "automatic placement"),
        ];
        for (stands, fix, what) in unfit {
            if stands && !self.plan.fixes.contains(&fix) {
                self.broken("guest-fit", format!("{what} stays"));
            }
        }
    }
}
