//! Whether a guest can be divided over a number of areas at all, to the last page.
//!
//! What holds only of the whole can refuse every division that the walk of [`super::uneven`] looks
//! at: each part takes its due of pages, rounded down or up, and together they must be all. Here
//! every division is gone through area by area, keeping for each number of areas and vCPUs so far
//! only what matters for the rest: the most pages that can be placed, and where there are fewer pages
//! than vCPUs (so that parts take a page that is not their due) every number of pages.

use super::problem::Problem;
use std::collections::BTreeMap;

/// States that are kept at most for one area; beyond it nothing is said.
const MOST_STATES: usize = 100_000;

/// Areas, vCPUs and (where it matters) pages so far.
type State = (u32, u32, u64);

/// How a state was reached: the pages that can be placed at most, and what the last area took.
#[derive(Clone, Copy)]
struct Reached {
    pages: u64,
    taken: u32,
    before: State,
}

pub enum Division {
    /// vCPUs by area.
    Possible(Vec<(usize, u32)>),
    Impossible,
    NotSaid,
}

/// A division of the guest over `count` of the areas, each with at most what stands beside it.
pub fn divide(problem: &Problem, areas: &[(usize, u32)], count: u32, unit: u32) -> Division {
    let wanted = problem.wanted;
    let exact = wanted.pages < u64::from(wanted.vcpus);
    let shared = areas.iter().any(|(area, _)| {
        let pool = problem.layout.areas[*area].pool;
        areas.iter().any(|(b, _)| b != area && problem.layout.areas[*b].pool == pool)
    });
    if shared {
        return Division::NotSaid;
    }
    let start = Reached { pages: 0, taken: 0, before: (0, 0, 0) };
    let mut layers: Vec<BTreeMap<State, Reached>> = vec![BTreeMap::from([((0, 0, 0), start)])];
    for (area, most) in areas {
        let last = &layers[layers.len() - 1];
        let mut next: BTreeMap<State, Reached> = last
            .iter()
            .map(|(state, reached)| (*state, Reached { taken: 0, before: *state, ..*reached }))
            .collect();
        for (state, reached) in last.iter().filter(|((used, ..), _)| *used < count) {
            let room = (*most).min(wanted.vcpus - state.1);
            for here in (1..=room / unit).map(|units| units * unit) {
                let low = problem.pages_at_least(here);
                let high = problem.pages_at_most(here).min(problem.pages(*area));
                let shares = if exact { low..=high } else { high..=high };
                for share in shares {
                    let pages = reached.pages + share;
                    if exact && pages > wanted.pages {
                        continue;
                    }
                    let key = (state.0 + 1, state.1 + here, if exact { pages } else { 0 });
                    let better = next.get(&key).is_none_or(|known| known.pages < pages);
                    if better {
                        next.insert(key, Reached { pages, taken: here, before: *state });
                    }
                }
            }
        }
        if next.len() > MOST_STATES {
            return Division::NotSaid;
        }
        layers.push(next);
    }
    let end = (count, wanted.vcpus, if exact { wanted.pages } else { 0 });
    let reached = layers[layers.len() - 1].get(&end);
    if reached.is_none_or(|reached| reached.pages < wanted.pages) {
        return Division::Impossible;
    }
    let mut state = end;
    let mut parts = Vec::new();
    for ((area, _), layer) in areas.iter().zip(&layers[1..]).rev() {
        let reached = layer[&state];
        if reached.taken > 0 {
            parts.push((*area, reached.taken));
        }
        state = reached.before;
    }
    Division::Possible(parts)
}
