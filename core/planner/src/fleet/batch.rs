//! Many requests that are known beforehand: all of them or none, or as many as can be had.
//!
//! Requests that must be together are one unit. Units are placed the largest first: what is large has
//! few places, and what is small finds room in what is left. A request for which nothing is left may
//! still be placed by moving others of the batch, which nobody runs yet: one is taken out where the
//! request would fit without it, and finds another place, if need be in the same way. That goes on
//! to a depth, and until the bound is reached. Guests that were there before are never moved.
//!
//! A refusal is certain when some request alone has no place, when there are more vCPUs than free
//! threads, or when a group has more members than there are hosts or racks for them. Else it says that no way was found.

use super::choose::{Choice, choose};
use super::groups::{Allowed, Group, GroupRule, Groups};
use super::{Bound, Fleet, Held, Rank};
use crate::fit::{Fit, Wanted};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// One guest's moving may need another's, which may need another's: no deeper.
const DEEPEST: u32 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub wanted: Wanted,
    pub groups: Vec<Group>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    pub host: usize,
    pub fit: Fit,
    pub held: Held,
    pub rank: Rank,
    pub is_best: bool,
}

/// What became of a batch: a place for each item, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub placed: Vec<Option<Placed>>,
    /// The bound was reached before everything had been tried.
    pub is_cut_short: bool,
}

/// A batch that was not placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotPlaced {
    /// Items that have no place in the best attempt.
    pub items: Vec<usize>,
    /// There is no way to place them all; else none was found.
    pub is_certain: bool,
}

/// All or nothing: where some item has no place, the fleet and the groups stay as they were.
pub fn place_all(
    fleet: &mut Fleet,
    groups: &mut Groups,
    items: &[Item],
    base: &Allowed,
    bound: &mut Bound,
) -> Result<Batch, NotPlaced> {
    if let Some(items) = certainly_impossible(fleet, groups, items, base, bound) {
        return Err(NotPlaced { items, is_certain: true });
    }
    let mut work = Work::new(fleet, groups, items, base);
    let missing = work.place_units(&units(items), bound);
    work.mend(&missing, bound);
    let missing = work.missing();
    if missing.is_empty() {
        return Ok(Batch { placed: work.placed, is_cut_short: bound.is_reached() });
    }
    work.take_all_out();
    Err(NotPlaced { items: missing, is_certain: false })
}

/// Items for which nothing would be left even if they were alone, or all when they are too many.
fn certainly_impossible(
    fleet: &Fleet,
    groups: &Groups,
    items: &[Item],
    base: &Allowed,
    bound: &mut Bound,
) -> Option<Vec<usize>> {
    let free: u64 = (0..fleet.len())
        .filter(|host| base.allows(fleet, *host))
        .map(|host| u64::from(fleet.left(host)))
        .sum();
    let wanted: u64 = items.iter().map(|item| u64::from(item.wanted.vcpus)).sum();
    if wanted > free {
        return Some((0..items.len()).collect());
    }
    let tied: Vec<&[Group]> = items.iter().map(|item| item.groups.as_slice()).collect();
    let mut none = groups.too_many(fleet, base, &tied);
    for (index, item) in items.iter().enumerate() {
        let allowed = groups.allowed(fleet, &item.groups).and(base);
        if let Err(no) = choose(fleet, &item.wanted, &allowed, bound)
            && no.is_certain
            && !none.contains(&index)
        {
            none.push(index);
        }
    }
    none.sort_unstable();
    (!none.is_empty()).then_some(none)
}

/// Items by size, those that must be together as one.
pub(super) fn units(items: &[Item]) -> Vec<Vec<usize>> {
    let together =
        |item: &Item| item.groups.iter().find(|group| group.rule == GroupRule::Together).cloned();
    let mut units: Vec<Vec<usize>> = Vec::new();
    let mut of_group: BTreeMap<Group, usize> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        match together(item) {
            Some(group) => {
                let unit = *of_group.entry(group).or_insert(units.len());
                if unit == units.len() {
                    units.push(Vec::new());
                }
                units[unit].push(index);
            }
            None => units.push(vec![index]),
        }
    }
    let size = |item: &usize| {
        let wanted = &items[*item].wanted;
        (wanted.vcpus, u128::from(wanted.pages) * u128::from(wanted.page_size.bytes()))
    };
    for unit in &mut units {
        unit.sort_by_key(|item| (Reverse(size(item)), *item));
    }
    units.sort_by_key(|unit| {
        let vcpus: u32 = unit.iter().map(|item| items[*item].wanted.vcpus).sum();
        (Reverse(vcpus), Reverse(unit.first().map(size)), unit.first().copied())
    });
    units
}

