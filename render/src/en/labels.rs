//! The short words of pictures and tables.

mod guest;

pub use guest::*;

use super::{and, placement};
use crate::layout::{Mark, Share};
use crate::look::GuestState;
use crate::quantity::count;
use numawise_model::placement::Footprint;
use numawise_model::{
    CpuSet, DeviceKind, GuestCpuTopology, GuestFix, Id, L3Id, L3Policy, Mode, PackageId, Pcpu,
    Pnode, Policy, Request,
};

pub const SIMULATED: &str = "simulated host";
pub const UNKNOWN: &str = "unknown";
pub const FREE_MARK: &str = "free";
pub const TO_DO: &str = "to do";
pub const OR: &str = "or";
pub const REFUSED: &str = "refused";
pub const STALE: &str = "stale";
pub const REMARK: &str = "remark:";
pub const NO_FINDINGS: &str = "no findings";
pub const NO_GUESTS: &str = "no guests";
pub const NO_USAGE: &str = "no use has been sampled yet; `numawise host usage --watch` samples it, the first average \
     takes two samples";
pub const MEMORY: &str = "memory";
pub const DISTANCES: &str = "distances";
pub const DEVICES: &str = "devices";
pub const USE: &str = "use";
pub const NO_VNUMA: &str = "sees no NUMA";
pub const GUEST_SIDE: &str = "guest (vNUMA)";
pub const HOST_SIDE: &str = "host (pNUMA)";
pub const BINDING: &str = "binding";
pub const DRIFT: &str = "drift";
/// Over findings of which none is drift.
pub const NOTES: &str = "notes";
pub const LEGEND: &str = "marks";
pub const NOT_BOUND: &str = "not bound";
pub const OF_NO_NODE: &str = "in no node";

pub fn title_host(name: &str) -> String {
    if name.is_empty() { "host".to_owned() } else { format!("host {name}") }
}

pub fn title_guest(name: &str) -> String {
    if name.is_empty() { "guest (no name)".to_owned() } else { format!("guest {name}") }
}

pub fn counts(cpus: usize, cores: usize, l3: usize, nodes: usize, packages: usize) -> String {
    let parts =
        [(cpus, "CPU"), (cores, "core"), (l3, "L3 domain"), (nodes, "node"), (packages, "package")];
    let words: Vec<String> = parts.iter().map(|(n, noun)| count(*n as u64, noun)).collect();
    words.join(", ")
}

pub fn smt(widths: &[usize]) -> String {
    match widths {
        [] | [1] => "no SMT".to_owned(),
        [n] => format!("{n} threads to a core"),
        several => {
            let all: Vec<String> = several.iter().map(usize::to_string).collect();
            format!("{} threads to a core", and(&all))
        }
    }
}

pub fn package(id: Option<PackageId>) -> String {
    id.map_or_else(|| "in no package".to_owned(), |id| format!("package {id}"))
}

pub fn node<I: Id>(id: Option<I>) -> String {
    id.map_or_else(|| OF_NO_NODE.to_owned(), |id| format!("node {}", id.get()))
}

pub fn l3(id: Option<L3Id>) -> String {
    id.map_or_else(|| "no L3".to_owned(), |id| format!("L3 {id}"))
}

/// `4 CPUs`, `4 of its 8 CPUs`.
pub fn share(cpus: &CpuSet, share: Share) -> String {
    match share {
        Share::Whole => count(cpus.len() as u64, "CPU"),
        Share::PartOf(all) => format!("{} of its {}", cpus.len(), count(all as u64, "CPU")),
    }
}

pub fn l3_summary(domains: usize, sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    format!("{} of {} CPUs", count(domains as u64, "L3 domain"), sizes.join(" or "))
}

pub fn memory(total: &str, free: &str) -> String {
    format!("{MEMORY} {total}, {free} free")
}

pub fn memory_only() -> &'static str {
    "memory only, no CPUs"
}

pub fn hugepages(size: impl std::fmt::Display, free: u64, total: &str) -> String {
    format!("{size} pages: {total}, {free} free")
}

pub fn no_hugepages(size: impl std::fmt::Display) -> String {
    format!("{size} pages: none")
}

pub fn reserved_pages(n: u64) -> String {
    format!("{n} promised")
}

pub fn mean_use(percent: &str) -> String {
    format!("{USE} {percent}")
}

pub fn usage_window(seconds: i64) -> String {
    match seconds {
        s if s >= 120 => format!("{USE}: average of the last {} minutes", s / 60),
        s => format!("{USE}: average of the last {}", count(s.unsigned_abs(), "second")),
    }
}

/// The heading of the table of use.
pub fn usage_title(seconds: Option<i64>) -> String {
    seconds.map_or_else(|| format!("{USE} of each CPU"), usage_window)
}

pub const MARKS_BY_CORE: &str = "one mark per CPU, the threads of a core side by side";

pub fn usage_scale() -> &'static str {
    "one bar per CPU: ▁ up to 12 %, █ above 87 %, ? not sampled"
}

pub fn offline(cpus: &CpuSet) -> String {
    format!("offline: {cpus}")
}

