//! Findings about a guest: what should be, and what was seen.

use crate::en::{Said, are, list, nodes, owner, pcpus, say, seen_set, vnode};
use crate::quantity::{bytes, count, pages};
use numawise_model::{
    CpuSet, MemoryMode, NodeSet, Owner, PageSize, Pnode, Sight, Vcpu, VcpuSet, Vnode,
};

const APPLY_AGAIN: &str = "write the plan in force again: `numawise apply GUEST --live`";
const KEEP: &str = "or keep what is there with a new `numawise bind`";
const MOVE_BACK: &str = "move the threads back: `numawise apply GUEST --live`";
const RESTART: &str = "or shut the guest down fully and start it";

pub fn stored_pin(vcpu: Vcpu, expected: &CpuSet, seen: Option<&CpuSet>) -> Said {
    let (want, got) = (list(expected), seen_set(seen));
    say(format!("vCPU {vcpu} should be pinned to {want}; its definition says {got}"))
        .way(APPLY_AGAIN)
        .way(KEEP)
}

pub fn stored_vnuma(what: &str, expected: &str, seen: &str) -> Said {
    say(format!("{what} should be {expected}; the definition says {seen}"))
        .way(APPLY_AGAIN)
        .way(KEEP)
}

pub fn pending_restart(what: &str) -> Said {
    say(format!("{what}: the definition is right, the running guest was started from an older one"))
        .way("shut the guest down fully and start it (a reboot from inside is not enough)")
}

pub fn thread_affinity(
    vcpu: Vcpu,
    expected: &CpuSet,
    seen: Option<&CpuSet>,
    simulated: bool,
) -> Said {
    let (want, got) = (list(expected), seen_set(seen));
    let by_hand = match simulated {
        true => format!("or `numawise embedded repin GUEST --vcpu {vcpu} --cpus {want}`"),
        false => format!("or by hand: `virsh vcpupin GUEST {vcpu} {want} --live`"),
    };
    say(format!("vCPU {vcpu} should run on {want}; its thread may run on {got}"))
        .way(MOVE_BACK)
        .way(by_hand)
}

pub fn emulator(expected: &CpuSet, seen: Option<&CpuSet>, simulated: bool) -> Said {
    let (want, got) = (list(expected), seen_set(seen));
    let by_hand = match simulated {
        true => RESTART.to_owned(),
        false => format!("or by hand: `virsh emulatorpin GUEST {want} --live`"),
    };
    say(format!("the emulator should run on {want}; it may run on {got}"))
        .way(MOVE_BACK)
        .way(by_hand)
}

pub fn iothread(iothread: u32, expected: &CpuSet, seen: Option<&CpuSet>, simulated: bool) -> Said {
    let (want, got) = (list(expected), seen_set(seen));
    let by_hand = match simulated {
        true => RESTART.to_owned(),
        false => format!("or by hand: `virsh iothreadpin GUEST {iothread} {want} --live`"),
    };
    say(format!("I/O thread {iothread} should run on {want}; it may run on {got}"))
        .way(MOVE_BACK)
        .way(by_hand)
}

/// Pages that are not on the node where they should be.
pub struct Elsewhere {
    pub expected: Pnode,
    pub seen: Pnode,
    pub size: PageSize,
    pub pages: u64,
}

impl Elsewhere {
    pub fn said(&self, of: u64, simulated: bool) -> Said {
        let Self { expected, seen, size, pages: elsewhere } = self;
        let by_hand = match simulated {
            true => format!("numawise embedded migrate-pages GUEST --from {seen} --to {expected}"),
            false => format!("migratepages PID {seen} {expected}"),
        };
        say(format!(
            "{} of {of} pages that should be on node {expected} are on node {seen}",
            pages(*elsewhere, *size)
        ))
        .way("shut the guest down fully and start it")
        .way(format!("or move the pages: `{by_hand}`"))
    }
}

pub fn sees_other_nodes(expected: u32, seen: u32) -> Said {
    let want = count(u64::from(expected), "NUMA node");
    say(format!("the guest should see {want}; it sees {seen}"))
        .way("shut the guest down fully and start it")
}

const FULL_STOP: &str = "shut the guest down fully and start it; where it stays, a guest kernel option \
                         (numa=off, a memory limit) or offline CPUs in the guest are the likely cause";

