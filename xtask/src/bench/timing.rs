//! Running a command and reading the clock before and after.
//!
//! Wall time is from before the spawn to after the wait: what a user waits for. CPU time is the
//! difference of what the kernel has charged to our finished children, which is exact as long as
//! one child runs at a time.

use crate::process::shown;
use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub wall: Duration,
    /// User and system time.
    pub cpu: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    pub ours: Sample,
    pub peer: Sample,
}

/// Runs both commands `runs` times in turn, after one unrecorded run of each that warms the cache.
pub fn interleaved(
    runs: usize,
    seed: u64,
    ours: &dyn Fn() -> Command,
    peer: &dyn Fn() -> Command,
) -> Result<Vec<Pair>> {
    time(ours())?;
    time(peer())?;
    let mut coin = Coin(seed);
    (0..runs)
        .map(|_| {
            if coin.toss() {
                let ours = time(ours())?;
                Ok(Pair { ours, peer: time(peer())? })
            } else {
                let peer = time(peer())?;
                Ok(Pair { ours: time(ours())?, peer })
            }
        })
        .collect()
}

fn time(mut command: Command) -> Result<Sample> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let charged = children_cpu()?;
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {}", shown(&command)))?;
    let wall = start.elapsed();
    let cpu = children_cpu()?.saturating_sub(charged);
    if !status.success() {
        bail!("{} ended with {status}", shown(&command));
    }
    Ok(Sample { wall, cpu })
}

pub fn children_cpu() -> Result<Duration> {
    let usage =
        getrusage(UsageWho::RUSAGE_CHILDREN).context("the kernel gives no resource usage")?;
    let mut sum = Duration::ZERO;
    for spent in [usage.user_time(), usage.system_time()] {
        let micros = spent.tv_sec() * 1_000_000 + spent.tv_usec();
        sum += Duration::from_micros(u64::try_from(micros).context("negative CPU time")?);
    }
    Ok(sum)
}

/// SplitMix64: a few lines, and the same order for the same seed everywhere.
pub struct Coin(pub u64);

impl Coin {
    pub fn toss(&mut self) -> bool {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &'static str) -> impl Fn() -> Command {
        move || {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        }
    }

    #[test]
    fn sleeping_costs_wall_time_and_working_costs_cpu_time() {
        let sleep = shell("sleep 0.05");
        let work = shell("i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done");
        let pairs = interleaved(1, 7, &sleep, &work).expect("sh is there");
        assert!(pairs[0].ours.wall >= Duration::from_millis(50), "{pairs:?}");
        assert!(pairs[0].ours.cpu < pairs[0].peer.cpu, "{pairs:?}");
    }

    #[test]
    fn a_command_that_fails_is_not_a_measurement() {
        let error = interleaved(1, 7, &shell("exit 2"), &shell("true")).expect_err("it failed");
        assert_eq!(error.to_string(), "sh -c exit 2 ended with exit status: 2");
    }

    #[test]
    fn a_seed_gives_one_order_and_both_sides_begin_about_as_often() {
        let order = |seed| {
            let mut coin = Coin(seed);
            (0..1000).map(|_| coin.toss()).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let first = order(1).into_iter().filter(|ours| *ours).count();
        assert!((450..=550).contains(&first), "{first} of 1000");
    }
}
