//! What a generator of load and whoever coordinates several of them say to each other: a JSON object a
//! line, over the generator's standard input and output, so that anything that carries two streams (a
//! pipe, ssh, a namespace) carries a generator.
//!
//! The generator says `ready` when its connections are up. It answers each `ping` with its clock at once,
//! from which the other side learns how far the two clocks are apart. At `start` it waits until its own
//! clock says so. While it runs, it tells each interval. `measure` says from when on since the start, and
//! for how long, what it does is to count; in the end it says what it measured, whole, or why it failed.
//! The end of its input means that nobody listens any more: it stops.

use crate::error::DocumentError;
use crate::experiment::MetricDoc;
use crate::measured::{IntervalDoc, MeasuredDoc};
use crate::wire::Wire;
use numawise_experiment::{Interval, Measured, Metric};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Said to a generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ToGenerator {
    Ping {
        number: u64,
    },
    /// By the generator's own clock.
    Start {
        at_unix_nsec: u64,
    },
    /// What begins by then belongs to the warm-up. Comes before that time, or with the start.
    Measure {
        after_start_nsec: u64,
        for_nsec: u64,
    },
    Stop {},
}

/// Said by a generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FromGenerator {
    Ready {
        /// Of the program over there.
        numawise: String,
    },
    Pong {
        number: u64,
        unix_nsec: u64,
    },
    Interval(IntervalDoc),
    Done {
        measured: MeasuredDoc,
        /// Figures that are not in a measurement.
        values: BTreeMap<MetricDoc, f64>,
    },
    Failed {
        why: String,
    },
}

impl FromGenerator {
    pub fn interval(interval: &Interval) -> Self {
        Self::Interval(interval.to_doc())
    }

    pub fn done(measured: &Measured, values: &BTreeMap<Metric, f64>) -> Self {
        Self::Done { measured: measured.to_doc(), values: values.to_doc() }
    }
}

/// One line, with its end.
pub fn line<T: Serialize>(said: &T) -> String {
    crate::error::compact(said) + "\n"
}

/// What a line says.
pub fn parse_line<T: serde::de::DeserializeOwned>(line: &str) -> Result<T, DocumentError> {
    let wanted = "numawise.generator";
    serde_json::from_str(line)
        .map_err(|error| DocumentError::NotJson { wanted, reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_understood_by_the_other_side() {
        let all = [
            FromGenerator::Ready { numawise: "0.1.0".to_owned() },
            FromGenerator::Pong { number: 3, unix_nsec: u64::MAX },
            FromGenerator::interval(&Interval::default()),
            FromGenerator::done(&Measured::default(), &BTreeMap::from([(Metric::Nopm, 2.5)])),
            FromGenerator::Failed { why: "a\nb".to_owned() },
        ];
        for said in all {
            let text = line(&said);
            assert_eq!(text.matches('\n').count(), 1, "{text}");
            assert_eq!(parse_line::<FromGenerator>(&text).expect("its own line"), said);
        }
        for said in [
            ToGenerator::Ping { number: 1 },
            ToGenerator::Start { at_unix_nsec: 9 },
            ToGenerator::Measure { after_start_nsec: 1, for_nsec: 2 },
            ToGenerator::Stop {},
        ] {
            assert_eq!(parse_line::<ToGenerator>(&line(&said)).expect("its own line"), said);
        }
    }
}
