//! Which pCPUs and pages of a host are given to whom. A pCPU has one exclusive owner or any number
//! of shared ones, never both.

use crate::guest::GuestUuid;
use crate::id_set::CpuSet;
use crate::ids::Pcpu;
use crate::levels::PageCounts;
use std::fmt;

/// Made by the client, so that an unknown outcome can be looked up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimId(pub String);

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub id: ClaimId,
    pub owner: Owner,
    pub cpus: CpuSet,
    pub mode: Mode,
    pub purpose: Purpose,
    /// Memory promised to the owner, whether it has been touched or not.
    pub pages: PageCounts,
    pub source: Source,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    Guest { uuid: GuestUuid, name: String },
    Process { name: String },
    Irq { device: String },
    Reserved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Exclusive,
    Shared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    Vcpus,
    /// Emulator and I/O threads.
    Helpers,
    Interrupts,
    Housekeeping,
}

/// Who says so: numawise's own store, or the pins of a guest that somebody else placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Numawise,
    Observed,
}

/// The claims of one host, in the order they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    pub claims: Vec<Claim>,
}

/// Two claims that cannot both stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimConflict {
    pub cpus: CpuSet,
    pub held_by: Owner,
    pub held_mode: Mode,
}

impl Owner {
    pub fn is_guest(&self, wanted: &GuestUuid) -> bool {
        matches!(self, Owner::Guest { uuid, .. } if uuid == wanted)
    }
}

impl Ledger {
    /// The ledger as `uuid` sees it: what everybody else has.
    #[must_use]
    pub fn without_guest(&self, uuid: &GuestUuid) -> Ledger {
        let claims = self.claims.iter().filter(|c| !c.owner.is_guest(uuid)).cloned().collect();
        Ledger { claims }
    }

    pub fn of_guest<'a>(&'a self, uuid: &'a GuestUuid) -> impl Iterator<Item = &'a Claim> {
        self.claims.iter().filter(move |c| c.owner.is_guest(uuid))
    }

    pub fn owners_of(&self, cpu: Pcpu) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(move |c| c.cpus.contains(cpu))
    }

    /// CPUs that somebody holds alone.
    pub fn exclusive_cpus(&self) -> CpuSet {
        self.cpus_in(|mode| mode == Mode::Exclusive)
    }

    /// CPUs that somebody holds in any way.
    pub fn claimed_cpus(&self) -> CpuSet {
        self.cpus_in(|_| true)
    }

    fn cpus_in(&self, wanted: impl Fn(Mode) -> bool) -> CpuSet {
        let mut cpus = CpuSet::new();
        for claim in self.claims.iter().filter(|c| wanted(c.mode)) {
            cpus.extend(&claim.cpus);
        }
        cpus
    }

    /// Pages promised, per node and size.
    pub fn promised_pages(&self) -> PageCounts {
        let mut sum = PageCounts::new();
        for claim in &self.claims {
            for (node, sizes) in &claim.pages {
                for (size, pages) in sizes {
                    *sum.entry(*node).or_default().entry(*size).or_default() += pages;
                }
            }
        }
        sum
    }

    /// What stands in the way of holding `cpus` in `mode`: any other owner's claim where either
    /// side is exclusive. Claims of the same owner never stand in each other's way.
    pub fn conflicts(&self, owner: &Owner, cpus: &CpuSet, mode: Mode) -> Vec<ClaimConflict> {
        self.claims
            .iter()
            .filter(|c| !same_owner(&c.owner, owner))
            .filter(|c| mode == Mode::Exclusive || c.mode == Mode::Exclusive)
            .filter_map(|c| {
                let both = c.cpus.intersection(cpus);
                (!both.is_empty()).then(|| ClaimConflict {
                    cpus: both,
                    held_by: c.owner.clone(),
                    held_mode: c.mode,
                })
            })
            .collect()
    }
}

/// Guests are the same by UUID, whatever they are called today.
fn same_owner(a: &Owner, b: &Owner) -> bool {
    match (a, b) {
        (Owner::Guest { uuid: a, .. }, Owner::Guest { uuid: b, .. }) => a == b,
        _ => a == b,
    }
}
