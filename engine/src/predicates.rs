//! Whether a plan may still be carried out. Levels alone never make a plan stale: what it needs is
//! tested, not what was there when it was made.

use crate::error::Staleness;
use numawise_documents::frozen_digest;
use numawise_model::{
    FrozenTopology, GuestUuid, Host, Ledger, NodeSet, Owner, PageCounts, Plan, Predicate, Topology,
};
use numawise_planner::pages_left;

/// Those predicates of the plan that do not hold. `held` is what the guest itself gives back.
pub fn broken(
    plan: &Plan,
    guest: &GuestUuid,
    host: &Host,
    ledger: &Ledger,
    frozen: Option<&FrozenTopology>,
    held: &PageCounts,
) -> Vec<Predicate> {
    let others = ledger.without_guest(guest);
    let owner = Owner::Guest { uuid: guest.clone(), name: String::new() };
    let holds = |predicate: &Predicate| match predicate {
        Predicate::CpusUnclaimed { cpus, mode } => others.conflicts(&owner, cpus, *mode).is_empty(),
        Predicate::PagesAvailable { node, size, pages } => {
            // Where the host does not say, the plan carries a finding, and start has the last word.
            pages_left(host, &others, held, *node, *size)
                .available()
                .is_none_or(|left| left >= *pages)
        }
        Predicate::FrozenTopology { digest } => {
            // A guest that was started from this very plan is frozen to what the plan gives.
            let given = plan.vnuma.as_ref().zip(frozen);
            frozen.map(frozen_digest) == *digest
                || given.is_some_and(|(planned, frozen)| frozen.same_for_guest(planned))
        }
    };
    plan.requires.iter().filter(|p| !holds(p)).cloned().collect()
}

/// What a plan names and cgroups do not leave to guests any more: somebody isolated it since. What
/// they leave besides is nothing to the plan.
pub fn taken(plan: &Plan, topology: &Topology) -> Option<Staleness> {
    let allowed = &topology.allowed;
    let by = || allowed.limited_by.clone().unwrap_or_else(|| "a cgroup".to_owned());
    let mut cpus = plan.binding.pcpus();
    for helpers in plan.helpers.emulator.iter().chain(plan.helpers.iothreads.values()) {
        cpus.extend(helpers);
    }
    let cpus = cpus.intersection(&topology.online).difference(&allowed.cpus);
    if !cpus.is_empty() {
        return Some(Staleness::CpusTaken { cpus, by: by() });
    }
    let nodes =
        plan.vnuma.as_ref().map(numawise_model::VirtualTopology::memory_nodes).unwrap_or_default();
    let online: NodeSet = topology.nodes.iter().map(|node| node.id).collect();
    let nodes = nodes.intersection(&online).difference(&allowed.memory_nodes);
    (!nodes.is_empty()).then(|| Staleness::MemoryTaken { nodes, by: by() })
}
