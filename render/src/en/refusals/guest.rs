//! Refusals about the guest itself: what its definition has that vNUMA cannot live with, and a
//! topology that it has been running with.

use crate::en::labels::cpu_topology;
use crate::en::{Said, list, n_vcpus, say, vnode};
use crate::quantity::{bytes, count};
use numawise_model::Pnode;
use numawise_model::refusal::TopologyDifference as D;

const FIX: &str = "let numawise change it: --fix-guest (the diff shows the change first)";
const KEEP_OFF: &str = "or bind the guest without vNUMA: --no-vnuma";

pub fn no_vcpus() -> Said {
    say("a guest of 0 vCPUs cannot be placed").way("ask for at least one: --vcpus 1")
}

pub fn too_many_vcpus(wanted: u32, most: u32) -> Said {
    say(format!("{} wanted, and {most} is the most there can be", n_vcpus(wanted)))
        .way(format!("ask for at most: --vcpus {most}"))
}

pub fn vcpu_hotplug(current: u32, maximum: u32) -> Said {
    say(format!(
        "<vcpu current='{current}'>{maximum}</vcpu> lets vCPUs be added later; vNUMA needs all \
         {maximum} from the start"
    ))
    .way(FIX)
    .way(format!("or set it yourself: virsh setvcpus GUEST {maximum} --config"))
    .way(KEEP_OFF)
}

pub fn memory_hotplug(slots: u32) -> Said {
    say(format!(
        "<maxMemory slots='{slots}'> lets memory be added later; the memory of vNUMA nodes is fixed"
    ))
    .way(FIX)
    .way("or take the element out with `virsh edit GUEST`")
    .way(KEEP_OFF)
}

pub fn memory_modules(modules: u32) -> Said {
    say(format!(
        "the guest has {} plugged in; which vNUMA node that memory belongs to is not for numawise \
         to choose, so --fix-guest cannot take it out",
        count(u64::from(modules), "memory module")
    ))
    .way("detach it (virsh detach-device GUEST FILE --config) and add its size to <memory>")
    .way(KEEP_OFF)
}

pub fn balloon(model: &str) -> Said {
    say(format!(
        "<memballoon model='{model}'> can take memory from any node; vNUMA nodes must keep theirs"
    ))
    .way(FIX)
    .way("or write <memballoon model='none'/> with `virsh edit GUEST`")
    .way(KEEP_OFF)
}

pub fn placement_auto() -> Said {
    say("<vcpu placement='auto'> lets numad choose the nodes; memory cannot then be tied to vNUMA \
         nodes")
    .way(FIX)
    .way("or write placement='static' with `virsh edit GUEST`")
}

pub fn topology_frozen(differences: &[D]) -> Said {
    let said = say(
        "the guest has been running with another topology, and would see a new one: software in \
         it may have been set up or licensed for the old",
    );
    differences
        .iter()
        .fold(said, |said, d| said.fact(difference(d)))
        .way("bind so that it stays the same: as many vCPUs on as many nodes as before (--on-node)")
        .way("or accept the change: --new-topology")
}

pub fn difference(difference: &D) -> String {
    match difference {
        D::NodeCount { frozen, planned } => {
            format!("it has {}; the plan gives {planned}", count(u64::from(*frozen), "vNUMA node"))
        }
        D::Vcpus { vnode: of, frozen, planned } => {
            format!("{} has vCPUs {}; the plan gives {}", vnode(*of), list(frozen), list(planned))
        }
        D::Memory { vnode: of, frozen_bytes, planned_bytes } => format!(
            "{} has {}; the plan gives {}",
            vnode(*of),
            bytes(*frozen_bytes),
            bytes(*planned_bytes)
        ),
        D::Distances { vnode: of } => {
            format!("{} has other distances than the plan gives", vnode(*of))
        }
        D::Sockets { frozen, planned } => {
            let (frozen, planned) = (cpu_topology(frozen), cpu_topology(planned));
            format!("it has {frozen}; the plan gives {planned}")
        }
    }
}

pub fn cells_per_node(asked: u32, node: Pnode, vcpus: u32) -> Said {
    say(format!(
        "{} on node {node} are asked for, and {} bound there: one would have no vCPU",
        count(u64::from(asked), "vNUMA node"),
        if vcpus == 1 { "1 vCPU is".to_owned() } else { format!("{vcpus} vCPUs are") }
    ))
    .way(format!("ask for at most: --cells-per-node {vcpus}"))
}

pub fn max_sockets(asked: u32) -> Said {
    say(format!("--max-sockets {asked} leaves the guest no socket"))
        .way("ask for at least one: --max-sockets 1")
}
