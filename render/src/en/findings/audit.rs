//! Findings of a whole host. Why each costs is said once for its rule, in [`crate::en::rules`].

use crate::en::{Said, and, are, list, nodes, owner, owners, pcpus, say, vcpus, verb, vnode};
use crate::quantity::{bytes, count, pages};
use numawise_model::finding::{FrozenPart, Helper, PinnedThreads, Resizing, Unusable};
use numawise_model::{CpuSet, NodeSet, Owner, PageSize, Pnode, VcpuSet, Vnode};

/// Longer lists end in how many more there are.
const SHOWN: usize = 8;

fn some_of(all: &[String]) -> String {
    match all.len() {
        0..=SHOWN => and(all),
        more => format!("{} and {} more", all[..SHOWN].join(", "), more - SHOWN),
    }
}

fn of_vnode(of: Option<Vnode>) -> String {
    of.map_or_else(|| "the guest".to_owned(), vnode)
}

pub fn vcpus_span_nodes(of: &VcpuSet, cpus: &CpuSet, over: &NodeSet) -> Said {
    say(format!("{} may run on {}, which {} on {}", vcpus(of), pcpus(cpus), are(cpus), nodes(over)))
        .way("bind each vCPU within one node: numawise bind GUEST --policy smart, or --on-node NODE:VCPUS")
}

pub fn cores_shared(cpus: &CpuSet, siblings: &CpuSet, with: &Owner) -> Said {
    let (these, are) = (pcpus(cpus), are(cpus));
    let belong = verb(siblings, "belongs", "belong");
    say(format!(
        "{these} {are} of the same cores as {}, which {belong} to {}",
        pcpus(siblings),
        owner(with)
    ))
    .way("bind one of the two to whole cores")
}

pub fn memory_away(of: Option<Vnode>, cpu_nodes: &NodeSet, memory_nodes: &NodeSet) -> Said {
    say(format!(
        "the vCPUs of {} run on {}, and its memory is bound to {}",
        of_vnode(of),
        nodes(cpu_nodes),
        nodes(memory_nodes)
    ))
    .way("bind both to the same node: numawise bind GUEST")
}

/// Memory that is there, and the part of it that is away.
pub struct PagesAway {
    pub away_bytes: u64,
    pub of_bytes: u64,
}

impl PagesAway {
    pub fn said(&self, of: Option<Vnode>, cpu_nodes: &NodeSet, seen: &NodeSet) -> Said {
        say(format!(
            "the vCPUs of {} run on {}, and {} of its {} are on {}",
            of_vnode(of),
            nodes(cpu_nodes),
            bytes(self.away_bytes),
            bytes(self.of_bytes),
            nodes(seen)
        ))
        .way(format!("move them: `migratepages PID {seen} {cpu_nodes}`"))
        .way("or bind the guest's memory (numawise bind GUEST) and start it anew")
    }
}

pub fn memory_on_slice(of: Option<Vnode>, bound: &NodeSet, region: &NodeSet) -> Said {
    say(format!(
        "the memory of {} is tied to {}, one slice of a memory that {} share",
        of_vnode(of),
        nodes(bound),
        nodes(region)
    ))
    .way(format!("bind it to {} together; the vCPUs may stay where they are", nodes(region)))
}

pub fn resizing(what: Resizing) -> Said {
    let what = match what {
        Resizing::Balloon => "a memory balloon",
        Resizing::MemoryHotplug => "memory hot-plug",
        Resizing::VcpuHotplug => "vCPUs that are plugged in later",
    };
    say(format!("it has vNUMA nodes and {what}"))
        .way("take it out: numawise bind GUEST --fix-guest")
}

pub fn guest_l3_spread(of: &VcpuSet, host_domains: u32, guest_domains: u32) -> Said {
    let others = match guest_domains {
        0 | 1 => String::new(),
        n => format!(" (the worst of {n} such groups)"),
    };
    say(format!(
        "the guest believes that {} share an L3; they run on {}{others}",
        vcpus(of),
        count(u64::from(host_domains), "L3 domain")
    ))
    .way("let numawise choose the guest's topology: numawise bind GUEST (or, where it is bound, vnuma on)")
}

fn helper(of: Helper) -> String {
    match of {
        Helper::Emulator => "the emulator".to_owned(),
        Helper::Iothread { id } => format!("I/O thread {id}"),
    }
}

pub fn helpers_on_pinned(of: Helper, cpus: &CpuSet, whose: &[Owner], simulated: bool) -> Said {
    let by_hand = match of {
        _ if simulated => "numawise bind GUEST".to_owned(),
        Helper::Emulator => "virsh emulatorpin GUEST LIST --live --config".to_owned(),
        Helper::Iothread { id } => format!("virsh iothreadpin GUEST {id} LIST --live --config"),
    };
    say(format!(
        "{} may run on {}, to which vCPUs of {} are pinned",
        helper(of),
        pcpus(cpus),
        owners(whose)
    ))
    .way(format!("pin it to CPUs that no vCPU has: `{by_hand}`"))
}

