//! Guests on many hosts: which host, and where on it.
//!
//! # Problem
//!
//! Requests come one by one, or as a batch that is known beforehand. Each is to be given one host
//! and a place on it. [`crate::fit`] finds the best place on a given host in microseconds; what is
//! left is which of ten thousand hosts, without asking each of them, and such that the guests that
//! come later find room too.
//!
//! # Terms
//!
//! - *Make*: hosts with the same [`Layout`] and the same CPUs and pages to give when they are empty.
//! - *Area*, *L3 domain*: as in [`crate::fit`]. An area or a host that is wholly free has everything
//!   to give that it ever has.
//! - *Rank*: the preferences below as numbers; smaller is better.
//! - *Group*: requests that a rule ties together: `apart` (different hosts), `per rack` (different
//!   racks), `together` (one host).
//!
//! # Preferences
//!
//! First what the request says: its group rules are constraints, as are the host's. Then, in order:
//!
//! 1. What the guest has of it, as [`fit`](crate::fit::fit) scores it: fewest vNUMA nodes that share
//!    an area, fewest areas, even parts, smallest distance, fewest areas against `avoid`, the L3
//!    policy (under `compact` the number of domains).
//! 2. What the fleet loses: no host that is empty is opened; fewest wholly free areas opened and not
//!    filled; for a guest in one area fewest wholly free L3 domains opened and not filled, the
//!    fewest threads left over in its area, then on its host; for others the fewest on the host.
//! 3. The host that was added first.
//!
//! What tells apart two places on the *same* area (cores, use, ids) is the business of the search
//! on one host.
//!
//! # Algorithm
//!
//! Most guests live in one area. For them the whole fleet is one list of areas, and areas whose L3
//! domains have the same counts of free threads, pairs and cores are alike: [`index`] keeps them in
//! classes, and inside a class by memory and by how full their host is. All of the rank but the
//! last two numbers belongs to the class, so [`choose`] bounds each class from its counts, looks at
//! the best first, and asks `fit` once for each class until no other can be better. Guests of
//! two equal areas are tried host by host, the fullest first, and there pair of areas by pair, until
//! no fuller host is left; empty hosts of one make are asked once. What needs unequal parts comes
//! after all that, and of it some answers are compared ([`several`]).
//!
//! A batch ([`batch`]) is placed largest first, and mended by moving what was placed before; where it
//! is too large, the most of it is looked for ([`most`]). Making room ([`room`], [`order`]) is the same search with guests that have their places already.
//!
//! Every search takes a [`Bound`]: a number of questions to `fit`, and a function that may say
//! "stop now". Core has no clock. What was found by then is the answer, and says so.
//!
//! # Properties
//!
//! 1. *No CPU and no page is given twice.*
//! 2. *The index changes nothing*: the rank found is the best over all hosts and areas, where the
//!    bound was not reached.
//! 3. *A refusal that says it is certain is.*
//! 4. *Group rules hold.*
//! 5. *All or nothing*: a batch that fails leaves the fleet as it was; so does asking what if.
//! 6. *Every step of moving runs on what is free when it runs.*
//!
//! # Limits
//!
//! Devices are not asked about: what is near differs from host to host. A batch and the making of
//! room are exact only as far as they say.

pub mod batch;
pub mod choose;
pub mod evacuate;
pub mod groups;
mod index;
mod most;
mod order;
mod rank;
mod reasons;
pub mod room;
mod several;
mod stays;

pub use batch::{Batch, Item, NotPlaced, Placed, place_all};
pub use choose::{Choice, NoPlace, choose};
pub use evacuate::evacuate;
pub use groups::{Group, GroupRule};
pub use most::place_most;
pub use rank::Rank;
pub use reasons::{Scope, Stands, WhyNot, stands_when_empty, why_not};
pub use room::{Move, Resident, Room, make_room};
pub use stays::{Staying, Stays};

use crate::fit::{Fit, Layout, Stock, Wanted};
use index::Index;
use numawise_model::{CpuSet, HostId, Id, PageSize, Pcpu};
use std::rc::Rc;

/// Hosts, what each has left, and an index over all of them.
#[derive(Clone, Debug)]
pub struct Fleet {
    makes: Vec<Make>,
    hosts: Vec<HostEntry>,
    racks: Vec<String>,
    index: Index,
}

