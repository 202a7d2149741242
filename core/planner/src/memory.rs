//! The guest's memory: how many pages each node gets, and whether they are there.
//!
//! # Shares
//!
//! Memory follows the vCPUs. The total is cut into pages of the size asked for; each vNUMA node gets
//! pages by its number of vCPUs, rounded down, and the pages left over go one each to the largest
//! remainders (ties to the lower id). So the shares sum exactly, and none is more than a page from
//! its due. A node whose share rounds to nothing takes one page from the largest share: libvirt and
//! guests reject a node without memory.
//!
//! # Where
//!
//! On the node of the vCPUs. A node without memory of its own, or whose memory the cgroup forbids,
//! is served by the nearest one that has some and has CPUs too. Nodes that hold only memory serve
//! when they are asked for: [`crate::memory_only`].
//!
//! # Checks
//!
//! A page can be promised when it is free (counting what the guest itself gives back) *and* not yet
//! promised to a guest that has not touched it. Either count alone is too hopeful: a guest that
//! starts small leaves pages free that are spoken for, and a process that nobody placed uses pages
//! that no claim tells of. So the lower of the two decides:
//!
//! ```text
//! available = min(free + held, total - promised to others)
//! ```
//!
//! Pages of hugepage pools are counted per pool; base pages are what is left of the node beside its
//! pools. A source that does not say is neither zero nor plenty: the plan stands, with a finding.
//! The check is the same for all memory modes: `preferred` would run without the pages, but not as
//! planned.
//!
//! With vNUMA off no node is bound, and the kernel puts pages near whichever vCPU touches them first.
//! The plan then promises the same shares over the nodes of the binding, so that others plan with
//! them, and where they do not fit it says so instead of refusing.

use crate::situation::Situation;
use crate::vnuma::Cell;
use crate::{Notes, memory_only};
use numawise_model::plan::HeldPages;
use numawise_model::request::MemoryOnly;
use numawise_model::{
    Binding, FindingKind, Host, Ledger, Node, NodeSet, PageCounts, PageSize, Pnode, Predicate,
    Reason, Refusal, Request, Severity, Vnode,
};
use std::collections::BTreeMap;

/// Where a cell's memory is, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    pub nodes: NodeSet,
    pub memory_bytes: u64,
    /// How many bytes are expected on which of them.
    pub dealt: Vec<(Pnode, u64)>,
}

/// Pages that the plan promises to the guest.
#[derive(Clone, Debug, Default)]
pub struct Promise {
    pub pages: PageCounts,
    /// Of those, what was found to be there: to be tested again when the plan is claimed.
    pub checked: Vec<Predicate>,
}

/// What a node has left of one page size. `None` is "this source does not say".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagesLeft {
    /// Free, and what the guest gives back.
    pub free: Option<u64>,
    pub total: Option<u64>,
    pub promised: u64,
}

impl PagesLeft {
    /// What can be promised, by everything that is known.
    pub fn available(&self) -> Option<u64> {
        let unpromised = self.total.map(|total| total.saturating_sub(self.promised));
        [self.free, unpromised].into_iter().flatten().min()
    }

    /// Whether both counts are known; the total does not matter while nothing is promised.
    pub fn is_certain(&self) -> bool {
        self.free.is_some() && (self.total.is_some() || self.promised == 0)
    }
}

