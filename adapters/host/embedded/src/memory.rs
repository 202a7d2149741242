//! Whose node every page comes from, after the kernel's memory policies.
//!
//! *Bound* pages come from the nodes of the set alone, the lowest first, and from nowhere else.
//! *Preferred* ones begin there and go on to the nearest node with room. *Interleaved* ones go round
//! the set, and on to the nearest node when it is full. With no policy a page comes from the node of
//! the CPU that touches it first; the threads that do it are spread over their CPUs' nodes, which is
//! modelled as shares in proportion to what those nodes have free, and what finds no room goes to
//! the nearest node. All of it is arithmetic on whole pages with ties broken by id, so the same
//! guest on the same host always lies in the same place.
//!
//! Hugepages are pools of their own: a guest that was given them never falls back to base pages.

use numawise_model::{Host, NodeSet, PageCounts, PageSize, Pnode, Topology};
use std::collections::BTreeMap;

/// Pages by pNUMA node.
pub type Placed = BTreeMap<Pnode, u64>;

/// Where a vNUMA node's pages may come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Bind(NodeSet),
    Preferred(NodeSet),
    Interleave(NodeSet),
    /// Touched from CPUs of `near`; pages come from `within` alone (a cgroup's memory nodes).
    FirstTouch {
        near: NodeSet,
        within: NodeSet,
    },
}

/// Pages that are wanted and not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    pub nodes: NodeSet,
    pub size: PageSize,
    pub wanted: u64,
    pub free: u64,
}

/// What each node can still give.
#[derive(Clone, Debug)]
pub struct Room<'t> {
    topology: &'t Topology,
    free: PageCounts,
}

impl<'t> Room<'t> {
    /// What the host has without what is held. An error names the node whose memory the host's
    /// source does not give.
    pub fn of(host: &'t Host, held: &PageCounts) -> Result<Self, String> {
        let base = base_page(&host.topology);
        let mut free = PageCounts::new();
        for node in &host.topology.nodes {
            let levels = host.levels.nodes.get(&node.id);
            let bytes = levels
                .and_then(|levels| levels.memory_available_bytes.or(levels.memory_free_bytes))
                .or(node.memory_total_bytes)
                .ok_or_else(|| {
                    format!(
                        "how much memory node {} has is not known, so no guest can be started; \
                         take the host from a source that has it (a capture, libvirt)",
                        node.id
                    )
                })?;
            let sizes = free.entry(node.id).or_default();
            sizes.insert(base, bytes / base.bytes());
            for (size, pool) in levels.iter().flat_map(|levels| &levels.hugepages) {
                sizes.insert(*size, pool.free);
            }
            for (size, pages) in sizes {
                *pages = pages.saturating_sub(pages_of(held, node.id, *size));
            }
        }
        Ok(Self { topology: &host.topology, free })
    }

    /// Takes pages as the policy says.
    pub fn take(
        &mut self,
        origin: &Origin,
        size: PageSize,
        pages: u64,
    ) -> Result<Placed, Shortage> {
        let mut placed = Placed::new();
        let all = self.nodes();
        let (set, everywhere) = match origin {
            Origin::Bind(set) => {
                let rest = self.fill(&mut placed, set.iter(), size, pages);
                return self.complete(placed, set, size, pages, rest);
            }
            Origin::Preferred(set) => {
                let rest = self.fill(&mut placed, set.iter(), size, pages);
                let order = self.nearest(set, &all);
                let rest = self.fill(&mut placed, order.into_iter(), size, rest);
                return self.complete(placed, &all, size, pages, rest);
            }
            Origin::Interleave(set) => (set.clone(), all),
            Origin::FirstTouch { near, within } => {
                let local = near.intersection(within);
                (if local.is_empty() { within.clone() } else { local }, within.clone())
            }
        };
        let shares = match origin {
            Origin::Interleave(_) => evenly(&set, pages),
            _ => self.by_free(&set, size, pages),
        };
        let mut rest = 0;
        for (node, share) in shares {
            rest += self.fill(&mut placed, std::iter::once(node), size, share);
        }
        let order = self.nearest(&set, &everywhere);
        let rest = self.fill(&mut placed, order.into_iter(), size, rest);
        self.complete(placed, &everywhere, size, pages, rest)
    }

    fn nodes(&self) -> NodeSet {
        self.free.keys().copied().collect()
    }

    pub fn free(&self, node: Pnode, size: PageSize) -> u64 {
        // A node without a pool of that size has no page of it to give.
        pages_of(&self.free, node, size)
    }

