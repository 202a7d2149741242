//! Places and moves as documents and as rows.

use crate::fleet_requests::Asked;
use crate::fleet_source::FleetSource;
use numawise_documents::Wire;
use numawise_documents::fleet::{
    FleetMoveDoc, FleetPartDoc, FleetPlaceDoc, FleetRefusalDoc, FleetStayDoc,
};
use numawise_documents::wire::{IdDoc, ListDoc};
use numawise_model::{CpuSet, NodeSet};
use numawise_planner::fit::Fit;
use numawise_planner::fleet::groups::Allowed;
use numawise_planner::fleet::{Fleet, Held, Move, Placed, Scope, Stands, Staying, Stays, why_not};
use numawise_render::text::{
    FleetMove, FleetPlace, FleetRank, FleetRefusal, FleetStands, FleetStays,
};
use std::collections::BTreeSet;

pub fn place_doc(source: &FleetSource, request: &str, placed: &Placed) -> FleetPlaceDoc {
    let mut kept_idle = CpuSet::new();
    placed.fit.parts.iter().for_each(|part| kept_idle.extend(&part.kept_idle));
    FleetPlaceDoc {
        request: request.to_owned(),
        host: source.fleet.id(placed.host).0.clone(),
        rack: source.fleet.rack(placed.host).map(str::to_owned),
        parts: parts(source, placed.host, &placed.fit, placed.held.pages.first().map(|p| p.0)),
        kept_idle: ListDoc(kept_idle),
        best: placed.is_best,
        memory_checked: memory_checked(source, placed.host, &placed.held),
    }
}

fn parts(
    source: &FleetSource,
    host: usize,
    fit: &Fit,
    size: Option<numawise_model::PageSize>,
) -> Vec<FleetPartDoc> {
    let layout = source.fleet.layout(host);
    let part = |part: &numawise_planner::fit::Part| FleetPartDoc {
        nodes: layout.areas[part.area].nodes.to_doc(),
        pcpus: part.pcpus.iter().map(|cpu| IdDoc(*cpu)).collect(),
        l3_domains: part.by_segment.len() as u32,
        memory_bytes: size.map_or(0, |size| part.pages * size.bytes()),
    };
    fit.parts.iter().map(part).collect()
}

pub fn place_row(source: &FleetSource, request: &str, placed: &Placed) -> FleetPlace {
    let (nodes, pcpus) = reached(source, placed.host, &placed.fit);
    let rank = placed.rank;
    FleetPlace {
        request: request.to_owned(),
        host: source.fleet.id(placed.host).0.clone(),
        rack: source.fleet.rack(placed.host).map(str::to_owned),
        nodes,
        pcpus,
        l3_domains: placed.fit.parts.iter().map(|part| part.by_segment.len() as u32).sum(),
        rank: FleetRank {
            areas: rank.areas,
            distance: rank.distance,
            opened_hosts: rank.opened_hosts,
            opened_areas: rank.opened_areas,
            opened_domains: rank.opened_domains,
            left_on_host: rank.left_over[usize::from(rank.areas == 1)],
        },
        is_best: placed.is_best,
        memory_checked: memory_checked(source, placed.host, &placed.held),
    }
}

fn reached(source: &FleetSource, host: usize, fit: &Fit) -> (NodeSet, CpuSet) {
    let (mut nodes, mut pcpus) = (NodeSet::new(), CpuSet::new());
    for part in &fit.parts {
        nodes.extend(&source.fleet.layout(host).areas[part.area].nodes);
        pcpus.extend(&part.pcpus.iter().copied().collect());
    }
    (nodes, pcpus)
}

/// What is said of a request without a place besides the hosts.
#[derive(Clone, Copy)]
pub struct Refused {
    pub certain: bool,
    pub cut_short: bool,
    pub beside_others: bool,
}

/// What stands against a request on a fleet as it is, on the hosts that are allowed.
pub fn refusal_row(
    fleet: &Fleet,
    asked: &Asked,
    allowed: &Allowed,
    scope: Scope,
    refused: Refused,
) -> FleetRefusal {
    let why = why_not(fleet, &asked.item.wanted, allowed, scope);
    FleetRefusal {
        request: asked.name.clone(),
        alike: 0,
        certain: refused.certain,
        cut_short: refused.cut_short,
        beside_others: refused.beside_others,
        hosts: why.hosts,
        without_rack: why.without_rack,
        against_rules: why.against_rules,
        short_of_cpus: why.short_of_cpus,
        short_of_memory: why.short_of_memory,
        without_a_way: why.without_a_way,
        with_a_place: why.with_a_place,
        stands: why.stands.into_iter().map(stands).collect(),
        moving_may_help: why.moving_may_help,
        stands_when_empty: why.stands_when_empty.into_iter().map(stands).collect(),
    }
}