/// Counts what a node has left for a guest. `others` is the ledger without that guest's claims,
/// `held` what the guest itself holds there now.
pub fn pages_left(
    host: &Host,
    others: &Ledger,
    held: &HeldPages,
    node: Pnode,
    size: PageSize,
) -> PagesLeft {
    let count = |pages: &PageCounts| pages.get(&node).and_then(|sizes| sizes.get(&size)).copied();
    // A guest or a ledger that names no pages has none: these maps are complete.
    let promised = count(&others.promised_pages()).unwrap_or(0);
    let held = count(held).unwrap_or(0);
    let levels = host.levels.nodes.get(&node);
    let in_node = host.topology.node(node).and_then(|node| node.memory_total_bytes);
    let (free, total) = if size.is_huge() {
        let pool = levels.and_then(|levels| levels.hugepages.get(&size));
        // A node that names its pools, and not this one, has none of these pages.
        let without = levels.filter(|l| pool.is_none() && !l.hugepages.is_empty()).map(|_| 0);
        // No pool is known: there are at most as many as fit in the node.
        let most = || in_node.map(|bytes| bytes / size.bytes());
        let total = pool.map(|pool| pool.total).or(without).or_else(most);
        (pool.map(|pool| pool.free).or(without), total)
    } else {
        // MemFree alone leaves out what the kernel would give back; it is a safe stand-in.
        let free = levels.and_then(|l| l.memory_available_bytes.or(l.memory_free_bytes));
        let in_pools = levels.map_or(0, |levels| {
            let pools = levels.hugepages.iter();
            pools.map(|(size, pool)| size.bytes().saturating_mul(pool.total)).sum()
        });
        let beside_pools = in_node.map(|total| total.saturating_sub(in_pools));
        (free.map(|bytes| bytes / size.bytes()), beside_pools.map(|bytes| bytes / size.bytes()))
    };
    PagesLeft { free: free.map(|free| free.saturating_add(held)), total, promised }
}

/// Whether the page size exists here, and for vNUMA whether the memory is whole pages of it.
pub fn page_size_fits(situation: &Situation, request: &Request, notes: &mut Notes) -> bool {
    let size = request.page_size;
    let known = &situation.topology.page_sizes;
    // A source that lists no sizes is believed for any size that could be one: libvirt counts in
    // KiB, and every page is a power of two.
    let possible = size.bytes().is_power_of_two() && size.bytes() >= 1024;
    if !possible || !(known.is_empty() || known.contains(&size)) {
        notes.refuse(Refusal::PageSizeUnknown { size, known: known.clone() });
        return false;
    }
    let over = request.memory_bytes % size.bytes();
    if request.vnuma && over != 0 {
        let lower_bytes = request.memory_bytes - over;
        notes.refuse(Refusal::MemoryNotWholePages {
            memory_bytes: request.memory_bytes,
            page_size: size,
            lower_bytes,
            higher_bytes: lower_bytes.saturating_add(size.bytes()),
        });
        return false;
    }
    true
}

/// Shares the memory out over the cells and checks that it is there. `found` are the shares where
/// they are known already.
pub fn for_cells(
    situation: &Situation,
    request: &Request,
    cells: &[Cell],
    found: Option<&[u64]>,
    notes: &mut Notes,
) -> Option<(Vec<Home>, Promise)> {
    let size = request.page_size;
    let total = request.memory_bytes / size.bytes();
    let weights: Vec<u64> = cells.iter().map(|cell| cell.vcpus.len() as u64).collect();
    let shares = found.map_or_else(|| share_pages(total, &weights), |pages| Some(pages.to_vec()));
    let Some(shares) = shares else {
        let vnodes = cells.len() as u32;
        notes.refuse(Refusal::FewerPagesThanNodes { pages: total, page_size: size, vnodes });
        return None;
    };
    let asked = request.memory_only.as_ref();
    let mut used = NodeSet::new();
    let mut homes = Vec::new();
    let mut pages = PageCounts::new();
    for (cell, share) in cells.iter().zip(shares) {
        let replaced = matches!(asked, Some(MemoryOnly::Near | MemoryOnly::Nodes(_)));
        let Some(nodes) = memory_nodes(situation, cell, replaced, notes) else { continue };
        let nodes = match asked {
            None => nodes,
            _ => memory_only::instead(situation, cell, nodes, asked, notes),
        };
        used.extend(&nodes);
        let node = nodes.first().unwrap_or_else(|| cell.host_node());
        notes.reason(Reason::MemoryShared { vnode: cell.id, pages: share, page_size: size, node });
        let dealt = deal_out(situation, cell.host_node(), &nodes, size, share, &mut pages);
        homes.push(Home { nodes, memory_bytes: share * size.bytes(), dealt });
    }
    memory_only::note_left_out(situation, &used, notes);
    let mut checked = Vec::new();
    for (node, wanted) in in_size(&pages, size) {
        let left = left_on(situation, node, size);
        let short = left.available().filter(|available| *available < wanted);
        if let Some(available_pages) = short {
            notes.refuse(not_enough(node, size, wanted, &left, available_pages));
        } else if left.is_certain() {
            checked.push(Predicate::PagesAvailable { node, size, pages: wanted });
        } else {
            notes.finding(Severity::Warning, FindingKind::MemoryUnchecked { node });
        }
    }
    (homes.len() == cells.len()).then_some((homes, Promise { pages, checked }))
}

