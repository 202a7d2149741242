//! What a host's kernel does beside its guests, read apart from the host itself: nobody plans on it,
//! and on a large host it is many files.
//!
//! No fact stands in another's way: each is read, or has the reason why it is not. A capture that
//! holds them has a note of the interrupts that the kernel keeps where they are, since an archive
//! has no file modes to tell it by; the note also says that what is missing was missing on the host.

mod interrupts;
mod kernel_threads;

use crate::error::ReadError;
use crate::root::Reader;
use crate::source::Source;
use numawise_model::{CpuSet, Ksm, Surroundings, Unread};

pub use interrupts::{INTERRUPTS, essential_interrupts};
pub use kernel_threads::essential_process_file;

/// The note of a capture: the numbers of interrupts that the kernel keeps where they are.
pub const MANAGED: &str = "numawise/kernel-managed-interrupts";
const WORKQUEUES: &str = "sys/devices/virtual/workqueue/cpumask";
const KSM_RUN: &str = "sys/kernel/mm/ksm/run";
const KSM_ACROSS: &str = "sys/kernel/mm/ksm/merge_across_nodes";
const ZONE_RECLAIM: &str = "proc/sys/vm/zone_reclaim_mode";
const NUMA_BALANCING: &str = "proc/sys/kernel/numa_balancing";

/// Reads what a source has. Descriptions of a host in one file hold none of it.
pub fn read_surroundings(source: &Source) -> Result<Surroundings, ReadError> {
    match source {
        Source::HwlocXml { .. } | Source::LibvirtCapabilities { .. } => {
            Ok(Surroundings::unread(&Unread::NotInCapture))
        }
        Source::Live | Source::Directory(_) | Source::Archive { .. } => {
            let root = source.root()?;
            Ok(read(&mut Reader::new(&root)))
        }
    }
}

pub fn read(reader: &mut Reader<'_>) -> Surroundings {
    // A note that makes no sense is as good as none: captures of others have none either.
    let noted = reader.text(MANAGED).ok().flatten().map(parse_managed);
    let missing = match reader.is_live() || noted.is_some() {
        true => Unread::NotOnHost,
        false => Unread::NotInCapture,
    };
    let workqueues = reader.mask(WORKQUEUES);
    let ksm = ksm(reader);
    let zone_reclaim = small_number(reader, ZONE_RECLAIM);
    let balancing = small_number(reader, NUMA_BALANCING);
    Surroundings {
        interrupts: interrupts::read(reader, noted.as_deref()),
        kernel_threads: kernel_threads::read(reader),
        workqueue_cpus: fact::<CpuSet>(workqueues, &missing),
        ksm: fact(ksm, &missing),
        zone_reclaim_mode: fact(zone_reclaim, &missing),
        numa_balancing: fact(balancing, &missing),
    }
}

/// The note for a capture.
pub fn managed_note(surroundings: &Surroundings) -> String {
    let managed = surroundings.interrupts.iter().flatten().filter(|i| i.kernel_managed);
    let numbers: Vec<String> = managed.map(|interrupt| interrupt.number.to_string()).collect();
    format!("Managed: {}\n", numbers.join(" "))
}

fn parse_managed(text: &str) -> Vec<u32> {
    text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn ksm(reader: &mut Reader<'_>) -> Result<Option<Ksm>, ReadError> {
    let Some(run) = small_number(reader, KSM_RUN)? else { return Ok(None) };
    let across = small_number(reader, KSM_ACROSS)?;
    // 2 takes merged pages apart again, and merges none.
    Ok(Some(Ksm { is_running: run == 1, merges_across_nodes: across.map(|value| value != 0) }))
}

fn small_number(reader: &mut Reader<'_>, path: &str) -> Result<Option<u32>, ReadError> {
    let Some(text) = reader.text(path)? else { return Ok(None) };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(ReadError::value(path, text, "a small number")),
    }
}

fn fact<T>(read: Result<Option<T>, ReadError>, missing: &Unread) -> Result<T, Unread> {
    match read {
        Ok(found) => found.ok_or_else(|| missing.clone()),
        Err(error) => Err(unread(error)),
    }
}

fn unread(error: ReadError) -> Unread {
    match error {
        ReadError::BadValue { file, value, wanted } => Unread::Nonsense { file, value, wanted },
        ReadError::BadSet { file, source } => {
            Unread::Nonsense { file, value: source.to_string(), wanted: "a set of CPUs" }
        }
        ReadError::Io { path, source } => {
            Unread::Unreadable { file: path, why: source.to_string() }
        }
        other => Unread::Unreadable { file: String::new(), why: other.to_string() },
    }
}
