//! The statistics against numbers that were worked out elsewhere, or by hand.

use numawise_experiment::sample_size::{
    LEAST_PAIRS, MOST_PAIRS, fewest_pairs, pairs_to_prove, spread_bound,
};
use numawise_experiment::stats::{
    Bootstrap, Bounds, hodges_lehmann, holm, lag1, mad_spread, mean, median, sign_flip_p, spread,
    t_interval, theil_sen,
};

fn near(seen: f64, wanted: f64) {
    assert!((seen - wanted).abs() < 1e-6, "{seen} is not {wanted}");
}

#[test]
fn locations() {
    near(mean(&[1.0, 2.0, 6.0]), 3.0);
    near(spread(&[1.0, 2.0, 6.0]), 7_f64.sqrt());
    near(median(&[3.0, 1.0, 2.0]), 2.0);
    near(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
    // Means of pairs: 1, 1.5, 3.5, 2, 4, 6; the two in the middle are 2 and 3.5.
    near(hodges_lehmann(&[1.0, 2.0, 6.0]), 2.75);
    near(mad_spread(&[1.0, 2.0, 3.0, 4.0, 100.0]), 1.4826);
    assert!(median(&[]).is_nan() && mean(&[]).is_nan() && spread(&[1.0]).is_nan());
}

#[test]
fn students_interval() {
    // Mean 3, s = sqrt(2.5), and t at 97.5 % for 4 degrees of freedom is 2.776445.
    let bounds = t_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).expect("five values");
    near(bounds.half_width(), 2.776_445_105 * (2.5_f64 / 5.0).sqrt());
    near(f64::midpoint(bounds.low, bounds.high), 3.0);
    assert_eq!(t_interval(&[1.0], 0.95), None);
    assert_eq!(t_interval(&[1.0, f64::NAN], 0.95), None);
}

#[test]
fn the_bootstrap_agrees_with_student_on_many_values_and_leans_with_skewed_ones() {
    let even: Vec<f64> = (0..200).map(|at| f64::from(at % 20)).collect();
    let student = t_interval(&even, 0.95).expect("many values");
    let bootstrap = Bootstrap::of(&even, 1).expect("many values").interval(0.95);
    assert!((student.low - bootstrap.low).abs() < 0.05, "{student:?} {bootstrap:?}");
    assert!((student.high - bootstrap.high).abs() < 0.05, "{student:?} {bootstrap:?}");

    let skewed: Vec<f64> = (0..20).map(|at| f64::from(at * at * at)).collect();
    let centre = mean(&skewed);
    let Bounds { low, high } = Bootstrap::of(&skewed, 1).expect("many values").interval(0.95);
    assert!(high - centre > 1.2 * (centre - low), "{low} {centre} {high}");
}

#[test]
fn the_same_seed_draws_the_same() {
    let values = [0.013, 0.031, -0.022, 0.057, 0.024, 0.041, 0.002, -0.011];
    let interval = |seed: u64| Bootstrap::of(&values, seed).expect("eight values").interval(0.95);
    assert_eq!(interval(5), interval(5));
    assert_ne!(interval(5), interval(6));
    let equal = Bootstrap::of(&[2.0; 8], 1).expect("eight values").interval(0.95);
    assert_eq!(equal, Bounds { low: 2.0, high: 2.0 });
    assert!(Bootstrap::of(&[1.0], 1).is_none());
    assert!(Bootstrap::of(&[1.0, f64::INFINITY], 1).is_none());
}

#[test]
fn flips_are_counted() {
    // Of 2^4 flips only the observed one has this sum.
    near(sign_flip_p(&[1.0, 2.0, 3.0, 4.0], 0), 1.0 / 16.0);
    // 2 - 1 = 1 is reached by +2 -1, and by +2 +1.
    near(sign_flip_p(&[2.0, -1.0], 0), 2.0 / 4.0);
    near(sign_flip_p(&[-1.0, -1.0], 0), 1.0);
    near(sign_flip_p(&[0.0, 0.0, 0.0], 0), 1.0);
    near(sign_flip_p(&[], 0), 1.0);
    near(sign_flip_p(&[1.0, f64::NAN], 0), 1.0);
}

