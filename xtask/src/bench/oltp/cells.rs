//! What is measured, and what it should come to.

use super::sample::Sample;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Net {
    Socket,
    Tcp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Run {
        workload: &'static str,
        net: Net,
        connections: u32,
    },
    /// So many tables of so many rows, by two threads.
    Fill {
        tables: u32,
        rows: u32,
    },
    /// Resident memory with 1,200 connections.
    Memory,
}

#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub kind: Kind,
    cpu_at_most: Option<f64>,
    throughput: Option<Goal>,
}

/// Held against the ratio of ours to sysbench's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    AtMost(f64),
    /// The lower bound of the interval.
    LowAtLeast(f64),
    /// The median, and the lower bound above 1.
    MedianAtLeast(f64),
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(limit) => write!(f, "<= {limit}"),
            Self::LowAtLeast(limit) => write!(f, "low >= {limit}"),
            Self::MedianAtLeast(limit) => write!(f, ">= {limit}, low > 1"),
        }
    }
}

pub struct FigureOf {
    pub name: &'static str,
    pub value: fn(&Sample) -> f64,
    pub goal: Goal,
}

impl Cell {
    /// `point_select tcp 64`, `fill 4 x 1000000`, `memory 1200`.
    pub fn name(&self) -> String {
        match self.kind {
            Kind::Run { workload, net, connections } => {
                let net = if net == Net::Socket { "socket" } else { "tcp" };
                format!("{workload} {net} {connections}")
            }
            Kind::Fill { tables, rows } => format!("fill {tables} x {rows}"),
            Kind::Memory => "memory 1200".to_owned(),
        }
    }

    pub fn figures(&self) -> Vec<FigureOf> {
        let mut figures = Vec::new();
        if let Some(limit) = self.cpu_at_most {
            let value = |sample: &Sample| sample.cpu_usec_each;
            figures.push(FigureOf { name: "client us each", value, goal: Goal::AtMost(limit) });
        }
        if let Some(goal) = self.throughput {
            let value = |sample: &Sample| sample.per_second;
            figures.push(FigureOf { name: "per second", value, goal });
        }
        match self.kind {
            Kind::Run { .. } => {}
            Kind::Fill { tables, .. } => {
                let goal = Goal::AtMost(if tables == 1 { 0.6 } else { 0.85 });
                let value = |sample: &Sample| sample.seconds;
                figures.push(FigureOf { name: "seconds", value, goal });
            }
            Kind::Memory => {
                let value = |sample: &Sample| sample.resident_mib;
                figures.push(FigureOf { name: "resident MiB", value, goal: Goal::AtMost(0.25) });
            }
        }
        figures
    }
}

pub fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    for net in [Net::Socket, Net::Tcp] {
        for (connections, cpu) in [(1, 0.9), (16, 0.9), (64, 0.6), (256, 0.42)] {
            let throughput = match connections {
                1 | 16 => Goal::LowAtLeast(0.95),
                _ => Goal::MedianAtLeast(1.1),
            };
            let kind = Kind::Run { workload: "point_select", net, connections };
            cells.push(Cell { kind, cpu_at_most: Some(cpu), throughput: Some(throughput) });
        }
    }
    for (connections, cpu) in [(16, 0.7), (64, 0.5)] {
        let kind = Kind::Run { workload: "read_write", net: Net::Socket, connections };
        cells.push(Cell { kind, cpu_at_most: Some(cpu), throughput: None });
    }
    let plain = |kind| Cell { kind, cpu_at_most: None, throughput: None };
    cells.push(plain(Kind::Memory));
    cells.push(plain(Kind::Fill { tables: 4, rows: 1_000_000 }));
    cells.push(plain(Kind::Fill { tables: 1, rows: 4_000_000 }));
    cells
}
