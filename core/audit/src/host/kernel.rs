//! What the host's kernel does beside its guests. What was not read is passed over: the caller
//! tells of it.

use super::Case;
use crate::ledger::{of_owner, same_owner};
use numawise_model::{CpuSet, FindingKind, Interrupt, Ksm, Owner, Severity};

/// Bit 0 of `kernel.numa_balancing`; bit 1 alone demotes cold pages to slower memory.
const BALANCING_NORMAL: u32 = 1;

impl Case<'_> {
    pub(super) fn kernel(&mut self) {
        self.interrupts();
        self.kernel_threads();
        self.workqueues();
        if self.nodes_with_memory() > 1 {
            self.switches();
        }
    }

    fn nodes_with_memory(&self) -> usize {
        self.host().topology.nodes.iter().filter(|node| node.has_memory()).count()
    }

    fn switches(&mut self) {
        let around = self.audited.surroundings;
        let host = self.host();
        let is_pinned = self.audited.guests.iter().any(|guest| !guest.masks(host).is_empty());
        if is_pinned && around.numa_balancing.as_ref().is_ok_and(|v| v & BALANCING_NORMAL != 0) {
            self.on_host(Severity::Warning, FindingKind::NumaBalancingOn);
        }
        if let Ok(Ksm { is_running: true, merges_across_nodes }) = &around.ksm
            && merges_across_nodes.is_none_or(|merges| merges)
        {
            self.on_host(Severity::Warning, FindingKind::KsmMergesAcrossNodes);
        }
        if let Ok(mode) = around.zone_reclaim_mode
            && mode != 0
        {
            self.on_host(Severity::Warning, FindingKind::ZoneReclaimOn { mode });
        }
    }

    /// Interrupts that came, that somebody can move, and that go to CPUs of one owner alone.
    fn interrupts(&mut self) {
        let Ok(interrupts) = &self.audited.surroundings.interrupts else { return };
        for (owner, alone) in self.alone() {
            let (mut cpus, mut names) = (CpuSet::new(), Vec::new());
            for interrupt in interrupts.iter().filter(|i| i.fired > 0 && !i.kernel_managed) {
                let here = interrupt.cpus().map(|cpus| self.hit(interrupt, cpus, &alone));
                let Some(here) = here.filter(|here| !here.is_empty()) else { continue };
                if !self.is_of_own_device(interrupt, &owner) {
                    cpus.extend(&here);
                    names.push(format!("{} ({})", interrupt.number, interrupt.name));
                }
            }
            if !names.is_empty() {
                let kind = FindingKind::InterruptsOnPinnedCpus { cpus, interrupts: names };
                self.findings.push(of_owner(&owner, Severity::Warning, kind));
            }
        }
    }

    /// Where the kernel says only where an interrupt may go, it is told if it can go nowhere else.
    fn hit(&self, interrupt: &Interrupt, cpus: &CpuSet, alone: &CpuSet) -> CpuSet {
        let is_known = interrupt.effective.as_ref().is_some_and(|cpus| !cpus.is_empty());
        let online = cpus.intersection(&self.host().topology.online);
        if is_known || online.is_subset(alone) { online.intersection(alone) } else { CpuSet::new() }
    }

    /// Interrupts of a device that was passed through to the guest are the guest's own work.
    fn is_of_own_device(&self, interrupt: &Interrupt, owner: &Owner) -> bool {
        let guest = self.audited.guests.iter().find(|guest| same_owner(&guest.owner(), owner));
        guest.is_some_and(|guest| {
            guest.config().host_devices.iter().any(|address| interrupt.name.contains(address))
        })
    }

    /// Threads that may run on such CPUs and elsewhere are worth knowing of; those that may run
    /// nowhere else will run there. An interrupt's thread follows the interrupt.
    fn kernel_threads(&mut self) {
        let Ok(threads) = &self.audited.surroundings.kernel_threads else { return };
        let alone = self.all_alone();
        let online = &self.host().topology.online;
        let mut sorts = [(true, CpuSet::new(), Vec::new()), (false, CpuSet::new(), Vec::new())];
        for thread in threads.iter().filter(|thread| !thread.name.starts_with("irq/")) {
            let may = thread.cpus.intersection(online);
            let here = may.intersection(&alone);
            if here.is_empty() {
                continue;
            }
            let confined = may.is_subset(&alone);
            for (_, cpus, names) in sorts.iter_mut().filter(|(sort, ..)| *sort == confined) {
                cpus.extend(&here);
                names.push(thread.name.clone());
            }
        }
        for (confined, cpus, threads) in sorts.into_iter().filter(|(_, cpus, _)| !cpus.is_empty()) {
            let severity = if confined { Severity::Warning } else { self.graver_if_quiet(&cpus) };
            let kind = FindingKind::KernelThreadsOnPinnedCpus { cpus, threads, confined };
            self.on_host(severity, kind);
        }
    }

    fn workqueues(&mut self) {
        let Ok(mask) = &self.audited.surroundings.workqueue_cpus else { return };
        let cpus = mask.intersection(&self.all_alone());
        if !cpus.is_empty() {
            let severity = self.graver_if_quiet(&cpus);
            let kind = FindingKind::WorkqueuesOnPinnedCpus { cpus, mask: mask.clone() };
            self.on_host(severity, kind);
        }
    }

    /// Every kernel's threads may run everywhere unless somebody wanted otherwise. Who isolated CPUs
    /// did want it.
    fn graver_if_quiet(&self, cpus: &CpuSet) -> Severity {
        let topology = &self.host().topology;
        let quiet = [&topology.isolated, &topology.nohz_full];
        let wanted = quiet.into_iter().flatten().any(|quiet| !quiet.is_disjoint(cpus));
        if wanted { Severity::Warning } else { Severity::Info }
    }
}
