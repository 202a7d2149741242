//! From the ratios of pairs to an effect, and from an effect to a verdict.

use super::doubt::Doubt;
use super::pairs::Ratio;
use super::{Effect, Interval95, Panel, Point, Verdict};
use crate::metric::{Better, Metric};
use crate::sample_size::{ERROR_RATE, fewest_pairs, is_inside, pairs_to_settle, spread_bound};
use crate::stats::{
    Bootstrap, Bounds, hodges_lehmann, lag1, mad_spread, mean, median, sign_flip_p, spread,
    t_interval, theil_sen,
};
use crate::trial::Cell;

const LEVEL: f64 = 0.95;
const SURE_LEVEL: f64 = 0.99;
/// Fewer pairs say nothing of how they hang together, of drift or of outliers.
const LEAST_IN_A_ROW: usize = 6;
/// In robust standard deviations.
const OUTLIER: f64 = 3.5;

/// What the pairs of one comparison say, as logarithms of the metric's own ratio.
#[derive(Clone, Debug)]
pub(super) struct Measure {
    pub logs: Vec<f64>,
    pub mean: f64,
    pub bounds: Option<Bounds>,
    /// At 99 %.
    sure_bounds: Option<Bounds>,
    spread_bound: Option<f64>,
    pub doubts: Vec<Doubt>,
}

pub(super) fn measure(ratios: &[Ratio], worth: f64, seed: u64) -> Option<Measure> {
    if ratios.is_empty() {
        return None;
    }
    let logs: Vec<f64> = ratios.iter().map(Ratio::log).collect();
    let mean = mean(&logs);
    let mut doubts = Vec::new();
    let mut bootstrap = Bootstrap::of(&logs, seed);
    // The hull of two: Student's is right for few normal values, the bootstrap for skewed ones.
    let mut interval =
        |level: f64| Some(t_interval(&logs, level)?.hull(bootstrap.as_mut()?.interval(level)));
    let (mut bounds, mut sure_bounds) = (interval(LEVEL), interval(SURE_LEVEL));
    if let Some((correlation, factor)) = hanging_together(&logs) {
        bounds = bounds.map(|bounds| bounds.widened(mean, factor));
        sure_bounds = sure_bounds.map(|bounds| bounds.widened(mean, factor));
        doubts.push(Doubt::Autocorrelated { correlation, widened_by: factor });
    }
    doubts.extend(in_a_row(ratios, &logs, worth));
    let blocks = ratios.iter().map(|ratio| vec![ratio.baseline.ln(), ratio.other.ln()]);
    let spread_bound = spread_bound(&blocks.collect::<Vec<_>>());
    Some(Measure { logs, mean, bounds, sure_bounds, spread_bound, doubts })
}

impl Measure {
    /// The chance of an effect like this one, in the direction it points to, if the true one were not worth
    /// claiming.
    pub fn chance(&self, worth: f64, seed: u64) -> f64 {
        let margin = worth.ln_1p();
        let towards = |log: &f64| if self.mean < 0.0 { -log } else { *log } - margin;
        let towards: Vec<f64> = self.logs.iter().map(towards).collect();
        (2.0 * sign_flip_p(&towards, seed)).min(1.0)
    }
}

/// Where each value follows the one before it, by more than chance makes them: the correlation, and the
/// factor by which an interval for independent values is too narrow.
fn hanging_together(logs: &[f64]) -> Option<(f64, f64)> {
    const ONE_SIDED: f64 = 1.645;
    if logs.len() < LEAST_IN_A_ROW {
        return None;
    }
    let correlation = lag1(logs);
    let by_chance = ONE_SIDED / (logs.len() as f64).sqrt();
    let bounded = correlation.min(0.9);
    (correlation > by_chance).then(|| (correlation, ((1.0 + bounded) / (1.0 - bounded)).sqrt()))
}

/// Outliers, and what moved from the first block to the last.
fn in_a_row(ratios: &[Ratio], logs: &[f64], worth: f64) -> Vec<Doubt> {
    let mut found = Vec::new();
    if logs.len() < LEAST_IN_A_ROW {
        return found;
    }
    let (centre, scale) = (median(logs), mad_spread(logs));
    let is_far = |log: f64| scale > 0.0 && (log - centre).abs() > OUTLIER * scale;
    let far = ratios.iter().zip(logs).filter(|(_, log)| is_far(**log));
    let blocks: Vec<u32> = far.map(|(ratio, _)| ratio.block).collect();
    if !blocks.is_empty() {
        found.push(Doubt::Outliers { blocks });
    }
    let baseline: Vec<f64> = ratios.iter().map(|ratio| ratio.baseline.ln()).collect();
    if let Some(by) = trend(&baseline, worth) {
        found.push(Doubt::Drift { change: percent(by) });
    }
    if let Some(by) = trend(logs, worth) {
        found.push(Doubt::EffectDrifts { change: percent(by) });
    }
    found
}

/// How far values went from the first to the last, where that is more than chance and worth telling.
fn trend(values: &[f64], worth: f64) -> Option<f64> {
    let count = values.len() as f64;
    let by = theil_sen(values) * (count - 1.0);
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let noise = mad_spread(&steps) / core::f64::consts::SQRT_2;
    // Three standard errors of such a slope over independent values.
    let by_chance = 3.0 * noise * (12.0 / count).sqrt();
    (by.abs() > by_chance && by.abs() > worth.ln_1p()).then_some(by)
}

