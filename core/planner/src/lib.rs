//! Placement of one guest on one host: a pure function from what is there and what is asked to a
//! plan, or to every reason why there is none.
//!
//! # The problem
//!
//! A guest wants `n` vCPUs and some memory on a machine where a CPU reaches some of the memory
//! faster than the rest, and shares caches and cores with some of the other CPUs. Two things are
//! to be found. The **binding** says for each vCPU on which pCPUs it may run. The **virtual
//! topology** tells the guest's kernel what that binding makes true (which vCPUs are near which
//! memory), so that the guest can do for its processes what we do for the guest. A binding
//! without a virtual topology leaves the guest blind; a virtual topology without a binding lies to
//! it as soon as a thread moves. So the second is always derived from the first.
//!
//! # Approach
//!
//! Two kinds of policies. `smart` and `manual` are rules that people know by name and expect to the
//! letter: the one fills nodes in a fixed order, the other does what it is told. `compact` and
//! `spread` look for the best place by ordered preferences, exactly where that is cheap and bounded
//! where it is not: [`fit`] has the problem and its solution. All the rest (what may be given at
//! all, what the guest is shown) is the same for both kinds. [`fleet`] places on many hosts.
//!
//! The planner decides everything and records why; who carries a plan out decides nothing.
//! It never stops at the first thing that is wrong: a request that breaks three rules comes back
//! with three refusals. Nothing here is random, looks at a clock, or depends on the order of the
//! input's maps; ids for the plan and its claims are passed in.
//!
//! # Terms
//!
//! - *Free*: online, allowed by the cgroup, in a node, inside the operator's pool when there is
//!   one, and not held by another owner in a way that stands against the mode asked for. What the
//!   guest itself holds today counts as free: it is given back when the plan is applied.
//! - *Mode*: exclusive (nobody else runs there) or shared (the published rule verbatim). A pCPU
//!   that another guest has exclusively is never given, in either mode; one that others share is
//!   given in shared mode only.
//! - *Reserved*: kept for the host. `smart` may take such a pCPU (the published rule knows no
//!   reservation), rules may name it; both leave a finding. Naming a node leaves it out.
//! - *Over-commit*: more vCPUs of this guest than pCPUs for them. Only when asked.
//! - *Cell*: a vNUMA node while it is being made.
//!
//! # Algorithm
//!
//! Each step is a file that begins with its own rules.
//!
//! 1. `fitness`: a guest that grows or gives back memory at run time cannot have vNUMA.
//! 2. `availability`: what is free on each node, and why the rest is not.
//! 3. `binding`: vCPUs to pCPUs by `binding::best`, `binding::smart`, `binding::manual` or
//!    `binding::rules`; then `binding::overcommit` tells whether every vCPU can have a pCPU of
//!    its own.
//! 4. `vnuma`: vCPUs bound to one pNUMA node form a cell; cells are numbered by their first
//!    vCPU; distances are the host's.
//! 5. `memory`: whole pages by vCPU count, checked against what is free and what is promised.
//! 6. `guest_cpu`: sockets, dies and threads, such that no package, cache or core that the guest
//!    is shown crosses a boundary that the host has.
//! 7. `emulator`: CPUs for the threads of the hypervisor itself.
//! 8. `frozen`: what a guest has been seen running with is not changed silently.
//!
//! Preparing the host itself is a plan of its own kind: [`tuning`].
//!
//! # Properties
//!
//! Each is tested in `tests/it/properties.rs` over hosts, ledgers and requests made at random,
//! judged by code that shares nothing with this crate.
//!
//! 1. *No exclusive pCPU is given twice*: no pCPU of a plan is exclusively another owner's; no
//!    pCPU of an exclusive plan is anybody else's.
//! 2. *Every vCPU is bound*, and under vNUMA within one pNUMA node.
//! 3. *`smart` refuses if and only if the free pCPUs are fewer than the vCPUs* (or there is none
//!    at all, when over-commit was asked for).
//! 4. *Memory sums exactly*, in whole pages, and no vNUMA node is empty.
//! 5. *Memory follows the vCPUs*: no node is more than a page away from its exact share, but where
//!    a page had to be found for a node that would have had none.
//! 6. *Sockets cross no vNUMA node* unless `--max-sockets` says so, and sockets, dies, cores and
//!    threads multiply to the number of vCPUs.
//! 7. *The same input gives the same plan*.
//!
//! # Limits
//!
//! Nodes that hold only memory (CXL, HBM, GPU) are used only when they are asked for (`memory_only`).
//! Memory is never moved from the node of its vCPUs to a roomier one: that is refused instead, for a
//! silent remote node is what vNUMA is meant to end.

