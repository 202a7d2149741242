//! An experiment's file, as people write it.
//!
//! The file is TOML. Its design is a value of [`Design`]; the rest says what the design's names stand
//! for: what a scenario does, what a workload runs, where load comes from. Whoever carries it out puts
//! the values of `{threads}`, `{seconds}`, `{scenario}`, `{host}` and `{target}` into commands.

use super::MetricDoc;
use super::trial::MechanismDoc;
use crate::error::{DocumentError, VERSION, compact, read};
use crate::wire::Wire;
use core::time::Duration;
use numawise_experiment::{Design, Mechanism, Metric, Scenario, SteadyRule, WarmUp};
use serde::{Deserialize, Serialize};

pub const EXPERIMENT_SCHEMA: &str = "numawise.experiment";

/// The only host of a design that names none: the machine that carries it out.
pub const HERE: &str = "here";

/// The whole file. Unknown keys are refused: a misspelt one must not be silently default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExperimentFile {
    /// Under which runs are recorded.
    pub name: String,
    /// What it is to find out, for the report.
    #[serde(default)]
    pub question: Option<String>,
    #[serde(default = "one")]
    pub seed: u64,
    /// How many times each scenario is put in place for each workload.
    #[serde(default = "ten")]
    pub blocks: u32,
    /// The scenario that others are held against; the first one where it is not named.
    #[serde(default)]
    pub baseline: Option<String>,
    /// Run the baseline twice in each block: its difference from itself is the noise floor.
    #[serde(default = "yes")]
    pub control: bool,
    /// The metric that decides.
    #[serde(default = "tps")]
    pub primary: MetricDoc,
    #[serde(default)]
    pub secondary: Vec<MetricDoc>,
    /// The smallest gain worth claiming.
    #[serde(default = "one_percent")]
    pub worth_percent: f64,
    /// In the order in which they are run in one applied placement.
    pub threads: Vec<u32>,
    pub measure_sec: f64,
    /// Before each run.
    #[serde(default)]
    pub cool_down_sec: f64,
    #[serde(default)]
    pub warm_up: WarmUpDoc,
    /// What the scenarios are meant to change.
    #[serde(default)]
    pub mechanisms: Vec<MechanismDoc>,
    /// Settings of servers that differ between scenarios on purpose.
    #[serde(default)]
    pub may_differ: Vec<String>,
    #[serde(rename = "scenario")]
    pub scenarios: Vec<ScenarioDoc>,
    #[serde(rename = "workload")]
    pub workloads: Vec<WorkloadDoc>,
    /// Where load comes from; this process's machine, once, where none is named.
    #[serde(default, rename = "generator")]
    pub generators: Vec<GeneratorDoc>,
}

/// When a run is warm: by its steadiness, between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WarmUpDoc {
    pub at_least_sec: f64,
    pub at_most_sec: f64,
}

impl Default for WarmUpDoc {
    fn default() -> Self {
        let WarmUp { at_least, at_most, .. } = WarmUp::default();
        Self { at_least_sec: at_least.as_secs_f64(), at_most_sec: at_most.as_secs_f64() }
    }
}

/// A state that can be put in place: a guest's binding, another server, another setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ScenarioDoc {
    pub name: String,
    /// Where it can be put in place. A design over several hosts is a crossover.
    #[serde(default = "here")]
    pub hosts: Vec<String>,
    /// Puts it in place.
    #[serde(default)]
    pub apply: Vec<CommandDoc>,
    /// Has to end well before anything is measured.
    #[serde(default)]
    pub check: Vec<CommandDoc>,
    /// Puts back what was there before.
    #[serde(default)]
    pub leave: Vec<CommandDoc>,
    /// Where the workload runs, in the words of a placement: `0-3`, `node:0`, `l3:2`, `compact:8`.
    #[serde(default)]
    pub cpus: Option<String>,
    /// In the place of the workload's.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Prints the share of remote pages, or crossings of L3 domains per second, as a number.
    #[serde(default)]
    pub remote_pages: Option<CommandDoc>,
    #[serde(default)]
    pub l3_crossings: Option<CommandDoc>,
}

