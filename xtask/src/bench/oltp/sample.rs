//! One run of either tool: what it got done, and what it cost.

use super::cells::{Cell, Kind, Net};
use crate::process::shown;
use anyhow::{Context, Result, bail};
use numawise_testkit::servers::{DATABASE, PASSWORD, PrivateMariaDb, USER};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TABLES: &str = "--tables=4";
const ROWS: &str = "--table-size=100000";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Ours,
    Sysbench,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Transactions, or rows.
    pub per_second: f64,
    pub cpu_usec_each: f64,
    pub seconds: f64,
    pub resident_mib: f64,
}

/// What connecting and one event cost each tool.
pub struct Idle {
    ours: Duration,
    theirs: Duration,
}

pub struct Server<'a> {
    server: &'a PrivateMariaDb,
    numawise: PathBuf,
    extra: Vec<String>,
}

/// What a process has used and said.
struct Ran {
    cpu: Duration,
    wall: Duration,
    said: String,
    resident_mib: f64,
}

impl<'a> Server<'a> {
    pub fn new(server: &'a PrivateMariaDb, numawise: PathBuf, extra: Vec<String>) -> Self {
        Self { server, numawise, extra }
    }

    /// The tables that all runs share, filled by sysbench.
    pub fn fill(&self) -> Result<()> {
        let mut fill = self.sysbench(Net::Socket, "oltp_read_write");
        fill.args([TABLES, ROWS, "--threads=2", "prepare"]);
        ran(fill).map(drop)
    }

    fn sysbench(&self, net: Net, script: &str) -> Command {
        let mut command = Command::new("sysbench");
        command.args(["--db-driver=mysql", &format!("--mysql-user={USER}"), script]);
        command.args([format!("--mysql-password={PASSWORD}"), format!("--mysql-db={DATABASE}")]);
        match net {
            Net::Socket => {
                command.arg(format!("--mysql-socket={}", self.server.socket().display()))
            }
            Net::Tcp => command
                .args(["--mysql-host=127.0.0.1", &format!("--mysql-port={}", self.server.port())]),
        };
        command
    }

    fn ours(&self, net: Net, what: &[&str]) -> Command {
        let mut command = Command::new(&self.numawise);
        command.arg("oltp").args(what).arg(match net {
            Net::Socket => self.server.target(),
            Net::Tcp => self.server.tcp_target(),
        });
        command
    }

    fn run(&self, cell: &Cell, tool: Tool, span: &[String]) -> Result<Ran> {
        let (workload, net, connections) = match cell.kind {
            Kind::Run { workload, net, connections } => (workload, net, connections),
            Kind::Memory => ("point_select", Net::Socket, 1200),
            Kind::Fill { .. } => bail!("filling is no run"),
        };
        let common = [
            TABLES.to_owned(),
            ROWS.to_owned(),
            "--rand-type=uniform".to_owned(),
            format!("--threads={connections}"),
        ];
        let mut command = match tool {
            Tool::Sysbench => {
                let mut command = self.sysbench(net, &format!("oltp_{workload}"));
                command.arg("run");
                command
            }
            Tool::Ours => {
                let mut command = self.ours(net, &["run", "--json", workload]);
                command.args(&self.extra);
                command
            }
        };
        command.args(common).args(span);
        ran(command)
    }

    pub fn idle(&self, cell: &Cell) -> Result<Idle> {
        if matches!(cell.kind, Kind::Fill { .. }) {
            return Ok(Idle { ours: Duration::ZERO, theirs: Duration::ZERO });
        }
        let least = |tool| -> Result<Duration> {
            let span = ["--time=0".to_owned(), "--events=1".to_owned()];
            let mut all = (0..3)
                .map(|_| self.run(cell, tool, &span).map(|ran| ran.cpu))
                .collect::<Result<Vec<_>>>()?;
            all.sort_unstable();
            Ok(all[1])
        };
        Ok(Idle { ours: least(Tool::Ours)?, theirs: least(Tool::Sysbench)? })
    }

