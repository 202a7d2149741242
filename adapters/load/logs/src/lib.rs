//! Logs that other benchmarks leave behind: sysbench's and HammerDB's, and figures out of a report.
//!
//! # The problem
//!
//! Old results are files that tools printed for people. They hold lines of other programs, carriage returns,
//! decimal commas, several runs one after the other, and now and then no end.
//!
//! # The approach
//!
//! A line is looked at for what it may mean; what means nothing is passed over. What means something and
//! cannot be read is an error with its line. A run begins where the tool says who it is, or with its first
//! figures, and is complete once its figures are there.
//!
//! # Properties
//!
//! - What a log does not have is absent: no percentile is made of another one, and no histogram of stars.
//! - A run without its final figures is refused by its line, whatever intervals it has.

mod hammerdb;
mod number;
mod report;
mod sysbench;

pub use report::{ReportTargets, parse_report};

use numawise_experiment::imported::ImportedRun;
use thiserror::Error;

/// Why a text is no log. The file is named by whoever has read it.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LogError {
    #[error(
        "there is no run in it: a log of sysbench has 'transactions:' or 'events per second:', one of \
         HammerDB 'TEST RESULT' or '>>>>> PROC'"
    )]
    NoRun,
    #[error(
        "line {line}: the run that begins here was cut short: it has no final figures (interval lines: \
         {intervals})"
    )]
    CutShort { line: usize, intervals: usize },
    #[error("line {line}: '{text}' has no {wanted} that can be read")]
    Unreadable { line: usize, text: String, wanted: &'static str },
    #[error("{path}: {reason}")]
    Report { path: String, reason: String },
}

/// Every run of a log, in order.
pub fn parse_log(text: &str) -> Result<Vec<ImportedRun>, LogError> {
    let runs = if hammerdb::is_it(text) { hammerdb::parse(text)? } else { sysbench::parse(text)? };
    if runs.is_empty() { Err(LogError::NoRun) } else { Ok(runs) }
}

/// Each line with its number, without what ends it.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines().map(str::trim_end))
}

fn unreadable(line: usize, text: &str, wanted: &'static str) -> LogError {
    const MOST: usize = 80;
    LogError::Unreadable { line, text: text.trim().chars().take(MOST).collect(), wanted }
}
