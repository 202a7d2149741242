//! Refusals about memory: not enough on a node, not in whole pages, not allowed.

use crate::en::{Said, limit, nodes, say, vnode};
use crate::quantity::{bytes, count, pages};
use numawise_model::{NodeSet, PageSize, Pnode, Vnode};

/// Pages of one size on one node: wanted against what there is.
pub struct Shortage {
    pub node: Pnode,
    pub size: PageSize,
    pub wanted: u64,
    pub free: u64,
    pub promised: u64,
    pub available: u64,
}

/// `4064 MiB`, or whole GiB: what `--memory` takes, never more than there is.
fn typed(n: u64) -> String {
    if n.is_multiple_of(1 << 30) { bytes(n) } else { format!("{}MiB", n >> 20) }
}

impl Shortage {
    pub fn said(&self) -> Said {
        let Self { node, size, wanted, free, promised, available } = *self;
        // Rounded down to what can be typed: 4.0 GiB that are a page short do not fit.
        let fits = available.checked_mul(size.bytes()).map(|n| n >> 20 << 20).filter(|n| *n > 0);
        let said = say(format!(
            "node {node} has not enough memory in {size} pages: {} wanted, {} available",
            pages(wanted, size),
            pages(available, size)
        ))
        .fact(format!("free now: {}", pages(free, size)));
        let said = match promised {
            0 => said,
            n => said.fact(format!(
                "promised to others that have not touched it yet: {}",
                pages(n, size)
            )),
        };
        let said = self.more_pages(said, wanted.saturating_sub(available));
        let said = match fits {
            Some(n) => said.way(format!(
                "ask for less: at most {} of this guest's memory fit on node {node} (--memory)",
                typed(n)
            )),
            None => said,
        };
        said.way("or put fewer vCPUs there, since memory follows them: --on-node NODE:VCPUS")
    }

    fn more_pages(&self, said: Said, missing: u64) -> Said {
        let Self { node, size, .. } = self;
        if !size.is_huge() {
            return said;
        }
        let kib = size.bytes() >> 10;
        said.way(format!(
            "make {missing} more: raise /sys/devices/system/node/node{node}/hugepages/\
             hugepages-{kib}kB/nr_hugepages by {missing}"
        ))
        .way("or use ordinary pages: --page-size 4K")
    }
}

pub fn page_size_unknown(size: PageSize, known: &[PageSize]) -> Said {
    let known: Vec<String> = known.iter().map(PageSize::to_string).collect();
    let known = if known.is_empty() { "none that is known".to_owned() } else { known.join(", ") };
    say(format!("this host has no pages of {size}; it has {known}"))
        .way("choose one of these with --page-size")
}

pub fn not_whole_pages(memory: u64, size: PageSize, lower: u64, higher: u64) -> Said {
    let ways: Vec<String> = [lower, higher]
        .into_iter()
        .filter(|n| *n > 0)
        .map(|n| format!("--memory {}", argument(n)))
        .collect();
    let said =
        say(format!("{} ({memory} bytes) is no whole number of {size} pages", bytes(memory)))
            .way(format!("ask for {}", ways.join(" or ")));
    match size.is_huge() {
        true => said.way("or use smaller pages: --page-size 4K"),
        false => said,
    }
}

/// As `--memory` takes it: exact to the byte.
fn argument(n: u64) -> String {
    match n {
        n if n % (1 << 30) == 0 => format!("{}GiB", n >> 30),
        n if n % (1 << 20) == 0 => format!("{}MiB", n >> 20),
        n => format!("{}KiB", n >> 10),
    }
}

pub fn fewer_pages_than_nodes(have: u64, size: PageSize, vnodes: u32) -> Said {
    say(format!(
        "the guest's memory is {} and it has {}: one would be empty",
        pages(have, size),
        count(u64::from(vnodes), "vNUMA node")
    ))
    .way("ask for more memory (--memory), or use smaller pages (--page-size)")
    .way("or bind to fewer nodes: --on-node NODE:VCPUS")
}

pub fn not_allowed(node: Pnode, allowed: &NodeSet, limited_by: Option<&str>) -> Said {
    say(format!(
        "memory of node {node} may not be used here: it is limited{} to {}",
        limit(limited_by),
        nodes(allowed)
    ))
    .way("bind to one of the allowed nodes (--on-node NODE:VCPUS)")
    .way("or widen the cgroup's cpuset.mems")
}

pub fn not_memory_only(asked: &NodeSet, usable: &NodeSet) -> Said {
    let said = if usable.is_empty() {
        say("this host has no node with memory and without CPUs that could be used here")
    } else {
        say(format!(
            "{} cannot give memory as memory-only nodes: those here are {}",
            nodes(asked),
            nodes(usable)
        ))
        .way(format!("name some of these: --memory-only {usable}"))
        .way("or take the nearest: --memory-only near")
    };
    said.way("or leave --memory-only out: memory then comes from the vCPUs' own nodes")
}

pub fn nowhere(of: Vnode) -> Said {
    say(format!("no node with CPUs has memory that {} could use", vnode(of)))
        .way("bind the vCPUs alone, and leave memory to the kernel: --no-vnuma")
        .way("`numawise host show` draws every node's memory")
}
