//! The short words of a guest's picture, of plans and of tables.

use super::{
    DISTANCES, MEMORY, NO_VNUMA, NOT_BOUND, OF_NO_NODE, cpu_topology, fix, mode as mode_word,
    title_host,
};
use crate::binding::{Onto, Run};
use crate::en::{and, nodes as node_list, numbers, pcpus};
use crate::quantity::count;
use numawise_model::{
    ChangedPart, CpuSet, Effect, ForeignOwner, GuestCpuTopology, GuestFix, Mode, NodeSet, PageSize,
    Pcpu, Pnode, VcpuSet, Vnode,
};

pub fn guest_size(vcpus: u32, memory: &str) -> String {
    format!("{}, {memory}", count(u64::from(vcpus), "vCPU"))
}

pub fn vnode(id: Option<Vnode>) -> String {
    id.map_or_else(|| format!("guest {NO_VNUMA}"), |id| format!("vNUMA node {id}"))
}

pub fn pnode(id: Option<Pnode>) -> String {
    id.map_or_else(|| OF_NO_NODE.to_owned(), |id| format!("pNUMA node {id}"))
}

pub fn nodes(ids: &NodeSet) -> String {
    node_list(ids)
}

pub fn vcpus(set: &VcpuSet) -> String {
    match set.len() {
        0 => "no vCPU".to_owned(),
        1 => format!("vCPU {set}"),
        n => format!("vCPUs {set} ({n})"),
    }
}

pub fn vnode_memory(total: &str) -> String {
    format!("{MEMORY} {total}")
}

pub fn vnode_distances(all: impl Iterator<Item = u32>) -> String {
    format!("{DISTANCES} {}", distances(all))
}

pub fn memory_from(nodes: &NodeSet) -> String {
    format!("{MEMORY} from {}", node_list(nodes))
}

/// This guest's pCPUs in a node.
pub fn bound_here(bound: &CpuSet, of: usize) -> String {
    match bound.len() {
        0 => format!("none of its {} bound", count(of as u64, "pCPU")),
        n => format!("pCPUs {bound} ({n} of {of})"),
    }
}

pub fn also_here(owner: &str, mode: Mode, cpus: &CpuSet) -> String {
    format!("also {owner}: {cpus} ({})", mode_word(Some(mode)))
}

pub fn unused_nodes(nodes: &NodeSet) -> String {
    format!("takes no part: {}", node_list(nodes))
}

/// The vCPUs of a run, and where they go.
pub fn binding_run(run: &Run, nodes: Option<&str>) -> (String, String) {
    let name = match run.last - run.first {
        0 => format!("vCPU {}", run.first),
        _ => format!("vCPUs {}-{}", run.first, run.last),
    };
    let several = run.last > run.first;
    let onto = match &run.onto {
        Onto::InOrder { first, last } if first == last => format!("pCPU {first}"),
        Onto::InOrder { first, last } => format!("pCPUs {first}-{last}, one to one"),
        Onto::InTurn(ranges) => {
            let one_to_one = if apart(ranges) { ", one to one" } else { "" };
            let ranges: Vec<String> = ranges.iter().map(|(a, b)| format!("{a}-{b}")).collect();
            format!("pCPUs {} in turn{one_to_one}", and(&ranges))
        }
        Onto::AnyOf(cpus) if several => format!("pCPUs {cpus}, each on any of them"),
        Onto::AnyOf(cpus) if cpus.len() == 1 => format!("pCPU {cpus}"),
        Onto::AnyOf(cpus) => format!("pCPUs {cpus}, on any of them"),
    };
    let onto = nodes.map_or_else(|| onto.clone(), |nodes| format!("{onto} ({nodes})"));
    (name, format!("-> {onto}"))
}

/// Whether no pCPU comes twice.
fn apart(ranges: &[(Pcpu, Pcpu)]) -> bool {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0].1 < pair[1].0)
}

pub fn emulator(cpus: &CpuSet) -> String {
    format!("emulator -> {}", pcpus(cpus))
}

