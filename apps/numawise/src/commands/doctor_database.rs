//! `numawise doctor DB ...`: what about database servers defeats a placement.

use crate::config::GlobalArgs;
use crate::failure::{DRIFT, NO_ACCESS};
use crate::{host_source, output};
use anyhow::Result;
use numawise_audit::judge_databases;
use numawise_database::{Target, ask};
use numawise_documents::checkup_to_json;
use numawise_engine::ports::{PortError, Processes};
use numawise_model::checkup::{Check, CheckKind, Verdict};
use numawise_model::database::{
    DatabaseCheck, DatabaseFacts, PoolPolicy, ServerProcess, ServerUnseen,
};
use numawise_model::{MappingFacts, MappingPolicy, Pnode};
use numawise_process::KernelProcesses;
use numawise_render::text;
use std::collections::BTreeMap;
use std::process::ExitCode;

pub fn run(global: &GlobalArgs, targets: &[Target]) -> Result<ExitCode> {
    let mut silent = Vec::new();
    let mut facts = Vec::new();
    for target in targets {
        match ask(target) {
            Ok(told) => facts.push(DatabaseFacts {
                target: target.to_string(),
                product: told.product,
                version: told.version,
                settings: told.settings,
                process: told.pid.and_then(process),
            }),
            Err(error) => {
                let check = DatabaseCheck::DoesNotAnswer { why: error.to_string() };
                let kind = CheckKind::Database { target: target.to_string(), check };
                silent.push(Check { verdict: Verdict::Bad, kind });
            }
        }
    }
    let host = host_source::read(None, false)?;
    let mut checks = judge_databases(&facts, &host.host.topology.nodes);
    let answered = silent.is_empty();
    checks.extend(silent);
    if global.json {
        output::print(&checkup_to_json(&checks))?;
    } else {
        output::print(&text::checks(&checks, &output::look(false)))?;
    }
    let is_bad = checks.iter().any(|check| check.verdict == Verdict::Bad);
    Ok(match (answered, is_bad) {
        (false, _) => ExitCode::from(NO_ACCESS),
        (true, true) => ExitCode::from(DRIFT),
        (true, false) => ExitCode::SUCCESS,
    })
}

/// A server with all processes that it has started, as PostgreSQL has one for each connection.
fn process(pid: u32) -> Result<ServerProcess, ServerUnseen> {
    let kernel = KernelProcesses::live();
    let no_access = |error: PortError| ServerUnseen::NoAccess { why: error.to_string() };
    let mut pids = vec![pid];
    pids.extend(kernel.children(pid).map_err(no_access)?);
    let mut all = ServerProcess {
        pid,
        threads: 0,
        cpus: [].into_iter().collect(),
        nodes: [].into_iter().collect(),
        bytes_on: BTreeMap::new(),
        pool_policy: None,
    };
    let mut mappings = Vec::new();
    for pid in pids {
        // A connection may end while it is looked at.
        let Some(threads) = kernel.threads(pid).map_err(no_access)? else { continue };
        all.threads += threads.len() as u64;
        for thread in threads {
            all.cpus.extend(&thread.cpus_allowed);
            if let Some(nodes) = &thread.nodes_allowed {
                all.nodes.extend(nodes);
            }
        }
        mappings.extend(kernel.mappings(pid).map_err(no_access)?.into_iter().flatten());
    }
    if all.threads == 0 {
        return Err(ServerUnseen::NotFound);
    }
    all.bytes_on = bytes_on(&mappings);
    let largest = mappings.into_iter().max_by_key(present);
    all.pool_policy = largest.map(|mapping| match mapping.policy {
        MappingPolicy::Default => PoolPolicy::Default,
        MappingPolicy::Bind(nodes) => PoolPolicy::Bound { nodes },
        MappingPolicy::Interleave(nodes) => PoolPolicy::Interleaved { nodes },
        MappingPolicy::Prefer(_) | MappingPolicy::Other(_) => PoolPolicy::Other,
    });
    Ok(all)
}

fn present(mapping: &MappingFacts) -> u64 {
    mapping.pages.values().sum::<u64>() * mapping.page_size.bytes()
}

/// Shared memory is in the maps of each process that has touched it: of these the one that touched most.
fn bytes_on(mappings: &[MappingFacts]) -> BTreeMap<Pnode, u64> {
    let mut shared: BTreeMap<(&str, u64), &MappingFacts> = BTreeMap::new();
    let mut counted = Vec::new();
    for mapping in mappings {
        match &mapping.file {
            None => counted.push(mapping),
            Some(file) => {
                let most = shared.entry((file, mapping.start)).or_insert(mapping);
                if present(mapping) > present(most) {
                    *most = mapping;
                }
            }
        }
    }
    counted.extend(shared.into_values());
    let mut bytes_on = BTreeMap::new();
    for mapping in counted {
        for (node, pages) in &mapping.pages {
            *bytes_on.entry(*node).or_insert(0) += pages * mapping.page_size.bytes();
        }
    }
    bytes_on
}
