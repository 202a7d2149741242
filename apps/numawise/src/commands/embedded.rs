//! `numawise embedded`: the simulated host, and ways to make a guest drift on it.

use crate::config::{Config, GlobalArgs};
use crate::failure::{USAGE, coded};
use crate::session::{HOST_FILES, Session, embedded_folder, host_file, open_embedded};
use crate::{host_source, input_file, output, private_file};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use numawise_documents::report::done_to_json;
use numawise_embedded::EmbeddedHypervisor;
use numawise_engine::ports::{Cancel, Hypervisor, ShutdownOptions, find_guest};
use numawise_model::{GuestUuid, Pcpu, Pnode, Vcpu, parse_rule};
use numawise_sysfs::Source;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Subcommand)]
pub enum EmbeddedCommand {
    /// Make the simulated host from a capture.
    Init(InitArgs),
    /// Define a guest from its domain XML.
    Define {
        /// Domain XML.
        file: PathBuf,
    },
    /// Remove a guest that is off.
    Undefine {
        /// Name or UUID.
        guest: String,
    },
    /// Start a guest from its definition.
    Start {
        /// Name or UUID.
        guest: String,
    },
    /// Switch a running guest off.
    Shutdown {
        /// Name or UUID.
        guest: String,
    },
    /// Print the definition that the next boot takes.
    Dumpxml {
        /// Name or UUID.
        guest: String,
        /// Print what the running guest was started from instead.
        #[arg(long)]
        live: bool,
    },
    /// Move a vCPU thread to other pCPUs behind everybody's back.
    Repin {
        /// Name or UUID.
        guest: String,
        /// The vCPU whose thread moves.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=8191))]
        vcpu: u32,
        /// Where it may run from now on, like 5 or 0-3.
        #[arg(long, value_name = "LIST")]
        cpus: String,
    },
    /// Move memory of a guest to another node behind everybody's back.
    MigratePages {
        /// Name or UUID.
        guest: String,
        /// pNUMA node that the memory is on.
        #[arg(long, value_name = "NODE")]
        from: u32,
        /// pNUMA node that it goes to.
        #[arg(long, value_name = "NODE")]
        to: u32,
        /// How many pages; all of them if left out.
        #[arg(long)]
        pages: Option<u64>,
    },
}

#[derive(Args)]
pub struct InitArgs {
    /// Host to simulate: a capture or a sysfs tree, hwloc XML, libvirt capabilities XML, or
    /// bundled:two-socket-64.
    #[arg(long, value_name = "H")]
    host: String,
    /// The id its ledger goes by [default: made from the capture].
    #[arg(long)]
    id: Option<String>,
}

pub fn run(global: &GlobalArgs, command: &EmbeddedCommand) -> Result<ExitCode> {
    match command {
        EmbeddedCommand::Init(args) => init(global, args),
        EmbeddedCommand::Dumpxml { guest, live } => {
            let hypervisor = open(global)?;
            let guest = find_guest(&hypervisor, guest)?.uuid;
            dump(&hypervisor, &guest, *live)
        }
        change => {
            let done = make(&open(global)?, change)?;
            said(global, &done)
        }
    }
}

/// The simulated host, once what a killed command left behind on it is brought to an end.
fn open(global: &GlobalArgs) -> Result<EmbeddedHypervisor> {
    let folder = embedded_folder(&Config::load(global)?);
    let connect = Some(format!("embedded:{}", folder.display()));
    let session = Session::open(&GlobalArgs { connect, ..global.clone() })?;
    // A guest is seen running before a command of ours stops it.
    session.engine(None).situation(false)?;
    open_embedded(&folder)
}

/// Carries out a command that changes the simulated host, and says what was done.
fn make(hypervisor: &EmbeddedHypervisor, command: &EmbeddedCommand) -> Result<String> {
    let find = |guest: &String| find_guest(hypervisor, guest).map(|found| found.uuid);
    Ok(match command {
        EmbeddedCommand::Init(_) | EmbeddedCommand::Dumpxml { .. } => String::new(),
        EmbeddedCommand::Define { file } => {
            let xml = input_file::read(file)?;
            hypervisor.define(&xml)?;
            format!("{} is defined", file.display())
        }
        EmbeddedCommand::Undefine { guest } => {
            hypervisor.undefine(&find(guest)?)?;
            format!("{guest} is gone")
        }
        EmbeddedCommand::Start { guest } => {
            hypervisor.start(&find(guest)?)?;
            format!("{guest} is running")
        }
        EmbeddedCommand::Shutdown { guest } => {
            let options = ShutdownOptions { timeout: Duration::from_secs(60), force: false };
            hypervisor.shutdown(&find(guest)?, options, &Cancel::default())?;
            format!("{guest} is off")
        }
        EmbeddedCommand::Repin { guest, vcpu, cpus } => {
            let rule = parse_rule::<Pcpu>(cpus);
            let set = rule.map_err(|error| coded(USAGE, format!("--cpus: {error}")))?.set;
            hypervisor.repin(&find(guest)?, Vcpu(*vcpu), &set)?;
            format!("vCPU {vcpu} of {guest} now runs on pCPU {set}")
        }
        EmbeddedCommand::MigratePages { guest, from, to, pages } => {
            let moved =
                hypervisor.migrate_pages(&find(guest)?, Pnode(*from), Pnode(*to), *pages)?;
            format!("{moved} pages of {guest} moved from node {from} to node {to}")
        }
    })
}

fn dump(hypervisor: &dyn Hypervisor, guest: &GuestUuid, live: bool) -> Result<ExitCode> {
    let xml = if live {
        hypervisor.live_xml(guest)?.context("the guest is off, so it has no live XML")?
    } else {
        hypervisor.inactive_xml(guest)?
    };
    output::print(&xml)?;
    Ok(ExitCode::SUCCESS)
}

/// Makes the folder; one that is there already is left alone, since guests live in it.
pub fn init(global: &GlobalArgs, args: &InitArgs) -> Result<ExitCode> {
    let config = Config::load(global)?;
    let folder = embedded_folder(&config);
    if host_file(&folder)?.is_some() {
        let text = format!(
            "{} has a simulated host already; remove the folder, or take another one with \
             --connect embedded:DIR",
            folder.display()
        );
        return Err(coded(USAGE, text));
    }
    let named = host_source::read(Some(&args.host), false)?;
    let source = host_source::open(Some(&args.host))?;
    let id = checked_id(args.id.clone().unwrap_or(named.id.0))?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("making {}", folder.display()))?;
    private_file::write(&folder.join("host-id"), &id)?;
    // The host last, and whole or not at all: it is what makes the folder a hypervisor.
    match &source {
        Source::HwlocXml { text, .. } | Source::LibvirtCapabilities { text, .. } => {
            private_file::write(&folder.join(HOST_FILES[1]), text)?;
        }
        Source::Live | Source::Directory(_) | Source::Archive { .. } => {
            numawise_sysfs::capture(&source, &folder.join(HOST_FILES[0]))?;
        }
    }
    said(global, &format!("{id} is in {}", folder.display()))
}

fn said(global: &GlobalArgs, done: &str) -> Result<ExitCode> {
    if global.json {
        output::print(&done_to_json(done, true))?;
    } else {
        let done = numawise_render::text::printable(done);
        output::print(&format!("simulated host: {done}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// An id names a ledger and a lock file.
fn checked_id(id: String) -> Result<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !id.is_empty() && id.len() <= 64 && id.chars().all(fits) {
        return Ok(id);
    }
    let text = format!("--id '{id}': 1 to 64 letters, digits, '-', '_' or '.' are wanted");
    Err(coded(USAGE, text))
}
