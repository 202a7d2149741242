//! What the simulated experiments are made of. These parameters were written down before the statistics
//! that they judge, and are no knobs: a statistic that fails on them is to be mended, not they.
//!
//! # The problem
//!
//! Whether a verdict can be trusted cannot be seen on a real machine, since nobody knows the true effect
//! there. Here it is known, so claims that are wrong can be counted.
//!
//! # The model
//!
//! The logarithm of what a run measures is a sum of
//!
//! - the arm's true effect,
//! - a drift: the machine becomes slower by the same amount from each run to the next,
//! - a state that forgets slowly: a first-order autoregression from run to run,
//! - the run's own noise, normal or heavy-tailed,
//! - now and then an outlier, which is always slow.
//!
//! # Terms
//!
//! *Spread* is the standard deviation of the logarithm of the ratio of a pair, everything in it: what a
//! pilot estimates. Each noise below is scaled to the spread that is asked for, so that 3 % mean 3 % whatever
//! the noise is made of. The shares are shares of the variance of a pair.

/// How many experiments each row is made of.
pub const EXPERIMENTS: u64 = 2_000;

/// What disturbs the runs.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    pub name: &'static str,
    /// Part of the variance of a pair that comes from drift.
    pub drift_share: f64,
    /// Part of it that comes from the slow state.
    pub state_share: f64,
    /// How much of the state one run leaves to the next.
    pub state_memory: f64,
    /// Degrees of freedom of the run's own noise; `None` is normal.
    pub tails: Option<u32>,
    /// Part of the variance that comes from outliers.
    pub outlier_share: f64,
    /// How often a run is one.
    pub outlier_rate: f64,
}

const QUIET: Noise = Noise {
    name: "normal",
    drift_share: 0.0,
    state_share: 0.0,
    state_memory: 0.0,
    tails: None,
    outlier_share: 0.0,
    outlier_rate: 0.0,
};

/// One of each disturbance, and all at once.
pub const NOISES: [Noise; 6] = [
    QUIET,
    Noise { name: "drift", drift_share: 0.3, ..QUIET },
    Noise { name: "autocorrelation", state_share: 0.6, state_memory: 0.8, ..QUIET },
    Noise { name: "heavy tails", tails: Some(3), ..QUIET },
    Noise { name: "outliers", outlier_share: 0.5, outlier_rate: 0.05, ..QUIET },
    Noise {
        name: "all at once",
        drift_share: 0.2,
        state_share: 0.3,
        state_memory: 0.8,
        tails: Some(4),
        outlier_share: 0.2,
        outlier_rate: 0.05,
    },
];

/// Experiments in which both arms are the same.
#[derive(Clone, Copy, Debug)]
pub struct Null {
    pub pairs: u32,
    pub spread: f64,
    /// The smallest gain worth claiming. Zero makes a claim as easy as it can be.
    pub worth: f64,
}

pub const NULLS: [Null; 3] = [
    Null { pairs: 6, spread: 0.03, worth: 0.0 },
    Null { pairs: 10, spread: 0.03, worth: 0.0 },
    Null { pairs: 24, spread: 0.03, worth: 0.0 },
];

/// In how many of them the 95 % interval may exclude zero, and in how many "proven" may be said.
pub const MOST_EXCLUDED: f64 = 0.07;
pub const MOST_PROVEN: f64 = 0.05;

/// Experiments with a true effect, in as many pairs as the tool recommends after its pilot.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    pub gain: f64,
    pub spread: f64,
    pub worth: f64,
}

pub const EFFECTS: [Effect; 2] = [
    Effect { gain: 0.05, spread: 0.03, worth: 0.01 },
    // The published contrast of binding alone, 1843 to 1862 TPS, is as small as this.
    Effect { gain: 0.01, spread: 0.014, worth: 0.0025 },
];

/// In how many of them the effect has to be proven.
pub const LEAST_PROVEN: f64 = 0.90;
