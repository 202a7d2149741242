//! What may be given, and why the rest may not.
//!
//! Each pCPU that is not free is told under the first of these that applies: offline, not allowed,
//! in no node, outside the pool, held by somebody, reserved. A pCPU that two owners share is told
//! under both, for both would have to let go of it.

use crate::Notes;
use crate::situation::Situation;
use numawise_model::reason::Exclusion;
use numawise_model::{CpuSet, Owner, Pnode, Reason};
use std::collections::BTreeMap;

/// Whether CPUs kept for the host may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservedUse {
    /// The published rule knows no reservation.
    May,
    MayNot,
}

pub struct Availability {
    /// By node; nodes with nothing free are there with an empty set.
    pub free: BTreeMap<Pnode, CpuSet>,
    pub excluded: Vec<(CpuSet, Exclusion)>,
}

impl Availability {
    pub fn of(situation: &Situation, reserved_use: ReservedUse) -> Self {
        let topology = situation.topology;
        let mut excluded = Vec::new();
        let mut leave_out = |cpus: CpuSet, why: Exclusion| {
            if !cpus.is_empty() {
                excluded.push((cpus, why));
            }
        };
        leave_out(topology.offline.clone(), Exclusion::Offline);
        let mut left = topology.online.clone();

        let allowed = &topology.allowed;
        let limited_by = allowed.limited_by.clone();
        leave_out(left.difference(&allowed.cpus), Exclusion::NotAllowed { limited_by });
        left = left.intersection(&allowed.cpus);

        let mut in_nodes = CpuSet::new();
        situation.places.nodes().values().for_each(|cpus| in_nodes.extend(cpus));
        leave_out(left.difference(&in_nodes), Exclusion::InNoNode);
        left = left.intersection(&in_nodes);

        if let Some(pool) = situation.pool() {
            leave_out(left.difference(pool), Exclusion::OutsidePool);
            left = left.intersection(pool);
        }

        let mut held_by_anybody = CpuSet::new();
        for ((owner, _), cpus) in situation.held_against() {
            held_by_anybody.extend(&cpus);
            let owner = owner.clone();
            leave_out(cpus.intersection(&left), Exclusion::Claimed { owner });
        }
        left = left.difference(&held_by_anybody);

        if reserved_use == ReservedUse::MayNot {
            leave_out(left.intersection(situation.reserved()), Exclusion::Reserved);
            left = left.difference(situation.reserved());
        }
        let nodes = situation.places.nodes().iter();
        let free = nodes.map(|(node, cpus)| (*node, cpus.intersection(&left))).collect();
        Self { free, excluded }
    }

    pub fn note(&self, notes: &mut Notes) {
        for (cpus, why) in &self.excluded {
            notes.reason(Reason::Excluded { cpus: cpus.clone(), why: why.clone() });
        }
    }

    /// Who holds what stands in the way.
    pub fn held(&self) -> Vec<(Owner, CpuSet)> {
        let claimed = self.excluded.iter().filter_map(|(cpus, why)| match why {
            Exclusion::Claimed { owner } => Some((owner.clone(), cpus.clone())),
            _ => None,
        });
        claimed.collect()
    }

    /// What was left out for the host's sake alone.
    pub fn kept_for_host(&self) -> CpuSet {
        let mut kept = CpuSet::new();
        for (cpus, why) in &self.excluded {
            if *why == Exclusion::Reserved {
                kept.extend(cpus);
            }
        }
        kept
    }
}
