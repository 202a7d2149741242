//! `numawise.trial`: one run as the judge sees it, so that it can be judged again.

use crate::error::{DocumentError, VERSION, pretty, read};
use crate::wire::{Wire, wire};
use core::time::Duration;
use numawise_experiment::{
    Arm, Cell, Conditions, LostGenerator, Mechanism, MechanismSeen, Metric, Steadiness, Tier, Trial,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const TRIAL_SCHEMA: &str = "numawise.trial";

/// A trial in a file of its own.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrialFileDoc {
    schema: String,
    version: u32,
    trial: TrialDoc,
}

pub fn trial_to_json(trial: &Trial) -> String {
    let schema = TRIAL_SCHEMA.to_owned();
    pretty(&TrialFileDoc { schema, version: VERSION, trial: trial.to_doc() })
}

pub fn parse_trial(text: &str) -> Result<Trial, DocumentError> {
    read::<TrialFileDoc>(text, TRIAL_SCHEMA).map(|doc| Trial::from_doc(doc.trial))
}

wire! {
    struct TrialDoc = Trial {
        block: u32,
        arm: Arm,
        cell: Cell,
        host: Option<String>,
        values: BTreeMap<Metric, f64>,
        conditions: Conditions,
    }
}

wire! {
    enum ArmDoc = Arm {
        Scenario { index: u32 },
        Control,
    }
}

wire! {
    struct CellDoc = Cell {
        workload: String,
        threads: u32,
    }
}

wire! {
    struct ConditionsDoc = Conditions {
        steadiness: Steadiness,
        client_use: Option<f64>,
        tiers: BTreeMap<Tier, f64>,
        steal: Option<f64>,
        error_share: Option<f64>,
        lost_generators: Vec<LostGenerator>,
        mechanism: MechanismSeen,
        settings: BTreeMap<String, String>,
    }
}

wire! {
    struct LostGeneratorDoc = LostGenerator {
        name: String,
        #[serde(rename = "after_nsec")]
        after: Duration,
    }
}

wire! {
    #[derive(Eq, PartialOrd, Ord)]
    enum TierDoc = Tier { Client, Nic, Proxy, SqlProcess, StorageProcess, Disk }
}

wire! { enum MechanismDoc = Mechanism { RemotePages, L3Crossings } }

wire! {
    struct MechanismSeenDoc = MechanismSeen {
        remote_page_share: Option<f64>,
        l3_crossings_per_sec: Option<f64>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_comes_back_as_it_was_written() {
        let after = Duration::from_millis(1500);
        let conditions = Conditions {
            steadiness: Steadiness::NotSteady { after },
            client_use: Some(0.25),
            tiers: BTreeMap::from([(Tier::SqlProcess, 0.9), (Tier::Disk, 0.1)]),
            steal: None,
            error_share: Some(0.0),
            lost_generators: vec![LostGenerator { name: "g2".to_owned(), after }],
            mechanism: MechanismSeen { remote_page_share: Some(0.5), l3_crossings_per_sec: None },
            settings: BTreeMap::from([("version".to_owned(), "10.11".to_owned())]),
        };
        for arm in [Arm::Control, Arm::Scenario { index: 2 }] {
            let trial = Trial {
                block: 3,
                arm,
                cell: Cell { workload: "point-select".to_owned(), threads: 8 },
                host: None,
                values: BTreeMap::from([(Metric::Tps, 1843.25), (Metric::LatencyP999, 0.1)]),
                conditions: conditions.clone(),
            };
            let back = parse_trial(&trial_to_json(&trial)).expect("its own text");
            assert_eq!(back, trial);
        }
    }
}
