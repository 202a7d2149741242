//! What the guest itself sees of its nodes, against the virtual topology that it was given.

use numawise_model::guest::{CacheLevel, GuestCell};
use numawise_model::{FindingKind, VcpuSet, VirtualTopology, VnumaNode};

/// vCPUs and distances must be the same; memory may be somewhat less. With another number of nodes
/// nothing is compared node by node.
pub fn differences(topology: &VirtualTopology, seen: &[GuestCell]) -> Vec<FindingKind> {
    let (expected, count) = (topology.nodes.len() as u32, seen.len() as u32);
    if expected != count {
        return vec![FindingKind::GuestSeesOtherNodes { expected, seen: count }];
    }
    topology.nodes.iter().flat_map(|node| of_node(node, seen)).collect()
}

fn of_node(node: &VnumaNode, cells: &[GuestCell]) -> Vec<FindingKind> {
    let vnode = node.id;
    let seen = cells.iter().find(|cell| cell.id == vnode);
    let vcpus = seen.map(|cell| cell.vcpus.clone()).unwrap_or_default();
    let mut found = Vec::new();
    if vcpus != node.vcpus {
        let (expected, seen) = (node.vcpus.clone(), vcpus);
        found.push(FindingKind::GuestNodeVcpus { vnode, expected, seen });
    }
    // As many nodes, but none with this id: there is no more to say of it.
    let Some(cell) = seen else { return found };
    // A plan for a host that tells no distances leaves them to the hypervisor.
    if node.distances.iter().any(|(to, distance)| cell.distances.get(to) != Some(distance)) {
        let expected = node.distances.values().copied().collect();
        let seen = cell.distances.values().copied().collect();
        found.push(FindingKind::GuestNodeDistances { vnode, expected, seen });
    }
    let (expected_bytes, seen_bytes) = (node.memory_bytes, cell.memory_bytes);
    if seen_bytes > expected_bytes || seen_bytes < least_bytes(expected_bytes) {
        found.push(FindingKind::GuestNodeMemory { vnode, expected_bytes, seen_bytes });
    }
    found
}

/// Which vCPUs share an L3, where the plan says it and the guest's kernel shows any.
pub fn l3_difference(topology: &VirtualTopology, seen: &[VcpuSet]) -> Option<FindingKind> {
    let cpu = &topology.cpu;
    if !topology.emulate_l3 && topology.l3_level.is_none() {
        return None;
    }
    let each = topology.l3_level.unwrap_or(CacheLevel::Die).vcpus(cpu).max(1);
    let vcpus = cpu.vcpus()?;
    let firsts = (0..vcpus).step_by(each as usize);
    let expected: Vec<VcpuSet> =
        firsts.map(|first| VcpuSet::range(first, (first + each).min(vcpus) - 1)).collect();
    let mut seen = seen.to_vec();
    seen.sort_by_key(VcpuSet::first);
    (seen != expected).then_some(FindingKind::GuestSeesOtherL3 { expected, seen })
}

/// The least that a guest kernel may show of a node's memory. It takes 64 bytes of each page of 4 KiB
/// (a 64th) for its own tables, and on some node its code, its start file system, firmware holes and
/// what is set aside for a crash kernel: half a GiB in large guests. A node of 312 MiB was seen with
/// 307, one of 200 MiB with the kernel on it with 163. So a 32nd and 512 MiB may be missing.
fn least_bytes(bytes: u64) -> u64 {
    (bytes - bytes / 32).saturating_sub(512 << 20)
}
