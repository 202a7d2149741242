//! `numawise verify GUEST`: the judge on live facts.

use crate::config::GlobalArgs;
use crate::failure::DRIFT;
use crate::output;
use crate::session::Session;
use anyhow::Result;
use clap::Args;
use numawise_documents::report::{ReportedGuest, verdict_to_json};
use numawise_render::text;
use std::process::ExitCode;

/// Compares the plan in force with the stored XML, the live XML, the affinity of every thread and
/// the node of every page. Exit code 0: all agree; 5: drift.
#[derive(Args)]
pub struct VerifyArgs {
    /// Name or UUID.
    guest: String,
}

pub fn run(global: &GlobalArgs, args: &VerifyArgs) -> Result<ExitCode> {
    let session = Session::open(global)?;
    let state = session.engine(None).verify(&args.guest)?;
    let drift = state.findings.iter().any(numawise_audit::is_drift);
    let simulated = session.hypervisor.is_simulated();
    let unseen = state.facts.as_ref().map(|facts| facts.unseen.as_slice()).unwrap_or_default();
    if global.json {
        let guest = &state.summary;
        let guest = ReportedGuest::new(&guest.name, &guest.uuid, guest.running, simulated);
        output::print(&verdict_to_json(guest, !drift, unseen, &state.findings))?;
    } else {
        let look = output::look(simulated);
        output::print(&text::findings(&state.findings, &look))?;
        let (name, mark) = (&state.summary.name, if simulated { " (simulated host)" } else { "" });
        let verdict = match (drift, state.summary.running) {
            (true, _) => "does not agree with its plan".to_owned(),
            (false, true) if state.is_pending_restart() => {
                "has a definition that agrees with its plan; the running guest is older and waits \
                 for a restart"
                    .to_owned()
            }
            (false, true) => text::agreement(unseen),
            (false, false) => "is off; its stored XML agrees with its plan".to_owned(),
        };
        let name = text::printable(name);
        output::print(&format!("{name} {verdict}{mark}"))?;
    }
    Ok(if drift { ExitCode::from(DRIFT) } else { ExitCode::SUCCESS })
}
