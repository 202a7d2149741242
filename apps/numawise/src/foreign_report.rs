//! What the report of another benchmark says, when it was run as a load.

use numawise_documents::experiment::OutputDoc;
use numawise_engine::ports::PortError;
use numawise_experiment::Metric;
use numawise_logs::parse_log;
use std::collections::BTreeMap;

/// The figures of the one run in it. What a report does not have is absent.
pub fn read(reads: OutputDoc, output: &str) -> Result<BTreeMap<Metric, f64>, PortError> {
    let tool = match reads {
        OutputDoc::Sysbench => "sysbench",
        OutputDoc::Hammerdb => "HammerDB",
        OutputDoc::Time => return Ok(BTreeMap::new()),
    };
    let unreadable = |why: String| PortError::Unreadable(format!("the report of {tool}: {why}"));
    let runs = parse_log(output).map_err(|error| unreadable(error.to_string()))?;
    match &runs[..] {
        [run] => Ok(run.values.clone()),
        runs => Err(unreadable(format!("it has {} runs, and one is wanted", runs.len()))),
    }
}