    pub fn sample(&self, cell: &Cell, tool: Tool, seconds: u64, idle: &Idle) -> Result<Sample> {
        if let Kind::Fill { tables, rows } = cell.kind {
            return self.sample_fill(tool, tables, rows);
        }
        let ran = self.run(cell, tool, &[format!("--time={seconds}")])?;
        let (done, elapsed) = match tool {
            Tool::Ours => ours_said(&ran.said)?,
            Tool::Sysbench => sysbench_said(&ran.said)?,
        };
        let idle = if tool == Tool::Ours { idle.ours } else { idle.theirs };
        Ok(Sample {
            per_second: done / elapsed,
            cpu_usec_each: ran.cpu.saturating_sub(idle).as_secs_f64() * 1e6 / done,
            seconds: elapsed,
            resident_mib: ran.resident_mib,
        })
    }

    /// Into tables that are not there: the shared ones make room, and are filled again by the last one.
    fn sample_fill(&self, tool: Tool, tables: u32, rows: u32) -> Result<Sample> {
        for table in 1..=4 {
            self.server.sql(&format!("DROP TABLE IF EXISTS {DATABASE}.sbtest{table}"));
        }
        let sizes =
            [format!("--tables={tables}"), format!("--table-size={rows}"), "--threads=2".into()];
        let mut command = match tool {
            Tool::Sysbench => {
                let mut command = self.sysbench(Net::Socket, "oltp_read_write");
                command.args(["--rand-type=uniform", "prepare"]);
                command
            }
            Tool::Ours => self.ours(Net::Socket, &["prepare"]),
        };
        command.args(sizes);
        let ran = ran(command)?;
        for table in 1..=tables {
            let count = self.server.sql(&format!("SELECT COUNT(*) FROM {DATABASE}.sbtest{table}"));
            if count.trim() != rows.to_string() {
                bail!("sbtest{table} has {} rows, not {rows}", count.trim());
            }
        }
        let (all, wall) = (f64::from(tables) * f64::from(rows), ran.wall.as_secs_f64());
        Ok(Sample {
            per_second: all / wall,
            cpu_usec_each: ran.cpu.as_secs_f64() * 1e6 / all,
            seconds: wall,
            resident_mib: ran.resident_mib,
        })
    }
}

/// Transactions and seconds.
fn ours_said(said: &str) -> Result<(f64, f64)> {
    let document: Value = serde_json::from_str(said).context("numawise printed no document")?;
    let measured = &document["measured"];
    let done = measured["counts"]["transactions"].as_f64().context("no transactions")?;
    let elapsed = measured["elapsed_nsec"].as_f64().context("no time")? / 1e9;
    Ok((done, elapsed))
}

fn sysbench_said(said: &str) -> Result<(f64, f64)> {
    let number = |name: &str| -> Result<f64> {
        let line = said.lines().find(|line| line.trim().starts_with(name));
        let word = line.and_then(|line| line.trim()[name.len()..].split_whitespace().next());
        let word = word.with_context(|| format!("sysbench says no {name} {said}"))?;
        word.trim_end_matches('s').parse().with_context(|| format!("{name} {word}"))
    };
    Ok((number("transactions:")?, number("total time:")?))
}

/// Runs it to its end. CPU time and memory are the kernel's word on the finished child: its own peak is read
/// while it still runs, since the kernel keeps only the greatest of all children.
fn ran(mut command: Command) -> Result<Ran> {
    let what = shown(&command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let charged = super::super::timing::children_cpu()?;
    let begun = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot start {what}"))?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let mut peak = 0.0_f64;
        while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) =
            stopped.recv_timeout(Duration::from_millis(100))
        {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
            peak = peak.max(kib.unwrap_or(0.0) / 1024.0);
        }
        peak
    });
    let output = child.wait_with_output()?;
    let wall = begun.elapsed();
    drop(stop);
    let resident_mib = watch.join().unwrap_or(0.0);
    let cpu = super::super::timing::children_cpu()?.saturating_sub(charged);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        bail!("{what} ended with {}: {said}{error}", output.status);
    }
    Ok(Ran { cpu, wall, said, resident_mib })
}
