//! Areas of all hosts by what they can seat, so that a request looks at each kind of area once.
//!
//! A **class** has all areas of hosts of one make whose L3 domains, in whatever order, have the same
//! numbers of free threads, pairs and whole cores, and whose memory is as far; areas of empty hosts are in classes of their own.
//! What a guest inside one area costs depends on nothing else, but for its memory. So the members of
//! a class are kept by memory first: by the free pages of each size, rounded down to a power of two
//! or the middle between two. Only members whose rounded memory is the rounded need must be asked.
//! Inside that they stand in the order of the last preferences: fullest host, lowest number.

use super::{HostEntry, Make};
use crate::fit::{Layout, Places, Stock};
use numawise_model::PageSize;
use std::collections::{BTreeMap, BTreeSet};

/// Of the page sizes that stock is kept in, so many are told apart.
const SIZES: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct Index {
    classes: Vec<Class>,
    by_key: BTreeMap<Box<[u64]>, u32>,
    vacant: Vec<u32>,
    /// Classes of a host's areas, with where its entry is found.
    of_host: Vec<Box<[Listed]>>,
    /// Empty hosts last, the fullest first; with the free threads of their largest areas.
    by_left: BTreeMap<(bool, u32, u32), Largest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listed {
    class: u32,
    memory: Memory,
    left: u32,
    empty: bool,
}

/// For each page size the rounded number of pages.
type Memory = [u8; SIZES];

/// Free threads of the areas that have the most, descending; what is above 255 is 255.
pub type Largest = [u8; 8];

/// An area: free threads of its host, the host, the area.
type Member = (u32, u32, u16);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    pub make: u32,
    /// The hosts have no guest.
    pub empty_hosts: bool,
    /// Nobody has any of these areas.
    pub wholly_free: bool,
    /// How much farther their memory is than memory of their own would be.
    pub beyond_own: u64,
    pub places: Places,
    /// L3 domains with anything to give, those with the most first, each with its width.
    pub domains: Box<[(Places, u32)]>,
    members: BTreeMap<Memory, BTreeSet<Member>>,
}

impl Index {
    pub fn insert(&mut self, host: u32, entry: &HostEntry, make: &Make) {
        let empty = *entry.stock == *make.whole;
        let layout = &make.layout;
        let listed = (0..layout.areas.len()).map(|area| {
            let class = self.class(entry, make, area, empty);
            let memory = memory(layout, &entry.stock, area);
            let member = (entry.left, host, area as u16);
            self.classes[class as usize].members.entry(memory).or_default().insert(member);
            Listed { class, memory, left: entry.left, empty }
        });
        let listed: Box<[Listed]> = listed.collect();
        self.by_left.insert((empty, entry.left, host), largest(&entry.stock));
        match self.of_host.get_mut(host as usize) {
            Some(known) => *known = listed,
            None => self.of_host.push(listed),
        }
    }

    pub fn remove(&mut self, host: u32) {
        let listed = std::mem::take(&mut self.of_host[host as usize]);
        for (area, listed) in listed.iter().enumerate() {
            self.by_left.remove(&(listed.empty, listed.left, host));
            let class = &mut self.classes[listed.class as usize];
            if let Some(members) = class.members.get_mut(&listed.memory) {
                members.remove(&(listed.left, host, area as u16));
                if members.is_empty() {
                    class.members.remove(&listed.memory);
                }
            }
            if class.members.is_empty() {
                let key = key(class.make, class.kind(), &class.domains);
                self.by_key.remove(&key);
                self.vacant.push(listed.class);
            }
        }
    }

    fn class(&mut self, entry: &HostEntry, make: &Make, area: usize, empty: bool) -> u32 {
        let domains = domains(&make.layout, &entry.stock, area);
        let places = entry.stock.area(area);
        let wholly_free = places.threads == make.whole.area(area).threads;
        let beyond_own = make.layout.beyond_own(area);
        let key = key(entry.make, (empty, wholly_free, beyond_own), &domains);
        if let Some(class) = self.by_key.get(&key) {
            return *class;
        }
        let class = Class {
            make: entry.make,
            empty_hosts: empty,
            wholly_free,
            beyond_own,
            places,
            domains,
            members: BTreeMap::new(),
        };
        let number = match self.vacant.pop() {
            Some(number) => {
                self.classes[number as usize] = class;
                number
            }
            None => {
                self.classes.push(class);
                self.classes.len() as u32 - 1
            }
        };
        self.by_key.insert(key, number);
        number
    }

    pub fn classes(&self) -> impl Iterator<Item = &Class> {
        self.classes.iter().filter(|class| !class.members.is_empty())
    }

