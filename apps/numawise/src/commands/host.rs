//! `numawise host`: a host's picture, a capture of it, its use.

use crate::config::{Config, GlobalArgs};
use crate::failure::{USAGE, coded};
use crate::host_source::{self, NamedHost};
use crate::output;
use crate::session::{Session, note_usage, read_counters};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use numawise_documents::host_to_json;
use numawise_engine::usage::{UsageAverage, average};
use numawise_model::Host;
use numawise_render::{HostView, svg, text};
use numawise_store::SqliteStore;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Subcommand)]
pub enum HostCommand {
    /// Draw the host: packages, nodes, L3 domains, cores, memory, devices, findings.
    Show(ShowArgs),
    /// Write everything numawise reads from this machine into one file; serial numbers and host
    /// names are left out.
    Capture(CaptureArgs),
    /// How busy each pCPU has been over the last 15 minutes.
    Usage(UsageArgs),
    /// Prepare the host for guests: hugepages, isolation, kernel settings; with dry run and undo.
    #[command(subcommand)]
    Tune(super::host_tune::TuneCommand),
}

#[derive(Args)]
pub struct ShowArgs {
    #[arg(long, value_name = "H", help = host_source::HELP)]
    host: Option<String>,
    /// The hypervisor's host with whose its pCPUs are, instead of a host that is only read.
    #[arg(long, conflicts_with_all = ["host", "strict", "json"])]
    claims: bool,
    /// Write the picture as SVG into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Read every file of every CPU and compare, instead of reading a shared mask once.
    #[arg(long)]
    strict: bool,
}

#[derive(Args)]
pub struct CaptureArgs {
    /// File to write: .tar, .tar.gz, .tar.xz or .tar.zst.
    file: PathBuf,
    #[arg(long, value_name = "H", help = host_source::HELP)]
    host: Option<String>,
    /// Write over a file that is there.
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
pub struct UsageArgs {
    /// Go on, with a new reading every few seconds, until interrupted.
    #[arg(long)]
    watch: bool,
    /// Seconds between readings.
    #[arg(long, value_name = "SEC", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=900))]
    interval: u64,
}

pub fn run(global: &GlobalArgs, command: &HostCommand) -> Result<ExitCode> {
    match command {
        HostCommand::Show(args) => show(global, args),
        HostCommand::Capture(args) => capture(args),
        HostCommand::Usage(args) => usage(global, args),
        HostCommand::Tune(command) => super::host_tune::run(global, command),
    }
}

fn show(global: &GlobalArgs, args: &ShowArgs) -> Result<ExitCode> {
    if args.claims {
        return show_claims(global, args);
    }
    let mut named = host_source::read(args.host.as_deref(), args.strict)?;
    if global.json && args.svg.is_none() {
        output::print(&host_to_json(&named.host, Some(&named.id)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let usage_window_sec = add_usage(global, &mut named)?;
    let reserved = Config::load(global)?.pools(&named.host.topology).reserved;
    let look = output::look(false);
    let (name, reserved) = (&*named.id.0, Some(&reserved));
    let view = HostView { name, ledger: None, reserved, usage_window_sec, look };
    draw(args, &named.host, &view)
}

fn show_claims(global: &GlobalArgs, args: &ShowArgs) -> Result<ExitCode> {
    let session = Session::open(global)?;
    let situation = session.engine(None).situation(false)?;
    let reserved = session.config.pools(&situation.host.topology).reserved;
    let view = HostView {
        name: &situation.host_id.0,
        ledger: Some(&situation.view.ledger),
        reserved: Some(&reserved),
        usage_window_sec: None,
        look: output::look(session.hypervisor.is_simulated()),
    };
    draw(args, &situation.host, &view)
}

fn draw(args: &ShowArgs, host: &Host, view: &HostView<'_>) -> Result<ExitCode> {
    if let Some(path) = &args.svg {
        std::fs::write(path, svg::host(host, view))
            .with_context(|| format!("writing {}", path.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&text::host(host, view))?;
    if !host.findings.is_empty() {
        output::print(&text::findings(&host.findings, &view.look))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Puts the 15-minute averages into the levels of a live host. Without a store that may be written
/// there is nothing to compare with, which is no failure: pictures then show no use.
pub fn add_usage(global: &GlobalArgs, named: &mut NamedHost) -> Result<Option<i64>> {
    if !named.is_live {
        return Ok(None);
    }
    let config = Config::load(global)?;
    let Ok(store) = SqliteStore::open(&config.state) else { return Ok(None) };
    Ok(note_usage(&store, &named.id)?.map(|found| {
        named.host.levels.utilisation = found.cpus;
        found.window_sec
    }))
}

fn capture(args: &CaptureArgs) -> Result<ExitCode> {
    if args.file.exists() && !args.force {
        let text =
            format!("{} is there already: add --force to write over it", args.file.display());
        return Err(coded(USAGE, text));
    }
    let source = host_source::open(args.host.as_deref())?;
    numawise_sysfs::capture(&source, &args.file)?;
    let file = args.file.display();
    output::remark(&format!("{file} is written. Look at it: numawise host show --host {file}"));
    Ok(ExitCode::SUCCESS)
}

fn usage(global: &GlobalArgs, args: &UsageArgs) -> Result<ExitCode> {
    let config = Config::load(global)?;
    let store = SqliteStore::open(&config.state)?;
    let named = host_source::read(None, false)?;
    let first = match note_usage(&store, &named.id)? {
        Some(found) => found,
        None => short_look()?,
    };
    print_usage(global, &named, &first)?;
    if !args.watch {
        return Ok(ExitCode::SUCCESS);
    }
    while !output::reader_is_gone() {
        std::thread::sleep(Duration::from_secs(args.interval));
        if let Some(found) = note_usage(&store, &named.id)? {
            print_usage(global, &named, &found)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The first call on a machine has nothing to compare with: it looks twice, two seconds apart.
fn short_look() -> Result<UsageAverage> {
    let before = read_counters()?;
    std::thread::sleep(Duration::from_secs(2));
    let after = read_counters()?;
    average(&[before], &after).context("the kernel's CPU counters did not move in two seconds")
}

fn print_usage(global: &GlobalArgs, named: &NamedHost, found: &UsageAverage) -> Result<()> {
    if global.json {
        let document = numawise_documents::report::usage_to_json(found.window_sec, &found.cpus);
        return output::print(&document);
    }
    let look = output::look(false);
    let mut host = named.host.clone();
    host.levels.utilisation.clone_from(&found.cpus);
    output::print(&text::usage(&host, Some(found.window_sec), &look))
}