#[derive(Clone, Debug)]
struct Make {
    layout: Rc<Layout>,
    /// Of a host without guests.
    whole: Rc<Stock>,
}

/// Kept small: there are many. Hosts without guests share their stock.
#[derive(Clone, Debug)]
struct HostEntry {
    id: HostId,
    rack: Option<u32>,
    make: u32,
    stock: Rc<Stock>,
    /// Free threads.
    left: u32,
}

/// What a guest has of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Its vCPUs' and those kept idle for it.
    pub cpus: CpuSet,
    /// By page size and pool.
    pub pages: Vec<(PageSize, usize, u64)>,
}

impl Held {
    pub fn of(fit: &Fit, layout: &Layout, wanted: &Wanted) -> Self {
        let mut held = Self::default();
        for part in &fit.parts {
            held.cpus.extend(&part.pcpus.iter().copied().collect());
            held.cpus.extend(&part.kept_idle);
            held.pages.push((wanted.page_size, layout.areas[part.area].pool, part.pages));
        }
        held
    }

    /// With the pCPUs for the emulator alone: the fit was found on the host as it is.
    fn on(fleet: &Fleet, host: usize, fit: &Fit, wanted: &Wanted) -> Self {
        let (layout, stock) = (fleet.layout(host), fleet.stock(host));
        let mut held = Self::of(fit, layout, wanted);
        for _ in 0..wanted.emulator_cpus {
            held.cpus.extend(&emulator_cpu(layout, stock, fit, &held.cpus));
        }
        held
    }
}

/// Not on a core of the guest where that can be, near its first part, on a core that is
/// not whole anyhow, the lowest.
fn emulator_cpu(layout: &Layout, stock: &Stock, fit: &Fit, used: &CpuSet) -> CpuSet {
    let cores = fit.parts.iter().enumerate().flat_map(|(order, part)| {
        let cores = layout.segments_of(part.area).iter().flat_map(|s| s.cores.clone());
        cores.map(move |core| (order, core))
    });
    let threads = cores.flat_map(|(order, core)| {
        let all = &layout.threads[layout.cores[core].threads.clone()];
        let own = all.iter().any(|id| used.contains(Pcpu::new(*id)));
        let whole = stock.free(core) == layout.cores[core].all();
        let left = stock.free_threads(layout, core).difference(used);
        left.iter().map(move |cpu| (own, order, whole, cpu)).collect::<Vec<_>>()
    });
    threads.min().map(|(.., cpu)| CpuSet::single(cpu)).unwrap_or_default()
}

/// How far a search may go.
pub struct Bound<'a> {
    /// Questions to `fit` that are left.
    pub fits: u32,
    stop: &'a mut dyn FnMut() -> bool,
    reached: bool,
}

impl<'a> Bound<'a> {
    pub fn new(fits: u32, stop: &'a mut dyn FnMut() -> bool) -> Self {
        Self { fits, stop, reached: false }
    }

    /// One more question, if there may be one.
    pub fn step(&mut self) -> bool {
        if self.reached || self.fits == 0 || (self.stop)() {
            self.reached = true;
            return false;
        }
        self.fits -= 1;
        true
    }

    pub fn is_reached(&self) -> bool {
        self.reached
    }
}

impl Default for Fleet {
    fn default() -> Self {
        Self::new()
    }
}

impl Fleet {
    pub fn new() -> Self {
        Self { makes: Vec::new(), hosts: Vec::new(), racks: Vec::new(), index: Index::default() }
    }

    /// Adds a host without guests, and says its number. Hosts that share `layout` and `whole` are of
    /// one make.
    pub fn add_host(
        &mut self,
        id: HostId,
        rack: Option<&str>,
        layout: &Rc<Layout>,
        whole: &Rc<Stock>,
    ) -> usize {
        let same = |make: &Make| Rc::ptr_eq(&make.layout, layout) && Rc::ptr_eq(&make.whole, whole);
        let make = self.makes.iter().rposition(same).unwrap_or_else(|| {
            self.makes.push(Make { layout: layout.clone(), whole: whole.clone() });
            self.makes.len() - 1
        });
        let rack = rack.map(|rack| self.rack_number(rack));
        let left = total(whole);
        let entry = HostEntry { id, rack, make: make as u32, stock: whole.clone(), left };
        self.hosts.push(entry);
        let host = self.hosts.len() - 1;
        self.list(host);
        host
    }

