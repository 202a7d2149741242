//! The index finds what a plain scan over every host and every area finds.

use super::small_fleet::{fill, fleet, make, place, shape, wanted, wanteds};
use numawise_model::{Id, Pcpu, SmtPolicy};
use numawise_planner::fit::{Cells, Layout, PartingFound, Stock, Wanted, fit};
use numawise_planner::fleet::{Fleet, Rank};
use proptest::collection::vec;
use proptest::prelude::*;

/// The best rank over every host, area by area where one area is enough.
fn scanned(fleet: &Fleet, wanted: &Wanted) -> Option<(Rank, usize)> {
    let ask = |host: usize, areas: Option<&[usize]>| {
        let (layout, stock) = (fleet.layout(host), fleet.stock(host));
        let found = match areas {
            Some(areas) => fit(layout, &only(layout, stock, areas), wanted),
            None => fit(layout, stock, wanted),
        };
        Some((Rank::of(fleet, host, &found.ok()?, wanted), host))
    };
    let mut found = Vec::new();
    for host in 0..fleet.len() {
        let areas = fleet.layout(host).areas.len();
        match wanted.cells {
            Cells::Free(_) | Cells::Count(1, _) => {
                found.extend((0..areas).filter_map(|area| ask(host, Some(&[area]))));
            }
            Cells::Count(2, _) if halves_are_whole(fleet, host, wanted) => {
                let pairs = (0..areas).flat_map(|a| (a + 1..areas).map(move |b| [a, b]));
                found.extend(pairs.filter_map(|pair| ask(host, Some(&pair))));
            }
            Cells::Count(2, _) => found.extend(ask(host, None)),
            _ => {}
        }
    }
    // Unequal parts and shared areas come after all equal ones.
    let unequal = |rank: &Rank| (rank.sharing_cells, rank.parting) > (0, PartingFound::Even);
    found.retain(|(rank, _)| !unequal(rank));
    if found.is_empty() && !matches!(wanted.cells, Cells::Count(1, _)) {
        found.extend((0..fleet.len()).filter_map(|host| ask(host, None)));
    }
    found.into_iter().min()
}

fn halves_are_whole(fleet: &Fleet, host: usize, wanted: &Wanted) -> bool {
    let alone = matches!(wanted.smt, SmtPolicy::Isolate | SmtPolicy::Avoid);
    wanted.vcpus.is_multiple_of(if alone { 2 } else { 2 * fleet.layout(host).smt_width() })
}

/// What is left when everything outside these areas is taken.
fn only(layout: &Layout, stock: &Stock, areas: &[usize]) -> Stock {
    let mut only = stock.clone();
    for area in (0..layout.areas.len()).filter(|area| !areas.contains(area)) {
        for segment in layout.segments_of(area) {
            for core in layout.cores_of(segment) {
                let threads = &layout.threads[core.threads.clone()];
                only.take(layout, &threads.iter().map(|thread| Pcpu::new(*thread)).collect());
            }
        }
    }
    only
}

#[test]
fn an_empty_host_takes_a_guest() {
    let fleet = fleet(&[make(&shape(2, 2, 4, 2))], &[0]);
    let choice = place(&fleet, &wanted(4, 4)).expect("there is room");
    assert_eq!((choice.host, choice.is_best), (0, true));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_index_changes_nothing(
        hosts in vec(0usize..3, 1..5),
        guests in vec(wanteds(10), 0..14),
        leaves in vec(any::<prop::sample::Index>(), 0..6),
        wanted in wanteds(20),
    ) {
        let makes = [make(&shape(2, 2, 2, 2)), make(&shape(4, 1, 4, 1)), make(&shape(1, 3, 2, 2))];
        let mut fleet = fleet(&makes, &hosts);
        let mut residents = fill(&mut fleet, &guests);
        for leaves in leaves {
            if !residents.is_empty() {
                let gone = residents.swap_remove(leaves.index(residents.len()));
                fleet.give_back(gone.host, &gone.held);
            }
        }
        match (place(&fleet, &wanted), scanned(&fleet, &wanted)) {
            (Ok(found), Some((rank, host))) => {
                prop_assert!(found.is_best);
                prop_assert_eq!(found.rank, rank, "{:?}", wanted);
                prop_assert_eq!(found.host, host);
            }
            (Err(no), None) => prop_assert!(no.is_certain),
            (found, scanned) => prop_assert!(false, "{:?} against {:?}", found, scanned),
        }
    }

    #[test]
    fn what_leaves_leaves_no_trace(
        hosts in vec(0usize..2, 1..5),
        guests in vec(wanteds(10), 1..14),
    ) {
        let makes = [make(&shape(2, 2, 2, 2)), make(&shape(4, 1, 4, 1))];
        let before = fleet(&makes, &hosts);
        let mut after = before.clone();
        for gone in fill(&mut after, &guests) {
            after.give_back(gone.host, &gone.held);
        }
        prop_assert!(after.is_like(&before));
    }
}
