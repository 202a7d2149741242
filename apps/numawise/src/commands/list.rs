//! `numawise list`: all guests, one line each.

use crate::config::GlobalArgs;
use crate::output;
use crate::session::Session;
use anyhow::Result;
use clap::Args;
use numawise_engine::ports::Hypervisor;
use numawise_engine::verify::GuestState as Seen;
use numawise_model::{CpuSet, Mode};
use numawise_render::{GuestRow, GuestState, text};
use serde_json::json;
use std::process::ExitCode;

#[derive(Args)]
pub struct ListArgs {}

pub fn run(global: &GlobalArgs, _args: &ListArgs) -> Result<ExitCode> {
    let session = Session::open(global)?;
    let engine = session.engine(None);
    let mut rows = Vec::new();
    for guest in session.hypervisor.guests()? {
        rows.push(row(&engine.look(&guest.uuid.0)?));
    }
    let simulated = session.hypervisor.is_simulated();
    if global.json {
        let guests: Vec<_> = rows.iter().map(json_row).collect();
        output::print_json(&json!({
            "schema": "numawise.guests", "version": 1, "simulated": simulated, "guests": guests,
        }))?;
    } else {
        output::print(&text::guests(&rows, &output::look(simulated)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(seen: &Seen) -> GuestRow {
    let config = seen.live.as_ref().map_or(&seen.stored, |live| live);
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
    }
}

fn json_row(row: &GuestRow) -> serde_json::Value {
    json!({
        "name": row.name,
        "running": row.state == GuestState::Running,
        "vcpus": row.vcpus,
        "memory_bytes": row.memory_bytes,
        "pcpus": row.pcpus.to_string(),
        "binding_mode": row.mode.map(|mode| match mode {
            Mode::Exclusive => "exclusive",
            Mode::Shared => "shared",
        }),
        "host_nodes": row.nodes.to_string(),
        "vnuma_vcpus": row.vnuma,
        "drift": row.drift,
    })
}