    fn rack_number(&mut self, rack: &str) -> u32 {
        let known = self.racks.iter().position(|known| known == rack);
        known.unwrap_or_else(|| {
            self.racks.push(rack.to_owned());
            self.racks.len() - 1
        }) as u32
    }

    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    pub fn id(&self, host: usize) -> &HostId {
        &self.hosts[host].id
    }

    pub fn host_of(&self, id: &HostId) -> Option<usize> {
        self.hosts.iter().position(|entry| entry.id == *id)
    }

    pub fn rack(&self, host: usize) -> Option<&str> {
        self.hosts[host].rack.map(|rack| self.racks[rack as usize].as_str())
    }

    pub fn layout(&self, host: usize) -> &Rc<Layout> {
        &self.makes[self.hosts[host].make as usize].layout
    }

    pub fn stock(&self, host: usize) -> &Stock {
        &self.hosts[host].stock
    }

    /// What the host has when nobody has anything of it.
    pub fn whole(&self, host: usize) -> &Stock {
        &self.makes[self.hosts[host].make as usize].whole
    }

    /// Free threads.
    pub fn left(&self, host: usize) -> u32 {
        self.hosts[host].left
    }

    pub fn has_no_guest(&self, host: usize) -> bool {
        Rc::ptr_eq(&self.hosts[host].stock, &self.makes[self.hosts[host].make as usize].whole)
    }

    pub fn take(&mut self, host: usize, held: &Held) {
        self.change(host, |layout, stock| {
            stock.take(layout, &held.cpus);
            for (size, pool, pages) in &held.pages {
                stock.take_pages(*size, *pool, *pages);
            }
        });
    }

    pub fn give_back(&mut self, host: usize, held: &Held) {
        self.change(host, |layout, stock| {
            stock.give_back(layout, &held.cpus);
            for (size, pool, pages) in &held.pages {
                stock.give_back_pages(*size, *pool, *pages);
            }
        });
    }

    /// Whether the host could give all of this now.
    pub fn has(&self, host: usize, held: &Held) -> bool {
        let stock = self.stock(host);
        let enough = |(size, pool, pages): &(PageSize, usize, u64)| {
            let same = held.pages.iter().filter(|(s, p, _)| (s, p) == (size, pool));
            let wanted: u64 = same.map(|(_, _, pages)| pages).sum();
            *pages == 0 || stock.pages(*size, *pool).is_none_or(|have| have >= wanted)
        };
        held.cpus.is_subset(&stock.free_cpus(self.layout(host))) && held.pages.iter().all(enough)
    }

    /// As if the host had no guests.
    fn empty_out(&mut self, host: usize) {
        let whole = self.makes[self.hosts[host].make as usize].whole.clone();
        self.change(host, |_, stock| stock.clone_from(&whole));
    }

    fn change(&mut self, host: usize, change: impl FnOnce(&Layout, &mut Stock)) {
        self.index.remove(host as u32);
        let entry = &mut self.hosts[host];
        let make = &self.makes[entry.make as usize];
        change(&make.layout, Rc::make_mut(&mut entry.stock));
        entry.left = total(&entry.stock);
        if *entry.stock == *make.whole {
            entry.stock = make.whole.clone();
        }
        self.list(host);
    }

    fn list(&mut self, host: usize) {
        let entry = &self.hosts[host];
        let make = &self.makes[entry.make as usize];
        self.index.insert(host as u32, entry, make);
    }

    /// Whether two fleets have the same hosts with the same left.
    pub fn is_like(&self, other: &Self) -> bool {
        self.hosts.len() == other.hosts.len()
            && self.hosts.iter().zip(&other.hosts).all(|(a, b)| {
                a.id == b.id && a.rack == b.rack && a.left == b.left && a.stock == b.stock
            })
            && self.index.is_like(&other.index)
    }
}

fn total(stock: &Stock) -> u32 {
    stock.areas().iter().map(|places| places.threads).sum()
}