mod availability;
mod binding;
mod changes;
mod emulator;
mod explain;
pub mod fit;
mod fitness;
pub mod fleet;
mod frozen;
mod guest_cpu;
mod memory;
mod memory_only;
mod nearest;
mod reserved;
mod situation;
pub mod tuning;
mod vnuma;

pub use memory::{PagesLeft, pages_left, share_pages};
pub use reserved::default_reserved;

use binding::Bound;
use numawise_model::guest::SmpCacheAbility;
use numawise_model::plan::HeldPages;
use numawise_model::{
    Binding, Claim, ClaimId, CpuPools, CpuSet, Finding, FindingKind, FrozenTopology, GuestConfig,
    GuestCpuTopology, GuestFix, GuestRef, HelperPlacement, Host, HostRef, Ledger, MAX_ID, Mode,
    PageCounts, Plan, PlanId, Policy, Predicate, Purpose, Reason, Refusal, Request, Severity,
    Source, VirtualTopology,
};
use situation::Situation;

/// Everything a plan is made from.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    pub host: &'a Host,
    /// Everybody's claims, the guest's own among them.
    pub ledger: &'a Ledger,
    pub pools: &'a CpuPools,
    /// Absent when only a size is planned for.
    pub guest: Option<&'a GuestConfig>,
    /// What the running guest was started with; `None` while it is off.
    pub live: Option<&'a GuestConfig>,
    /// The topology element from before vNUMA, where no frozen topology remembers it.
    pub cpu_before: Option<GuestCpuTopology>,
    pub frozen: Option<&'a FrozenTopology>,
    /// Memory that the guest holds now and gives back when it restarts.
    pub held: &'a HeldPages,
    /// Whether the guest's QEMU takes `smp-cache`; absent where it was not tried.
    pub smp_cache: Option<&'a SmpCacheAbility>,
    pub stamp: Stamp,
}

/// Names and digests that the caller makes, so that the planner needs no randomness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub plan: PlanId,
    /// For the vCPUs, for the helpers.
    pub claims: [ClaimId; 2],
    pub host: HostRef,
    pub guest: Option<GuestRef>,
    pub frozen_digest: Option<String>,
}

/// What is said along the way.
#[derive(Default)]
struct Notes {
    reasons: Vec<Reason>,
    findings: Vec<Finding>,
    refusals: Vec<Refusal>,
}

impl Notes {
    fn reason(&mut self, reason: Reason) {
        self.reasons.push(reason);
    }

    fn finding(&mut self, severity: Severity, kind: FindingKind) {
        self.findings.push(Finding::plan(severity, kind));
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.refusals.push(refusal);
    }
}

