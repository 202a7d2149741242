//! Room for a request that has no place: which guests to move, how few, and in which order.
//!
//! # Moves
//!
//! A guest is **repinned** when it gets other CPUs of its host, and **migrated** when it gets another
//! host. Fewest moves come first, then fewest migrations, then the least that is moved.
//!
//! # Search
//!
//! No move: the request has a place. One move: for each guest whose leaving makes a place on its
//! host, the request takes that place, and the guest is looked for another, on its own host first,
//! then anywhere. Two moves: the same with two guests of a host; or with one, whose new place is made
//! by moving a second one on another host. All of these are tried. More: for each host, the smallest
//! guests leave until there is a place; those that need not have left stay.
//!
//! That a number of moves is the fewest is said where all smaller numbers are excluded. One doubt can
//! remain there: a guest and the request may both fit on a host in a way that neither going first
//! finds. Where that might have been the case, the answer is the best found.

use super::choose::{Choice, choose, choose_in_area};
use super::groups::Allowed;
use super::order::{Cost, in_order};
use super::{Bound, Fleet, Held};
use crate::fit::{Cells, Fit, Wanted};
use std::collections::BTreeMap;

/// A guest that has a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resident {
    pub host: usize,
    pub wanted: Wanted,
    pub held: Held,
    /// It may be given other CPUs of its host.
    pub may_repin: bool,
    /// It may be given another host.
    pub may_migrate: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    pub resident: usize,
    pub from: usize,
    pub to: usize,
    pub fit: Fit,
    pub held: Held,
}

impl Move {
    pub fn is_repin(&self) -> bool {
        self.from == self.to
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// In the order in which they can be carried out.
    pub moves: Vec<Move>,
    pub place: Choice,
    /// There is no way with fewer moves.
    pub is_fewest: bool,
}

/// No way was found; with `is_certain` even an empty fleet has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    pub is_certain: bool,
}

/// The fewest moves after which the request has a place. The fleet is not changed.
pub fn make_room(
    fleet: &Fleet,
    residents: &[Resident],
    wanted: &Wanted,
    allowed: &Allowed,
    bound: &mut Bound,
) -> Result<Room, NoRoom> {
    let first = match choose(fleet, wanted, allowed, bound) {
        Ok(place) => return Ok(Room { moves: Vec::new(), place, is_fewest: true }),
        Err(no) => no,
    };
    let mut of_host: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, resident) in residents.iter().enumerate() {
        of_host.entry(resident.host).or_default().push(index);
    }
    for guests in of_host.values_mut() {
        guests.sort_by_key(|guest| (residents[*guest].held.cpus.len(), *guest));
    }
    let mut search = Search {
        fleet: fleet.clone(),
        residents,
        of_host,
        allowed: allowed.clone(),
        is_complete: first.is_certain,
    };
    let one = search.one_move(wanted, &[], bound);
    if let Some(room) = one {
        return Ok(Room { is_fewest: first.is_certain, ..room });
    }
    let fewer_excluded = search.is_complete && !bound.is_reached();
    if let Some(room) = search.two_moves(wanted, bound) {
        return Ok(Room { is_fewest: fewer_excluded, ..room });
    }
    search.many_moves(wanted, bound).ok_or(NoRoom { is_certain: search.nobody_could(wanted) })
}

struct Search<'a> {
    /// Changed while trying, and put back.
    fleet: Fleet,
    residents: &'a [Resident],
    of_host: BTreeMap<usize, Vec<usize>>,
    allowed: Allowed,
    is_complete: bool,
}