pub fn sees_other_vcpus(of: Vnode, expected: &VcpuSet, seen: &VcpuSet) -> Said {
    let (want, got) = (list(expected), list(seen));
    say(format!("the guest should see vCPUs {want} in {}; it sees {got}", vnode(of))).way(FULL_STOP)
}

pub fn sees_other_distances(of: Vnode, expected: &[u32], seen: &[u32]) -> Said {
    let row = |distances: &[u32]| {
        distances.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    let (want, got) = (row(expected), row(seen));
    say(format!("the guest should see distances {want} from {}; it sees {got}", vnode(of)))
        .way(FULL_STOP)
}

pub fn sees_other_memory(of: Vnode, expected_bytes: u64, seen_bytes: u64) -> Said {
    let (want, got) = (bytes(expected_bytes), bytes(seen_bytes));
    say(format!("{} was given {want} of memory; the guest sees {got}", vnode(of))).way(FULL_STOP)
}

pub fn undefined() -> Said {
    say("the guest is no longer defined, and numawise still holds CPUs and memory for it")
        .way("the next `numawise bind` on this host gives them back")
}

pub fn exclusive_cpus_shared(cpus: &CpuSet, with: &Owner) -> Said {
    let (these, are) = (pcpus(cpus), are(cpus));
    say(format!("{these} {are} this guest's alone, and used by {} too", owner(with)))
        .way("bind the other one elsewhere, or both with --shared")
}

pub fn guest_unreadable(why: &str) -> Said {
    say(format!("its definition cannot be read, so what it holds is not known: {why}"))
        .way("mend its definition (virsh edit); the other guests are looked at without it")
}

pub fn host_topology_changed() -> Said {
    say("the host's nodes, caches or cores are other ones than when the plan was made").way(
        "bind the guest anew; if nothing was changed on purpose, look at the firmware settings",
    )
}

pub fn claimed_cpus_gone(cpus: &CpuSet) -> Said {
    say(format!("{} {} held by the guest, and no longer online", pcpus(cpus), are(cpus)))
        .way("bring them online again, or bind the guest anew")
}

pub fn vnode_without_memory(of: Vnode) -> Said {
    say(format!("{} has no memory: many guest kernels do not boot with such a node", vnode(of)))
        .way("give the guest more memory, or fewer vNUMA nodes")
}

pub fn not_verified(what: Sight, why: &str) -> Said {
    let what = match what {
        Sight::Threads => "the affinity of its threads was not looked at",
        Sight::Pages => "the nodes of its pages were not looked at",
        Sight::GuestNodes => "what the guest itself sees was not looked at",
    };
    say(format!("{what}: {why}"))
}

pub fn cgroup_keeps_out(vcpu: Vcpu, expected: &CpuSet, cgroup: &CpuSet) -> Said {
    let (want, got) = (list(expected), list(cgroup));
    say(format!("vCPU {vcpu} is bound to {want}, and its cgroup lets it have {got}")).way(
        "give the CPUs back to the guests' slice: look at cpuset.cpus from the thread's cgroup up",
    )
}

pub fn memory_stays_behind(
    of: Vnode,
    mode: MemoryMode,
    memory_nodes: &NodeSet,
    cpu_node: Pnode,
) -> Said {
    let said = say(format!(
        "the vCPUs of {} of the running guest can move to node {cpu_node} at once; its memory stays \
         on {} until the next boot",
        vnode(of),
        nodes(memory_nodes)
    ));
    let said = match mode {
        MemoryMode::Restrictive => said.fact(format!(
            "restrictive memory can be moved while the guest runs, but only that of the whole guest \
             to one set of nodes (virsh numatune GUEST --nodeset {cpu_node} --live)"
        )),
        other => said.fact(format!(
            "{} memory cannot be bound anew while the guest runs",
            other.as_str()
        )),
    };
    said.way("shut the guest down fully and start it to bring both together: --restart")
}

pub fn other_l3(expected: &[VcpuSet], seen: &[VcpuSet]) -> Said {
    let sets = |sets: &[VcpuSet]| {
        let each: Vec<String> = sets.iter().map(VcpuSet::to_string).collect();
        if each.is_empty() { "none".to_owned() } else { each.join(" | ") }
    };
    say("the guest's kernel puts other vCPUs under one L3 cache than the plan shows it")
        .fact(format!("planned: {}; seen: {}", sets(expected), sets(seen)))
        .way("a CPU model of another vendor than the host's, or AMD's without topoext, shows its caches its own way: <cpu mode='host-passthrough'/>")
}
