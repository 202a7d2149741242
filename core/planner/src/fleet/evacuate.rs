//! Other places for all guests of one host.
//!
//! A batch of those guests over all other hosts: all of them, or those that have no place are named.
//! Every target is free from the start, so the order is free too: the largest first, since its place
//! is the one that somebody else would take meanwhile.

use super::batch::{Batch, Item, NotPlaced, place_all};
use super::groups::{Allowed, Groups};
use super::{Bound, Fleet, Move, Resident};
use std::cmp::Reverse;

/// A move for each guest of the host; those that may not migrate are named alone. The fleet is not changed.
pub fn evacuate(
    fleet: &Fleet,
    residents: &[Resident],
    host: usize,
    bound: &mut Bound,
) -> Result<Vec<Move>, NotPlaced> {
    let mut trial = fleet.clone();
    let here: Vec<usize> =
        (0..residents.len()).filter(|resident| residents[*resident].host == host).collect();
    let fixed: Vec<usize> =
        here.iter().copied().filter(|resident| !residents[*resident].may_migrate).collect();
    if !fixed.is_empty() {
        return Err(NotPlaced { items: fixed, is_certain: true });
    }
    let items: Vec<Item> = here
        .iter()
        .map(|resident| Item { wanted: residents[*resident].wanted.clone(), groups: Vec::new() })
        .collect();
    let mut base = Allowed::default();
    base.forbid(host);
    let Batch { placed, .. } =
        place_all(&mut trial, &mut Groups::default(), &items, &base, bound).map_err(|no| {
            NotPlaced { items: no.items.iter().map(|item| here[*item]).collect(), ..no }
        })?;
    let mut moves: Vec<Move> = here
        .iter()
        .zip(placed)
        .filter_map(|(resident, placed)| {
            let placed = placed?;
            Some(Move {
                resident: *resident,
                from: host,
                to: placed.host,
                fit: placed.fit,
                held: placed.held,
            })
        })
        .collect();
    moves.sort_by_key(|step| (Reverse(step.held.cpus.len()), step.resident));
    Ok(moves)
}
