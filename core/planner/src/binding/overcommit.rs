//! Whether every vCPU can have a pCPU of its own.
//!
//! Counting is not enough. With vCPU 0 on pCPUs 0-1, vCPU 1 on pCPU 0 and vCPU 2 on pCPU 1 there is
//! no set that two vCPUs share beyond its size, and yet three vCPUs run on two pCPUs. By Hall's
//! theorem every vCPU can have its own pCPU exactly when no group of vCPUs is larger than the union
//! of its pCPUs; a maximum matching finds out, and where it fails, the vCPUs and pCPUs reached from
//! an unmatched vCPU by alternating paths are such a group.
//!
//! Sets are bit sets, so the search takes words, not pairs: rules that give thousands of vCPUs
//! thousands of pCPUs each cost no more than a pass over the sets per vCPU.

use super::Pins;
use numawise_model::{CpuSet, Pcpu, Vcpu, VcpuSet};
use std::collections::{BTreeMap, VecDeque};

/// More vCPUs than the pCPUs they may use, taken together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overload {
    pub cpus: CpuSet,
    pub vcpus: VcpuSet,
}

/// Every overloaded group; groups that have pCPUs in common are told as one. vCPUs without any
/// pCPU are another matter and left out.
pub fn overloads(pins: &Pins) -> Vec<Overload> {
    let mut matching = Matching::default();
    let mut unmatched = Vec::new();
    for (vcpu, cpus) in pins.iter().filter(|(_, cpus)| !cpus.is_empty()) {
        if !matching.add(pins, *vcpu, cpus) {
            unmatched.push(*vcpu);
        }
    }
    let mut found: Vec<Overload> = Vec::new();
    for vcpu in unmatched {
        // Whoever competes for nothing but a group's pCPUs is one more of that group.
        let reach = pins.get(&vcpu);
        let joins = |group: &&mut Overload| reach.is_some_and(|own| own.is_subset(&group.cpus));
        if let Some(group) = found.iter_mut().find(joins) {
            group.vcpus.insert(vcpu);
            continue;
        }
        let mut group = matching.reached_from(pins, vcpu);
        found.retain(|earlier| {
            let apart = earlier.cpus.is_disjoint(&group.cpus);
            if !apart {
                group.cpus.extend(&earlier.cpus);
                group.vcpus.extend(&earlier.vcpus);
            }
            apart
        });
        found.push(group);
    }
    found
}

#[derive(Default)]
struct Matching {
    holder: BTreeMap<Pcpu, Vcpu>,
    held: BTreeMap<Vcpu, Pcpu>,
    taken: CpuSet,
    /// pCPUs from which no free one can be reached, ever again: a failed search leaves them so.
    dead: CpuSet,
}

impl Matching {
    /// Finds a pCPU for the vCPU, moving others where that helps.
    fn add(&mut self, pins: &Pins, vcpu: Vcpu, cpus: &CpuSet) -> bool {
        if let Some(free) = cpus.difference(&self.taken).first() {
            self.give(free, vcpu);
            return true;
        }
        let mut seen = self.dead.clone();
        // For each pCPU that was reached: the vCPU that would move there.
        let mut mover: BTreeMap<Pcpu, Vcpu> = BTreeMap::new();
        let mut waiting = VecDeque::from([vcpu]);
        while let Some(next) = waiting.pop_front() {
            let Some(reach) = pins.get(&next) else { continue };
            let fresh = reach.difference(&seen);
            seen.extend(&fresh);
            for cpu in fresh.iter() {
                mover.insert(cpu, next);
                match self.holder.get(&cpu) {
                    Some(holder) => waiting.push_back(*holder),
                    None => {
                        self.shift(cpu, &mover);
                        return true;
                    }
                }
            }
        }
        self.dead = seen;
        false
    }

    /// Moves vCPUs along the path that ended at the free pCPU; the newcomer, who had none, is the
    /// last to move.
    fn shift(&mut self, free: Pcpu, mover: &BTreeMap<Pcpu, Vcpu>) {
        let mut target = Some(free);
        while let Some((cpu, vcpu)) = target.and_then(|cpu| Some((cpu, *mover.get(&cpu)?))) {
            target = self.held.get(&vcpu).copied();
            self.give(cpu, vcpu);
        }
    }

    fn give(&mut self, cpu: Pcpu, vcpu: Vcpu) {
        self.holder.insert(cpu, vcpu);
        self.held.insert(vcpu, cpu);
        self.taken.insert(cpu);
    }

    /// The vCPUs and pCPUs that compete with an unmatched vCPU.
    fn reached_from(&self, pins: &Pins, vcpu: Vcpu) -> Overload {
        let mut vcpus = VcpuSet::single(vcpu);
        let mut cpus = CpuSet::new();
        let mut waiting = vec![vcpu];
        while let Some(next) = waiting.pop() {
            let Some(reach) = pins.get(&next) else { continue };
            let fresh = reach.difference(&cpus);
            cpus.extend(&fresh);
            for holder in fresh.iter().filter_map(|cpu| self.holder.get(&cpu)) {
                if !vcpus.contains(*holder) {
                    vcpus.insert(*holder);
                    waiting.push(*holder);
                }
            }
        }
        Overload { cpus, vcpus }
    }
}
