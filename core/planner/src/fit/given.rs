//! Cells whose sizes are given: a frozen topology, `--split exact`, or equal cells that must share.
//!
//! First each cell to an area of its own. Whether that is possible is a matching of cells to areas,
//! so a host that cannot is refused without walking through permutations. Where it is possible, a
//! walk finds the cheapest, cell by cell from the largest, taking areas that nothing tells apart only
//! once.
//!
//! Where it is not, several cells may share an area, as few as can be. That is packing in two
//! dimensions (CPUs and pages); the walk is bounded, and says so when it gave up instead of having
//! seen everything.

use super::even::Found;
use super::problem::{Choice, Problem};
use super::{GivenCell, Proof};

const PATIENCE: u32 = 40_000;

/// An area for each cell.
pub struct Placed {
    pub found: Found,
    /// By cell.
    pub areas: Vec<usize>,
}

/// Not placed.
pub enum Gave {
    /// There is no way.
    No,
    /// None was found before the steps were used up.
    Up,
}

struct Walk<'a, 'b> {
    problem: &'a Problem<'b>,
    cells: &'a [GivenCell],
    /// Cells, the largest first.
    order: Vec<usize>,
    by_cell: Vec<usize>,
    /// Placed so far: vCPUs by area, pages by pool.
    vcpus: Vec<u32>,
    pages: Vec<u64>,
    distance: u64,
    may_share: bool,
    best: Option<(usize, u64, Choice, Vec<usize>)>,
    steps: u32,
}

/// The cheapest way to place the cells.
pub fn place(problem: &Problem, cells: &[GivenCell]) -> Result<Placed, Gave> {
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|cell| (std::cmp::Reverse((cells[*cell].vcpus, cells[*cell].pages)), *cell));
    let fits = |cell: usize, area: usize| {
        problem.seats[area] >= cells[cell].vcpus && problem.pages(area) >= cells[cell].pages
    };
    if (0..cells.len()).any(|cell| !(0..problem.areas()).any(|area| fits(cell, area))) {
        return Err(Gave::No);
    }
    let mut cut = false;
    for may_share in [false, true] {
        if !may_share && !can_match(cells.len(), problem.areas(), fits) {
            continue;
        }
        let mut walk = Walk {
            problem,
            cells,
            order: order.clone(),
            by_cell: vec![usize::MAX; cells.len()],
            vcpus: vec![0; problem.areas()],
            pages: vec![0; problem.layout.pools()],
            distance: 0,
            may_share,
            best: None,
            steps: PATIENCE,
        };
        walk.go(0, 0);
        let seen_all = walk.steps > 0;
        if let Some((_, distance, choice, areas)) = walk.best {
            let proof = if seen_all { Proof::Optimal } else { Proof::BestFound { bound: 0 } };
            return Ok(Placed { found: Found { choice, distance, proof }, areas });
        }
        cut |= !seen_all;
    }
    Err(if cut { Gave::Up } else { Gave::No })
}

/// Whether every cell can have an area of its own: augmenting paths.
fn can_match(cells: usize, areas: usize, fits: impl Fn(usize, usize) -> bool) -> bool {
    fn place(
        cell: usize,
        areas: usize,
        fits: &impl Fn(usize, usize) -> bool,
        taken: &mut [Option<usize>],
        seen: &mut [bool],
    ) -> bool {
        for area in 0..areas {
            if seen[area] || !fits(cell, area) {
                continue;
            }
            seen[area] = true;
            let free = taken[area].is_none_or(|other| place(other, areas, fits, taken, seen));
            if free {
                taken[area] = Some(cell);
                return true;
            }
        }
        false
    }
    let mut taken = vec![None; areas];
    (0..cells).all(|cell| place(cell, areas, &fits, &mut taken, &mut vec![false; areas]))
}

