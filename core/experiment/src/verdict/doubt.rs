//! What makes a figure doubtful. Some doubts bar a verdict; the others stand beside it.

use crate::trial::{Mechanism, Tier};
use std::collections::BTreeMap;

/// Shares are of one, changes in per cent.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// How far such runs lie apart is not known at all.
    OneRunPerArm,
    /// No result of so few could be told from chance.
    TooFewPairs {
        pairs: u32,
        wanted: u32,
    },
    /// Scenarios and the host that each was measured on.
    ArmConfoundedWithHost {
        hosts: BTreeMap<String, Vec<String>>,
    },
    /// Nobody knows in which order the runs were made.
    NotInterleaved,
    /// Runs whose generator was at its limit.
    ClientBound {
        runs: u32,
        of: u32,
        most: f64,
    },
    Unsteady {
        runs: u32,
        of: u32,
    },
    /// No warm-up was asked for, or it is not known.
    NotWarmedUp {
        runs: u32,
        of: u32,
    },
    GeneratorLost {
        runs: u32,
        of: u32,
        names: Vec<String>,
    },
    /// No control was run.
    NoNoiseFloor,
    /// The control and the baseline differ, surely (at 99 %) or perhaps (at 95 %).
    EqualArmsDiffer {
        change: f64,
        surely: bool,
    },
    /// The effect is no larger than equal arms differ.
    BelowNoiseFloor {
        floor: f64,
    },
    /// A difference without what was meant to make it.
    MechanismDidNotMove {
        mechanism: Mechanism,
        baseline: f64,
        scenario: f64,
    },
    /// Nobody looked.
    MechanismUnseen {
        mechanism: Mechanism,
    },
    /// Something else than what is compared was at its limit.
    Saturated {
        limited: LimitedTier,
    },
    /// Blocks whose pair lies far from the others. None is ever taken out.
    Outliers {
        blocks: Vec<u32>,
    },
    /// By how much the baseline changed from the first block to the last.
    Drift {
        change: f64,
    },
    /// By how much the effect itself did.
    EffectDrifts {
        change: f64,
    },
    /// Pairs hang together, so that they tell less than as many independent ones; the interval is wider by
    /// this factor for it.
    Autocorrelated {
        correlation: f64,
        widened_by: f64,
    },
    /// CPU time that went to other guests, at most.
    Steal {
        most: f64,
    },
    SettingDiffers {
        name: String,
        values: Vec<String>,
        durability: bool,
    },
    ErrorsDiffer {
        baseline: f64,
        scenario: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitedTier {
    pub tier: Tier,
    /// The share of its limit that it used, where it is known.
    pub baseline: Option<f64>,
    pub scenario: Option<f64>,
}

impl Doubt {
    /// Whether no verdict can rest on the figures.
    pub fn bars(&self) -> bool {
        match self {
            Self::OneRunPerArm
            | Self::TooFewPairs { .. }
            | Self::ArmConfoundedWithHost { .. }
            | Self::NotInterleaved
            | Self::NoNoiseFloor
            | Self::BelowNoiseFloor { .. }
            | Self::MechanismDidNotMove { .. }
            | Self::ErrorsDiffer { .. } => true,
            Self::ClientBound { runs, of, .. }
            | Self::Unsteady { runs, of }
            | Self::GeneratorLost { runs, of, .. } => is_too_many(*runs, *of),
            Self::EqualArmsDiffer { surely, .. } => *surely,
            Self::SettingDiffers { durability, .. } => *durability,
            Self::NotWarmedUp { .. }
            | Self::MechanismUnseen { .. }
            | Self::Saturated { .. }
            | Self::Outliers { .. }
            | Self::Drift { .. }
            | Self::EffectDrifts { .. }
            | Self::Autocorrelated { .. }
            | Self::Steal { .. } => false,
        }
    }

    /// Whether more pairs of the same kind would remove it.
    pub(super) fn yields_to_pairs(&self) -> bool {
        matches!(self, Self::OneRunPerArm | Self::TooFewPairs { .. } | Self::BelowNoiseFloor { .. })
    }
}

/// More than a tenth.
fn is_too_many(runs: u32, of: u32) -> bool {
    u64::from(runs) * 10 > u64::from(of)
}
