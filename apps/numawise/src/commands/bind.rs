//! `numawise bind` and `unbind`: plan, show the diff, ask, apply.

use crate::commands::apply;
use crate::config::GlobalArgs;
use crate::request_args::{RequestArgs, base_page};
use crate::session::{CarryOutArgs, Session, fresh_ids};
use crate::{confirm, output};
use anyhow::Result;
use clap::Args;
use numawise_engine::error::{EngineError, Staleness};
use numawise_engine::planning::PlannedGuest;
use numawise_engine::ports::Store;
use numawise_model::{GuestConfig, MemoryMode, PageSize, Policy, Request, Topology};
use numawise_render::{PlanView, text};
use std::process::ExitCode;

/// One command for every day: plans, shows the change, asks, and applies.
#[derive(Args)]
pub struct BindArgs {
    /// Name or UUID.
    guest: String,
    #[command(flatten)]
    request: RequestArgs,
    /// Show the plan and the change to the domain XML, and stop.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    carry_out: CarryOutArgs,
}

/// Takes out every pin that there is, vNUMA with it, and gives the claims back.
#[derive(Args)]
pub struct UnbindArgs {
    /// Name or UUID.
    guest: String,
    /// Show the change to the domain XML, and stop.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    carry_out: CarryOutArgs,
}

/// How often a bind that nobody has to answer for plans again when others were faster.
const MOST_TRIES: u32 = 64;

pub fn run(global: &GlobalArgs, args: &BindArgs) -> Result<ExitCode> {
    let policy = args.request.policy()?;
    let session = Session::open(global)?;
    let mut tries = 1;
    loop {
        let planned = plan(&session, &args.guest, &args.carry_out, |config, topology| {
            args.request.for_guest(config, topology, policy.clone())
        })?;
        match show_and_apply(global, &session, &planned, args.dry_run, &args.carry_out) {
            Err(error) if global.yes && tries < MOST_TRIES && was_raced(&error) => tries += 1,
            ended => return ended,
        }
    }
}

/// Whether somebody else got what the plan wanted, between planning and claiming.
fn was_raced(error: &anyhow::Error) -> bool {
    let engine = error.downcast_ref::<EngineError>();
    matches!(engine, Some(EngineError::Stale(Staleness::Predicates(_))))
}

pub fn run_unbind(global: &GlobalArgs, args: &UnbindArgs) -> Result<ExitCode> {
    let session = Session::open(global)?;
    let planned = plan(&session, &args.guest, &args.carry_out, |config, topology| {
        request_of(config, topology, Policy::Unbound, false)
    })?;
    show_and_apply(global, &session, &planned, args.dry_run, &args.carry_out)
}

pub fn plan(
    session: &Session,
    guest: &str,
    carry_out: &CarryOutArgs,
    request: impl FnOnce(&GuestConfig, &Topology) -> Request,
) -> Result<PlannedGuest> {
    let pools = session.pools()?;
    let planned = session.engine(None).plan_guest(
        guest,
        &pools,
        fresh_ids(),
        carry_out.ignore_stopped,
        |config, situation| Ok(request(config, &situation.host.topology)),
    )?;
    Ok(planned)
}

/// A request with everything but the policy as the guest has it.
pub fn request_of(
    config: &GuestConfig,
    topology: &Topology,
    policy: Policy,
    vnuma: bool,
) -> Request {
    let page_size = config
        .hugepages
        .as_ref()
        .map(|pages| pages.first().map_or(PageSize::HUGE_2M, |page| page.size));
    Request {
        vcpus: config.vcpus_max,
        memory_bytes: config.memory_bytes,
        page_size: page_size.unwrap_or_else(|| base_page(topology)),
        policy,
        shared: false,
        overcommit: false,
        vnuma,
        cells_per_node: 1,
        max_sockets: None,
        memory_mode: MemoryMode::Strict,
        new_topology: false,
        fix_guest: false,
        memory_only: None,
        guest_cache: None,
    }
}

pub fn show_and_apply(
    global: &GlobalArgs,
    session: &Session,
    planned: &PlannedGuest,
    dry_run: bool,
    carry_out: &CarryOutArgs,
) -> Result<ExitCode> {
    let guest = &planned.guest.name;
    if !global.json || dry_run {
        show(global, session, planned)?;
    }
    // What stands against it is told before anybody is asked.
    session.engine(None).check(&planned.plan, &apply::options(session, carry_out)?)?;
    let further = match (carry_out.restart, carry_out.live) {
        (true, _) => " and restart it",
        (_, true) => " and move its threads",
        _ => "",
    };
    if dry_run || !confirm::go_on(global.yes, &format!("Apply this to {guest}{further}?"))? {
        return Ok(ExitCode::SUCCESS);
    }
    session.store.save_plan(&planned.plan)?;
    let outcome = apply::carry_out(session, &planned.plan, carry_out)?;
    apply::report(global, session, &outcome)
}

fn show(global: &GlobalArgs, session: &Session, planned: &PlannedGuest) -> Result<()> {
    if global.json {
        return output::print(&numawise_documents::plan_to_json(&planned.plan));
    }
    let host = session.hypervisor.host()?;
    let look = output::look(session.hypervisor.is_simulated());
    output::print(&text::plan(&planned.plan, &PlanView { topology: Some(&host.topology), look }))?;
    let (before, after) = (&planned.before_xml, &planned.after_xml);
    output::print(&apply::diff(session, &planned.guest.name, before, after))
}