pub fn pins_unusable(of: &PinnedThreads, cpus: &CpuSet, why: Unusable) -> Said {
    let who = match of {
        PinnedThreads::Vcpus { vcpus: of } => vcpus(of),
        PinnedThreads::Helper { helper: of } => helper(*of),
    };
    let is_one = matches!(of, PinnedThreads::Helper { .. })
        || matches!(of, PinnedThreads::Vcpus { vcpus } if vcpus.len() == 1);
    let (pinned, these, they_are) = (if is_one { "is" } else { "are" }, pcpus(cpus), are(cpus));
    let (state, way) = match why {
        Unusable::Offline => ("offline", "bring them online again, or bind the guest anew"),
        Unusable::NotThere => ("not there", "bind the guest anew"),
        Unusable::OutsideCgroup => (
            "outside what the guests' cgroup may use",
            "widen cpuset.cpus of the guests' cgroup, or bind the guest anew",
        ),
    };
    say(format!("{who} {pinned} pinned to {these}, which {they_are} {state}")).way(way)
}

pub fn pages_promised(
    node: Pnode,
    size: PageSize,
    promised: u64,
    total: u64,
    to: &[Owner],
) -> Said {
    say(format!(
        "{} on node {node} are promised to {}; the node has {}",
        pages(promised, size),
        owners(to),
        pages(total, size)
    ))
    .way("bind one of them to another node, or give back what is not needed: numawise unbind GUEST")
    .way_if(size.is_huge(), "or enlarge the pool: numawise host tune")
}

pub fn memory_larger_than_node(node: Pnode, bound_bytes: u64, node_bytes: u64) -> Said {
    say(format!(
        "{} of its memory are bound to node {node}, which has {}",
        bytes(bound_bytes),
        bytes(node_bytes)
    ))
    .way("spread it over more nodes: numawise bind GUEST, with vNUMA")
}

pub fn isolated_in_mask(of: &VcpuSet, cpus: &CpuSet, isolated: &CpuSet) -> Said {
    say(format!(
        "{} may run on pCPUs {cpus}, of which {} {} isolated",
        vcpus(of),
        list(isolated),
        are(isolated)
    ))
    .way("pin each vCPU to one pCPU, or leave the isolated ones out")
}

pub fn distances_told(of: Vnode, told: &[u32], host: &[u32]) -> Said {
    let row = |all: &[u32]| all.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    say(format!(
        "{} is told distances {}; between the nodes that it is bound to now they are {}",
        vnode(of),
        row(told),
        row(host)
    ))
    .way("write them anew, for the next full start: numawise bind GUEST --new-topology")
}

pub fn frozen_without_guest() -> Said {
    say("the guest is no longer defined, and its frozen topology is kept")
        .way("nothing: if the guest comes back under the same UUID, it gets what it had")
}

pub fn frozen_otherwise(parts: &[FrozenPart]) -> Said {
    let word = |part: &FrozenPart| match part {
        FrozenPart::Nodes => "vNUMA nodes".to_owned(),
        FrozenPart::Memory => "memory of the nodes".to_owned(),
        FrozenPart::Distances => "distances".to_owned(),
        FrozenPart::CpuTopology => "sockets, cores and threads".to_owned(),
    };
    let words: Vec<String> = parts.iter().map(word).collect();
    say(format!("its definition has other {} than the guest is frozen to", and(&words)))
        .way("put back what it has been running with, or take the new one on: numawise bind GUEST --new-topology")
}

pub fn interrupts(cpus: &CpuSet, names: &[String]) -> Said {
    let n = count(names.len() as u64, "interrupt");
    let come = if names.len() == 1 { "comes" } else { "come" };
    say(format!("{n} {come} to {}, which {} its vCPUs' alone: {}", pcpus(cpus), are(cpus), some_of(names)))
        .way("move them: `echo LIST > /proc/irq/N/smp_affinity_list`, with housekeeping CPUs in LIST; and keep irqbalance off these CPUs (IRQBALANCE_BANNED_CPULIST, which has to name the isolated ones too)")
}

pub fn kernel_threads(cpus: &CpuSet, names: &[String], confined: bool) -> Said {
    let n = count(names.len() as u64, "thread");
    let may = if confined { "may run nowhere but" } else { "may run" };
    say(format!(
        "{n} of the kernel {may} on {}, which guests have alone: {}",
        pcpus(cpus),
        some_of(names)
    ))
    .way("move them: `taskset -pc LIST PID`, with housekeeping CPUs in LIST")
}

pub fn workqueues(cpus: &CpuSet, mask: &CpuSet) -> Said {
    say(format!(
        "unbound workqueues may run on pCPUs {mask}, of which guests have {} alone",
        list(cpus)
    ))
    .way("give them the housekeeping CPUs: numawise host tune")
}

pub fn numa_balancing() -> Said {
    say("automatic NUMA balancing is on, and guests are pinned")
        .way("switch it off: `sysctl kernel.numa_balancing=0`, or numawise host tune")
}

pub fn ksm() -> Said {
    say("KSM merges equal pages across nodes").way(
        "switch it off, or let it merge within a node: write 2 to /sys/kernel/mm/ksm/run, 0 to \
         merge_across_nodes, 1 to run",
    )
}

pub fn zone_reclaim(mode: u32) -> Said {
    say(format!("vm.zone_reclaim_mode is {mode}")).way("`sysctl vm.zone_reclaim_mode=0`")
}
