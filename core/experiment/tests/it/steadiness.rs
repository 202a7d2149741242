//! Warm-ups that end, and those that do not.

use numawise_experiment::steady::{Standing, SteadyRule, confirms, first_steady, mser5, standing};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Noise of a few per cent around one, the same each time.
fn noise(count: usize, size: f64, seed: u64) -> Vec<f64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let unit = |drawn: u64| (drawn >> 11) as f64 / (1_u64 << 53) as f64;
    // Uniform on both sides, with the size as its standard deviation.
    (0..count).map(|_| 1.0 + size * 12_f64.sqrt() * (unit(rng.next_u64()) - 0.5)).collect()
}

fn rule() -> SteadyRule {
    SteadyRule::default()
}

#[test]
fn a_load_that_has_stopped_rising_is_steady_once_the_rise_is_out_of_the_windows() {
    let rise = (0..40).map(|at| 0.5 + f64::from(at) / 80.0);
    let series: Vec<f64> = rise.chain([1.0; 60]).collect();
    let first = first_steady(&series, &rule()).expect("it becomes steady");
    assert!((58..=70).contains(&first), "{first}");
    let noisy: Vec<f64> = series.iter().zip(noise(100, 0.01, 3)).map(|(s, n)| s * n).collect();
    let first = first_steady(&noisy, &rule()).expect("it becomes steady");
    assert!((50..=75).contains(&first), "{first}");
}

#[test]
fn a_load_that_goes_on_rising_is_never_steady() {
    let series: Vec<f64> = (0..300).map(|at| 1.002_f64.powi(at)).collect();
    assert_eq!(first_steady(&series, &rule()), None);
    // Neither behind noise as large as the rise of ten intervals.
    let noisy: Vec<f64> = series.iter().zip(noise(300, 0.02, 5)).map(|(s, n)| s * n).collect();
    let steady = (30..=300).filter(|end| standing(&noisy[..*end], &rule()) == Standing::Steady);
    assert!(steady.count() < 27, "a tenth would be a guess");
}

#[test]
fn spikes_change_nothing() {
    let mut series = vec![1.0; 30];
    for at in [3, 4, 11, 19, 20, 29] {
        series[at] = 0.1;
    }
    assert_eq!(standing(&series, &rule()), Standing::Steady);
}

#[test]
fn a_noisy_load_without_trend_is_found_steady() {
    let found = (0..50).filter(|seed| first_steady(&noise(60, 0.05, *seed), &rule()).is_some());
    assert!(found.count() >= 48);
}

#[test]
fn nothing_done_is_not_steady() {
    assert_eq!(standing(&[0.0; 40], &rule()), Standing::Idle);
    assert_eq!(standing(&[f64::NAN; 40], &rule()), Standing::Idle);
    assert_eq!(standing(&[1.0; 29], &rule()), Standing::TooShort);
}

#[test]
fn the_whole_series_tells_where_its_beginning_ends() {
    let rise = (0..25).map(|at| 0.4 + 0.02 * f64::from(at));
    let series: Vec<f64> = rise.chain(noise(75, 0.01, 1)).collect();
    let cut = mser5(&series).expect("the rest is steady");
    assert!((20..=30).contains(&cut), "{cut}");
    assert!(confirms(&series, 30));
    assert!(!confirms(&series, 10));
    // What rises to its end has no steady rest.
    let rising: Vec<f64> = (0..100).map(f64::from).collect();
    assert_eq!(mser5(&rising), None);
    assert!(!confirms(&rising, 90));
    assert!(confirms(&rising[..19], 0), "too short to contradict");
}