pub fn iothreads(ids: &[u32], cpus: &CpuSet) -> String {
    let word = if ids.len() == 1 { "I/O thread" } else { "I/O threads" };
    format!("{word} {} -> {}", numbers(ids), pcpus(cpus))
}

/// Heads of the tables.
pub const GUEST_TABLE: [&str; 6] = ["guest", "state", "binding", "nodes", "vNUMA", "drift"];
pub const VNUMA_TABLE: [&str; 5] = ["vNUMA node", "vCPUs", "memory", "pNUMA node", "distances"];

pub const CHANGE_TABLE: [&str; 2] = ["changes", "takes effect"];
pub const NO_CHANGES: &str = "changes: none, the guest is as planned";

pub fn changed_part(part: ChangedPart) -> &'static str {
    match part {
        ChangedPart::VcpuPins => "pins of the vCPUs",
        ChangedPart::EmulatorPin => "pin of the emulator",
        ChangedPart::IothreadPins => "pins of the I/O threads",
        ChangedPart::VnumaNodes => "vNUMA nodes",
        ChangedPart::GuestCpuTopology => "guest sockets, cores, caches",
        ChangedPart::MemoryBinding => "binding of the memory",
        ChangedPart::Hugepages => "hugepages",
        ChangedPart::Fix(of) => fix(of),
    }
}

pub fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Live => "live, with --live; else next boot",
        Effect::NextBoot => "next boot",
    }
}

pub const OWNER: &str = "owner";

pub fn row_owner(owner: Option<ForeignOwner>) -> String {
    match owner {
        Some(ForeignOwner::Managed { by }) => by.name().to_owned(),
        Some(ForeignOwner::Transient) => "transient".to_owned(),
        None => "-".to_owned(),
    }
}

pub fn row_binding(pcpus: &CpuSet, vcpus: u32, mode: Option<Mode>) -> String {
    if pcpus.is_empty() {
        return format!("{}, {NOT_BOUND}", count(u64::from(vcpus), "vCPU"));
    }
    let onto = count(pcpus.len() as u64, "pCPU");
    format!("{} on {onto}, {}", count(u64::from(vcpus), "vCPU"), mode_word(mode))
}

/// `32 + 16`; `off`.
pub fn row_vnuma(vnodes: &[u32]) -> String {
    if vnodes.is_empty() {
        return "off".to_owned();
    }
    vnodes.iter().map(u32::to_string).collect::<Vec<_>>().join(" + ")
}

pub fn row_drift(findings: Option<u32>, pending_restart: bool) -> String {
    match findings {
        None => "not checked".to_owned(),
        Some(0) if pending_restart => "none; restart pending".to_owned(),
        Some(0) => "none".to_owned(),
        Some(n) => count(u64::from(n), "finding"),
    }
}

pub fn title_plan(plan: &str, host: &str) -> String {
    format!("plan {plan} on {}", title_host(host))
}

pub const PLAN_VNUMA_OFF: &str = "vNUMA: off, the guest sees no NUMA";
pub const PLAN_NO_GUEST: &str =
    "planned for a size only; to apply, plan for a guest: numawise plan GUEST";
pub const PLAN_UNBOUND: &str = "binding: none, every pin is taken out";
pub const REASONS: &str = "why:";

pub fn plan_memory(size: PageSize, mode: &str) -> String {
    format!("{MEMORY}: {size} pages, {mode}")
}

pub fn plan_cpu(cpu: &GuestCpuTopology) -> String {
    format!("guest topology: {}", cpu_topology(cpu))
}

pub fn plan_cpu_back(cpu: &GuestCpuTopology) -> String {
    format!("guest topology goes back to {}", cpu_topology(cpu))
}

pub fn plan_fixes(fixes: &[GuestFix]) -> String {
    let words: Vec<String> = fixes.iter().map(|f| fix(*f).to_owned()).collect();
    format!("also changed (--fix-guest): {}", and(&words))
}

/// `10, 21`: to vNUMA nodes 0, 1, ...
pub fn distances(all: impl Iterator<Item = u32>) -> String {
    all.map(|d| d.to_string()).collect::<Vec<_>>().join(", ")
}

pub fn busiest(cpus: &str) -> String {
    format!("busiest: {cpus}")
}
