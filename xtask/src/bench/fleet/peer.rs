//! How the peer places: OpenStack Nova's `NUMATopologyFilter`, its cell choice and its weighers,
//! stated anew from what they do.
//!
//! Of a host: as many host cells as the guest has, each guest cell on a cell of its own; cells sorted
//! by free CPUs, then by free memory, the fullest first under `pack` and the emptiest first under
//! `spread`; the first order in which each fits. In a cell: cores by how many of their threads are
//! free, most first; `prefer` takes what comes, `require` needs two threads of a core, `isolate` a core
//! that is wholly free, all of whose threads it keeps. Memory must be free pages of the size asked for.
//! Between hosts: the RAM and CPU weighers, which prefer the most free under `spread` and the least
//! free under `pack`.

use super::trace::Size;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Pack,
    Spread,
}

/// One host as the peer sees it.
#[derive(Clone)]
pub struct Host {
    pub cells: Vec<Cell>,
}

#[derive(Clone)]
pub struct Cell {
    /// Free threads of each core, a bit each.
    pub cores: Vec<u8>,
    pub threads: u32,
    /// 4K pages, then 2M.
    pub pages: [u64; 2],
}

/// Cores and a bit for each of their threads.
type Threads = Vec<(usize, u8)>;

/// What a guest has: for each of its cells the host's cell, threads by core, pages.
#[derive(Clone)]
pub struct Given {
    pub host: usize,
    cells: Vec<(usize, Threads, u64)>,
    huge: usize,
}

impl Cell {
    fn free(&self) -> u32 {
        self.cores.iter().map(|core| core.count_ones()).sum()
    }

    /// Threads for so many vCPUs: core, bits.
    fn pick(&self, vcpus: u32, smt: u8) -> Option<Threads> {
        let wanted = |free: u32| match smt {
            0 => free > 0,
            1 => free > 1,
            _ => free == self.threads,
        };
        let mut order: Threads = (0..)
            .zip(&self.cores)
            .map(|(core, bits)| (core, *bits))
            .filter(|(_, bits)| wanted(bits.count_ones()))
            .collect();
        order.sort_by_key(|(_, bits)| std::cmp::Reverse(bits.count_ones()));
        let mut left = vcpus;
        let mut picked = Vec::new();
        for (core, bits) in order {
            if left == 0 {
                break;
            }
            if smt == 2 {
                picked.push((core, bits));
                left -= 1;
                continue;
            }
            let mut taken = 0u8;
            for bit in (0..8).filter(|bit| bits & (1 << bit) != 0) {
                if left > 0 {
                    taken |= 1 << bit;
                    left -= 1;
                }
            }
            picked.push((core, taken));
        }
        (left == 0).then_some(picked)
    }
}

impl Host {
    pub fn free(&self) -> u32 {
        self.cells.iter().map(Cell::free).sum()
    }

    fn memory(&self) -> u64 {
        self.cells.iter().map(|cell| cell.pages[0] * 4 + cell.pages[1] * 2048).sum()
    }

    fn fit(&self, size: Size, way: Way) -> Option<Given> {
        let cells = size.cells as usize;
        let (vcpus, huge) = (size.vcpus / size.cells, usize::from(size.huge));
        let page_kib = if size.huge { 2048 } else { 4 };
        let pages = size.memory_mib / u64::from(size.cells) * 1024 / page_kib;
        let mut order: Vec<usize> = (0..self.cells.len()).collect();
        let free = |cell: &usize| {
            let cell = &self.cells[*cell];
            (cell.free(), cell.pages[0] * 4 + cell.pages[1] * 2048)
        };
        match way {
            Way::Pack => order.sort_by_key(free),
            Way::Spread => order.sort_by_key(|cell| std::cmp::Reverse(free(cell))),
        }
        // Guest cells are alike, so the first order that fits is the first cells that do.
        let mut given = Vec::new();
        for cell in order {
            if given.len() < cells
                && self.cells[cell].pages[huge] >= pages
                && let Some(picked) = self.cells[cell].pick(vcpus, size.smt)
            {
                given.push((cell, picked, pages));
            }
        }
        (given.len() == cells).then_some(Given { host: 0, cells: given, huge })
    }

    pub fn take(&mut self, given: &Given) {
        for (cell, cores, pages) in &given.cells {
            let cell = &mut self.cells[*cell];
            cores.iter().for_each(|(core, bits)| cell.cores[*core] &= !bits);
            cell.pages[given.huge] -= pages;
        }
    }

    pub fn give_back(&mut self, given: &Given) {
        for (cell, cores, pages) in &given.cells {
            let cell = &mut self.cells[*cell];
            cores.iter().for_each(|(core, bits)| cell.cores[*core] |= bits);
            cell.pages[given.huge] += pages;
        }
    }
}

/// Every host is filtered, then the weighers decide; the first of equals.
pub fn place(hosts: &mut [Host], size: Size, way: Way) -> Option<Given> {
    let fitting: Vec<(usize, Given)> = (0..)
        .zip(hosts.iter())
        .filter_map(|(number, host)| Some((number, host.fit(size, way)?)))
        .collect();
    let share = |of: &dyn Fn(&Host) -> f64, host: usize| {
        let all = || fitting.iter().map(|(number, _)| of(&hosts[*number]));
        let (least, most) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
        if most > least { (of(&hosts[host]) - least) / (most - least) } else { 0.0 }
    };
    let weight = |host: usize| {
        let weight =
            share(&|host| host.memory() as f64, host) + share(&|host| f64::from(host.free()), host);
        if way == Way::Spread { weight } else { -weight }
    };
    let mut best: Option<(f64, usize)> = None;
    for (index, (number, _)) in fitting.iter().enumerate() {
        let weight = weight(*number);
        if best.is_none_or(|(known, _)| weight > known) {
            best = Some((weight, index));
        }
    }
    let (_, index) = best?;
    let (number, given) = fitting.into_iter().nth(index)?;
    let given = Given { host: number, ..given };
    hosts[number].take(&given);
    Some(given)
}
