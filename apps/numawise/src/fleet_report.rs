//! Places and moves as documents and as rows.

use crate::fleet_requests::Asked;
use crate::fleet_source::FleetSource;
use numawise_documents::Wire;
use numawise_documents::fleet::{FleetMoveDoc, FleetPartDoc, FleetPlaceDoc, FleetRefusalDoc};
use numawise_documents::wire::{IdDoc, ListDoc};
use numawise_model::{CpuSet, NodeSet};
use numawise_planner::fit::Fit;
use numawise_planner::fleet::groups::Allowed;
use numawise_planner::fleet::{Fleet, Move, Placed, why_not};
use numawise_render::text::{FleetMove, FleetPlace, FleetRank, FleetRefusal};

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

/// What stands against a request on a fleet as it is, on the hosts that are allowed.
pub fn refusal_row(fleet: &Fleet, asked: &Asked, allowed: &Allowed, certain: bool) -> FleetRefusal {
    let why = why_not(fleet, &asked.item.wanted, allowed);
    FleetRefusal {
        request: asked.name.clone(),
        certain,
        hosts: why.hosts,
        against_rules: why.against_rules,
        short_of_cpus: why.short_of_cpus,
        short_of_memory: why.short_of_memory,
        without_a_way: why.without_a_way,
    }
}

pub fn refusal_doc(row: &FleetRefusal) -> FleetRefusalDoc {
    FleetRefusalDoc {
        request: row.request.clone(),
        certain: row.certain,
        hosts: row.hosts,
        hosts_against_rules: row.against_rules,
        hosts_short_of_cpus: row.short_of_cpus,
        hosts_short_of_memory: row.short_of_memory,
        hosts_without_a_way: row.without_a_way,
    }
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
