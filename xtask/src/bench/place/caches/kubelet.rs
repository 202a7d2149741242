//! How the kubelet's static CPU manager gives CPUs with `prefer-align-cpus-by-uncorecache`
//! (KEP-4800), stated anew from what it does. Topology manager off, as by default.
//!
//! In this order, each as far as it goes: whole free nodes and packages (the larger of the two first);
//! L3 domains; whole free cores; single CPUs. At each level what has the fewest free CPUs comes
//! first, then the lowest number. Of L3 domains, whole free ones while at least so many CPUs are
//! needed; then the rest from the first domain whose lowest cores with something free, as many as
//! the rest needs, give exactly the rest. Where none does, nothing keeps it together.

use super::machine::{Free, Level, Machine};

/// CPUs for a guest; `None` when there are too few.
pub fn place(machine: &Machine, free: &Free, vcpus: usize) -> Option<Vec<usize>> {
    let free = free.counted(machine);
    if free.total() < vcpus {
        return None;
    }
    let mut work = Work { machine, free, left: vcpus, got: Vec::with_capacity(vcpus) };
    let (first, second) = match work.nodes_hold_packages() {
        true => (Level::Node, Level::Package),
        false => (Level::Package, Level::Node),
    };
    work.whole(first);
    work.whole(second);
    work.caches();
    work.whole(Level::Core);
    work.single();
    Some(work.got)
}

struct Work<'a> {
    machine: &'a Machine,
    free: Free,
    left: usize,
    got: Vec<usize>,
}

impl Work<'_> {
    fn nodes_hold_packages(&self) -> bool {
        self.machine.groups(Level::Package) >= self.machine.groups(Level::Node)
    }

    fn take(&mut self, cpus: &[usize]) {
        self.free.take(self.machine, cpus);
        self.left -= cpus.len();
        self.got.extend(cpus);
    }

    /// Those with anything free, the fewest first.
    fn sorted(&self, level: Level, mut groups: Vec<usize>) -> Vec<usize> {
        groups.retain(|group| self.free.in_group(level, *group) > 0);
        groups.sort_unstable_by_key(|group| (self.free.in_group(level, *group), *group));
        groups
    }

    /// The order of a level: inside the levels above it, each in its own order.
    fn order(&self, level: Level) -> Vec<usize> {
        let nodes_first = self.nodes_hold_packages();
        let outer = match level {
            Level::Package => nodes_first.then_some(Level::Node),
            Level::Node => (!nodes_first).then_some(Level::Package),
            Level::Cache => Some(Level::Node),
            Level::Core if nodes_first => Some(Level::Package),
            Level::Core => Some(Level::Node),
        };
        let Some(outer) = outer else {
            return self.sorted(level, (0..self.machine.groups(level)).collect());
        };
        let inside = |group| self.sorted(level, self.machine.inside(outer, group, level).to_vec());
        self.order(outer).into_iter().flat_map(inside).collect()
    }

    fn whole(&mut self, level: Level) {
        if self.left == 0 {
            return;
        }
        for group in self.order(level) {
            let size = self.machine.cpus_of(level, group).len();
            if self.left >= size && self.free.is_whole(self.machine, level, group) {
                let machine = self.machine;
                self.take(machine.cpus_of(level, group));
            }
        }
    }

    fn caches(&mut self) {
        self.whole(Level::Cache);
        if self.left == 0 {
            return;
        }
        for cache in self.order(Level::Cache) {
            if let Some(cpus) = self.rest_of(cache) {
                self.take(&cpus);
                return;
            }
        }
    }

    /// What is still needed, from the lowest cores of a domain.
    fn rest_of(&self, cache: usize) -> Option<Vec<usize>> {
        let threads = self.machine.threads();
        let cores = self.machine.inside(Level::Cache, cache, Level::Core);
        let some = cores.iter().filter(|core| self.free.in_group(Level::Core, **core) > 0);
        let mut cpus: Vec<usize> = some
            .take(self.left.div_ceil(threads))
            .flat_map(|core| self.free.cpus_of(self.machine, Level::Core, *core))
            .collect();
        if !self.left.is_multiple_of(2) && threads > 1 {
            cpus.sort_unstable();
            if cpus.len() > self.left {
                cpus.pop();
            }
        }
        (cpus.len() == self.left).then_some(cpus)
    }

    fn single(&mut self) {
        if self.left == 0 {
            return;
        }
        for core in self.order(Level::Core) {
            for cpu in self.free.cpus_of(self.machine, Level::Core, core) {
                if self.left == 0 {
                    return;
                }
                self.take(&[cpu]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{hosts, machine::Machine};
    use super::*;

    /// One package of two L3 domains of four cores each, two threads a core.
    fn small() -> Machine {
        Machine::of(&hosts::shape(1, 1, (2, 4), 2).host().topology)
    }

    fn left(machine: &Machine, cpus: &[usize]) -> Free {
        let mut free = Free::all(machine);
        let taken: Vec<usize> = (0..machine.cpus).filter(|cpu| !cpus.contains(cpu)).collect();
        free.take(machine, &taken);
        free
    }

    fn given(machine: &Machine, free: &mut Free, vcpus: usize) -> Vec<usize> {
        let mut cpus = place(machine, free, vcpus).expect("there are enough");
        free.take(machine, &cpus);
        cpus.sort_unstable();
        cpus
    }

    #[test]
    fn whole_domains_come_first_and_the_rest_from_the_fullest_that_holds_it() {
        let machine = small();
        assert_eq!(given(&machine, &mut Free::all(&machine), 8), [0, 1, 2, 3, 8, 9, 10, 11]);
        // Three cores are left of the first domain: two of them are enough.
        let mut free = Free::all(&machine);
        free.take(&machine, &[0, 8]);
        assert_eq!(given(&machine, &mut free, 4), [1, 2, 9, 10]);
        // An odd number leaves the last sibling.
        assert_eq!(given(&machine, &mut Free::all(&machine), 3), [0, 1, 8]);
    }

    /// Half cores in front make each domain fail, though the second has two whole ones.
    #[test]
    fn a_half_core_in_front_is_what_it_stumbles_over() {
        let machine = small();
        let mut free = left(&machine, &[0, 3, 11, 4, 5, 13, 6, 14]);
        assert_eq!(given(&machine, &mut free, 4), [3, 5, 11, 13], "across both domains");
        assert!(place(&machine, &free, 5).is_none(), "four are left");
    }
}
