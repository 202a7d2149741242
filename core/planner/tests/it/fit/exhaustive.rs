//! Against every set of pCPUs there is: no placement that breaks a constraint, no refusal where one
//! exists, and none that the preferences like better.

use super::oracle::Oracle;
use super::small_host::{Case, case};
use numawise_model::Pcpu;
use numawise_planner::fit::{NoFit, Proof, fit, has_l3_as_numa};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;

/// Sets to try, beyond which a case is left to chance elsewhere.
const MOST_SETS: u64 = 13_000;

fn sets(case: &Case) -> u64 {
    let (n, k) = (case.free.len() as u64, u64::from(case.wanted.vcpus));
    (0..k).fold(1, |sets, i| sets * n.saturating_sub(i) / (i + 1))
}

fn held_against_everything(cases: u32) {
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        max_global_rejects: cases * 4,
        max_local_rejects: cases * 4 + 65_536,
        max_shrink_iters: 5_000,
        ..ProptestConfig::default()
    });
    let (fits, refusals) = (Cell::new(0), Cell::new(0));
    let result = runner.run(&case(), |case| {
        let packages = 0..case.topology.packages.len();
        prop_assume!(!packages.into_iter().any(|package| has_l3_as_numa(&case.topology, package)));
        prop_assume!(sets(&case) <= MOST_SETS);
        let layout = case.layout();
        let stock = case.stock(&layout);
        let oracle = Oracle::of(&case);
        let best = oracle.best();
        match fit(&layout, &stock, &case.wanted) {
            Ok(found) => {
                fits.set(fits.get() + 1);
                let set: Vec<Pcpu> =
                    found.parts.iter().flat_map(|part| part.pcpus.clone()).collect();
                prop_assert_eq!(set.len(), case.wanted.vcpus as usize);
                prop_assert!(set.iter().all(|cpu| case.free.contains(*cpu)), "{:?}", &set);
                prop_assert_eq!(oracle.score(&set), Some(found.score), "what it says of itself");
                prop_assert_eq!(best, Some(found.score), "the best there is");
                prop_assert_eq!(found.proof, Proof::Optimal);
                let pages: u64 = found.parts.iter().map(|part| part.pages).sum();
                prop_assert_eq!(pages, case.wanted.pages);
            }
            Err(refused) => {
                refusals.set(refusals.get() + 1);
                prop_assert!(refused != NoFit::GaveUp);
                prop_assert_eq!(best, None, "{:?}", refused);
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    let (fits, refusals) = (fits.get(), refusals.get());
    assert!(fits > cases / 4 && refusals > cases / 10, "{fits} fits, {refusals} refusals");
}

#[test]
fn the_best_of_every_placement_is_found() {
    held_against_everything(20_000);
}

#[test]
#[ignore = "takes an hour: the nightly run has it"]
fn the_best_of_a_million_is_found() {
    held_against_everything(1_000_000);
}
