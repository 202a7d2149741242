//! How the CPU allocator of the NRI plugins gives CPUs with its default flags, stated anew from what it
//! does. All CPUs are of one kind and one priority; a package is one die, as EPYC says.
//!
//! In this order, each as far as it goes: whole idle packages; cache groups (L3 domains, where a package
//! has several; not for a single CPU); whole idle cores; single threads. Of cache groups, idle ones
//! before used ones: whole, and the last one split. Idle groups of the package with the fewest that are
//! enough come first. Only when they do not suffice is the rest looked for in used groups: one with
//! exactly the rest, else the largest first, all in the package of the first idle group. When that
//! fails, the cache groups are given up, and cores are taken by their numbers.
//!
//! Two things are stated as they are, not as they are meant. Used groups beside idle ones stay in the
//! order of their numbers (a package's number is compared with a count of CPUs, which
//! sorts nothing). And several groups of one size are never taken together (the search for them
//! begins at none and looks for fewer).

use super::machine::{Free, Level, Machine};
use std::cmp::{Ordering, Reverse};

/// CPUs for a guest; `None` when there are too few.
pub fn place(machine: &Machine, free: &Free, vcpus: usize) -> Option<Vec<usize>> {
    let free = free.counted(machine);
    if free.total() < vcpus {
        return None;
    }
    let mut work = Work { machine, free, left: vcpus, got: Vec::with_capacity(vcpus) };
    work.idle_packages();
    if work.left > 1 && machine.groups(Level::Cache) > machine.groups(Level::Package) {
        let taken = work.cache_groups();
        work.take(&taken.unwrap_or_default());
    }
    if work.left > 0 {
        let everywhere: Vec<usize> = (0..machine.groups(Level::Core)).collect();
        let cores = work.idle_cores(&everywhere, work.left);
        work.take(&cores);
        let threads = work.threads(&everywhere);
        work.take(&threads[..work.left]);
    }
    Some(work.got)
}

struct Work<'a> {
    machine: &'a Machine,
    free: Free,
    left: usize,
    got: Vec<usize>,
}

/// Free CPUs of a package, in idle and in used groups.
#[derive(Clone, Copy, Default)]
struct InPackage {
    idle: usize,
    used: usize,
}

impl Work<'_> {
    fn take(&mut self, cpus: &[usize]) {
        self.free.take(self.machine, cpus);
        self.left -= cpus.len();
        self.got.extend(cpus);
    }

    fn idle_packages(&mut self) {
        let machine = self.machine;
        for package in 0..machine.groups(Level::Package) {
            let cpus = machine.cpus_of(Level::Package, package);
            if self.left >= cpus.len() && self.free.is_whole(machine, Level::Package, package) {
                self.take(cpus);
            }
        }
    }

    fn cache_groups(&self) -> Option<Vec<usize>> {
        let machine = self.machine;
        let package =
            |group: usize| machine.group(Level::Package, machine.cpus_of(Level::Cache, group)[0]);
        let size = |group: usize| self.free.in_group(Level::Cache, group);
        let (mut idle, mut used) = (Vec::new(), Vec::new());
        let mut counts = vec![InPackage::default(); machine.groups(Level::Package)];
        for group in (0..machine.groups(Level::Cache)).filter(|group| size(*group) > 0) {
            let count = &mut counts[package(group)];
            if self.free.is_whole(machine, Level::Cache, group) {
                idle.push(group);
                count.idle += size(group);
            } else {
                used.push(group);
                count.used += size(group);
            }
        }
        let rest = self.left % machine.cpus_of(Level::Cache, 0).len();
        let full = self.left - rest;
        idle.sort_by(|a, b| {
            idle_first(
                (package(*a), counts[package(*a)]),
                (package(*b), counts[package(*b)]),
                full,
                rest,
            )
            .then(a.cmp(b))
        });
        if full == 0 || idle.is_empty() {
            let needed = self.left;
            used.sort_by_key(|group| {
                let there = counts[package(*group)].used;
                match there >= needed {
                    true => (0, there, Reverse(size(*group)), *group),
                    false => (1, 0, Reverse(0), 0),
                }
            });
        }
        let chosen = package(*idle.first().or(used.first())?);
        if counts[chosen].idle + counts[chosen].used < self.left {
            return None;
        }
        let mut taken = Vec::new();
        for group in idle {
            taken.extend(self.part_of(group, self.left - taken.len()));
        }
        // Those of the chosen package, as far as they come before any other's.
        let used: Vec<usize> =
            used.into_iter().take_while(|group| package(*group) == chosen).collect();
        let rest = self.left - taken.len();
        if rest > 0 {
            taken.extend(self.of_used(&used, rest)?);
        }
        Some(taken)
    }

    fn of_used(&self, used: &[usize], rest: usize) -> Option<Vec<usize>> {
        let size = |group: &usize| self.free.in_group(Level::Cache, *group);
        if let Some(group) = used.iter().find(|group| size(group) == rest) {
            return Some(self.part_of(*group, rest));
        }
        let mut taken = Vec::new();
        for group in used {
            taken.extend(self.part_of(*group, rest - taken.len()));
        }
        (taken.len() == rest).then_some(taken)
    }

    /// At most so many CPUs of a group: all of it, or whole cores and then threads.
    fn part_of(&self, group: usize, most: usize) -> Vec<usize> {
        let cpus = self.free.cpus_of(self.machine, Level::Cache, group);
        if cpus.len() <= most || most == 0 {
            return if most == 0 { Vec::new() } else { cpus };
        }
        let cores = self.machine.inside(Level::Cache, group, Level::Core);
        let mut taken = self.idle_cores(cores, most);
        let others = self.threads(cores).into_iter().filter(|cpu| !taken.contains(cpu));
        let others: Vec<usize> = others.take(most - taken.len()).collect();
        taken.extend(others);
        taken
    }

    /// Whole idle cores, by number, at most so many CPUs.
    fn idle_cores(&self, cores: &[usize], most: usize) -> Vec<usize> {
        let mut taken = Vec::new();
        for core in cores {
            let cpus = self.machine.cpus_of(Level::Core, *core);
            let is_idle = self.free.is_whole(self.machine, Level::Core, *core);
            if is_idle && taken.len() + cpus.len() <= most {
                taken.extend(cpus);
            }
        }
        taken
    }

    /// Free threads: by package (what the guest has there already, then the tightest that is enough,
    /// else the one with the most), then cores with the fewest free, then by number.
    fn threads(&self, cores: &[usize]) -> Vec<usize> {
        let machine = self.machine;
        let mut mine = vec![0; machine.groups(Level::Package)];
        self.got.iter().for_each(|cpu| mine[machine.group(Level::Package, *cpu)] += 1);
        let mut cpus: Vec<usize> =
            cores.iter().flat_map(|core| self.free.cpus_of(machine, Level::Core, *core)).collect();
        cpus.sort_by_cached_key(|cpu| {
            let package = machine.group(Level::Package, *cpu);
            let there = self.free.in_group(Level::Package, package);
            let fit = match there >= self.left {
                true => (0, there),
                false => (1, usize::MAX - there),
            };
            let on_core = self.free.in_group(Level::Core, machine.group(Level::Core, *cpu));
            (Reverse(mine[package]), fit, package, on_core, *cpu)
        });
        cpus
    }
}

