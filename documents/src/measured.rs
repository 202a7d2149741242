//! What one run measured, as it is kept: whole, so that runs of several generators can be merged later.
//!
//! Histograms are written in the compressed V2 form of HdrHistogram, which its tools in other languages
//! read; beside it stand the figures that people look for.

use crate::error::{DocumentError, VERSION, pretty, read};
use crate::wire::{Wire, wire};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use core::time::Duration;
use hdrhistogram::serialization::{
    Deserializer as FromBytes, Serializer as _, V2DeflateSerializer,
};
use numawise_experiment::{
    Counts, GeneratorUsage, Interval, KindMeasured, Latencies, Measured, Schedule, Steadiness,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub const MEASURED_SCHEMA: &str = "numawise.measured";

/// A run in a file of its own.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MeasuredFileDoc {
    schema: String,
    version: u32,
    measured: MeasuredDoc,
}

pub fn measured_to_json(measured: &Measured) -> String {
    let schema = MEASURED_SCHEMA.to_owned();
    pretty(&MeasuredFileDoc { schema, version: VERSION, measured: measured.to_doc() })
}

pub fn parse_measured(text: &str) -> Result<Measured, DocumentError> {
    read::<MeasuredFileDoc>(text, MEASURED_SCHEMA).map(|doc| Measured::from_doc(doc.measured))
}

wire! {
    struct MeasuredDoc = Measured {
        #[serde(rename = "elapsed_nsec")]
        elapsed: Duration,
        counts: Counts,
        latencies: Latencies,
        kinds: Vec<KindMeasured>,
        schedule: Option<Schedule>,
        intervals: Vec<Interval>,
        generator: GeneratorUsage,
        steadiness: Steadiness,
    }
}

wire! {
    struct CountsDoc = Counts {
        transactions: u64,
        reads: u64,
        writes: u64,
        others: u64,
        ignored_errors: u64,
        reconnects: u64,
        rollbacks: u64,
    }
}

wire! {
    struct KindMeasuredDoc = KindMeasured {
        name: String,
        counts: Counts,
        latencies: Latencies,
    }
}

wire! {
    struct ScheduleDoc = Schedule {
        intended: u64,
        done: u64,
        late: u64,
        failed: u64,
        #[serde(rename = "longest_wait_nsec")]
        longest_wait: Duration,
    }
}

wire! {
    struct IntervalDoc = Interval {
        #[serde(rename = "begin_nsec")]
        begin: Duration,
        #[serde(rename = "length_nsec")]
        length: Duration,
        counts: Counts,
        latencies: Latencies,
        warm_up: bool,
    }
}

wire! {
    struct GeneratorUsageDoc = GeneratorUsage {
        #[serde(rename = "user_nsec")]
        user: Duration,
        #[serde(rename = "system_nsec")]
        system: Duration,
        threads: u32,
        connections: u32,
        resident_peak_bytes: Option<u64>,
    }
}

wire! {
    enum SteadinessDoc = Steadiness {
        NotWarmedUp,
        Steady {
            #[serde(rename = "after_nsec")]
            after: Duration,
        },
        NotSteady {
            #[serde(rename = "after_nsec")]
            after: Duration,
        },
    }
}

/// Nanoseconds; what is longer than 584 years is written as that.
impl Wire for Duration {
    type Doc = u64;
    fn to_doc(&self) -> u64 {
        u64::try_from(self.as_nanos()).unwrap_or(u64::MAX)
    }
    fn from_doc(doc: u64) -> Self {
        Self::from_nanos(doc)
    }
}

/// A histogram with its usual figures. Only the histogram is read again.
#[derive(Clone, Debug, PartialEq)]
pub struct LatenciesDoc(Latencies);

