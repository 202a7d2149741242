//! Per-CPU counters from `/proc/stat`.

use crate::error::ReadError;
use crate::root::{DirectoryRoot, Reader, Root};
use numawise_engine::usage::{CpuTicks, UsageSample};
use numawise_model::{MAX_ID, Pcpu};
use std::collections::BTreeMap;
use std::path::Path;

const STAT: &str = "proc/stat";

/// Reads the counters under a root, `/` for the live machine.
pub fn read_usage(root: &Path, now_unix_sec: i64) -> Result<UsageSample, ReadError> {
    let root = Root::Directory(DirectoryRoot::open(root)?);
    let mut reader = Reader::new(&root);
    match reader.text(STAT)? {
        Some(text) => parse_stat(text, now_unix_sec),
        None => Err(ReadError::NotFound { path: STAT.to_owned() }),
    }
}

/// Busy is everything but `idle` and `iowait`. A guest's time is already in `user` and `nice`, so
/// the columns after `steal` are not added again.
pub fn parse_stat(text: &str, now_unix_sec: i64) -> Result<UsageSample, ReadError> {
    let mut cpus = BTreeMap::new();
    let mut boot_unix_sec = None;
    for line in text.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "btime" {
            boot_unix_sec = rest.trim().parse::<i64>().ok();
            if boot_unix_sec.is_none() {
                return Err(ReadError::value(STAT, line, "the time of boot"));
            }
        } else if let Some(number) = word.strip_prefix("cpu").filter(|number| !number.is_empty()) {
            let cpu = number.parse::<u32>().ok().filter(|number| *number <= MAX_ID);
            let (Some(cpu), Some(ticks)) = (cpu, ticks(rest)) else {
                return Err(ReadError::value(STAT, line, "a CPU and its counters"));
            };
            cpus.insert(Pcpu(cpu), ticks);
        }
    }
    let Some(boot_unix_sec) = boot_unix_sec else {
        return Err(ReadError::value(STAT, "", "a line with btime"));
    };
    if cpus.is_empty() {
        return Err(ReadError::value(STAT, "", "a line for each CPU"));
    }
    Ok(UsageSample { at_unix_sec: now_unix_sec, boot_unix_sec, cpus })
}

/// `user nice system idle iowait irq softirq steal ...`; the oldest kernels end after `idle`.
fn ticks(text: &str) -> Option<CpuTicks> {
    let columns: Option<Vec<u64>> =
        text.split_ascii_whitespace().take(8).map(|word| word.parse().ok()).collect();
    let columns = columns.filter(|columns| columns.len() >= 4)?;
    let total = columns.iter().try_fold(0_u64, |sum, ticks| sum.checked_add(*ticks))?;
    // Absent means that this kernel counts waiting for disks as idle, in the column before.
    let waiting = columns.get(4).copied().unwrap_or(0);
    let idle = columns[3].checked_add(waiting)?;
    Some(CpuTicks { busy: total.checked_sub(idle)?, total })
}

#[cfg(test)]
mod tests {
    use super::parse_stat;
    use numawise_engine::usage::CpuTicks;
    use numawise_model::Pcpu;

    #[test]
    fn counters_are_summed_without_guest_time() {
        let text = "cpu  10 0 10 80 5 0 0 0 7 0\ncpu0 10 1 2 80 5 3 4 6 7 1\ncpu17 1 2 3 4\n\
                    intr 5 0 0\nbtime 1700000000\nctxt 3\n";
        let sample = parse_stat(text, 1_700_000_100).expect("well formed");
        assert_eq!((sample.at_unix_sec, sample.boot_unix_sec), (1_700_000_100, 1_700_000_000));
        // 10+1+2+3+4+6 busy; 80+5 idle.
        assert_eq!(sample.cpus[&Pcpu(0)], CpuTicks { busy: 26, total: 111 });
        assert_eq!(sample.cpus[&Pcpu(17)], CpuTicks { busy: 6, total: 10 });
        assert_eq!(sample.cpus.len(), 2);
    }

    #[test]
    fn nonsense_is_named() {
        let cases = [
            ("cpu0 1 2 3 4\n", "btime"),
            ("cpu0 1 2 x 4\nbtime 1\n", "cpu0 1 2 x 4"),
            ("cpu0 1 2\nbtime 1\n", "cpu0 1 2"),
            ("cpu9999999 1 2 3 4\nbtime 1\n", "cpu9999999"),
            ("btime soon\n", "btime soon"),
            ("", "btime"),
        ];
        for (text, named) in cases {
            let error = parse_stat(text, 0).expect_err(text).to_string();
            assert!(error.contains("proc/stat") && error.contains(named), "{error}");
        }
    }
}
