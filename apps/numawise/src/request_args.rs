//! What `plan` and `bind` take: how to bind, and which vNUMA to derive.

use crate::failure::{USAGE, coded};
use crate::output;
use crate::place_args::PlaceArgs;
use crate::size;
use anyhow::Result;
use clap::{Args, ValueEnum};
use numawise_model::{
    BindRule, Finding, FindingKind, GuestConfig, Id, L3Policy, MemoryMode, PageSize, Pnode, Policy,
    Request, Severity, Topology, VcpuSet, parse_rule,
};

#[derive(Args, Clone, Debug)]
pub struct RequestArgs {
    /// How vCPUs are given pCPUs [default: compact].
    #[arg(long, value_enum)]
    policy: Option<PolicyName>,
    #[command(flatten)]
    place: PlaceArgs,
    /// With --policy manual: these vCPUs on this pNUMA node, like 1:0-31 (repeat).
    #[arg(long, value_name = "NODE:VCPUS")]
    on_node: Vec<String>,
    /// By rule: these vCPUs on these pCPUs, like '0-15:32-47' or '16-20,^18:0-3' (repeat).
    #[arg(long, value_name = "VCPUS:PCPUS")]
    bind: Vec<String>,
    /// Several guests may use a pCPU: the published smart rule verbatim.
    #[arg(long)]
    shared: bool,
    /// More vCPUs than pCPUs, or several vCPUs of the guest on one pCPU.
    #[arg(long)]
    overcommit: bool,
    /// Bind only; the guest sees no NUMA.
    #[arg(long)]
    no_vnuma: bool,
    /// vNUMA nodes for each pNUMA node, to try a topology on a small machine.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    cells_per_node: u32,
    /// The most sockets the guest may have, for licences that count them.
    #[arg(long, value_name = "N")]
    max_sockets: Option<u32>,
    /// Page size of the guest's memory, like 4K, 2M or 1G [default: as the guest has it, or the
    /// host's base page].
    #[arg(long, value_name = "SIZE", value_parser = size::page_size)]
    page_size: Option<PageSize>,
    /// How memory is tied to its node.
    #[arg(long, value_enum, default_value_t = ModeName::Strict)]
    memory_mode: ModeName,
    /// The topology that the guest has been running with may change.
    #[arg(long)]
    new_topology: bool,
    /// Put the edits that vNUMA needs (no balloon, no hot-plug) into the plan.
    #[arg(long)]
    fix_guest: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum, PartialEq, Eq)]
enum PolicyName {
    /// The best place, on the fewest L3 domains.
    Compact,
    /// The best place, on as many L3 domains as the nodes have, with equal shares.
    Spread,
    /// Nodes by descending id, cores ascending, thread siblings adjacent, one to one.
    Smart,
    /// By node, with --on-node.
    Manual,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeName {
    Strict,
    Preferred,
    Restrictive,
    Interleave,
}

impl ModeName {
    fn mode(self) -> MemoryMode {
        match self {
            Self::Strict => MemoryMode::Strict,
            Self::Preferred => MemoryMode::Preferred,
            Self::Restrictive => MemoryMode::Restrictive,
            Self::Interleave => MemoryMode::Interleave,
        }
    }
}

impl RequestArgs {
    /// The request for a guest as its XML has it.
    pub fn for_guest(&self, guest: &GuestConfig, topology: &Topology, policy: Policy) -> Request {
        let own_size = guest.hugepages.as_ref().map(|pages| {
            // The element without a page is the host's default huge size; on x86 that is 2M.
            pages.first().map_or(PageSize::HUGE_2M, |page| page.size)
        });
        let default = own_size.unwrap_or_else(|| base_page(topology));
        self.request(guest.vcpus_max, guest.memory_bytes, default, policy)
    }

    pub fn request(
        &self,
        vcpus: u32,
        memory_bytes: u64,
        default_page: PageSize,
        policy: Policy,
    ) -> Request {
        Request {
            vcpus,
            memory_bytes,
            page_size: self.page_size.unwrap_or(default_page),
            policy,
            shared: self.shared,
            overcommit: self.overcommit,
            vnuma: !self.no_vnuma,
            cells_per_node: self.cells_per_node,
            max_sockets: self.max_sockets,
            memory_mode: self.memory_mode.mode(),
            new_topology: self.new_topology,
            fix_guest: self.fix_guest,
        }
    }