pub fn isolated(cpus: &CpuSet) -> String {
    format!("isolated (isolcpus): {cpus}")
}

pub fn nohz_full(cpus: &CpuSet) -> String {
    format!("without timer tick (nohz_full): {cpus}")
}

pub fn not_allowed(cpus: &CpuSet, limited_by: Option<&str>) -> String {
    let by = limited_by.map_or_else(String::new, |file| format!(" ({file})"));
    format!("not allowed here: {cpus}{by}")
}

pub fn hypervisor(vendor: Option<&str>) -> String {
    let vendor = vendor.map_or_else(String::new, |v| format!(" ({v})"));
    format!("runs under a hypervisor{vendor}: nodes and caches are as it shows them")
}

pub fn device_kind(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Nic => "NIC",
        DeviceKind::Nvme => "NVMe",
        DeviceKind::Gpu => "GPU",
        DeviceKind::Other => "PCI",
    }
}

pub fn other_devices(n: usize) -> String {
    count(n as u64, "other PCI device")
}

pub fn devices_near(cpus: &CpuSet) -> String {
    format!("near CPUs {cpus}")
}

pub const DEVICES_UNKNOWN: &str = "whose node is unknown";

pub fn distance_group(distance: u32, pairs: &str) -> String {
    format!("{distance}: {pairs}")
}

pub fn distance_pairs(pairs: usize) -> String {
    count(pairs as u64, "pair")
}

pub const DISTANCE_HOME: &str = "a node to itself";

pub fn mark(mark: Mark) -> &'static str {
    match mark {
        Mark::Free => FREE_MARK,
        Mark::Exclusive(_) => "alone",
        Mark::Shared(_) => "shared",
        Mark::SharedBySeveral => "shared by several",
        Mark::Reserved => "reserved for the host",
        Mark::Isolated => "isolated, free",
        Mark::NotAllowed => "not allowed",
    }
}

/// The tooltip of a CPU.
pub fn cpu_tip(
    cpu: Pcpu,
    node: Option<Pnode>,
    owner: Option<&str>,
    mark: Mark,
    used: Option<String>,
) -> String {
    let owner = owner.map_or_else(String::new, |owner| format!("{owner}, "));
    let used = used.map_or_else(String::new, |used| format!(", {USE} {used}"));
    format!("pCPU {cpu}, {}: {owner}{}{used}", self::node(node), self::mark(mark))
}

pub fn owner_mark(owner: &str, mark: Mark, cpus: &CpuSet) -> String {
    format!("{owner} ({}, {cpus})", self::mark(mark))
}

pub fn guest_state(state: GuestState) -> &'static str {
    match state {
        GuestState::Running => "running",
        GuestState::Off => "shut off",
        GuestState::Planned => "planned",
    }
}

/// Of a guest with a binding.
pub fn bound(mode: Option<Mode>) -> &'static str {
    match mode {
        Some(Mode::Exclusive) => "bound to pCPUs of its own",
        Some(Mode::Shared) => "bound to shared pCPUs",
        None => "bound",
    }
}

pub fn mode(mode: Option<Mode>) -> &'static str {
    match mode {
        Some(Mode::Exclusive) => "exclusive",
        Some(Mode::Shared) => "shared",
        None => "bound",
    }
}

pub fn cpu_topology(cpu: &GuestCpuTopology) -> String {
    let GuestCpuTopology { sockets, dies, clusters, cores, threads } = *cpu;
    let mut parts = vec![count(u64::from(sockets), "socket")];
    if dies != 1 {
        parts.push(count(u64::from(dies), "die"));
    }
    if clusters != 1 {
        parts.push(count(u64::from(clusters), "cluster"));
    }
    parts.push(count(u64::from(cores), "core"));
    parts.push(count(u64::from(threads), "thread"));
    parts.join(" x ")
}

pub const COMPACT: &str = "compact";
pub const SPREAD: &str = "spread";

/// One of the two ways to use the L3 domains: `compact here: 1 node, 8 cores, ...`.
pub fn side(name: &str, taken: Option<Footprint>) -> String {
    format!("{name} here: {}", placement::footprint(taken))
}

pub fn policy(request: &Request) -> String {
    let name = match &request.policy {
        Policy::Smart => "smart",
        Policy::OnNode(_) => "by node",
        Policy::Rules(_) => "by rule",
        Policy::Unbound => "unbound",
        Policy::Best(best) if best.l3 == L3Policy::Compact => "compact",
        Policy::Best(_) => "spread",
    };
    let mut words = vec![format!("policy {name}")];
    if let Policy::Best(best) = &request.policy {
        words.extend(placement::asked(best));
    }
    if request.shared {
        words.push("--shared".to_owned());
    }
    if request.overcommit {
        words.push("--overcommit".to_owned());
    }
    words.join(" ")
}

pub fn fix(fix: GuestFix) -> &'static str {
    match fix {
        GuestFix::BalloonOff => "the memory balloon is taken out",
        GuestFix::AllVcpusAtBoot => "all vCPUs are there from the start",
        GuestFix::NoMemoryHotplug => "memory hot-plug is taken out",
        GuestFix::StaticPlacement => "automatic placement (numad) is switched off",
    }
}
