//! Can every vCPU have a pCPU of its own? A matching by augmenting paths; where there is none, the
//! vCPUs and pCPUs that prove it: more of the former than of the latter, and no way out.

use numawise_model::{CpuSet, Pcpu, Vcpu, VcpuSet};
use std::collections::BTreeMap;

/// The smallest such proof that was met first: vCPUs with nowhere to go but `cpus`.
pub struct TooFew {
    pub vcpus: VcpuSet,
    pub cpus: CpuSet,
}

/// `None` when every vCPU can have a pCPU of its own; otherwise everything that is short.
pub fn too_few(binding: &BTreeMap<Vcpu, CpuSet>) -> Option<TooFew> {
    let mut owner: BTreeMap<Pcpu, Vcpu> = BTreeMap::new();
    let mut short = TooFew { vcpus: VcpuSet::new(), cpus: CpuSet::new() };
    // A vCPU that is bound to nothing is another matter.
    for (vcpu, _) in binding.iter().filter(|(_, cpus)| !cpus.is_empty()) {
        let mut seen = CpuSet::new();
        if !augment(*vcpu, binding, &mut owner, &mut seen) {
            short.vcpus.insert(*vcpu);
            short.vcpus.extend(&seen.iter().filter_map(|cpu| owner.get(&cpu).copied()).collect());
            short.cpus.extend(&seen);
        }
    }
    (!short.vcpus.is_empty()).then_some(short)
}

/// Finds a pCPU for `start`, moving others to another one of theirs where that frees it. Keeps its
/// own stack: a chain can be as long as there are vCPUs.
fn augment(
    start: Vcpu,
    binding: &BTreeMap<Vcpu, CpuSet>,
    owner: &mut BTreeMap<Pcpu, Vcpu>,
    seen: &mut CpuSet,
) -> bool {
    let mut came_from: BTreeMap<Pcpu, Vcpu> = BTreeMap::new();
    let mut open = vec![start];
    while let Some(vcpu) = open.pop() {
        let Some(cpus) = binding.get(&vcpu) else { continue };
        for cpu in cpus.difference(seen).iter() {
            seen.insert(cpu);
            came_from.insert(cpu, vcpu);
            match owner.get(&cpu) {
                Some(holder) => open.push(*holder),
                None => {
                    hand_over(cpu, &came_from, owner);
                    return true;
                }
            }
        }
    }
    false
}

/// Gives `free` to whoever reached it, that one's old pCPU to whoever reached that, and so on.
fn hand_over(free: Pcpu, came_from: &BTreeMap<Pcpu, Vcpu>, owner: &mut BTreeMap<Pcpu, Vcpu>) {
    let mut cpu = free;
    while let Some(vcpu) = came_from.get(&cpu).copied() {
        let old = owner.iter().find(|(_, holder)| **holder == vcpu).map(|(cpu, _)| *cpu);
        owner.insert(cpu, vcpu);
        match old {
            Some(old) => cpu = old,
            None => break,
        }
    }
}
