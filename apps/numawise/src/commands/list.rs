//! `numawise list`: all guests, one line each.

use crate::config::GlobalArgs;
use crate::failure::DRIFT;
use crate::output;
use crate::session::Session;
use anyhow::Result;
use clap::Args;
use numawise_documents::Wire;
use numawise_documents::report::{GuestLineDoc, ReportedGuest, guests_to_json, mode_word};
use numawise_engine::permission::foreign_owner;
use numawise_engine::ports::Depth;
use numawise_engine::verify::GuestState as Seen;
use numawise_model::{CpuSet, Finding, FindingKind, ForeignOwner};
use numawise_render::{GuestRow, GuestState, text};
use std::process::ExitCode;

/// Looks at definitions and threads, not at pages. Exit code 5 when a guest's definition cannot be
/// read; drift is shown in its line (numawise verify tells of it).
#[derive(Args)]
pub struct ListArgs {}

pub fn run(global: &GlobalArgs, _args: &ListArgs) -> Result<ExitCode> {
    let session = Session::open(global)?;
    let engine = session.engine(None);
    let simulated = session.hypervisor.is_simulated();
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    let situation = engine.situation(false)?;
    for guest in &situation.guests.known {
        let owner = foreign_owner(&guest.summary, &guest.inactive);
        let row = row(&engine.look_at(&guest.summary, &situation, Depth::Threads)?, owner);
        let guest = &guest.summary;
        let running = row.state == GuestState::Running;
        let guest = ReportedGuest::new(&guest.name, &guest.uuid, running, simulated);
        lines.push(line(&row, guest));
        rows.push(row);
    }
    let findings = engine.judge_claims(&situation);
    if global.json {
        output::print(&guests_to_json(&lines, &findings))?;
    } else {
        let look = output::look(simulated);
        output::print(&text::guests(&rows, &look))?;
        if !findings.is_empty() {
            output::print(&text::findings(&findings, &look))?;
        }
    }
    let is_unreadable = |f: &Finding| matches!(f.kind, FindingKind::GuestUnreadable { .. });
    Ok(if findings.iter().any(is_unreadable) { ExitCode::from(DRIFT) } else { ExitCode::SUCCESS })
}

fn row(seen: &Seen, owner: Option<ForeignOwner>) -> GuestRow {
    // The definition: what the running guest has besides is told as a pending restart.
    let config = &seen.stored;
    let mut pcpus = CpuSet::new();
    for cpus in config.vcpu_pins.values().chain(&config.default_cpuset) {
        pcpus.extend(cpus);
    }
    let drift = seen.findings.iter().filter(|f| numawise_audit::is_drift(f)).count();
    GuestRow {
        name: seen.summary.name.clone(),
        state: if seen.summary.running { GuestState::Running } else { GuestState::Off },
        vcpus: config.vcpus_max,
        memory_bytes: config.memory_bytes,
        nodes: seen.host.topology.nodes_of(&pcpus),
        pcpus,
        mode: seen.plan.as_ref().map(|plan| plan.binding.mode),
        vnuma: config.cells.iter().filter_map(|c| u32::try_from(c.vcpus.len()).ok()).collect(),
        drift: seen.plan.as_ref().and_then(|_| u32::try_from(drift).ok()),
        pending_restart: seen.is_pending_restart(),
        owner,
    }
}

fn line(row: &GuestRow, guest: ReportedGuest) -> GuestLineDoc {
    GuestLineDoc {
        guest,
        vcpus: row.vcpus,
        memory_bytes: row.memory_bytes,
        pcpus: row.pcpus.to_doc(),
        binding_mode: row.mode.map(mode_word),
        host_nodes: row.nodes.to_doc(),
        vnuma_vcpus: row.vnuma.clone(),
        drift: row.drift,
        pending_restart: row.pending_restart,
        owner: row.owner.to_doc(),
    }
}