    /// `compact` unless something else is named.
    pub fn policy(&self) -> Result<Policy> {
        let usage = |text: &str| Err(coded(USAGE, text));
        let searches = matches!(self.policy, Some(PolicyName::Compact | PolicyName::Spread))
            || (self.policy.is_none() && self.bind.is_empty() && self.on_node.is_empty());
        if let Some(option) = self.place.given().filter(|_| !searches) {
            return usage(&format!(
                "{option} goes with --policy compact and --policy spread; the other ways to bind have \
                 rules of their own"
            ));
        }
        if let Some(text) = self.contradiction(searches) {
            return usage(text);
        }
        match (self.policy, self.bind.is_empty(), self.on_node.is_empty()) {
            (None | Some(PolicyName::Compact), true, true) => {
                Ok(Policy::Best(self.place.best(L3Policy::Compact)?))
            }
            (Some(PolicyName::Spread), true, true) => {
                Ok(Policy::Best(self.place.best(L3Policy::Spread)?))
            }
            (Some(PolicyName::Smart), true, true) => Ok(Policy::Smart),
            (Some(PolicyName::Manual) | None, true, false) => self.nodes(),
            (None, false, true) => self.rules(),
            (Some(PolicyName::Manual), true, true) => usage(
                "--policy manual needs to know where: add --on-node NODE:VCPUS, like 1:0-31 (repeat)",
            ),
            _ => usage("--policy NAME, --on-node and --bind are three ways to bind; give one"),
        }
    }

    /// Options of which one would have no effect beside the other.
    fn contradiction(&self, searches: bool) -> Option<&'static str> {
        let several_cells = self.cells_per_node > 1;
        let compact = matches!(self.policy, Some(PolicyName::Compact));
        if searches && self.shared {
            return Some("--shared has no effect on a search for free pCPUs: add --policy smart");
        }
        if searches && self.overcommit {
            return Some(
                "--overcommit has no effect on a search that gives each vCPU a pCPU of its own: add \
                 --policy smart",
            );
        }
        if compact && self.place.counts_l3() {
            return Some(
                "--policy compact is as few L3 domains as can be, and --l3 is so many: give one",
            );
        }
        if self.place.gives_cells() && several_cells {
            return Some("--cells-per-node stands against --vnodes and --split exact: give one");
        }
        if self.no_vnuma && (several_cells || self.place.counts_vnodes()) {
            return Some(
                "--no-vnuma shows no vNUMA nodes: leave out --vnodes and --cells-per-node",
            );
        }
        None
    }

    fn nodes(&self) -> Result<Policy> {
        let nodes = self.on_node.iter().map(|text| {
            let (node, vcpus) = split(text, "--on-node", "NODE:VCPUS, like 1:0-31")?;
            let node = node.trim().parse().map(Pnode).map_err(|_| {
                coded(USAGE, format!("--on-node '{text}': '{node}' is no node number"))
            })?;
            Ok((node, set("--on-node", text, vcpus)?))
        });
        Ok(Policy::OnNode(nodes.collect::<Result<_>>()?))
    }

    fn rules(&self) -> Result<Policy> {
        let rules = self.bind.iter().map(|text| {
            let (vcpus, pcpus) = split(text, "--bind", "VCPUS:PCPUS, like 0-15:32-47")?;
            let vcpus: VcpuSet = set("--bind", text, vcpus)?;
            Ok(BindRule { vcpus, pcpus: set("--bind", text, pcpus)? })
        });
        Ok(Policy::Rules(rules.collect::<Result<_>>()?))
    }
}

/// What the host's pages are without asking for more: 4 KiB on x86, up to 64 KiB elsewhere. A
/// source that does not say is taken for x86.
pub fn base_page(topology: &Topology) -> PageSize {
    topology.page_sizes.first().copied().unwrap_or(PageSize::BASE_4K)
}

fn split<'t>(text: &'t str, flag: &str, wanted: &str) -> Result<(&'t str, &'t str)> {
    match text.split_once(':') {
        Some((left, right)) if !right.contains(':') => Ok((left, right)),
        _ => Err(coded(USAGE, format!("{flag} '{text}': {wanted}, is wanted"))),
    }
}

/// One side of a rule; the remark on exclusions that libvirt would read otherwise goes out at once.
fn set<I: Id>(flag: &str, whole: &str, text: &str) -> Result<numawise_model::IdSet<I>> {
    let rule = parse_rule(text).map_err(|error| {
        let drawn = numawise_render::text::list_error(
            &error.text,
            error.at,
            &error.kind.to_string(),
            &output::look(false),
        );
        coded(USAGE, format!("{flag} '{whole}':\n{}", drawn.trim_end()))
    })?;
    if !rule.excluded_before_included.is_empty() {
        let kind = FindingKind::RuleOrder {
            rule: text.to_owned(),
            cpus: rule.excluded_before_included.to_string(),
        };
        let finding = Finding::plan(Severity::Warning, kind);
        output::remark(&numawise_render::text::findings(&[finding], &output::look(false)));
    }
    Ok(rule.set)
}
