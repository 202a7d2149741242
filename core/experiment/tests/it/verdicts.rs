//! What the judge says, and what it will not say.

use numawise_experiment::{
    Arm, Cell, Comparison, Conditions, Doubt, Judgement, LostGenerator, Mechanism, MechanismSeen,
    Metric, Question, Steadiness, Tier, Trial, Verdict, judge,
};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const OFF: Arm = Arm::Scenario { index: 0 };
const ON: Arm = Arm::Scenario { index: 1 };

fn question() -> Question {
    Question {
        scenarios: vec!["off".to_owned(), "on".to_owned()],
        baseline: 0,
        primary: Metric::Tps,
        secondary: Vec::new(),
        worth: 0.01,
        seed: 1,
        interleaved: true,
        mechanisms: BTreeSet::new(),
        may_differ: BTreeSet::new(),
    }
}

/// Up to one per cent up and down, different for each arm and block.
fn wobble(block: u32, arm: u32) -> f64 {
    let mut rng = SplitMix64::seed_from_u64(u64::from(block) << 32 | u64::from(arm));
    1.0 + (rng.next_u64() % 2001) as f64 / 100_000.0 - 0.01
}

fn trial(block: u32, arm: Arm, metric: Metric, value: f64) -> Trial {
    let place = match arm {
        Arm::Scenario { index } => index,
        Arm::Control => 9,
    };
    Trial {
        block,
        arm,
        cell: Cell { workload: "read-write".to_owned(), threads: 16 },
        host: Some("a".to_owned()),
        values: BTreeMap::from([(metric, value * wobble(block, place))]),
        conditions: Conditions {
            steadiness: Steadiness::Steady { after: Duration::from_secs(30) },
            ..Conditions::default()
        },
    }
}

/// Blocks with a baseline, a scenario that is so many times as high, and a control.
fn trials(blocks: u32, metric: Metric, times: f64) -> Vec<Trial> {
    let block = |block| {
        [
            trial(block, OFF, metric, 1000.0),
            trial(block, ON, metric, 1000.0 * times),
            trial(block, Arm::Control, metric, 1000.0),
        ]
    };
    (0..blocks).flat_map(block).collect()
}

fn judged(question: &Question, trials: &[Trial]) -> Comparison {
    let Judgement { mut comparisons, .. } = judge(question, trials);
    assert_eq!(comparisons.len(), 1);
    comparisons.remove(0)
}

/// A gain of a tenth that is proven as long as nothing is changed of its runs.
fn with(change: impl Fn(&mut Trial)) -> Comparison {
    let mut trials = trials(12, Metric::Tps, 1.1);
    trials.iter_mut().for_each(change);
    judged(&question(), &trials)
}

#[test]
fn a_gain_is_proven_and_exchanged_arms_make_a_loss_of_it() {
    let gain = with(|_| {});
    assert_eq!(gain.verdict, Verdict::ProvenGain);
    assert_eq!(gain.doubts, []);
    let effect = gain.effect.expect("twelve pairs");
    assert_eq!(effect.pairs, 12);
    assert!((effect.change - 10.0).abs() < 1.0, "{}", effect.change);
    let interval = effect.interval.expect("twelve pairs");
    assert!(interval.low > 8.0 && interval.high < 12.0, "{interval:?}");
    let trials = trials(12, Metric::Tps, 1.0 / 1.1);
    assert_eq!(judged(&question(), &trials).verdict, Verdict::ProvenLoss);
}

#[test]
fn exchanged_arms_give_the_mirrored_interval() {
    let trials = trials(12, Metric::Tps, 1.02);
    let exchanged: Vec<Trial> = trials
        .iter()
        .cloned()
        .map(|mut trial| {
            trial.arm = match trial.arm {
                OFF => ON,
                ON => OFF,
                other => other,
            };
            trial
        })
        .collect();
    let ends = |trials: &[Trial]| {
        let effect = judged(&question(), trials).effect.expect("twelve pairs");
        let interval = effect.interval.expect("twelve pairs");
        [interval.low, interval.high].map(|end| (end / 100.0).ln_1p())
    };
    let ([low, high], [mirrored_high, mirrored_low]) = (ends(&trials), ends(&exchanged));
    // The draws are the same, and the ranks as far from one end as from the other.
    assert!((low + mirrored_low).abs() < 1e-4 && (high + mirrored_high).abs() < 1e-4);
}

