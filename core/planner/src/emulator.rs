//! CPUs for the hypervisor's own threads: the emulator and the I/O threads.
//!
//! They should disturb no vCPU. So they go to the CPUs that the operator keeps for the host, on the
//! guest's own nodes, as far as nobody holds those alone (a `smart` plan may itself have taken
//! them). Several guests' helpers share these CPUs.
//!
//! Where nothing is kept, they run on the guest's own pCPUs. That is also the only right place for a
//! node whose memory is filled before the guest starts (hugepages, or allocation `immediate`): the
//! threads that fill it are bound to the node's CPUs, and QEMU refuses to start when its affinity
//! leaves it none of them. So such a node adds the guest's own pCPUs when it has no housekeeping CPU,
//! and one CPU that nobody holds alone when the guest has none there either.
//!
//! Isolated CPUs take no helpers: the scheduler would leave all of them on one.

use crate::Notes;
use crate::situation::Situation;
use numawise_model::reason::EmulatorChoice;
use numawise_model::{
    Binding, CpuSet, FindingKind, HelperPlacement, Mode, PageCounts, Pnode, Reason, Request,
    Severity,
};
use std::collections::BTreeMap;

pub struct Helpers {
    pub placement: HelperPlacement,
    /// What of it is claimed, shared with other guests' helpers; the rest the guest holds anyway.
    pub housekeeping: CpuSet,
    /// How it is claimed.
    pub mode: Mode,
}

/// Helper CPUs whose sibling runs a vCPU of the guest.
fn beside_vcpus(situation: &Situation, helpers: &CpuSet, own: &CpuSet) -> CpuSet {
    let places = &situation.places;
    let cores: std::collections::BTreeSet<_> =
        own.iter().map(|cpu| places.core_start(cpu)).collect();
    let beside = helpers.difference(own);
    beside.iter().filter(|cpu| cores.contains(&places.core_start(*cpu))).collect()
}

pub fn place(
    situation: &Situation,
    request: &Request,
    binding: &Binding,
    pages: &PageCounts,
    own_cpu: Option<CpuSet>,
    notes: &mut Notes,
) -> Helpers {
    let own = binding.pcpus();
    let guest = situation.inputs.guest;
    let prefilled = request.vnuma
        && (request.page_size.is_huge() || guest.is_some_and(|guest| guest.immediate_allocation));
    let mode = if own_cpu.is_some() { Mode::Exclusive } else { Mode::Shared };
    let mut housekeeping = match &own_cpu {
        Some(cpus) => cpus.clone(),
        None => housekeeping(situation, binding, pages),
    };
    let added = match prefilled {
        _ if housekeeping.is_empty() => own.clone(),
        true => own_where_missing(situation, &own, &housekeeping, pages),
        false => CpuSet::new(),
    };
    if prefilled && own_cpu.is_none() {
        housekeeping.extend(&lent(situation, &housekeeping.union(&own), pages));
    }
    let cpus = housekeeping.union(&added);
    let why = match (housekeeping.is_empty(), added.is_empty()) {
        _ if own_cpu.is_some() => EmulatorChoice::Isolated,
        (true, _) => EmulatorChoice::GuestsOwn,
        (false, true) => EmulatorChoice::Housekeeping,
        (false, false) => EmulatorChoice::HousekeepingAndOwn,
    };
    notes.reason(Reason::EmulatorPlaced { cpus: cpus.clone(), why });
    if !added.is_empty() {
        notes.finding(Severity::Info, FindingKind::EmulatorOnVcpuCpus { cpus: added });
    }
    if prefilled {
        for node in pages.keys().filter(|node| on(situation, **node, &cpus).is_empty()) {
            let node = *node;
            if situation.places.nodes().contains_key(&node) {
                notes.finding(Severity::Error, FindingKind::EmulatorLacksMemoryNode { node });
            } else {
                notes.finding(Severity::Warning, FindingKind::PrefillWithoutCpus { node });
            }
        }
    }
    let ids = guest.map(|guest| guest.iothreads.as_slice()).into_iter().flatten();
    let iothreads: BTreeMap<u32, CpuSet> = ids.map(|id| (*id, cpus.clone())).collect();
    let beside = beside_vcpus(situation, &cpus, &own);
    if !beside.is_empty() {
        notes.finding(Severity::Warning, FindingKind::EmulatorBesideVcpus { cpus: beside });
    }
    Helpers { placement: HelperPlacement { emulator: Some(cpus), iothreads }, housekeeping, mode }
}

/// Reserved CPUs of the nodes that the guest's vCPUs or memory are on, as far as nobody holds them
/// alone, this plan included.
fn housekeeping(situation: &Situation, binding: &Binding, pages: &PageCounts) -> CpuSet {
    let own = binding.pcpus();
    let mut cpus = CpuSet::new();
    for (node, node_cpus) in situation.places.nodes() {
        if pages.contains_key(node) || !node_cpus.is_disjoint(&own) {
            cpus.extend(&node_cpus.intersection(situation.reserved()));
        }
    }
    cpus = usable(situation, &cpus);
    match binding.mode {
        Mode::Exclusive => cpus.difference(&own),
        Mode::Shared => cpus,
    }
}

/// What helpers may run on: online, allowed, not isolated, held alone by nobody else.
fn usable(situation: &Situation, cpus: &CpuSet) -> CpuSet {
    let topology = situation.topology;
    let here = cpus.intersection(&topology.online).intersection(&topology.allowed.cpus);
    let usable = here.difference(&situation.others.exclusive_cpus());
    match &topology.isolated {
        Some(isolated) => usable.difference(isolated),
        None => usable,
    }
}

/// One CPU, the lowest that can be, of each memory node that is out of reach: where the vCPUs' node
/// has no memory of its own and nothing is kept for the host on the one that serves.
fn lent(situation: &Situation, reached: &CpuSet, pages: &PageCounts) -> CpuSet {
    let nodes = situation.places.nodes();
    let out_of_reach = pages.keys().filter_map(|node| nodes.get(node));
    let out_of_reach = out_of_reach.filter(|cpus| cpus.is_disjoint(reached));
    out_of_reach.filter_map(|cpus| usable(situation, cpus).first()).collect()
}

fn own_where_missing(
    situation: &Situation,
    own: &CpuSet,
    housekeeping: &CpuSet,
    pages: &PageCounts,
) -> CpuSet {
    let mut added = CpuSet::new();
    for node in pages.keys().filter(|node| on(situation, **node, housekeeping).is_empty()) {
        added.extend(&on(situation, *node, own));
    }
    added
}

fn on(situation: &Situation, node: Pnode, cpus: &CpuSet) -> CpuSet {
    match situation.places.nodes().get(&node) {
        Some(own) => own.intersection(cpus),
        None => CpuSet::new(),
    }
}