/// A command: its words, or a line for the shell. `numawise` as the first word is this program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum CommandDoc {
    Words(Vec<String>),
    Shell(String),
}

/// A load: one of numawise's own, or any command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkloadDoc {
    pub name: String,
    /// As on the command line after `numawise`, without threads, time and target:
    /// `["oltp", "run", "oltp_read_write", "--tables=4"]`.
    #[serde(default)]
    pub load: Vec<String>,
    #[serde(default)]
    pub command: Option<CommandDoc>,
    /// What to read in a command's output; its time where nothing is named.
    #[serde(default)]
    pub reads: Option<OutputDoc>,
    /// Databases; each gets the same load, all at once.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Once before the first run of the experiment, and after its last.
    #[serde(default)]
    pub prepare: Vec<CommandDoc>,
    #[serde(default)]
    pub cleanup: Vec<CommandDoc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OutputDoc {
    /// How long it took, as one transaction.
    Time,
    /// The report of sysbench.
    Sysbench,
    /// The result line of HammerDB.
    Hammerdb,
}

/// A process that makes load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GeneratorDoc {
    pub name: String,
    /// Words before the command: `["ssh", "client1"]`, `["ip", "netns", "exec", "a"]`.
    #[serde(default)]
    pub via: Vec<String>,
    /// The program over there; this one where nothing is named.
    #[serde(default)]
    pub program: Option<String>,
    /// Its own CPUs, as a kernel list.
    #[serde(default)]
    pub cpus: Option<String>,
}

/// Reads a file's text; what is wrong is told with its place in it.
pub fn parse_experiment(text: &str) -> Result<ExperimentFile, DocumentError> {
    let file: ExperimentFile = toml::from_str(text)
        .map_err(|error| DocumentError::field(EXPERIMENT_SCHEMA, "file", error.to_string()))?;
    file.check()?;
    Ok(file)
}

impl ExperimentFile {
    /// What cannot be said in types: times, shares, and workloads that say what they run.
    fn check(&self) -> Result<(), DocumentError> {
        let field =
            |path: &str, why: String| Err(DocumentError::field(EXPERIMENT_SCHEMA, path, why));
        for (path, sec) in [
            ("measure-sec", self.measure_sec),
            ("cool-down-sec", self.cool_down_sec),
            ("warm-up.at-least-sec", self.warm_up.at_least_sec),
            ("warm-up.at-most-sec", self.warm_up.at_most_sec),
        ] {
            if !(0.0..=MOST_SEC).contains(&sec) {
                return field(path, format!("{sec} is no time from 0 to {MOST_SEC} seconds"));
            }
        }
        for (number, workload) in self.workloads.iter().enumerate() {
            let path = format!("workload[{number}]");
            match (workload.load.is_empty(), &workload.command) {
                (false, None) if workload.reads.is_some() => {
                    return field(&path, "reads goes with command; a load is read as it is".into());
                }
                (false, None) | (true, Some(_)) => {}
                (true, None) => {
                    return field(&path, "it needs load (of numawise's own) or command".into());
                }
                (false, Some(_)) => {
                    return field(&path, "it has both load and command; one is wanted".into());
                }
            }
        }
        Ok(())
    }

    /// What the design says to core: names, numbers and order, not what they stand for.
    pub fn design(&self) -> Design {
        let scenario = |scenario: &ScenarioDoc| Scenario {
            name: scenario.name.clone(),
            hosts: scenario.hosts.iter().cloned().collect(),
        };
        let first = self.scenarios.first().map(|scenario| scenario.name.clone());
        Design {
            name: self.name.clone(),
            scenarios: self.scenarios.iter().map(scenario).collect(),
            baseline: self.baseline.clone().or(first).unwrap_or_default(),
            workloads: self.workloads.iter().map(|workload| workload.name.clone()).collect(),
            threads: self.threads.clone(),
            blocks: self.blocks,
            seed: self.seed,
            primary: Metric::from_doc(self.primary.clone()),
            secondary: Wire::from_doc(self.secondary.clone()),
            worth: self.worth_percent / 100.0,
            control: self.control,
            warm_up: WarmUp {
                at_least: Duration::from_secs_f64(self.warm_up.at_least_sec),
                at_most: Duration::from_secs_f64(self.warm_up.at_most_sec),
                rule: SteadyRule::default(),
            },
            measure: Duration::from_secs_f64(self.measure_sec),
            cool_down: Duration::from_secs_f64(self.cool_down_sec),
            mechanisms: self.mechanisms.iter().cloned().map(Mechanism::from_doc).collect(),
            may_differ: self.may_differ.iter().cloned().collect(),
        }
    }

