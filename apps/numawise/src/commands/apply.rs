//! `numawise apply PLAN`: carries out a plan, decides nothing.

use crate::config::GlobalArgs;
use crate::failure::{DRIFT, USAGE, coded};
use crate::session::{CarryOutArgs, Session, fresh_id};
use crate::{input_file, output};
use anyhow::Result;
use clap::Args;
use numawise_documents::parse_plan;
use numawise_documents::report::{ReportedGuest, change_to_json, outcome_to_json};
use numawise_engine::apply::ApplyOptions;
use numawise_engine::intent::{GuestRecord, IntentId};
use numawise_engine::ports::{DomainEditor, Store};
use numawise_engine::reconcile::{Outcome, planned_xml};
use numawise_model::{GuestUuid, Plan, PlanId, Severity};
use numawise_render::diff::Names;
use numawise_render::text;
use std::path::Path;
use std::process::ExitCode;

/// Writes intent and claims, defines the guest, restarts it or moves its threads when told, and
/// verifies. A plan made from a state that has changed since is refused (exit code 4). The plan in
/// force may be applied again, to restart the guest or to mend what somebody else has changed.
#[derive(Args)]
pub struct ApplyArgs {
    /// A plan file, the id of a plan in the store, or a guest's name: its plan in force, once more.
    plan: String,
    /// Show the change to the domain XML and stop.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    carry_out: CarryOutArgs,
}

pub fn run(global: &GlobalArgs, args: &ApplyArgs) -> Result<ExitCode> {
    let session = Session::open(global)?;
    let plan = find_plan(&session, &args.plan)?;
    if args.dry_run {
        session.engine(None).check(&plan, &options(&session, &args.carry_out)?)?;
        return show_change(global, &session, &plan);
    }
    let outcome = carry_out(&session, &plan, &args.carry_out)?;
    report(global, &session, &outcome)
}

pub fn carry_out(session: &Session, plan: &Plan, args: &CarryOutArgs) -> Result<Outcome> {
    Ok(session.engine(Some(args)).apply(plan, &options(session, args)?)?)
}

pub fn options(session: &Session, args: &CarryOutArgs) -> Result<ApplyOptions> {
    Ok(ApplyOptions {
        intent: IntentId(fresh_id()),
        manner: args.manner(),
        ignore_stopped: args.ignore_stopped,
        pools: session.pools()?,
    })
}

fn find_plan(session: &Session, wanted: &str) -> Result<Plan> {
    let path = Path::new(wanted);
    if path.exists() {
        let text = input_file::read(path)?;
        return parse_plan(&text).map_err(|error| coded(USAGE, format!("{wanted}: {error}")));
    }
    if let Some(plan) = session.store.plan(&PlanId(wanted.to_owned()))? {
        return Ok(plan);
    }
    let state = session.store.load(&session.hypervisor.host_id()?)?;
    let named = |uuid: &GuestUuid, record: &GuestRecord| record.name == wanted || uuid.0 == wanted;
    let mut records = state.guests.iter().filter(|(uuid, record)| named(uuid, record));
    let in_force = records.find_map(|(_, record)| record.applied.as_ref());
    in_force.map(|applied| (*applied.plan).clone()).ok_or_else(|| {
        let text = format!(
            "'{wanted}' is neither a file nor a plan in {}, nor a guest with a plan in force; \
             numawise plan makes a plan and prints its id",
            session.config.state.display()
        );
        coded(USAGE, text)
    })
}

fn show_change(global: &GlobalArgs, session: &Session, plan: &Plan) -> Result<ExitCode> {
    let guest = plan.guest.as_ref();
    let guest = guest.ok_or(numawise_engine::error::EngineError::PlanWithoutGuest)?;
    let before = session.hypervisor.inactive_xml(&guest.uuid)?;
    let after = planned_xml(session.editor(), plan, &before)?;
    if !global.json {
        output::print(&text::changes(plan, &output::look(session.hypervisor.is_simulated())))?;
    }
    print_change(global, session, &guest.name, &before, &after)?;
    Ok(ExitCode::SUCCESS)
}

/// The change, as a document with `--json`.
pub fn print_change(
    global: &GlobalArgs,
    session: &Session,
    guest: &str,
    before: &str,
    after: &str,
) -> Result<()> {
    if !global.json {
        return output::print(&diff(session, guest, before, after));
    }
    let (before, after) =
        (session.editor().mask_secrets(before), session.editor().mask_secrets(after));
    output::print(&change_to_json(guest, &before, &after))
}

/// The change as people read it, secrets masked.
pub fn diff(session: &Session, guest: &str, before: &str, after: &str) -> String {
    let editor = session.editor();
    let (before, after) = (editor.mask_secrets(before), editor.mask_secrets(after));
    let guest = text::printable(guest);
    let names = (format!("{guest}.xml (now)"), format!("{guest}.xml (planned)"));
    if before == after {
        return "no change to the domain XML".to_owned();
    }
    let names = Names { before: &names.0, after: &names.1 };
    let look = output::look(session.hypervisor.is_simulated());
    numawise_render::diff::unified(&before, &after, names, &look)
}

/// How it went: exit code 0, or 5 when verify saw what should not be.
pub fn report(global: &GlobalArgs, session: &Session, outcome: &Outcome) -> Result<ExitCode> {
    let drift = outcome.findings.iter().any(numawise_audit::is_drift);
    if global.json {
        let guest = &outcome.guest;
        let simulated = session.hypervisor.is_simulated();
        let guest = ReportedGuest::new(&guest.name, &guest.uuid, guest.running, simulated);
        let (pending, findings) = (outcome.pending_restart, &outcome.findings);
        output::print(&outcome_to_json(guest, !drift, pending, findings))?;
    } else {
        let worth: Vec<_> =
            outcome.findings.iter().filter(|f| f.severity >= Severity::Warning).cloned().collect();
        let look = output::look(session.hypervisor.is_simulated());
        output::print(&text::findings(&worth, &look))?;
    }
    Ok(if drift { ExitCode::from(DRIFT) } else { ExitCode::SUCCESS })
}
