//! Findings about a plan: allowed, but with a price that the reader should know.

use crate::en::{
    Said, are, n_pcpus, nodes, numbers, owner, owners, pcpu, pcpus, say, vcpus, verb, vnode,
};
use crate::quantity::count;
use numawise_model::finding::L3Untold;
use numawise_model::{CpuSet, NodeSet, Owner, Pcpu, Pnode, Vcpu, VcpuSet, Vnode};

pub fn uses_reserved_cpus(cpus: &CpuSet) -> Said {
    let (these, are) = (pcpus(cpus), are(cpus));
    say(format!("{these} {are} reserved for the host and used by this plan")).way(format!(
        "to keep {} free, bind by rule or node: --bind VCPUS:PCPUS or --on-node NODE:VCPUS",
        verb(cpus, "it", "them")
    ))
}

pub fn uses_isolated_cpus(cpus: &CpuSet) -> Said {
    let (these, are) = (pcpus(cpus), are(cpus));
    say(format!("{these} {are} isolated (isolcpus): the scheduler does not balance load there"))
}

pub fn isolated_in_wide_mask(vcpu: Vcpu, cpus: &CpuSet) -> Said {
    say(format!(
        "vCPU {vcpu} may run on several CPUs of which {} {} isolated: the scheduler will not move \
         it between them",
        pcpus(cpus),
        are(cpus)
    ))
    .way("bind this vCPU to one pCPU, or leave the isolated ones out of its rule")
}

pub fn overcommitted(cpus: &CpuSet, on_them: &VcpuSet) -> Said {
    say(format!(
        "over-commit: {} {} {}, so they take turns",
        vcpus(on_them),
        verb(on_them, "runs on", "run on"),
        if cpus.len() == 1 { pcpus(cpus) } else { format!("{} ({cpus})", n_pcpus(cpus)) }
    ))
    .way("give the guest fewer vCPUs, or more pCPUs, where latency matters")
}

pub fn shares_cpus(cpus: &CpuSet, with: &[Owner]) -> Said {
    let (these, are) = (pcpus(cpus), are(cpus));
    say(format!("{these} {are} shared with {}", owners(with)))
        .way("leave out --shared to get pCPUs that nobody else has")
}

pub fn emulator_on_vcpu_cpus(cpus: &CpuSet) -> Said {
    say(format!(
        "the emulator threads run on the vCPUs' own {}: they take time from the guest",
        pcpus(cpus)
    ))
    .way("keep a reserved core of each node free for them: bind by --on-node or --bind, or reserve more in /etc/numawise/config.toml")
}

pub fn emulator_beside_vcpus(cpus: &CpuSet) -> Said {
    say(format!(
        "the emulator threads run on {}, SMT siblings of the guest's pCPUs: they share their cores",
        pcpus(cpus)
    ))
    .way("reserve whole cores for the host in /etc/numawise/config.toml")
}

pub fn smt_not_avoided(on: &NodeSet) -> Said {
    say(format!(
        "{} {} too few whole cores left: vCPUs share cores there",
        nodes(on),
        verb(on, "has", "have")
    ))
    .way("ask for fewer vCPUs, or use --smt isolate to be refused instead")
}

pub fn l3_shares_unequal(vcpus: &[u32]) -> Said {
    say(format!("the L3 domains have unequal shares of the guest: {} vCPUs", numbers(vcpus)))
        .way("--l3 N takes a number of domains that divides the guest's cores, where there is one")
}

pub fn not_proven_best(distance: u64, bound: u64) -> Said {
    say(format!(
        "the search was cut short: distance {distance} was the best found, and none is below {bound}"
    ))
}

pub fn emulator_lacks_memory_node(node: Pnode) -> Said {
    say(format!(
        "the emulator may not run on node {node}, where the guest's hugepages are: QEMU would \
         refuse to start"
    ))
    .way(format!("let the emulator run on a CPU of node {node} too"))
}

pub fn prefill_without_cpus(node: Pnode) -> Said {
    say(format!(
        "memory of node {node} is filled before the guest starts, and that node has no CPU for the \
         thread that fills it: some releases of libvirt and QEMU do not start such a guest"
    ))
    .way("if it does not start, use ordinary pages for it: --page-size 4K")
}

