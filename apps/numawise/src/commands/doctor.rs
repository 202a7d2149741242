//! `numawise doctor`: whether this host can do what plans ask of it, tried and not assumed.

use crate::config::{Config, GlobalArgs};
use crate::failure::{DRIFT, NO_ACCESS};
use crate::output;
use crate::session::{Connection, cancelled_by_signals, connect};
use anyhow::{Context, Result};
use clap::Args;
use numawise_documents::checkup_to_json;
use numawise_engine::ports::{Cancel, Hypervisor};
use numawise_libvirt::{LibvirtHypervisor, Place, probe};
use numawise_model::checkup::{
    Accelerator, Check, CheckKind, DefectOutcome, HostSetting, Platform, ProbeOutcome, Verdict,
};
use numawise_render::text;
use numawise_store::SqliteStore;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Looks at the store, the connection, versions, KVM, software emulation, known defects and kernel
/// settings. Small probe guests are started for it and gone afterwards. Exit code 5 when something
/// is bad, 6 when nothing answers.
#[derive(Args)]
pub struct DoctorArgs {
    /// Database servers to look at, and nothing else: mysql://..., postgres://... as `numawise tpcc` takes them.
    /// With several their settings are compared too.
    #[arg(value_name = "DB", value_parser = crate::load_args::target)]
    databases: Vec<numawise_database::Target>,
    /// Start no probe guests; what only they can tell is then left open.
    #[arg(long)]
    no_probes: bool,
    /// Seconds that a probe guest may take to boot.
    #[arg(long, value_name = "SEC", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    probe_timeout: u64,
}

pub fn run(global: &GlobalArgs, args: &DoctorArgs) -> Result<ExitCode> {
    if !args.databases.is_empty() {
        return super::doctor_database::run(global, &args.databases);
    }
    let config = Config::load(global)?;
    let cancel = cancelled_by_signals()?;
    let mut checks = vec![state(&config)];
    let mut answered = true;
    match connect(&config, &cancel) {
        Ok(Connection::Libvirt(hypervisor)) => {
            checks.extend(of_libvirt(&config, &hypervisor, args, &cancel)?);
        }
        Ok(Connection::Embedded(hypervisor)) => checks.push(of_embedded(&*hypervisor)?),
        Err(error) => {
            answered = false;
            checks.push(unreachable(&config, &error));
        }
    }
    if global.json {
        output::print(&checkup_to_json(&checks))?;
    } else {
        output::print(&text::checks(&checks, &output::look(false)))?;
    }
    let bad = checks.iter().any(|check| check.verdict == Verdict::Bad);
    Ok(match (answered, bad) {
        (false, _) => ExitCode::from(NO_ACCESS),
        (true, true) => ExitCode::from(DRIFT),
        (true, false) => ExitCode::SUCCESS,
    })
}

fn state(config: &Config) -> Check {
    let why_not = SqliteStore::open(&config.state).err().map(|error| error.to_string());
    let verdict = if why_not.is_some() { Verdict::Bad } else { Verdict::Good };
    let folder = config.state.display().to_string();
    Check { verdict, kind: CheckKind::State { folder, why_not } }
}

fn unreachable(config: &Config, error: &anyhow::Error) -> Check {
    let (uri, why) = (config.connect.clone(), Some(format!("{error:#}")));
    Check { verdict: Verdict::Bad, kind: CheckKind::Connection { uri, answer: None, why } }
}

/// A simulated host has no platform to go wrong.
fn of_embedded(hypervisor: &dyn Hypervisor) -> Result<Check> {
    let nodes = hypervisor.host()?.topology.nodes.iter().map(|node| node.id).collect();
    Ok(Check { verdict: Verdict::Good, kind: CheckKind::Nodes { nodes } })
}

fn of_libvirt(
    config: &Config,
    hypervisor: &LibvirtHypervisor,
    args: &DoctorArgs,
    cancel: &Cancel,
) -> Result<Vec<Check>> {
    let remote = hypervisor.place() != Place::Here;
    let host = hypervisor.host()?;
    let mut checks = vec![connection(config, hypervisor, remote)?];
    checks.extend(accelerators(hypervisor, args, remote, cancel)?);
    checks.push(kernel_facts(remote));
    let nodes: Vec<_> = host.topology.nodes.iter().map(|node| node.id).collect();
    if nodes.len() > 1 && !remote {
        checks.extend(against_binding());
    }
    checks.push(Check { verdict: Verdict::Good, kind: CheckKind::Nodes { nodes } });
    let outcome = match args.no_probes {
        true => DefectOutcome::NotTried { why: "--no-probes".to_owned() },
        false => probe::emulator_pin_defect(hypervisor, &host.topology)?,
    };
    let verdict = match outcome {
        DefectOutcome::Absent => Verdict::Good,
        DefectOutcome::Present { .. } => Verdict::Warning,
        DefectOutcome::NotTried { .. } => Verdict::Untried,
    };
    checks.push(Check { verdict, kind: CheckKind::EmulatorPinDefect { outcome } });
    Ok(checks)
}