impl Search<'_> {
    fn leave(&mut self, guests: &[usize]) {
        for guest in guests {
            let resident = &self.residents[*guest];
            self.fleet.give_back(resident.host, &resident.held);
        }
    }

    fn come_back(&mut self, guests: &[usize]) {
        for guest in guests {
            let resident = &self.residents[*guest];
            self.fleet.take(resident.host, &resident.held);
        }
    }

    /// The request's place on a host, the guests having left.
    fn place_on(&self, host: usize, wanted: &Wanted, bound: &mut Bound) -> Option<Choice> {
        let mut allowed = self.allowed.clone();
        allowed.restrict(host);
        choose(&self.fleet, wanted, &allowed, bound).ok()
    }

    /// Whether the host could hold the request with so many threads more.
    fn is_worth_trying(&self, host: usize, guests: &[usize], wanted: &Wanted) -> bool {
        let more: usize = guests.iter().map(|guest| self.residents[*guest].held.cpus.len()).sum();
        self.allowed.allows(&self.fleet, host)
            && self.fleet.left(host) + more as u32 >= wanted.vcpus
            && guests
                .iter()
                .all(|guest| self.residents[*guest].may_repin || self.residents[*guest].may_migrate)
    }

    fn one_move(&mut self, wanted: &Wanted, not: &[usize], bound: &mut Bound) -> Option<Room> {
        let mut best: Option<(Cost, Room)> = None;
        for (host, guests) in self.of_host.clone() {
            for guest in guests.into_iter().filter(|guest| !not.contains(guest)) {
                if bound.is_reached() || !self.is_worth_trying(host, &[guest], wanted) {
                    continue;
                }
                if let Some(room) = self.try_moving(host, &[guest], wanted, bound) {
                    let cost = self.cost(&room.moves);
                    if best.as_ref().is_none_or(|(best, _)| cost < *best) {
                        best = Some((cost, room));
                    }
                }
            }
        }
        best.map(|(_, room)| room)
    }

    fn two_moves(&mut self, wanted: &Wanted, bound: &mut Bound) -> Option<Room> {
        let mut best: Option<(Cost, Room)> = None;
        let mut keep = |cost: Cost, room: Room| {
            if best.as_ref().is_none_or(|(best, _)| cost < *best) {
                best = Some((cost, room));
            }
        };
        for (host, guests) in self.of_host.clone() {
            for (index, first) in guests.iter().enumerate() {
                for second in &guests[index + 1..] {
                    let pair = [*first, *second];
                    if bound.is_reached() || !self.is_worth_trying(host, &pair, wanted) {
                        continue;
                    }
                    if let Some(room) = self.try_moving(host, &pair, wanted, bound) {
                        keep(self.cost(&room.moves), room);
                    }
                }
                if !bound.is_reached()
                    && self.residents[*first].may_migrate
                    && self.is_worth_trying(host, &[*first], wanted)
                    && let Some(room) = self.by_making_room_elsewhere(host, *first, wanted, bound)
                {
                    keep(self.cost(&room.moves), room);
                }
            }
        }
        best.map(|(_, room)| room)
    }

    /// The guest goes to a host where another one moves first.
    fn by_making_room_elsewhere(
        &mut self,
        host: usize,
        guest: usize,
        wanted: &Wanted,
        bound: &mut Bound,
    ) -> Option<Room> {
        self.leave(&[guest]);
        let place = self.place_on(host, wanted, bound);
        let mut found = None;
        if let Some(place) = place {
            self.fleet.take(host, &place.held);
            let mut elsewhere = Allowed::default();
            elsewhere.forbid(host);
            let usual = std::mem::replace(&mut self.allowed, elsewhere);
            let guest_wanted = self.residents[guest].wanted.clone();
            let inner = self.one_move(&guest_wanted, &[guest], bound);
            self.allowed = usual;
            self.fleet.give_back(host, &place.held);
            found = inner.map(|inner| (place, inner));
        }
        self.come_back(&[guest]);
        let (place, inner) = found?;
        let to = inner.place.host;
        let (fit, held) = (inner.place.fit, inner.place.held);
        let own = Move { resident: guest, from: host, to, fit, held };
        let moves = inner.moves.into_iter().chain([own]).collect();
        self.ordered(moves, place)
    }

    /// These guests leave the host, the request gets a place there, and they get others.
    fn try_moving(
        &mut self,
        host: usize,
        guests: &[usize],
        wanted: &Wanted,
        bound: &mut Bound,
    ) -> Option<Room> {
        self.leave(guests);
        let place = self.place_on(host, wanted, bound);
        let mut moves = None;
        if let Some(place) = place {
            let held = place.held.clone();
            self.fleet.take(host, &held);
            moves = self.rehouse(guests, bound).map(|moves| (moves, place));
            self.fleet.give_back(host, &held);
            if moves.is_none() {
                moves = self.guests_first(host, guests, wanted, bound);
            }
            // A guest that may only migrate has been looked for a place everywhere.
            let everywhere = guests.iter().all(|guest| !self.residents[*guest].may_repin);
            self.is_complete &= moves.is_some() || guests.len() > 1 || everywhere;
        }
        self.come_back(guests);
        let (moves, place) = moves?;
        self.ordered(moves, place)
    }

    /// Other places for guests that have left: the largest first, at home before elsewhere.
    fn rehouse(&mut self, guests: &[usize], bound: &mut Bound) -> Option<Vec<Move>> {
        let mut moves: Vec<Move> = Vec::new();
        for guest in guests.iter().rev() {
            let step = self.at_home(*guest, bound).or_else(|| self.elsewhere(*guest, bound));
            let Some(step) = step else { break };
            self.fleet.take(step.to, &step.held);
            moves.push(step);
        }
        for step in &moves {
            self.fleet.give_back(step.to, &step.held);
        }
        (moves.len() == guests.len()).then_some(moves)
    }

    fn at_home(&self, guest: usize, bound: &mut Bound) -> Option<Move> {
        let resident = &self.residents[guest];
        let mut allowed = Allowed::default();
        allowed.restrict(resident.host);
        resident
            .may_repin
            .then(|| choose(&self.fleet, &resident.wanted, &allowed, bound).ok())?
            .map(|choice| self.step(guest, choice))
    }

    fn elsewhere(&self, guest: usize, bound: &mut Bound) -> Option<Move> {
        let resident = &self.residents[guest];
        let mut allowed = Allowed::default();
        allowed.forbid(resident.host);
        resident
            .may_migrate
            .then(|| choose(&self.fleet, &resident.wanted, &allowed, bound).ok())?
            .map(|choice| self.step(guest, choice))
    }

    fn step(&self, guest: usize, choice: Choice) -> Move {
        let resident = &self.residents[guest];
        let Choice { host, fit, held, .. } = choice;
        Move { resident: guest, from: resident.host, to: host, fit, held }
    }

    /// A single guest first, in each area, and the request after it.
    fn guests_first(
        &mut self,
        host: usize,
        guests: &[usize],
        wanted: &Wanted,
        bound: &mut Bound,
    ) -> Option<(Vec<Move>, Choice)> {
        let [guest] = guests[..] else { return None };
        let resident = &self.residents[guest];
        let one_area = matches!(resident.wanted.cells, Cells::Free(_) | Cells::Count(1, _));
        if !resident.may_repin || !one_area {
            return None;
        }
        let areas = self.fleet.layout(host).areas.len();
        for area in 0..areas {
            let choice = choose_in_area(&self.fleet, &resident.wanted, host, area, bound);
            let Some(choice) = choice else { continue };
            let step = self.step(guest, choice);
            self.fleet.take(host, &step.held);
            let place = self.place_on(host, wanted, bound);
            self.fleet.give_back(host, &step.held);
            if let Some(place) = place {
                return Some((vec![step], place));
            }
        }
        None
    }

    /// The smallest guests of a host leave until the request has a place.
    fn many_moves(&mut self, wanted: &Wanted, bound: &mut Bound) -> Option<Room> {
        let mut best: Option<(Cost, Room)> = None;
        for (host, guests) in self.of_host.clone() {
            let movable: Vec<usize> = guests
                .into_iter()
                .filter(|g| self.residents[*g].may_repin || self.residents[*g].may_migrate)
                .collect();
            if bound.is_reached() || !self.is_worth_trying(host, &movable, wanted) {
                continue;
            }
            let Some(leaving) = self.enough_of(host, &movable, wanted, bound) else { continue };
            if let Some(room) = self.try_moving(host, &leaving, wanted, bound) {
                let cost = self.cost(&room.moves);
                if best.as_ref().is_none_or(|(best, _)| cost < *best) {
                    best = Some((cost, room));
                }
            }
        }
        best.map(|(_, room)| room)
    }

    fn enough_of(
        &mut self,
        host: usize,
        movable: &[usize],
        wanted: &Wanted,
        bound: &mut Bound,
    ) -> Option<Vec<usize>> {
        let mut leaving = Vec::new();
        let mut enough = false;
        for guest in movable {
            self.leave(&[*guest]);
            leaving.push(*guest);
            enough = self.place_on(host, wanted, bound).is_some();
            if enough {
                break;
            }
        }
        let mut index = 0;
        while enough && index < leaving.len() {
            self.come_back(&[leaving[index]]);
            if self.place_on(host, wanted, bound).is_some() {
                leaving.remove(index);
            } else {
                self.leave(&[leaving[index]]);
                index += 1;
            }
        }
        self.come_back(&leaving);
        enough.then_some(leaving)
    }

    fn cost(&self, moves: &[Move]) -> Cost {
        Cost::of(moves, self.residents)
    }

    fn ordered(&mut self, moves: Vec<Move>, place: Choice) -> Option<Room> {
        let moves = in_order(&mut self.fleet, self.residents, moves)?;
        Some(Room { moves, place, is_fewest: false })
    }

    /// Not even a fleet without guests has a place.
    fn nobody_could(&self, wanted: &Wanted) -> bool {
        let mut empty = self.fleet.clone();
        for host in 0..empty.len() {
            empty.empty_out(host);
        }
        let mut never = || false;
        let no = choose(&empty, wanted, &self.allowed, &mut Bound::new(u32::MAX, &mut never));
        no.is_err_and(|no| no.is_certain)
    }
}
