//! Fifty applies at once: those that do not conflict all succeed, of those that do exactly one.

use crate::bench::{Bench, Ran};
use numawise_model::{CpuSet, Mode};

const GUESTS: u32 = 50;

/// Plans `GUESTS` guests, guest n on the pCPU that `cpu` gives, then applies all of them at once.
fn apply_all(bench: &Bench, cpu: impl Fn(u32) -> u32) -> Vec<Ran> {
    let mut plans = Vec::new();
    for n in 0..GUESTS {
        let name = format!("g{n}");
        bench.define(&name, 1, 1);
        plans.push(bench.plan(&name, &["--bind", &format!("0:{}", cpu(n))]));
    }
    let children: Vec<_> = plans.iter().map(|plan| bench.spawn(&["apply", plan])).collect();
    children
        .into_iter()
        .map(|child| Ran::of(child.wait_with_output().expect("the child ends")))
        .collect()
}

fn exclusive_owners_are_alone(bench: &Bench) {
    let mut seen = CpuSet::new();
    for claim in bench.stored().ledger.claims.iter().filter(|c| c.mode == Mode::Exclusive) {
        assert!(seen.is_disjoint(&claim.cpus), "{claim:?} is given twice");
        seen.extend(&claim.cpus);
    }
}

#[test]
fn disjoint_applies_all_succeed() {
    let bench = Bench::new();
    // 0 and 32 are housekeeping: emulator threads of the other guests share them.
    let ran = apply_all(&bench, |n| if n < 31 { n + 1 } else { n + 2 });
    for (n, ran) in ran.iter().enumerate() {
        assert_eq!(ran.code, Some(0), "guest {n}: {ran:?}");
    }
    exclusive_owners_are_alone(&bench);
    let wanted = CpuSet::range(1, 31).union(&CpuSet::range(33, GUESTS + 1));
    assert_eq!(bench.stored().ledger.exclusive_cpus(), wanted);
}

#[test]
fn of_overlapping_applies_exactly_one_succeeds() {
    let bench = Bench::new();
    let ran = apply_all(&bench, |n| 1 + n % 5);
    for cpu in 0..5 {
        let codes: Vec<_> = ran.iter().skip(cpu).step_by(5).map(|ran| ran.code).collect();
        assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
        assert_eq!(codes.iter().filter(|code| **code == Some(4)).count(), 9, "{codes:?}");
    }
    exclusive_owners_are_alone(&bench);
    assert_eq!(bench.stored().ledger.exclusive_cpus(), CpuSet::range(1, 5));
}
