//! What can be said of a difference.
//!
//! # The problem
//!
//! Two numbers always differ. Whether a placement made the difference, whether it would come again, and
//! whether it is worth anything are three questions that the numbers alone do not answer, and a wrong
//! "proven" costs more than an honest "not known".
//!
//! # The approach
//!
//! Runs are compared in pairs: the same block, workload and number of threads, on one host, a scenario
//! against the baseline. Of each pair the logarithm of the ratio is taken, so that +10 % and −9.09 % are
//! equally far. Their mean is the effect. Its 95 % interval is the hull of Student's and of the BCa
//! bootstrap over pairs; chance is a sign-flip test against the smallest gain worth claiming, adjusted by
//! Holm for everything that is asked at once (the primary metric in all cells and scenarios is one family,
//! the secondary ones another).
//!
//! - *Proven*: the interval lies beyond what is worth claiming, chance is at most 5 %, the effect is
//!   larger than the noise floor, and no [doubt](Doubt) bars it.
//! - *Equivalent*: the interval lies inside what is not worth claiming.
//! - *Inconclusive*: anything else, with the number of pairs that would settle it where more pairs can.
//!
//! # Terms
//!
//! - *Noise floor*: how much the control differs from the baseline, or half the width of the interval of
//!   that difference, whichever is larger. Equal arms differ by as much.
//! - *Doubt*: something seen beside the figures. Some bar a verdict, others accompany it.
//! - *Left out*: a pair with a run that was not steady, was bound by its client, or lost a generator. Where
//!   these are more than a tenth, there is no verdict at all.
//!
//! # Properties
//!
//! - The same runs give the same judgement, in whatever order they are passed.
//! - Exchanging the two arms turns a proven gain into a proven loss, never into anything else.
//! - No claim is smaller than the noise floor, and without a floor there is none.
//! - One run per arm is never more than inconclusive.

mod claim;
mod conditions;
mod doubt;
mod judge;
mod pairs;

pub use doubt::{Doubt, LimitedTier};
pub use judge::judge;
pub(crate) use pairs::counted;

use crate::design::Design;
use crate::metric::Metric;
use crate::trial::{Cell, Mechanism};
use std::collections::BTreeSet;

/// What is asked of the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Names, in the order in which [arms](crate::Arm) count them.
    pub scenarios: Vec<String>,
    /// The one that the others are held against, by its place.
    pub baseline: u32,
    pub primary: Metric,
    pub secondary: Vec<Metric>,
    /// The smallest gain worth claiming, as a share.
    pub worth: f64,
    pub seed: u64,
    /// Whether the order of the runs was a design's: otherwise drift may be all that they show.
    pub interleaved: bool,
    pub mechanisms: BTreeSet<Mechanism>,
    pub may_differ: BTreeSet<String>,
}

impl Question {
    /// `None` where the design has no such baseline.
    pub fn of(design: &Design) -> Option<Self> {
        let [primary, secondary @ ..] = &design.metrics()[..] else { return None };
        Some(Self {
            scenarios: design.scenarios.iter().map(|s| s.name.clone()).collect(),
            baseline: u32::try_from(design.baseline_index()?).ok()?,
            primary: *primary,
            secondary: secondary.to_vec(),
            worth: design.worth,
            seed: design.seed,
            interleaved: true,
            mechanisms: design.mechanisms.clone(),
            may_differ: design.may_differ.clone(),
        })
    }
}

/// All that can be said: the comparisons of the primary metric first.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub primary: Metric,
    pub worth: f64,
    pub baseline: String,
    pub comparisons: Vec<Comparison>,
    /// The baseline against itself, for each cell and metric.
    pub panels: Vec<Panel>,
}

/// A scenario against the baseline, in one cell, by one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub scenario: String,
    pub cell: Cell,
    pub metric: Metric,
    /// Geometric means of the pairs that count.
    pub baseline_value: Option<f64>,
    pub scenario_value: Option<f64>,
    pub effect: Option<Effect>,
    /// In per cent; `None` where no control was run.
    pub noise_floor: Option<f64>,
    pub verdict: Verdict,
    pub doubts: Vec<Doubt>,
}

/// Changes of the metric itself, in per cent: a latency that fell is below zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    pub pairs: u32,
    pub change: f64,
    /// At 95 %; `None` of a single pair.
    pub interval: Option<Interval95>,
    /// Hodges and Lehmann's estimate of the change: far from the other one where a few pairs decide.
    pub robust_change: f64,
    /// Standard deviation of the logarithms of the pairs' ratios; `None` of a single pair.
    pub spread: Option<f64>,
    /// The chance of a difference like this one if the true one were not worth claiming.
    pub chance: f64,
    /// The same, for everything that is asked at once.
    pub chance_adjusted: f64,
    /// Each pair: its block, and its change in per cent. Never only the bar.
    pub points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval95 {
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub block: u32,
    pub change: f64,
}

/// The control against the baseline, in per cent.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    pub cell: Cell,
    pub metric: Metric,
    pub pairs: u32,
    pub change: f64,
    pub interval: Option<Interval95>,
    pub noise_floor: Option<f64>,
}

/// Better or worse, not higher or lower: a latency that falls is a gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    ProvenGain,
    ProvenLoss,
    /// Whatever difference there is, it is smaller than what is worth claiming.
    Equivalent,
    /// `pairs` in all would settle it; `None` where pairs are not what is missing.
    Inconclusive {
        pairs: Option<u32>,
    },
}

impl Verdict {
    pub fn is_proven(self) -> bool {
        matches!(self, Self::ProvenGain | Self::ProvenLoss)
    }
}
