//! The kernel's own threads that somebody can move.
//!
//! Two flags in `/proc/PID/stat` tell them: a thread of the kernel, and one that nobody may move
//! (those of one CPU, such as `ksoftirqd/3` and `kworker/3:1`, and the workers of unbound
//! workqueues, whose place is the workqueues' mask). A container sees no thread of the kernel.

use super::unread;
use crate::error::ReadError;
use crate::root::Reader;
use numawise_model::{KernelThread, Unread, parse_list};

/// `PF_KTHREAD` and `PF_NO_SETAFFINITY` of the kernel's `sched.h`; unchanged since 2.6.36 and 3.10.
const IS_KERNEL: u64 = 0x0020_0000;
const STAYS: u64 = 0x0400_0000;

/// The thread that starts all the others, on every kernel since 2.6.
const KTHREADD: u32 = 2;
const CPUS: &str = "Cpus_allowed_list:";

pub fn read(reader: &mut Reader<'_>) -> Result<Vec<KernelThread>, Unread> {
    let unseen = match reader.is_live() {
        true => Unread::Unreadable {
            file: stat_file(KTHREADD),
            why: "no thread of the kernel is to be seen from here".to_owned(),
        },
        false => Unread::NotInCapture,
    };
    let first = reader.unrecorded(|reader| flags_of(reader, KTHREADD)).map_err(unread)?;
    if first.is_none_or(|(flags, _)| flags & IS_KERNEL == 0) {
        return Err(unseen);
    }
    let pids = reader.numbers("proc").map_err(unread)?.ok_or(unseen)?;
    let mut threads = Vec::new();
    for pid in pids {
        // Only what is kept is remembered for a capture: who else runs here is nobody's business.
        // The name of a process may be anything, also no text: a kernel thread's is text.
        let found = reader.unrecorded(|reader| flags_of(reader, pid));
        let Ok(Some((flags, name))) = found else { continue };
        if flags & IS_KERNEL != 0 && flags & STAYS == 0 {
            reader.text(&stat_file(pid)).map_err(unread)?;
            threads.extend(thread(reader, pid, name).map_err(unread)?);
        }
    }
    Ok(threads)
}

fn stat_file(pid: u32) -> String {
    format!("proc/{pid}/stat")
}

fn flags_of(reader: &mut Reader<'_>, pid: u32) -> Result<Option<(u64, String)>, ReadError> {
    let path = stat_file(pid);
    let Some(text) = reader.text(&path)? else { return Ok(None) };
    let parsed = parse_stat(text);
    let wrong = || ReadError::value(&path, text, "a name in brackets and numbers");
    parsed.map(Some).ok_or_else(wrong)
}

/// `2 (kthreadd) S 0 0 0 0 -1 2129984 ...`: the name may hold blanks and brackets.
fn parse_stat(text: &str) -> Option<(u64, String)> {
    let (head, rest) = text.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let flags = rest.split_ascii_whitespace().nth(6)?.parse().ok()?;
    Some((flags, name.to_owned()))
}

/// `None` when it has ended.
fn thread(
    reader: &mut Reader<'_>,
    pid: u32,
    name: String,
) -> Result<Option<KernelThread>, ReadError> {
    let path = format!("proc/{pid}/status");
    let Some(text) = reader.text(&path)? else { return Ok(None) };
    let Some(list) = text.lines().find_map(|line| line.strip_prefix(CPUS)) else {
        return Err(ReadError::value(&path, "", "a line Cpus_allowed_list"));
    };
    let cpus = parse_list(list.trim());
    let cpus = cpus.map_err(|source| ReadError::BadSet { file: path.clone(), source })?;
    Ok(Some(KernelThread { pid, name, cpus }))
}

/// Of `proc/PID/stat` and `proc/PID/status`, what is read; `None` for other files.
pub fn essential_process_file(path: &str, text: &str) -> Option<String> {
    let (pid, file) = path.strip_prefix("proc/")?.split_once('/')?;
    pid.parse::<u32>().ok()?;
    match file {
        "stat" => {
            let (head, rest) = text.rsplit_once(')')?;
            let words: Vec<&str> = rest.split_ascii_whitespace().take(7).collect();
            Some(format!("{head}) {}\n", words.join(" ")))
        }
        "status" => {
            let wanted = |line: &&str| line.starts_with("Name:") || line.starts_with(CPUS);
            Some(text.lines().filter(wanted).map(|line| format!("{line}\n")).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{IS_KERNEL, STAYS, essential_process_file, parse_stat};

    #[test]
    fn flags_stand_behind_the_last_bracket() {
        let text = "20 (cpu (x) hp/1) S 2 0 0 0 -1 69238848 0 0 0";
        let (flags, name) = parse_stat(text).expect("well formed");
        assert_eq!((flags, &*name), (69_238_848, "cpu (x) hp/1"));
        assert!(flags & IS_KERNEL != 0 && flags & STAYS != 0);
        assert!(parse_stat("20 (cut").is_none() && parse_stat("20 (x) S 2").is_none());
    }

    #[test]
    fn the_essential_part_reads_the_same() {
        let stat = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 17\n";
        let kept = essential_process_file("proc/2/stat", stat).expect("a stat file");
        assert_eq!(kept, "2 (kthreadd) S 0 0 0 0 -1 2129984\n");
        assert_eq!(parse_stat(&kept), parse_stat(stat));
        let status = "Name:\tkthreadd\nVmPeak:\t1 kB\nCpus_allowed_list:\t0-1\n";
        let kept = essential_process_file("proc/2/status", status).expect("a status file");
        assert_eq!(kept, "Name:\tkthreadd\nCpus_allowed_list:\t0-1\n");
        assert_eq!(essential_process_file("proc/self/status", status), None);
        assert_eq!(essential_process_file("proc/2/environ", status), None);
    }
}
