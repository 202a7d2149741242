//! Preparing a host for guests: from what its files say now and what is asked, the exact changes.
//!
//! # The problem
//!
//! A guest that is bound well still shares its CPUs with the kernel's own work and everybody's
//! interrupts, and finds no hugepages on its node, until the host is told. There are a dozen files
//! for that, some of the running kernel and some that are read at boot; each kernel has others of
//! them, and an operator wants to see what is written where, and to get it back as it was.
//!
//! # Approach
//!
//! A setting is a path and a text. A request is turned into what each path should say; whatever
//! says it already is left out; what an earlier tuning set and this request does not name goes back
//! to what it was before. What is left are the changes. So the request describes the whole, undo
//! is the same with nothing asked, and a plan that is made twice of one state is the same plan.
//!
//! # Terms
//!
//! - *Host's CPUs*: those online that are not the guests'.
//! - *Entry*: a path that an earlier tuning set and that still counts, with what it said before.
//! - *Now* and *boot*: kernel files, and files that are read when the host starts (`tmpfiles.d`,
//!   `sysctl.d`, drop-ins of systemd). Either can be asked for alone.
//!
//! # Algorithm
//!
//! `pools` sets hugepages, `isolation` the guests' cgroup or systemd's slices, `kernel` the rest;
//! each puts wishes into a draft and lines into the boot files (`boot`). [`order`] then
//! puts the changes into an order in which a partition never has CPUs that it was not given, and
//! memory is given back before it is taken.
//!
//! # Properties
//!
//! Tested in `tests/it/tuning.rs` over requests made at random.
//!
//! 1. *Idempotent*: a plan made after its own changes were written is empty.
//! 2. *Reversible*: with the entries of that and nothing asked, the plan leads back to the start.
//! 3. *Nobody is left without a CPU*: guests' and host's CPUs are two parts of what is online, and
//!    neither is empty where they are kept apart.
//! 4. *A pool never exceeds its node*: the sum of all pools of a node fits into its memory, or the
//!    request is refused.
//!
//! # Limits
//!
//! Interrupts that are up already stay where they are. Nothing is moved out of the guests' CPUs that
//! is bound there by somebody else. Kernel arguments are told, not written: boot loaders are many.

mod boot;
mod isolation;
mod kernel;
mod order;
mod pools;
mod value;

pub use order::ordered;
pub use value::same_value;

use numawise_model::{
    ChangeKind, CpuSet, Expectation, Host, HostId, HostSettings, PathState, PlanId, Setting,
    Topology, TuningChange, TuningEntry, TuningFinding, TuningPlan, TuningReason, TuningRefusal,
    TuningRequest,
};
use std::collections::BTreeMap;

/// Folders whose files set kernel values at boot, besides `/etc/sysctl.conf`.
pub const SYSCTL_FOLDERS: [&str; 3] = ["/etc/sysctl.d", "/run/sysctl.d", "/usr/lib/sysctl.d"];

/// Everything that a tuning is planned from.
#[derive(Clone, Debug)]
pub struct TuningInputs<'a> {
    pub id: PlanId,
    pub host_id: &'a HostId,
    pub host: &'a Host,
    pub settings: &'a HostSettings,
    pub request: &'a TuningRequest,
    pub in_force: &'a [TuningEntry],
}

/// The paths whose state a plan depends on.
pub fn tuning_paths(
    topology: &Topology,
    request: &TuningRequest,
    in_force: &[TuningEntry],
) -> Vec<String> {
    let mut paths = pools::paths(topology);
    paths.extend(kernel::paths());
    paths.extend(isolation::paths(request));
    paths.extend(boot::paths());
    paths.extend(in_force.iter().map(|entry| entry.path.clone()));
    paths.sort();
    paths.dedup();
    paths
}

/// Plans, or gives every reason why not.
pub fn plan_tuning(inputs: &TuningInputs<'_>) -> Result<TuningPlan, Vec<TuningRefusal>> {
    let mut draft = Draft::new(inputs);
    draft.check_cpus();
    pools::wish(&mut draft);
    kernel::wish(&mut draft);
    isolation::wish(&mut draft);
    boot::wish(&mut draft);
    draft.take_back();
    if !draft.refusals.is_empty() {
        return Err(draft.refusals);
    }
    Ok(TuningPlan {
        id: inputs.id.clone(),
        host: inputs.host_id.clone(),
        request: inputs.request.clone(),
        changes: ordered(draft.changes()),
        expects: draft.expects,
        findings: draft.findings,
    })
}

