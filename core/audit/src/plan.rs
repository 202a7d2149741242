//! A plan against the host it is for. The rules, by the names that findings carry:
//!
//! The binding (`plan/binding.rs`)
//! - `as-asked`: rules bind each vCPU to the pCPUs they name and no others; by node, each vCPU is on
//!   the node it was given; `shared` was asked for exactly when the binding is shared; unbound means
//!   that nothing is bound, claimed or shown as NUMA.
//! - `binding-complete`: every vCPU is bound to at least one pCPU, and no other vCPU is.
//! - `cpus-online`, `cpus-allowed`: on pCPUs that are online and within the cgroup's limit.
//! - `one-node`: with vNUMA, each vCPU within one pNUMA node.
//! - `in-pool`: exclusive bindings within the dedicated set, shared ones within the shared set. A
//!   choice of nodes leaves out what is reserved for the host; `smart` and written rules may take it,
//!   and it is said.
//! - exclusive CPUs have one owner: what somebody else has is not taken (`ExclusiveCpusShared`).
//! - `overcommit-asked`: if the vCPUs cannot all have a pCPU of their own, that was asked for.
//!
//! What is promised (`plan/promise.rs`)
//! - `claims-cover`: the guest's own claims hold exactly the bound pCPUs, in the binding's mode; where
//!   cores are wanted of which one thread is used, their other threads as well, and no more.
//! - `claims-memory`: with memory bound to nodes, they hold exactly its pages there.
//! - `requires-cover`: what the plan takes is tested again before it is taken: pCPUs, pages, and the
//!   frozen topology.
//!
//! The vNUMA nodes (`plan/vnuma.rs`)
//! - `vnode-ids`: 0, 1, 2, ... without gaps.
//! - `vnode-partition`: each vCPU is in exactly one vNUMA node, and none of them is empty.
//! - `vnode-home`: its vCPUs are bound on its pNUMA node.
//! - `cells-per-node`: no more vNUMA nodes on a pNUMA node than were asked for; where their number or
//!   their sizes are asked for, they may share (`CellsShareNode`), and `as-asked` holds them to it.
//! - `distances-host`: distances are the host's, complete, and nothing is invented.
//!
//! Memory (`plan/memory.rs`)
//! - `page-size-known`: the host has pages of that size.
//! - `memory-whole-pages`, `memory-sum`: whole pages that add up to what the guest has, to the byte.
//! - every vNUMA node has some (`VnodeWithoutMemory`).
//! - `memory-share`: by vCPU count, less than a page away from the exact share.
//! - `memory-node`: on the vNUMA node's own pNUMA node; only where that has no memory to give, on
//!   the nearest that has.
//! - `memory-allowed`: on nodes within the cgroup's limit.
//! - `memory-available`: no more than a node has, less what is promised to others.
//!
//! What the guest sees (`plan/guest_topology.rs`)
//! - `topology-product`: sockets x dies x clusters x cores x threads is the number of vCPUs.
//! - `no-crossing`: no guest package or L3 crosses a vNUMA node. A cap on sockets or a topology that
//!   is frozen may force it; then it is a warning (`MaxSocketsCrossesNodes`).
//! - `max-sockets`: the cap is kept.
//! - `threads-siblings`: threads of a guest core are siblings on the host.
//! - `frozen`: what the guest has been running with stays, unless a new topology was asked for.
//!
//! Around it (`plan/surroundings.rs`)
//! - `helpers-online`: emulator and I/O threads on pCPUs that are online, allowed and nobody else's;
//!   with hugepages the emulator may run on every node that memory is bound to
//!   (`EmulatorLacksMemoryNode`).
//! - `iothreads-known`: pins are for I/O threads that the guest has.
//! - `guest-size`: the plan is for the vCPUs and the memory that the guest has.
//! - `guest-fit`: what stands against vNUMA (a balloon, hot-plug, automatic placement) is not there,
//!   or the plan takes it out.
//!
//! What changes (`plan/changes.rs`)
//! - `change-effect`: where threads may run is changed live, all else at the next boot: that is the
//!   guest's ABI, or memory that QEMU takes when it starts. Each part is named once.
//!
//! While a plan is made, [`judge_changes`] also asks whether all that it writes otherwise than the
//! definition has it is among the changes (`changes-cover`).
//!
//! Remarks are given only where the plan does not carry them itself: over-commit, shared, isolated
//! and reserved CPUs, siblings of somebody else's CPUs, memory that could not be checked, several
//! vNUMA nodes on a pNUMA node, a guest L3 that is not the host's.