#[test]
fn a_latency_that_falls_is_a_gain() {
    let question = Question { primary: Metric::LatencyP95, ..question() };
    let fell = judged(&question, &trials(12, Metric::LatencyP95, 0.8));
    assert_eq!(fell.verdict, Verdict::ProvenGain);
    assert!(fell.effect.expect("twelve pairs").change < -18.0);
    let rose = judged(&question, &trials(12, Metric::LatencyP95, 1.2));
    assert_eq!(rose.verdict, Verdict::ProvenLoss);
}

#[test]
fn a_difference_that_is_not_worth_claiming_is_equivalence() {
    let question = Question { worth: 0.03, ..question() };
    assert_eq!(judged(&question, &trials(12, Metric::Tps, 1.002)).verdict, Verdict::Equivalent);
}

#[test]
fn the_order_in_which_runs_are_passed_does_not_matter() {
    let trials = trials(12, Metric::Tps, 1.02);
    let mut reversed = trials.clone();
    reversed.reverse();
    assert_eq!(judge(&question(), &trials), judge(&question(), &reversed));
}

#[test]
fn an_open_question_says_how_many_pairs_would_settle_it() {
    let found = judged(&question(), &trials(12, Metric::Tps, 1.012));
    let Verdict::Inconclusive { pairs: Some(pairs) } = found.verdict else {
        panic!("{:?}", found.verdict)
    };
    assert!(pairs > 12 && pairs.is_multiple_of(2), "{pairs}");
}

#[test]
fn one_run_per_arm_on_hosts_of_their_own() {
    let mut off = trial(0, OFF, Metric::Tps, 1843.0);
    off.host = Some("B".to_owned());
    let mut on = trial(0, ON, Metric::Tps, 1998.0);
    on.host = Some("A".to_owned());
    off.values = BTreeMap::from([(Metric::Tps, 1843.0)]);
    on.values = BTreeMap::from([(Metric::Tps, 1998.0)]);
    let question = Question { interleaved: false, ..question() };
    let found = judged(&question, &[off, on]);
    assert_eq!(found.verdict, Verdict::Inconclusive { pairs: None });
    let hosts = BTreeMap::from([
        ("off".to_owned(), vec!["B".to_owned()]),
        ("on".to_owned(), vec!["A".to_owned()]),
    ]);
    assert_eq!(found.doubts, [Doubt::OneRunPerArm, Doubt::ArmConfoundedWithHost { hosts }]);
    let effect = found.effect.expect("a pair");
    assert_eq!(format!("{:.2}", effect.change), "8.41");
    assert_eq!(effect.interval, None);
}

#[test]
fn too_few_pairs_prove_nothing() {
    let found = judged(&question(), &trials(5, Metric::Tps, 1.5));
    assert!(found.doubts.contains(&Doubt::TooFewPairs { pairs: 5, wanted: 6 }));
    assert!(matches!(found.verdict, Verdict::Inconclusive { pairs: Some(_) }));
}

#[test]
fn runs_in_an_order_that_nobody_knows_prove_nothing() {
    let question = Question { interleaved: false, ..question() };
    let found = judged(&question, &trials(12, Metric::Tps, 1.1));
    assert_eq!(found.verdict, Verdict::Inconclusive { pairs: None });
    assert_eq!(found.doubts, [Doubt::NotInterleaved]);
}

#[test]
fn without_a_control_nothing_is_proven() {
    let mut trials = trials(12, Metric::Tps, 1.1);
    trials.retain(|trial| trial.arm != Arm::Control);
    let found = judged(&question(), &trials);
    assert_eq!(found.verdict, Verdict::Inconclusive { pairs: None });
    assert_eq!((found.noise_floor, found.doubts), (None, vec![Doubt::NoNoiseFloor]));
}

#[test]
fn equal_arms_that_differ_prove_nothing() {
    let found = with(|trial| {
        if trial.arm == Arm::Control {
            trial.values.values_mut().for_each(|value| *value *= 1.04);
        }
    });
    assert_eq!(found.verdict, Verdict::Inconclusive { pairs: None });
    assert!(matches!(found.doubts[..], [Doubt::EqualArmsDiffer { surely: true, .. }]));
}