    /// Takes as much as the nodes have, in order; what is left over comes back.
    fn fill(
        &mut self,
        placed: &mut Placed,
        nodes: impl Iterator<Item = Pnode>,
        size: PageSize,
        mut pages: u64,
    ) -> u64 {
        for node in nodes {
            let Some(free) = self.free.get_mut(&node).and_then(|sizes| sizes.get_mut(&size)) else {
                continue;
            };
            let taken = pages.min(*free);
            *free -= taken;
            pages -= taken;
            if taken > 0 {
                *placed.entry(node).or_default() += taken;
            }
        }
        pages
    }

    /// All or nothing: what was taken goes back when some is missing.
    fn complete(
        &mut self,
        placed: Placed,
        nodes: &NodeSet,
        size: PageSize,
        wanted: u64,
        missing: u64,
    ) -> Result<Placed, Shortage> {
        if missing == 0 {
            return Ok(placed);
        }
        for (node, pages) in placed {
            *self.free.entry(node).or_default().entry(size).or_default() += pages;
        }
        let free = nodes.iter().map(|node| self.free(node, size)).sum();
        Err(Shortage { nodes: nodes.clone(), size, wanted, free })
    }

    /// The candidates by their distance from the nearest of `from`, then by id. Where the firmware
    /// gives no distances, all are equally far.
    fn nearest(&self, from: &NodeSet, candidates: &NodeSet) -> Vec<Pnode> {
        let mut order: Vec<Pnode> = candidates.iter().collect();
        let distance =
            |to: Pnode| from.iter().filter_map(|node| self.topology.distance(node, to)).min();
        order.sort_by_key(|node| {
            let distance = distance(*node);
            (!from.contains(*node), distance.is_none(), distance, *node)
        });
        order
    }

    /// Shares in proportion to what is free, by largest remainder, the lowest id first.
    fn by_free(&self, set: &NodeSet, size: PageSize, pages: u64) -> Vec<(Pnode, u64)> {
        let weights: Vec<(Pnode, u64)> = set.iter().map(|n| (n, self.free(n, size))).collect();
        let total: u128 = weights.iter().map(|(_, free)| u128::from(*free)).sum();
        if total == 0 {
            return evenly(set, pages);
        }
        let exact = |free: u64| u128::from(free) * u128::from(pages);
        let mut shares: Vec<(Pnode, u64, u128)> = weights
            .into_iter()
            .map(|(node, free)| (node, (exact(free) / total) as u64, exact(free) % total))
            .collect();
        let given: u64 = shares.iter().map(|(_, share, _)| share).sum();
        shares.sort_by_key(|(node, _, remainder)| (std::cmp::Reverse(*remainder), *node));
        for share in shares.iter_mut().take((pages - given) as usize) {
            share.1 += 1;
        }
        shares.sort_by_key(|(node, ..)| *node);
        shares.into_iter().map(|(node, share, _)| (node, share)).collect()
    }
}

fn evenly(set: &NodeSet, pages: u64) -> Vec<(Pnode, u64)> {
    let nodes = set.len().max(1) as u64;
    let share = |index: u64| pages / nodes + u64::from(index < pages % nodes);
    set.iter().enumerate().map(|(index, node)| (node, share(index as u64))).collect()
}

/// The size of ordinary pages; sources that do not name page sizes are of 4 KiB machines.
pub fn base_page(topology: &Topology) -> PageSize {
    let base = topology.page_sizes.iter().copied().filter(|size| !size.is_huge()).min();
    base.unwrap_or(PageSize::BASE_4K)
}

/// The host as others see it while guests hold pages. What its source does not say stays unsaid.
pub fn lowered(host: &Host, held: &PageCounts) -> Host {
    let mut host = host.clone();
    let base = base_page(&host.topology);
    for (node, levels) in &mut host.levels.nodes {
        let bytes = pages_of(held, *node, base) * base.bytes();
        for free in [&mut levels.memory_free_bytes, &mut levels.memory_available_bytes] {
            *free = free.map(|free| free.saturating_sub(bytes));
        }
        for (size, pool) in &mut levels.hugepages {
            pool.free = pool.free.saturating_sub(pages_of(held, *node, *size));
        }
    }
    host
}

/// No entry is no page.
fn pages_of(pages: &PageCounts, node: Pnode, size: PageSize) -> u64 {
    pages.get(&node).and_then(|sizes| sizes.get(&size)).map_or(0, |pages| *pages)
}
