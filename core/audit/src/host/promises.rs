//! Memory that is promised on a node: what claims say, and what definitions bind where no claim
//! says it. Guests that are off have theirs promised too: they may be started any moment.

use super::{AuditedGuest, Case};
use crate::ledger::{of_owner, same_owner};
use numawise_model::{
    FindingKind, GuestConfig, Host, MemoryMode, NodeSet, Owner, PageSize, Pnode, Severity, Vnode,
};
use std::collections::BTreeMap;

/// Pages by owner, for each node and size.
type Promises = BTreeMap<(Pnode, PageSize), Vec<(Owner, u64)>>;

impl Case<'_> {
    pub(super) fn promises(&mut self) {
        for ((node, size), by) in self.all_promises() {
            let mut within = Vec::new();
            for (owner, pages) in by {
                match self.larger_than_node(node, size, pages) {
                    Some(kind) => {
                        self.findings.push(of_owner(&owner, Severity::Error, kind));
                    }
                    None => within.push((owner, pages)),
                }
            }
            let promised: u64 = within.iter().map(|(_, pages)| pages).sum();
            let Some(total) = total_pages(self.host(), node, size) else { continue };
            if promised > total {
                let to = within.into_iter().map(|(owner, _)| owner).collect();
                let kind =
                    FindingKind::PagesPromisedTwice { node, page_size: size, promised, total, to };
                self.on_host(Severity::Error, kind);
            }
        }
    }

    fn larger_than_node(&self, node: Pnode, size: PageSize, pages: u64) -> Option<FindingKind> {
        let node_bytes = self.host().topology.node(node)?.memory_total_bytes?;
        let bound_bytes = pages.saturating_mul(size.bytes());
        (bound_bytes > node_bytes).then_some(FindingKind::MemoryLargerThanNode {
            node,
            bound_bytes,
            node_bytes,
        })
    }

    fn all_promises(&self) -> Promises {
        let mut promises = Promises::new();
        for claim in &self.audited.ledger.claims {
            for (node, sizes) in &claim.pages {
                for (size, pages) in sizes {
                    add(&mut promises, (*node, *size), &claim.owner, *pages);
                }
            }
        }
        for guest in self.audited.guests {
            let mut claims = self.audited.ledger.of_guest(guest.uuid);
            if claims.any(|claim| !claim.pages.is_empty()) {
                continue;
            }
            for (node, size, pages) in bound(guest) {
                add(&mut promises, (node, size), &guest.owner(), pages);
            }
        }
        promises
    }
}

fn add(promises: &mut Promises, at: (Pnode, PageSize), owner: &Owner, pages: u64) {
    let by = promises.entry(at).or_default();
    match by.iter_mut().find(|(known, _)| same_owner(known, owner)) {
        Some((_, sum)) => *sum = sum.saturating_add(pages),
        None => by.push((owner.clone(), pages)),
    }
}

/// What a definition binds to single nodes: memory that may be on several is promised on none.
fn bound(guest: &AuditedGuest<'_>) -> Vec<(Pnode, PageSize, u64)> {
    let config = guest.config();
    let Some(numatune) = &config.numatune else { return Vec::new() };
    let single = |mode: MemoryMode, nodes: &NodeSet| {
        let tied = matches!(mode, MemoryMode::Strict | MemoryMode::Restrictive);
        nodes.first().filter(|_| tied && nodes.len() == 1)
    };
    let whole = numatune
        .memory_nodeset
        .as_ref()
        .and_then(|nodes| single(numatune.memory_mode.unwrap_or(MemoryMode::Strict), nodes));
    let mut bound = Vec::new();
    let mut promise = |node: Option<Pnode>, size: Option<PageSize>, bytes: u64| {
        if let (Some(node), Some(size)) = (node, size.filter(|size| size.bytes() > 0)) {
            bound.push((node, size, bytes.div_ceil(size.bytes())));
        }
    };
    if config.cells.is_empty() {
        promise(whole, page_size(config, None), config.memory_bytes);
    }
    for cell in &config.cells {
        let own = numatune.memnodes.get(&cell.id).map(|(mode, nodes)| single(*mode, nodes));
        let node = own.unwrap_or(whole);
        promise(node, page_size(config, Some(cell.id)), cell.memory_bytes);
    }
    bound
}

/// `None` for the host's default size, which the definition does not name.
fn page_size(config: &GuestConfig, vnode: Option<Vnode>) -> Option<PageSize> {
    let Some(sizes) = &config.hugepages else { return Some(PageSize::BASE_4K) };
    let own = sizes.iter().find(|pages| match (&pages.vnodes, vnode) {
        (Some(of), Some(vnode)) => of.contains(&vnode),
        _ => false,
    });
    own.or_else(|| sizes.iter().find(|pages| pages.vnodes.is_none())).map(|pages| pages.size)
}

/// All pages of a size that a node has, used or not; base pages are what the pools leave.
fn total_pages(host: &Host, node: Pnode, size: PageSize) -> Option<u64> {
    let pools = host.levels.nodes.get(&node).map(|levels| &levels.hugepages);
    if size.is_huge() {
        // A node without a pool of the size has none of these pages, if its pools are known at all.
        let pools = pools.filter(|pools| !pools.is_empty())?;
        return Some(pools.get(&size).map_or(0, |pool| pool.total));
    }
    let bytes = host.topology.node(node)?.memory_total_bytes?;
    let in_pools: u64 = pools
        .into_iter()
        .flatten()
        .map(|(size, pool)| size.bytes().saturating_mul(pool.total))
        .sum();
    Some(bytes.saturating_sub(in_pools) / size.bytes().max(1))
}