/// Plans a request, or gives every reason why it cannot be met.
///
/// `request.vcpus` and `request.memory_bytes` are the guest's own where there is a guest; the
/// caller fills them in. A different number of vCPUs is refused.
pub fn plan(inputs: &Inputs, request: &Request) -> Result<Plan, Vec<Refusal>> {
    let mut notes = Notes::default();
    if !size_is_possible(inputs, request, &mut notes) {
        return Err(notes.refusals);
    }
    if request.policy == Policy::Unbound {
        return Ok(with_changes(unbound(inputs, request), inputs));
    }
    let situation = Situation::new(inputs, request);
    let fixes = match request.vnuma {
        true => fitness::fixes(inputs.guest, request.fix_guest, &mut notes),
        false => Vec::new(),
    };
    let pages_fit = memory::page_size_fits(&situation, request, &mut notes)
        && memory_only::check(&situation, request, &mut notes);
    // Without whole pages there is no saying where they would be.
    let searching = matches!(request.policy, Policy::Best(_));
    if searching && !pages_fit {
        return Err(notes.refusals);
    }
    let placed = binding::bind(&situation, request, &mut notes)
        .and_then(|bound| place(&situation, request, bound, pages_fit, &mut notes));
    match placed {
        Some(placed) if notes.refusals.is_empty() => {
            let plan = assemble(&situation, request, placed, fixes, notes);
            Ok(with_changes(plan, inputs))
        }
        _ => Err(notes.refusals),
    }
}

/// What the plan means for the guest as it is. A plan for a size alone changes nobody.
fn with_changes(mut plan: Plan, inputs: &Inputs) -> Plan {
    if let Some(guest) = inputs.guest {
        plan.changes = changes::changes(&plan, guest, inputs.live);
    }
    if let Some(live) = inputs.live {
        let places = situation::Places::new(&inputs.host.topology);
        plan.findings.extend(changes::memory_left_behind(&plan, live, &places));
    }
    plan
}

/// What has been decided, before it is put into the document.
struct Placed {
    binding: Binding,
    vnuma: Option<VirtualTopology>,
    pages: PageCounts,
    /// Promised pages that were checked: they must still be there when the plan is claimed.
    checked: Vec<Predicate>,
    helpers: HelperPlacement,
    housekeeping: CpuSet,
    helper_mode: Mode,
    /// Claimed with the vCPUs, and left idle.
    kept_idle: CpuSet,
}

fn size_is_possible(inputs: &Inputs, request: &Request, notes: &mut Notes) -> bool {
    let most = match inputs.guest {
        Some(guest) if guest.vcpus_max != request.vcpus => Some(guest.vcpus_max),
        _ if request.vcpus > MAX_ID => Some(MAX_ID + 1),
        _ => None,
    };
    match most {
        _ if request.vcpus == 0 => notes.refuse(Refusal::NoVcpus),
        Some(most) if request.vcpus != most => {
            notes.refuse(Refusal::TooManyVcpus { wanted: request.vcpus, most });
        }
        _ => {}
    }
    notes.refusals.is_empty()
}

/// Everything that follows from the binding. `None` when a refusal left nothing to go on with.
fn place(
    situation: &Situation,
    request: &Request,
    Bound { binding, place }: Bound,
    pages_fit: bool,
    notes: &mut Notes,
) -> Option<Placed> {
    let (vnuma, promise) = if request.vnuma {
        let cells = match &place {
            Some(place) => {
                vnuma::note_cells(&place.cells, notes);
                place.cells.clone()
            }
            None => vnuma::cells(situation, &binding, request.cells_per_node, notes)?,
        };
        let cpu = guest_cpu::topology(situation, request, &binding, &cells, notes);
        if !pages_fit {
            return None;
        }
        let pages = place.as_ref().map(|place| place.pages.as_slice());
        let (homes, promise) = memory::for_cells(situation, request, &cells, pages, notes)?;
        let mut topology = vnuma::virtual_topology(situation, cells, &homes, cpu?, notes);
        let keeps = place.as_ref().is_some_and(|place| place.keeps_frozen);
        if let Some(frozen) = situation.inputs.frozen.filter(|_| keeps) {
            topology = binding::best::keep_frozen(frozen, topology);
        }
        notes.reason(explain::memory_reach(situation.topology, &topology, &homes));
        frozen::check(situation.inputs.frozen, &topology, request.new_topology, notes);
        (Some(topology), promise)
    } else {
        notes.reason(Reason::VnumaOff);
        if !pages_fit {
            return None;
        }
        (None, memory::for_binding(situation, request, &binding, notes))
    };
    notes.reason(explain::side_by_side(situation, request));
    let (kept_idle, own) = place.map(|place| (place.kept_idle, place.emulator)).unwrap_or_default();
    let helpers = emulator::place(situation, request, &binding, &promise.pages, own, notes);
    Some(Placed {
        binding,
        kept_idle,
        helper_mode: helpers.mode,
        vnuma,
        pages: promise.pages,
        checked: promise.checked,
        helpers: helpers.placement,
        housekeeping: helpers.housekeeping,
    })
}

