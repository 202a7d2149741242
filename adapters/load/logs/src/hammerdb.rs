//! HammerDB's logs: the line of its result, and its time profile.

use crate::number::{decimal, whole, word};
use crate::{LogError, lines, unreadable};
use numawise_experiment::Metric;
use numawise_experiment::imported::{ImportedRun, Procedure, Tool};
use std::time::Duration;
use winnow::combinator::{alt, delimited, opt, preceded, terminated};
use winnow::token::{rest, take_until};
use winnow::{Parser, Result};

const RESULT: &str = "TEST RESULT";
const PROC: &str = ">>>>> PROC:";
const SUMMARY: &str = ">>>>> SUMMARY OF";

pub fn is_it(text: &str) -> bool {
    [RESULT, PROC, "Active Virtual Users configured"].iter().any(|mark| text.contains(mark))
}

fn fresh(line: usize) -> ImportedRun {
    ImportedRun { tool: Tool::HammerDb, line, ..ImportedRun::default() }
}

/// What is being read of a time profile.
#[derive(Default)]
struct Profile {
    /// Only the part on all virtual users counts.
    in_summary: bool,
    name: Option<String>,
    first: Option<[f64; 3]>,
    calls: u64,
}

pub fn parse(text: &str) -> Result<Vec<ImportedRun>, LogError> {
    let mut runs = Vec::new();
    let mut run = fresh(1);
    let mut profile = Profile::default();
    for (number, line) in lines(text) {
        let said = line.split_once(':').filter(|(who, _)| who.starts_with("Vuser "));
        let said = said.map_or(line, |(_, said)| said);
        if said.starts_with("Beginning rampup time") {
            run.line = number;
        } else if let Ok(minutes) = period.parse(said) {
            run.elapsed = Duration::try_from_secs_f64(minutes * 60.0).ok();
        } else if let Ok(users) = users.parse(said) {
            run.threads = Some(users);
        } else if said.starts_with(RESULT) {
            let wanted = "NOPM and TPM";
            let (nopm, tpm) = result.parse(said).map_err(|_| unreadable(number, line, wanted))?;
            run.values.extend([(Metric::Nopm, nopm), (Metric::Tpm, tpm)]);
            runs.push(std::mem::replace(&mut run, fresh(number + 1)));
        } else if let Some(procedure) = profile.read(number, line)? {
            run.procedures.push(procedure);
        } else if let Ok(users) = summary.parse(line) {
            run.threads = Some(users);
        }
    }
    if !run.procedures.is_empty() {
        join_profile(&mut runs, run);
    }
    Ok(runs)
}

/// A profile comes after the result that it belongs to, or in a file of its own.
fn join_profile(runs: &mut Vec<ImportedRun>, profile: ImportedRun) {
    match runs.last_mut() {
        Some(last) if last.procedures.is_empty() => last.procedures = profile.procedures,
        _ => runs.push(profile),
    }
}

/// `Timing test period of 5 in minutes`.
fn period(input: &mut &str) -> Result<f64> {
    delimited("Timing test period of ", decimal, rest).parse_next(input)
}

/// `2 Active Virtual Users configured`.
fn users(input: &mut &str) -> Result<u32> {
    terminated(whole, " Active Virtual Users configured").parse_next(input)
}

/// `>>>>> SUMMARY OF 2 ACTIVE VIRTUAL USERS : ..`.
fn summary(input: &mut &str) -> Result<u32> {
    delimited((SUMMARY, " "), whole, rest).parse_next(input)
}

/// `.. System achieved 101005 NOPM from 232149 MySQL TPM`; up to 3.3 `.. 60501 SQL Server TPM at 13207 NOPM`.
fn result(input: &mut &str) -> Result<(f64, f64)> {
    (take_until(0.., "achieved"), "achieved ").parse_next(input)?;
    let new = (terminated(decimal, " NOPM from "), terminated(decimal, tpm));
    let old = (terminated(decimal, tpm), delimited(" at ", decimal, " NOPM"));
    alt((new, old.map(|(tpm, nopm)| (nopm, tpm)))).parse_next(input)
}

/// The name of the server, of one word or of two, before its unit.
fn tpm<'a>(input: &mut &'a str) -> Result<&'a str> {
    (take_until(1.., " TPM"), " TPM").take().parse_next(input)
}

/// `CALLS: 100240\tMIN: 0.391ms\tAVG: 3.412ms\tMAX: 246.555ms\tTOTAL: 342018.880ms`.
fn calls(input: &mut &str) -> Result<(u64, [f64; 3])> {
    let calls = preceded(word("CALLS:"), whole).parse_next(input)?;
    let three = (msec("MIN:"), msec("AVG:"), msec("MAX:")).parse_next(input)?;
    rest.parse_next(input)?;
    Ok((calls, three.into()))
}

/// `P99: 9.871ms\tP95: 6.204ms\tP50: 2.915ms\tSD: ..`.
fn percentiles(input: &mut &str) -> Result<[f64; 3]> {
    let three = (msec("P99:"), msec("P95:"), msec("P50:")).parse_next(input)?;
    rest.parse_next(input)?;
    Ok(three.into())
}

fn msec<'a>(name: &'static str) -> impl Parser<&'a str, f64, winnow::error::ContextError> {
    delimited(word(name), decimal, (opt("ms"), winnow::ascii::space0))
}

impl Profile {
    /// A procedure once its three lines have been read.
    fn read(&mut self, number: usize, line: &str) -> Result<Option<Procedure>, LogError> {
        if line.starts_with(">>>>> ") && !line.starts_with(PROC) {
            self.in_summary = line.starts_with(SUMMARY);
        } else if let Some(name) = line.strip_prefix(PROC).filter(|_| self.in_summary) {
            self.name = Some(name.trim().to_owned());
        } else if line.starts_with("CALLS:") && self.name.is_some() {
            let wanted = "calls and latencies";
            let (calls, first) = calls.parse(line).map_err(|_| unreadable(number, line, wanted))?;
            (self.calls, self.first) = (calls, Some(first));
        } else if let Some([min, mean, max]) = self.first.filter(|_| line.starts_with("P99:")) {
            let read = percentiles.parse(line);
            let [p99, p95, p50] = read.map_err(|_| unreadable(number, line, "percentiles"))?;
            self.first = None;
            let calls = self.calls;
            let procedure = |name| Procedure { name, calls, min, mean, max, p50, p95, p99 };
            return Ok(self.name.take().map(procedure));
        }
        Ok(None)
    }
}
