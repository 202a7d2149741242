//! `numawise migrate GUEST --to HOST`: plan there, show, ask, claim there, move, verify, release here.

use crate::commands::apply;
use crate::config::GlobalArgs;
use crate::failure::{USAGE, coded};
use crate::session::{Connection, Session, crash_point, fresh_id, fresh_ids};
use crate::{confirm, output};
use anyhow::{Context, Result};
use clap::Args;
use numawise_embedded::EmbeddedCarrier;
use numawise_engine::intent::IntentId;
use numawise_engine::loop_parts::{CrashPoint, Situation};
use numawise_engine::moves::ports::{Carrier, Travel};
use numawise_engine::moves::{MoveOptions, PlannedMove, Wanted};
use numawise_engine::ports::Store;
use numawise_libvirt::LibvirtCarrier;
use numawise_render::{PlanView, text};
use std::process::ExitCode;
use std::time::Duration;

/// Plans for the guest on the other host, with what it sees kept as it is; claims its pCPUs and
/// memory there before it goes; moves it running, or its definition alone when it is off; verifies
/// it there; and gives back what it had here. Its disks are taken to be on storage that both hosts
/// have. Interrupted, it breaks the move off; killed, it is brought to an end by the next command on
/// either host.
#[derive(Args)]
pub struct MigrateArgs {
    /// Name or UUID.
    guest: String,
    /// Connection URI of the other host (qemu+ssh://HOST/system), or its name in the configuration.
    #[arg(long, value_name = "URI|NAME")]
    to: String,
    /// Only if the guest runs: move it running.
    #[arg(long, conflicts_with = "offline")]
    live: bool,
    /// Only if the guest is off: move its definition.
    #[arg(long)]
    offline: bool,
    /// Show the plan and the change to the domain XML, and stop.
    #[arg(long)]
    dry_run: bool,
    /// Seconds a running guest may take; then the move is broken off.
    #[arg(long, value_name = "SEC", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// Most that a running guest's memory may take of the network, in MiB a second.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    bandwidth: Option<u64>,
    /// Slow a running guest down until its memory moves faster than it writes.
    #[arg(long)]
    auto_converge: bool,
    /// Where the two hypervisors meet (tcp://ADDRESS, unix:///PATH), if not where they would by
    /// themselves.
    #[arg(long, value_name = "URI")]
    migrate_uri: Option<String>,
    /// Leave the definition here, off; its claims here go all the same.
    #[arg(long)]
    keep_source: bool,
    /// Take the definition away here once the guest is there: what happens anyway.
    #[arg(long, conflicts_with = "keep_source")]
    undefine_source: bool,
    /// Move a definition although a file that it names is not seen on the other host.
    #[arg(long)]
    assume_shared: bool,
    /// Move the guest although another manager (OpenStack, oVirt, ...) owns it; the journal keeps that
    /// it was so.
    #[arg(long)]
    override_owner: bool,
    /// Guests of the other host that are off give up what they hold.
    #[arg(long)]
    ignore_stopped: bool,
    /// Kill this process at a named step: for tests of recovery.
    #[arg(long, hide = true, value_name = "STEP", value_parser = crash_point)]
    crash_at: Option<CrashPoint>,
}

impl MigrateArgs {
    fn wanted(&self) -> Wanted {
        match (self.live, self.offline) {
            (true, _) => Wanted::Running,
            (_, true) => Wanted::Off,
            _ => Wanted::AsItIs,
        }
    }

    fn options(&self, from_uri: String, to_uri: String) -> MoveOptions {
        MoveOptions {
            intent: IntentId(fresh_id()),
            wanted: self.wanted(),
            from_uri,
            to_uri,
            keep_source: self.keep_source,
            assume_files: self.assume_shared,
            override_owner: self.override_owner,
            ignore_stopped: self.ignore_stopped,
            travel: Travel {
                timeout: self.timeout.map(Duration::from_secs),
                bandwidth_mib: self.bandwidth,
                auto_converge: self.auto_converge,
                uri: self.migrate_uri.clone(),
            },
        }
    }
}

pub fn run(global: &GlobalArgs, args: &MigrateArgs) -> Result<ExitCode> {
    let session = Session::open(global)?;
    let to = session.connect_to(&session.config.host_uri(&args.to)?)?;
    let carrier = carrier(&session.hypervisor, &to)?;
    let engine = session.mover(args.crash_at);
    let there = engine.beside(&*to);
    there.recover()?;
    let options = args.options(session.hypervisor.address()?, to.address()?);
    let guest = engine.moving(&engine.situation(false)?, &args.guest)?;
    engine.check_move(&there, &guest, &options)?;
    let at = there.situation(args.ignore_stopped)?;
    let pools = session.config.pools(&at.host.topology);
    let planned = there.plan_arrival(&at, guest, &pools, fresh_ids())?;
    if !global.json || args.dry_run {
        show(global, &session, &planned, &at)?;
    }
    let name = &planned.guest.known.summary.name;
    let manner = if planned.after_live_xml.is_some() { "running" } else { "which is off" };
    let question = format!("Move {name}, {manner}, to {}?", options.to_uri);
    if args.dry_run || !confirm::go_on(global.yes, &question)? {
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(plan) = &planned.plan {
        session.store.save_plan(plan)?;
    }
    let outcome = engine.migrate(&there, &*carrier, &planned, &options)?;
    apply::report(global, &session, &outcome)
}

/// Two of a kind: a guest that is only modelled has nothing that a real host could run.
fn carrier<'c>(from: &'c Connection, to: &'c Connection) -> Result<Box<dyn Carrier + 'c>> {
    match (from, to) {
        (Connection::Embedded(from), Connection::Embedded(to)) => {
            Ok(Box::new(EmbeddedCarrier { from, to }))
        }
        (Connection::Libvirt(from), Connection::Libvirt(to)) => {
            Ok(Box::new(LibvirtCarrier { from, to }))
        }
        _ => {
            let text = "a guest moves between two simulated hosts or between two of libvirt's: \
                        --connect and --to name one of each";
            Err(coded(USAGE, text))
        }
    }
}

fn show(
    global: &GlobalArgs,
    session: &Session,
    planned: &PlannedMove,
    at: &Situation,
) -> Result<()> {
    let summary = &planned.guest.known.summary;
    let (before, after) = (&planned.guest.known.xml, &planned.after_xml);
    if global.json {
        return match &planned.plan {
            Some(plan) => output::print(&numawise_documents::plan_to_json(plan)),
            None => apply::print_change(global, session, &summary.name, before, after),
        };
    }
    let look = output::look(session.hypervisor.is_simulated());
    match &planned.plan {
        Some(plan) => {
            let view = PlanView { topology: Some(&at.host.topology), look };
            output::print(&text::arrival(plan, &view))?;
        }
        None => output::print(&text::moves_as_it_is(&summary.name, &look))?,
    }
    output::print(&apply::diff(session, &summary.name, before, after))
}

impl Connection {
    /// A URI that leads here from any folder, for whoever ends this move later.
    fn address(&self) -> Result<String> {
        match self {
            Self::Libvirt(hypervisor) => {
                use numawise_engine::ports::Hypervisor;
                Ok(hypervisor.uri())
            }
            Self::Embedded(hypervisor) => {
                let folder = hypervisor.folder();
                let folder = std::path::absolute(folder)
                    .with_context(|| format!("the place of {}", folder.display()))?;
                Ok(format!("embedded:{}", folder.display()))
            }
        }
    }
}
