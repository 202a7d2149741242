//! Sockets, dies, cores and threads that the guest is shown.
//!
//! libvirt takes one shape for the whole guest: every socket has as many dies, every die as many
//! cores, every core as many threads, and vCPUs are numbered through them in that order. The host's
//! nodes, caches and cores rarely are that regular once cut to a guest's size. The rule is to claim
//! only what is so everywhere, since a guest kernel schedules by what it is told:
//!
//! - **Sockets.** A package must not cross a vNUMA node (guests warn, and schedulers build wrong
//!   domains). The vCPUs of a node form one or more runs of neighbouring numbers; a socket of `s`
//!   vCPUs crosses none of them exactly when `s` divides the length of every run. The largest such
//!   `s` is their greatest common divisor: 32 + 16 gives 3 sockets of 16, 32 + 32 gives 2 of 32.
//!   `--max-sockets` takes the largest divisor of the vCPUs within it; any cap that binds crosses
//!   some node, as `s` was the largest, and the finding names which.
//! - **Dies.** QEMU gives each die an L3 cache of its own. So a die is shown where each one is
//!   exactly the vCPUs on one L3 domain of the host, and each domain is one die; with unequal
//!   domains, or a domain that several sockets share, there is one die a socket, and a finding
//!   gives both numbers.
//! - **Threads.** A guest core has several threads only where every one of them is a whole core of
//!   the host: neighbouring vCPUs, each with a pCPU of its own, on all siblings. Half a core would
//!   promise the guest a shared core that a stranger may sit on.
//!
//! - **Levels of the L3.** QEMU's `smp-cache` says at which level an L3 is shared. libvirt has no
//!   element for it, and a guest with arguments of its own for QEMU is marked as tainted; so it is
//!   used where it was asked for and this QEMU took it when tried, and only where it says what dies
//!   do not: where each vCPU core has an L3 domain of its own and the guest can do without dies,
//!   where the guest keeps a frozen topology whose dies are not its L3 domains, and on machines that
//!   know no dies (clusters, on Arm). Each level has one size in the whole guest, so shares of 3, 3
//!   and 2 cannot be told in any way: then there is a finding.
//!
//! vCPUs with several pCPUs have a die when these lie in one L3 domain, and never have threads.

use crate::Notes;
use crate::situation::{Places, Situation};
use crate::vnuma::Cell;
use numawise_model::finding::L3Untold;
use numawise_model::guest::{CacheLevel, SmpCacheAbility};
use numawise_model::request::GuestCache;
use numawise_model::{
    Binding, CpuSet, Finding, FindingKind, GuestConfig, GuestCpuTopology, L3Id, Reason, Refusal,
    Request, Severity, Vcpu, Vnode,
};
use std::collections::BTreeSet;

/// What the guest is to be shown of its CPUs.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    pub cpu: GuestCpuTopology,
    /// Whether its L3 picture is to be emulated.
    pub emulate_l3: bool,
    /// Where it is not the dies that share an L3.
    pub l3_level: Option<CacheLevel>,
}

/// `None` after a refusal.
pub fn topology(
    situation: &Situation,
    request: &Request,
    binding: &Binding,
    cells: &[Cell],
    notes: &mut Notes,
) -> Option<Shown> {
    if let Some(asked @ 0) = request.max_sockets {
        notes.refuse(Refusal::MaxSockets { asked });
        return None;
    }
    let vnodes = vnodes_by_vcpu(cells);
    let sockets = sockets(&vnodes, cells, request.max_sockets, notes);
    let in_socket = vnodes.len() as u32 / sockets;

    let domains = L3Picture::of(&situation.places, binding);
    let takes_dies = situation.inputs.guest.is_none_or(GuestConfig::takes_dies);
    let dies_wanted = takes_dies && request.guest_cache != Some(GuestCache::Off);
    let in_die = domains.vcpus_per_die(in_socket).filter(|_| dies_wanted).unwrap_or(in_socket);
    let dies = in_socket / in_die;
    let threads = threads(&situation.places, binding, in_die);
    note_threads(&situation.places, &binding.pcpus(), threads, notes);
    let cores = in_die / threads;
    let by_dies = GuestCpuTopology { sockets, dies, clusters: 1, cores, threads };
    let emulate_l3 = !domains.used.is_empty() && request.guest_cache != Some(GuestCache::Off);
    let plain = Shown { cpu: by_dies, emulate_l3, l3_level: None };
    let shown = match request.guest_cache {
        Some(GuestCache::SmpCache) => domains.by_level(situation, plain, request, notes),
        _ => plain,
    };
    if shown.l3_level.is_none() {
        domains.note(sockets, in_die, in_socket, notes);
    }
    Some(shown)
}