    /// Hosts with at least so many free threads: those with guests first, the fullest first.
    pub fn hosts_with(&self, threads: u32) -> impl Iterator<Item = (usize, &Largest)> + '_ {
        let used = self.by_left.range((false, threads, 0)..(true, 0, 0));
        let empty = self.by_left.range((true, threads, 0)..);
        used.chain(empty).map(|((_, _, host), largest)| (*host as usize, largest))
    }

    /// The same areas in the same classes, whatever the classes are numbered.
    pub fn is_like(&self, other: &Self) -> bool {
        self.by_left == other.by_left
            && self.by_key.len() == other.by_key.len()
            && self.by_key.iter().all(|(key, class)| {
                let there = other.by_key.get(key).map(|class| &other.classes[*class as usize]);
                there == Some(&self.classes[*class as usize])
            })
    }
}

impl Class {
    fn kind(&self) -> Kind {
        (self.empty_hosts, self.wholly_free, self.beyond_own)
    }

    /// The first member with these pages that is allowed: host and area.
    pub fn first(
        &self,
        need: &Need,
        allowed: &mut dyn FnMut(usize) -> bool,
        pages: &dyn Fn(usize, usize) -> u64,
    ) -> Option<(usize, usize)> {
        let mut best: Option<Member> = None;
        for (memory, members) in &self.members {
            let have = need.slot.map_or(u8::MAX, |slot| memory[slot]);
            if have < need.rounded {
                continue;
            }
            // What is rounded to more than the need is more.
            let certain = have > need.rounded && need.slot.is_some();
            let found = members.iter().find(|(_, host, area)| {
                let (host, area) = (*host as usize, *area as usize);
                allowed(host) && (certain || pages(host, area) >= need.pages)
            });
            if let Some(found) = found
                && best.is_none_or(|best| *found < best)
            {
                best = Some(*found);
            }
        }
        best.map(|(_, host, area)| (host as usize, area as usize))
    }
}

/// Pages of one size that an area must have.
pub struct Need {
    pub pages: u64,
    rounded: u8,
    slot: Option<usize>,
}

impl Need {
    pub fn new(size: PageSize, pages: u64) -> Self {
        Self { pages, rounded: rounded(pages), slot: slot(size) }
    }
}

fn largest(stock: &Stock) -> Largest {
    let mut largest = Largest::default();
    for places in stock.areas() {
        let mut threads = u8::try_from(places.threads).unwrap_or(u8::MAX);
        for known in &mut largest {
            if threads > *known {
                std::mem::swap(&mut threads, known);
            }
        }
    }
    largest
}

/// Where a page size is counted: base pages, 2M, 1G, and one for any other.
fn slot(size: PageSize) -> Option<usize> {
    match size {
        PageSize::BASE_4K => Some(0),
        PageSize::HUGE_2M => Some(1),
        PageSize::HUGE_1G => Some(2),
        _ => None,
    }
}

fn memory(layout: &Layout, stock: &Stock, area: usize) -> Memory {
    let mut memory = [u8::MAX; SIZES];
    let area = &layout.areas[area];
    for size in [PageSize::BASE_4K, PageSize::HUGE_2M, PageSize::HUGE_1G] {
        let pages = match area.memory_nodes.is_empty() {
            true => Some(0),
            false => stock.pages(size, area.pool),
        };
        if let (Some(slot), Some(pages)) = (slot(size), pages) {
            memory[slot] = rounded(pages);
        }
    }
    memory
}

/// Twice the logarithm to base 2, rounded down: grows with the number, and has few values.
fn rounded(pages: u64) -> u8 {
    match pages.checked_ilog2() {
        None => 0,
        Some(0) => 2,
        Some(bits) => (2 * bits + 2) as u8 + ((pages >> (bits - 1)) & 1) as u8,
    }
}

fn domains(layout: &Layout, stock: &Stock, area: usize) -> Box<[(Places, u32)]> {
    let segments = layout.areas[area].segments.clone();
    let mut domains: Vec<(Places, u32)> = segments
        .map(|segment| (stock.segment(segment), layout.segments[segment].width))
        .filter(|(places, _)| places.threads > 0)
        .collect();
    domains.sort_unstable_by_key(|(places, width)| std::cmp::Reverse(packed(*places, *width)));
    domains.into_boxed_slice()
}

fn packed(places: Places, width: u32) -> u64 {
    let Places { threads, paired, whole_cores } = places;
    (u64::from(threads) << 48)
        | (u64::from(paired) << 32)
        | (u64::from(whole_cores) << 16)
        | u64::from(width)
}

/// Of a class: hosts without guests, areas that nobody has any of, how far memory is.
type Kind = (bool, bool, u64);

fn key(make: u32, (empty, wholly_free, beyond_own): Kind, domains: &[(Places, u32)]) -> Box<[u64]> {
    let head = (u64::from(make) << 2) | (u64::from(empty) << 1) | u64::from(wholly_free);
    let domains = domains.iter().map(|(places, width)| packed(*places, *width));
    [head, beyond_own].into_iter().chain(domains).collect()
}
