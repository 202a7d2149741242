//! Whether a plan may still be carried out. Levels alone never make a plan stale: what it needs is
//! tested, not what was there when it was made.

use crate::intent::HostState;
use numawise_documents::frozen_digest;
use numawise_model::{
    GuestUuid, Host, Ledger, Owner, PageCounts, PageSize, Plan, Pnode, Predicate,
};

/// Those predicates of the plan that do not hold. `held` is what the guest itself gives back.
pub fn broken(
    plan: &Plan,
    guest: &GuestUuid,
    host: &Host,
    ledger: &Ledger,
    state: &HostState,
    held: &PageCounts,
) -> Vec<Predicate> {
    let others = ledger.without_guest(guest);
    let owner = Owner::Guest { uuid: guest.clone(), name: String::new() };
    let holds = |predicate: &Predicate| match predicate {
        Predicate::CpusUnclaimed { cpus, mode } => {
            others.conflicts(&owner, cpus, *mode).is_empty()
        }
        Predicate::PagesAvailable { node, size, pages } => {
            let available = available_pages(host, &others.promised_pages(), held, *node, *size);
            available.is_none_or(|available| available >= *pages)
        }
        Predicate::FrozenTopology { digest } => {
            let frozen = state.guests.get(guest).and_then(|record| record.frozen.as_ref());
            frozen.map(frozen_digest) == *digest
        }
    };
    plan.requires.iter().filter(|p| !holds(p)).cloned().collect()
}

/// Pages that a guest could get on a node; `None` when the host does not say.
fn available_pages(
    host: &Host,
    promised: &PageCounts,
    held: &PageCounts,
    node: Pnode,
    size: PageSize,
) -> Option<u64> {
    let count = |pages: &PageCounts| pages.get(&node).and_then(|sizes| sizes.get(&size)).copied();
    let levels = host.levels.nodes.get(&node)?;
    let (total, free) = if size.is_huge() {
        let pool = levels.hugepages.get(&size)?;
        (pool.total, pool.free)
    } else {
        let total = host.topology.node(node)?.memory_total_bytes? / size.bytes();
        let free = levels.memory_available_bytes.or(levels.memory_free_bytes)? / size.bytes();
        (total, free)
    };
    // Nothing promised, nothing held: the map has no entry because there is none.
    let promised = count(promised).map_or(0, |n| n);
    let held = count(held).map_or(0, |n| n);
    Some((free + held).min(total.saturating_sub(promised)))
}
