//! What a guest has been seen running with is its ABI.
//!
//! An operating system remembers how many nodes and packages it booted on: licences, thread pools
//! and device affinities hang on it. So a plan that would show the guest another topology than the
//! one it ran with is refused unless the change was asked for. Where the host's nodes are is no part
//! of it: the same topology may move to other nodes. Switching vNUMA off, or on again with the same
//! topology, is a change that the user names by doing it, and needs no further word.

use crate::{Inputs, Notes};
use numawise_model::guest::GuestCell;
use numawise_model::refusal::TopologyDifference;
use numawise_model::{FrozenTopology, GuestCpuTopology, Reason, Refusal, VirtualTopology};

/// Refuses a topology that differs from the frozen one, unless `new_topology`.
pub fn check(
    frozen: Option<&FrozenTopology>,
    planned: &VirtualTopology,
    new_topology: bool,
    notes: &mut Notes,
) {
    match frozen {
        Some(frozen) if frozen.same_for_guest(planned) => {
            notes.reason(Reason::KeepsFrozenTopology);
        }
        Some(frozen) if !new_topology => {
            let differences = differences(frozen, planned);
            notes.refuse(Refusal::TopologyFrozen { differences });
        }
        _ => {}
    }
}

fn differences(frozen: &FrozenTopology, planned: &VirtualTopology) -> Vec<TopologyDifference> {
    let cells = planned.cells();
    let mut differences = Vec::new();
    if frozen.cells.len() != cells.len() {
        let (frozen, planned) = (frozen.cells.len() as u32, cells.len() as u32);
        differences.push(TopologyDifference::NodeCount { frozen, planned });
    }
    for (before, after) in frozen.cells.iter().zip(&cells) {
        cell_differences(before, after, &mut differences);
    }
    if frozen.cpu != planned.cpu {
        let (frozen, planned) = (frozen.cpu, planned.cpu);
        differences.push(TopologyDifference::Sockets { frozen, planned });
    }
    differences
}

fn cell_differences(before: &GuestCell, after: &GuestCell, found: &mut Vec<TopologyDifference>) {
    let vnode = after.id;
    if before.vcpus != after.vcpus {
        let (frozen, planned) = (before.vcpus.clone(), after.vcpus.clone());
        found.push(TopologyDifference::Vcpus { vnode, frozen, planned });
    }
    if before.memory_bytes != after.memory_bytes {
        let (frozen_bytes, planned_bytes) = (before.memory_bytes, after.memory_bytes);
        found.push(TopologyDifference::Memory { vnode, frozen_bytes, planned_bytes });
    }
    if before.distances != after.distances {
        found.push(TopologyDifference::Distances { vnode });
    }
}

/// The topology element to put back when vNUMA goes off. A guest that never had one of ours keeps
/// what it has.
pub fn cpu_before(inputs: &Inputs) -> Option<GuestCpuTopology> {
    match inputs.frozen {
        Some(frozen) => frozen.cpu_before,
        None => inputs.cpu_before,
    }
}
