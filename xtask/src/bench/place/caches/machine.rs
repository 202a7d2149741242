//! A host as the container allocators see it: which package, node, L3 domain and core each CPU is in,
//! and how many of each are free.
//!
//! Both programs look at the free CPUs anew for each guest, so counting them is part of what is timed.
//! From there on the counts are kept with each change, where the programs intersect sets of CPUs for
//! each comparison: what is timed is their algorithm at its best.

use numawise_model::{CpuSet, Id, Topology};

/// What CPUs are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Package,
    Node,
    Cache,
    Core,
}

const LEVELS: [Level; 4] = [Level::Package, Level::Node, Level::Cache, Level::Core];

pub struct Machine {
    pub cpus: usize,
    levels: [Groups; 4],
    /// By outer level, inner level and group.
    inside: [[Vec<Vec<usize>>; 4]; 4],
}

struct Groups {
    /// By CPU.
    of: Vec<usize>,
    /// The CPUs of each, ascending; groups by their lowest.
    cpus: Vec<Vec<usize>>,
}

impl Machine {
    pub fn of(topology: &Topology) -> Self {
        let cpus = topology.online.last().map_or(0, |cpu| cpu.get() as usize + 1);
        let groups = |sets: Vec<&CpuSet>| {
            let mut of = vec![0; cpus];
            for (group, set) in sets.iter().enumerate() {
                set.iter().for_each(|cpu| of[cpu.get() as usize] = group);
            }
            let numbers = |set: &&CpuSet| set.iter().map(|cpu| cpu.get() as usize).collect();
            Groups { of, cpus: sets.iter().map(numbers).collect() }
        };
        let levels = [
            groups(topology.packages.iter().map(|package| &package.cpus).collect()),
            groups(topology.nodes.iter().map(|node| &node.cpus).collect()),
            groups(topology.l3_domains.iter().map(|domain| &domain.cpus).collect()),
            groups(topology.cores.iter().map(|core| &core.cpus).collect()),
        ];
        let none = || [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        let inside = [none(), none(), none(), none()];
        let mut machine = Self { cpus, levels, inside };
        for outer in LEVELS {
            for inner in LEVELS {
                let of = |group| machine.lying_in(outer, group, inner);
                let inside = (0..machine.groups(outer)).map(of).collect();
                machine.inside[outer as usize][inner as usize] = inside;
            }
        }
        machine
    }

    fn lying_in(&self, outer: Level, group: usize, inner: Level) -> Vec<usize> {
        let lies = |inner_group: &usize| {
            let first = self.cpus_of(inner, *inner_group).first();
            first.is_some_and(|cpu| self.group(outer, *cpu) == group)
        };
        (0..self.groups(inner)).filter(lies).collect()
    }

    /// The group that a CPU is in.
    pub fn group(&self, level: Level, cpu: usize) -> usize {
        self.levels[level as usize].of[cpu]
    }

    pub fn groups(&self, level: Level) -> usize {
        self.levels[level as usize].cpus.len()
    }

    pub fn cpus_of(&self, level: Level, group: usize) -> &[usize] {
        &self.levels[level as usize].cpus[group]
    }

    /// Groups of a lower level that lie in one of a higher, by their lowest CPU.
    pub fn inside(&self, outer: Level, group: usize, inner: Level) -> &[usize] {
        &self.inside[outer as usize][inner as usize][group]
    }

    /// CPUs of a core; all are alike here.
    pub fn threads(&self) -> usize {
        self.cpus_of(Level::Core, 0).len()
    }

    /// Whether these CPUs lie in more groups than so many need.
    pub fn straddles(&self, level: Level, cpus: &[usize]) -> bool {
        let mut groups: Vec<usize> = cpus.iter().map(|cpu| self.group(level, *cpu)).collect();
        groups.sort_unstable();
        groups.dedup();
        groups.len() > cpus.len().div_ceil(self.cpus_of(level, 0).len())
    }
}

/// The CPUs that may be given.
#[derive(Clone)]
pub struct Free {
    is: Vec<bool>,
    total: usize,
    counts: [Vec<usize>; 4],
}

impl Free {
    pub fn all(machine: &Machine) -> Self {
        let counts = LEVELS.map(|level| {
            (0..machine.groups(level)).map(|group| machine.cpus_of(level, group).len()).collect()
        });
        Self { is: vec![true; machine.cpus], total: machine.cpus, counts }
    }

    /// The same CPUs, counted anew.
    pub fn counted(&self, machine: &Machine) -> Self {
        let mut counts = LEVELS.map(|level| vec![0; machine.groups(level)]);
        let mut total = 0;
        for cpu in (0..machine.cpus).filter(|cpu| self.is[*cpu]) {
            total += 1;
            for level in LEVELS {
                counts[level as usize][machine.group(level, cpu)] += 1;
            }
        }
        Self { is: self.is.clone(), total, counts }
    }

    pub fn total(&self) -> usize {
        self.total
    }

    pub fn in_group(&self, level: Level, group: usize) -> usize {
        self.counts[level as usize][group]
    }

    /// All of the group is free.
    pub fn is_whole(&self, machine: &Machine, level: Level, group: usize) -> bool {
        self.in_group(level, group) == machine.cpus_of(level, group).len()
    }

    pub fn cpus_of(&self, machine: &Machine, level: Level, group: usize) -> Vec<usize> {
        machine.cpus_of(level, group).iter().copied().filter(|cpu| self.is[*cpu]).collect()
    }

    pub fn take(&mut self, machine: &Machine, cpus: &[usize]) {
        for cpu in cpus {
            self.is[*cpu] = false;
            self.total -= 1;
            for level in LEVELS {
                self.counts[level as usize][machine.group(level, *cpu)] -= 1;
            }
        }
    }

    pub fn give_back(&mut self, machine: &Machine, cpus: &[usize]) {
        for cpu in cpus {
            self.is[*cpu] = true;
            self.total += 1;
            for level in LEVELS {
                self.counts[level as usize][machine.group(level, *cpu)] += 1;
            }
        }
    }

    /// Free CPUs that a guest of this size cannot have without straddling: those in L3 domains that have
    /// too few for it, also together with the fullest others that its size needs anyway.
    pub fn stranded_for(&self, machine: &Machine, vcpus: usize) -> usize {
        let caches = &self.counts[Level::Cache as usize];
        let needs = vcpus.div_ceil(machine.cpus_of(Level::Cache, 0).len());
        let mut most = caches.clone();
        most.sort_unstable_by(|a, b| b.cmp(a));
        let others: usize = most.iter().take(needs - 1).sum();
        let next = most.get(needs - 1).copied().unwrap_or(0);
        let stranded = |free: &&usize| {
            // One of the fullest has the next fullest beside it.
            let beside = if **free > next { others - **free + next } else { others };
            **free + beside < vcpus
        };
        caches.iter().filter(stranded).sum()
    }
}
