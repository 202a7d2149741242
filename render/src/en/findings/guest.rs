//! Findings about a guest: what should be, and what was seen.

use crate::en::{Said, are, list, owner, pcpus, say, seen_set, vnode};
use crate::quantity::{count, pages};
use numawise_model::{CpuSet, NodeSet, Owner, PageSize, Pnode, Sight, Vcpu, Vnode};

const APPLY_AGAIN: &str = "apply the plan again, or keep what is there with a new `numawise bind`";
const MOVE_BACK: &str =
    "restart the guest to get its pins back, or set the affinity with `virsh vcpupin --live`";

pub fn stored_pin(vcpu: Vcpu, expected: &CpuSet, seen: Option<&CpuSet>) -> Said {
    let (want, got) = (list(expected), seen_set(seen));
    say(format!("vCPU {vcpu} should be pinned to {want}; its definition says {got}"))
        .way(APPLY_AGAIN)
}

pub fn stored_vnuma(what: &str, expected: &str, seen: &str) -> Said {
    say(format!("{what} should be {expected}; the definition says {seen}")).way(APPLY_AGAIN)
}

pub fn pending_restart(what: &str) -> Said {
    say(format!("{what}: the definition is right, the running guest was started from an older one"))
        .way("shut the guest down fully and start it (a reboot from inside is not enough)")
}

pub fn thread_affinity(vcpu: Vcpu, expected: &CpuSet, seen: Option<&CpuSet>) -> Said {
    let (want, got) = (list(expected), seen_set(seen));
    say(format!("vCPU {vcpu} should run on {want}; its thread may run on {got}")).way(MOVE_BACK)
}

pub fn emulator(expected: &CpuSet, seen: Option<&CpuSet>) -> Said {
    let (want, got) = (list(expected), seen_set(seen));
    say(format!("the emulator should run on {want}; it may run on {got}"))
        .way("restart the guest, or set the affinity with `virsh emulatorpin --live`")
}

pub fn iothread(iothread: u32, expected: &CpuSet, seen: Option<&CpuSet>) -> Said {
    let (want, got) = (list(expected), seen_set(seen));
    say(format!("I/O thread {iothread} should run on {want}; it may run on {got}"))
        .way("restart the guest, or set the affinity with `virsh iothreadpin --live`")
}

pub fn memory_elsewhere(
    expected: Pnode,
    seen: Pnode,
    size: PageSize,
    elsewhere: u64,
    of: u64,
) -> Said {
    say(format!(
        "{} of {of} pages that should be on node {expected} are on node {seen}",
        pages(elsewhere, size)
    ))
    .way("restart the guest, or move the pages with `migratepages PID FROM TO`")
}

pub fn sees_other_nodes(expected: u32, seen: u32) -> Said {
    let want = count(u64::from(expected), "NUMA node");
    say(format!("the guest should see {want}; it sees {seen}"))
        .way("shut the guest down fully and start it")
}

pub fn undefined() -> Said {
    say("the guest is no longer defined, and numawise still holds CPUs and memory for it")
        .way("`numawise unbind GUEST` gives them back")
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

pub fn memory_stays_behind(of: Vnode, memory_nodes: &NodeSet, cpu_node: Pnode) -> Said {
    say(format!(
        "the vCPUs of {} move to node {cpu_node} at once; its memory stays on node {memory_nodes} \
         until the next boot",
        vnode(of)
    ))
    .way("shut the guest down fully and start it to bring both together")
}
