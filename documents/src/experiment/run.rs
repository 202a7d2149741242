//! One run of an experiment, whole, as it is kept.

use crate::error::{DocumentError, VERSION, compact, read};
use crate::wire::{Wire, wire};
use numawise_experiment::{
    Arm, Conditions, Measured, Metric, Observed, Part, PlannedRun, Run, RunId, ServerSeen,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const RUN_SCHEMA: &str = "numawise.run";

pub fn run_to_json(run: &Run) -> String {
    compact(&RunFileDoc { schema: RUN_SCHEMA.to_owned(), version: VERSION, run: run.to_doc() })
}

pub fn parse_run(text: &str) -> Result<Run, DocumentError> {
    read::<RunFileDoc>(text, RUN_SCHEMA).map(|doc| Run::from_doc(doc.run))
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RunFileDoc {
    schema: String,
    version: u32,
    run: RunDoc,
}

wire! {
    struct RunIdDoc = RunId { block: u32, arm: Arm, workload: u32, threads: u32 }
}

wire! {
    struct PlannedRunDoc = PlannedRun { id: RunId, application: u32, host: String }
}

wire! {
    /// One run, whole.
    struct RunDoc = Run {
        planned: PlannedRun,
        scenario: String,
        workload: String,
        began_unix_sec: i64,
        observed: Observed,
    }
}

wire! {
    struct ObservedDoc = Observed {
        measured: Measured,
        parts: Vec<Part>,
        values: BTreeMap<Metric, f64>,
        conditions: Conditions,
        servers: Vec<ServerSeen>,
        command: String,
    }
}

wire! { struct PartDoc = Part { name: String, measured: Measured } }

wire! {
    struct ServerSeenDoc = ServerSeen {
        target: String,
        version: Option<String>,
        settings: BTreeMap<String, String>,
        cpu_usec: Option<u64>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::file::HERE;
    use core::time::Duration;
    use numawise_experiment::{Arm, Conditions, LostGenerator, Tier};

    #[test]
    fn a_run_comes_back_as_it_was_written() {
        let run = Run {
            planned: PlannedRun {
                id: RunId { block: 3, arm: Arm::Control, workload: 0, threads: 32 },
                application: 7,
                host: HERE.to_owned(),
            },
            scenario: "off".to_owned(),
            workload: "rw".to_owned(),
            began_unix_sec: 1_700_000_000,
            observed: Observed {
                parts: vec![Part { name: "db1".to_owned(), measured: Measured::default() }],
                values: BTreeMap::from([(Metric::Nopm, 12.5)]),
                conditions: Conditions {
                    tiers: BTreeMap::from([(Tier::Disk, 0.25)]),
                    lost_generators: vec![LostGenerator {
                        name: "g2".to_owned(),
                        after: Duration::from_secs(3),
                    }],
                    ..Conditions::default()
                },
                servers: vec![ServerSeen { target: "x".to_owned(), ..ServerSeen::default() }],
                ..Observed::default()
            },
        };
        assert_eq!(parse_run(&run_to_json(&run)).expect("its own text"), run);
    }
}
