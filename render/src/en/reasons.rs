//! Why a plan is as it is, one line per decision, in the order in which they were taken.

use super::{are, n_vcpus, nodes, numbers, owner, pcpus, placement, vcpus, verb, vnode};
use crate::quantity::{count, pages};
use numawise_model::reason::{EmulatorChoice, Exclusion, Reason as R};
use numawise_model::{CpuSet, Id, NodeSet};

pub fn reason(reason: &R) -> String {
    match reason {
        R::NodeOrder { nodes } => {
            format!("nodes are filled in the order {}", in_order(nodes, "then"))
        }
        R::NodeFree { node, free } => match free.len() {
            0 => format!("node {node} has no free pCPU"),
            n => format!("node {node} has {} free: {free}", count(n as u64, "pCPU")),
        },
        R::Excluded { cpus, why } => excluded(cpus, why),
        R::Filled { node, vcpus: filled, pcpus: onto } => {
            format!(
                "{} {} to node {node}: {}",
                vcpus(filled),
                verb(filled, "goes", "go"),
                pcpus(onto)
            )
        }
        R::WrappedTo { node, vcpus: more } => format!(
            "every pCPU is taken, so the fill begins again at node {node} with {} (over-commit)",
            vcpus(more)
        ),
        R::RulesTaken { rules, vcpus: bound } => format!(
            "{} {} bound by {}, word for word",
            vcpus(bound),
            are(bound),
            count(*rules as u64, "rule")
        ),
        R::MemoryShared { vnode: of, pages: n, page_size, node } => format!(
            "{} gets {} from node {node}: memory is shared out by vCPU count in whole pages",
            vnode(*of),
            pages(*n, *page_size)
        ),
        R::MemoryFromNeighbour { vnode: of, cpu_node, memory_node, distance } => format!(
            "node {cpu_node} has no memory that may be used, so {} gets it from the nearest node that has, node \
             {memory_node} ({})",
            vnode(*of),
            distance.map_or_else(|| "distance unknown".to_owned(), |d| format!("distance {d}"))
        ),
        R::Sockets { sockets, vcpus_each, vnode_sizes } => format!(
            "{} of {}: the largest size that divides the vNUMA nodes ({} vCPUs), so that no guest \
             socket reaches over a node's edge",
            count(u64::from(*sockets), "guest socket"),
            n_vcpus(*vcpus_each),
            numbers(vnode_sizes)
        ),
        R::SocketsCapped { wanted, given } => {
            format!("{wanted} sockets would follow the nodes; --max-sockets makes it {given}")
        }
        R::DiesAreL3Domains { dies, vcpus_each } => format!(
            "{} of {} in the guest: each is an L3 domain of the host",
            count(u64::from(*dies), "die"),
            n_vcpus(*vcpus_each)
        ),
        R::ThreadsAreSiblings { threads } => format!(
            "{threads} threads to a guest core: neighbouring vCPUs are SMT siblings on the host"
        ),
        R::EmulatorPlaced { cpus, why } => {
            format!("the emulator runs on {}: {}", pcpus(cpus), emulator_choice(*why))
        }
        R::VnumaOff => "vNUMA is off as asked: the binding stands alone".to_owned(),
        R::KeepsFrozenTopology => {
            "the guest keeps the topology it has been running with".to_owned()
        }
        R::BestPlace { nodes, score, proof } => placement::best_place(nodes, score, *proof),
        R::WorsePlace { place } => placement::worse(place),
        R::NodeCannot { lack } => placement::cannot(lack, None),
        R::SideBySide { compact, spread } => placement::side_by_side(*compact, *spread),
        R::MemoryReach { reach } => placement::reach(reach),
        R::SiblingsKeptIdle { cpus } => placement::kept_idle(cpus),
        R::IsolatedFirst { cpus } => placement::isolated_first(cpus),
        R::Unbound => "no binding is asked for: the guest may run on every CPU".to_owned(),
        R::L3BySmpCache { level, vcpus_each } => l3_by_level(level.as_str(), *vcpus_each),
        R::MemoryOnlyUsed { vnode: of, cpu_node, nodes: from, distance } => {
            format!("{} of node {cpu_node} {}", vnode(*of), from_only(from, *distance))
        }
        R::MemoryOnlyNodesLeftOut { nodes: out } => left_out(out),
    }
}

fn l3_by_level(level: &str, vcpus_each: u32) -> String {
    let each = count(u64::from(vcpus_each), "vCPU");
    format!(
        "QEMU's smp-cache puts an L3 at each guest {level}, {each}: each is an L3 domain of the host"
    )
}

fn from_only(from: &NodeSet, distance: Option<u32>) -> String {
    let far = distance.map_or_else(String::new, |d| format!(", distance {d} from it"));
    let has = verb(from, "has", "have");
    format!("takes memory from {}, which {has} only memory{far}: asked for", nodes(from))
}

fn left_out(out: &NodeSet) -> String {
    let has = verb(out, "has", "have");
    format!("{} {has} only memory and {} left out", nodes(out), are(out))
}

fn in_order<I: Id>(ids: &[I], joined_by: &str) -> String {
    if ids.is_empty() {
        return "of no node at all".to_owned();
    }
    ids.iter().map(I::to_string).collect::<Vec<_>>().join(&format!(", {joined_by} "))
}

fn excluded(cpus: &CpuSet, why: &Exclusion) -> String {
    let (these, are) = (pcpus(cpus), are(cpus));
    match why {
        Exclusion::Offline => format!("{these} {are} left out: offline"),
        Exclusion::NotAllowed { limited_by } => match limited_by {
            Some(file) => format!("{these} {are} left out: not allowed by {file}"),
            None => format!("{these} {are} left out: not allowed here"),
        },
        Exclusion::Reserved => format!("{these} {are} left out: reserved for the host"),
        Exclusion::OutsidePool => {
            format!("{these} {are} left out: not in the set for such guests (config.toml)")
        }
        Exclusion::Claimed { owner: who } => {
            format!("{these} {are} left out: held by {}", owner(who))
        }
        Exclusion::InNoNode => format!("{these} {are} left out: in no NUMA node"),
    }
}

fn emulator_choice(why: EmulatorChoice) -> &'static str {
    match why {
        EmulatorChoice::Housekeeping => "reserved CPUs on the guest's nodes, away from its vCPUs",
        EmulatorChoice::GuestsOwn => "the guest's own, since none are set aside on its nodes",
        EmulatorChoice::Isolated => "a pCPU of its own",
        EmulatorChoice::HousekeepingAndOwn => {
            "reserved CPUs, and the guest's own on nodes that have none, since memory is prepared \
             on each node by a thread that may run there"
        }
    }
}
