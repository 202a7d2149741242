//! What is right, by trying everything, and whether an answer is a placement at all.
//!
//! The peer gives each cell a node of its own or refuses. Ours lets cells share a node where there
//! are too few. So there are two truths, and each is held against its own.

use super::peer::PeerCell;
use super::rows::{Host, Row};
use numawise_model::{CpuSet, Id, Pcpu};
use numawise_planner::fit::{Fit, GivenCell, NoFit};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    pub alone: bool,
    pub sharing: bool,
}

impl Truth {
    pub fn of(row: &Row) -> Self {
        let mut room: Vec<(u32, u64)> = (0..row.host.taken.len())
            .map(|node| (row.host.free_cpus(node).len() as u32, row.host.free_pages[node]))
            .collect();
        let alone = can_place(&row.cells, &mut room, &mut vec![false; row.host.taken.len()], false);
        let sharing =
            alone || can_place(&row.cells, &mut room, &mut vec![false; row.host.taken.len()], true);
        Self { alone, sharing }
    }
}

/// Cell by cell to every node that has room. Nodes with the same room are tried once.
fn can_place(
    cells: &[GivenCell],
    room: &mut [(u32, u64)],
    used: &mut [bool],
    sharing: bool,
) -> bool {
    let Some((cell, rest)) = cells.split_first() else { return true };
    for node in 0..room.len() {
        let (cpus, pages) = room[node];
        let tried = (0..node).any(|n| room[n] == room[node] && used[n] == used[node]);
        if tried || (used[node] && !sharing) || cpus < cell.vcpus || pages < cell.pages {
            continue;
        }
        let before = std::mem::replace(&mut used[node], true);
        room[node] = (cpus - cell.vcpus, pages - cell.pages);
        let placed = can_place(rest, room, used, sharing);
        room[node] = (cpus, pages);
        used[node] = before;
        if placed {
            return true;
        }
    }
    false
}

/// Whether ours answers as it should: a placement that holds, with cells sharing only where they
/// must, or a refusal where there is none.
pub fn ours_is_right(row: &Row, truth: Truth, answer: &Result<Fit, NoFit>) -> bool {
    let Ok(fit) = answer else { return !truth.sharing };
    let mut left = row.host.all_free_cpus();
    let mut pages = row.host.free_pages.clone();
    let holds = fit.parts.iter().all(|part| {
        let cpus: CpuSet = part.pcpus.iter().copied().collect();
        let enough = pages[part.area] >= part.pages;
        pages[part.area] = pages[part.area].saturating_sub(part.pages);
        let mine = cpus.len() == part.pcpus.len() && cpus.is_subset(&left);
        left = left.difference(&cpus);
        enough && mine && cpus.is_subset(&row.host.free_cpus(part.area))
    });
    let cells = fit.cells.len() == row.cells.len()
        && fit.cells.iter().zip(&row.cells).all(|(got, cell)| {
            got.vcpus == cell.vcpus && got.pages == cell.pages && got.part < fit.parts.len()
        });
    let vcpus: usize = fit.parts.iter().map(|part| part.pcpus.len()).sum();
    let all = vcpus as u32 == row.cells.iter().map(|cell| cell.vcpus).sum::<u32>();
    holds && cells && all && truth.sharing && (fit.score.sharing_cells == 0) == truth.alone
}

/// Whether the peer's answer is right by its own rule: a node for each cell, with its CPUs there.
pub fn peer_is_right(row: &Row, truth: Truth, cells: Option<&[PeerCell]>) -> bool {
    let Some(cells) = cells else { return !truth.alone };
    let mut nodes: Vec<usize> = cells.iter().map(|cell| cell.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    truth.alone
        && nodes.len() == row.cells.len()
        && cells.len() == row.cells.len()
        && cells.iter().zip(&row.cells).all(|(got, cell)| holds(&row.host, got, *cell))
}

fn holds(host: &Host, got: &PeerCell, cell: GivenCell) -> bool {
    let cpus: CpuSet = got.cpus.iter().map(|cpu| Pcpu::new(*cpu)).collect();
    got.node < host.taken.len()
        && cpus.len() == cell.vcpus as usize
        && cpus.is_subset(&host.free_cpus(got.node))
        && host.free_pages[got.node] >= cell.pages
}

#[cfg(test)]
mod tests {
    use super::super::rows;
    use super::*;
    use numawise_planner::fit::fit;

    /// What is timed is right, and the table has rows of each kind.
    #[test]
    fn every_row_is_answered_as_trying_everything_says() {
        let (mut alone, mut sharing, mut refused) = (0, 0, 0);
        for row in rows::all() {
            let truth = Truth::of(&row);
            let answer = fit(&row.host.make.layout, &row.host.stock(), &rows::wanted(&row.cells));
            assert!(ours_is_right(&row, truth, &answer), "{}: {truth:?} {answer:?}", row.name);
            match (truth.alone, truth.sharing) {
                (true, _) => alone += 1,
                (false, true) => sharing += 1,
                (false, false) => refused += 1,
            }
        }
        assert_eq!((alone, sharing, refused), (13, 5, 22));
    }

    #[test]
    fn an_answer_that_is_no_placement_is_wrong() {
        let rows = rows::all();
        let row = &rows[0];
        let truth = Truth::of(row);
        let wanted = rows::wanted(&row.cells);
        let answer = fit(&row.host.make.layout, &row.host.stock(), &wanted);
        let mut twice = answer.clone();
        if let Ok(fit) = &mut twice {
            fit.parts[0].pcpus[0] = fit.parts[0].pcpus[1];
        }
        assert!(ours_is_right(row, truth, &answer) && !ours_is_right(row, truth, &twice));
        assert!(!ours_is_right(row, truth, &Err(NoFit::NoWay)));
        assert!(!peer_is_right(row, truth, None));
        let on_one = |first: u32| PeerCell { node: 0, cpus: (first..first + 12).collect() };
        assert!(!peer_is_right(row, truth, Some(&[on_one(0), on_one(12)])), "one node for both");
    }
}