impl Walk<'_, '_> {
    fn go(&mut self, depth: usize, shared: usize) {
        if self.steps == 0 {
            return;
        }
        self.steps -= 1;
        if self.is_worse(shared + self.must_still_share(depth)) {
            return;
        }
        let Some(cell) = self.order.get(depth).copied() else {
            self.finish(shared);
            return;
        };
        let mut tried: Vec<usize> = Vec::new();
        // Areas of their own first: a way with little sharing is found early, and cuts the rest.
        let areas = self.problem.areas();
        for index in 0..if self.may_share { 2 * areas } else { areas } {
            let area = index % areas;
            let in_use = self.vcpus[area];
            let may = (in_use > 0) == (index >= areas) && self.has_room(cell, area, in_use);
            if !may || self.must_come_later(depth, area) {
                continue;
            }
            if in_use == 0 && tried.iter().any(|other| self.nothing_tells_apart(*other, area)) {
                continue;
            }
            if in_use == 0 {
                tried.push(area);
            }
            let pool = self.problem.layout.areas[area].pool;
            let (distance, wanted) = (self.distance, self.cells[cell]);
            self.distance += self.added(area, wanted.vcpus);
            self.vcpus[area] += wanted.vcpus;
            self.pages[pool] += wanted.pages;
            self.by_cell[cell] = area;
            self.go(depth + 1, shared + usize::from(in_use > 0));
            self.by_cell[cell] = usize::MAX;
            self.vcpus[area] = in_use;
            self.pages[pool] -= wanted.pages;
            self.distance = distance;
        }
    }

    fn has_room(&self, cell: usize, area: usize, in_use: u32) -> bool {
        let wanted = self.cells[cell];
        let pool = self.problem.layout.areas[area].pool;
        let pages = self.pages[pool];
        self.problem.seats[area] >= in_use + wanted.vcpus
            && self.problem.pages(area) >= pages.saturating_add(wanted.pages)
    }

    /// Of cells that are alike, the later one never goes to a lower area: that would be the same
    /// placement once more.
    fn must_come_later(&self, depth: usize, area: usize) -> bool {
        let Some(before) = depth.checked_sub(1).map(|before| self.order[before]) else {
            return false;
        };
        self.cells[before] == self.cells[self.order[depth]] && area < self.by_cell[before]
    }

    /// Free areas in the same state, as far from everything as each other.
    fn nothing_tells_apart(&self, a: usize, b: usize) -> bool {
        let (layout, stock) = (self.problem.layout, self.problem.stock);
        let (of_a, of_b) = (&layout.areas[a], &layout.areas[b]);
        let devices = &self.problem.wanted.devices;
        layout.twins[a] == layout.twins[b]
            && self.problem.pages(a) == self.problem.pages(b)
            && of_a.pool != of_b.pool
            && !stock.knows_use()
            && of_a.segments.len() == of_b.segments.len()
            && of_a
                .segments
                .clone()
                .zip(of_b.segments.clone())
                .all(|(a, b)| stock.same_state(layout, a, b))
            && devices.iter().all(|d| d.near[a] == d.near[b] && d.distance[a] == d.distance[b])
    }

    /// Of the cells left, those that find no unused area.
    fn must_still_share(&self, depth: usize) -> usize {
        let areas = self.problem.seats.iter().zip(&self.vcpus);
        let unused = areas.filter(|(seats, vcpus)| **seats > 0 && **vcpus == 0);
        (self.cells.len() - depth).saturating_sub(unused.count())
    }

    fn parts(&self) -> Vec<(usize, u32)> {
        let in_use = self.vcpus.iter().copied().enumerate();
        in_use.filter(|(_, vcpus)| *vcpus > 0).collect()
    }

    /// The distance of so many more vCPUs in an area to those in others, and to their own memory where
    /// that is elsewhere.
    fn added(&self, area: usize, vcpus: u32) -> u64 {
        let others = self.vcpus.iter().enumerate().filter(|(other, n)| *other != area && **n > 0);
        let to = |(other, n): (usize, &u32)| {
            u64::from(*n) * u64::from(vcpus) * self.problem.layout.between(other, area)
        };
        others.map(to).sum::<u64>() + self.problem.to_memory(area, vcpus)
    }

    fn is_worse(&self, shared: usize) -> bool {
        let Some((best_shared, best, ..)) = &self.best else { return false };
        (shared, self.distance) > (*best_shared, *best)
    }

    fn finish(&mut self, shared: usize) {
        let (parts, distance) = (self.parts(), self.distance);
        let better = |choice: &Choice| {
            self.best.as_ref().is_none_or(|(best_shared, best, known, _)| {
                (shared, distance, choice.rank) < (*best_shared, *best, known.rank)
            })
        };
        if let Some(choice) = self.problem.choice(&parts).filter(better) {
            self.best = Some((shared, distance, choice, self.by_cell.clone()));
        }
    }
}
