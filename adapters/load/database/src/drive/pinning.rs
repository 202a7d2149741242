//! Where workers may run, and what the whole process has used.

use nix::sys::resource::{UsageWho, getrusage};
use numawise_model::CpuSet;
use std::io;
use std::time::Duration;

/// Keeps the calling thread on these CPUs.
pub fn pin(cpus: &CpuSet) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    for cpu in cpus.iter() {
        let cpu = cpu.0 as usize;
        if cpu >= rustix::thread::CpuSet::MAX_CPU {
            return Err(io::Error::other(format!("CPU {cpu} is beyond what can be asked for")));
        }
        set.set(cpu);
    }
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// What this process has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    pub user: Duration,
    pub system: Duration,
    pub resident_peak_bytes: Option<u64>,
}

pub fn used() -> Used {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Used::default() };
    let time = |time: nix::sys::time::TimeVal| {
        let micros = time.tv_sec() * 1_000_000 + time.tv_usec();
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    };
    Used {
        user: time(usage.user_time()),
        system: time(usage.system_time()),
        resident_peak_bytes: u64::try_from(usage.max_rss()).ok().map(|kib| kib * 1024),
    }
}
