//! `numawise.verdict`: everything that the judge says, with each pair. Changes are in per cent of the metric
//! itself, so a latency that fell is below zero; shares are of one.

use crate::error::{DocumentError, VERSION, pretty, read};
use crate::wire::{Wire, wire};
use numawise_experiment::{
    Cell, Comparison, Doubt, Effect, Interval95, Judgement, LimitedTier, Mechanism, Metric, Panel,
    Point, Tier, Verdict,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const VERDICT_SCHEMA: &str = "numawise.verdict";

/// A judgement in a file of its own.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct VerdictFileDoc {
    schema: String,
    version: u32,
    judgement: JudgementDoc,
}

pub fn judgement_to_json(judgement: &Judgement) -> String {
    let schema = VERDICT_SCHEMA.to_owned();
    pretty(&VerdictFileDoc { schema, version: VERSION, judgement: judgement.to_doc() })
}

pub fn parse_judgement(text: &str) -> Result<Judgement, DocumentError> {
    read::<VerdictFileDoc>(text, VERDICT_SCHEMA).map(|doc| Judgement::from_doc(doc.judgement))
}

wire! {
    struct JudgementDoc = Judgement {
        primary: Metric,
        worth: f64,
        baseline: String,
        comparisons: Vec<Comparison>,
        panels: Vec<Panel>,
    }
}

wire! {
    struct ComparisonDoc = Comparison {
        scenario: String,
        cell: Cell,
        metric: Metric,
        baseline_value: Option<f64>,
        scenario_value: Option<f64>,
        effect: Option<Effect>,
        #[serde(rename = "noise_floor_percent")]
        noise_floor: Option<f64>,
        verdict: Verdict,
        doubts: Vec<Doubt>,
    }
}

wire! {
    struct EffectDoc = Effect {
        pairs: u32,
        #[serde(rename = "change_percent")]
        change: f64,
        #[serde(rename = "interval_percent")]
        interval: Option<Interval95>,
        #[serde(rename = "robust_change_percent")]
        robust_change: f64,
        spread: Option<f64>,
        chance: f64,
        chance_adjusted: f64,
        points: Vec<Point>,
    }
}

wire! { struct Interval95Doc = Interval95 { low: f64, high: f64 } }

wire! {
    struct PointDoc = Point {
        block: u32,
        #[serde(rename = "change_percent")]
        change: f64,
    }
}

wire! {
    struct PanelDoc = Panel {
        cell: Cell,
        metric: Metric,
        pairs: u32,
        #[serde(rename = "change_percent")]
        change: f64,
        #[serde(rename = "interval_percent")]
        interval: Option<Interval95>,
        #[serde(rename = "noise_floor_percent")]
        noise_floor: Option<f64>,
    }
}

wire! {
    #[serde(tag = "verdict")]
    enum VerdictDoc = Verdict {
        ProvenGain,
        ProvenLoss,
        Equivalent,
        Inconclusive { pairs: Option<u32> },
    }
}

wire! {
    struct LimitedTierDoc = LimitedTier {
        tier: Tier,
        baseline: Option<f64>,
        scenario: Option<f64>,
    }
}

wire! {
    #[serde(tag = "doubt")]
    enum DoubtDoc = Doubt {
        OneRunPerArm,
        TooFewPairs { pairs: u32, wanted: u32 },
        ArmConfoundedWithHost { hosts: BTreeMap<String, Vec<String>> },
        NotInterleaved,
        ClientBound { runs: u32, of: u32, most: f64 },
        Unsteady { runs: u32, of: u32 },
        NotWarmedUp { runs: u32, of: u32 },
        GeneratorLost { runs: u32, of: u32, names: Vec<String> },
        NoNoiseFloor,
        EqualArmsDiffer {
            #[serde(rename = "change_percent")]
            change: f64,
            surely: bool,
        },
        BelowNoiseFloor {
            #[serde(rename = "floor_percent")]
            floor: f64,
        },
        MechanismDidNotMove { mechanism: Mechanism, baseline: f64, scenario: f64 },
        MechanismUnseen { mechanism: Mechanism },
        Saturated { limited: LimitedTier },
        Outliers { blocks: Vec<u32> },
        Drift {
            #[serde(rename = "change_percent")]
            change: f64,
        },
        EffectDrifts {
            #[serde(rename = "change_percent")]
            change: f64,
        },
        Autocorrelated { correlation: f64, widened_by: f64 },
        Steal { most: f64 },
        SettingDiffers { name: String, values: Vec<String>, durability: bool },
        ErrorsDiffer { baseline: f64, scenario: f64 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judgement_comes_back_as_it_was_written() {
        let cell = Cell { workload: "read-write".to_owned(), threads: 16 };
        let interval = Some(Interval95 { low: 6.5, high: 10.25 });
        let effect = Effect {
            pairs: 12,
            change: 8.5,
            interval,
            robust_change: 8.375,
            spread: Some(0.03),
            chance: 0.000_5,
            chance_adjusted: 0.001,
            points: vec![Point { block: 0, change: 7.5 }],
        };
        let hosts = BTreeMap::from([("off".to_owned(), vec!["B".to_owned()])]);
        let limited = LimitedTier { tier: Tier::Disk, baseline: None, scenario: Some(0.95) };
        let doubts = vec![
            Doubt::OneRunPerArm,
            Doubt::ArmConfoundedWithHost { hosts },
            Doubt::EqualArmsDiffer { change: 1.5, surely: true },
            Doubt::MechanismUnseen { mechanism: Mechanism::L3Crossings },
            Doubt::Saturated { limited },
        ];
        let comparison = |verdict: Verdict| Comparison {
            scenario: "on".to_owned(),
            cell: cell.clone(),
            metric: Metric::LatencyP99,
            baseline_value: Some(1843.0),
            scenario_value: None,
            effect: Some(effect.clone()),
            noise_floor: Some(1.25),
            verdict,
            doubts: doubts.clone(),
        };
        let panel = Panel {
            cell: cell.clone(),
            metric: Metric::Tps,
            pairs: 12,
            change: 0.25,
            interval: None,
            noise_floor: None,
        };
        let judgement = Judgement {
            primary: Metric::Tps,
            worth: 0.01,
            baseline: "off".to_owned(),
            comparisons: vec![
                comparison(Verdict::ProvenGain),
                comparison(Verdict::Inconclusive { pairs: Some(40) }),
            ],
            panels: vec![panel],
        };
        let text = judgement_to_json(&judgement);
        assert_eq!(parse_judgement(&text).expect("its own text"), judgement);
    }
}
