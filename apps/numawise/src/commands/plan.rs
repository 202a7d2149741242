//! `numawise plan`: works out binding and vNUMA, and changes nothing.

use crate::commands::apply;
use crate::config::{Config, GlobalArgs};
use crate::failure::{USAGE, coded};
use crate::host_source::{self, NamedHost};
use crate::request_args::{RequestArgs, base_page};
use crate::session::{Session, fresh_ids};
use crate::{input_file, output, private_file, size};
use anyhow::{Context, Result};
use clap::Args;
use numawise_documents::{plan_to_json, text_digest};
use numawise_engine::planning::plan_size;
use numawise_engine::ports::{DomainEditor, Store};
use numawise_engine::reconcile::planned_xml;
use numawise_libvirt::DomainXmlEditor;
use numawise_model::{GuestConfig, GuestRef, GuestUuid, Host, Plan, Request};
use numawise_render::{PlanView, text};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Plans for a guest of the hypervisor (GUEST), for a domain XML (--xml FILE), or for a size
/// (--vcpus N --memory SIZE). The plan of a guest is kept in the store, under the id it prints, and
/// can be applied; the others show what would be.
#[derive(Args)]
pub struct PlanArgs {
    /// Name or UUID of a guest of the hypervisor.
    #[arg(conflicts_with_all = ["xml", "vcpus", "memory", "host"])]
    guest: Option<String>,
    /// Domain XML to plan for, from virsh dumpxml --inactive --security-info.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["vcpus", "memory"])]
    xml: Option<PathBuf>,
    /// Write the planned domain XML here, ready for virsh define.
    #[arg(long, value_name = "FILE", requires = "xml", conflicts_with_all = ["guest", "vcpus", "memory"])]
    xml_out: Option<PathBuf>,
    #[arg(long, value_name = "H", help = host_source::HELP)]
    host: Option<String>,
    /// vCPUs of a guest that does not exist yet.
    #[arg(long, value_name = "N", requires = "memory", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=8192))]
    vcpus: Option<u32>,
    /// Its memory, like 192GiB.
    #[arg(long, value_name = "SIZE", value_parser = size::bytes, requires = "vcpus")]
    memory: Option<u64>,
    /// Write the plan document here as well.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Give the reason for every decision.
    #[arg(long)]
    explain: bool,
    /// Plan as if guests that are off held nothing.
    #[arg(long)]
    ignore_stopped: bool,
    #[command(flatten)]
    request: RequestArgs,
}

pub fn run(global: &GlobalArgs, args: &PlanArgs) -> Result<ExitCode> {
    match (&args.guest, &args.xml, args.vcpus.zip(args.memory)) {
        (Some(guest), _, _) => plan_guest(global, args, guest),
        (None, Some(xml), _) => plan_xml(global, args, xml),
        (None, None, Some((vcpus, memory))) => {
            let host = read_host(global, args)?;
            let page = base_page(&host.host.topology);
            let request = args.request.request(vcpus, memory, page, args.request.policy()?);
            let plan = plan_on(global, &host, None, &request)?;
            finish(global, args, &plan, &host.host, false)
        }
        (None, None, None) => Err(coded(
            USAGE,
            "what is to be planned for? Give a guest's name, --xml FILE, or --vcpus N --memory SIZE",
        )),
    }
}

fn plan_guest(global: &GlobalArgs, args: &PlanArgs, guest: &str) -> Result<ExitCode> {
    let policy = args.request.policy()?;
    let session = Session::open(global)?;
    let pools = session.pools()?;
    let planned = session.engine(None).plan_guest(
        guest,
        &pools,
        fresh_ids(),
        args.ignore_stopped,
        |config, situation| Ok(args.request.for_guest(config, &situation.host.topology, policy)),
    )?;
    session.store.save_plan(&planned.plan)?;
    let host = session.hypervisor.host()?;
    let code = finish(global, args, &planned.plan, &host, session.hypervisor.is_simulated())?;
    if !global.json {
        let name = &planned.guest.name;
        output::print(&apply::diff(&session, name, &planned.before_xml, &planned.after_xml))?;
        output::print(&format!(
            "\nPlan {id} is kept. Next: numawise apply {id} [--restart | --live]",
            id = planned.plan.id
        ))?;
    }
    Ok(code)
}

fn plan_xml(global: &GlobalArgs, args: &PlanArgs, path: &Path) -> Result<ExitCode> {
    let before = input_file::read(path)?;
    let config = DomainXmlEditor.read(&before).with_context(|| path.display().to_string())?;
    let policy = args.request.policy()?;
    let host = read_host(global, args)?;
    let request = args.request.for_guest(&config, &host.host.topology, policy);
    let reference = GuestRef {
        name: config.name.clone(),
        // A file that no libvirt has defined yet may have none.
        uuid: config.uuid.clone().unwrap_or_else(|| GuestUuid("undefined".to_owned())),
        digest: text_digest(&DomainXmlEditor.stable_part(&before)?),
    };
    let plan = plan_on(global, &host, Some((&config, reference)), &request)?;
    let after = planned_xml(&DomainXmlEditor, &plan, &before)?;
    if let Some(out) = &args.xml_out {
        private_file::write(out, &after)?;
    }
    let code = finish(global, args, &plan, &host.host, false)?;
    if !global.json {
        let mask = |xml: &str| DomainXmlEditor.mask_secrets(xml);
        let (now, planned) = (format!("{} (now)", path.display()), "(planned)".to_owned());
        let names = numawise_render::diff::Names { before: &now, after: &planned };
        let look = output::look(false);
        output::print(&numawise_render::diff::unified(
            &mask(&before),
            &mask(&after),
            names,
            &look,
        ))?;
        if let Some(out) = &args.xml_out {
            let out = out.display();
            output::print(&format!("\n{out} is written. Next: virsh define {out}"))?;
        }
    }
    Ok(code)
}

/// The host, with its 15-minute use where it is this machine and the store may be written.
fn read_host(global: &GlobalArgs, args: &PlanArgs) -> Result<NamedHost> {
    let mut named = host_source::read(args.host.as_deref(), false)?;
    super::host::add_usage(global, &mut named)?;
    Ok(named)
}

fn plan_on(
    global: &GlobalArgs,
    host: &NamedHost,
    guest: Option<(&GuestConfig, GuestRef)>,
    request: &Request,
) -> Result<Plan> {
    let pools = Config::load(global)?.pools(&host.host.topology);
    Ok(plan_size(&host.id, &host.host, &pools, guest, fresh_ids(), request)?)
}

fn finish(
    global: &GlobalArgs,
    args: &PlanArgs,
    plan: &Plan,
    host: &Host,
    simulated: bool,
) -> Result<ExitCode> {
    let json = plan_to_json(plan);
    if let Some(out) = &args.out {
        private_file::write(out, &json)?;
    }
    if global.json {
        output::print(&json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let look = output::look(simulated);
    let view = PlanView { topology: Some(&host.topology), look };
    output::print(&text::plan(plan, &view))?;
    if args.explain {
        output::print(&text::reasons(plan, &look))?;
    }
    Ok(ExitCode::SUCCESS)
}
