//! Experiments as they are written: [`file`], by people, with [`design`], what is to be found out; [`run`],
//! each raw run whole; [`trial`], a run as the judge sees it; [`judgement`], what can be said.

pub mod design;
pub mod file;
pub mod judgement;
pub mod run;
pub mod trial;
mod values;

pub use file::{
    CommandDoc, ExperimentFile, ExperimentRecord, GeneratorDoc, OutputDoc, ScenarioDoc,
    WorkloadDoc, parse_experiment, parse_experiment_with,
};
pub use run::{parse_run, run_to_json};

use crate::wire::wire;
use numawise_experiment::Metric;

wire! {
    #[derive(Eq, PartialOrd, Ord)]
    enum MetricDoc = Metric {
        Tps,
        Qps,
        Nopm,
        Tpm,
        EventsPerSec,
        LatencyMean,
        LatencyP50,
        LatencyP95,
        LatencyP99,
        LatencyP999,
        LatencyMax,
    }
}
