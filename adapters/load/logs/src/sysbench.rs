//! sysbench's logs, of 1.0 and of the development branch that calls itself 1.1.

use crate::number::{decimal, whole, word};
use crate::{LogError, lines, unreadable};
use numawise_experiment::Metric;
use numawise_experiment::imported::{ImportedInterval, ImportedRun, Tool};
use std::time::Duration;
use winnow::combinator::{alt, delimited, opt, preceded, terminated};
use winnow::token::{rest, take_till, take_until};
use winnow::{Parser, Result};

/// The run that is being read, and where in it.
#[derive(Default)]
struct Open {
    run: ImportedRun,
    begun: bool,
    in_latencies: bool,
    has_figures: bool,
}

impl Open {
    fn begin(line: usize, version: Option<String>) -> Self {
        let tool = Tool::Sysbench { version };
        Self {
            run: ImportedRun { tool, line, ..ImportedRun::default() },
            begun: true,
            ..Self::default()
        }
    }

    /// Takes a run that is complete, and refuses one that is not.
    fn close(self, into: &mut Vec<ImportedRun>) -> Result<(), LogError> {
        let intervals = self.run.intervals.len();
        if self.has_figures {
            into.push(self.run);
        } else if intervals > 0 {
            return Err(LogError::CutShort { line: self.run.line, intervals });
        }
        Ok(())
    }
}

pub fn parse(text: &str) -> Result<Vec<ImportedRun>, LogError> {
    let mut runs = Vec::new();
    let mut open = Open::default();
    for (number, line) in lines(text) {
        if let Ok(version) = head.parse(line) {
            open.close(&mut runs)?;
            open = Open::begin(number, Some(version.to_owned()));
            continue;
        }
        // Scripts often keep the figures only, one run under the other.
        let is_next = open.has_figures && (line == "SQL statistics:" || line == "CPU speed:");
        if is_next || !open.begun && is_of_a_run(line) {
            open.close(&mut runs)?;
            open = Open::begin(number, None);
        }
        open.read(number, line)?;
    }
    open.close(&mut runs)?;
    Ok(runs)
}

fn is_of_a_run(line: &str) -> bool {
    interval.parse(line).is_ok() || pair.parse(line).is_ok()
}

/// `sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)`.
fn head<'a>(input: &mut &'a str) -> Result<&'a str> {
    let version =
        take_till(1.., ' ').verify(|word: &str| word.starts_with(|c: char| c.is_ascii_digit()));
    delimited("sysbench ", version, rest).parse_next(input)
}

/// `[ 10s ] thds: 4 tps: 672.51 qps: .. lat (ms,95%): 11.87 ..`; `eps` where there are no transactions.
fn interval(input: &mut &str) -> Result<ImportedInterval> {
    let end = delimited(word("["), decimal, (word("s"), word("]"))).parse_next(input)?;
    (take_until(0.., "ps:"), "ps:", opt(" ")).parse_next(input)?;
    let tps = decimal.parse_next(input)?;
    let latency = (
        delimited((take_until(0.., "lat ("), "lat (ms,"), whole::<u32>, "%):"),
        preceded(opt(" "), decimal),
    );
    let percentile = opt(latency).parse_next(input)?.filter(|(percentile, _)| *percentile > 0);
    rest.parse_next(input)?;
    let end = Duration::try_from_secs_f64(end).unwrap_or(Duration::MAX);
    Ok(ImportedInterval { end, tps, percentile })
}

/// `transactions:      2902   (579.98 per sec.)`: a name and what follows it.
fn pair<'a>(input: &mut &'a str) -> Result<(&'a str, &'a str)> {
    let name = preceded(winnow::ascii::space0, take_till(1.., ':'));
    let (name, value) = (terminated(name, ":"), rest).parse_next(input)?;
    Ok((name, value.trim()))
}

fn count_and_rate(input: &mut &str) -> Result<(u64, f64)> {
    (whole, delimited(word("("), decimal, (word("per sec."), ")"))).parse_next(input)
}

/// `95th percentile`, and any other ordinal.
fn percentile(input: &mut &str) -> Result<u32> {
    terminated(whole, (alt(("st", "nd", "rd", "th")), " percentile")).parse_next(input)
}

impl Open {
    fn read(&mut self, number: usize, line: &str) -> Result<(), LogError> {
        if let Ok(interval) = interval.parse(line) {
            self.run.intervals.push(interval);
            return Ok(());
        }
        let Ok((name, value)) = pair.parse(line) else { return Ok(()) };
        if value.is_empty() {
            self.in_latencies = name == "Latency (ms)";
            return Ok(());
        }
        let bad = |wanted| unreadable(number, line, wanted);
        let run = &mut self.run;
        match name {
            "Number of threads" => run.threads = Some(value.parse().map_err(|_| bad("number"))?),
            "transactions" => {
                let (count, rate) =
                    count_and_rate.parse(value).map_err(|_| bad("count and rate"))?;
                run.transactions = Some(count);
                run.values.insert(Metric::Tps, rate);
                self.has_figures = true;
            }
            "queries" => {
                let (_, rate) = count_and_rate.parse(value).map_err(|_| bad("count and rate"))?;
                run.values.insert(Metric::Qps, rate);
            }
            "ignored errors" => {
                let (count, _) = count_and_rate.parse(value).map_err(|_| bad("count and rate"))?;
                run.ignored_errors = Some(count);
            }
            "reconnects" => {
                let (count, _) = count_and_rate.parse(value).map_err(|_| bad("count and rate"))?;
                run.reconnects = Some(count);
            }
            "events per second" => {
                let rate = decimal.parse(value).map_err(|_| bad("rate"))?;
                run.values.insert(Metric::EventsPerSec, rate);
                self.has_figures = true;
            }
            "total time" | "time elapsed" => {
                let seconds = terminated(decimal, "s").parse(value).map_err(|_| bad("seconds"))?;
                run.elapsed = Duration::try_from_secs_f64(seconds).ok();
            }
            _ if self.in_latencies => self.latency(name, value, &bad)?,
            _ => {}
        }
        Ok(())
    }

    fn latency(
        &mut self,
        name: &str,
        value: &str,
        bad: &dyn Fn(&'static str) -> LogError,
    ) -> Result<(), LogError> {
        let msec = || decimal.parse(value).map_err(|_| bad("milliseconds"));
        let metric = match name {
            "avg" => Metric::LatencyMean,
            "max" => Metric::LatencyMax,
            _ => match percentile.parse(name) {
                Ok(50) => Metric::LatencyP50,
                Ok(95) => Metric::LatencyP95,
                Ok(99) => Metric::LatencyP99,
                Ok(other) => {
                    self.run.percentiles.insert(other, msec()?);
                    return Ok(());
                }
                // The least, the sum, and that percentiles are disabled.
                Err(_) => return Ok(()),
            },
        };
        self.run.values.insert(metric, msec()?);
        Ok(())
    }
}
