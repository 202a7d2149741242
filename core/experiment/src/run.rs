//! One run of an experiment, whole: where it belongs in the design, what was measured, and what stood
//! beside it.

use crate::measured::Measured;
use crate::metric::Metric;
use crate::order::PlannedRun;
use crate::trial::{Cell, Conditions, Trial};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub planned: PlannedRun,
    /// Of the control it is the baseline's name.
    pub scenario: String,
    pub workload: String,
    pub began_unix_sec: i64,
    pub observed: Observed,
}

/// What one run gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// All parts together.
    pub measured: Measured,
    /// Each target's or generator's own part, where there are several.
    pub parts: Vec<Part>,
    /// Figures that are not in a measurement: what the server counted itself.
    pub values: BTreeMap<Metric, f64>,
    pub conditions: Conditions,
    pub servers: Vec<ServerSeen>,
    /// What was done to get it, for whoever wants to do it again.
    pub command: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub name: String,
    pub measured: Measured,
}

/// A server that load was put on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerSeen {
    /// The target, without its password.
    pub target: String,
    pub version: Option<String>,
    pub settings: BTreeMap<String, String>,
    /// CPU time that its process used during the measurement.
    pub cpu_usec: Option<u64>,
}

impl Run {
    /// What the judge looks at.
    pub fn trial(&self) -> Trial {
        let Observed { measured, values, conditions, .. } = &self.observed;
        let mut all: BTreeMap<Metric, f64> = Metric::ALL
            .into_iter()
            .filter_map(|metric| Some((metric, metric.of(measured)?)))
            .collect();
        all.extend(values.iter().map(|(metric, value)| (*metric, *value)));
        let id = self.planned.id;
        Trial {
            block: id.block,
            arm: id.arm,
            cell: Cell { workload: self.workload.clone(), threads: id.threads },
            host: Some(self.planned.host.clone()),
            values: all,
            conditions: conditions.clone(),
        }
    }
}
