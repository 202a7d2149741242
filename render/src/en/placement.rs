//! The search for the best place: what was asked, what it chose, and what lost.

use super::{and, nodes, pcpus, verb};
use crate::quantity::{bytes, count, pages};
use numawise_model::placement::{
    Best, DevicePolicy, EmulatorPolicy, Footprint, L3Policy, Lost, MemoryReach, NodeConstraint,
    NodeLack, PartingFound, Preference, Proof, Score, SmtPolicy, Split,
};
use numawise_model::{CpuSet, NodeSet, PageSize};

/// The options that a request differs from the usual by, as they are typed.
pub fn asked(best: &Best) -> Vec<String> {
    let mut words = Vec::new();
    if let L3Policy::Exactly(domains) = best.l3 {
        words.push(format!("--l3 {domains}"));
    }
    if best.smt != SmtPolicy::Prefer {
        words.push(format!("--smt {}", smt(best.smt)));
    }
    match &best.split {
        Split::EvenFirst => {}
        Split::Even => words.push("--split even".to_owned()),
        Split::Uneven => words.push("--split uneven".to_owned()),
        Split::Exact(parts) => words.push(format!("--split exact:{}", joined(parts))),
    }
    words.extend(best.vnodes.map(|count| format!("--vnodes {count}")));
    if best.emulator == EmulatorPolicy::Isolate {
        words.push("--emulator isolate".to_owned());
    }
    if best.devices != DevicePolicy::Preferred {
        words.push(format!("--devices {}", devices(best.devices)));
    }
    words.extend(best.near.iter().map(|address| format!("--near {address}")));
    words
}

fn joined(parts: &[u32]) -> String {
    parts.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

pub fn smt(policy: SmtPolicy) -> &'static str {
    match policy {
        SmtPolicy::Prefer => "prefer",
        SmtPolicy::Require => "require",
        SmtPolicy::Isolate => "isolate",
        SmtPolicy::Avoid => "avoid",
    }
}

fn devices(policy: DevicePolicy) -> &'static str {
    match policy {
        DevicePolicy::Preferred => "preferred",
        DevicePolicy::Required => "required",
        DevicePolicy::Legacy => "legacy",
        DevicePolicy::Socket => "socket",
    }
}

pub fn best_place(on: &NodeSet, score: &Score, proof: Proof) -> String {
    let known = match proof {
        Proof::Optimal => "optimal".to_owned(),
        Proof::BestFound { bound } => {
            format!("best found; distance {} where {bound} is a bound", score.distance)
        }
    };
    format!("{}: {known}; {}", nodes(on), and(&numbers_of(score)))
}

/// The preferences that say something of this place.
fn numbers_of(score: &Score) -> Vec<String> {
    let mut said = Vec::new();
    let mut say = |is: bool, text: String| said.extend(is.then_some(text));
    let sharing = u64::from(score.sharing_cells);
    say(sharing > 0, format!("{} on a node with another", count(sharing, "vNUMA node")));
    say(
        score.areas > 1,
        match score.parting {
            PartingFound::Even => "divided evenly".to_owned(),
            PartingFound::WholeCores => "divided unevenly, in whole cores".to_owned(),
            PartingFound::Any => "divided unevenly".to_owned(),
        },
    );
    say(score.distance > 0, format!("distance {} over all pairs of vCPUs", score.distance));
    say(
        score.broken_cores > 0,
        format!("{} of which it has a part", count(score.broken_cores, "core")),
    );
    say(score.device_distance > 0, format!("device distance {}", score.device_distance));
    say(true, format!("{} fewer free on the host", count(score.whole_cores_lost, "whole core")));
    say(score.use_steps > 0, format!("use of its pCPUs {} x 10 %", score.use_steps));
    said
}