/// The vNUMA node of each vCPU, by vCPU number.
fn vnodes_by_vcpu(cells: &[Cell]) -> Vec<Vnode> {
    let mut by_vcpu: Vec<(Vcpu, Vnode)> = Vec::new();
    for cell in cells {
        by_vcpu.extend(cell.vcpus.iter().map(|vcpu| (vcpu, cell.id)));
    }
    by_vcpu.sort();
    by_vcpu.into_iter().map(|(_, vnode)| vnode).collect()
}

fn sockets(vnodes: &[Vnode], cells: &[Cell], max_sockets: Option<u32>, notes: &mut Notes) -> u32 {
    let vcpus = vnodes.len() as u32;
    let runs = vnodes.chunk_by(|a, b| a == b).map(|run| run.len() as u32);
    let wanted = vcpus / runs.fold(0, greatest_common_divisor);
    notes.reason(Reason::Sockets {
        sockets: wanted,
        vcpus_each: vcpus / wanted,
        vnode_sizes: cells.iter().map(|cell| cell.vcpus.len() as u32).collect(),
    });
    let Some(most) = max_sockets.filter(|most| *most < wanted) else { return wanted };
    let given = (1..=most).rev().find(|sockets| vcpus.is_multiple_of(*sockets)).unwrap_or(1);
    notes.reason(Reason::SocketsCapped { wanted, given });
    let mut crossed = BTreeSet::new();
    for socket in vnodes.chunks((vcpus / given) as usize) {
        if socket.iter().any(|vnode| *vnode != socket[0]) {
            crossed.extend(socket);
        }
    }
    for vnode in crossed.into_iter().copied() {
        let kind = FindingKind::MaxSocketsCrossesNodes { sockets: given, vnode };
        notes.finding(Severity::Warning, kind);
    }
    given
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// How the vCPUs lie on the host's L3 domains.
struct L3Picture {
    /// Neighbouring vCPUs on the same domain: the domain, where there is exactly one, and how many.
    runs: Vec<(Option<L3Id>, u32)>,
    used: BTreeSet<L3Id>,
}

impl L3Picture {
    fn of(places: &Places, binding: &Binding) -> Self {
        let mut used = BTreeSet::new();
        let mut runs: Vec<(Option<L3Id>, u32)> = Vec::new();
        for cpus in binding.cpus.values() {
            let domains: BTreeSet<Option<L3Id>> = cpus.iter().map(|cpu| places.l3(cpu)).collect();
            used.extend(domains.iter().flatten());
            let only = domains.first().copied().flatten().filter(|_| domains.len() == 1);
            match runs.last_mut() {
                Some((domain, length)) if *domain == only => *length += 1,
                _ => runs.push((only, 1)),
            }
        }
        Self { runs, used }
    }

    /// The size of a die when dies and L3 domains are the same thing.
    fn vcpus_per_die(&self, in_socket: u32) -> Option<u32> {
        let (_, size) = *self.runs.first()?;
        let domains: BTreeSet<L3Id> = self.runs.iter().filter_map(|(domain, _)| *domain).collect();
        let one_run_each = domains.len() == self.runs.len();
        let all_alike = self.runs.iter().all(|(_, length)| *length == size);
        (one_run_each && all_alike && in_socket.is_multiple_of(size)).then_some(size)
    }

    /// vCPUs on each domain, where every domain has one run of as many as the others.
    fn exact(&self) -> Option<u32> {
        let (_, size) = *self.runs.first()?;
        self.vcpus_per_die(size)
    }

    /// The picture with a level for its L3, where that says what dies do not and QEMU takes it.
    fn by_level(
        &self,
        situation: &Situation,
        plain: Shown,
        request: &Request,
        notes: &mut Notes,
    ) -> Shown {
        if self.used.is_empty() {
            return plain;
        }
        let in_socket = CacheLevel::Socket.vcpus(&plain.cpu);
        let told_by_dies = self.exact() == Some(CacheLevel::Die.vcpus(&plain.cpu));
        let takes_dies = situation.inputs.guest.is_none_or(GuestConfig::takes_dies);
        let Some(each) = self.exact() else {
            notes.finding(Severity::Warning, FindingKind::GuestL3Untold { why: self.why_not() });
            return plain;
        };
        let frozen = situation.inputs.frozen.filter(|_| !request.new_topology);
        let kept = frozen.map(|frozen| frozen.cpu).filter(|cpu| *cpu != plain.cpu);
        let level = |cpu: &GuestCpuTopology| {
            // Where two levels are the same size, the outer one is what the default is nearest to.
            let levels = CacheLevel::ALL.into_iter().rev();
            levels.into_iter().find(|level| level.vcpus(cpu) == each)
        };
        let GuestCpuTopology { sockets, threads, .. } = plain.cpu;
        let cores = in_socket / threads;
        let one_die = GuestCpuTopology { sockets, dies: 1, clusters: 1, cores, threads };
        let clusters = in_socket / each.max(1);
        let clustered = GuestCpuTopology { clusters, cores: cores / clusters.max(1), ..one_die };
        let divides = in_socket.is_multiple_of(each) && each.is_multiple_of(threads);
        let mut candidates = Vec::new();
        candidates.extend(kept.and_then(|cpu| Some((cpu, level(&cpu)?))));
        if each == threads && each < in_socket {
            candidates.push((one_die, CacheLevel::Core));
        }
        if !takes_dies && divides {
            candidates.push((clustered, CacheLevel::Cluster));
        }
        let Some((cpu, level)) = candidates.first().copied() else {
            if !told_by_dies {
                let why = L3Untold::OtherThanSockets { vcpus_each: each, in_socket };
                notes.finding(Severity::Warning, FindingKind::GuestL3Untold { why });
            }
            return plain;
        };
        // The dies of a frozen topology may be right as they are.
        if takes_dies && CacheLevel::Die.vcpus(&cpu) == each {
            return Shown { cpu, ..plain };
        }
        let why = match situation.inputs.smp_cache {
            Some(SmpCacheAbility::Yes) => {
                notes.reason(Reason::L3BySmpCache { level, vcpus_each: each });
                return Shown { cpu, l3_level: Some(level), ..plain };
            }
            Some(SmpCacheAbility::No { why }) => why.clone(),
            None => "it was planned without asking a QEMU".to_owned(),
        };
        if !told_by_dies || kept.is_some() {
            let why = L3Untold::NoSmpCache { why };
            notes.finding(Severity::Warning, FindingKind::GuestL3Untold { why });
        }
        plain
    }

    fn why_not(&self) -> L3Untold {
        let domains: BTreeSet<L3Id> = self.runs.iter().filter_map(|(domain, _)| *domain).collect();
        match domains.len() == self.runs.len() {
            true => L3Untold::Unequal { vcpus: self.runs.iter().map(|(_, run)| *run).collect() },
            false => L3Untold::Scattered,
        }
    }

    fn note(&self, sockets: u32, in_die: u32, in_socket: u32, notes: &mut Notes) {
        let dies = sockets * (in_socket / in_die);
        match self.vcpus_per_die(in_socket).filter(|each| *each == in_die) {
            Some(vcpus_each) => notes.reason(Reason::DiesAreL3Domains { dies, vcpus_each }),
            // A host that describes no L3 cache has nothing to differ from.
            None if self.used.is_empty() => {}
            // Why it is not told better is said already.
            None if notes.findings.iter().any(is_untold) => {}
            None => {
                let host_domains = self.used.len() as u32;
                let kind = FindingKind::GuestL3Differs { host_domains, guest_domains: dies };
                // Groups smaller than the host's are cautious; larger ones mislead.
                let finer = dies >= host_domains;
                let severity = if finer { Severity::Info } else { Severity::Warning };
                notes.finding(severity, kind);
            }
        }
    }
}

fn is_untold(finding: &Finding) -> bool {
    matches!(finding.kind, FindingKind::GuestL3Untold { .. })
}

/// Threads per guest core: the host's where every core is given whole, else 1.
fn threads(places: &Places, binding: &Binding, in_die: u32) -> u32 {
    let pcpus: Option<Vec<_>> =
        binding.cpus.values().map(|cpus| cpus.first().filter(|_| cpus.len() == 1)).collect();
    let Some(pcpus) = pcpus.filter(|pcpus| binding.pcpus().len() == pcpus.len()) else { return 1 };
    let Some(width) = pcpus.first().map(|cpu| places.core_threads(*cpu)) else { return 1 };
    let mut cores = BTreeSet::new();
    let whole_cores =
        pcpus.chunk_by(|a, b| places.core_start(*a) == places.core_start(*b)).all(|run| {
            let whole = places.core_threads(run[0]) == width && run.len() as u32 == width;
            whole && cores.insert(places.core_start(run[0]))
        });
    if whole_cores && in_die.is_multiple_of(width) { width } else { 1 }
}

fn note_threads(places: &Places, used: &CpuSet, threads: u32, notes: &mut Notes) {
    // vCPUs with a core each are no threads to each other: there is nothing to see.
    let mut cores = BTreeSet::new();
    let share = used.iter().any(|cpu| !cores.insert(places.core_start(cpu)));
    let host_threads = used.iter().filter(|_| share).map(|cpu| places.core_threads(cpu)).max();
    if threads > 1 {
        notes.reason(Reason::ThreadsAreSiblings { threads });
    } else if let Some(host_threads) = host_threads.filter(|host| *host > 1) {
        notes.finding(Severity::Warning, FindingKind::GuestSmtHidden { host_threads });
    }
}
