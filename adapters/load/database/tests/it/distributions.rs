//! sysbench 1.0's own draws, printed by a script of a few lines, beside ours.

use crate::sysbench;
use numawise_database::oltp::{Distribution, Keys, Random};
use std::process::Command;

const DRAWS: usize = 1_000_000;
const KEYS: u64 = 10_000;

/// Prints its draws; one event draws them all.
const SCRIPT: &str = r"
function event()
   local pick = sysbench.rand[os.getenv('KIND')]
   local out = {}
   for i = 1, 1000000 do out[i] = pick(1, 10000) end
   io.write('draws ', table.concat(out, ' '), '\n')
end
";

fn theirs(kind: &str, script: &std::path::Path) -> Vec<f64> {
    let out = Command::new("sysbench")
        .env("KIND", kind)
        .args(["--events=1", "--time=0", "--rand-seed=5"])
        .arg(script)
        .arg("run")
        .output()
        .expect("sysbench starts");
    let text = String::from_utf8_lossy(&out.stdout);
    let line = text.lines().find_map(|line| line.split_once("draws ")).expect("draws").1;
    counted(line.split_whitespace().map(|draw| draw.parse().expect("a number")))
}

fn counted(draws: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut counts = vec![0.0; KEYS as usize];
    draws.for_each(|draw| counts[draw as usize - 1] += 1.0);
    counts
}

/// Two samples of equal size: Pearson's statistic over cells that hold enough of both, and the greatest
/// distance of their distribution functions.
fn distances(ours: &[f64], theirs: &[f64]) -> (f64, f64, f64) {
    let (mut chi, mut cells, mut a, mut b) = (0.0, 0.0, 0.0, 0.0);
    let (mut sum_a, mut sum_b, mut greatest) = (0.0, 0.0, 0.0_f64);
    for (our, their) in ours.iter().zip(theirs) {
        (a, b, sum_a, sum_b) = (a + our, b + their, sum_a + our, sum_b + their);
        greatest = greatest.max((sum_a - sum_b).abs() / DRAWS as f64);
        if a + b >= 40.0 {
            chi += (a - b) * (a - b) / (a + b);
            (a, b, cells) = (0.0, 0.0, cells + 1.0);
        }
    }
    (chi, cells - 1.0, greatest)
}

#[test]
fn keys_are_drawn_as_sysbench_draws_them() {
    if !sysbench::is_here() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("draws.lua");
    std::fs::write(&script, SCRIPT).expect("a script");
    let kinds = [
        Distribution::Uniform,
        Distribution::GAUSSIAN,
        Distribution::SPECIAL,
        Distribution::PARETO,
    ];
    for kind in kinds {
        let (keys, mut random) = (Keys::new(kind, 1, KEYS), Random::new(9, 0));
        let ours = counted((0..DRAWS).map(|_| keys.draw(&mut random)));
        let (chi, degrees, greatest) = distances(&ours, &theirs(kind.name(), &script));
        // Mean and standard deviation of chi-square are its degrees and the root of twice as many; four of
        // them, and Kolmogorov's bound for one in ten thousand.
        let limit = degrees + 4.0 * (2.0 * degrees).sqrt();
        assert!(degrees > 500.0 && chi < limit, "{kind:?}: chi {chi}, degrees {degrees}");
        assert!(greatest < 2.2255 * (2.0 / DRAWS as f64).sqrt(), "{kind:?}: {greatest}");
    }
}
