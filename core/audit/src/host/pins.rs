//! Where the threads of a guest may run.

use super::{AuditedGuest, Case, union};
use crate::ledger::same_owner;
use numawise_model::finding::{Helper, PinnedThreads, Unusable};
use numawise_model::{CpuSet, FindingKind, Owner, Severity, VcpuSet};
use std::collections::BTreeMap;

impl Case<'_> {
    pub(super) fn pins(&mut self, guest: &AuditedGuest<'_>) {
        let mut by_mask: BTreeMap<CpuSet, VcpuSet> = BTreeMap::new();
        for (vcpu, mask) in guest.masks(self.host()) {
            by_mask.entry(mask).or_default().insert(vcpu);
        }
        for (mask, vcpus) in &by_mask {
            self.spans_nodes(guest, mask, vcpus);
            self.isolated_in_mask(guest, mask, vcpus);
        }
        let has_pins = !by_mask.is_empty();
        let helpers = self.helpers(guest, has_pins);
        for (helper, mask) in &helpers {
            self.on_pinned(guest, *helper, mask);
        }
        self.unusable(guest, &by_mask);
    }

    fn spans_nodes(&mut self, guest: &AuditedGuest<'_>, mask: &CpuSet, vcpus: &VcpuSet) {
        let nodes = self.host().topology.nodes_of(mask);
        if nodes.len() > 1 {
            let (vcpus, cpus) = (vcpus.clone(), mask.clone());
            self.on(guest, Severity::Warning, FindingKind::VcpusSpanNodes { vcpus, cpus, nodes });
        }
    }

    fn isolated_in_mask(&mut self, guest: &AuditedGuest<'_>, mask: &CpuSet, vcpus: &VcpuSet) {
        let Some(isolated) = &self.host().topology.isolated else { return };
        let isolated = mask.intersection(isolated);
        if mask.len() > 1 && !isolated.is_empty() {
            let (vcpus, cpus) = (vcpus.clone(), mask.clone());
            let kind = FindingKind::IsolatedCpusInMask { vcpus, cpus, isolated };
            self.on(guest, Severity::Warning, kind);
        }
    }

    /// Where its helper threads may run: by the kernel's word, by their pins, or by the default of
    /// all threads. Those of a guest without any pin run everywhere, like its vCPUs, which is told.
    fn helpers(&self, guest: &AuditedGuest<'_>, has_pins: bool) -> Vec<(Helper, CpuSet)> {
        let config = guest.config();
        let facts = guest.facts;
        let by_default = || {
            let everywhere = has_pins.then(|| self.host().topology.allowed.cpus.clone());
            config.default_cpuset.clone().or(everywhere)
        };
        let mut helpers = Vec::new();
        let seen = facts.and_then(|facts| facts.emulator_affinity.clone());
        let mask = seen.or_else(|| config.emulator_pin.clone()).or_else(by_default);
        helpers.extend(mask.map(|mask| (Helper::Emulator, mask)));
        for id in &config.iothreads {
            let seen = facts.and_then(|facts| facts.iothread_affinity.get(id).cloned());
            let pin = || config.iothread_pins.get(id).cloned();
            let mask = seen.or_else(pin).or_else(by_default);
            helpers.extend(mask.map(|mask| (Helper::Iothread { id: *id }, mask)));
        }
        let online = &self.host().topology.online;
        helpers.retain(|(_, mask)| has_pins || !online.is_subset(mask));
        helpers
    }

    /// Its own vCPUs lose time to it, which the owner may have wanted; another guest's never did.
    fn on_pinned(&mut self, guest: &AuditedGuest<'_>, helper: Helper, mask: &CpuSet) {
        let own = guest.owner();
        let (mut its_own, mut others_cpus) = (CpuSet::new(), CpuSet::new());
        let mut others: Vec<Owner> = Vec::new();
        for (owner, cpus) in self.alone() {
            let both = cpus.intersection(mask);
            if both.is_empty() {
                continue;
            }
            if same_owner(&owner, &own) {
                its_own.extend(&both);
            } else {
                others_cpus.extend(&both);
                others.push(owner);
            }
        }
        if !others.is_empty() {
            let kind = FindingKind::HelpersOnPinnedCpus { helper, cpus: others_cpus, of: others };
            self.on(guest, Severity::Warning, kind);
        }
        if !its_own.is_empty() {
            let kind = FindingKind::HelpersOnPinnedCpus { helper, cpus: its_own, of: vec![own] };
            self.on(guest, Severity::Info, kind);
        }
    }

    /// CPUs of pins that nobody can have here. What a claim says of them already is not repeated.
    fn unusable(&mut self, guest: &AuditedGuest<'_>, by_mask: &BTreeMap<CpuSet, VcpuSet>) {
        let online = self.host().topology.online.clone();
        let config = guest.config();
        let mut said = CpuSet::new();
        for claim in self.audited.ledger.of_guest(guest.uuid) {
            said.extend(&claim.cpus.difference(&online));
        }
        for why in [Unusable::Offline, Unusable::NotThere, Unusable::OutsideCgroup] {
            let lost = self.lost(why).difference(&said);
            let (mut cpus, mut vcpus, mut stuck) = (CpuSet::new(), VcpuSet::new(), false);
            for (mask, of) in by_mask {
                let here = mask.intersection(&lost);
                if !here.is_empty() {
                    stuck |= self.usable(mask).is_empty();
                    cpus.extend(&here);
                    vcpus.extend(of);
                }
            }
            if !vcpus.is_empty() {
                self.pin_lost(guest, PinnedThreads::Vcpus { vcpus }, cpus, why, stuck);
            }
            let emulator = config.emulator_pin.iter().map(|pin| (Helper::Emulator, pin));
            let iothreads =
                config.iothread_pins.iter().map(|(id, pin)| (Helper::Iothread { id: *id }, pin));
            let helpers: Vec<_> = emulator.chain(iothreads).collect();
            for (helper, pin) in helpers {
                let here = pin.intersection(&lost);
                if !here.is_empty() && !online.is_subset(pin) {
                    let stuck = self.usable(pin).is_empty();
                    self.pin_lost(guest, PinnedThreads::Helper { helper }, here, why, stuck);
                }
            }
        }
    }

    fn pin_lost(
        &mut self,
        guest: &AuditedGuest<'_>,
        threads: PinnedThreads,
        cpus: CpuSet,
        why: Unusable,
        stuck: bool,
    ) {
        let severity = if stuck { Severity::Error } else { Severity::Warning };
        self.on(guest, severity, FindingKind::PinnedCpusUnusable { threads, cpus, why });
    }

    fn usable(&self, mask: &CpuSet) -> CpuSet {
        let topology = &self.host().topology;
        mask.intersection(&topology.online).intersection(&topology.allowed.cpus)
    }

    /// CPUs that cannot be had for one reason, of all that pins name.
    fn lost(&self, why: Unusable) -> CpuSet {
        let topology = &self.host().topology;
        match why {
            Unusable::Offline => topology.offline.difference(&topology.online),
            Unusable::OutsideCgroup => topology.online.difference(&topology.allowed.cpus),
            Unusable::NotThere => {
                let there = union([&topology.online, &topology.offline]);
                let mut named = CpuSet::new();
                for guest in self.audited.guests {
                    let config = guest.config();
                    let pins = config.vcpu_pins.values().chain(&config.default_cpuset);
                    named.extend(&union(pins.chain(&config.emulator_pin)));
                    named.extend(&union(config.iothread_pins.values()));
                }
                named.difference(&there)
            }
        }
    }
}
