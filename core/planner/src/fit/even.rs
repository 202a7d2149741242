//! A number of areas with equal parts: every part `n` vCPUs, or some of them one core more.
//!
//! Which areas is decided in two steps. The distance depends only on how many parts each class of
//! twin areas takes (areas that no distance tells apart), so all numbers by class with the smallest
//! distance are found first; hosts have few classes (a package's nodes are twins), however many
//! nodes they have. Then each class gives the areas that are cheapest by the later preferences.
//!
//! The first step walks a tree cut by a lower bound; the second looks at one way to choose where
//! costs add up, and walks a tree only where the cheapest by sums fails what holds of the whole. Both
//! count their steps, and an answer found with the count used up is not called optimal.

use super::Proof;
use super::problem::{Choice, Problem};
use std::collections::BTreeMap;

/// Steps of a walk before it is cut short.
const PATIENCE: u32 = 50_000;
/// Distances that are looked into, nearest first, while none holds as a whole.
const MOST_DISTANCES: u32 = 64;
/// Numbers by class with the same smallest distance that are looked into.
const MOST_TIES: usize = 512;

/// Equal parts: `larger` of them have `size + unit` vCPUs.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    pub count: u32,
    pub size: u32,
    pub larger: u32,
    pub unit: u32,
}

impl Parts {
    /// `vcpus` in `count` parts of whole units; `None` when some part would be empty.
    pub fn of(vcpus: u32, count: u32, unit: u32) -> Option<Self> {
        let units = vcpus / unit;
        (units >= count).then(|| Self {
            count,
            size: units / count * unit,
            larger: units % count,
            unit,
        })
    }

    fn large(&self) -> u32 {
        self.size + self.unit
    }
}

pub struct Found {
    pub choice: Choice,
    pub distance: u64,
    pub proof: Proof,
}

/// The areas of a class that could take a part: those for a large one are among those for a small.
struct Class {
    areas: Vec<usize>,
    small: Vec<usize>,
    large: Vec<usize>,
}

/// How many parts each class takes: large, small.
type Numbers = Vec<(u32, u32)>;

struct Walk<'a, 'b> {
    problem: &'a Problem<'b>,
    parts: Parts,
    classes: Vec<Class>,
    nearest: u64,
    steps: u32,
    /// Only distances above this one are looked for.
    above: Option<u64>,
    best: u64,
    ties: Vec<Numbers>,
    cut: bool,
}

/// The cheapest choice with these parts.
pub fn place(problem: &Problem, parts: Parts) -> Option<Found> {
    let enough = |size: u32, count: u32| {
        let holding = (0..problem.areas()).filter(|area| problem.holds(*area, size)).count();
        holding >= count as usize
    };
    if !enough(parts.size, parts.count)
        || !(parts.larger == 0 || enough(parts.large(), parts.larger))
    {
        return None;
    }
    let classes = classes(problem, &parts);
    let mut walk = Walk {
        nearest: problem.layout.nearest,
        problem,
        parts,
        classes,
        steps: 0,
        above: None,
        best: u64::MAX,
        ties: Vec::new(),
        cut: false,
    };
    for _ in 0..MOST_DISTANCES {
        walk.best = u64::MAX;
        walk.numbers(&mut Vec::new(), parts.larger, parts.count - parts.larger, 0);
        if walk.ties.is_empty() {
            return None;
        }
        if let Some(found) = walk.choose() {
            return Some(found);
        }
        // None of them holds as a whole (memory to the last page, devices): farther ones may.
        walk.above = Some(walk.best);
    }
    None
}

fn classes(problem: &Problem, parts: &Parts) -> Vec<Class> {
    let mut by_twin: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for area in 0..problem.areas() {
        by_twin.entry(problem.layout.twins[area]).or_default().push(area);
    }
    let holding = |areas: &[usize], size: u32| -> Vec<usize> {
        let seated =
            |area: &usize| problem.holds(*area, size) && problem.share_cost(*area, size).is_some();
        areas.iter().copied().filter(seated).collect()
    };
    let class = |areas: Vec<usize>| {
        let small = holding(&areas, parts.size);
        let large = if parts.larger > 0 { holding(&small, parts.large()) } else { Vec::new() };
        Class { areas, small, large }
    };
    by_twin.into_values().map(class).filter(|class| !class.small.is_empty()).collect()
}