#[test]
fn an_effect_below_the_noise_floor_is_not_claimed() {
    let mut trials = trials(12, Metric::Tps, 1.1);
    for trial in trials.iter_mut().filter(|trial| trial.arm == Arm::Control) {
        let far = if trial.block % 2 == 0 { 1.3 } else { 1.0 / 1.3 };
        trial.values.values_mut().for_each(|value| *value *= far);
    }
    let found = judged(&question(), &trials);
    assert!(matches!(found.doubts[..], [Doubt::BelowNoiseFloor { floor }] if floor > 10.0));
    assert!(matches!(found.verdict, Verdict::Inconclusive { pairs: Some(pairs) } if pairs > 12));
}

/// Whether a change to the first runs is a caveat, and to many runs bars the verdict.
fn few_and_many(change: impl Fn(&mut Trial), is: impl Fn(&Doubt) -> bool) {
    let few = with(|trial| {
        if trial.block == 3 && trial.arm == ON {
            change(trial);
        }
    });
    assert_eq!(few.verdict, Verdict::ProvenGain, "{:?}", few.doubts);
    assert!(few.doubts.iter().any(&is), "{:?}", few.doubts);
    assert_eq!(few.effect.expect("pairs").pairs, 11, "its pair is left out");
    let many = with(|trial| {
        if trial.block < 4 && trial.arm == ON {
            change(trial);
        }
    });
    assert_eq!(many.verdict, Verdict::Inconclusive { pairs: None }, "{:?}", many.doubts);
    assert!(many.doubts.iter().any(&is), "{:?}", many.doubts);
}

#[test]
fn unsteady_runs_carry_no_verdict() {
    let after = Duration::from_secs(300);
    few_and_many(
        |trial| trial.conditions.steadiness = Steadiness::NotSteady { after },
        |doubt| matches!(doubt, Doubt::Unsteady { of: 24, .. }),
    );
}

#[test]
fn client_bound_runs_carry_no_verdict() {
    few_and_many(
        |trial| trial.conditions.client_use = Some(0.93),
        |doubt| matches!(doubt, Doubt::ClientBound { of: 24, most: 0.93, .. }),
    );
}

#[test]
fn runs_that_lost_a_generator_carry_no_verdict() {
    let lost = LostGenerator { name: "g2".to_owned(), after: Duration::from_secs(4) };
    few_and_many(
        |trial| trial.conditions.lost_generators.push(lost.clone()),
        |doubt| matches!(doubt, Doubt::GeneratorLost { names, .. } if names == &["g2"]),
    );
}

#[test]
fn a_gain_without_its_mechanism_is_none() {
    let question = Question { mechanisms: BTreeSet::from([Mechanism::RemotePages]), ..question() };
    let with_pages = |off: f64, on: f64| {
        let mut trials = trials(12, Metric::Tps, 1.1);
        for trial in &mut trials {
            let share = if trial.arm == ON { on } else { off };
            trial.conditions.mechanism =
                MechanismSeen { remote_page_share: Some(share), l3_crossings_per_sec: None };
        }
        judged(&question, &trials)
    };
    assert_eq!(with_pages(0.5, 0.02).verdict, Verdict::ProvenGain);
    let same = with_pages(0.5, 0.495);
    assert_eq!(same.verdict, Verdict::Inconclusive { pairs: None });
    let mechanism = Mechanism::RemotePages;
    let expected = Doubt::MechanismDidNotMove { mechanism, baseline: 0.5, scenario: 0.495 };
    assert_eq!(same.doubts, [expected]);
    let unseen = judged(&question, &trials(12, Metric::Tps, 1.1));
    assert_eq!(unseen.verdict, Verdict::ProvenGain);
    assert_eq!(unseen.doubts, [Doubt::MechanismUnseen { mechanism }]);
}

#[test]
fn the_saturated_tier_is_named_beside_the_verdict() {
    let found = with(|trial| {
        let disk = if trial.arm == ON { 0.97 } else { 0.6 };
        trial.conditions.tiers = BTreeMap::from([(Tier::Disk, disk), (Tier::Proxy, 0.3)]);
    });
    assert_eq!(found.verdict, Verdict::ProvenGain);
    let [Doubt::Saturated { limited }] = &found.doubts[..] else { panic!("{:?}", found.doubts) };
    assert_eq!(
        (limited.tier, limited.baseline, limited.scenario),
        (Tier::Disk, Some(0.6), Some(0.97))
    );
}

