//! The peer: OpenStack Nova from PyPI, in a virtual environment of its own, asked over a pipe.
//!
//! The environment is made once (about two minutes, with network) in this user's cache folder.

use crate::bench::python;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The version that the figures are told for.
const NOVA: &str = "nova==34.0.0";
const DRIVER: &str = include_str!("nova_fit.py");

pub struct Peer {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    pub version: String,
}

pub struct PeerCell {
    pub node: usize,
    pub cpus: Vec<u32>,
}

pub struct PeerAnswer {
    pub cells: Option<Vec<PeerCell>>,
    pub usec: Vec<f64>,
}

impl Peer {
    pub fn start() -> Result<Self> {
        let python = python::with(NOVA)?;
        let mut child = Command::new(&python)
            .args(["-c", DRIVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", python.display()))?;
        let requests = child.stdin.take().context("the peer has no input")?;
        let answers = BufReader::new(child.stdout.take().context("the peer has no output")?);
        let mut peer = Self { child, requests, answers, version: String::new() };
        let hello = peer.ask(&json!({"hello": true}))?;
        let text = |key: &str| hello[key].as_str().unwrap_or("?").to_owned();
        peer.version = format!("nova {}, Python {}", text("nova"), text("python"));
        Ok(peer)
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        writeln!(self.requests, "{request}").context("the peer takes no requests any more")?;
        let mut line = String::new();
        self.answers.read_line(&mut line).context("the peer gives no answers any more")?;
        serde_json::from_str(&line).with_context(|| format!("the peer answered {line:?}, not JSON"))
    }

    /// Asks for one guest on one host, again and again for so long.
    pub fn fit(&mut self, host: &Value, guest: &Value, seconds: f64) -> Result<PeerAnswer> {
        let request = json!({"host": host, "guest": guest, "seconds": seconds, "least": 3});
        let answer = self.ask(&request)?;
        let cell = |cell: &Value| PeerCell {
            node: cell["node"].as_u64().map_or(usize::MAX, |node| node as usize),
            cpus: numbers(&cell["cpus"]).map(|cpu| cpu as u32).collect(),
        };
        Ok(PeerAnswer {
            cells: answer["cells"].as_array().map(|cells| cells.iter().map(cell).collect()),
            usec: numbers(&answer["us"]).collect(),
        })
    }

    /// How many of the hosts fit, and the sum of the calls in microseconds.
    pub fn fit_many(&mut self, hosts: &[Value], guest: &Value) -> Result<(u64, f64)> {
        let answer = self.ask(&json!({"hosts": hosts, "guest": guest}))?;
        let fitting = answer["fitting"].as_u64().context("the peer names no number")?;
        Ok((fitting, answer["us"].as_f64().context("the peer names no time")?))
    }

    /// Closes its input, which ends it.
    pub fn end(self) -> Result<()> {
        let Self { mut child, requests, answers, .. } = self;
        drop((requests, answers));
        let status = child.wait().context("cannot wait for the peer")?;
        if !status.success() {
            bail!("the peer ended with {status}");
        }
        Ok(())
    }
}

fn numbers(value: &Value) -> impl Iterator<Item = f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64)
}