/// Rows that say the same of requests that are alike, as one.
pub fn grouped(rows: &[FleetRefusal]) -> Vec<FleetRefusal> {
    let mut groups: Vec<FleetRefusal> = Vec::new();
    for row in rows {
        let same = |known: &&mut FleetRefusal| {
            let named = FleetRefusal { request: row.request.clone(), alike: 0, ..(*known).clone() };
            named == *row && stem(&known.request) == stem(&row.request)
        };
        match groups.iter_mut().rev().take(1).find(same) {
            Some(known) => known.alike += 1,
            None => groups.push(row.clone()),
        }
    }
    groups
}

/// `web` of `web-12`.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

pub fn stands(stands: Stands) -> FleetStands {
    match stands {
        Stands::L3 => FleetStands::L3,
        Stands::Vnodes => FleetStands::Vnodes,
        Stands::Smt => FleetStands::Smt,
        Stands::Emulator => FleetStands::Emulator,
        Stands::Vcpus => FleetStands::Vcpus,
        Stands::Memory => FleetStands::Memory,
        Stands::Several => FleetStands::Several,
    }
}

pub fn stays(why: &Stays) -> FleetStays {
    match why.clone() {
        Stays::SharesCpus { cpus } => FleetStays::SharesCpus { cpus },
        Stays::NoCpus => FleetStays::NoCpus,
        Stays::UnknownCpus { cpus } => FleetStays::UnknownCpus { cpus },
        Stays::NoMemory => FleetStays::NoMemory,
        Stays::SeveralPageSizes => FleetStays::SeveralPageSizes,
        Stays::UnknownNodes { nodes } => FleetStays::UnknownNodes { nodes },
        Stays::MemoryOnly { nodes } => FleetStays::MemoryOnly { nodes },
    }
}

pub fn stay_doc(source: &FleetSource, staying: &Staying) -> FleetStayDoc {
    let reason = match staying.why {
        Stays::SharesCpus { .. } => "shares-cpus",
        Stays::NoCpus => "no-cpus",
        Stays::UnknownCpus { .. } => "unknown-cpus",
        Stays::NoMemory => "no-memory",
        Stays::SeveralPageSizes => "several-page-sizes",
        Stays::UnknownNodes { .. } => "unknown-nodes",
        Stays::MemoryOnly { .. } => "memory-only",
    };
    FleetStayDoc {
        guest: staying.name.clone(),
        host: source.fleet.id(staying.host).0.clone(),
        reason: reason.to_owned(),
    }
}

pub fn refusal_doc(row: &FleetRefusal) -> FleetRefusalDoc {
    let word = |stands: &FleetStands| match stands {
        FleetStands::L3 => "l3",
        FleetStands::Vnodes => "vnodes",
        FleetStands::Smt => "smt",
        FleetStands::Emulator => "emulator",
        FleetStands::Vcpus => "vcpus",
        FleetStands::Memory => "memory",
        FleetStands::Several => "several",
    };
    FleetRefusalDoc {
        request: row.request.clone(),
        certain: row.certain,
        hosts: row.hosts,
        hosts_against_rules: row.against_rules,
        hosts_short_of_cpus: row.short_of_cpus,
        hosts_short_of_memory: row.short_of_memory,
        hosts_without_a_way: row.without_a_way,
        hosts_without_rack: row.without_rack,
        hosts_with_a_place: row.with_a_place,
        stands: row.stands.union(&row.stands_when_empty).map(|one| word(one).to_owned()).collect(),
    }
}

/// Whether the host says of the memory that a guest gets what there is of it.
fn memory_checked(source: &FleetSource, host: usize, held: &Held) -> bool {
    let stock = source.fleet.whole(host);
    held.pages.iter().all(|(size, pool, _)| stock.pages(*size, *pool).is_some())
}

/// Hosts that get guests without their memory being known.
pub fn memory_unknown<'a>(
    source: &FleetSource,
    given: impl Iterator<Item = (usize, &'a Held)>,
) -> BTreeSet<String> {
    let unknown = given.filter(|(host, held)| !memory_checked(source, *host, held));
    unknown.map(|(host, _)| source.fleet.id(host).0.clone()).collect()
}

pub fn move_doc(source: &FleetSource, step: &Move) -> FleetMoveDoc {
    let resident = &source.residents[step.resident];
    FleetMoveDoc {
        guest: source.names[step.resident].clone(),
        kind: if step.is_repin() { "repin" } else { "migrate" }.to_owned(),
        from: source.fleet.id(step.from).0.clone(),
        to: source.fleet.id(step.to).0.clone(),
        pcpus_now: ListDoc(resident.held.cpus.clone()),
        parts: parts(source, step.to, &step.fit, Some(resident.wanted.page_size)),
    }
}

pub fn move_row(source: &FleetSource, step: &Move) -> FleetMove {
    let (nodes, pcpus) = reached(source, step.to, &step.fit);
    FleetMove {
        guest: source.names[step.resident].clone(),
        from: source.fleet.id(step.from).0.clone(),
        to: source.fleet.id(step.to).0.clone(),
        pcpus_now: source.residents[step.resident].held.cpus.clone(),
        nodes,
        pcpus,
    }
}