struct Wish {
    kind: ChangeKind,
    /// Where what is there now is no file yet, but will be one with this text.
    before: Option<PathState>,
    after: PathState,
    why: TuningReason,
}

/// A plan while it is made.
struct Draft<'a> {
    inputs: &'a TuningInputs<'a>,
    host_cpus: CpuSet,
    wishes: BTreeMap<String, Wish>,
    /// For `tmpfiles.d` and `sysctl.d`, in order.
    tmpfiles: Vec<String>,
    sysctls: Vec<(&'static str, &'static str)>,
    expects: Vec<Expectation>,
    findings: Vec<TuningFinding>,
    refusals: Vec<TuningRefusal>,
}

impl<'a> Draft<'a> {
    fn new(inputs: &'a TuningInputs<'a>) -> Self {
        Self {
            inputs,
            host_cpus: inputs.host.topology.online.difference(&inputs.request.guest_cpus),
            wishes: BTreeMap::new(),
            tmpfiles: Vec::new(),
            sysctls: Vec::new(),
            expects: Vec::new(),
            findings: Vec::new(),
            refusals: Vec::new(),
        }
    }

    fn request(&self) -> &'a TuningRequest {
        self.inputs.request
    }

    fn topology(&self) -> &'a Topology {
        &self.inputs.host.topology
    }

    fn settings(&self) -> &'a HostSettings {
        self.inputs.settings
    }

    fn check_cpus(&mut self) {
        let online = &self.topology().online;
        let guests = &self.request().guest_cpus;
        let unknown = guests.difference(online);
        if !unknown.is_empty() {
            let refusal = TuningRefusal::CpusUnknown { cpus: unknown, online: online.clone() };
            self.refusals.push(refusal);
        }
    }

    fn wish(&mut self, path: impl Into<String>, kind: ChangeKind, text: String, why: TuningReason) {
        let (before, after) = (None, PathState::Text(text));
        self.wishes.insert(path.into(), Wish { kind, before, after, why });
    }

    /// A value of the running kernel, when it is wanted now.
    fn wish_now(&mut self, path: &str, text: String, why: TuningReason) {
        if self.request().moment.is_now() {
            self.wish(path, ChangeKind::Runtime, text, why);
        }
    }

    /// A line `w` of `tmpfiles.d`.
    fn write_at_boot(&mut self, path: &str, text: &str) {
        if self.request().moment.is_boot() {
            self.tmpfiles.push(format!("w {path} - - - - {text}"));
        }
    }

    /// A file for the next boot, and its folder where there is none.
    fn wish_file(&mut self, folder: &str, name: &str, text: String, why: TuningReason) {
        if *self.settings().at(folder) == PathState::Absent {
            let wish = Wish {
                kind: ChangeKind::Persistent,
                before: None,
                after: PathState::Folder,
                why: TuningReason::Folder,
            };
            self.wishes.insert(folder.to_owned(), wish);
        }
        self.wish(format!("{folder}/{name}"), ChangeKind::Persistent, text, why);
    }

    /// What an earlier tuning set and nobody asks for now. Values of the kernel that are not there
    /// any more went with a boot; folders that we made stay as long as something is in them.
    fn take_back(&mut self) {
        for entry in self.inputs.in_force {
            let now = self.settings().at(&entry.path);
            let inside = format!("{}/", entry.path);
            let gone = entry.kind == ChangeKind::Runtime && *now == PathState::Absent;
            let is_used = entry.wrote == PathState::Folder
                && self.wishes.keys().any(|path| path.starts_with(&inside));
            if gone || is_used || self.wishes.contains_key(&entry.path) {
                continue;
            }
            let wish = Wish {
                kind: entry.kind,
                before: None,
                after: entry.before.clone(),
                why: TuningReason::NoLongerAsked,
            };
            self.wishes.insert(entry.path.clone(), wish);
        }
    }

    fn changes(&mut self) -> Vec<TuningChange> {
        let settings = self.settings();
        let wishes = std::mem::take(&mut self.wishes);
        let change = |(path, wish): (String, Wish)| {
            let before = wish.before.unwrap_or_else(|| settings.at(&path).clone());
            let Wish { kind, after, why, .. } = wish;
            (!same_value(&path, &before, &after)).then_some(TuningChange {
                path,
                kind,
                before,
                after,
                why,
            })
        };
        wishes.into_iter().filter_map(change).collect()
    }
}
