//! How often the judge is right where the truth is known.

use crate::simulate::{Machine, design};
use crate::simulated::{
    EFFECTS, EXPERIMENTS, Effect, LEAST_PROVEN, MOST_EXCLUDED, MOST_PROVEN, NOISES, NULLS, Noise,
    Null,
};
use numawise_experiment::sample_size::{PILOT_BLOCKS, recommend};
use numawise_experiment::stats::{spread, t_interval};
use numawise_experiment::{Arm, Comparison, Metric, Question, Trial, Verdict, judge};

fn judged(machine: &mut Machine, blocks: u32, worth: f64, gain: f64, seed: u64) -> Comparison {
    let design = design(blocks, worth, seed);
    let trials = machine.carry_out(&design, gain);
    let question = Question::of(&design).expect("the design has a baseline");
    let mut judgement = judge(&question, &trials);
    assert_eq!(judgement.comparisons.len(), 1);
    let comparison = judgement.comparisons.remove(0);
    if comparison.verdict.is_proven() {
        above_the_floor(&comparison, &trials);
    }
    comparison
}

/// The floor is worked out here once more, from the control's runs and with Student's interval alone, which
/// is never wider than the judge's.
fn above_the_floor(comparison: &Comparison, trials: &[Trial]) {
    let effect = comparison.effect.as_ref().expect("what is proven has an effect");
    let logs = logs_of(trials, Arm::Control);
    let floor = t_interval(&logs, 0.95).expect("several pairs").half_width();
    let change = (effect.change / 100.0).ln_1p();
    assert!(change.abs() > floor, "{change} is claimed and equal arms differ by {floor}");
}

fn logs_of(trials: &[Trial], arm: Arm) -> Vec<f64> {
    let value = |block: u32, arm: Arm| {
        let run = trials.iter().find(|trial| trial.block == block && trial.arm == arm);
        run.expect("the order is complete").values[&Metric::Tps].ln()
    };
    let blocks = 1 + trials.iter().map(|trial| trial.block).max().expect("there are runs");
    let baseline = Arm::Scenario { index: 0 };
    (0..blocks).map(|block| value(block, arm) - value(block, baseline)).collect()
}

fn check_null(noise: &Noise) {
    for null in NULLS {
        let Null { pairs, spread, worth } = null;
        let (mut excluded, mut proven) = (0_u32, 0_u32);
        for seed in 0..EXPERIMENTS {
            let mut machine = Machine::new(*noise, spread, seed);
            let comparison = judged(&mut machine, pairs, worth, 0.0, seed);
            let interval = comparison.effect.and_then(|effect| effect.interval);
            let interval = interval.expect("several pairs");
            excluded += u32::from(interval.low > 0.0 || interval.high < 0.0);
            proven += u32::from(comparison.verdict.is_proven());
        }
        let share = |count: u32| f64::from(count) / EXPERIMENTS as f64;
        assert!(
            share(excluded) <= MOST_EXCLUDED,
            "{}: {null:?}: {excluded} excluded zero",
            noise.name
        );
        assert!(share(proven) <= MOST_PROVEN, "{}: {null:?}: {proven} proven", noise.name);
    }
}

fn check_effects(noise: &Noise) {
    for effect in EFFECTS {
        let mut proven = 0_u32;
        let mut pairs_in_all = 0_u64;
        for seed in 0..EXPERIMENTS {
            let Effect { gain, spread, worth } = effect;
            let mut machine = Machine::new(*noise, spread, seed);
            let pilot_design = design(PILOT_BLOCKS, worth, !seed);
            let pilot = machine.carry_out(&pilot_design, gain);
            let question = Question::of(&pilot_design).expect("the design has a baseline");
            let recommended = recommend(&question, &pilot, gain).expect("several blocks");
            // A pilot may be so noisy that no number is recommended: nothing is proven then.
            let Some(pairs) = recommended.pairs else { continue };
            pairs_in_all += u64::from(pairs);
            let comparison = judged(&mut machine, pairs, worth, gain, seed);
            proven += u32::from(comparison.verdict == Verdict::ProvenGain);
        }
        let share = f64::from(proven) / EXPERIMENTS as f64;
        let pairs = pairs_in_all / EXPERIMENTS;
        let name = noise.name;
        assert!(share >= LEAST_PROVEN, "{name}: {effect:?}: {proven} proven in {pairs} pairs");
    }
}

macro_rules! noises {
    ($($null:ident $effects:ident $index:literal),*) => { $(
        #[test]
        fn $null() {
            check_null(&NOISES[$index]);
        }
        #[test]
        fn $effects() {
            check_effects(&NOISES[$index]);
        }
    )* };
}
noises! {
    equal_arms_are_not_told_apart_under_normal_noise an_effect_is_proven_under_normal_noise 0,
    equal_arms_are_not_told_apart_under_drift an_effect_is_proven_under_drift 1,
    equal_arms_are_not_told_apart_under_autocorrelation an_effect_is_proven_under_autocorrelation 2,
    equal_arms_are_not_told_apart_under_heavy_tails an_effect_is_proven_under_heavy_tails 3,
    equal_arms_are_not_told_apart_under_outliers an_effect_is_proven_under_outliers 4,
    equal_arms_are_not_told_apart_under_all_of_it an_effect_is_proven_under_all_of_it 5
}

/// The simulator makes the spread that it is asked for.
#[test]
fn each_noise_has_its_spread() {
    for noise in NOISES {
        let mut logs = Vec::new();
        for seed in 0..200 {
            let trials = Machine::new(noise, 0.03, seed).carry_out(&design(50, 0.0, seed), 0.0);
            logs.extend(logs_of(&trials, Arm::Scenario { index: 1 }));
        }
        let seen = spread(&logs);
        assert!((0.027..0.033).contains(&seen), "{}: {seen}", noise.name);
    }
}