pub fn max_sockets(sockets: u32, crossing: Vnode) -> Said {
    say(format!(
        "with at most {}, a guest socket reaches over the edge of {}: the guest's scheduler sees \
         a cache there that is not one",
        count(u64::from(sockets), "socket"),
        vnode(crossing)
    ))
    .way("raise --max-sockets if the licence allows it, or choose a vCPU count that divides evenly")
}

pub fn guest_l3_differs(host_domains: u32, guest_domains: u32) -> Said {
    let way = if guest_domains > host_domains {
        "for fewer and larger guest sockets give the nodes vCPU counts with a larger common divisor (--on-node), or cap them with --max-sockets"
    } else {
        "to show them as they are, give every L3 domain the same number of neighbouring vCPUs (--bind)"
    };
    say(format!(
        "the guest is bound over {} and sees {guest_domains}",
        count(u64::from(host_domains), "L3 domain")
    ))
    .way(way)
}

pub fn guest_l3_untold(why: &L3Untold) -> Said {
    let said = say("the guest cannot be told which of its vCPUs share an L3 cache");
    match why {
        L3Untold::Unequal { vcpus } => {
            let shares: Vec<String> = vcpus.iter().map(u32::to_string).collect();
            said.fact(format!("its L3 domains have {} vCPUs: no topology has such dies", shares.join(", ")))
                .way("take shares that are equal: --l3 N with an N that divides the vCPUs, or other --bind rules")
        }
        L3Untold::Scattered => said
            .fact("vCPUs of one L3 domain are not neighbours, or may run on several domains")
            .way("bind neighbouring vCPUs to one L3 domain, one to one: --policy compact"),
        L3Untold::OtherThanSockets { vcpus_each, in_socket } => said
            .fact(format!(
                "{vcpus_each} vCPUs share an L3 domain, and a guest socket has {in_socket}"
            ))
            .way("fewer vNUMA nodes (--vnodes) give larger sockets, where one node has the room"),
        L3Untold::NoSmpCache { why } => said
            .fact(format!("only QEMU's smp-cache could say it, and it is not to be had: {why}"))
            .way("QEMU has it since 10.0 for x86 PCs; --new-topology lets dies say it"),
    }
}

pub fn guest_smt_hidden(host_threads: u32) -> Said {
    say(format!(
        "the guest does not see which of its vCPUs share a core ({host_threads} threads to a core): \
         only where every guest core can be a whole core of the host is that told"
    ))
}

pub fn vcpus_interleaved(of: Vnode) -> Said {
    say(format!(
        "the vCPUs of {} are not in one row: guest sockets and nodes cannot be made to agree",
        vnode(of)
    ))
    .way("bind neighbouring vCPUs to the same node (--on-node NODE:VCPUS)")
}

pub fn cells_share_node(node: Pnode, cells: u32) -> Said {
    say(format!(
        "{cells} vNUMA nodes share pNUMA node {node}: good for trying a topology, not for speed"
    ))
}

pub fn memory_unchecked(node: Pnode) -> Said {
    say(format!("nobody knows how much memory is free on node {node}: the plan could not check it"))
        .way(format!("see `numactl -H` for node {node} before applying"))
}

pub fn memory_on_other_node(of: Vnode, cpu_node: Pnode, memory_node: Pnode) -> Said {
    say(format!(
        "{} runs on node {cpu_node}, which has no memory that may be used: its memory is on node {memory_node}",
        vnode(of)
    ))
}

pub fn rule_order(rule: &str, cpus: &str) -> Said {
    say(format!(
        "in '{rule}' the exclusion of {cpus} stands before what it excludes from: numawise leaves \
         {cpus} out, libvirt would read the text in order and keep it"
    ))
    .way("write exclusions last, for example 1-7,^3")
}

pub fn sibling(cpu: Pcpu, sibling: Pcpu, of: &Owner) -> Said {
    let (cpu, sibling) = (pcpu(cpu), pcpu(sibling));
    say(format!("{cpu} is a thread of the same core as {sibling}, which belongs to {}", owner(of)))
}

pub fn unpinned_guest(name: &str) -> Said {
    say("it is pinned nowhere and may run on any CPU; its memory is counted")
        .way(format!("bind it too: numawise bind {name}, or through the manager that owns it"))
}

pub fn plan_breaks_rule(rule: &str, detail: &str) -> Said {
    say(format!("the plan breaks the rule '{rule}': {detail}"))
        .way("make the plan again; if nobody edited it, this is a defect of numawise: report it with the plan (--json) and `numawise host capture FILE`")
}