fn assemble(
    situation: &Situation,
    request: &Request,
    placed: Placed,
    fixes: Vec<GuestFix>,
    notes: Notes,
) -> Plan {
    let inputs = situation.inputs;
    let claims = claims(situation, &placed);
    let pcpus = placed.binding.pcpus().union(&placed.kept_idle);
    let mut requires = vec![Predicate::CpusUnclaimed { cpus: pcpus, mode: placed.binding.mode }];
    if !placed.housekeeping.is_empty() {
        let cpus = placed.housekeeping.clone();
        requires.push(Predicate::CpusUnclaimed { cpus, mode: placed.helper_mode });
    }
    requires.extend(placed.checked);
    requires.push(Predicate::FrozenTopology { digest: inputs.stamp.frozen_digest.clone() });
    Plan {
        id: inputs.stamp.plan.clone(),
        host: inputs.stamp.host.clone(),
        guest: inputs.stamp.guest.clone(),
        request: request.clone(),
        binding: placed.binding,
        vnuma: placed.vnuma,
        cpu_before: frozen::cpu_before(inputs),
        helpers: placed.helpers,
        claims,
        fixes,
        changes: Vec::new(),
        requires,
        levels: inputs.host.levels.clone(),
        reasons: notes.reasons,
        findings: notes.findings,
    }
}

/// One claim for the vCPUs and their memory, one for the helpers where they have CPUs of their
/// own. A plan for a size alone has no owner, and so no claims.
fn claims(situation: &Situation, placed: &Placed) -> Vec<Claim> {
    let Some(owner) = situation.owner.clone() else { return Vec::new() };
    let [for_vcpus, for_helpers] = situation.inputs.stamp.claims.clone();
    let mut claims = vec![Claim {
        id: for_vcpus,
        owner: owner.clone(),
        cpus: placed.binding.pcpus().union(&placed.kept_idle),
        mode: placed.binding.mode,
        purpose: Purpose::Vcpus,
        pages: placed.pages.clone(),
        source: Source::Numawise,
    }];
    if !placed.housekeeping.is_empty() {
        claims.push(Claim {
            id: for_helpers,
            owner,
            cpus: placed.housekeeping.clone(),
            mode: placed.helper_mode,
            purpose: Purpose::Helpers,
            pages: PageCounts::new(),
            source: Source::Numawise,
        });
    }
    claims
}

/// The plan that takes a binding away: no pins, no vNUMA, no claims, and the topology element that
/// stood there before.
fn unbound(inputs: &Inputs, request: &Request) -> Plan {
    Plan {
        id: inputs.stamp.plan.clone(),
        host: inputs.stamp.host.clone(),
        guest: inputs.stamp.guest.clone(),
        request: request.clone(),
        binding: Binding { cpus: std::collections::BTreeMap::new(), mode: Mode::Shared },
        vnuma: None,
        cpu_before: frozen::cpu_before(inputs),
        helpers: HelperPlacement::default(),
        claims: Vec::new(),
        fixes: Vec::new(),
        changes: Vec::new(),
        requires: vec![Predicate::FrozenTopology { digest: inputs.stamp.frozen_digest.clone() }],
        levels: inputs.host.levels.clone(),
        reasons: vec![Reason::Unbound],
        findings: Vec::new(),
    }
}