impl Wire for Latencies {
    type Doc = LatenciesDoc;
    fn to_doc(&self) -> LatenciesDoc {
        LatenciesDoc(self.clone())
    }
    fn from_doc(doc: LatenciesDoc) -> Self {
        doc.0
    }
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct LatenciesFields {
    count: u64,
    #[serde(default)]
    mean_nsec: Option<u64>,
    #[serde(default)]
    p50_nsec: Option<u64>,
    #[serde(default)]
    p95_nsec: Option<u64>,
    #[serde(default)]
    p99_nsec: Option<u64>,
    #[serde(default)]
    p999_nsec: Option<u64>,
    #[serde(default)]
    max_nsec: Option<u64>,
    /// HdrHistogram, V2 with deflate, base64; values are nanoseconds.
    histogram: String,
}

impl Serialize for LatenciesDoc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(self.0.histogram(), &mut bytes)
            .map_err(serde::ser::Error::custom)?;
        let nsec = |duration: Option<Duration>| duration.map(|duration| duration.to_doc());
        LatenciesFields {
            count: self.0.count(),
            mean_nsec: nsec(self.0.mean()),
            p50_nsec: nsec(self.0.quantile(0.5)),
            p95_nsec: nsec(self.0.quantile(0.95)),
            p99_nsec: nsec(self.0.quantile(0.99)),
            p999_nsec: nsec(self.0.quantile(0.999)),
            max_nsec: nsec(self.0.max()),
            histogram: BASE64_STANDARD.encode(bytes),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LatenciesDoc {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = LatenciesFields::deserialize(deserializer)?;
        let bytes = BASE64_STANDARD
            .decode(&fields.histogram)
            .map_err(|error| D::Error::custom(format!("histogram: no base64: {error}")))?;
        let histogram = FromBytes::new().deserialize(&mut bytes.as_slice()).map_err(|error| {
            D::Error::custom(format!("histogram: not HdrHistogram V2: {error}"))
        })?;
        let latencies = Latencies::from_histogram(histogram);
        if latencies.count() != fields.count {
            let (stated, found) = (fields.count, latencies.count());
            return Err(D::Error::custom(format!(
                "count is {stated}, and the histogram holds {found}: one of them was changed"
            )));
        }
        Ok(Self(latencies))
    }
}

#[cfg(test)]
impl schemars::JsonSchema for LatenciesDoc {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Latencies".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        LatenciesFields::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Measured {
        let mut latencies = Latencies::new();
        for nsec in [900, 1_000_000, 1_500_000, 20_000_000_000] {
            latencies.record_nsec(nsec);
        }
        let counts =
            Counts { transactions: 4, reads: 56, writes: 16, others: 8, ..Counts::default() };
        let kind = KindMeasured { name: "payment".into(), counts, latencies: latencies.clone() };
        let interval = Interval {
            begin: Duration::from_secs(1),
            length: Duration::from_secs(1),
            counts,
            latencies: latencies.clone(),
            warm_up: true,
        };
        Measured {
            elapsed: Duration::from_millis(2_500),
            counts,
            latencies,
            kinds: vec![kind],
            schedule: Some(Schedule {
                intended: 5,
                done: 3,
                late: 1,
                failed: 1,
                ..Schedule::default()
            }),
            intervals: vec![interval, Interval::default()],
            generator: GeneratorUsage { threads: 2, connections: 8, ..GeneratorUsage::default() },
            steadiness: Steadiness::Steady { after: Duration::from_secs(30) },
        }
    }

    #[test]
    fn a_run_comes_back_as_it_was_written() {
        let text = measured_to_json(&some());
        let back = parse_measured(&text).expect("its own text");
        assert_eq!(back, some());
        assert_eq!(measured_to_json(&back), text);
    }

    #[test]
    fn what_was_read_can_be_merged() {
        let mut back = parse_measured(&measured_to_json(&some())).expect("its own text").latencies;
        let mut long = Latencies::new();
        long.record(Duration::from_secs(3_000));
        back.merge(&long);
        assert_eq!(back.count(), 5);
        assert!(back.max() >= Some(Duration::from_secs(2_990)), "{:?}", back.max());
    }

    #[test]
    fn a_histogram_that_was_changed_is_refused() {
        let text = measured_to_json(&some());
        for (from, to, why) in [
            ("\"count\": 4", "\"count\": 5", "the histogram holds 4"),
            ("\"histogram\": \"H", "\"histogram\": \"?", "no base64"),
            ("\"histogram\": \"H", "\"histogram\": \"A", "not HdrHistogram V2"),
        ] {
            let error = parse_measured(&text.replacen(from, to, 1)).expect_err(why).to_string();
            assert!(error.contains(why) && error.contains("latencies"), "{error}");
        }
    }
}
