//! What a host has left: which threads may be given, how much memory, how busy each thread was.
//!
//! The counts that every question needs first (how many threads, pairs and whole cores are free in
//! a segment, in an area) are kept up to date with each change, so that most refusals look at
//! nothing else.

use super::layout::Layout;
use numawise_model::{CpuSet, Id, PageSize, Pcpu, Utilisation};
use std::collections::BTreeMap;

/// The changing part of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stock {
    /// For each core, a bit for each thread that may be given.
    free: Vec<u16>,
    segments: Vec<Places>,
    areas: Vec<Places>,
    /// For each page size and pool, the pages that can be promised; `None` is not known.
    pages: Vec<(PageSize, Vec<Option<u64>>)>,
    /// Of each thread, in steps of 10 %. Empty when nothing was sampled.
    use_steps: Vec<u8>,
}

/// How many vCPUs could be placed, by what they ask of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    pub threads: u32,
    /// Threads on cores with at least two to give.
    pub paired: u32,
    /// Cores all of whose online threads may be given.
    pub whole_cores: u32,
}

impl Stock {
    /// With these pCPUs to give, and no memory yet.
    pub fn new(layout: &Layout, free: &CpuSet) -> Self {
        let mut stock = Self {
            free: vec![0; layout.cores.len()],
            segments: vec![Places::default(); layout.segments.len()],
            areas: vec![Places::default(); layout.areas.len()],
            pages: Vec::new(),
            use_steps: Vec::new(),
        };
        for (core, mask) in layout.cores.iter().zip(&mut stock.free) {
            for (bit, thread) in layout.threads[core.threads.clone()].iter().enumerate() {
                *mask |= u16::from(free.contains(Pcpu::new(*thread))) << bit;
            }
        }
        for segment in 0..layout.segments.len() {
            stock.count(layout, segment);
        }
        stock
    }

    /// By pool, in the order of [`Layout::pools`].
    pub fn set_pages(&mut self, size: PageSize, by_pool: Vec<Option<u64>>) {
        self.pages.retain(|(known, _)| *known != size);
        self.pages.push((size, by_pool));
    }

    pub fn set_use(&mut self, layout: &Layout, utilisation: &BTreeMap<Pcpu, Utilisation>) {
        let step = |thread: &u32| {
            let level = utilisation.get(&Pcpu::new(*thread)).map_or(0, |level| level.0);
            (level.min(1000) / 100) as u8
        };
        let steps: Vec<u8> = layout.threads.iter().map(step).collect();
        self.use_steps = if steps.iter().all(|step| *step == 0) { Vec::new() } else { steps };
    }

    pub fn take(&mut self, layout: &Layout, cpus: &CpuSet) {
        self.change(layout, cpus, |mask, bits| mask & !bits);
    }

    pub fn give_back(&mut self, layout: &Layout, cpus: &CpuSet) {
        self.change(layout, cpus, |mask, bits| mask | bits);
    }

    /// Takes pages from a pool; more than there are leaves none.
    pub fn take_pages(&mut self, size: PageSize, pool: usize, pages: u64) {
        self.change_pages(size, pool, |have| have.saturating_sub(pages));
    }

    pub fn give_back_pages(&mut self, size: PageSize, pool: usize, pages: u64) {
        self.change_pages(size, pool, |have| have.saturating_add(pages));
    }

    fn change_pages(&mut self, size: PageSize, pool: usize, change: impl Fn(u64) -> u64) {
        let pools = self.pages.iter_mut().find(|(known, _)| *known == size);
        if let Some(Some(have)) = pools.and_then(|(_, pools)| pools.get_mut(pool)) {
            *have = change(*have);
        }
    }

