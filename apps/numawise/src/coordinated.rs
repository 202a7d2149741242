//! `--coordinated`: a load as one of several generators, under somebody's orders on its standard streams.

use crate::failure::FAILURE;
use anyhow::Result;
use clap::Args;
use numawise_experiment::{Interval, Measured, Metric};
use numawise_generator::{Coordinated, Samples, Window};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Several generators")]
pub struct CoordinatedArgs {
    /// Connect, and wait for orders on standard input; whoever starts several generators gives them.
    #[arg(long)]
    pub coordinated: bool,
    /// How often it is told how the load stands.
    #[arg(long, value_name = "MSEC", default_value_t = 1_000, requires = "coordinated",
          value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub interval_msec: u64,
}

impl CoordinatedArgs {
    pub fn interval(&self) -> Duration {
        Duration::from_millis(self.interval_msec)
    }
}

/// What counts of a load that was told to run without an end.
pub enum Course {
    /// The part that the coordinator names.
    Ordered,
    /// The load knows itself when its ramp-up ends.
    Own,
}

/// What a load is, once it is connected: it runs from an instant until it is stopped, and tells intervals.
pub type Go<'a> = Box<
    dyn FnOnce(
            Instant,
            &AtomicBool,
            &mut dyn FnMut(&Interval),
        ) -> Result<(Measured, BTreeMap<Metric, f64>)>
        + 'a,
>;

/// Connects, gets ready, runs when it is told to, and says what it measured or why it failed.
pub fn run<'a>(course: &Course, connect: impl FnOnce() -> Result<Go<'a>>) -> Result<ExitCode> {
    let window = Window::default();
    let orders = window.clone();
    let coordinated = Coordinated::begin(
        std::io::stdin(),
        std::io::stdout(),
        move |after, length| orders.open(after, length),
        Arc::clone(&window.stop),
    );
    let failed = |error: anyhow::Error| {
        coordinated.failed(&format!("{error:#}"));
        Ok(ExitCode::from(FAILURE))
    };
    let go = match connect() {
        Ok(go) => go,
        Err(error) => return failed(error),
    };
    let Some(start) = coordinated.ready(env!("CARGO_PKG_VERSION")) else {
        return Ok(ExitCode::SUCCESS);
    };
    let mut samples = Samples::default();
    let done = go(start, &window.stop, &mut |interval| match course {
        Course::Ordered => coordinated.interval(&window.hear(interval, &mut samples)),
        Course::Own => coordinated.interval(interval),
    });
    match done {
        Ok((whole, values)) => {
            let measured = match course {
                Course::Ordered => window.measured(whole, &samples),
                Course::Own => whole,
            };
            coordinated.done(&measured, &values);
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => failed(error),
    }
}