fn connection(config: &Config, hypervisor: &LibvirtHypervisor, remote: bool) -> Result<Check> {
    let versions = hypervisor.versions()?;
    let no_hypervisor = || "no hypervisor installed".to_owned();
    let answer = Platform {
        libvirt_client: versions.library.to_string(),
        libvirt_daemon: versions.daemon.to_string(),
        hypervisor: versions.hypervisor.map_or_else(no_hypervisor, |v| format!("QEMU {v}")),
        remote,
    };
    let verdict = if remote { Verdict::Warning } else { Verdict::Good };
    let (uri, answer) = (config.connect.clone(), Some(answer));
    Ok(Check { verdict, kind: CheckKind::Connection { uri, answer, why: None } })
}

fn accelerators(
    hypervisor: &LibvirtHypervisor,
    args: &DoctorArgs,
    remote: bool,
    cancel: &Cancel,
) -> Result<Vec<Check>> {
    let capabilities = hypervisor.capabilities()?;
    let mut checks = Vec::new();
    for (accelerator, offered) in [
        (Accelerator::Kvm, capabilities.contains("<domain type='kvm'")),
        (Accelerator::Software, capabilities.contains("<domain type='qemu'")),
    ] {
        if offered {
            let outcome = boot(hypervisor, accelerator, args, cancel)?;
            let verdict = match outcome {
                ProbeOutcome::Booted { .. } => Verdict::Good,
                ProbeOutcome::NotBooted { .. } => Verdict::Bad,
                ProbeOutcome::NotTried { .. } => Verdict::Untried,
            };
            let kind = CheckKind::ProbeGuest { accelerator, outcome };
            checks.push(Check { verdict, kind });
        } else if accelerator == Accelerator::Kvm {
            let device_file = !remote && Path::new("/dev/kvm").exists();
            let kind = CheckKind::NoKvm { device_file };
            checks.push(Check { verdict: Verdict::Warning, kind });
        }
    }
    Ok(checks)
}

fn boot(
    hypervisor: &LibvirtHypervisor,
    accelerator: Accelerator,
    args: &DoctorArgs,
    cancel: &Cancel,
) -> Result<ProbeOutcome> {
    if args.no_probes {
        return Ok(ProbeOutcome::NotTried { why: "--no-probes".to_owned() });
    }
    let time_limit = Duration::from_secs(args.probe_timeout);
    probe::boot(hypervisor, accelerator, time_limit, cancel).context("booting a probe guest")
}

fn kernel_facts(remote: bool) -> Check {
    let why_not = match remote {
        true => Some("the guests are on another machine".to_owned()),
        false if !rustix::process::geteuid().is_root() => {
            Some("only root may read the memory maps of QEMU's processes".to_owned())
        }
        false => None,
    };
    let verdict = if why_not.is_some() { Verdict::Warning } else { Verdict::Good };
    Check { verdict, kind: CheckKind::KernelFacts { why_not } }
}

/// Kernel settings that work against a binding; those that this kernel does not have do not.
fn against_binding() -> Vec<Check> {
    let says = |file: &str, word: &str| {
        std::fs::read_to_string(file).is_ok_and(|text| text.trim() == word)
    };
    let ksm =
        says("/sys/kernel/mm/ksm/run", "1") && says("/sys/kernel/mm/ksm/merge_across_nodes", "1");
    let found = [
        (says("/proc/sys/kernel/numa_balancing", "1"), HostSetting::NumaBalancing),
        (ksm, HostSetting::KsmAcrossNodes),
    ];
    let against = found.into_iter().filter(|(on, _)| *on);
    against
        .map(|(_, setting)| Check {
            verdict: Verdict::Warning,
            kind: CheckKind::AgainstBinding { setting },
        })
        .collect()
}
