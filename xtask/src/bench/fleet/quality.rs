//! How many guests find a place before the first is refused, and how many CPUs are stranded then:
//! free, and of no use to a guest of the trace's commonest size.
//!
//! Ours and the peer's two ways on the same hosts and the same trace. A trace ends at the first
//! refusal, but for sizes that not even an empty host can hold: those are left out for all three.

use super::Make;
use super::peer::{self, Cell, Given, Way};
use super::trace::{Event, Size, Trace};
use numawise_model::HostId;
use numawise_planner::fit::fit;
use numawise_planner::fleet::{Bound, Fleet, Held, choose, groups::Allowed};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub placed: usize,
    pub stranded: u32,
    /// All of the trace was placed.
    pub to_the_end: bool,
}

pub struct Compared {
    pub trace: String,
    pub hosts: usize,
    pub ours: Outcome,
    pub pack: Outcome,
    pub spread: Outcome,
}

pub fn compare(trace: &Trace, make: &Make, hosts: usize) -> Compared {
    let possible = |size: &Size| fit(&make.layout, &make.whole, &size.wanted()).is_ok();
    let common = commonest(trace);
    Compared {
        trace: trace.name.clone(),
        hosts,
        ours: ours(trace, make, hosts, common, &possible),
        pack: theirs(trace, make, hosts, common, &possible, Way::Pack),
        spread: theirs(trace, make, hosts, common, &possible, Way::Spread),
    }
}

fn commonest(trace: &Trace) -> Size {
    let mut counts: BTreeMap<Size, usize> = BTreeMap::new();
    for event in &trace.events {
        if let Event::Arrive { size, .. } = event {
            *counts.entry(*size).or_default() += 1;
        }
    }
    let most = counts.iter().max_by_key(|(_, count)| **count);
    most.map_or(Size { vcpus: 2, memory_mib: 4096, huge: false, smt: 0, cells: 1 }, |(size, _)| {
        *size
    })
}

fn ours(
    trace: &Trace,
    make: &Make,
    hosts: usize,
    common: Size,
    possible: &dyn Fn(&Size) -> bool,
) -> Outcome {
    let mut fleet = Fleet::new();
    for host in 0..hosts {
        fleet.add_host(HostId(format!("host-{host}")), None, &make.layout, &make.whole);
    }
    let mut guests: BTreeMap<usize, (usize, Held)> = BTreeMap::new();
    let place = |fleet: &mut Fleet, size: Size| {
        let wanted = size.wanted();
        let mut never = || false;
        let mut bound = Bound::new(super::scale::FITS, &mut never);
        let choice = choose(fleet, &wanted, &Allowed::default(), &mut bound).ok()?;
        let held = Held::of(&choice.fit, fleet.layout(choice.host), &wanted);
        fleet.take(choice.host, &held);
        Some((choice.host, held))
    };
    let mut placed = 0;
    let mut to_the_end = true;
    for event in &trace.events {
        match event {
            Event::Arrive { id, size } if possible(size) => match place(&mut fleet, *size) {
                Some(guest) => {
                    placed += 1;
                    guests.insert(*id, guest);
                }
                None => {
                    to_the_end = false;
                    break;
                }
            },
            Event::Arrive { .. } => {}
            Event::Depart { id } => {
                if let Some((host, held)) = guests.remove(id) {
                    fleet.give_back(host, &held);
                }
            }
        }
    }
    while place(&mut fleet, common).is_some() {}
    let stranded = (0..hosts).map(|host| fleet.left(host)).sum();
    Outcome { placed, stranded, to_the_end }
}

fn theirs(
    trace: &Trace,
    make: &Make,
    hosts: usize,
    common: Size,
    possible: &dyn Fn(&Size) -> bool,
    way: Way,
) -> Outcome {
    let mut fleet = vec![host(make); hosts];
    let mut guests: BTreeMap<usize, Given> = BTreeMap::new();
    let mut placed = 0;
    let mut to_the_end = true;
    for event in &trace.events {
        match event {
            Event::Arrive { id, size } if possible(size) => {
                match peer::place(&mut fleet, *size, way) {
                    Some(given) => {
                        placed += 1;
                        guests.insert(*id, given);
                    }
                    None => {
                        to_the_end = false;
                        break;
                    }
                }
            }
            Event::Arrive { .. } => {}
            Event::Depart { id } => {
                if let Some(given) = guests.remove(id) {
                    fleet[given.host].give_back(&given);
                }
            }
        }
    }
    while peer::place(&mut fleet, common, way).is_some() {}
    Outcome { placed, stranded: fleet.iter().map(peer::Host::free).sum(), to_the_end }
}

fn host(make: &Make) -> peer::Host {
    let layout = &make.layout;
    let cell = |area: usize| {
        let segments = layout.segments_of(area).iter();
        let cores: Vec<u8> = segments
            .flat_map(|segment| layout.cores_of(segment))
            .map(|core| core.all() as u8)
            .collect();
        let pool = layout.areas[area].pool;
        let pages = [numawise_model::PageSize::BASE_4K, numawise_model::PageSize::HUGE_2M]
            .map(|size| make.whole.pages(size, pool).unwrap_or(0));
        Cell { cores, threads: layout.smt_width(), pages }
    };
    peer::Host { cells: (0..layout.areas.len()).map(cell).collect() }
}
