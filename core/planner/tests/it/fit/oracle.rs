//! The preferences once more, from their text: a score for a set of pCPUs, and the best of all sets.
//!
//! Shares nothing with the search but the names of its inputs and the fields of the score. Areas are
//! the nodes here (L3-as-NUMA hosts have tests of their own).

use super::small_host::Case;
use numawise_model::{CpuSet, L3Policy, Pcpu, SmtPolicy};
use numawise_planner::fit::{Cells, GivenCell, Parting, PartingFound, Score};
use std::collections::{BTreeMap, BTreeSet};

pub struct Oracle<'a> {
    case: &'a Case,
    /// Of each pCPU.
    area: BTreeMap<Pcpu, usize>,
    segment: BTreeMap<Pcpu, usize>,
    core: BTreeMap<Pcpu, usize>,
    cores: Vec<CpuSet>,
    segments: Vec<CpuSet>,
    /// The memory node of each area, if any.
    memory: Vec<Option<usize>>,
}

impl<'a> Oracle<'a> {
    pub fn of(case: &'a Case) -> Self {
        let topology = &case.topology;
        let mut segments: Vec<CpuSet> = Vec::new();
        for node in &topology.nodes {
            let parts = topology.l3_domains.iter().map(|l3| l3.cpus.intersection(&node.cpus));
            let before = segments.len();
            segments.extend(parts.filter(|part| !part.is_empty()));
            if segments.len() == before {
                segments.push(node.cpus.clone());
            }
        }
        let index = |sets: &mut dyn Iterator<Item = (usize, &CpuSet)>| {
            let mut by_cpu = BTreeMap::new();
            for (index, set) in sets {
                by_cpu.extend(set.iter().map(|cpu| (cpu, index)));
            }
            by_cpu
        };
        let has_memory = |node: usize| topology.nodes[node].memory_total_bytes != Some(0);
        let nearest = |node: usize| {
            let serving = (0..topology.nodes.len()).filter(|other| has_memory(*other));
            serving.min_by_key(|other| {
                let distance =
                    topology.distance(topology.nodes[node].id, topology.nodes[*other].id);
                (*other != node, distance, *other)
            })
        };
        Self {
            case,
            area: index(&mut topology.nodes.iter().map(|node| &node.cpus).enumerate()),
            segment: index(&mut segments.iter().enumerate()),
            core: index(&mut topology.cores.iter().map(|core| &core.cpus).enumerate()),
            cores: topology.cores.iter().map(|core| core.cpus.clone()).collect(),
            memory: (0..topology.nodes.len()).map(nearest).collect(),
            segments,
        }
    }

    fn free_of(&self, cpus: &CpuSet) -> CpuSet {
        cpus.intersection(&self.case.free)
    }

    fn is_whole(&self, core: usize) -> bool {
        self.cores[core].is_subset(&self.case.free)
    }

    fn whole_in(&self, cpus: &CpuSet) -> usize {
        (0..self.cores.len())
            .filter(|core| self.cores[*core].is_subset(cpus) && self.is_whole(*core))
            .count()
    }

    fn node(&self, area: usize) -> &CpuSet {
        &self.case.topology.nodes[area].cpus
    }

    /// How vCPUs of this guest sit on an area that gets `vcpus` of them: whole cores alone?
    fn alone(&self, area: usize, vcpus: usize) -> bool {
        match self.case.wanted.smt {
            SmtPolicy::Isolate => true,
            SmtPolicy::Avoid => self.whole_in(self.node(area)) >= vcpus,
            _ => false,
        }
    }

    /// Seats in a set of CPUs.
    fn seats(&self, cpus: &CpuSet, alone: bool) -> usize {
        if alone {
            return self.whole_in(cpus);
        }
        let cores =
            self.cores.iter().map(|core| core.intersection(cpus).intersection(&self.case.free));
        let require = self.case.wanted.smt == SmtPolicy::Require;
        cores.map(|core| core.len()).filter(|free| !require || *free > 1).sum()
    }

    /// The best score there is, over every set of pCPUs.
    pub fn best(&self) -> Option<Score> {
        let free: Vec<Pcpu> = self.case.free.iter().collect();
        let mut best: Option<Score> = None;
        let mut taken = Vec::new();
        self.each_set(&free, self.case.wanted.vcpus as usize, &mut taken, &mut |set| {
            if let Some(score) = self.score(set)
                && best.is_none_or(|best| score < best)
            {
                best = Some(score);
            }
        });
        best
    }

    fn each_set(
        &self,
        open: &[Pcpu],
        left: usize,
        taken: &mut Vec<Pcpu>,
        then: &mut dyn FnMut(&[Pcpu]),
    ) {
        if left == 0 {
            return then(taken);
        }
        if open.len() < left {
            return;
        }
        taken.push(open[0]);
        self.each_set(&open[1..], left - 1, taken, then);
        taken.pop();
        self.each_set(&open[1..], left, taken, then);
    }

