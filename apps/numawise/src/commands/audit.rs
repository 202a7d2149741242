//! `numawise audit`: the judge on a whole host.

use crate::config::GlobalArgs;
use crate::failure::{DRIFT, USAGE, coded};
use crate::host_source;
use crate::session::{Connection, Session, embedded_folder, host_file};
use crate::{input_file, output};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use numawise_documents::audit_to_json;
use numawise_engine::audit::audit_capture;
use numawise_engine::ledger_view::KnownGuest;
use numawise_engine::ports::{DomainEditor, GuestSummary};
use numawise_libvirt::{DomainXmlEditor, Place};
use numawise_model::{Audit, AuditRule, GuestUuid, Severity, Surroundings, Unread};
use numawise_render::text;
use numawise_sysfs::{Source, read_surroundings};
use std::path::PathBuf;
use std::process::ExitCode;

/// Holds the host with all its guests against the rules, whoever placed them: claims, pins, memory,
/// what guests are told, and what the kernel does beside them. Changes nothing. Exit code 0: nothing
/// that costs; 5: warnings or errors.
#[derive(Args)]
pub struct AuditArgs {
    #[arg(long, value_name = "H", help = host_source::HELP)]
    host: Option<String>,
    /// With --host: domain XML of a guest on it, from virsh dumpxml; may be given several times.
    #[arg(long, value_name = "FILE", requires = "host")]
    xml: Vec<PathBuf>,
    /// The least severity that is told.
    #[arg(long, value_name = "SEVERITY", default_value = "note")]
    severity: Least,
    /// Only findings of this rule; may be given several times.
    #[arg(long, value_name = "RULE", value_parser = rule)]
    rule: Vec<AuditRule>,
    /// Say what a rule looks at, why it costs and what to do, and nothing else; `all` for every rule.
    #[arg(long, value_name = "RULE", conflicts_with_all = ["host", "rule", "severity"])]
    explain: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Least {
    Note,
    Warning,
    Error,
}

impl Least {
    fn severity(self) -> Severity {
        match self {
            Self::Note => Severity::Info,
            Self::Warning => Severity::Warning,
            Self::Error => Severity::Error,
        }
    }
}

fn rule(name: &str) -> Result<AuditRule, String> {
    AuditRule::from_name(name).ok_or_else(|| format!("there is no such rule; {}", known_rules()))
}

fn known_rules() -> String {
    format!("there are: {}", AuditRule::ALL.map(AuditRule::name).join(", "))
}

pub fn run(global: &GlobalArgs, args: &AuditArgs) -> Result<ExitCode> {
    if let Some(name) = &args.explain {
        return explain(name);
    }
    let mut audit = match &args.host {
        Some(host) => of_capture(host, args)?,
        None => of_this_host(global)?,
    };
    let least = args.severity.severity();
    let is_wanted = |rule: Option<AuditRule>| {
        args.rule.is_empty() || rule.is_some_and(|rule| args.rule.contains(&rule))
    };
    audit.findings.retain(|f| f.severity >= least && is_wanted(AuditRule::of(&f.kind)));
    if global.json {
        output::print(&audit_to_json(&audit))?;
    } else {
        output::print(&text::audit(&audit, &output::look(audit.simulated)))?;
    }
    let costs = audit.findings.iter().any(|finding| finding.severity >= Severity::Warning);
    Ok(if costs { ExitCode::from(DRIFT) } else { ExitCode::SUCCESS })
}

fn explain(name: &str) -> Result<ExitCode> {
    let look = output::look(false);
    let told = match (name, AuditRule::from_name(name)) {
        ("all", _) => text::rules(&look),
        (_, Some(rule)) => text::essay(rule, &look),
        (_, None) => {
            return Err(coded(USAGE, format!("there is no rule '{name}'; {}", known_rules())));
        }
    };
    output::print(&told)?;
    Ok(ExitCode::SUCCESS)
}

fn of_this_host(global: &GlobalArgs) -> Result<Audit> {
    let session = Session::open(global)?;
    let surroundings = surroundings(&session)?;
    Ok(session.engine(None).audit(&surroundings)?)
}

/// Those of the host that the guests run on: a simulated one has what its capture holds.
fn surroundings(session: &Session) -> Result<Surroundings> {
    match &session.hypervisor {
        Connection::Embedded(_) => match host_file(&embedded_folder(&session.config))? {
            Some(file) => Ok(read_surroundings(&numawise_sysfs::open(&file)?)?),
            None => Ok(Surroundings::unread(&Unread::NotInCapture)),
        },
        Connection::Libvirt(libvirt) if libvirt.place() == Place::Here => {
            Ok(read_surroundings(&Source::Live)?)
        }
        Connection::Libvirt(_) => Ok(Surroundings::unread(&Unread::Elsewhere)),
    }
}

fn of_capture(host: &str, args: &AuditArgs) -> Result<Audit> {
    let surroundings = read_surroundings(&host_source::open(Some(host))?)?;
    let named = host_source::read(Some(host), false)?;
    let mut guests = Vec::new();
    for path in &args.xml {
        let xml = input_file::read(path)?;
        let inactive = DomainXmlEditor.read(&xml).with_context(|| path.display().to_string())?;
        // A file that no libvirt has defined yet may have none; its place tells it from others.
        let unnamed = || GuestUuid(format!("undefined-{}", guests.len()));
        let summary = GuestSummary {
            uuid: inactive.uuid.clone().unwrap_or_else(unnamed),
            name: inactive.name.clone(),
            running: false,
            persistent: true,
        };
        let twice = guests.iter().any(|known: &KnownGuest| known.summary.uuid == summary.uuid);
        if twice {
            let (path, name) = (path.display(), &summary.name);
            let text = format!("{path}: guest {name} was given already: give each guest once");
            return Err(coded(USAGE, text));
        }
        guests.push(KnownGuest { summary, xml, inactive, live: None });
    }
    Ok(audit_capture(&named.id, &named.host, &surroundings, guests))
}
