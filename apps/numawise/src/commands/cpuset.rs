//! `numawise cpuset TEXT`: what a CPU set text means.

use crate::config::GlobalArgs;
use crate::failure::{USAGE, coded};
use crate::{host_source, output};
use anyhow::Result;
use clap::Args;
use numawise_model::{
    CpuSet, Finding, FindingKind, ListError, MAX_ID, Pcpu, Rule, Severity, parse_mask, parse_rule,
};
use numawise_render::text;
use std::process::ExitCode;

/// Prints the set as a normalised list. `-` is a range, `^` excludes; the set is all that is
/// included minus all that is excluded, in whatever order it is written.
#[derive(Args)]
pub struct CpusetArgs {
    /// Like '1-7,^2,^3,^4,10'.
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// Read the text as a kernel mask: hexadecimal words of 32 bits, like ff,00000001.
    #[arg(long)]
    mask: bool,
    /// The set may only name vCPUs of a guest with this many.
    #[arg(long, value_name = "N", conflicts_with = "host")]
    vcpus: Option<u32>,
    #[arg(long, value_name = "H", help = format!("The set may only name CPUs that are online here. {}", host_source::HELP))]
    host: Option<String>,
}

pub fn run(global: &GlobalArgs, args: &CpusetArgs) -> Result<ExitCode> {
    let rule = parse(args).map_err(|error| {
        let drawn =
            text::list_error(&error.text, error.at, &error.kind.to_string(), &output::look(false));
        coded(USAGE, format!("this is no CPU set:\n{}", drawn.trim_end()))
    })?;
    check_range(args, &rule.set)?;
    if !rule.excluded_before_included.is_empty() {
        let cpus = rule.excluded_before_included.to_string();
        let kind = FindingKind::RuleOrder { rule: args.text.clone(), cpus };
        output::remark(&text::findings(
            &[Finding::plan(Severity::Warning, kind)],
            &output::look(false),
        ));
    }
    if global.json {
        output::print(&numawise_documents::report::cpuset_to_json(&rule))?;
    } else {
        output::print(&format!("{}\n", rule.set))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn parse(args: &CpusetArgs) -> Result<Rule<Pcpu>, ListError> {
    if args.mask {
        let set = parse_mask(&args.text)?;
        return Ok(Rule { set, excluded_before_included: CpuSet::new() });
    }
    parse_rule(&args.text)
}

fn check_range(args: &CpusetArgs, set: &CpuSet) -> Result<()> {
    if let Some(vcpus) = args.vcpus {
        if vcpus == 0 || vcpus > MAX_ID + 1 {
            let text = format!("--vcpus {vcpus}: a guest has 1 to {} vCPUs", MAX_ID + 1);
            return Err(coded(USAGE, text));
        }
        let outside = set.difference(&CpuSet::range(0, vcpus - 1));
        if !outside.is_empty() {
            let last = vcpus - 1;
            let text = format!("a guest with {vcpus} vCPUs has 0-{last}; outside: {outside}");
            return Err(coded(USAGE, text));
        }
    }
    if let Some(wanted) = &args.host {
        let wanted = (wanted != "live").then_some(wanted.as_str());
        let online = host_source::read(wanted, false)?.host.topology.online;
        let outside = set.difference(&online);
        if !outside.is_empty() {
            let text = format!("the host has {online} online; outside: {outside}");
            return Err(coded(USAGE, text));
        }
    }
    Ok(())
}
