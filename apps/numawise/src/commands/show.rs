//! `numawise show GUEST`: vNUMA and pNUMA side by side.

use crate::config::GlobalArgs;
use crate::output;
use crate::session::Session;
use anyhow::{Context, Result};
use clap::Args;
use numawise_documents::report::{GuestReport, ReportedGuest, guest_to_json};
use numawise_engine::verify::GuestState as Seen;
use numawise_render::{GuestState, GuestView, svg, text};
use std::path::PathBuf;
use std::process::ExitCode;

/// Left the nodes that the guest sees with their memory, right the host's nodes with total and free
/// memory and who else is bound there, and the lines between them.
#[derive(Args)]
pub struct ShowArgs {
    /// Name or UUID.
    guest: String,
    /// Write the picture as SVG into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

pub fn run(global: &GlobalArgs, args: &ShowArgs) -> Result<ExitCode> {
    let session = Session::open(global)?;
    let seen = session.engine(None).look(&args.guest)?;
    let host_name = session.hypervisor.host_id()?.0;
    let view = view(&seen, &host_name, session.hypervisor.is_simulated());
    if let Some(path) = &args.svg {
        std::fs::write(path, svg::guest(&view))
            .with_context(|| format!("writing {}", path.display()))?;
    } else if global.json {
        print_json(&session, &seen)?;
    } else {
        output::print(&text::guest(&view))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The running guest as it runs, the stopped one as it would start.
pub fn view<'a>(seen: &'a Seen, host_name: &'a str, simulated: bool) -> GuestView<'a> {
    let config = seen.live.as_ref().map_or(&seen.stored, |live| live);
    let mut view = GuestView::of_config(config, &seen.host);
    view.state = if seen.summary.running { GuestState::Running } else { GuestState::Off };
    view.host_name = host_name;
    view.ledger = Some(&seen.ledger);
    view.mode = seen.plan.as_ref().map(|plan| plan.binding.mode);
    view.drift.clone_from(&seen.findings);
    view.look = output::look(simulated);
    view
}

fn print_json(session: &Session, seen: &Seen) -> Result<()> {
    let guest = &seen.summary;
    let simulated = session.hypervisor.is_simulated();
    output::print(&guest_to_json(GuestReport {
        guest: ReportedGuest::new(&guest.name, &guest.uuid, guest.running, simulated),
        plan_id: seen.plan.as_ref().map(|plan| plan.id.to_string()),
        stored: &seen.stored,
        live: seen.live.as_ref(),
        frozen: seen.frozen.as_ref(),
        findings: &seen.findings,
    }))
}