impl Walk<'_, '_> {
    /// Goes through the numbers of the classes from the next on, keeping all with the smallest
    /// distance.
    fn numbers(&mut self, so_far: &mut Numbers, large: u32, small: u32, distance: u64) {
        self.steps += 1;
        if self.steps > PATIENCE {
            self.cut = true;
            return;
        }
        if large + small == 0 {
            self.keep(so_far, distance);
            return;
        }
        let index = so_far.len();
        if index == self.classes.len()
            || distance + self.still_to_come(so_far, large, small) > self.best
        {
            return;
        }
        let (hold_small, hold_large) =
            (self.classes[index].small.len() as u32, self.classes[index].large.len() as u32);
        for here_large in (0..=large.min(hold_large)).rev() {
            for here_small in (0..=small.min(hold_small - here_large)).rev() {
                let more = self.added(so_far, (here_large, here_small));
                if distance + more > self.best {
                    continue;
                }
                so_far.push((here_large, here_small));
                self.numbers(so_far, large - here_large, small - here_small, distance + more);
                so_far.pop();
            }
        }
    }

    fn keep(&mut self, numbers: &Numbers, distance: u64) {
        if self.above.is_some_and(|above| distance <= above) {
            return;
        }
        if distance < self.best {
            self.best = distance;
            self.ties.clear();
        }
        if distance == self.best {
            match self.ties.len() < MOST_TIES {
                true => {
                    let mut numbers = numbers.clone();
                    numbers.resize(self.classes.len(), (0, 0));
                    self.ties.push(numbers);
                }
                false => self.cut = true,
            }
        }
    }

    fn vcpus(&self, (large, small): (u32, u32)) -> u64 {
        u64::from(large) * u64::from(self.parts.large())
            + u64::from(small) * u64::from(self.parts.size)
    }

    /// Twice the pairs of vCPUs in different parts of these.
    fn pairs(&self, (large, small): (u32, u32)) -> u64 {
        let (of_large, of_small) = (u64::from(self.parts.large()), u64::from(self.parts.size));
        let alike = u64::from(large) * of_large * of_large + u64::from(small) * of_small * of_small;
        self.vcpus((large, small)).pow(2) - alike
    }

    fn added(&self, so_far: &Numbers, here: (u32, u32)) -> u64 {
        let class = &self.classes[so_far.len()];
        let layout = self.problem.layout;
        let inside = match class.areas[..] {
            [a, b, ..] => self.pairs(here) / 2 * layout.between(a, b),
            _ => 0,
        };
        let to_memory = u64::from(self.problem.wanted.vcpus) * layout.beyond_own(class.areas[0]);
        let to_others = so_far.iter().zip(&self.classes).map(|(numbers, other)| {
            self.vcpus(*numbers) * self.vcpus(here) * layout.between(other.areas[0], class.areas[0])
        });
        inside + self.vcpus(here) * to_memory + to_others.sum::<u64>()
    }

    /// No placement of the rest adds less.
    fn still_to_come(&self, so_far: &Numbers, large: u32, small: u32) -> u64 {
        let placed: u64 = so_far.iter().map(|numbers| self.vcpus(*numbers)).sum();
        (self.vcpus((large, small)) * placed + self.pairs((large, small)) / 2) * self.nearest
    }

    fn choose(&mut self) -> Option<Found> {
        let mut best: Option<Choice> = None;
        for numbers in std::mem::take(&mut self.ties) {
            let cheapest = self.cheapest(&numbers);
            let settled = self.only_one_way(&numbers)
                || cheapest.as_ref().is_some_and(|c| c.rank.lost_in_largest == (0, 0));
            let choice = if settled { cheapest } else { self.walk_areas(&numbers, cheapest) };
            best = match (best, choice) {
                (Some(a), Some(b)) => Some(if b.rank < a.rank { b } else { a }),
                (a, b) => a.or(b),
            };
        }
        let proof = if self.cut { Proof::BestFound { bound: 0 } } else { Proof::Optimal };
        Some(Found { choice: best?, distance: self.best, proof })
    }

    /// Whether each class takes none of its areas, or all of them with equal parts.
    fn only_one_way(&self, numbers: &Numbers) -> bool {
        self.classes.iter().zip(numbers).all(|(class, (large, small))| {
            *large == 0 && (*small == 0 || *small as usize == class.small.len())
        })
    }

