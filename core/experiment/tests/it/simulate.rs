//! Runs of a machine whose true effect is known, by the parameters in [`crate::simulated`].

use crate::simulated::Noise;
use numawise_experiment::design::WarmUp;
use numawise_experiment::{
    Arm, Cell, Conditions, Design, Metric, Scenario, Steadiness, Trial, order,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::TAU;
use std::time::Duration;

pub const BASELINE: &str = "off";
pub const SCENARIO: &str = "on";

/// Two scenarios and a control, one workload at one number of threads, on one host.
pub fn design(blocks: u32, worth: f64, seed: u64) -> Design {
    let scenario =
        |name: &str| Scenario { name: name.to_owned(), hosts: BTreeSet::from(["a".to_owned()]) };
    Design {
        name: "simulated".to_owned(),
        scenarios: vec![scenario(BASELINE), scenario(SCENARIO)],
        baseline: BASELINE.to_owned(),
        workloads: vec!["read-write".to_owned()],
        threads: vec![16],
        blocks,
        seed,
        primary: Metric::Tps,
        secondary: Vec::new(),
        worth,
        control: true,
        warm_up: WarmUp::default(),
        measure: Duration::from_secs(60),
        cool_down: Duration::ZERO,
        mechanisms: BTreeSet::new(),
        may_differ: BTreeSet::new(),
    }
}

/// How the noise of a pair is divided into the parts of one run.
struct Parts {
    drift: f64,
    state: f64,
    own: f64,
    outlier: f64,
}

impl Parts {
    /// Baseline and scenario are one run apart in two of three orders of a block, and two apart in the third.
    fn of(noise: &Noise, spread: f64) -> Self {
        let variance = spread * spread;
        let memory = noise.state_memory;
        let forgotten = 1.0 - (2.0 * memory + memory * memory) / 3.0;
        let mean_square_distance = (2.0 * 1.0 + 4.0) / 3.0;
        // Of an outlier that comes at this rate and has this size.
        let of_size = 2.0 * noise.outlier_rate * (1.0 - noise.outlier_rate);
        let own = 1.0 - noise.drift_share - noise.state_share - noise.outlier_share;
        Self {
            drift: (variance * noise.drift_share / mean_square_distance).sqrt(),
            state: if noise.state_share > 0.0 {
                (variance * noise.state_share / 2.0 / forgotten).sqrt()
            } else {
                0.0
            },
            own: (variance * own / 2.0).sqrt(),
            outlier: if noise.outlier_share > 0.0 {
                (variance * noise.outlier_share / of_size).sqrt()
            } else {
                0.0
            },
        }
    }
}

pub struct Machine {
    rng: Xoshiro256PlusPlus,
    noise: Noise,
    parts: Parts,
    state: f64,
    runs: u32,
}

impl Machine {
    pub fn new(noise: Noise, spread: f64, seed: u64) -> Self {
        let parts = Parts::of(&noise, spread);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let state = parts.state * normal(&mut rng);
        Self { rng, noise, parts, state, runs: 0 }
    }

    /// What the next run measures on an arm with this true logarithm.
    fn run(&mut self, arm: f64) -> f64 {
        let drifted = -self.parts.drift * f64::from(self.runs);
        self.runs += 1;
        let memory = self.noise.state_memory;
        let fresh = normal(&mut self.rng) * (1.0 - memory * memory).sqrt();
        self.state = memory * self.state + self.parts.state * fresh;
        let own = self.parts.own * self.own_noise();
        let is_outlier = uniform(&mut self.rng) < self.noise.outlier_rate;
        let outlier = if is_outlier { -self.parts.outlier } else { 0.0 };
        1_000.0 * (arm + drifted + self.state + own + outlier).exp()
    }

    /// Of variance one.
    fn own_noise(&mut self) -> f64 {
        let value = normal(&mut self.rng);
        let Some(freedom) = self.noise.tails else { return value };
        let squares: f64 = (0..freedom).map(|_| normal(&mut self.rng).powi(2)).sum();
        let student = value / (squares / f64::from(freedom)).sqrt();
        student * ((f64::from(freedom) - 2.0) / f64::from(freedom)).sqrt()
    }

    /// Carries a design out. The scenario's true gain is a share; the control has none.
    pub fn carry_out(&mut self, design: &Design, gain: f64) -> Vec<Trial> {
        let runs = order(design).expect("the design is sound");
        let trial = |run: numawise_experiment::PlannedRun| {
            let truth = if run.id.arm == (Arm::Scenario { index: 1 }) { gain.ln_1p() } else { 0.0 };
            Trial {
                block: run.id.block,
                arm: run.id.arm,
                cell: Cell { workload: "read-write".to_owned(), threads: run.id.threads },
                host: Some(run.host),
                values: BTreeMap::from([(Metric::Tps, self.run(truth))]),
                conditions: Conditions {
                    steadiness: Steadiness::Steady { after: Duration::from_secs(30) },
                    ..Conditions::default()
                },
            }
        };
        runs.into_iter().map(trial).collect()
    }
}

/// Above 0 and at most 1.
fn uniform(rng: &mut Xoshiro256PlusPlus) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (-2.0 * uniform(rng).ln()).sqrt() * (TAU * uniform(rng)).cos()
}
