//! Hugepages: so many of each size on each node.

use super::{Draft, Setting};
use numawise_model::{
    PageSize, Pnode, Topology, TuningFinding, TuningReason, TuningRefusal, tuning::PathState,
};
use std::collections::BTreeMap;

/// From this size on a running kernel seldom finds the pages.
const SELDOM_LATER: PageSize = PageSize::HUGE_1G;

pub fn pool(node: Pnode, size: PageSize) -> String {
    let kib = size.bytes() >> 10;
    format!("/sys/devices/system/node/node{node}/hugepages/hugepages-{kib}kB")
}

fn total_file(node: Pnode, size: PageSize) -> String {
    format!("{}/nr_hugepages", pool(node, size))
}

fn free_file(node: Pnode, size: PageSize) -> String {
    format!("{}/free_hugepages", pool(node, size))
}

fn sizes(topology: &Topology) -> impl Iterator<Item = PageSize> + '_ {
    topology.page_sizes.iter().copied().filter(|size| size.is_huge())
}

pub fn paths(topology: &Topology) -> Vec<String> {
    let nodes = topology.nodes.iter().map(|node| node.id);
    let of_node = |node| {
        sizes(topology).flat_map(move |size| [total_file(node, size), free_file(node, size)])
    };
    nodes.flat_map(of_node).collect()
}

pub fn wish(draft: &mut Draft<'_>) {
    let request = draft.request();
    let known: Vec<PageSize> = sizes(draft.topology()).collect();
    let nodes: Vec<Pnode> = draft.topology().nodes.iter().map(|node| node.id).collect();
    for (size, pools) in &request.hugepages {
        if !known.contains(size) {
            let refusal = TuningRefusal::PageSizeUnknown { size: *size, known: known.clone() };
            draft.refusals.push(refusal);
            continue;
        }
        for (node, pages) in pools {
            if nodes.contains(node) {
                one_pool(draft, *node, *size, *pages);
            } else {
                let refusal = TuningRefusal::UnknownNode { node: *node, nodes: nodes.clone() };
                draft.refusals.push(refusal);
            }
        }
        kernel_argument(draft, *size, pools);
    }
    for node in nodes {
        fits(draft, node);
    }
}

fn one_pool(draft: &mut Draft<'_>, node: Pnode, size: PageSize, pages: u64) {
    let path = total_file(node, size);
    let Some(total) = number(draft, &path) else {
        let missing = TuningFinding::Missing { path, what: Setting::Hugepages };
        draft.findings.push(missing);
        return;
    };
    if let Some(free) = number(draft, &free_file(node, size)) {
        let in_use = total.saturating_sub(free);
        if pages < in_use && draft.request().moment.is_now() {
            draft.findings.push(TuningFinding::HugepagesInUse {
                node,
                size,
                in_use,
                wanted: pages,
            });
        }
    }
    draft.wish_now(&path, pages.to_string(), TuningReason::Hugepages { node, size, pages });
    draft.write_at_boot(&path, &pages.to_string());
}

/// Pages of a gigabyte have to be whole and in one piece, which memory is only at boot.
fn kernel_argument(draft: &mut Draft<'_>, size: PageSize, pools: &BTreeMap<Pnode, u64>) {
    let grows = |(node, pages): (&Pnode, &u64)| {
        number(draft, &total_file(*node, size)).is_some_and(|now| now < *pages)
    };
    if size < SELDOM_LATER || !pools.iter().any(grows) {
        return;
    }
    let each: Vec<String> = pools.iter().map(|(node, n)| format!("{node}:{n}")).collect();
    let argument = format!("hugepagesz={size} hugepages={}", each.join(","));
    draft.findings.push(TuningFinding::KernelArgument { argument });
}

/// All pools of a node, those that stay as they are included.
fn fits(draft: &mut Draft<'_>, node: Pnode) {
    let (mut wanted, mut more, mut is_asked) = (0u64, 0u64, false);
    for size in sizes(draft.topology()).collect::<Vec<_>>() {
        let now = number(draft, &total_file(node, size)).unwrap_or(0);
        let asked = draft.request().hugepages.get(&size).and_then(|pools| pools.get(&node));
        is_asked |= asked.is_some();
        let pages = asked.copied().unwrap_or(now);
        wanted = wanted.saturating_add(pages.saturating_mul(size.bytes()));
        more = more.saturating_add(pages.saturating_sub(now).saturating_mul(size.bytes()));
    }
    if !is_asked {
        return;
    }
    let total = draft.topology().node(node).and_then(|node| node.memory_total_bytes);
    if let Some(total_bytes) = total.filter(|total| wanted > *total) {
        let refusal = TuningRefusal::MoreThanNode { node, wanted_bytes: wanted, total_bytes };
        draft.refusals.push(refusal);
        return;
    }
    let levels = draft.inputs.host.levels.nodes.get(&node);
    let available = levels.and_then(|l| l.memory_available_bytes.or(l.memory_free_bytes));
    if let Some(available_bytes) = available
        && more > available_bytes
        && draft.request().moment.is_now()
    {
        let finding =
            TuningFinding::HugepagesMayFallShort { node, wanted_bytes: more, available_bytes };
        draft.findings.push(finding);
    }
}

fn number(draft: &Draft<'_>, path: &str) -> Option<u64> {
    match draft.settings().at(path) {
        PathState::Text(text) => text.trim().parse().ok(),
        PathState::Absent | PathState::Folder => None,
    }
}
