//! Batches on tiny fleets against every way there is, and rooms step by step.

use super::small_fleet::{fill, fleet, make, place, shape, wanted};
use numawise_model::CpuSet;
use numawise_planner::fit::Wanted;
use numawise_planner::fleet::groups::{Allowed, Groups};
use numawise_planner::fleet::{
    Bound, Fleet, Group, GroupRule, Held, Item, evacuate, make_room, place_all,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;

pub(super) fn rule() -> impl Strategy<Value = Option<GroupRule>> {
    prop_oneof![
        3 => Just(None),
        1 => Just(Some(GroupRule::Apart)),
        1 => Just(Some(GroupRule::Together)),
        1 => Just(Some(GroupRule::PerRack)),
    ]
}

/// vCPUs and pages of guests that each live in one area, with their rules.
fn items() -> impl Strategy<Value = Vec<(u32, u64, Option<GroupRule>)>> {
    vec((1u32..=4, 1u64..=12, rule()), 1..5)
}

pub(super) fn item((vcpus, pages, rule): &(u32, u64, Option<GroupRule>)) -> Item {
    use numawise_planner::fit::{Cells, Parting};
    let cells = Cells::Count(1, Parting::EvenFirst);
    let group = |rule: &GroupRule| Group { rule: *rule, name: "g".to_owned() };
    Item {
        wanted: Wanted { cells, ..wanted(*vcpus, *pages) },
        groups: rule.iter().map(group).collect(),
    }
}

/// Whether any assignment of items to areas holds: threads and pages of each, group rules. On hosts
/// without SMT that is all there is to it.
pub(super) fn exists(fleet: &Fleet, items: &[(u32, u64, Option<GroupRule>)]) -> bool {
    let areas: Vec<(usize, usize)> = (0..fleet.len())
        .flat_map(|host| (0..fleet.layout(host).areas.len()).map(move |area| (host, area)))
        .collect();
    let ways = areas.len().pow(items.len() as u32);
    (0..ways).any(|way| {
        let mut left: BTreeMap<(usize, usize), (u32, u64)> = areas
            .iter()
            .map(|(host, area)| {
                let stock = fleet.stock(*host);
                let pool = fleet.layout(*host).areas[*area].pool;
                let pages = stock.pages(super::small_fleet::SIZE, pool).unwrap_or(0);
                ((*host, *area), (stock.area(*area).threads, pages))
            })
            .collect();
        let mut way = way;
        let mut hosts = Vec::new();
        for (vcpus, pages, _) in items {
            let at = areas[way % areas.len()];
            way /= areas.len();
            hosts.push(at.0);
            let left = left.get_mut(&at).expect("every area is there");
            match (left.0.checked_sub(*vcpus), left.1.checked_sub(*pages)) {
                (Some(threads), Some(pages)) => *left = (threads, pages),
                _ => return false,
            }
        }
        rules_hold(fleet, items, &hosts)
    })
}

pub(super) fn rules_hold(
    fleet: &Fleet,
    items: &[(u32, u64, Option<GroupRule>)],
    hosts: &[usize],
) -> bool {
    let of = |wanted: GroupRule| {
        let mine = items.iter().zip(hosts).filter(move |((.., rule), _)| *rule == Some(wanted));
        mine.map(|(_, host)| *host).collect::<Vec<usize>>()
    };
    let distinct = |mut values: Vec<String>| {
        let all = values.len();
        values.sort();
        values.dedup();
        values.len() == all
    };
    let apart = of(GroupRule::Apart).iter().map(ToString::to_string).collect();
    let racks = of(GroupRule::PerRack);
    let racks = racks.iter().map(|host| fleet.rack(*host).unwrap_or("").to_owned()).collect();
    distinct(apart) && distinct(racks) && of(GroupRule::Together).windows(2).all(|w| w[0] == w[1])
}

#[test]
fn batches_against_every_assignment() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let (placed, certain, missed) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let strategy = (vec(0usize..2, 1..4), vec((1u32..=3, 1u64..=8), 0..4), items());
    let result = runner.run(&strategy, |(hosts, before, items)| {
        let makes = [make(&shape(2, 1, 3, 1)), make(&shape(1, 2, 2, 1))];
        let mut fleet = fleet(&makes, &hosts);
        let before: Vec<Wanted> = before.iter().map(|(v, p)| wanted(*v, *p)).collect();
        fill(&mut fleet, &before);
        let untouched = fleet.clone();
        let batch: Vec<Item> = items.iter().map(item).collect();
        let mut never = || false;
        let mut bound = Bound::new(20_000, &mut never);
        let mut groups = Groups::default();
        match place_all(&mut fleet, &mut groups, &batch, &Allowed::default(), &mut bound) {
            Ok(done) => {
                placed.set(placed.get() + 1);
                let mut given: BTreeMap<usize, CpuSet> = BTreeMap::new();
                let mut hosts = Vec::new();
                for ((vcpus, pages, _), one) in items.iter().zip(&done.placed) {
                    let one = one.as_ref().expect("all or nothing");
                    hosts.push(one.host);
                    prop_assert_eq!(one.held.cpus.len(), *vcpus as usize);
                    prop_assert_eq!(one.held.pages.iter().map(|p| p.2).sum::<u64>(), *pages);
                    let given = given.entry(one.host).or_default();
                    prop_assert!(given.is_disjoint(&one.held.cpus), "given twice");
                    given.extend(&one.held.cpus);
                    let free = untouched.stock(one.host).free_cpus(untouched.layout(one.host));
                    prop_assert!(one.held.cpus.is_subset(&free));
                }
                prop_assert!(rules_hold(&untouched, &items, &hosts));
                for one in done.placed.into_iter().flatten() {
                    fleet.give_back(one.host, &one.held);
                }
            }
            Err(no) => {
                let possible = exists(&untouched, &items);
                prop_assert!(!(no.is_certain && possible), "a wrong refusal");
                certain.set(certain.get() + u32::from(no.is_certain));
                missed.set(missed.get() + u32::from(possible));
            }
        }
        prop_assert!(fleet.is_like(&untouched), "no trace is left");
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    let (placed, certain, missed) = (placed.get(), certain.get(), missed.get());
    assert!(placed > 500 && certain > 50, "{placed} placed, {certain} certain refusals");
    // Not every way is tried; hardly any that exists is missed.
    assert!(missed * 100 <= placed, "{missed} missed, {placed} placed");
}

/// Whether moving at most one guest makes a place, by the counts of threads and pages of each area:
/// for guests of one area that take any thread there is nothing else.
fn one_move_is_enough(
    fleet: &Fleet,
    residents: &[numawise_planner::fleet::Resident],
    wanted: &Wanted,
) -> bool {
    let mut left: Vec<(u32, u64)> = Vec::new();
    let mut first: Vec<usize> = Vec::new();
    for host in 0..fleet.len() {
        first.push(left.len());
        for area in 0..fleet.layout(host).areas.len() {
            let pool = fleet.layout(host).areas[area].pool;
            let pages = fleet.stock(host).pages(super::small_fleet::SIZE, pool);
            left.push((fleet.stock(host).area(area).threads, pages.unwrap_or(0)));
        }
    }
    let holds =
        |left: &(u32, u64), wanted: &Wanted| left.0 >= wanted.vcpus && left.1 >= wanted.pages;
    let any = |left: &[(u32, u64)]| left.iter().any(|left| holds(left, wanted));
    any(&left)
        || residents.iter().any(|guest| {
            // Each area has its own pool here, so the pool tells the area.
            let own = first[guest.host] + guest.held.pages[0].1;
            let mut gone = left.clone();
            gone[own].0 += guest.wanted.vcpus;
            gone[own].1 += guest.wanted.pages;
            (0..gone.len()).filter(|to| *to != own).any(|to| {
                let mut moved = gone.clone();
                let may = holds(&moved[to], &guest.wanted);
                if may {
                    moved[to].0 -= guest.wanted.vcpus;
                    moved[to].1 -= guest.wanted.pages;
                }
                may && any(&moved)
            })
        })
}

/// Carries the moves out one by one; whether each target was free when its step ran.
fn carry_out(
    fleet: &mut Fleet,
    residents: &[numawise_planner::fleet::Resident],
    moves: &[numawise_planner::fleet::Move],
) -> bool {
    moves.iter().all(|step| {
        let resident = &residents[step.resident];
        fleet.give_back(resident.host, &resident.held);
        let free = fleet.has(step.to, &step.held);
        fleet.take(step.to, &step.held);
        free && step.held.cpus.len() == resident.held.cpus.len()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn room_is_made_step_by_step(
        hosts in vec(0usize..2, 1..4),
        guests in vec((1u32..=4, 1u64..=6), 3..12),
        leaves in vec(any::<prop::sample::Index>(), 1..5),
        size in (3u32..=6, 1u64..=12),
    ) {
        let makes = [make(&shape(2, 1, 4, 2)), make(&shape(2, 2, 3, 1))];
        let mut fleet = fleet(&makes, &hosts);
        let guests: Vec<Wanted> = guests.iter().map(|(v, p)| item(&(*v, *p, None)).wanted).collect();
        let mut residents = fill(&mut fleet, &guests);
        for leaves in leaves {
            if !residents.is_empty() {
                let gone = residents.swap_remove(leaves.index(residents.len()));
                fleet.give_back(gone.host, &gone.held);
            }
        }
        let before = fleet.clone();
        let wanted = item(&(size.0, size.1, None)).wanted;
        let mut never = || false;
        let mut bound = Bound::new(50_000, &mut never);
        let room = make_room(&fleet, &residents, &wanted, &Allowed::default(), &mut bound);
        prop_assert!(fleet.is_like(&before));
        match room {
            Ok(room) => {
                prop_assert_eq!(room.moves.is_empty(), place(&fleet, &wanted).is_ok());
                let fewer = room.moves.len() > 1 && one_move_is_enough(&fleet, &residents, &wanted);
                prop_assert!(!fewer, "{} moves, and one is enough", room.moves.len());
                prop_assert!(carry_out(&mut fleet, &residents, &room.moves));
                let held = Held::of(&room.place.fit, fleet.layout(room.place.host), &wanted);
                prop_assert!(fleet.has(room.place.host, &held), "the place is free at the end");
            }
            Err(_) => prop_assert!(!one_move_is_enough(&fleet, &residents, &wanted)),
        }
    }

    #[test]
    fn a_host_is_emptied_or_those_in_the_way_are_named(
        hosts in vec(0usize..2, 2..4),
        guests in vec((1u32..=4, 1u64..=6), 1..10),
    ) {
        let makes = [make(&shape(2, 1, 4, 2)), make(&shape(2, 2, 3, 1))];
        let mut fleet = fleet(&makes, &hosts);
        let guests: Vec<Wanted> = guests.iter().map(|(v, p)| item(&(*v, *p, None)).wanted).collect();
        let residents = fill(&mut fleet, &guests);
        let here = residents.iter().filter(|resident| resident.host == 0).count();
        let mut never = || false;
        let mut bound = Bound::new(50_000, &mut never);
        match evacuate(&fleet, &residents, 0, &mut bound) {
            Ok(moves) => {
                prop_assert_eq!(moves.len(), here);
                prop_assert!(moves.iter().all(|step| step.to != 0));
                prop_assert!(carry_out(&mut fleet, &residents, &moves));
                prop_assert!(fleet.has_no_guest(0));
            }
            Err(no) => prop_assert!(!no.items.is_empty() && no.items.len() <= here),
        }
    }
}

#[test]
fn one_small_guest_makes_way_for_a_large_one() {
    let mut fleet = fleet(&[make(&shape(2, 1, 4, 1))], &[0]);
    let small = item(&(1, 1, None)).wanted;
    let filler = item(&(3, 1, None)).wanted;
    let mut residents = fill(&mut fleet, &[small.clone(), filler.clone(), small, filler]);
    // The filler beside each small one goes: each node has one small guest left.
    residents.retain(|resident| {
        let goes = resident.wanted.vcpus == 3;
        if goes {
            fleet.give_back(resident.host, &resident.held);
        }
        !goes
    });
    let large = item(&(4, 4, None)).wanted;
    let mut never = || false;
    let room = make_room(
        &fleet,
        &residents,
        &large,
        &Allowed::default(),
        &mut Bound::new(1_000, &mut never),
    )
    .expect("one repin is enough");
    assert_eq!((room.moves.len(), room.is_fewest), (1, true));
    assert!(room.moves[0].is_repin());
}
