//! Experiments as they are written: [`design`], what is to be found out; [`trial`], a run as the judge sees
//! it; [`judgement`], what can be said.

pub mod design;
pub mod judgement;
pub mod trial;

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