pub fn preference(preference: Preference) -> &'static str {
    match preference {
        Preference::SharingCells => "vNUMA nodes that share a node",
        Preference::FewestNodes => "the number of nodes",
        Preference::EvenSplit => "an even division",
        Preference::Distance => "distance",
        Preference::SmtPolicy => "the SMT policy",
        Preference::L3Policy => "the L3 policy",
        Preference::WholeCores => "whole cores",
        Preference::Devices => "nearness to devices",
        Preference::Fragmentation => "whole cores left for others",
        Preference::Use => "use over 15 minutes",
        Preference::LowestIds => "lowest pCPU ids",
    }
}

pub fn worse(lost: &Lost) -> String {
    format!(
        "{} {} on {}: {} against {}",
        nodes(&lost.nodes),
        verb(&lost.nodes, "loses", "lose"),
        preference(lost.on),
        lost.theirs,
        lost.ours
    )
}

pub fn cannot(lack: &NodeLack, size: Option<PageSize>) -> String {
    format!("node {} alone cannot: {}", lack.node, lacking(lack, size))
}

/// The constraint that binds on a node, with what there is: pages too, where they are known.
pub fn lacking(lack: &NodeLack, size: Option<PageSize>) -> String {
    let left =
        lack.pages.map(|left| match size.map(|size| (size, left.checked_mul(size.bytes()))) {
            Some((size, _)) if size.is_huge() => pages(left, size),
            Some((_, Some(memory))) => bytes(memory),
            _ => count(left, "page"),
        });
    let left = left.map_or_else(String::new, |left| format!(", {left} left"));
    format!("{}{left}", binding(lack))
}

fn binding(lack: &NodeLack) -> String {
    let free = match lack.free.len() {
        0 => "no free pCPU".to_owned(),
        n => format!("{} free ({})", count(n as u64, "pCPU"), lack.free),
    };
    match lack.binding {
        NodeConstraint::Seats => format!("room for {}, {free}", count(lack.seats.into(), "vCPU")),
        NodeConstraint::Memory => free,
        NodeConstraint::Devices => format!("not near the devices, {free}"),
        NodeConstraint::L3Domains => format!("not so many L3 domains with room, {free}"),
        NodeConstraint::EmulatorCpu => format!("no pCPU over for the emulator alone, {free}"),
        NodeConstraint::Other => format!("what is there does not come together, {free}"),
    }
}

pub fn side_by_side(compact: Option<Footprint>, spread: Option<Footprint>) -> String {
    format!("compact: {}; spread: {}", footprint(compact), footprint(spread))
}

/// `1 node, 8 cores, 1 L3 domain (32 MiB), 16 vCPUs on shared cores`.
pub fn footprint(taken: Option<Footprint>) -> String {
    let Some(taken) = taken else { return "does not fit".to_owned() };
    let l3 = taken.l3_bytes.map(|size| format!(" ({})", bytes(size))).unwrap_or_default();
    format!(
        "{}, {}, {}{l3}, {} on shared cores",
        count(taken.nodes.into(), "node"),
        count(taken.cores.into(), "core"),
        count(taken.l3_domains.into(), "L3 domain"),
        count(taken.on_shared_cores.into(), "vCPU"),
    )
}

pub fn reach(reach: &MemoryReach) -> String {
    let mean = |hundredths: Option<u32>| match hundredths {
        Some(n) => format!("mean distance {}.{:02}", n / 100, n % 100),
        None => "distance not known".to_owned(),
    };
    format!(
        "memory: {} of random accesses are remote without vNUMA ({}), {} where processes stay on \
         their vNUMA node ({})",
        permille(reach.remote_without_vnuma),
        mean(reach.mean_distance_without),
        permille(reach.remote_with_vnuma),
        mean(reach.mean_distance_with)
    )
}

fn permille(n: u32) -> String {
    match n % 10 {
        0 => format!("{} %", n / 10),
        tenth => format!("{}.{tenth} %", n / 10),
    }
}

pub fn kept_idle(cpus: &CpuSet) -> String {
    format!(
        "{} {} kept idle, so that nobody else runs on the guest's cores",
        pcpus(cpus),
        verb(cpus, "is", "are")
    )
}

pub fn isolated_first(cpus: &CpuSet) -> String {
    format!("only isolated pCPUs are looked at ({cpus}): the kernel keeps everybody else off them")
}