    pub fn scenario(&self, name: &str) -> Option<&ScenarioDoc> {
        self.scenarios.iter().find(|scenario| scenario.name == name)
    }

    pub fn workload(&self, name: &str) -> Option<&WorkloadDoc> {
        self.workloads.iter().find(|workload| workload.name == name)
    }
}

/// A month; a longer time is a slip of the hand.
const MOST_SEC: f64 = 31.0 * 86_400.0;

fn one() -> u64 {
    1
}

fn ten() -> u32 {
    numawise_experiment::design::DEFAULT_BLOCKS
}

fn yes() -> bool {
    true
}

fn tps() -> MetricDoc {
    MetricDoc::Tps
}

fn one_percent() -> f64 {
    numawise_experiment::design::DEFAULT_WORTH * 100.0
}

fn here() -> Vec<String> {
    vec![HERE.to_owned()]
}

/// An experiment as it was begun, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExperimentRecord {
    pub schema: String,
    pub version: u32,
    pub file: ExperimentFile,
    pub began_unix_sec: i64,
    /// The machine on which it is carried out, and the digest of its topology.
    pub host_id: Option<String>,
    pub topology_digest: Option<String>,
    /// The version of the program.
    pub numawise: String,
}

impl ExperimentRecord {
    pub fn new(file: ExperimentFile, began_unix_sec: i64, numawise: &str) -> Self {
        Self {
            schema: EXPERIMENT_SCHEMA.to_owned(),
            version: VERSION,
            file,
            began_unix_sec,
            host_id: None,
            topology_digest: None,
            numawise: numawise.to_owned(),
        }
    }

    pub fn to_json(&self) -> String {
        compact(self)
    }

    pub fn parse(text: &str) -> Result<Self, DocumentError> {
        read(text, EXPERIMENT_SCHEMA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        name = "cells"
        threads = [4, 2]
        measure-sec = 2.5
        [[scenario]]
        name = "off"
        apply = ["numawise vnuma off db1 --yes"]
        [[scenario]]
        name = "on"
        apply = [["numawise", "vnuma", "on", "db1", "--yes"]]
        [[workload]]
        name = "rw"
        load = ["oltp", "run", "oltp_read_write"]
        targets = ["sqlite:/tmp/x"]
    "#;

    #[test]
    fn a_small_file_says_a_whole_design() {
        let file = parse_experiment(SMALL).expect("a file");
        let design = file.design();
        assert_eq!(design.refusals(), []);
        assert_eq!((design.baseline.as_str(), design.blocks, design.worth), ("off", 10, 0.01));
        assert_eq!(design.measure, Duration::from_millis(2_500));
        assert!(design.control);
        let words = ["numawise", "vnuma", "on", "db1", "--yes"].map(str::to_owned).to_vec();
        assert_eq!(file.scenarios[1].apply, [CommandDoc::Words(words)]);
    }

    #[test]
    fn what_is_wrong_in_a_file_is_told_with_its_place() {
        for (from, to, why) in [
            ("measure-sec = 2.5", "measure-sec = -1", "measure-sec: -1"),
            ("measure-sec = 2.5", "measure-sec = nan", "measure-sec: NaN"),
            ("load = [\"oltp\", \"run\", \"oltp_read_write\"]", "", "it needs load"),
            ("targets =", "reads = \"time\"\ntargets =", "reads goes with command"),
            ("targets =", "command = \"x\"\ntargets =", "both load and command"),
            ("threads =", "thread =", "unknown field `thread`"),
            ("[4, 2]", "[4, \"2\"]", "line 3"),
        ] {
            let text = SMALL.replace(from, to);
            let error = parse_experiment(&text).expect_err(why).to_string();
            assert!(error.contains(why), "{why}: {error}");
        }
    }
}
