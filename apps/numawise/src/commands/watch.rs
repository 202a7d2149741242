//! `numawise watch`: drift as it happens, one line for each thing that changes.

use crate::config::GlobalArgs;
use crate::failure::DRIFT;
use crate::output;
use crate::session::Session;
use anyhow::Result;
use clap::Args;
use numawise_documents::report::watch_to_json;
use numawise_engine::error::EngineError;
use numawise_engine::loop_parts::Engine;
use numawise_engine::ports::{Depth, PortError};
use numawise_engine::watch::Watch;
use numawise_model::event::WatchEvent;
use numawise_render::text;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Pages are looked at as often as that many intervals: the kernel walks page tables for it.
const PAGES_EVERY: u32 = 6;
/// Between two looks, however fast events come.
const BREATH: Duration = Duration::from_millis(250);

/// Tells findings as they come and go, and guests that start, stop, appear and vanish. It looks
/// when the hypervisor tells of a change and after each interval, because a thread moved with
/// taskset tells nobody; at pages every sixth interval. Ends when interrupted, with exit code 0.
#[derive(Args)]
pub struct WatchArgs {
    /// Names or UUIDs; all guests if left out.
    #[arg(value_name = "GUEST")]
    guests: Vec<String>,
    /// Seconds between looks when nothing is heard.
    #[arg(long, value_name = "SEC", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
    /// End with exit code 5 at the first drift.
    #[arg(long)]
    exit_on_drift: bool,
}

pub fn run(global: &GlobalArgs, args: &WatchArgs) -> Result<ExitCode> {
    let session = Session::open(global)?;
    let engine = session.engine(None);
    let simulated = session.hypervisor.is_simulated();
    let interval = Duration::from_secs(args.interval);
    let mut watch = Watch::of(args.guests.clone());
    let mut pages_seen: Option<Instant> = None;
    loop {
        let due = pages_seen.is_none_or(|at| at.elapsed() >= interval * PAGES_EVERY);
        let depth = if due { Depth::Pages } else { Depth::Threads };
        if due {
            pages_seen = Some(Instant::now());
        }
        let events = match watch.look(&engine, depth) {
            Err(EngineError::Port(PortError::Cancelled)) => return Ok(ExitCode::SUCCESS),
            other => other?,
        };
        for event in &events {
            output::print(&told(&engine, event, global.json, simulated))?;
        }
        if args.exit_on_drift && events.iter().any(is_drift) {
            return Ok(ExitCode::from(DRIFT));
        }
        if output::reader_is_gone() || !wait(&engine, interval) {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

fn told(engine: &Engine<'_>, event: &WatchEvent, json: bool, simulated: bool) -> String {
    if json {
        return watch_to_json(engine.clock.now_unix_sec(), event, simulated);
    }
    text::watch_event(event, &output::look(simulated))
}

fn is_drift(event: &WatchEvent) -> bool {
    matches!(event, WatchEvent::Found { finding } if numawise_audit::is_drift(finding))
}

/// Until something may have changed or the time is up; `false` when interrupted. A hypervisor that
/// cannot be asked now is waited out: the next look tells of it.
fn wait(engine: &Engine<'_>, interval: Duration) -> bool {
    let began = Instant::now();
    let waited = engine.hypervisor.wait_for_change(interval, engine.cancel);
    let at_least = match waited {
        Err(PortError::Cancelled) => return false,
        Err(_) => interval,
        Ok(()) => BREATH,
    };
    while began.elapsed() < at_least && !engine.cancel.is_set() {
        std::thread::sleep(Duration::from_millis(20));
    }
    !engine.cancel.is_set()
}
