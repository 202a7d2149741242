//! How the vCPUs of a guest sit on cores, and the cheapest threads of one segment for some of them.
//!
//! Which threads of a segment are taken does not change which L3 domains are used. So the choice
//! inside a segment is made by the later preferences alone: fewest cores of which the guest has only
//! a part, fewest free whole cores lost, least used, lowest ids.
//!
//! The exact answer is a table: core by core, the cheapest way to have taken `n` threads so far. On
//! a segment whose cores are alike and whose use was not sampled, the cheapest is known without it:
//! whole cores from the lowest on, and what is left over on a core that is not whole anyhow.

use super::cost::{Cost, Field};
use super::layout::{Layout, Segment};
use super::stock::{Places, Stock};

/// What one vCPU takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// Any free thread.
    Thread,
    /// A thread on a core of which the guest takes at least two.
    Paired,
    /// A whole free core, one thread of which is used. The others are kept idle, or left to anybody.
    Core { keeps_siblings: bool },
}

impl Seat {
    /// How many vCPUs find a seat.
    pub fn capacity(self, places: Places) -> u32 {
        match self {
            Self::Thread => places.threads,
            Self::Paired => places.paired,
            Self::Core { .. } => places.whole_cores,
        }
    }

    /// The cost of taking `count` threads from a core, or `None` when this seat does not allow it.
    fn core_cost(self, count: u32, free: u32, width: u32) -> Option<Cost> {
        let whole = free == width;
        let broken = |is: bool| Cost::of(Field::BrokenCores, u64::from(is));
        let lost = Cost::of(Field::CoresLost, u64::from(whole));
        match self {
            _ if count > free => None,
            Self::Thread => Some(lost + broken(count < width)),
            Self::Paired if free < 2 => None,
            Self::Paired => {
                let alone = Cost::of(Field::SharedCores, u64::from(count == 1));
                Some(alone + lost + broken(count < width))
            }
            Self::Core { .. } if count > 1 || !whole => None,
            Self::Core { keeps_siblings } => Some(lost + broken(width > 1 && !keeps_siblings)),
        }
    }
}

/// One segment of one host.
#[derive(Clone, Copy)]
pub struct Spot<'a> {
    pub layout: &'a Layout,
    pub stock: &'a Stock,
    pub segment: usize,
}