    fn change(&mut self, layout: &Layout, cpus: &CpuSet, change: impl Fn(u16, u16) -> u16) {
        // A segment's CPUs come in a few runs of ids, so few are noted twice in a row.
        let mut touched: Vec<usize> = Vec::new();
        for (core, segment, bit) in cpus.iter().filter_map(|cpu| layout.spot_of(cpu)) {
            self.free[core] = change(self.free[core], 1 << bit);
            if touched.last() != Some(&segment) {
                touched.push(segment);
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for segment in touched {
            self.count(layout, segment);
        }
    }

    fn count(&mut self, layout: &Layout, segment: usize) {
        let mut places = Places::default();
        for core in layout.segments[segment].cores.clone() {
            let free = self.free[core].count_ones();
            places.threads += free;
            places.paired += if free > 1 { free } else { 0 };
            places.whole_cores +=
                u32::from(free > 0 && self.free[core] == layout.cores[core].all());
        }
        let before = std::mem::replace(&mut self.segments[segment], places);
        let area = &mut self.areas[layout.segments[segment].area];
        area.threads = area.threads + places.threads - before.threads;
        area.paired = area.paired + places.paired - before.paired;
        area.whole_cores = area.whole_cores + places.whole_cores - before.whole_cores;
    }

    /// The same with nothing to give outside these areas.
    #[must_use]
    pub fn only_areas(&self, layout: &Layout, areas: &[usize]) -> Self {
        let mut stock = self.clone();
        for area in (0..layout.areas.len()).filter(|area| !areas.contains(area)) {
            let segments = layout.areas[area].segments.clone();
            for segment in segments.clone() {
                stock.free[layout.segments[segment].cores.clone()].fill(0);
            }
            stock.segments[segments].fill(Places::default());
            stock.areas[area] = Places::default();
        }
        stock
    }

    /// The threads of a core that may be given, a bit each.
    pub fn free(&self, core: usize) -> u16 {
        self.free[core]
    }

    /// The same as CPUs.
    pub fn free_threads(&self, layout: &Layout, core: usize) -> CpuSet {
        let (mask, threads) = (self.free[core], layout.cores[core].threads.clone());
        let threads = layout.threads[threads].iter().enumerate();
        threads.filter(|(bit, _)| mask & (1 << bit) != 0).map(|(_, id)| Pcpu::new(*id)).collect()
    }

    pub fn segment(&self, segment: usize) -> Places {
        self.segments[segment]
    }

    pub fn area(&self, area: usize) -> Places {
        self.areas[area]
    }

    pub fn areas(&self) -> &[Places] {
        &self.areas
    }

    pub fn segments(&self) -> &[Places] {
        &self.segments
    }

    /// The pages of a size that a pool can still promise. A size that nobody counted is not known.
    pub fn pages(&self, size: PageSize, pool: usize) -> Option<u64> {
        let (_, pools) = self.pages.iter().find(|(known, _)| *known == size)?;
        pools.get(pool).copied().flatten()
    }

    /// Of a thread, by its place in [`Layout::threads`].
    pub fn use_of(&self, thread: usize) -> u32 {
        self.use_steps.get(thread).copied().map_or(0, u32::from)
    }

    pub fn knows_use(&self) -> bool {
        !self.use_steps.is_empty()
    }

    /// Whether two ranges of cores are in the same state.
    pub fn same_state(&self, layout: &Layout, a: usize, b: usize) -> bool {
        let (a, b) = (&layout.segments[a], &layout.segments[b]);
        a.cores.len() == b.cores.len()
            && self.free[a.cores.clone()] == self.free[b.cores.clone()]
            && layout
                .cores_of(a)
                .iter()
                .zip(layout.cores_of(b))
                .all(|(a, b)| a.width() == b.width())
    }

    /// Whether two areas of the same shape have the same threads left.
    pub fn same_free(&self, layout: &Layout, a: usize, b: usize) -> bool {
        self.areas[a] == self.areas[b]
            && self.free[layout.cores_of_area(a)] == self.free[layout.cores_of_area(b)]
    }

    /// Everything that may still be given.
    pub fn free_cpus(&self, layout: &Layout) -> CpuSet {
        let mut cpus = CpuSet::new();
        for (core, mask) in layout.cores.iter().zip(&self.free) {
            for (bit, thread) in layout.threads[core.threads.clone()].iter().enumerate() {
                if mask & (1 << bit) != 0 {
                    cpus.insert(Pcpu::new(*thread));
                }
            }
        }
        cpus
    }
}