    /// By the sum of costs alone: the cheapest areas of each class.
    fn cheapest(&self, numbers: &Numbers) -> Option<Choice> {
        let mut parts = Vec::new();
        for (class, (large, small)) in self.classes.iter().zip(numbers) {
            if *large == 0 {
                let size = self.parts.size;
                let cost = |area: &usize| Some((self.problem.share_cost(*area, size)?, *area));
                let mut costs: Vec<_> = class.small.iter().filter_map(cost).collect();
                costs.sort_unstable();
                let taken = costs.get(..*small as usize)?;
                parts.extend(taken.iter().map(|(_, area)| (*area, size)));
            } else {
                parts.extend(self.assign(class, *large, *small)?);
            }
        }
        self.problem.choice(&parts)
    }

    /// Large and small parts to the areas of a class, cheapest in the sum: area by area, the
    /// cheapest way to have placed so many of each.
    fn assign(&self, class: &Class, large: u32, small: u32) -> Option<Vec<(usize, u32)>> {
        type Way = Option<(super::cost::Cost, Vec<(usize, u32)>)>;
        let width = small as usize + 1;
        let mut ways: Vec<Way> = vec![None; (large as usize + 1) * width];
        ways[0] = Some((super::cost::Cost::default(), Vec::new()));
        for area in &class.small {
            let mut next = ways.clone();
            let options = [(self.parts.large(), width), (self.parts.size, 1)];
            for (size, step) in options {
                if size == self.parts.large() && !class.large.contains(area) {
                    continue;
                }
                let Some(cost_here) = self.problem.share_cost(*area, size) else { continue };
                for (index, way) in ways.iter().enumerate() {
                    let after = index + step;
                    let full = step == 1 && index % width == small as usize;
                    let Some((cost, taken)) = way.as_ref().filter(|_| !full && after < next.len())
                    else {
                        continue;
                    };
                    let total = *cost + cost_here;
                    if next[after].as_ref().is_none_or(|(known, _)| total < *known) {
                        let mut taken = taken.clone();
                        taken.push((*area, size));
                        next[after] = Some((total, taken));
                    }
                }
            }
            ways = next;
        }
        ways.pop().flatten().map(|(_, taken)| taken)
    }

    /// Every way to choose the areas, until the steps are used up.
    fn walk_areas(&mut self, numbers: &Numbers, known: Option<Choice>) -> Option<Choice> {
        let open = self.classes.iter().enumerate();
        let open: Vec<(usize, usize)> = open
            .flat_map(|(class, own)| own.small.iter().map(move |area| (class, *area)))
            .collect();
        let mut walk = AreaWalk {
            walk: self,
            left: numbers.clone(),
            taken: Vec::new(),
            head: 0,
            best: known,
            steps: PATIENCE / 10,
        };
        walk.go(&open);
        let (best, steps) = (walk.best, walk.steps);
        self.cut |= steps == 0;
        best
    }
}

struct AreaWalk<'a, 'b, 'c> {
    walk: &'a Walk<'b, 'c>,
    left: Numbers,
    taken: Vec<(usize, u32)>,
    /// Of the areas taken; the rest adds to it.
    head: u128,
    best: Option<Choice>,
    steps: u32,
}

impl AreaWalk<'_, '_, '_> {
    fn go(&mut self, open: &[(usize, usize)]) {
        if self.steps == 0 || self.best.as_ref().is_some_and(|best| best.rank.head < self.head) {
            return;
        }
        self.steps -= 1;
        if self.left.iter().all(|numbers| *numbers == (0, 0)) {
            let choice = self.walk.problem.choice(&self.taken);
            if let Some(choice) =
                choice.filter(|c| self.best.as_ref().is_none_or(|best| c.rank < best.rank))
            {
                self.best = Some(choice);
            }
            return;
        }
        let Some(((class, area), rest)) = open.split_first() else { return };
        let (large, small) = self.left[*class];
        // What is left of the class must suffice.
        let still = 1 + rest.iter().filter(|(other, _)| other == class).count();
        if still < (large + small) as usize {
            return;
        }
        if small > 0 {
            self.left[*class].1 -= 1;
            self.take(rest, *area, self.walk.parts.size);
            self.left[*class].1 += 1;
        }
        if large > 0 && self.walk.classes[*class].large.contains(area) {
            self.left[*class].0 -= 1;
            self.take(rest, *area, self.walk.parts.large());
            self.left[*class].0 += 1;
        }
        self.go(rest);
    }

    fn take(&mut self, rest: &[(usize, usize)], area: usize, size: u32) {
        let Some(cost) = self.walk.problem.share_cost(area, size) else { return };
        self.taken.push((area, size));
        self.head += cost.head;
        self.go(rest);
        self.head -= cost.head;
        self.taken.pop();
    }
}