    /// The score of a set, or `None` when it breaks a constraint.
    pub fn score(&self, set: &[Pcpu]) -> Option<Score> {
        let mut by_area: BTreeMap<usize, Vec<Pcpu>> = BTreeMap::new();
        set.iter().for_each(|cpu| by_area.entry(self.area[cpu]).or_default().push(*cpu));
        let sizes: BTreeMap<usize, u32> =
            by_area.iter().map(|(area, cpus)| (*area, cpus.len() as u32)).collect();
        let (sharing_cells, parting) = self.parting(&sizes)?;
        self.devices_hold(&sizes).then_some(())?;
        let mut score = Score {
            sharing_cells,
            areas: sizes.len() as u32,
            parting,
            distance: self.distance(&sizes),
            ..Score::default()
        };
        for (area, cpus) in &by_area {
            self.add_area(*area, cpus, &mut score)?;
        }
        self.emulator_holds(&by_area).then_some(())?;
        self.add_losses(set, &by_area, &mut score);
        for cpu in set {
            let use_of = self.case.utilisation.get(cpu).map_or(0, |level| level.0);
            score.use_steps += u64::from(use_of / 100);
            score.id_sum += u64::from(cpu.0);
        }
        Some(score)
    }

    fn distance(&self, sizes: &BTreeMap<usize, u32>) -> u64 {
        let topology = &self.case.topology;
        let nodes = &topology.nodes;
        let mut sum = 0;
        for (from, of_from) in sizes {
            for (to, of_to) in sizes {
                if from != to {
                    let distance = topology.distance(nodes[*from].id, nodes[*to].id).unwrap_or(20);
                    sum += u64::from(of_from * of_to * distance);
                }
            }
            // The way to memory that is on another node.
            let memory = self.memory[*from].expect("a place has memory");
            let distance = topology.distance(nodes[*from].id, nodes[memory].id).unwrap_or(20);
            sum += u64::from(of_from * self.case.wanted.vcpus * (distance - 10));
        }
        sum
    }

    fn devices_hold(&self, sizes: &BTreeMap<usize, u32>) -> bool {
        let mut required = self.case.wanted.devices.iter().filter(|device| device.required);
        required.all(|device| sizes.keys().any(|area| device.near[*area]))
    }

    fn unit(&self, parts: u32) -> u32 {
        let width = match self.case.wanted.smt {
            SmtPolicy::Isolate | SmtPolicy::Avoid => 1,
            _ => self.widest() as u32,
        };
        let vcpus = self.case.wanted.vcpus;
        if vcpus.is_multiple_of(width) && vcpus / width >= parts { width } else { 1 }
    }

    fn widest(&self) -> usize {
        self.cores.iter().map(CpuSet::len).max().unwrap_or(1)
    }

    /// How a split of the vCPUs stands to what was asked; `None` when it does not.
    fn parting(&self, sizes: &BTreeMap<usize, u32>) -> Option<(u32, PartingFound)> {
        let wanted = &self.case.wanted;
        let parts = sizes.len() as u32;
        match &wanted.cells {
            Cells::Given(cells) => self
                .cells_fit(cells, sizes)
                .then(|| (cells.len() as u32 - parts, PartingFound::Even)),
            Cells::Free(parting) => Some((0, self.found(sizes, *parting)?)),
            Cells::Count(count, _)
                if parts > *count || u64::from(*count) > wanted.pages || *count > wanted.vcpus =>
            {
                None
            }
            Cells::Count(count, parting) if parts == *count => {
                Some((0, self.found(sizes, *parting)?))
            }
            Cells::Count(count, parting) => {
                let sharing = count - parts;
                let equal =
                    *parting != Parting::Uneven && self.cells_fit(&self.equal_cells(*count), sizes);
                if equal {
                    return Some((sharing, PartingFound::Even));
                }
                let may = *parting != Parting::Even;
                let found = if may { self.found(sizes, Parting::Uneven) } else { None };
                Some((sharing, found?))
            }
        }
    }

    fn found(&self, sizes: &BTreeMap<usize, u32>, asked: Parting) -> Option<PartingFound> {
        if !self.memory_holds(sizes) {
            return None;
        }
        let unit = self.unit(sizes.len() as u32);
        let whole = sizes.values().all(|size| size.is_multiple_of(unit));
        let most = sizes.values().max()?;
        let least = sizes.values().min()?;
        let even = whole && most - least <= unit;
        match asked {
            _ if sizes.len() == 1 => Some(PartingFound::Even),
            Parting::EvenFirst | Parting::Even if even => Some(PartingFound::Even),
            Parting::Even => None,
            _ if whole => Some(PartingFound::WholeCores),
            _ => Some(PartingFound::Any),
        }
    }

