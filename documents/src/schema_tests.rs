//! The JSON schemas in `schemas/` are made from the types. A change to a type shows here as a
//! difference; `UPDATE_EXPECT=1 cargo test -p numawise-documents` writes the files anew, and the
//! reviewer sees what readers of the documents will see.

use crate::audit::AuditDoc;
use crate::experiment::design::DesignFileDoc;
use crate::experiment::file::ExperimentFile;
use crate::experiment::judgement::VerdictFileDoc;
use crate::experiment::run::RunFileDoc;
use crate::experiment::trial::TrialFileDoc;
use crate::fleet::{FleetMovesDoc, FleetPlanDoc, FleetRequestDoc};
use crate::guest::FrozenDoc;
use crate::host::HostDoc;
use crate::ledger::LedgerDoc;
use crate::load_runs::{CpuFileDoc, TpccFileDoc};
use crate::measured::MeasuredFileDoc;
use crate::plan::PlanDoc;
use crate::state::{HostStateDoc, StepDoc, UsageSampleDoc};
use crate::tuning::{TuningPlanDoc, TuningRecordDoc};
use crate::wire::{IdDoc, ListDoc};
use expect_test::{ExpectFile, expect_file};
use numawise_model::{Id, MAX_ID};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

impl<I: Id> JsonSchema for ListDoc<I> {
    fn schema_name() -> Cow<'static, str> {
        format!("{} list", I::KIND).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": format!("{}s as a kernel list, like 0-3,8", I::KIND),
            "type": "string",
            "pattern": "^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$",
        })
    }
}

impl<I: Id> JsonSchema for IdDoc<I> {
    fn schema_name() -> Cow<'static, str> {
        I::KIND.into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": I::KIND,
            "type": "integer",
            "minimum": 0,
            "maximum": MAX_ID,
        })
    }
}

fn check<T: JsonSchema>(file: ExpectFile) {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    file.assert_eq(&crate::error::pretty(&schema));
}

#[test]
fn the_schemas_on_file_are_those_of_the_types() {
    check::<AuditDoc>(expect_file!["../schemas/audit.schema.json"]);
    check::<ExperimentFile>(expect_file!["../schemas/experiment.schema.json"]);
    check::<RunFileDoc>(expect_file!["../schemas/run.schema.json"]);
    check::<CpuFileDoc>(expect_file!["../schemas/cpu-run.schema.json"]);
    check::<TpccFileDoc>(expect_file!["../schemas/tpcc-run.schema.json"]);
    check::<MeasuredFileDoc>(expect_file!["../schemas/measured.schema.json"]);
    check::<PlanDoc>(expect_file!["../schemas/plan.schema.json"]);
    check::<HostDoc>(expect_file!["../schemas/host.schema.json"]);
    check::<LedgerDoc>(expect_file!["../schemas/ledger.schema.json"]);
    check::<FrozenDoc>(expect_file!["../schemas/frozen-topology.schema.json"]);
    check::<HostStateDoc>(expect_file!["../schemas/host-state.schema.json"]);
    check::<StepDoc>(expect_file!["../schemas/step.schema.json"]);
    check::<UsageSampleDoc>(expect_file!["../schemas/usage-sample.schema.json"]);
    check::<TuningPlanDoc>(expect_file!["../schemas/tuning-plan.schema.json"]);
    check::<TuningRecordDoc>(expect_file!["../schemas/tuning-record.schema.json"]);
    check::<DesignFileDoc>(expect_file!["../schemas/design.schema.json"]);
    check::<TrialFileDoc>(expect_file!["../schemas/trial.schema.json"]);
    check::<VerdictFileDoc>(expect_file!["../schemas/verdict.schema.json"]);
    check::<FleetRequestDoc>(expect_file!["../schemas/fleet-request.schema.json"]);
    check::<FleetPlanDoc>(expect_file!["../schemas/fleet-plan.schema.json"]);
    check::<FleetMovesDoc>(expect_file!["../schemas/fleet-moves.schema.json"]);
}
