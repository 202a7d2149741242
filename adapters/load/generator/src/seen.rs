//! What stands beside a run on this machine: CPU time of servers, time that the hypervisor took away,
//! and the busiest disk.

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use procfs::process::Process;
use procfs::{Current, CurrentSI, DiskStats, KernelStats};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Counters at the beginning.
pub struct CpuWatch {
    begun: Instant,
    kernel: Option<CpuTime>,
    servers: Vec<(u32, Option<Duration>)>,
    disks: BTreeMap<String, u64>,
}

/// What the counters had grown by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// Of all CPU time, what the hypervisor gave to somebody else.
    pub steal: Option<f64>,
    /// Of all CPU time, what was not idle.
    pub busy: Option<f64>,
    /// CPU time of each server that was looked at and is still there.
    pub servers: BTreeMap<u32, Duration>,
    /// Of the time, how long the busiest disk had work.
    pub disk_use: Option<f64>,
}

#[derive(Clone, Copy)]
struct CpuTime {
    all: u64,
    idle: u64,
    steal: u64,
}

impl CpuWatch {
    /// With the processes of servers on this machine.
    pub fn begin(servers: &[u32]) -> Self {
        Self {
            begun: Instant::now(),
            kernel: cpu_time(),
            servers: servers.iter().map(|pid| (*pid, process_time(*pid))).collect(),
            disks: disk_times(),
        }
    }

    pub fn end(self) -> Beside {
        let took = self.begun.elapsed();
        let grown = self.kernel.zip(cpu_time()).map(|(before, after)| CpuTime {
            all: after.all.saturating_sub(before.all),
            idle: after.idle.saturating_sub(before.idle),
            steal: after.steal.saturating_sub(before.steal),
        });
        let share = |part: fn(&CpuTime) -> u64| {
            let grown = grown.filter(|grown| grown.all > 0)?;
            Some(part(&grown) as f64 / grown.all as f64)
        };
        let servers = self
            .servers
            .iter()
            .filter_map(|(pid, before)| Some((*pid, process_time(*pid)?.checked_sub((*before)?)?)));
        let disks = disk_times();
        let busiest = self
            .disks
            .iter()
            .filter_map(|(name, before)| disks.get(name)?.checked_sub(*before))
            .max();
        let msec = took.as_secs_f64() * 1e3;
        Beside {
            steal: share(|grown| grown.steal),
            busy: share(|grown| grown.all.saturating_sub(grown.idle)),
            servers: servers.collect(),
            disk_use: busiest.filter(|_| msec > 0.0).map(|used| (used as f64 / msec).min(1.0)),
        }
    }
}

fn cpu_time() -> Option<CpuTime> {
    let total = KernelStats::current().ok()?.total;
    let idle = total.idle + total.iowait.unwrap_or(0);
    let steal = total.steal.unwrap_or(0);
    let other = total.irq.unwrap_or(0) + total.softirq.unwrap_or(0);
    Some(CpuTime {
        all: total.user + total.nice + total.system + idle + steal + other,
        idle,
        steal,
    })
}

fn process_time(pid: u32) -> Option<Duration> {
    let stat = Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
    let ticks = stat.utime + stat.stime;
    let per_second = procfs::ticks_per_second().max(1);
    Some(Duration::from_secs_f64(ticks as f64 / per_second as f64))
}

/// How long each disk had work, in milliseconds since the machine started. Partitions and loops are parts of
/// other disks.
fn disk_times() -> BTreeMap<String, u64> {
    let Ok(DiskStats(disks)) = DiskStats::current() else { return BTreeMap::new() };
    disks
        .into_iter()
        .filter(|disk| !disk.name.starts_with("loop") && !disk.name.starts_with("ram"))
        .map(|disk| (disk.name, disk.time_in_progress))
        .collect()
}

/// User and system time: of this process, or of all its children that have ended and were waited for.
pub(crate) fn used(who: UsageWho) -> (Duration, Duration) {
    let time = |value: TimeVal| {
        let part = |number: i64| u64::try_from(number).unwrap_or(0);
        Duration::from_micros(part(value.tv_sec()) * 1_000_000 + part(value.tv_usec()))
    };
    let both = |usage: Usage| (time(usage.user_time()), time(usage.system_time()));
    getrusage(who).map_or((Duration::ZERO, Duration::ZERO), both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_works_is_seen_to_work() {
        let watch = CpuWatch::begin(&[std::process::id(), u32::MAX]);
        let begun = Instant::now();
        let mut sum = 0_u64;
        while begun.elapsed() < Duration::from_millis(300) {
            sum = std::hint::black_box(sum.wrapping_mul(31) + 7);
        }
        let beside = watch.end();
        let used = beside.servers.get(&std::process::id()).expect("this process");
        assert!(*used >= Duration::from_millis(20), "{used:?}");
        assert!(!beside.servers.contains_key(&u32::MAX));
        assert!(beside.busy > Some(0.0) && beside.busy <= Some(1.0), "{beside:?}");
        assert!(beside.steal.is_none_or(|steal| (0.0..=1.0).contains(&steal)), "{beside:?}");
    }
}
