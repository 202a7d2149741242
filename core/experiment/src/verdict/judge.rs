//! The judge: from all runs to all comparisons.

use super::claim::{self, Bar, Floor, Measure};
use super::conditions;
use super::doubt::Doubt;
use super::pairs::{ByCell, Pair, Ratio, ratios};
use super::{Comparison, Judgement, Question, Verdict};
use crate::metric::Metric;
use crate::order::Arm;
use crate::stats::holm;
use crate::trial::{Cell, Trial};

/// One comparison before anything is known of the others.
struct Open<'a> {
    scenario: &'a str,
    cell: &'a Cell,
    metric: Metric,
    pairs: Vec<Pair<'a>>,
    ratios: Vec<Ratio>,
    measure: Option<Measure>,
    chance: f64,
}

/// Judges runs. Those of scenarios that the question does not name are not looked at.
pub fn judge(question: &Question, trials: &[Trial]) -> Judgement {
    let cells = ByCell::of(trials);
    let baseline = Arm::Scenario { index: question.baseline };
    let floors = floors(question, &cells, baseline);
    let mut comparisons = Vec::new();
    // Each list is a family: what is asked at once.
    for metrics in [core::slice::from_ref(&question.primary), &question.secondary[..]] {
        let open = open(question, &cells, baseline, metrics);
        let chances: Vec<f64> = open.iter().map(|open| open.chance).collect();
        let claims = u32::try_from(open.len()).unwrap_or(u32::MAX);
        for (open, chance) in open.into_iter().zip(holm(&chances)) {
            comparisons.push(close(question, open, &floors, chance, claims));
        }
    }
    Judgement {
        primary: question.primary,
        worth: question.worth,
        baseline: name(question, question.baseline).to_owned(),
        comparisons,
        panels: floors.into_iter().map(|floor| floor.panel).collect(),
    }
}

fn name(question: &Question, index: u32) -> &str {
    question.scenarios.get(index as usize).map_or("", String::as_str)
}

/// A seed of its own for each place, or equal noise would be drawn for all.
fn seed(question: &Question, cell: usize, metric: Metric, arm: u32) -> u64 {
    let place = (cell as u64) << 32 | (metric as u64) << 16 | u64::from(arm);
    question.seed ^ place.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn floors(question: &Question, cells: &ByCell<'_>, baseline: Arm) -> Vec<Floor> {
    let mut found = Vec::new();
    for (index, cell) in cells.cells().enumerate() {
        let pairs = cells.pairs(cell, baseline, Arm::Control);
        for metric in core::iter::once(&question.primary).chain(&question.secondary) {
            let seed = seed(question, index, *metric, u32::from(u16::MAX));
            found.extend(claim::floor(cell, *metric, &ratios(&pairs, *metric), seed));
        }
    }
    found
}

fn open<'a>(
    question: &'a Question,
    cells: &ByCell<'a>,
    baseline: Arm,
    metrics: &[Metric],
) -> Vec<Open<'a>> {
    let mut found = Vec::new();
    for metric in metrics {
        for (place, cell) in cells.cells().enumerate() {
            for (index, scenario) in (0_u32..).zip(&question.scenarios) {
                let pairs = cells.pairs(cell, baseline, Arm::Scenario { index });
                if index == question.baseline || pairs.is_empty() {
                    continue;
                }
                let ratios = ratios(&pairs, *metric);
                let seed = seed(question, place, *metric, index);
                let measure = claim::measure(&ratios, question.worth, seed);
                let chance = measure.as_ref().map_or(1.0, |m| m.chance(question.worth, seed));
                found.push(Open {
                    scenario,
                    cell,
                    metric: *metric,
                    pairs,
                    ratios,
                    measure,
                    chance,
                });
            }
        }
    }
    found
}

fn close(
    question: &Question,
    open: Open<'_>,
    floors: &[Floor],
    chance_adjusted: f64,
    claims: u32,
) -> Comparison {
    let Open { scenario, cell, metric, pairs, ratios, measure, chance } = open;
    let mut doubts = Vec::new();
    doubts.extend(claim::enough(ratios.len(), claims));
    doubts.extend(conditions::doubts(question, scenario, &pairs));
    let floor = floors.iter().find(|f| f.panel.cell == *cell && f.panel.metric == metric);
    let floor_log = floor.and_then(|floor| floor.log);
    match floor {
        Some(floor) if floor.log.is_some() => doubts.extend(floor.doubt.clone()),
        // Of a single run nobody expects one.
        _ if ratios.len() == 1 => {}
        _ => doubts.push(Doubt::NoNoiseFloor),
    }
    let bar = Bar { worth: question.worth, claims, floor: floor_log };
    let verdict = match &measure {
        None => Verdict::Inconclusive { pairs: None },
        Some(measure) => {
            doubts.extend(measure.doubts.iter().cloned());
            let mechanism = conditions::mechanism(question, &pairs);
            claim::verdict(metric, measure, chance_adjusted, bar, &mut doubts, mechanism)
        }
    };
    let geometric = |value: fn(&Ratio) -> f64| {
        let logs: f64 = ratios.iter().map(|ratio| value(ratio).ln()).sum();
        (!ratios.is_empty()).then(|| (logs / ratios.len() as f64).exp())
    };
    Comparison {
        scenario: scenario.to_owned(),
        cell: cell.clone(),
        metric,
        baseline_value: geometric(|ratio| ratio.baseline),
        scenario_value: geometric(|ratio| ratio.other),
        effect: measure.map(|measure| claim::effect(&ratios, &measure, chance, chance_adjusted)),
        noise_floor: floor_log.map(claim::percent),
        verdict,
        doubts,
    }
}
