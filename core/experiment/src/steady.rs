//! When a load has become steady, and whether it had.
//!
//! # The problem
//!
//! Caches fill and code is compiled while a load begins. How long that takes depends on the data set, the
//! memory and the server, so a fixed warm-up is a guess: too short, it becomes part of the figure; too long,
//! it is hours of an experiment.
//!
//! # The approach
//!
//! While the load runs, its throughput per interval is looked at through the last [`SteadyRule::windows`].
//! It is steady when neither a line through them nor the step between their halves moves by more than
//! [`SteadyRule::within`] of their mean. Both measures are robust: the line is Theil and Sen's (the median
//! of the slopes of all pairs), the step is between medians, so that a checkpoint in one interval decides
//! nothing.
//!
//! Intervals of a noisy load move by more than that without any trend. So what cannot be told from the
//! noise of the intervals themselves counts as not moving, up to [`SteadyRule::noise_within`]. That noise is
//! measured between neighbours, where a trend hardly shows.
//!
//! After the run, the whole series is looked at once more by another rule, MSER-5 (White 1997): of the
//! means of five intervals each, leave out as many at the beginning as make the standard error of the rest
//! smallest. If that is beyond the end of the warm-up, the run was not steady after all.
//!
//! # Properties
//!
//! - A series that has stopped rising is steady once the last of the rise is out of the windows.
//! - A series that goes on rising is never steady.
//! - Spikes in fewer than a quarter of the windows change nothing.
//! - A series with no throughput is not steady: nothing runs.

use crate::stats::{mad_spread, median, theil_sen};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyRule {
    /// How many intervals are looked at, at least four.
    pub windows: usize,
    /// How much they may move, as a share of their mean.
    pub within: f64,
    /// How much they may move where they are too noisy to tell.
    pub noise_within: f64,
}

impl Default for SteadyRule {
    fn default() -> Self {
        Self { windows: 30, within: 0.02, noise_within: 0.10 }
    }
}

/// How a series stands at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Standing {
    /// There are not as many intervals as the rule looks at.
    TooShort,
    Steady,
    /// By how much the line and the step move, as shares of the mean.
    Moving {
        line: f64,
        step: f64,
    },
    /// Nothing gets done.
    Idle,
}

/// Looks at the end of a series of throughputs, one for each interval since the start.
pub fn standing(series: &[f64], rule: &SteadyRule) -> Standing {
    let windows = rule.windows.max(4);
    let Some(start) = series.len().checked_sub(windows) else { return Standing::TooShort };
    let seen = &series[start..];
    let count = windows as f64;
    let mean = seen.iter().sum::<f64>() / count;
    // Also where the mean is no number.
    if mean.is_nan() || mean <= 0.0 {
        return Standing::Idle;
    }
    let (first, second) = seen.split_at(windows / 2);
    let line = theil_sen(seen).abs() * count / mean;
    let step = (median(second) - median(first)).abs() / mean;

    let neighbours: Vec<f64> = seen.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let noise = mad_spread(&neighbours) / core::f64::consts::SQRT_2 / mean;
    // Twice the standard error of each measure under noise of that size: of a slope over all intervals,
    // and of the difference between the medians of two halves.
    let unsure = |error: f64| rule.within.max((2.0 * error).min(rule.noise_within));
    let line_may = unsure(noise * (12.0 / count).sqrt());
    let step_may = unsure(noise * 1.2533 * (4.0 / count).sqrt());
    if line < line_may && step < step_may {
        Standing::Steady
    } else {
        Standing::Moving { line, step }
    }
}

/// After how many intervals a whole series was first steady; `None` where it never was.
pub fn first_steady(series: &[f64], rule: &SteadyRule) -> Option<usize> {
    (rule.windows.max(4)..=series.len())
        .find(|end| standing(&series[..*end], rule) == Standing::Steady)
}

/// MSER-5: how many intervals at the beginning do not belong to the rest. `None` where that would be more
/// than half of them, or where there are too few to say.
pub fn mser5(series: &[f64]) -> Option<usize> {
    const BATCH: usize = 5;
    const LEAST_BATCHES: usize = 4;
    let means: Vec<f64> =
        series.chunks_exact(BATCH).map(|b| b.iter().sum::<f64>() / BATCH as f64).collect();
    if means.len() < LEAST_BATCHES {
        return None;
    }
    let error_without = |first: usize| {
        let rest = &means[first..];
        let count = rest.len() as f64;
        let mean = rest.iter().sum::<f64>() / count;
        rest.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (count * count)
    };
    let half = means.len() / 2;
    let best = (0..=half).min_by(|a, b| error_without(*a).total_cmp(&error_without(*b)))?;
    (best < half).then_some(best * BATCH)
}

/// Whether the whole series agrees that its first `warm_up` intervals are enough to leave out. Where it is
/// too short to say, it does not contradict.
pub fn confirms(series: &[f64], warm_up: usize) -> bool {
    const LEAST: usize = 20;
    series.len() < LEAST || mser5(series).is_some_and(|cut| cut <= warm_up)
}
