//! Pairs of runs: the same block and cell, an arm and the baseline.

use crate::measured::Steadiness;
use crate::metric::Metric;
use crate::order::Arm;
use crate::trial::{Cell, Conditions, Trial};
use std::collections::BTreeMap;

/// A generator above this share of its CPUs measures itself.
pub(super) const CLIENT_LIMIT: f64 = 0.7;

/// Both runs of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'a> {
    pub block: u32,
    pub baseline: &'a Trial,
    pub other: &'a Trial,
}

/// A pair that counts, with the metric of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio {
    pub block: u32,
    pub baseline: f64,
    pub other: f64,
}

impl Ratio {
    pub fn log(&self) -> f64 {
        (self.other / self.baseline).ln()
    }
}

/// The runs of each cell, by arm and block. Of two runs for one place, the later one counts.
#[derive(Debug, Default)]
pub(super) struct ByCell<'a>(BTreeMap<&'a Cell, BTreeMap<(Arm, u32), &'a Trial>>);

impl<'a> ByCell<'a> {
    pub fn of(trials: &'a [Trial]) -> Self {
        let mut cells = Self::default();
        for trial in trials {
            cells.0.entry(&trial.cell).or_default().insert((trial.arm, trial.block), trial);
        }
        cells
    }

    pub fn cells(&self) -> impl Iterator<Item = &'a Cell> {
        self.0.keys().copied()
    }

    /// In the order of blocks.
    pub fn pairs(&self, cell: &Cell, baseline: Arm, other: Arm) -> Vec<Pair<'a>> {
        let Some(runs) = self.0.get(cell) else { return Vec::new() };
        let first = runs.range((other, 0)..=(other, u32::MAX));
        first
            .filter_map(|((_, block), other)| {
                let baseline = runs.get(&(baseline, *block))?;
                Some(Pair { block: *block, baseline, other })
            })
            .collect()
    }
}

/// Those pairs that may count, with their figures.
pub(super) fn ratios(pairs: &[Pair<'_>], metric: Metric) -> Vec<Ratio> {
    pairs
        .iter()
        .filter_map(|pair| {
            Some(Ratio {
                block: pair.block,
                baseline: counted(pair.baseline, metric)?,
                other: counted(pair.other, metric)?,
            })
        })
        .collect()
}

/// The figure of a run that may count; `None` of one that may not, or that has none.
pub(crate) fn counted(trial: &Trial, metric: Metric) -> Option<f64> {
    let conditions = &trial.conditions;
    if is_unsteady(conditions) || is_client_bound(conditions) || lost_a_generator(conditions) {
        return None;
    }
    trial.values.get(&metric).copied().filter(|value| *value > 0.0 && value.is_finite())
}

pub(super) fn is_unsteady(conditions: &Conditions) -> bool {
    matches!(conditions.steadiness, Steadiness::NotSteady { .. })
}

pub(super) fn is_client_bound(conditions: &Conditions) -> bool {
    conditions.client_use.is_some_and(|share| share > CLIENT_LIMIT)
}

pub(super) fn lost_a_generator(conditions: &Conditions) -> bool {
    !conditions.lost_generators.is_empty()
}
