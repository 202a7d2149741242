//! Why a request has no place: each host under the first thing that stands against it there, and what
//! of the request would have to be given up.

use super::Fleet;
use super::choose::could_hold;
use super::groups::Allowed;
use super::rank::seats;
use crate::fit::{Cells, Layout, Parting, Stock, Wanted, fit};
use numawise_model::{L3Policy, SmtPolicy};
use std::collections::{BTreeMap, BTreeSet};

/// Hosts on which the search for a place is asked again, for each request; the rest is not told apart.
const ASKED: u32 = 64;

/// What of a request stands against it: without it alone there would be a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stands {
    L3,
    /// Their number or their sizes.
    Vnodes,
    Smt,
    Emulator,
    Vcpus,
    Memory,
    /// No one of these alone.
    Several,
}

/// What the question is asked of.
#[derive(Clone, Copy, Default)]
pub struct Scope<'a> {
    /// A host that is to be left: it is not counted.
    pub without: Option<usize>,
    /// Hosts with guests that may be moved.
    pub movable: Option<&'a BTreeSet<usize>>,
}

/// Hosts by what stands against a request on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WhyNot {
    pub hosts: u32,
    /// The request's rule is by rack, and the host's is not known.
    pub without_rack: u32,
    /// The group rules.
    pub against_rules: u32,
    /// Fewer seats than vCPUs, over all areas.
    pub short_of_cpus: u32,
    /// Seats enough, and less memory than wanted beside them.
    pub short_of_memory: u32,
    /// Enough of both, and no way to bring them together.
    pub without_a_way: u32,
    /// There is a place: what failed is the rest of the batch, or the search ended before.
    pub with_a_place: u32,
    /// What stands against it on those without a way.
    pub stands: BTreeSet<Stands>,
    /// Some host would have a place if the guests that may move were gone.
    pub moving_may_help: bool,
    /// What would stand against it on hosts without any guest; nothing where one of them has a place.
    pub stands_when_empty: BTreeSet<Stands>,
}

pub fn why_not(fleet: &Fleet, wanted: &Wanted, allowed: &Allowed, scope: Scope) -> WhyNot {
    let hosts = || (0..fleet.len()).filter(|host| scope.without != Some(*host));
    let mut why = WhyNot { hosts: hosts().count() as u32, ..WhyNot::default() };
    let mut left = ASKED;
    for host in hosts() {
        let (layout, stock) = (fleet.layout(host), fleet.stock(host));
        let free: u32 = stock.areas().iter().map(|places| seats(*places, wanted.smt)).sum();
        let counter = match () {
            () if allowed.lacks_rack(fleet, host) => &mut why.without_rack,
            () if !allowed.allows(fleet, host) => &mut why.against_rules,
            () if free < wanted.vcpus => &mut why.short_of_cpus,
            () if !could_hold(fleet, host, wanted) && without_cells(fleet, host, wanted) => {
                &mut why.short_of_memory
            }
            () if left == 0 => &mut why.without_a_way,
            () => {
                left -= 1;
                match fit(layout, stock, wanted) {
                    Ok(_) => &mut why.with_a_place,
                    Err(_) => {
                        why.stands.extend(stands(layout, stock, wanted));
                        &mut why.without_a_way
                    }
                }
            }
        };
        *counter += 1;
    }
    let makes = whole_makes(fleet, allowed, scope.without);
    let place = |host: &usize| fit(fleet.layout(*host), fleet.whole(*host), wanted).is_ok();
    let fitting: BTreeSet<u32> =
        makes.iter().filter(|(_, host)| place(host)).map(|(make, _)| *make).collect();
    if fitting.is_empty() {
        why.stands_when_empty = fewest_of(fleet, &makes, wanted);
    }
    why.moving_may_help = hosts().any(|host| {
        fitting.contains(&fleet.hosts[host].make)
            && allowed.allows(fleet, host)
            && scope.movable.is_some_and(|movable| movable.contains(&host))
    });
    why
}

/// What stands against a request on hosts that have no guests; nothing where there is a place.
pub fn stands_when_empty(fleet: &Fleet, wanted: &Wanted, allowed: &Allowed) -> BTreeSet<Stands> {
    let makes = whole_makes(fleet, allowed, None);
    let place = |host: &usize| fit(fleet.layout(*host), fleet.whole(*host), wanted).is_ok();
    if makes.values().any(place) {
        return BTreeSet::new();
    }
    fewest_of(fleet, &makes, wanted)
}

/// One host of each make.
fn whole_makes(fleet: &Fleet, allowed: &Allowed, without: Option<usize>) -> BTreeMap<u32, usize> {
    let may = (0..fleet.len())
        .filter(|host| without != Some(*host) && allowed.allows(fleet, *host))
        .map(|host| (fleet.hosts[host].make, host));
    may.collect()
}

/// What one thing alone can mend comes before what takes several.
fn fewest_of(fleet: &Fleet, makes: &BTreeMap<u32, usize>, wanted: &Wanted) -> BTreeSet<Stands> {
    let each = makes.values().map(|host| stands(fleet.layout(*host), fleet.whole(*host), wanted));
    let mut all: BTreeSet<Stands> = each.flatten().collect();
    if all.len() > 1 {
        all.remove(&Stands::Several);
    }
    all
}

/// Whether memory, and not the cutting into vNUMA nodes, is what is missing.
fn without_cells(fleet: &Fleet, host: usize, wanted: &Wanted) -> bool {
    let free = Wanted { cells: Cells::Free(Parting::EvenFirst), ..wanted.clone() };
    !could_hold(fleet, host, &free)
}

/// Which single thing the request could give up to have a place here.
fn stands(layout: &Layout, stock: &Stock, wanted: &Wanted) -> BTreeSet<Stands> {
    let place = |wanted: &Wanted| fit(layout, stock, wanted).is_ok();
    let without = |stands: Stands| {
        let mut less = wanted.clone();
        match stands {
            Stands::L3 => less.l3 = L3Policy::Compact,
            Stands::Vnodes => less.cells = Cells::Free(Parting::EvenFirst),
            Stands::Smt => less.smt = SmtPolicy::Prefer,
            Stands::Emulator => less.emulator_cpus = 0,
            Stands::Memory | Stands::Vcpus | Stands::Several => {}
        }
        less
    };
    let kinds = [Stands::L3, Stands::Vnodes, Stands::Smt, Stands::Emulator];
    let mut all: BTreeSet<Stands> =
        kinds.into_iter().filter(|kind| place(&without(*kind))).collect();
    if !all.is_empty() {
        return all;
    }
    let threads: u32 = stock.areas().iter().map(|places| places.threads).sum();
    if threads < wanted.vcpus {
        all.insert(Stands::Vcpus);
    }
    let mut plain = wanted.clone();
    plain.pages = u64::from(wanted.vcpus);
    plain.cells = match &wanted.cells {
        Cells::Given(_) => Cells::Free(Parting::EvenFirst),
        cells => cells.clone(),
    };
    if all.is_empty() && place(&plain) {
        all.insert(Stands::Memory);
    }
    if all.is_empty() {
        all.insert(Stands::Several);
    }
    all
}