/// Pages of one cell over the nodes that its memory is from: what each has left, the nearest first
/// and of these the lowest, and what is left over on the first, where the check will find it.
fn deal_out(
    situation: &Situation,
    cpu_node: Pnode,
    nodes: &NodeSet,
    size: PageSize,
    pages: u64,
    dealt: &mut PageCounts,
) -> Vec<(Pnode, u64)> {
    let mut order: Vec<Pnode> = nodes.iter().collect();
    let is_memory_only = |id| situation.topology.node(id).is_some_and(Node::is_memory_only);
    order.sort_by_key(|id| {
        let spare = is_memory_only(*id);
        (spare, if spare { situation.topology.distance(cpu_node, *id) } else { None }, *id)
    });
    let mut rest = pages;
    let mut own: Vec<(Pnode, u64)> = Vec::new();
    for node in order.iter().copied() {
        let so_far = dealt.entry(node).or_default().entry(size).or_insert(0);
        let left = match nodes.len() {
            1 => rest,
            _ => left_on(situation, node, size).available().unwrap_or(rest).saturating_sub(*so_far),
        };
        let here = left.min(rest);
        *so_far += here;
        rest -= here;
        own.push((node, here * size.bytes()));
    }
    if let Some(first) = order.first().filter(|_| rest > 0) {
        *dealt.entry(*first).or_default().entry(size).or_insert(0) += rest;
        own[0].1 += rest * size.bytes();
    }
    dealt.retain(|_, sizes| sizes.values().any(|pages| *pages > 0));
    own.retain(|(_, bytes)| *bytes > 0);
    own
}

fn not_enough(
    node: Pnode,
    size: PageSize,
    wanted: u64,
    left: &PagesLeft,
    available: u64,
) -> Refusal {
    Refusal::NotEnoughMemory {
        node,
        page_size: size,
        wanted_pages: wanted,
        // Where free is unknown, the promises alone already say no.
        free_pages: left.free.or(left.total).unwrap_or(available),
        promised_pages: left.promised,
        available_pages: available,
    }
}

/// The same shares over the nodes of a binding without vNUMA; a shortage is a finding.
///
/// A vCPU that may roam over several nodes counts for the one that has most of its pCPUs, the
/// lowest of equals.
pub fn for_binding(
    situation: &Situation,
    request: &Request,
    binding: &Binding,
    notes: &mut Notes,
) -> Promise {
    let size = request.page_size;
    let mut vcpus: BTreeMap<Pnode, u64> = BTreeMap::new();
    for cpus in binding.cpus.values() {
        let mut by_node: BTreeMap<Pnode, u32> = BTreeMap::new();
        for node in cpus.iter().filter_map(|cpu| situation.places.node(cpu)) {
            *by_node.entry(node).or_insert(0) += 1;
        }
        let most = by_node.iter().max_by_key(|(node, count)| (**count, std::cmp::Reverse(**node)));
        if let Some((node, _)) = most {
            *vcpus.entry(*node).or_insert(0) += 1;
        }
    }
    let total = request.memory_bytes.div_ceil(size.bytes());
    let weights: Vec<u64> = vcpus.values().copied().collect();
    let shares = largest_remainder(total, &weights);
    let mut promise = Promise::default();
    for (node, wanted) in vcpus.keys().copied().zip(shares).filter(|(_, wanted)| *wanted > 0) {
        promise.pages.entry(node).or_default().insert(size, wanted);
        let left = left_on(situation, node, size);
        if !left.is_certain() || left.available().is_none_or(|available| available < wanted) {
            notes.finding(Severity::Warning, FindingKind::MemoryUnchecked { node });
        }
    }
    promise
}

