//! `numawise vnuma on|off GUEST`: switches vNUMA; the binding stays as it is.

use crate::commands::bind::{plan, request_of, show_and_apply};
use crate::config::GlobalArgs;
use crate::failure::{REFUSED, coded};
use crate::session::{CarryOutArgs, Session};
use anyhow::Result;
use clap::{Args, Subcommand};
use numawise_engine::intent::GuestRecord;
use numawise_engine::ports::{Store, find_guest};
use numawise_model::{BindRule, GuestConfig, Mode, Policy, Request, Topology, VcpuSet};
use std::process::ExitCode;

#[derive(Subcommand)]
pub enum VnumaCommand {
    /// Derive vNUMA from the binding that the guest has, and give it to the guest.
    On(SwitchArgs),
    /// Take vNUMA away; every vCPU stays bound.
    Off(SwitchArgs),
}

#[derive(Args)]
pub struct SwitchArgs {
    /// Name or UUID.
    guest: String,
    /// The topology that the guest has been running with may change.
    #[arg(long)]
    new_topology: bool,
    /// Put the edits that vNUMA needs (no balloon, no hot-plug) into the plan.
    #[arg(long)]
    fix_guest: bool,
    /// Show the plan and the change to the domain XML, and stop.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    carry_out: CarryOutArgs,
}

pub fn run(global: &GlobalArgs, command: &VnumaCommand) -> Result<ExitCode> {
    let (args, on) = match command {
        VnumaCommand::On(args) => (args, true),
        VnumaCommand::Off(args) => (args, false),
    };
    let session = Session::open(global)?;
    let guest = find_guest(&*session.hypervisor, &args.guest)?;
    let config = numawise_engine::ports::DomainEditor::read(
        session.editor(),
        &session.hypervisor.inactive_xml(&guest.uuid)?,
    )?;
    if config.vcpu_pins.is_empty() {
        let text = format!(
            "guest '{name}' is not bound, and vNUMA is derived from the binding\nBind it first: \
             numawise bind {name} --policy smart",
            name = guest.name
        );
        return Err(coded(REFUSED, text));
    }
    let state = session.store.load(&session.hypervisor.host_id()?)?;
    let record = state.guests.get(&guest.uuid);
    let planned = plan(&session, &args.guest, &args.carry_out, |config, topology| {
        request(config, topology, record, args, on)
    })?;
    show_and_apply(global, &session, &planned, args.dry_run, &args.carry_out)
}

/// The pins as rules, and the choices of the plan in force: page size, memory mode and so on.
fn request(
    config: &GuestConfig,
    topology: &Topology,
    record: Option<&GuestRecord>,
    args: &SwitchArgs,
    on: bool,
) -> Request {
    let rules = config
        .vcpu_pins
        .iter()
        .map(|(vcpu, cpus)| BindRule { vcpus: VcpuSet::single(*vcpu), pcpus: cpus.clone() });
    let mut request = request_of(config, topology, Policy::Rules(rules.collect()), on);
    let pinned = config.vcpu_pins.values().cloned().collect::<std::collections::BTreeSet<_>>();
    request.overcommit = pinned.len() < config.vcpu_pins.len();
    if let Some(applied) = record.and_then(|record| record.applied.as_ref()) {
        let asked = &applied.plan.request;
        request.shared = applied.plan.binding.mode == Mode::Shared;
        request.overcommit = asked.overcommit;
        request.cells_per_node = asked.cells_per_node;
        request.max_sockets = asked.max_sockets;
        request.memory_mode = asked.memory_mode;
        request.page_size = asked.page_size;
        request.memory_only.clone_from(&asked.memory_only);
        request.guest_cache = asked.guest_cache;
    }
    request.new_topology = args.new_topology;
    request.fix_guest = args.fix_guest;
    request
}