pub(super) fn percent(log: f64) -> f64 {
    100.0 * log.exp_m1()
}

pub(super) fn effect(
    ratios: &[Ratio],
    measure: &Measure,
    chance: f64,
    chance_adjusted: f64,
) -> Effect {
    let spread = Some(spread(&measure.logs)).filter(|spread| spread.is_finite());
    let points = ratios
        .iter()
        .map(|ratio| Point { block: ratio.block, change: percent(ratio.log()) })
        .collect();
    Effect {
        pairs: u32::try_from(ratios.len()).unwrap_or(u32::MAX),
        change: percent(measure.mean),
        interval: measure.bounds.map(in_percent),
        robust_change: percent(hodges_lehmann(&measure.logs)),
        spread,
        chance,
        chance_adjusted,
        points,
    }
}

fn in_percent(bounds: Bounds) -> Interval95 {
    Interval95 { low: percent(bounds.low), high: percent(bounds.high) }
}

/// The control against the baseline: how much equal arms differ, and whether they do.
#[derive(Clone, Debug)]
pub(super) struct Floor {
    pub panel: Panel,
    /// As a logarithm; `None` of fewer than two pairs.
    pub log: Option<f64>,
    pub doubt: Option<Doubt>,
}

pub(super) fn floor(cell: &Cell, metric: Metric, ratios: &[Ratio], seed: u64) -> Option<Floor> {
    let measure = measure(ratios, 0.0, seed)?;
    let log = measure.bounds.map(|bounds| bounds.half_width().max(measure.mean.abs()));
    let differ = |bounds: Option<Bounds>| bounds.is_some_and(|bounds| bounds.excludes(0.0));
    let surely = differ(measure.sure_bounds);
    let doubt = differ(measure.bounds)
        .then(|| Doubt::EqualArmsDiffer { change: percent(measure.mean), surely });
    let panel = Panel {
        cell: cell.clone(),
        metric,
        pairs: u32::try_from(ratios.len()).unwrap_or(u32::MAX),
        change: percent(measure.mean),
        interval: measure.bounds.map(in_percent),
        noise_floor: log.map(percent),
    };
    Some(Floor { panel, log, doubt })
}

/// How many pairs there are against how many there have to be.
pub(super) fn enough(pairs: usize, claims: u32) -> Option<Doubt> {
    let pairs = u32::try_from(pairs).unwrap_or(u32::MAX);
    let wanted = fewest_pairs(claims);
    match pairs {
        1 => Some(Doubt::OneRunPerArm),
        _ if pairs < wanted => Some(Doubt::TooFewPairs { pairs, wanted }),
        _ => None,
    }
}

/// What a claim has to stand against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar {
    pub worth: f64,
    pub claims: u32,
    /// As a logarithm.
    pub floor: Option<f64>,
}

/// The verdict, and the doubts that only a claim raises. `mechanism` are those of a difference that lacks
/// its cause.
pub(super) fn verdict(
    metric: Metric,
    measure: &Measure,
    chance_adjusted: f64,
    bar: Bar,
    doubts: &mut Vec<Doubt>,
    mechanism: Vec<Doubt>,
) -> Verdict {
    let claim = claimed(metric, measure, chance_adjusted, bar.worth);
    if claim.is_some_and(Verdict::is_proven) {
        match bar.floor {
            None => {}
            Some(floor) if measure.mean.abs() > floor => {}
            Some(floor) => doubts.push(Doubt::BelowNoiseFloor { floor: percent(floor) }),
        }
        doubts.extend(mechanism);
    } else {
        doubts.extend(mechanism.into_iter().filter(|doubt| !doubt.bars()));
    }
    let barred: Vec<&Doubt> = doubts.iter().filter(|doubt| doubt.bars()).collect();
    match claim {
        Some(claim) if barred.is_empty() => claim,
        _ if barred.iter().all(|doubt| doubt.yields_to_pairs()) => {
            Verdict::Inconclusive { pairs: pairs_wanted(measure, bar) }
        }
        _ => Verdict::Inconclusive { pairs: None },
    }
}

fn claimed(metric: Metric, measure: &Measure, chance_adjusted: f64, worth: f64) -> Option<Verdict> {
    let bounds = measure.bounds?;
    if is_inside(&bounds, worth) {
        return Some(Verdict::Equivalent);
    }
    let margin = worth.ln_1p();
    let (rose, fell) = match metric.better() {
        Better::Higher => (Verdict::ProvenGain, Verdict::ProvenLoss),
        Better::Lower => (Verdict::ProvenLoss, Verdict::ProvenGain),
    };
    if chance_adjusted > ERROR_RATE {
        None
    } else if bounds.low > margin {
        Some(rose)
    } else if bounds.high < -margin {
        Some(fell)
    } else {
        None
    }
}

/// More than there are: a number that has been reached and has settled nothing is no answer.
fn pairs_wanted(measure: &Measure, bar: Bar) -> Option<u32> {
    let pairs = u32::try_from(measure.logs.len()).ok()?;
    let wanted = pairs_to_settle(measure.mean, measure.spread_bound?, bar.worth, bar.claims)?;
    Some(wanted.max((pairs + 1).next_multiple_of(2)))
}