fn left_on(situation: &Situation, node: Pnode, size: PageSize) -> PagesLeft {
    pages_left(situation.inputs.host, &situation.others, situation.inputs.held, node, size)
}

fn in_size(pages: &PageCounts, size: PageSize) -> Vec<(Pnode, u64)> {
    pages.iter().filter_map(|(node, sizes)| Some((*node, *sizes.get(&size)?))).collect()
}

/// Pages by weight, none empty; `None` when there are fewer pages than shares.
pub fn share_pages(total: u64, weights: &[u64]) -> Option<Vec<u64>> {
    if total < weights.len() as u64 {
        return None;
    }
    let mut shares = largest_remainder(total, weights);
    while let Some(empty) = shares.iter().position(|share| *share == 0) {
        let largest = (0..shares.len()).max_by_key(|i| (shares[*i], std::cmp::Reverse(*i)))?;
        shares[largest] -= 1;
        shares[empty] += 1;
    }
    Some(shares)
}

/// Rounds down, then gives what is left over to the largest remainders, the first of equals.
fn largest_remainder(total: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|w| u128::from(*w)).sum();
    if sum == 0 {
        return vec![0; weights.len()];
    }
    let due = |weight: &u64| u128::from(total) * u128::from(*weight);
    // Each quotient is at most the total, which has 64 bits.
    let mut shares: Vec<u64> = weights.iter().map(|w| (due(w) / sum) as u64).collect();
    let left_over = total - shares.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|i| (std::cmp::Reverse(due(&weights[*i]) % sum), *i));
    for index in order.into_iter().take(left_over as usize) {
        shares[index] += 1;
    }
    shares
}

/// The nodes that hold a cell's memory, or a refusal.
fn memory_nodes(
    situation: &Situation,
    cell: &Cell,
    replaced: bool,
    notes: &mut Notes,
) -> Option<NodeSet> {
    let topology = situation.topology;
    let allowed = &topology.allowed.memory_nodes;
    let cpu_node = cell.host_node();
    let serves =
        |node: &&Node| !node.is_memory_only() && node.has_memory() && allowed.contains(node.id);
    let own = topology.nodes.iter().filter(serves).filter(|node| cell.host_nodes.contains(node.id));
    let own: NodeSet = own.map(|node| node.id).collect();
    if !own.is_empty() {
        return Some(own);
    }
    let candidates = topology.nodes.iter().filter(serves);
    let nearest = candidates.min_by_key(|node| {
        let distance = topology.distance(cpu_node, node.id);
        (distance.is_none(), distance, node.id)
    });
    match nearest {
        // What stands in for it is told instead.
        Some(node) if replaced => Some(NodeSet::single(node.id)),
        None if replaced => Some(NodeSet::new()),
        Some(node) => {
            let (vnode, memory_node) = (cell.id, node.id);
            let distance = topology.distance(cpu_node, memory_node);
            notes.reason(Reason::MemoryFromNeighbour { vnode, cpu_node, memory_node, distance });
            let kind = FindingKind::MemoryOnOtherNode { vnode, cpu_node, memory_node };
            notes.finding(Severity::Warning, kind);
            Some(NodeSet::single(memory_node))
        }
        None => {
            notes.refuse(no_memory(situation, cell.id, cpu_node));
            None
        }
    }
}

fn no_memory(situation: &Situation, vnode: Vnode, node: Pnode) -> Refusal {
    let topology = situation.topology;
    let allowed = &topology.allowed;
    let has_memory = topology.node(node).is_some_and(Node::has_memory);
    match has_memory && !allowed.memory_nodes.contains(node) {
        true => Refusal::MemoryNotAllowed {
            node,
            allowed: allowed.memory_nodes.clone(),
            limited_by: allowed.limited_by.clone(),
        },
        false => Refusal::NoMemoryAnywhere { vnode },
    }
}
