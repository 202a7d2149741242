//! As many of a batch as can be had, on tiny fleets against every choice of them.

use super::batches::{exists, item, rule, rules_hold};
use super::small_fleet::{fill, fleet, make, shape, wanted};
use numawise_planner::fit::Wanted;
use numawise_planner::fleet::groups::{Allowed, Groups};
use numawise_planner::fleet::{Bound, Fleet, GroupRule, Item, place_most};
use proptest::collection::vec;
use proptest::prelude::*;
use std::cell::Cell;

type Given = (u32, u64, Option<GroupRule>);

/// The most of them for which there is room, those that must be together all or none.
fn most_that_exist(fleet: &Fleet, items: &[Given]) -> usize {
    let of = |set: u32| -> Vec<Given> {
        (0..items.len()).filter(|item| set & (1 << item) != 0).map(|item| items[item]).collect()
    };
    let tied = |(_, _, rule): &&Given| *rule == Some(GroupRule::Together);
    let whole = |some: &[Given]| {
        let kept = some.iter().filter(tied).count();
        kept == 0 || kept == items.iter().filter(tied).count()
    };
    let possible =
        (0..1u32 << items.len()).filter(|set| whole(&of(*set)) && exists(fleet, &of(*set)));
    possible.map(u32::count_ones).max().unwrap_or(0) as usize
}

#[test]
fn hardly_any_that_could_be_had_is_left_out() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 1_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let (had, could) = (Cell::new(0), Cell::new(0));
    let given = vec((1u32..=4, 1u64..=12, rule()), 3..6);
    let strategy = (vec(0usize..2, 1..3), vec((1u32..=3, 1u64..=8), 0..3), given);
    let result = runner.run(&strategy, |(hosts, before, items)| {
        let makes = [make(&shape(2, 1, 3, 1)), make(&shape(1, 2, 2, 1))];
        let mut fleet = fleet(&makes, &hosts);
        let before: Vec<Wanted> = before.iter().map(|(v, p)| wanted(*v, *p)).collect();
        fill(&mut fleet, &before);
        let untouched = fleet.clone();
        let batch: Vec<Item> = items.iter().map(item).collect();
        let mut never = || false;
        let mut bound = Bound::new(20_000, &mut never);
        let (mut groups, all) = (Groups::default(), Allowed::default());
        let done = place_most(&mut fleet, &mut groups, &batch, &all, &mut bound);
        let placed: Vec<usize> =
            (0..items.len()).filter(|index| done.placed[*index].is_some()).collect();
        let hosts: Vec<usize> = done.placed.iter().flatten().map(|one| one.host).collect();
        let kept: Vec<Given> = placed.iter().map(|index| items[*index]).collect();
        prop_assert!(rules_hold(&untouched, &kept, &hosts));
        let most = most_that_exist(&untouched, &items);
        prop_assert!(placed.len() <= most, "more than there is room for");
        had.set(had.get() + placed.len());
        could.set(could.get() + most);
        for one in done.placed.iter().flatten() {
            fleet.give_back(one.host, &one.held);
        }
        prop_assert!(fleet.is_like(&untouched), "what is held is what was taken");
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    let (had, could) = (had.get(), could.get());
    assert!(could > 1_500 && (could - had) * 100 <= could, "{had} of {could}");
}

/// Five small ones instead of the large one, whose place the largest first would take.
#[test]
fn small_ones_are_not_left_out_for_a_large_one() {
    let makes = [make(&shape(1, 1, 8, 1))];
    let mut fleet = fleet(&makes, &[0]);
    let sizes = [7, 2, 2, 2, 1, 1];
    let batch: Vec<Item> = sizes.iter().map(|vcpus| item(&(*vcpus, 1, None))).collect();
    let mut never = || false;
    let mut bound = Bound::new(1_000, &mut never);
    let (mut groups, all) = (Groups::default(), Allowed::default());
    let done = place_most(&mut fleet, &mut groups, &batch, &all, &mut bound);
    let placed: Vec<bool> = done.placed.iter().map(Option::is_some).collect();
    assert_eq!(placed, [false, true, true, true, true, true]);
    assert!(!done.is_cut_short);
    assert_eq!(fleet.left(0), 0);
}
