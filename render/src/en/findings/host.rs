//! Findings about a host: what its firmware, kernel or file says that cannot be, or can be believed less.

use crate::en::{Said, are, list, nodes, numbers, pcpu, pcpus, say, verb};
use crate::quantity::count;
use numawise_model::finding::SetKind;
use numawise_model::{CpuSet, NodeSet, Pcpu, Pnode};

pub fn list_map_mismatch(file: &str, list: &str, map: &str) -> Said {
    say(format!("{file}: the list says {list} and the mask says {map}; the mask is used"))
}

pub fn cpus_in_several_nodes(cpus: &CpuSet, in_nodes: &NodeSet) -> Said {
    let (these, are_listed, where_) = (pcpus(cpus), are(cpus), nodes(in_nodes));
    say(format!(
        "{these} {are_listed} listed by {where_}, and a CPU has one node; the lowest is used"
    ))
    .way("compare `numactl -H` with the vendor's data sheet; a firmware update usually mends it")
}

pub fn cpus_in_no_node(cpus: &CpuSet) -> Said {
    let (these, belong) = (pcpus(cpus), verb(cpus, "belongs", "belong"));
    say(format!("{these} {belong} to no NUMA node; numawise binds nothing there"))
}

pub fn distance_columns(node: Pnode, columns: u32, online_nodes: u32) -> Said {
    say(format!(
        "node {node} lists {} and {} online: its distances are not used",
        count(u64::from(columns), "distance"),
        if online_nodes == 1 {
            "1 node is".to_owned()
        } else {
            format!("{online_nodes} nodes are")
        },
    ))
}

pub fn self_distance_not_smallest(node: Pnode) -> Said {
    say(format!(
        "node {node} claims that another node is as near to it as itself or nearer: its distances \
         are believed less"
    ))
}

pub fn distance_asymmetric(a: Pnode, b: Pnode, there: u32, back: u32) -> Said {
    say(format!(
        "the distance from node {a} to node {b} is {there}, and {back} the other way round; both \
         are kept as they are"
    ))
}

pub fn distances_missing() -> Said {
    say("the host gives no NUMA distances: near and far nodes cannot be told apart")
}

pub fn node_memory_unknown(of: &NodeSet) -> Said {
    say(format!(
        "the memory of {} is not known (no meminfo there): plans cannot check it",
        nodes(of)
    ))
    .way("check the free memory yourself, or capture the host again with `numawise host capture`")
}

pub fn cpu_node_without_memory(of: &NodeSet) -> Said {
    let (these, have) = (nodes(of), verb(of, "has", "have"));
    say(format!(
        "{these} {have} CPUs and no memory: guests there get theirs from the nearest node that has \
         both, if one has"
    ))
    .way(
        "if the machine should have memory there (under L3-as-NUMA it need not), look for empty or \
         failed DIMM slots",
    )
}

pub fn memory_only_nodes(of: &NodeSet) -> Said {
    let (these, have) = (nodes(of), verb(of, "has", "have"));
    say(format!(
        "{these} {have} memory and no CPUs (CXL, HBM or GPU memory): nothing is bound there"
    ))
}

pub fn mask_names_offline(file: &str, cpus: &CpuSet) -> Said {
    let (these, are) = (pcpus(cpus), are(cpus));
    say(format!("{file} names {these}, which {are} not online; left out"))
}

pub fn bad_mask(file: &str, cpu: Pcpu) -> Said {
    say(format!("{file} should contain {} and does not; it is passed over", pcpu(cpu)))
}

pub fn overlapping_sets(what: SetKind, a: &CpuSet, b: &CpuSet) -> Said {
    let what = match what {
        SetKind::Package => "packages",
        SetKind::L3Domain => "L3 domains",
        SetKind::Core => "cores",
    };
    say(format!(
        "two {what} overlap and should not: {} and {} both have {}",
        list(a),
        list(b),
        list(&a.intersection(b))
    ))
}

pub fn no_l3(cpus: &CpuSet) -> Said {
    let (these, have) = (pcpus(cpus), verb(cpus, "has", "have"));
    say(format!("{these} {have} no L3 cache described: L3 domains play no part there"))
}

pub fn l3_spans_nodes(cpus: &CpuSet, across: &NodeSet) -> Said {
    say(format!(
        "the L3 domain of {} reaches over {}: sub-NUMA clustering, or firmware that is wrong",
        pcpus(cpus),
        nodes(across)
    ))
}

pub fn node_spans_packages(node: Pnode, packages: u32) -> Said {
    say(format!("node {node} has CPUs in {packages} packages, which hides the real distances"))
        .way("switch node interleaving off in the firmware settings, if this is a physical machine")
}

pub fn mixed_smt_widths(widths: &[u32]) -> Said {
    say(format!("cores have different numbers of threads: {}", numbers(widths)))
}

pub fn unequal_l3(sizes: &[u32]) -> Said {
    say(format!("L3 domains have different numbers of CPUs: {}", numbers(sizes)))
}

pub fn nodes_are_l3_domains() -> Said {
    say("every node is one L3 domain of many in its package (L3-as-NUMA): distances between nodes \
         of a package are about caches, not memory")
}

pub fn runs_under_hypervisor(vendor: Option<&str>) -> Said {
    let by = vendor.map_or_else(|| "a hypervisor".to_owned(), |v| format!("a hypervisor ({v})"));
    say(format!("this host is itself a guest of {by}: its nodes and caches need not be real ones"))
}

pub fn fake_numa(argument: &str) -> Said {
    say(format!(
        "the kernel was started with {argument}: its nodes are made up, so a binding to them gains \
         nothing"
    ))
    .way("take the argument off the kernel command line before placing real guests")
}

pub fn allowed_cpus_outside_allowed_nodes(cpus: &CpuSet, memory_nodes: &NodeSet) -> Said {
    let (these, are) = (pcpus(cpus), are(cpus));
    say(format!(
        "{these} {are} allowed here, but memory only from {}: whatever runs there has all its \
         memory far away",
        nodes(memory_nodes)
    ))
    .way("set the cgroup's cpuset.cpus and cpuset.mems to the same nodes")
}

pub fn online_without_directory(cpus: &CpuSet) -> Said {
    let (these, are) = (pcpus(cpus), are(cpus));
    say(format!("{these} {are} online and the kernel describes nothing more of them; left out"))
}

pub fn not_believed(file: &str, value: &str, wanted: &str) -> Said {
    say(format!("{file} says '{value}' where {wanted} was wanted; it is passed over"))
}
