//! How long one placement takes, and what a host costs in memory, as the fleet grows.
//!
//! The fleet is filled to three quarters first. Then each placement is timed by itself, while guests
//! drawn by lot go as others come, so that the fleet stays as full, and is as full of holes as a fleet
//! gets. The records of the guests are laid out before the memory is read, so that the
//! difference is the fleet's alone. What is timed is the CPU time of this thread.

use super::trace::{Chance, Mix};
use super::{Make, half_huge};
use anyhow::{Context, Result};
use numawise_model::{HostId, Id, PageSize, Pcpu};
use numawise_planner::fleet::{Bound, Fleet, Held, choose, groups::Allowed};
use numawise_testkit::{Numbering, Shape};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Questions to the search on one host that one placement may ask.
pub const FITS: u32 = 64;

/// What a guest holds, of a fixed size.
#[derive(Clone, Copy, Default)]
struct Record {
    host: u32,
    huge: bool,
    cpus: [u64; 4],
    pages: [u64; 8],
}

pub struct Scale {
    pub placed: usize,
    pub refused: usize,
    pub uncertain: usize,
    times: Vec<Duration>,
    pub departures: u32,
    pub departure: Duration,
    pub empty_bytes: u64,
    pub full_bytes: u64,
}

/// Two packages of four nodes, two L3 domains of eight cores each, SMT: 256 CPUs.
pub fn make() -> Make {
    Make::of(Shape {
        packages: 2,
        nodes_per_package: 4,
        l3_per_node: 2,
        cores_per_l3: 8,
        threads: 2,
        numbering: Numbering::SiblingsApart,
        node_bytes: 384 << 30,
        hugepages: half_huge(384),
    })
}

pub fn measure(hosts: usize, requests: usize, mix: Mix, seed: u64) -> Result<Scale> {
    let mut chance = Chance::new(seed);
    // Everything that is not the fleet, touched before the memory is read.
    let mut records = vec![Record { host: 1, ..Record::default() }; hosts * 128];
    records.clear();
    let mut times = vec![Duration::from_nanos(1); requests];
    times.clear();
    let before = resident_bytes()?;
    let make = make();
    let mut fleet = Fleet::new();
    for host in 0..hosts {
        fleet.add_host(HostId(format!("host-{host}")), None, &make.layout, &make.whole);
    }
    let empty_bytes = resident_bytes()?.saturating_sub(before);
    let all = hosts as u64 * 256;
    let mut used = 0;
    while used < all * 3 / 4 {
        // Some sizes fit on no node of these hosts: a refusal is no end.
        if let Some((record, threads, _)) = place(&mut fleet, &mut chance, mix) {
            records.push(record);
            used += threads;
        }
    }
    let mut scale = Scale {
        placed: 0,
        refused: 0,
        uncertain: 0,
        times: Vec::new(),
        departures: 0,
        departure: Duration::ZERO,
        empty_bytes,
        full_bytes: 0,
    };
    for _ in 0..requests {
        while used > all * 3 / 4 {
            let leaves = chance.below(records.len());
            let record = records.swap_remove(leaves);
            let held = record.held();
            used -= held.cpus.len() as u64;
            let start = own_time();
            fleet.give_back(record.host as usize, &held);
            scale.departures += 1;
            scale.departure += own_time().saturating_sub(start);
        }
        let start = own_time();
        let placed = place(&mut fleet, &mut chance, mix);
        let took = own_time().saturating_sub(start);
        times.push(took);
        match placed {
            Some((record, threads, is_best)) => {
                records.push(record);
                used += threads;
                scale.placed += 1;
                scale.uncertain += usize::from(!is_best);
            }
            None => scale.refused += 1,
        }
    }
    scale.full_bytes = resident_bytes()?.saturating_sub(before);
    times.sort_unstable();
    scale.times = times;
    Ok(scale)
}

fn place(fleet: &mut Fleet, chance: &mut Chance, mix: Mix) -> Option<(Record, u64, bool)> {
    let size = chance.size(mix);
    let wanted = size.wanted();
    let mut never = || false;
    let mut bound = Bound::new(FITS, &mut never);
    let choice = choose(fleet, &wanted, &Allowed::default(), &mut bound).ok()?;
    let held = Held::of(&choice.fit, fleet.layout(choice.host), &wanted);
    fleet.take(choice.host, &held);
    let mut record = Record { host: choice.host as u32, huge: size.huge, ..Record::default() };
    for cpu in held.cpus.iter() {
        record.cpus[cpu.get() as usize / 64] |= 1 << (cpu.get() % 64);
    }
    for (_, pool, pages) in &held.pages {
        record.pages[*pool] += pages;
    }
    Some((record, held.cpus.len() as u64, choice.is_best))
}

impl Record {
    fn held(&self) -> Held {
        let size = if self.huge { PageSize::HUGE_2M } else { PageSize::BASE_4K };
        let cpus = (0..256u32).filter(|cpu| self.cpus[*cpu as usize / 64] & (1 << (cpu % 64)) != 0);
        let pages = (0..8).filter(|pool| self.pages[*pool] > 0);
        Held {
            cpus: cpus.map(Pcpu::new).collect(),
            pages: pages.map(|pool| (size, pool, self.pages[pool])).collect(),
        }
    }
}

impl Scale {
    pub fn at(&self, share: f64) -> Duration {
        let index = (self.times.len() as f64 * share) as usize;
        self.times.get(index.min(self.times.len().saturating_sub(1))).copied().unwrap_or_default()
    }

    pub fn per_second(&self) -> f64 {
        let all: Duration = self.times.iter().sum();
        self.times.len() as f64 / all.as_secs_f64()
    }
}

/// The CPU time of this thread: what others do on the machine is no part of a placement.
pub fn own_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// The pages that the kernel counts as ours.
fn resident_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    Ok(kib.context("/proc/self/status has no VmRSS")? * 1024)
}