mod binding;
mod changes;
mod guest_topology;
mod matching;
mod memory;
mod memory_only;
mod promise;
mod surroundings;
mod vnuma;

pub use changes::judge_changes;

use numawise_model::{
    CpuPools, Finding, FindingKind, FrozenTopology, GuestConfig, Host, Ledger, MAX_ID, MemoryMode,
    Plan, Policy, Severity, VirtualTopology,
};

/// Every rule that the plan breaks, and every remark that it should carry and does not. `others` is
/// what everybody else holds.
pub fn judge_plan(
    host: &Host,
    others: &Ledger,
    pools: &CpuPools,
    guest: Option<&GuestConfig>,
    frozen: Option<&FrozenTopology>,
    plan: &Plan,
) -> Vec<Finding> {
    let others = match &plan.guest {
        Some(guest) => others.without_guest(&guest.uuid),
        None => others.clone(),
    };
    let mut case = Case { host, others: &others, pools, guest, frozen, plan, findings: Vec::new() };
    if plan.request.vcpus > MAX_ID + 1 {
        let detail = format!("{} vCPUs, and {} are the most", plan.request.vcpus, MAX_ID + 1);
        case.broken("guest-size", detail);
        return case.findings;
    }
    case.effects();
    if plan.request.policy == Policy::Unbound {
        case.unbound_means_unbound();
        return case.findings;
    }
    case.judge_binding();
    case.judge_promises();
    case.judge_surroundings();
    match (&plan.vnuma, plan.request.vnuma) {
        (Some(topology), true) => {
            case.judge_vnodes(topology);
            case.judge_memory(topology);
            case.judge_guest_topology(topology);
        }
        (None, false) => {}
        (Some(_), false) => case.broken("as-asked", "vNUMA is on, and was to be off".to_owned()),
        (None, true) => case.broken("as-asked", "vNUMA is off, and was to be on".to_owned()),
    }
    case.findings
}

/// One plan with everything it is held against.
struct Case<'a> {
    host: &'a Host,
    others: &'a Ledger,
    pools: &'a CpuPools,
    guest: Option<&'a GuestConfig>,
    frozen: Option<&'a FrozenTopology>,
    plan: &'a Plan,
    findings: Vec<Finding>,
}

impl Case<'_> {
    fn broken(&mut self, rule: &'static str, detail: String) {
        self.error(FindingKind::PlanBreaksRule { rule, detail });
    }

    fn error(&mut self, kind: FindingKind) {
        self.findings.push(Finding::plan(Severity::Error, kind));
    }

    /// Not repeated when the plan carries the same kind of remark.
    fn remark(&mut self, severity: Severity, kind: FindingKind) {
        let same =
            |known: &Finding| std::mem::discriminant(&known.kind) == std::mem::discriminant(&kind);
        if !self.plan.findings.iter().any(same) {
            self.findings.push(Finding::plan(severity, kind));
        }
    }

    fn unbound_means_unbound(&mut self) {
        let plan = self.plan;
        let nothing =
            plan.binding.cpus.is_empty() && plan.vnuma.is_none() && plan.claims.is_empty();
        if !nothing || plan.request.vnuma {
            self.broken("as-asked", "something is bound, and nothing was to be".to_owned());
        }
    }

    /// Whether the plan gives the guest what it has been running with. Such a topology is kept as it
    /// is, whatever today's rules would have made of it.
    fn keeps_frozen(&self, topology: &VirtualTopology) -> bool {
        self.frozen.is_some_and(|f| f.cpu == topology.cpu && f.cells == topology.cells())
    }

    /// Whether memory may be on no other node than the one it is bound to.
    fn memory_is_bound(&self) -> bool {
        matches!(self.plan.request.memory_mode, MemoryMode::Strict | MemoryMode::Restrictive)
    }
}
