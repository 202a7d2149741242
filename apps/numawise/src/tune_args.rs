//! The options of `numawise host tune` and the request they make.

use crate::size;
use anyhow::Result;
use clap::{Args, ValueEnum};
use numawise_model::{
    CpuSet, Isolation, Moment, NodeSet, PageSize, Place, Pnode, Switch, Topology, TuningRequest,
    parse_list, parse_rule,
};
use std::collections::BTreeMap;

/// What the host shall be like. The options describe the whole: what an earlier tuning set and these
/// do not name goes back to what it was.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What to tune")]
pub struct TuneArgs {
    /// Hugepages of a size on each node: `2M:0=512,1=512`, `2M:0-3=64GiB`, `1G:all=16`. A number is a
    /// count of pages, a size is as many pages as fill it. May be given once for each size.
    #[arg(long, value_name = "SIZE:NODE=N,...", value_parser = hugepages)]
    hugepages: Vec<Hugepages>,
    /// The guests' pCPUs; the host keeps the others [default: all but the reserved ones].
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    guest_cpus: Option<CpuSet>,
    /// How everybody else is kept off the guests' pCPUs.
    #[arg(long, value_name = "HOW", default_value = "none")]
    isolate: IsolateArg,
    /// The guests' cgroup, right below the root [default: machine.slice with systemd, else machine].
    #[arg(long, value_name = "NAME")]
    guest_cgroup: Option<String>,
    /// Where work of the kernel that may run anywhere (unbound workqueues) runs.
    #[arg(long, value_name = "WHERE", default_value = "host")]
    workqueues: PlaceArg,
    /// Where interrupts go that come up from now on.
    #[arg(long, value_name = "WHERE", default_value = "host")]
    interrupts: PlaceArg,
    /// Whether the kernel moves memory after threads by itself.
    #[arg(long, value_name = "SWITCH", default_value = "off")]
    numa_balancing: SwitchArg,
    /// Whether same-page merging merges pages of different nodes.
    #[arg(long, value_name = "SWITCH", default_value = "off")]
    ksm_across_nodes: SwitchArg,
    /// Whether a full node throws out its file cache before it takes memory from another.
    #[arg(long, value_name = "SWITCH", default_value = "off")]
    zone_reclaim: SwitchArg,
    /// From when on.
    #[arg(long, value_name = "WHEN", default_value = "both")]
    when: WhenArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum IsolateArg {
    /// Not at all.
    None,
    /// A cpuset partition of cgroup v2: the kernel itself takes the pCPUs from everybody else.
    Partition,
    /// The same without load balancing, for guests whose every thread is bound to one pCPU.
    PartitionIsolated,
    /// AllowedCPUs= of systemd's slices.
    Systemd,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PlaceArg {
    /// On the host's own pCPUs.
    Host,
    /// As it is.
    Keep,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SwitchArg {
    On,
    Off,
    /// As it is.
    Keep,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WhenArg {
    /// Now and after each boot.
    Both,
    /// Until the next boot.
    Now,
    /// After each boot, not now.
    Boot,
}

impl TuneArgs {
    /// `reserved`: what the host keeps when `--guest-cpus` does not say.
    pub fn request(&self, topology: &Topology, reserved: &CpuSet) -> Result<TuningRequest, String> {
        let mut hugepages: BTreeMap<PageSize, BTreeMap<Pnode, u64>> = BTreeMap::new();
        for asked in &self.hugepages {
            let pools = hugepages.entry(asked.size).or_default();
            for (node, pages) in asked.pools(topology) {
                if pools.insert(node, pages).is_some() {
                    let size = asked.size;
                    return Err(format!("--hugepages names node {node} twice for {size} pages"));
                }
            }
        }
        let all_but = || topology.online.difference(reserved);
        Ok(TuningRequest {
            hugepages,
            guest_cpus: self.guest_cpus.clone().unwrap_or_else(all_but),
            isolation: match self.isolate {
                IsolateArg::None => Isolation::None,
                IsolateArg::Partition => Isolation::Partition,
                IsolateArg::PartitionIsolated => Isolation::PartitionIsolated,
                IsolateArg::Systemd => Isolation::Systemd,
            },
            guest_cgroup: self.guest_cgroup.clone(),
            workqueues: self.workqueues.into(),
            interrupts: self.interrupts.into(),
            numa_balancing: self.numa_balancing.into(),
            ksm_across_nodes: self.ksm_across_nodes.into(),
            zone_reclaim: self.zone_reclaim.into(),
            moment: match self.when {
                WhenArg::Both => Moment::Both,
                WhenArg::Now => Moment::Now,
                WhenArg::Boot => Moment::Boot,
            },
        })
    }
}

impl From<PlaceArg> for Place {
    fn from(arg: PlaceArg) -> Self {
        match arg {
            PlaceArg::Host => Self::HostCpus,
            PlaceArg::Keep => Self::Keep,
        }
    }
}

impl From<SwitchArg> for Switch {
    fn from(arg: SwitchArg) -> Self {
        match arg {
            SwitchArg::On => Self::On,
            SwitchArg::Off => Self::Off,
            SwitchArg::Keep => Self::Keep,
        }
    }
}

/// One `--hugepages`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hugepages {
    size: PageSize,
    /// `None` is every node.
    amounts: Vec<(Option<NodeSet>, u64)>,
}

impl Hugepages {
    fn pools(&self, topology: &Topology) -> Vec<(Pnode, u64)> {
        let all = || topology.nodes.iter().map(|node| node.id).collect::<NodeSet>();
        let each = |(nodes, pages): &(Option<NodeSet>, u64)| {
            let nodes = nodes.clone().unwrap_or_else(all);
            nodes.iter().map(|node| (node, *pages)).collect::<Vec<_>>()
        };
        self.amounts.iter().flat_map(each).collect()
    }
}

fn hugepages(text: &str) -> Result<Hugepages, String> {
    const WANTED: &str = "SIZE:NODE=N is wanted, like 2M:0=512,1=512 or 1G:all=16";
    let (size, rest) = text.split_once(':').ok_or_else(|| format!("'{text}': {WANTED}"))?;
    let size = size::page_size(size)?;
    let mut amounts = Vec::new();
    for part in rest.split(',') {
        let (nodes, amount) = part.split_once('=').ok_or_else(|| format!("'{part}': {WANTED}"))?;
        let nodes = match nodes.trim() {
            "all" => None,
            "" => return Err(format!("'{part}' names no node: {WANTED}")),
            list => Some(parse_list(list).map_err(|error| format!("{error}: {WANTED}"))?),
        };
        amounts.push((nodes, pages(amount.trim(), size)?));
    }
    Ok(Hugepages { size, amounts })
}

/// A count of pages, or the memory that they fill.
fn pages(text: &str, size: PageSize) -> Result<u64, String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        return text.parse().map_err(|_| format!("'{text}' pages are more than any machine has"));
    }
    let bytes = size::bytes(text)?;
    if bytes % size.bytes() == 0 {
        return Ok(bytes / size.bytes());
    }
    Err(format!("'{text}' is no whole number of {size} pages"))
}

fn cpu_list(text: &str) -> Result<CpuSet, String> {
    parse_rule(text).map(|rule| rule.set).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{Hugepages, hugepages};
    use numawise_model::{NodeSet, PageSize, Pnode};

    #[test]
    fn pools_are_counts_or_memory_by_node() {
        let one = |node| Some(NodeSet::single(Pnode(node)));
        let wanted = |size, amounts| Ok(Hugepages { size, amounts });
        let two = PageSize::HUGE_2M;
        assert_eq!(hugepages("2M:0=60,1=110"), wanted(two, vec![(one(0), 60), (one(1), 110)]));
        assert_eq!(hugepages("2M:0-1=1GiB"), wanted(two, vec![(Some(NodeSet::range(0, 1)), 512)]));
        assert_eq!(hugepages("1G:all=0"), wanted(PageSize::HUGE_1G, vec![(None, 0)]));
    }

    #[test]
    fn what_is_no_pool_is_told_with_the_text_in_it() {
        for text in ["2M", "2M:", "2M:0", "2M:=5", "3M:0=1", "2M:0=x", "2M:0=3M", "2M:a=1", "2M:0="]
        {
            let error = hugepages(text).expect_err(text);
            assert!(!error.is_empty(), "{text}");
        }
        assert!(hugepages("2M:0=3M").expect_err("no pages").contains("3M"));
    }
}
