//! `fleet plan`: the search as it is asked for, and the reasons for what has no place.

use crate::fleet_report::{Refused, refusal_row};
use crate::fleet_requests::Asked;
use crate::fleet_source::FleetSource;
use numawise_planner::fleet::groups::{Allowed, Groups};
use numawise_planner::fleet::{
    Batch, Bound, Choice, Fleet, Item, Placed, Scope, choose, place_all, place_most,
};
use numawise_render::text::FleetRefusal;

/// What becomes of a batch that does not fit as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum How {
    AllOrNothing,
    /// As many as can be had.
    Most,
    /// One by one.
    InOrder,
}

/// Requests that are alike are looked into once.
pub fn refusals(source: &FleetSource, asked: &[Asked], answer: &Answer) -> Vec<FleetRefusal> {
    let movable = source.movable();
    let scope = Scope { without: None, movable: Some(&movable) };
    let mut rows: Vec<FleetRefusal> = Vec::new();
    let mut last: Option<(&Item, bool)> = None;
    for (index, certain) in &answer.missing {
        let one = &asked[*index];
        let known = last == Some((&one.item, *certain));
        let row = match rows.last().filter(|_| known) {
            Some(same) => FleetRefusal { request: one.name.clone(), ..same.clone() },
            None => {
                let allowed = answer.groups.allowed(&answer.view, &one.item.groups);
                let refused = Refused {
                    certain: *certain,
                    cut_short: answer.batch.is_cut_short && !certain,
                    beside_others: answer.beside_others,
                };
                refusal_row(&answer.view, one, &allowed, scope, refused)
            }
        };
        rows.push(row);
        last = Some((&one.item, *certain));
    }
    rows
}

/// What is placed and what is not, and the fleet in which it has no place.
pub struct Answer {
    pub batch: Batch,
    /// Each with whether it is certain that there is no place.
    pub missing: Vec<(usize, bool)>,
    /// How many would have had a place.
    pub others: usize,
    /// The view has the others in it.
    pub beside_others: bool,
    /// pCPUs wanted and free, where the first is more.
    pub more_than_there_is: Option<(u64, u64)>,
    pub view: Fleet,
    pub groups: Groups,
}

pub fn place(how: How, source: &FleetSource, items: &[Item], bound: &mut Bound) -> Answer {
    let (mut view, mut groups) = (source.fleet.clone(), Groups::default());
    let free = (0..view.len()).map(|host| u64::from(view.left(host))).sum();
    let wanted = items.iter().map(|item| u64::from(item.wanted.vcpus)).sum();
    let more_than_there_is = (wanted > free).then_some((wanted, free));
    let answer = |batch: Batch, missing: Vec<(usize, bool)>, beside_others, view, groups| {
        let others = items.len() - missing.len();
        Answer { batch, missing, others, beside_others, more_than_there_is, view, groups }
    };
    if how == How::InOrder {
        let (batch, missing) = in_order(&mut view, &mut groups, items, bound);
        return answer(batch, missing, true, view, groups);
    }
    let base = Allowed::default();
    if how != How::Most {
        if let Ok(batch) = place_all(&mut view, &mut groups, items, &base, bound) {
            return answer(batch, Vec::new(), false, view, groups);
        }
        let alone = without_a_place_alone(&view, items, bound);
        if !alone.is_empty() {
            let batch = Batch { is_cut_short: bound.is_reached(), ..Batch::default() };
            return answer(batch, alone, false, view, groups);
        }
    }
    // Why there is no place is told beside the others having theirs.
    let batch = place_most(&mut view, &mut groups, items, &base, bound);
    let missing = (0..items.len()).filter(|item| batch.placed[*item].is_none());
    let missing = missing.map(|item| (item, false)).collect();
    let placed = if how == How::Most { batch.placed } else { Vec::new() };
    answer(Batch { placed, ..batch }, missing, true, view, groups)
}

/// Requests that have no place even where no other of the batch has one.
fn without_a_place_alone(fleet: &Fleet, items: &[Item], bound: &mut Bound) -> Vec<(usize, bool)> {
    let groups = Groups::default();
    let mut last: Option<(&Item, Option<bool>)> = None;
    let mut none = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let certain = match last {
            Some((known, certain)) if known == item => certain,
            _ => {
                let allowed = groups.allowed(fleet, &item.groups);
                choose(fleet, &item.wanted, &allowed, bound).err().map(|no| no.is_certain)
            }
        };
        last = Some((item, certain));
        none.extend(certain.map(|certain| (index, certain)));
    }
    none
}

fn in_order(
    fleet: &mut Fleet,
    groups: &mut Groups,
    items: &[Item],
    bound: &mut Bound,
) -> (Batch, Vec<(usize, bool)>) {
    let mut batch = Batch::default();
    let mut missing = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let allowed = groups.allowed(fleet, &item.groups);
        let placed = match choose(fleet, &item.wanted, &allowed, bound) {
            Ok(Choice { host, fit, held, rank, is_best }) => {
                fleet.take(host, &held);
                groups.add(&item.groups, host);
                Some(Placed { host, fit, held, rank, is_best })
            }
            Err(no) => {
                missing.push((index, no.is_certain));
                None
            }
        };
        batch.placed.push(placed);
    }
    batch.is_cut_short = bound.is_reached();
    (batch, missing)
}