impl Spot<'_> {
    fn segment(&self) -> &Segment {
        &self.layout.segments[self.segment]
    }

    pub fn places(&self) -> Places {
        self.stock.segment(self.segment)
    }

    /// Nobody has any of it, and no thread is kept back.
    pub fn is_wholly_free(&self) -> bool {
        self.places().threads == self.segment().width
    }

    /// What `count` seats cost at the least; `None` when there are not as many.
    pub fn cost(&self, count: u32, seat: Seat) -> Option<Cost> {
        match self.shortcut(count, seat) {
            Some(shortcut) => shortcut.map(|taken| {
                let mut ids = 0;
                taken.each(self, |thread| ids += u64::from(thread));
                taken.cost(ids)
            }),
            None => self.table(count, seat).costs.pop().filter(|cost| *cost != Cost::MAX),
        }
    }

    /// The costs of 0, 1, ... `most` seats; [`Cost::MAX`] where there are not as many.
    pub fn costs(&self, most: u32, seat: Seat) -> Vec<Cost> {
        if self.has_shortcut() {
            let ids = Ids::of(self, seat);
            let cost =
                |count| Some(self.shortcut(count, seat)?.map(|taken| taken.cost(ids.sum(&taken))));
            return (0..=most).map(|count| cost(count).flatten().unwrap_or(Cost::MAX)).collect();
        }
        self.table(most, seat).costs
    }

    /// The threads themselves, as pCPU numbers in the order of the cores, siblings side by side.
    pub fn threads(&self, count: u32, seat: Seat) -> Vec<u32> {
        match self.shortcut(count, seat) {
            Some(shortcut) => {
                let mut threads = Vec::with_capacity(count as usize);
                if let Some(taken) = shortcut {
                    taken.each(self, |thread| threads.push(thread));
                }
                threads
            }
            None => self.table(count, seat).threads(self, count),
        }
    }

    fn has_shortcut(&self) -> bool {
        let segment = self.segment();
        let width = self.layout.cores_of(segment).first().map_or(0, |core| core.width());
        segment.regular && width <= 2 && !self.stock.knows_use()
    }

    /// The cheapest threads of a segment of like cores with one or two threads each.
    fn shortcut(&self, count: u32, seat: Seat) -> Option<Option<Taken>> {
        if !self.has_shortcut() {
            return None;
        }
        let places = self.places();
        if seat.capacity(places) < count {
            return Some(None);
        }
        let width = self.layout.cores_of(self.segment()).first().map_or(1, |core| core.width());
        let mut taken = Taken { seat, width, ..Taken::default() };
        match seat {
            Seat::Core { .. } => taken.whole = count,
            Seat::Paired => (taken.whole, taken.half_of_whole) = (count / 2, count % 2),
            Seat::Thread => {
                taken.whole = places.whole_cores.min(count / width);
                let rest = count - taken.whole * width;
                let halves = places.threads - places.whole_cores * width;
                // Only with a core to spare does one of two threads stay free on it.
                taken.halves = rest.min(halves);
                taken.half_of_whole = rest - taken.halves;
            }
        }
        Some(Some(taken))
    }

    fn table(&self, most: u32, seat: Seat) -> Table {
        let most = most as usize;
        let mut costs = vec![Cost::MAX; most + 1];
        costs[0] = Cost::default();
        let mut choices = Vec::new();
        for core in self.segment().cores.clone() {
            let order = self.by_use(core);
            let mut next = costs.clone();
            let mut choice = vec![0u8; most + 1];
            let mut threads = Cost::default();
            for (count, thread) in (1..).zip(&order) {
                threads = threads
                    + Cost::thread(self.stock.use_of(*thread), self.layout.threads[*thread]);
                let width = self.layout.cores[core].width();
                let Some(cost) = seat.core_cost(count, order.len() as u32, width) else { continue };
                for (before, known) in costs.iter().enumerate() {
                    let after = before + count as usize;
                    if *known == Cost::MAX || after > most {
                        continue;
                    }
                    let total = *known + cost + threads;
                    if total < next[after] {
                        next[after] = total;
                        choice[after] = count as u8;
                    }
                }
            }
            costs = next;
            choices.push(choice);
        }
        Table { costs, choices }
    }

    /// The free threads of a core by use and id, as places in [`Layout::threads`].
    fn by_use(&self, core: usize) -> Vec<usize> {
        let mask = self.stock.free(core);
        let range = self.layout.cores[core].threads.clone();
        let mut order: Vec<usize> =
            range.clone().filter(|thread| mask & (1 << (thread - range.start)) != 0).collect();
        order.sort_by_key(|thread| (self.stock.use_of(*thread), self.layout.threads[*thread]));
        order
    }

    /// Free whole cores, as the threads of each.
    fn whole_cores(&self) -> impl Iterator<Item = &[u32]> {
        let cores = self.segment().cores.clone();
        let whole = cores.filter(|core| {
            let mask = self.stock.free(*core);
            mask != 0 && mask == self.layout.cores[*core].all()
        });
        whole.map(|core| &self.layout.threads[self.layout.cores[core].threads.clone()])
    }

    /// The free threads of cores of two of which only one is free, by id.
    fn halves(&self) -> Vec<u32> {
        let mut halves = Vec::new();
        for core in self.segment().cores.clone() {
            let mask = self.stock.free(core);
            if mask != 0 && mask != self.layout.cores[core].all() {
                let first = self.layout.cores[core].threads.start;
                halves.push(self.layout.threads[first + mask.trailing_zeros() as usize]);
            }
        }
        halves.sort_unstable();
        halves
    }
}

