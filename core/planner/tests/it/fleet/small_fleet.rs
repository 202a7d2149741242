//! Fleets of a few small hosts of one or two makes, with guests on them.

use numawise_model::{CpuSet, HostId, L3Policy, PageSize, SmtPolicy};
use numawise_planner::fit::{Cells, Layout, Parting, Stock, Wanted};
use numawise_planner::fleet::{
    Bound, Choice, Fleet, Held, NoPlace, Resident, choose, groups::Allowed,
};
use numawise_testkit::{Numbering, Shape};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::rc::Rc;

pub const SIZE: PageSize = PageSize::HUGE_2M;

/// Pages of each node of a host.
pub const PAGES: u64 = 16;

pub fn shape(nodes: u32, l3_per_node: u32, cores_per_l3: u32, threads: u32) -> Shape {
    Shape {
        packages: 1,
        nodes_per_package: nodes,
        l3_per_node,
        cores_per_l3,
        threads,
        numbering: Numbering::SiblingsApart,
        node_bytes: 1 << 30,
        hugepages: BTreeMap::new(),
    }
}

/// A make: what its hosts share.
pub fn make(shape: &Shape) -> (Rc<Layout>, Rc<Stock>) {
    let topology = shape.host().topology;
    let layout = Layout::of(&topology);
    let free: CpuSet = topology.online.clone();
    let mut whole = Stock::new(&layout, &free);
    whole.set_pages(SIZE, vec![Some(PAGES); layout.pools()]);
    (Rc::new(layout), Rc::new(whole))
}

pub fn wanted(vcpus: u32, pages: u64) -> Wanted {
    Wanted {
        vcpus,
        pages,
        page_size: SIZE,
        smt: SmtPolicy::Prefer,
        l3: L3Policy::Compact,
        cells: Cells::Free(Parting::EvenFirst),
        emulator_cpus: 0,
        devices: Vec::new(),
    }
}

pub fn wanteds(most: u32) -> impl Strategy<Value = Wanted> {
    let smt = prop_oneof![
        6 => Just(SmtPolicy::Prefer),
        1 => Just(SmtPolicy::Require),
        1 => Just(SmtPolicy::Isolate),
        1 => Just(SmtPolicy::Avoid),
    ];
    let l3 = prop_oneof![4 => Just(L3Policy::Compact), 1 => Just(L3Policy::Spread)];
    let cells = prop_oneof![
        3 => Just(Cells::Free(Parting::EvenFirst)),
        2 => Just(Cells::Count(1, Parting::EvenFirst)),
        1 => Just(Cells::Count(2, Parting::EvenFirst)),
        1 => Just(Cells::Count(2, Parting::Even)),
    ];
    (1..=most, 1u64..=12, smt, l3, cells).prop_map(|(vcpus, pages, smt, l3, cells)| {
        let pages = pages.max(2);
        Wanted { smt, l3, cells, ..wanted(vcpus.max(2), pages) }
    })
}

/// A fleet with one host for each make named, racks in turn.
pub fn fleet(makes: &[(Rc<Layout>, Rc<Stock>)], hosts: &[usize]) -> Fleet {
    let mut fleet = Fleet::new();
    for (number, make) in hosts.iter().enumerate() {
        let (layout, whole) = &makes[*make];
        let rack = format!("rack-{}", number / 2);
        fleet.add_host(HostId(format!("host-{number}")), Some(&rack), layout, whole);
    }
    fleet
}

pub fn place(fleet: &Fleet, wanted: &Wanted) -> Result<Choice, NoPlace> {
    let mut never = || false;
    choose(fleet, wanted, &Allowed::default(), &mut Bound::new(100_000, &mut never))
}

/// Fills the fleet; the guests that found a place.
pub fn fill(fleet: &mut Fleet, guests: &[Wanted]) -> Vec<Resident> {
    let mut residents = Vec::new();
    for wanted in guests {
        if let Ok(choice) = place(fleet, wanted) {
            let held = Held::of(&choice.fit, fleet.layout(choice.host), wanted);
            fleet.take(choice.host, &held);
            let host = choice.host;
            let wanted = wanted.clone();
            residents.push(Resident { host, wanted, held, may_repin: true, may_migrate: true });
        }
    }
    residents
}