/// Some of a batch that is placed, and the fleet without it.
pub(super) struct Work<'a> {
    pub(super) fleet: &'a mut Fleet,
    groups: &'a mut Groups,
    items: &'a [Item],
    base: &'a Allowed,
    pub(super) placed: Vec<Option<Placed>>,
    /// Items of the batch on each host.
    of_host: BTreeMap<usize, Vec<usize>>,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        fleet: &'a mut Fleet,
        groups: &'a mut Groups,
        items: &'a [Item],
        base: &'a Allowed,
    ) -> Self {
        Self {
            fleet,
            groups,
            items,
            base,
            placed: vec![None; items.len()],
            of_host: BTreeMap::new(),
        }
    }

    pub(super) fn missing(&self) -> Vec<usize> {
        (0..self.items.len()).filter(|item| self.placed[*item].is_none()).collect()
    }

    /// In this order; those for which there is no place are given back.
    pub(super) fn place_units(
        &mut self,
        units: &[Vec<usize>],
        bound: &mut Bound,
    ) -> Vec<Vec<usize>> {
        units.iter().filter(|unit| !self.place_unit(unit, bound)).cloned().collect()
    }

    /// Places by moving others what could not be placed.
    pub(super) fn mend(&mut self, missing: &[Vec<usize>], bound: &mut Bound) {
        for unit in missing {
            // Moving others to make room for several at once is not tried.
            if let [item] = unit[..] {
                self.place_by_moving(item, DEEPEST, bound);
            }
        }
    }

    pub(super) fn take_all_out(&mut self) -> Vec<Option<Placed>> {
        (0..self.items.len()).map(|item| self.take_out(item)).collect()
    }

    /// What was taken out of an otherwise empty work.
    pub(super) fn put_all_back(&mut self, placed: Vec<Option<Placed>>) {
        for (item, placed) in placed.into_iter().enumerate() {
            if let Some(placed) = placed {
                self.put_back(item, placed);
            }
        }
    }

    fn allowed(&self, item: usize) -> Allowed {
        self.groups.allowed(self.fleet, &self.items[item].groups).and(self.base)
    }

    fn choose(&self, item: usize, allowed: &Allowed, bound: &mut Bound) -> Option<Choice> {
        choose(self.fleet, &self.items[item].wanted, allowed, bound).ok()
    }

    fn take(&mut self, item: usize, choice: Choice) {
        let Choice { host, fit, held, rank, is_best } = choice;
        self.fleet.take(host, &held);
        self.groups.add(&self.items[item].groups, host);
        self.of_host.entry(host).or_default().push(item);
        self.placed[item] = Some(Placed { host, fit, held, rank, is_best });
    }

    fn take_out(&mut self, item: usize) -> Option<Placed> {
        let placed = self.placed[item].take()?;
        self.fleet.give_back(placed.host, &placed.held);
        self.groups.remove(&self.items[item].groups, placed.host);
        if let Some(items) = self.of_host.get_mut(&placed.host) {
            items.retain(|other| *other != item);
        }
        Some(placed)
    }

    fn put_back(&mut self, item: usize, placed: Placed) {
        self.fleet.take(placed.host, &placed.held);
        self.groups.add(&self.items[item].groups, placed.host);
        self.of_host.entry(placed.host).or_default().push(item);
        self.placed[item] = Some(placed);
    }

    /// All of a unit; on the next best host where the first is too small for the rest.
    fn place_unit(&mut self, unit: &[usize], bound: &mut Bound) -> bool {
        let Some((first, rest)) = unit.split_first() else { return true };
        let mut allowed = self.allowed(*first);
        while let Some(choice) = self.choose(*first, &allowed, bound) {
            let host = choice.host;
            self.take(*first, choice);
            let all = rest.iter().all(|item| {
                let choice = self.choose(*item, &self.allowed(*item), bound);
                choice.map(|choice| self.take(*item, choice)).is_some()
            });
            if all {
                return true;
            }
            for item in unit {
                self.take_out(*item);
            }
            allowed.forbid(host);
        }
        false
    }

    /// Takes one other out, for which another place is found.
    fn place_by_moving(&mut self, item: usize, depth: u32, bound: &mut Bound) -> bool {
        if let Some(choice) = self.choose(item, &self.allowed(item), bound) {
            self.take(item, choice);
            return true;
        }
        if depth == 0 {
            return false;
        }
        let mut hosts: Vec<usize> = self.of_host.keys().copied().collect();
        hosts.sort_by_key(|host| (Reverse(self.fleet.left(*host)), *host));
        for host in hosts {
            let mut others = self.of_host.get(&host).cloned().unwrap_or_default();
            others.sort_by_key(|other| (self.items[*other].wanted.vcpus, *other));
            for other in others {
                if bound.is_reached() {
                    return false;
                }
                let is_tied =
                    self.items[other].groups.iter().any(|g| g.rule == GroupRule::Together);
                let is_smaller = self.items[other].wanted.vcpus <= self.items[item].wanted.vcpus;
                if !is_tied && is_smaller && self.instead_of(item, other, host, depth, bound) {
                    return true;
                }
            }
        }
        false
    }

    fn instead_of(
        &mut self,
        item: usize,
        other: usize,
        host: usize,
        depth: u32,
        bound: &mut Bound,
    ) -> bool {
        let wanted = &self.items[item].wanted;
        let Some(was) = self.placed[other].as_ref() else { return false };
        let would_be = self.fleet.left(host) + was.held.cpus.len() as u32;
        if would_be < wanted.vcpus {
            return false;
        }
        let Some(was) = self.take_out(other) else { return false };
        let mut allowed = self.allowed(item);
        allowed.restrict(host);
        if let Some(choice) = self.choose(item, &allowed, bound) {
            self.take(item, choice);
            if self.place_by_moving(other, depth - 1, bound) {
                return true;
            }
            self.take_out(item);
        }
        self.put_back(other, was);
        false
    }
}