/// Threads taken by the shortcut.
#[derive(Clone, Copy, Debug)]
struct Taken {
    seat: Seat,
    width: u32,
    /// Whole cores, with all their threads (one, where a seat is a core).
    whole: u32,
    /// Threads whose sibling is somebody else's.
    halves: u32,
    /// 1 when a free whole core gives one of its two threads.
    half_of_whole: u32,
}

impl Default for Taken {
    fn default() -> Self {
        Self { seat: Seat::Thread, width: 1, whole: 0, halves: 0, half_of_whole: 0 }
    }
}

impl Taken {
    fn cost(&self, ids: u64) -> Cost {
        let Self { seat, width, whole, halves, half_of_whole } = *self;
        let broken = match seat {
            Seat::Core { keeps_siblings } if width > 1 && !keeps_siblings => whole,
            _ => halves + half_of_whole,
        };
        let alone = if seat == Seat::Paired { half_of_whole } else { 0 };
        Cost::of(Field::SharedCores, alone.into())
            + Cost::of(Field::BrokenCores, broken.into())
            + Cost::of(Field::CoresLost, (whole + half_of_whole).into())
            + Cost { head: 0, tail: ids }
    }

    fn threads_of_a_core(&self) -> usize {
        if matches!(self.seat, Seat::Core { .. }) { 1 } else { self.width as usize }
    }

    fn each(&self, spot: &Spot, mut then: impl FnMut(u32)) {
        let mut cores = spot.whole_cores();
        for core in cores.by_ref().take(self.whole as usize) {
            core[..self.threads_of_a_core()].iter().for_each(|thread| then(*thread));
        }
        if self.half_of_whole == 1
            && let Some(core) = cores.next()
        {
            then(core[0]);
        }
        if self.halves > 0 {
            spot.halves().into_iter().take(self.halves as usize).for_each(then);
        }
    }
}

/// Sums of the ids that the shortcut takes, so that many counts in a row cost one walk.
struct Ids {
    /// Of the first so many whole cores.
    whole: Vec<u64>,
    first_of_whole: Vec<u64>,
    halves: Vec<u64>,
}

impl Ids {
    fn of(spot: &Spot, seat: Seat) -> Self {
        let used = match seat {
            Seat::Core { .. } => 1,
            _ => usize::MAX,
        };
        let (mut whole, mut first_of_whole) = (vec![0], Vec::new());
        for core in spot.whole_cores() {
            let sum: u64 = core.iter().take(used).map(|thread| u64::from(*thread)).sum();
            whole.push(whole[whole.len() - 1] + sum);
            first_of_whole.push(u64::from(core[0]));
        }
        let mut halves = vec![0];
        for thread in spot.halves() {
            halves.push(halves[halves.len() - 1] + u64::from(thread));
        }
        Self { whole, first_of_whole, halves }
    }

    fn sum(&self, taken: &Taken) -> u64 {
        let half = match taken.half_of_whole {
            0 => 0,
            _ => self.first_of_whole[taken.whole as usize],
        };
        self.whole[taken.whole as usize] + half + self.halves[taken.halves as usize]
    }
}

struct Table {
    costs: Vec<Cost>,
    /// For each core and number of threads so far, how many of them this core gave.
    choices: Vec<Vec<u8>>,
}

impl Table {
    fn threads(&self, spot: &Spot, count: u32) -> Vec<u32> {
        let mut left = count as usize;
        let mut by_core = Vec::new();
        for (core, choice) in spot.segment().cores.clone().zip(&self.choices).rev() {
            let given = usize::from(choice[left]);
            if given > 0 {
                let mut threads: Vec<u32> = spot
                    .by_use(core)
                    .into_iter()
                    .take(given)
                    .map(|t| spot.layout.threads[t])
                    .collect();
                threads.sort_unstable();
                by_core.push(threads);
                left -= given;
            }
        }
        by_core.into_iter().rev().flatten().collect()
    }
}
