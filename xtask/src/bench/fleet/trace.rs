//! Requests as private clouds have them: many small guests, few large ones that matter, lifetimes
//! with a heavy tail. The same seed gives the same trace.

use anyhow::{Context, Result, bail};
use numawise_model::{L3Policy, PageSize, SmtPolicy};
use numawise_planner::fit::{Cells, Parting, Wanted};
use serde_json::Value;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mix {
    Web,
    Db,
    Mixed,
}

pub const MIXES: [Mix; 3] = [Mix::Web, Mix::Db, Mix::Mixed];

/// One guest that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    pub vcpus: u32,
    pub memory_mib: u64,
    pub huge: bool,
    /// 0 prefer, 1 require, 2 isolate.
    pub smt: u8,
    pub cells: u32,
}

#[derive(Clone, Copy, Debug)]
pub enum Event {
    Arrive { id: usize, size: Size },
    Depart { id: usize },
}

#[derive(Clone, Debug)]
pub struct Trace {
    pub name: String,
    pub events: Vec<Event>,
}

impl Mix {
    /// vCPUs, their weights, GiB to a vCPU.
    fn numbers(self) -> (&'static [u32], &'static [u32], &'static [u64]) {
        match self {
            Self::Web => (&[2, 4, 8, 16, 32], &[35, 35, 20, 8, 2], &[2, 4]),
            Self::Db => (&[8, 12, 16, 24, 32, 48, 64], &[25, 10, 25, 15, 15, 7, 3], &[4, 8]),
            Self::Mixed => {
                (&[2, 4, 8, 12, 16, 24, 32, 48, 64], &[22, 24, 20, 6, 13, 5, 6, 3, 1], &[2, 4, 8])
            }
        }
    }
}

/// A small generator (splitmix64): the traces must not change with a crate's version.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    /// In (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    fn log_normal(&mut self, mu: f64, sigma: f64) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.unit()).cos();
        (mu + sigma * normal).exp()
    }

    pub fn weighted<T: Copy>(&mut self, values: &[T], weights: &[u32]) -> T {
        let all: u32 = weights.iter().sum();
        let mut at = self.below(all as usize) as u32;
        for (value, weight) in values.iter().zip(weights) {
            if at < *weight {
                return *value;
            }
            at -= weight;
        }
        values[0]
    }

    pub fn size(&mut self, mix: Mix) -> Size {
        let (sizes, weights, gib) = mix.numbers();
        let vcpus = self.weighted(sizes, weights);
        let memory_mib = u64::from(vcpus) * gib[self.below(gib.len())] * 1024;
        let huge = self.below(2) == 1;
        let smt = self.weighted(&[0, 1, 2], &[80, 15, 5]);
        Size { vcpus, memory_mib, huge, smt, cells: if vcpus <= 32 { 1 } else { 2 } }
    }
}

pub fn make(mix: Mix, seed: u64, arrivals: usize) -> Trace {
    let mut chance = Chance::new(seed);
    let mut timed = Vec::new();
    let mut now = 0.0;
    for id in 0..arrivals {
        now += chance.exponential(30.0);
        let size = chance.size(mix);
        timed.push((now, 1, id, Event::Arrive { id, size }));
        timed.push((now + chance.log_normal(9.5, 1.6), 0, id, Event::Depart { id }));
    }
    timed.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let name = format!("{mix:?} {seed}").to_lowercase();
    Trace { name, events: timed.into_iter().map(|(.., event)| event).collect() }
}

/// A trace from a file: a JSON object a line, with `op`, `id`, and for an arrival `vcpus`,
/// `memory_mib`, `page_kib`, `smt`, `cells`.
pub fn read(path: &Path) -> Result<Trace> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut events = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let event = event(text).with_context(|| format!("{}, line {line}", path.display()))?;
        events.push(event);
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Trace { name, events })
}

fn event(text: &str) -> Result<Event> {
    let value: Value = serde_json::from_str(text)?;
    let number = |key: &str| value[key].as_u64().with_context(|| format!("no number '{key}'"));
    let id = number("id")? as usize;
    match value["op"].as_str() {
        Some("depart") => Ok(Event::Depart { id }),
        Some("arrive") => {
            let smt = match value["smt"].as_str() {
                Some("prefer") => 0,
                Some("require") => 1,
                Some("isolate") => 2,
                other => bail!("smt {other:?} is none of prefer, require, isolate"),
            };
            let size = Size {
                vcpus: number("vcpus")? as u32,
                memory_mib: number("memory_mib")?,
                huge: number("page_kib")? == 2048,
                smt,
                cells: number("cells")? as u32,
            };
            Ok(Event::Arrive { id, size })
        }
        other => bail!("op {other:?} is neither arrive nor depart"),
    }
}

impl Size {
    pub fn smt_policy(self) -> SmtPolicy {
        match self.smt {
            0 => SmtPolicy::Prefer,
            1 => SmtPolicy::Require,
            _ => SmtPolicy::Isolate,
        }
    }

    pub fn page_size(self) -> PageSize {
        if self.huge { PageSize::HUGE_2M } else { PageSize::BASE_4K }
    }

    pub fn wanted(self) -> Wanted {
        let page_size = self.page_size();
        Wanted {
            vcpus: self.vcpus,
            pages: (self.memory_mib << 20) / page_size.bytes(),
            page_size,
            smt: self.smt_policy(),
            l3: L3Policy::Compact,
            cells: Cells::Count(self.cells, Parting::EvenFirst),
            emulator_cpus: 0,
            devices: Vec::new(),
        }
    }
}
