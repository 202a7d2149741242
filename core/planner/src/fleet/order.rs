//! Moves compared, and put in an order in which they can be carried out.
//!
//! A step runs only when its target is free, counting what the guest itself has. Moves for which there
//! is no such order are no answer.

use super::{Fleet, Move, Resident};

/// Fewest moves first, then fewest migrations, then the fewest CPUs moved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    moves: usize,
    migrations: usize,
    moved: usize,
}

impl Cost {
    pub fn of(moves: &[Move], residents: &[Resident]) -> Self {
        let migrations = moves.iter().filter(|step| !step.is_repin()).count();
        let moved = moves.iter().map(|step| residents[step.resident].held.cpus.len()).sum();
        Self { moves: moves.len(), migrations, moved }
    }
}

/// Each step on what is free when it runs. The fleet is as before afterwards.
pub fn in_order(
    fleet: &mut Fleet,
    residents: &[Resident],
    mut waiting: Vec<Move>,
) -> Option<Vec<Move>> {
    let mut done: Vec<Move> = Vec::new();
    while let Some(next) =
        (0..waiting.len()).find(|step| may_run(fleet, residents, &waiting[*step]))
    {
        let step = waiting.remove(next);
        let resident = &residents[step.resident];
        fleet.give_back(resident.host, &resident.held);
        fleet.take(step.to, &step.held);
        done.push(step);
    }
    for step in done.iter().rev() {
        let resident = &residents[step.resident];
        fleet.give_back(step.to, &step.held);
        fleet.take(resident.host, &resident.held);
    }
    waiting.is_empty().then_some(done)
}

fn may_run(fleet: &mut Fleet, residents: &[Resident], step: &Move) -> bool {
    let resident = &residents[step.resident];
    fleet.give_back(resident.host, &resident.held);
    let may = fleet.has(step.to, &step.held);
    fleet.take(resident.host, &resident.held);
    may
}