    fn equal_cells(&self, count: u32) -> Vec<GivenCell> {
        let wanted = &self.case.wanted;
        let unit = self.unit(count);
        let units = wanted.vcpus / unit;
        let sizes: Vec<u64> = (0..count)
            .map(|i| u64::from((units / count + u32::from(i < units % count)) * unit))
            .collect();
        let sum: u64 = sizes.iter().sum();
        let mut pages: Vec<u64> = sizes.iter().map(|size| wanted.pages * size / sum).collect();
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|i| (std::cmp::Reverse(wanted.pages * sizes[*i] % sum), *i));
        let rest = wanted.pages - pages.iter().sum::<u64>();
        order.iter().take(rest as usize).for_each(|i| pages[*i] += 1);
        while let Some(empty) = pages.iter().position(|pages| *pages == 0) {
            let most =
                (0..pages.len()).max_by_key(|i| (pages[*i], std::cmp::Reverse(*i))).expect("some");
            pages[most] -= 1;
            pages[empty] += 1;
        }
        let cell = |(vcpus, pages): (u64, u64)| GivenCell { vcpus: vcpus as u32, pages };
        sizes.into_iter().zip(pages).map(cell).collect()
    }

    /// Whether the cells can be dealt out over the areas so that each has exactly its vCPUs.
    fn cells_fit(&self, cells: &[GivenCell], sizes: &BTreeMap<usize, u32>) -> bool {
        let areas: Vec<usize> = sizes.keys().copied().collect();
        let ways = areas.len().pow(cells.len() as u32);
        (0..ways).any(|way| {
            let mut left: BTreeMap<usize, u32> = sizes.clone();
            let mut pages: BTreeMap<usize, u64> = BTreeMap::new();
            let mut code = way;
            for cell in cells {
                let area = areas[code % areas.len()];
                code /= areas.len();
                let Some(rest) = left[&area].checked_sub(cell.vcpus) else { return false };
                left.insert(area, rest);
                let Some(memory) = self.memory[area] else { return false };
                *pages.entry(memory).or_insert(0) += cell.pages;
            }
            let node = |memory: usize| self.case.topology.nodes[memory].id;
            left.values().all(|left| *left == 0)
                && pages.iter().all(|(memory, wanted)| self.case.pages[&node(*memory)] >= *wanted)
        })
    }

    /// Whether whole pages can be shared out with each area within a page of its due, none empty.
    fn memory_holds(&self, sizes: &BTreeMap<usize, u32>) -> bool {
        let wanted = &self.case.wanted;
        let all = u64::from(wanted.vcpus);
        let sizes: Vec<(usize, u64)> =
            sizes.iter().map(|(area, n)| (*area, u64::from(*n))).collect();
        (0..1u32 << sizes.len()).any(|up| {
            let mut sum = 0;
            let mut by_memory: BTreeMap<usize, u64> = BTreeMap::new();
            for (index, (area, vcpus)) in sizes.iter().enumerate() {
                let due = wanted.pages * vcpus;
                let pages = if up & (1 << index) != 0 { due.div_ceil(all) } else { due / all };
                let pages = pages.max(1);
                sum += pages;
                let Some(memory) = self.memory[*area] else { return false };
                *by_memory.entry(memory).or_insert(0) += pages;
            }
            let node = |memory: usize| self.case.topology.nodes[memory].id;
            sum == wanted.pages
                && by_memory.iter().all(|(memory, pages)| self.case.pages[&node(*memory)] >= *pages)
        })
    }

    fn emulator_holds(&self, by_area: &BTreeMap<usize, Vec<Pcpu>>) -> bool {
        let left = |(area, cpus): (&usize, &Vec<Pcpu>)| {
            let free = self.free_of(self.node(*area)).len();
            // The rule for kept siblings counts each core as wide as the host's widest.
            let gone = match self.case.wanted.smt {
                SmtPolicy::Isolate => cpus.len() * self.widest(),
                _ => cpus.len(),
            };
            free.saturating_sub(gone)
        };
        by_area.iter().map(left).sum::<usize>() >= self.case.wanted.emulator_cpus as usize
    }

    fn add_area(&self, area: usize, cpus: &[Pcpu], score: &mut Score) -> Option<()> {
        let wanted = &self.case.wanted;
        let alone = self.alone(area, cpus.len());
        let mut on_core: BTreeMap<usize, usize> = BTreeMap::new();
        cpus.iter().for_each(|cpu| *on_core.entry(self.core[cpu]).or_insert(0) += 1);
        let mut single = 0;
        for (core, taken) in &on_core {
            let free = self.free_of(&self.cores[*core]).len();
            let width = self.cores[*core].len();
            let ok = match (alone, wanted.smt) {
                (true, _) => *taken == 1 && self.is_whole(*core),
                (_, SmtPolicy::Require) => free > 1,
                _ => true,
            };
            ok.then_some(())?;
            single += u64::from(*taken == 1);
            let broken = match (alone, wanted.smt) {
                (true, SmtPolicy::Isolate) => false,
                _ => *taken < width,
            };
            score.broken_cores += u64::from(broken);
            score.whole_cores_lost += u64::from(self.is_whole(*core));
        }
        if wanted.smt == SmtPolicy::Require {
            (single <= cpus.len() as u64 % 2).then_some(())?;
            score.sharing_areas += single;
        }
        score.sharing_areas += u64::from(wanted.smt == SmtPolicy::Avoid && !alone);
        let distance: u64 = wanted.devices.iter().map(|d| u64::from(d.distance[area])).sum();
        score.device_distance += distance * cpus.len() as u64;
        let l3 = self.l3(area, cpus, alone)?;
        for (sum, more) in score.l3.iter_mut().zip(l3) {
            *sum += more;
        }
        Some(())
    }

    fn l3(&self, area: usize, cpus: &[Pcpu], alone: bool) -> Option<[u64; 3]> {
        let wanted = &self.case.wanted;
        let mut used: BTreeMap<usize, usize> = BTreeMap::new();
        cpus.iter().for_each(|cpu| *used.entry(self.segment[cpu]).or_insert(0) += 1);
        let inside: Vec<usize> = (0..self.segments.len())
            .filter(|segment| self.segments[*segment].is_subset(self.node(area)))
            .filter(|segment| self.seats(&self.segments[*segment], alone) > 0)
            .collect();
        let seats = |segment: &usize| self.seats(&self.segments[*segment], alone);
        let per_core = if alone { 1 } else { self.widest() };
        let cores = |count: &usize| count.div_ceil(per_core) as u64;
        let most = used.values().map(cores).max()?;
        let least = used.values().map(cores).min()?;
        let squares: u64 = used.values().map(|count| cores(count).pow(2)).sum();
        let unequal = most - least > 1;
        match wanted.l3 {
            L3Policy::Compact => {
                let opened = used.iter().filter(|(segment, count)| {
                    self.segments[**segment].is_subset(&self.case.free) && **count < seats(segment)
                });
                let left: usize = used.iter().map(|(segment, count)| seats(segment) - count).sum();
                Some([used.len() as u64, opened.count() as u64, left as u64])
            }
            L3Policy::Spread => {
                let mut capacities: Vec<usize> = inside.iter().map(seats).collect();
                capacities.sort_by(|a, b| b.cmp(a));
                let needed = (1..=capacities.len())
                    .find(|n| capacities[..*n].iter().sum::<usize>() >= cpus.len())?;
                let worth = cpus.len().div_ceil(per_core);
                let may = capacities.len().min(worth).max(needed);
                (used.len() <= may).then_some(())?;
                let unused = (inside.len() - used.len()) as u64;
                Some([unequal.into(), unused, if unequal { squares } else { 0 }])
            }
            L3Policy::Exactly(domains) => {
                let due = domains as usize * cpus.len();
                let here = due
                    .is_multiple_of(wanted.vcpus as usize)
                    .then(|| due / wanted.vcpus as usize)?;
                (used.len() == here).then_some(())?;
                Some([unequal.into(), 0, if unequal { squares } else { 0 }])
            }
        }
    }

    fn add_losses(&self, set: &[Pcpu], by_area: &BTreeMap<usize, Vec<Pcpu>>, score: &mut Score) {
        let lost: BTreeSet<usize> =
            set.iter().map(|cpu| self.core[cpu]).filter(|core| self.is_whole(*core)).collect();
        let loss = |sets: &mut dyn Iterator<Item = &CpuSet>| {
            let counts: Vec<(usize, usize)> = sets
                .map(|cpus| {
                    let gone =
                        lost.iter().filter(|core| self.cores[**core].is_subset(cpus)).count();
                    (self.whole_in(cpus), gone)
                })
                .collect();
            let before = counts.iter().map(|(whole, _)| *whole).max().unwrap_or(0);
            let after = counts.iter().map(|(whole, gone)| whole - gone).max().unwrap_or(0);
            (before - after) as u32
        };
        let _ = by_area;
        score.lost_by_largest_area =
            loss(&mut self.case.topology.nodes.iter().map(|node| &node.cpus));
        score.lost_by_largest_l3 = loss(&mut self.segments.iter());
    }
}