/// Which package's idle groups come first; equal where nothing but their numbers decides.
fn idle_first(a: (usize, InPackage), b: (usize, InPackage), full: usize, rest: usize) -> Ordering {
    let ((a_number, a), (b_number, b)) = (a, b);
    let (a_full, b_full) = (a.idle >= full, b.idle >= full);
    let (a_rest, b_rest) = (a.used >= rest, b.used >= rest);
    match (a_full, b_full) {
        (true, false) if a_rest => Ordering::Less,
        (false, true) if b_rest => Ordering::Greater,
        (true, true) => match (a_rest, b_rest) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (true, true) => (a.idle, a.used, a_number).cmp(&(b.idle, b.used, b_number)),
            (false, false) => Ordering::Equal,
        },
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{hosts, machine::Machine};
    use super::*;

    fn given(machine: &Machine, free: &mut Free, vcpus: usize) -> Vec<usize> {
        let mut cpus = place(machine, free, vcpus).expect("there are enough");
        free.take(machine, &cpus);
        cpus.sort_unstable();
        cpus
    }

    /// One package of three L3 domains of four cores each, one thread a core.
    fn small() -> Machine {
        Machine::of(&hosts::shape(1, 1, (3, 4), 1).host().topology)
    }

    #[test]
    fn idle_groups_are_split_before_used_ones_are_filled() {
        let machine = small();
        let mut free = Free::all(&machine);
        free.take(&machine, &[0, 1]);
        assert_eq!(given(&machine, &mut free, 2), [4, 5]);
        assert_eq!(given(&machine, &mut free, 4), [8, 9, 10, 11]);
        assert_eq!(given(&machine, &mut free, 2), [2, 3], "one with exactly so many");
    }

    #[test]
    fn used_groups_are_taken_the_largest_first_and_a_single_cpu_from_anywhere() {
        let machine = small();
        let mut free = Free::all(&machine);
        free.take(&machine, &[0, 1, 4, 8, 9]);
        assert_eq!(given(&machine, &mut free, 4), [2, 5, 6, 7]);
        assert_eq!(given(&machine, &mut free, 1), [3]);
    }

    #[test]
    fn another_package_s_idle_group_is_split_before_a_used_one_is_filled() {
        let machine = Machine::of(&hosts::shape(2, 1, (2, 4), 1).host().topology);
        let mut free = Free::all(&machine);
        free.take(&machine, &[0, 8]);
        assert_eq!(given(&machine, &mut free, 6), [4, 5, 6, 7, 12, 13]);
        assert_eq!(given(&machine, &mut free, 3), [1, 2, 3]);
        assert!(place(&machine, &free, 6).is_none(), "five are left");
    }
}