#[test]
fn drawn_flips_agree_with_counted_ones() {
    let values: Vec<f64> = (0..16).map(|at| f64::from(at % 5) - 1.2).collect();
    let counted = sign_flip_p(&values, 0);
    // A pair without a difference changes no sum, and makes them too many to be counted.
    let more: Vec<f64> = values.iter().copied().chain([0.0; 60]).collect();
    let drawn = sign_flip_p(&more, 9);
    assert!((counted - drawn).abs() < 0.015, "{counted} {drawn}");
    assert!(sign_flip_p(&[1.0; 40], 9) > 0.0, "no chance is zero");
}

#[test]
fn holm_adjusts_in_order() {
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (seen, wanted) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        near(*seen, wanted);
    }
    assert_eq!(holm(&[0.4, 0.9]), [0.8, 0.9]);
    assert_eq!(holm(&[]), [0.0; 0]);
}

#[test]
fn values_in_a_row() {
    near(theil_sen(&[1.0, 3.0, 5.0, 100.0, 9.0]), 2.0);
    assert!(lag1(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) < -0.8);
    assert!(lag1(&[1.0, 1.0, 1.0, -1.0, -1.0, -1.0]) > 0.4);
    assert!(lag1(&[1.0, 1.0]).is_nan());
}

#[test]
fn never_fewer_pairs_than_the_formula() {
    for spread in [0.005, 0.014, 0.03, 0.1] {
        for (effect, worth) in [(0.05_f64, 0.01_f64), (0.01, 0.0), (0.03, 0.0025)] {
            let formula = (3.24 * spread / (effect.ln_1p() - worth.ln_1p())).powi(2);
            match pairs_to_prove(spread, effect, worth, 1) {
                Some(pairs) => {
                    assert!(f64::from(pairs) >= formula && pairs >= LEAST_PAIRS);
                    assert!(pairs.is_multiple_of(2));
                    // Student's quantiles cost few pairs more.
                    assert!(f64::from(pairs) <= formula.max(f64::from(LEAST_PAIRS)) * 1.1 + 5.0);
                }
                None => assert!(formula > f64::from(MOST_PAIRS) * 0.99),
            }
        }
    }
}

#[test]
fn what_cannot_be_proven_needs_no_number() {
    assert_eq!(pairs_to_prove(0.03, 0.01, 0.01, 1), None);
    assert_eq!(pairs_to_prove(f64::NAN, 0.05, 0.01, 1), None);
    assert_eq!(pairs_to_prove(3.0, 0.05, 0.01, 1), None, "more than the most");
}

#[test]
fn more_claims_need_more_pairs() {
    let pairs = |claims| pairs_to_prove(0.03, 0.03, 0.01, claims).expect("a number");
    assert!(pairs(1) < pairs(5) && pairs(5) < pairs(50));
    // Two-sided, six pairs reach 2 / 64 = 3.1 %, and five 6.3 %.
    assert_eq!(fewest_pairs(1), 6);
    assert_eq!(fewest_pairs(2), 7);
    assert_eq!(fewest_pairs(10), 9);
}

#[test]
fn a_pilot_is_cleared_of_its_blocks_and_arms() {
    // Blocks lie a whole unit apart and arms a tenth; what is left is one hundredth, up and down.
    let rest = [0.01, -0.01, 0.01, -0.01, 0.01, -0.01];
    let blocks: Vec<Vec<f64>> = (0_u32..)
        .zip(rest)
        .map(|(block, rest)| vec![f64::from(block) + rest, f64::from(block) + 0.1 - rest])
        .collect();
    // The pairs' logarithms are 0.1 -+ 0.02: their spread is 0.02 * sqrt(6 / 5).
    let bound = spread_bound(&blocks).expect("six blocks");
    let ratio = bound / (0.02 * (6_f64 / 5.0).sqrt());
    assert!((1.3..2.2).contains(&ratio), "{ratio}");
    assert_eq!(spread_bound(&blocks[..1]), None);
    assert_eq!(spread_bound(&[]), None);
    assert_eq!(spread_bound(&[vec![1.0], vec![2.0]]), None);
}
