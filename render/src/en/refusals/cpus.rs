//! Refusals about CPUs: too few, taken, not usable, or rules that do not add up.

use crate::en::{Said, are, limit, list, n_pcpus, n_vcpus, nodes, owner, pcpus, say, vcpus, verb};
use crate::quantity::count;
use numawise_model::ledger::ClaimConflict;
use numawise_model::{CpuSet, Mode, NodeSet, Owner, Pnode, Vcpu, VcpuSet};

const SEE_CLAIMS: &str = "see who has the rest: `numawise host show --claims`";

pub fn not_enough(
    wanted: u32,
    free: &[(Pnode, CpuSet)],
    held: &[(Owner, CpuSet)],
    reserved: &CpuSet,
    overcommit: bool,
) -> Said {
    let free_in_all: usize = free.iter().map(|(_, cpus)| cpus.len()).sum();
    let mut said = say(format!(
        "{} wanted, {} free",
        are_wanted(wanted),
        if free_in_all == 1 { "1 pCPU is".to_owned() } else { format!("{free_in_all} pCPUs are") }
    ));
    for (node, cpus) in free {
        said = said.fact(match cpus.len() {
            0 => format!("node {node}: none free"),
            n => format!("node {node}: {n} free ({cpus})"),
        });
    }
    for (who, cpus) in held {
        said = said.fact(format!("held by {}: {} ({cpus})", owner(who), n_pcpus(cpus)));
    }
    if !reserved.is_empty() {
        said = said.fact(format!("reserved for the host: {} ({reserved})", n_pcpus(reserved)));
    }
    let by_guests = held.iter().any(|(who, _)| matches!(who, Owner::Guest { .. }));
    said.way_if(free_in_all > 0, format!("ask for what fits: --vcpus {free_in_all}"))
        .way_if(
            overcommit,
            "let several vCPUs of this guest take turns on a pCPU: --overcommit (slower under load)",
        )
        .way_if(by_guests, "let guests use the same pCPUs: --shared")
        .way_if(by_guests, format!("give another guest's pCPUs back: numawise unbind {}", largest(held)))
}

/// The guest that holds the most, for the command that would help most.
fn largest(held: &[(Owner, CpuSet)]) -> &str {
    let guests = held.iter().filter_map(|(who, cpus)| match who {
        Owner::Guest { name, .. } => Some((cpus.len(), name.as_str())),
        Owner::Process { .. } | Owner::Irq { .. } | Owner::Reserved => None,
    });
    guests.max_by_key(|(n, _)| *n).map_or("GUEST", |(_, name)| name)
}

fn are_wanted(n: u32) -> String {
    format!("{} {}", n_vcpus(n), if n == 1 { "is" } else { "are" })
}

pub fn node_too_small(node: Pnode, wanted: u32, free: &CpuSet, overcommit: bool) -> Said {
    let here = match free.len() {
        0 => format!("node {node} has none free"),
        n => format!("node {node} has {n} free ({free})"),
    };
    let fits = free.len();
    say(format!("{} wanted on node {node}; {here}", are_wanted(wanted)))
        .way_if(
            fits > 0,
            format!(
                "put {} there and the rest on another node: repeat --on-node",
                n_vcpus(fits as u32)
            ),
        )
        .way_if(overcommit, "let several vCPUs of this guest take turns on a pCPU: --overcommit")
        .way(SEE_CLAIMS)
}

pub fn unbound(which: &VcpuSet, of: u32) -> Said {
    let (these, are) = (vcpus(which), are(which));
    say(format!("{these} of {of} {are} not bound; either every vCPU is bound or none"))
        .way(format!("add a rule for the rest: --bind '{which}:PCPUS'"))
        .way("or leave it all to a policy: --policy smart")
}

pub fn spans_nodes(vcpu: Vcpu, cpus: &CpuSet, over: &NodeSet) -> Said {
    say(format!(
        "vCPU {vcpu} is bound to {}, which {} in {}; a vCPU belongs to one node, or its memory \
         could not be near it",
        pcpus(cpus),
        verb(cpus, "lies", "lie"),
        nodes(over)
    ))
    .way(format!("keep the pCPUs of one node in the rule: --bind '{vcpu}:PCPUS'"))
    .way("or name the node and let numawise choose: --on-node NODE:VCPUS")
}

pub fn out_of_range(which: &VcpuSet, guest_has: u32) -> Said {
    let last = guest_has.saturating_sub(1);
    say(format!("the rules name {}; the guest has {} (0-{last})", vcpus(which), n_vcpus(guest_has)))
        .way(format!("use vCPU numbers from 0 to {last} in --bind and --on-node"))
}

pub fn named_twice(which: &VcpuSet) -> Said {
    let (these, are) = (vcpus(which), are(which));
    say(format!("{these} {are} given to two nodes")).way("name each vCPU in one --on-node only")
}

pub fn unknown(cpus: &CpuSet) -> Said {
    say(format!("this host has no {}", named(cpus)))
        .way("use CPUs that are there in --bind; `numawise host show` draws them")
}

