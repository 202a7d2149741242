//! A command run to its end: hooks of scenarios, and loads that are somebody else's program.

use crate::seen::used;
use nix::sys::resource::UsageWho;
use numawise_engine::ports::{Cancel, PortError};
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What it gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub output: String,
    pub took: Duration,
    /// CPU time of it and of its children.
    pub user: Duration,
    pub system: Duration,
}

/// Looked at often enough that an interruption is not felt, and that a short command is timed well.
const TICK: Duration = Duration::from_millis(2);
/// So much of what it said is in an error.
const TOLD_LINES: usize = 12;

/// Runs it and waits. An end that is not good, and a command that is not there, are failures with what it
/// said. It is killed when the wait is cancelled.
pub fn run_command(words: &[String], cancel: &Cancel) -> Result<Ended, PortError> {
    let shown = words.join(" ");
    let failed = |why: String| PortError::Failed(format!("`{shown}` {why}"));
    let Some((program, arguments)) = words.split_first() else {
        return Err(PortError::Unreadable("a command without a word".to_owned()));
    };
    let before = used(UsageWho::RUSAGE_CHILDREN);
    let begun = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("could not be started: {error}")))?;
    let output = collect(child.stdout.take());
    let complaints = collect(child.stderr.take());
    let status = wait(&mut child, cancel)?.map_err(|error| failed(error.to_string()))?;
    let took = begun.elapsed();
    let after = used(UsageWho::RUSAGE_CHILDREN);
    let text = |thread: thread::JoinHandle<String>| thread.join().unwrap_or_default();
    let (output, complaints) = (text(output), text(complaints));
    if !status.success() {
        let said = if complaints.trim().is_empty() { &output } else { &complaints };
        let lines: Vec<&str> = said.trim().lines().collect();
        let last = lines[lines.len().saturating_sub(TOLD_LINES)..].join("\n");
        return Err(failed(format!("ended with {status}: {last}")));
    }
    let (user, system) = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    Ok(Ended { output, took, user, system })
}

fn wait(child: &mut Child, cancel: &Cancel) -> Result<std::io::Result<ExitStatus>, PortError> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Ok(status)),
            Ok(None) => {}
            Err(error) => return Ok(Err(error)),
        }
        if cancel.is_set() {
            let _ = child.kill();
            let _ = child.wait();
            return Err(PortError::Cancelled);
        }
        thread::sleep(TICK);
    }
}

fn collect(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // What was read until an error is all there is to tell.
            let _ = stream.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