#[test]
fn durability_has_to_be_the_same_and_other_settings_are_told() {
    let setting = |name: &'static str| {
        with(move |trial| {
            let value = if trial.arm == ON { "2" } else { "1" };
            trial.conditions.settings.insert(name.to_owned(), value.to_owned());
        })
    };
    let durable = setting("innodb_flush_log_at_trx_commit");
    assert_eq!(durable.verdict, Verdict::Inconclusive { pairs: None });
    let other = setting("thread_cache_size");
    assert_eq!(other.verdict, Verdict::ProvenGain);
    let values = vec!["1".to_owned(), "2".to_owned()];
    let name = "thread_cache_size".to_owned();
    assert_eq!(other.doubts, [Doubt::SettingDiffers { name, values, durability: false }]);
}

#[test]
fn a_setting_may_differ_on_purpose() {
    let question = Question { may_differ: BTreeSet::from(["version".to_owned()]), ..question() };
    let mut trials = trials(12, Metric::Tps, 1.1);
    for trial in &mut trials {
        let version = if trial.arm == ON { "11.4" } else { "10.11" };
        trial.conditions.settings.insert("version".to_owned(), version.to_owned());
    }
    assert_eq!(judged(&question, &trials).doubts, []);
}

#[test]
fn errors_that_differ_bar_a_verdict_and_steal_is_told() {
    let found = with(|trial| {
        trial.conditions.error_share = Some(if trial.arm == ON { 0.03 } else { 0.001 });
    });
    assert_eq!(found.verdict, Verdict::Inconclusive { pairs: None });
    let found = with(|trial| trial.conditions.steal = Some(0.02));
    assert_eq!(found.verdict, Verdict::ProvenGain);
    assert_eq!(found.doubts, [Doubt::Steal { most: 0.02 }]);
}

#[test]
fn outliers_and_drift_are_told() {
    let found = with(|trial| {
        if trial.block == 5 && trial.arm == ON {
            trial.values.values_mut().for_each(|value| *value *= 1.2);
        }
    });
    assert!(found.doubts.contains(&Doubt::Outliers { blocks: vec![5] }), "{:?}", found.doubts);
    let found = with(|trial| {
        let slower = 0.98_f64.powi(i32::try_from(trial.block).expect("few blocks"));
        trial.values.values_mut().for_each(|value| *value *= slower);
    });
    assert_eq!(found.verdict, Verdict::ProvenGain);
    assert!(
        matches!(found.doubts[..], [Doubt::Drift { change }] if (-25.0..-15.0).contains(&change)),
        "{:?}",
        found.doubts
    );
}

#[test]
fn pairs_that_hang_together_make_the_interval_wider() {
    let found = with(|trial| {
        if trial.arm == ON && trial.block >= 6 {
            trial.values.values_mut().for_each(|value| *value *= 1.1);
        }
    });
    let widened = found.doubts.iter().find_map(|doubt| match doubt {
        Doubt::Autocorrelated { widened_by, .. } => Some(*widened_by),
        _ => None,
    });
    assert!(widened.is_some_and(|factor| factor > 1.2), "{:?}", found.doubts);
    assert!(found.doubts.iter().any(|doubt| matches!(doubt, Doubt::EffectDrifts { .. })));
}

#[test]
fn many_questions_at_once_make_each_claim_harder() {
    // A difference that a single question proves with few pairs, asked of eight cells where seven have none.
    let mut all = Vec::new();
    for threads in 1..=8 {
        let times = if threads == 1 { 1.05 } else { 1.0 };
        for mut trial in trials(7, Metric::Tps, times) {
            trial.cell.threads = threads;
            all.push(trial);
        }
    }
    let alone: Vec<Trial> = all.iter().filter(|trial| trial.cell.threads == 1).cloned().collect();
    assert_eq!(judged(&question(), &alone).verdict, Verdict::ProvenGain);
    let judgement = judge(&question(), &all);
    assert_eq!(judgement.comparisons.len(), 8);
    let first = &judgement.comparisons[0];
    assert_eq!(first.cell.threads, 1);
    assert!(first.doubts.contains(&Doubt::TooFewPairs { pairs: 7, wanted: 9 }));
    let effect = first.effect.as_ref().expect("seven pairs");
    assert!(effect.chance_adjusted > 7.9 * effect.chance);
    assert_eq!(judgement.panels.len(), 8);
}