fn named(cpus: &CpuSet) -> String {
    if cpus.is_empty() { "such pCPU".to_owned() } else { pcpus(cpus) }
}

pub fn offline(cpus: &CpuSet) -> Said {
    let (these, are) = (pcpus(cpus), are(cpus));
    let first = cpus.first().map_or_else(|| "N".to_owned(), |cpu| cpu.to_string());
    say(format!("{these} {are} offline")).way("bind to others with --bind").way(format!(
        "or switch {} on first: echo 1 > /sys/devices/system/cpu/cpu{first}/online",
        it(cpus)
    ))
}

pub fn not_allowed(cpus: &CpuSet, limited_by: Option<&str>, allowed: &CpuSet) -> Said {
    let (these, are) = (pcpus(cpus), are(cpus));
    say(format!(
        "{these} {are} not allowed here: the CPUs are limited{} to {}",
        limit(limited_by),
        list(allowed)
    ))
    .way("bind within these with --bind, or widen the cgroup's cpuset.cpus")
}

pub fn in_no_node(cpus: &CpuSet) -> Said {
    let (these, belong) = (pcpus(cpus), verb(cpus, "belongs", "belong"));
    say(format!("{these} {belong} to no NUMA node, so no vNUMA node can be tied to them"))
        .way("choose pCPUs of a node with --bind")
}

pub fn taken(conflict: &ClaimConflict) -> Said {
    let ClaimConflict { cpus, held_by, held_mode } = conflict;
    let (these, belong, who) = (pcpus(cpus), verb(cpus, "belongs", "belong"), owner(held_by));
    match held_mode {
        Mode::Exclusive => say(format!("{these} {belong} to {who} alone"))
            .way("choose others with --bind, or leave the choice to --policy smart")
            .way_if(matches!(held_by, Owner::Guest { .. }), give_back(held_by, cpus)),
        Mode::Shared => say(format!(
            "{these} {} used by {who}, and this guest wants {} alone",
            are(cpus),
            it(cpus)
        ))
        .way("share: --shared")
        .way("or choose others with --bind, or leave the choice to --policy smart")
        .way_if(matches!(held_by, Owner::Guest { .. }), give_back(held_by, cpus)),
    }
}

/// The command that frees a guest's CPUs; for other owners it is never shown.
fn give_back(holder: &Owner, cpus: &CpuSet) -> String {
    match holder {
        Owner::Guest { name, .. } => {
            format!("or give {} back: numawise unbind {name}", it(cpus))
        }
        Owner::Process { .. } | Owner::Irq { .. } | Owner::Reserved => String::new(),
    }
}

pub fn outside_pool(cpus: &CpuSet, pool: &CpuSet, exclusive: bool) -> Said {
    let (these, are) = (pcpus(cpus), are(cpus));
    let (what, other) = if exclusive {
        ("dedicated to guests that want pCPUs alone", "or share the pCPUs: --shared")
    } else {
        ("set aside for guests that share pCPUs", "or take pCPUs alone: leave out --shared")
    };
    say(format!("{these} {are} not among the CPUs {what}: {}", list(pool)))
        .way("choose from these with --bind")
        .way(other)
        .way("or change the sets in /etc/numawise/config.toml")
}

pub fn reserved(cpus: &CpuSet) -> Said {
    let (these, are) = (pcpus(cpus), are(cpus));
    say(format!("{these} {are} reserved for the host")).way("choose others with --bind").way(
        "or change the reserved CPUs in /etc/numawise/config.toml; --policy smart may use them",
    )
}

pub fn empty_rule(which: &VcpuSet) -> Said {
    let (rule, leave) = (vcpus(which), verb(which, "has", "have"));
    say(format!("{rule} {leave} a rule that leaves no pCPU: its exclusions (^) take all away"))
        .way(format!("name at least one pCPU: --bind '{which}:PCPUS'"))
}

pub fn unknown_node(node: Pnode, known: &NodeSet) -> Said {
    say(format!("this host has no node {node}; it has {}", nodes(known)))
        .way(format!("use one of {known} in --on-node"))
}

pub fn node_without_cpus(node: Pnode) -> Said {
    say(format!("node {node} has memory and no CPUs: no vCPU can be bound there"))
        .way("name a node with CPUs in --on-node")
}

pub fn overcommit_not_asked(cpus: &CpuSet, which: &VcpuSet) -> Said {
    let (these, are) = (vcpus(which), are(which));
    let onto = if cpus.len() == 1 { pcpus(cpus) } else { format!("{} ({cpus})", n_pcpus(cpus)) };
    say(format!("{} ({these}) {are} bound to {onto}", count(which.len() as u64, "vCPU")))
        .way("give each vCPU a pCPU of its own with --bind")
        .way("or say that they may take turns: --overcommit (slower under load)")
}

fn it(cpus: &CpuSet) -> &'static str {
    verb(cpus, "it", "them")
}
