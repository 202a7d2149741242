//! `numawise.design`: an experiment before its first run. Shares are of one, as in the model.

use crate::error::{DocumentError, VERSION, pretty, read};
use crate::wire::{Wire, wire};
use core::time::Duration;
use numawise_experiment::{Design, Mechanism, Metric, Scenario, SteadyRule, WarmUp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub const DESIGN_SCHEMA: &str = "numawise.design";

/// A design in a file of its own.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DesignFileDoc {
    schema: String,
    version: u32,
    design: DesignDoc,
}

pub fn design_to_json(design: &Design) -> String {
    let schema = DESIGN_SCHEMA.to_owned();
    pretty(&DesignFileDoc { schema, version: VERSION, design: design.to_doc() })
}

/// What is read may still be refused: [`Design::refusals`] says why.
pub fn parse_design(text: &str) -> Result<Design, DocumentError> {
    read::<DesignFileDoc>(text, DESIGN_SCHEMA).map(|doc| Design::from_doc(doc.design))
}

wire! {
    struct DesignDoc = Design {
        name: String,
        scenarios: Vec<Scenario>,
        baseline: String,
        workloads: Vec<String>,
        threads: Vec<u32>,
        blocks: u32,
        seed: u64,
        primary: Metric,
        secondary: Vec<Metric>,
        worth: f64,
        control: bool,
        warm_up: WarmUp,
        #[serde(rename = "measure_nsec")]
        measure: Duration,
        #[serde(rename = "cool_down_nsec")]
        cool_down: Duration,
        mechanisms: BTreeSet<Mechanism>,
        may_differ: BTreeSet<String>,
    }
}

wire! {
    struct ScenarioDoc = Scenario {
        name: String,
        hosts: BTreeSet<String>,
    }
}

wire! {
    struct WarmUpDoc = WarmUp {
        #[serde(rename = "at_least_nsec")]
        at_least: Duration,
        #[serde(rename = "at_most_nsec")]
        at_most: Duration,
        rule: SteadyRule,
    }
}

wire! {
    struct SteadyRuleDoc = SteadyRule {
        windows: usize,
        within: f64,
        noise_within: f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design() -> Design {
        let scenario = |name: &str| Scenario {
            name: name.to_owned(),
            hosts: BTreeSet::from(["a".to_owned(), "b".to_owned()]),
        };
        Design {
            name: "guest vNUMA".to_owned(),
            scenarios: vec![scenario("off"), scenario("on")],
            baseline: "off".to_owned(),
            workloads: vec!["oltp_read_write".to_owned()],
            threads: vec![32, 16],
            blocks: 8,
            seed: u64::MAX,
            primary: Metric::Tps,
            secondary: vec![Metric::LatencyP95],
            worth: 0.01,
            control: true,
            warm_up: WarmUp::default(),
            measure: Duration::from_secs(120),
            cool_down: Duration::from_secs(30),
            mechanisms: BTreeSet::from([Mechanism::RemotePages, Mechanism::L3Crossings]),
            may_differ: BTreeSet::from(["version".to_owned()]),
        }
    }

    #[test]
    fn a_design_comes_back_as_it_was_written() {
        let text = design_to_json(&design());
        assert_eq!(parse_design(&text).expect("its own text"), design());
    }

    #[test]
    fn a_field_that_is_not_known_is_refused_by_its_path() {
        let text = design_to_json(&design()).replace("\"at_least_nsec\"", "\"at_lest_nsec\"");
        let error = parse_design(&text).expect_err("a slip").to_string();
        assert!(error.contains("design.warm_up.at_lest_nsec"), "{error}");
    }
}
