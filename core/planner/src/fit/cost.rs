//! What a placement costs, as one number per preference, compared in their order.
//!
//! All preferences that add up over threads, cores, L3 domains and areas are kept in one packed
//! value, so that adding two costs is one addition and comparing them is one comparison. Order and
//! addition agree (`a < b` implies `a + c < b + c`), which is what makes it right to look for the
//! cheapest whole by the cheapest parts. No field can run over into its neighbour: a host has at
//! most 8,192 pCPUs ([`numawise_model::MAX_ID`]), and every field has the bits for that.

use std::ops::Add;

/// The fields that add up, the most important first. See [`super::Score`] for what they mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// Everything before fragmentation's two maxima, which do not add up.
    pub head: u128,
    /// Use and ids.
    pub tail: u64,
}

/// A field of [`Cost::head`], by its lowest bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Free whole cores that are no longer whole.
    CoresLost = 0,
    /// Distance to devices, by vCPU.
    Device = 14,
    /// Cores of which the guest has only a part.
    BrokenCores = 38,
    /// Compact: places left over in the domains used. Spread: how unequal the domains are.
    L3Third = 52,
    /// Compact: free domains opened and not filled. Spread: domains not used.
    L3Second = 78,
    /// Compact: domains used. Spread: 1 when they are unequal by more than one core.
    L3First = 92,
    /// vCPUs that share a core against the SMT policy.
    SharedCores = 106,
}

impl Field {
    const fn bits(self) -> u32 {
        match self {
            Self::Device => 24,
            Self::L3Third => 26,
            _ => 14,
        }
    }
}

const ID_BITS: u32 = 27;

impl Cost {
    pub const MAX: Self = Self { head: u128::MAX, tail: u64::MAX };

    pub fn of(field: Field, amount: u64) -> Self {
        debug_assert!(amount >> field.bits() == 0, "{field:?} {amount}");
        Self { head: u128::from(amount) << (field as u32), tail: 0 }
    }

    /// One thread: its use in steps and its id.
    pub fn thread(use_steps: u32, id: u32) -> Self {
        Self { head: 0, tail: (u64::from(use_steps) << ID_BITS) | u64::from(id) }
    }

    pub fn get(self, field: Field) -> u64 {
        ((self.head >> (field as u32)) as u64) & ((1 << field.bits()) - 1)
    }

    pub fn use_steps(self) -> u64 {
        self.tail >> ID_BITS
    }

    pub fn ids(self) -> u64 {
        self.tail & ((1 << ID_BITS) - 1)
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { head: self.head + other.head, tail: self.tail + other.tail }
    }
}
