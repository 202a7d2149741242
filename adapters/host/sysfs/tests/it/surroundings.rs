//! What the kernel does beside its guests: read from a folder, from its capture, and from the live
//! machine; absent, unreadable and nonsense told apart.

use crate::scene::files;
use numawise_model::{CpuSet, KernelFact, Ksm, Surroundings, Unread, parse_list};
use numawise_sysfs::{Source, capture_bytes, open, read_surroundings};
use numawise_testkit::sysfs_tree::{Files, write_files};
use std::io::Read;

const INTERRUPTS: &str = "            CPU0       CPU1\n\
    \x20  0:         45          0  IO-APIC   2-edge      timer\n\
    \x20 24:          0          0  IO-APIC   5-edge      ACPI:Ged\n\
    \x20 36:          0    3767243 PCI-MSIX-0000:00:02.0   1-edge      nvme0q2\n\
    \x20 98:          3          4 PCI-MSIX-0000:41:00.0   1-edge      eth0-TxRx-0\n\
    \x20NMI:          7          8   Non-maskable interrupts\n\
    \x20ERR:          0\n";

/// `PF_KTHREAD`, with and without `PF_NO_SETAFFINITY`, and a process of somebody's.
const KERNEL: u64 = 0x0020_8040;
const STAYS: u64 = 0x0420_8040;
const OTHERS: u64 = 0x0040_0100;

fn process(files: &mut Files, pid: u32, name: &str, flags: u64, cpus: &str) {
    let stat = format!("{pid} ({name}) S 2 0 0 0 -1 {flags} 0 0 0 0 SECRETtimes\n");
    files.insert(format!("proc/{pid}/stat"), stat);
    let status = format!("Name:\t{name}\nSECRET:\t1\nCpus_allowed_list:\t{cpus}\n");
    files.insert(format!("proc/{pid}/status"), status);
}

fn machine() -> Files {
    let mut files = files(&[
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_cpus", "1\n"),
        ("sys/devices/system/cpu/cpu1/topology/core_cpus", "2\n"),
        ("sys/devices/virtual/workqueue/cpumask", "3\n"),
        ("sys/kernel/mm/ksm/run", "1\n"),
        ("sys/kernel/mm/ksm/merge_across_nodes", "0\n"),
        ("proc/sys/vm/zone_reclaim_mode", "1\n"),
        ("proc/sys/kernel/numa_balancing", "2\n"),
        ("proc/interrupts", INTERRUPTS),
        ("proc/irq/36/smp_affinity_list", "1\n"),
        ("proc/irq/36/effective_affinity_list", "1\n"),
        ("proc/irq/98/smp_affinity_list", "0-1\n"),
        ("proc/irq/98/effective_affinity_list", "0\n"),
    ]);
    process(&mut files, 2, "kthreadd", KERNEL, "0-1");
    process(&mut files, 15, "cpuhp/1", STAYS, "1");
    process(&mut files, 40, "kswapd0 (old)", KERNEL, "0");
    process(&mut files, 900, "SECRETprocess", OTHERS, "0-1");
    files
}

fn set(list: &str) -> CpuSet {
    parse_list(list).expect("a list written in a test")
}

fn read(files: &Files) -> Surroundings {
    let directory = tempfile::tempdir().expect("a temporary directory");
    write_files(files, directory.path()).expect("written");
    read_surroundings(&open(directory.path()).expect("a directory")).expect("read")
}

fn expect_machine(found: &Surroundings, how: &str) {
    let interrupts = found.interrupts.as_ref().expect(how);
    let seen: Vec<(u32, u64, &str, Option<CpuSet>, bool)> = interrupts
        .iter()
        .map(|i| (i.number, i.fired, &*i.name, i.effective.clone(), i.kernel_managed))
        .collect();
    // 24 never came; 0 has no files; the disk's queue is the kernel's to place.
    let wanted = [
        (0, 45, "timer", None, false),
        (36, 3_767_243, "nvme0q2", Some(set("1")), true),
        (98, 7, "eth0-TxRx-0", Some(set("0")), false),
    ];
    assert_eq!(seen, wanted, "{how}");
    assert_eq!(interrupts[2].allowed, Some(set("0-1")), "{how}");
    let threads = found.kernel_threads.as_ref().expect(how);
    let seen: Vec<(u32, &str, &CpuSet)> =
        threads.iter().map(|t| (t.pid, &*t.name, &t.cpus)).collect();
    assert_eq!(seen, [(2, "kthreadd", &set("0-1")), (40, "kswapd0 (old)", &set("0"))], "{how}");
    assert_eq!(found.workqueue_cpus, Ok(set("0-1")), "{how}");
    let ksm = Ksm { is_running: true, merges_across_nodes: Some(false) };
    assert_eq!(found.ksm, Ok(ksm), "{how}");
    assert_eq!((found.zone_reclaim_mode.clone(), found.numa_balancing.clone()), (Ok(1), Ok(2)));
    assert_eq!(found.not_looked_at(), [], "{how}");
}

#[test]
fn a_folder_and_its_capture_read_the_same() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    write_files(&machine(), directory.path()).expect("written");
    let source = open(directory.path()).expect("a directory");
    expect_machine(&read_surroundings(&source).expect("read"), "folder");
    let bytes = capture_bytes(&source).expect("a capture");
    let captured = Source::from_archive_bytes("test.tar", &bytes).expect("an archive");
    expect_machine(&read_surroundings(&captured).expect("read"), "capture");
    // Captured again, it is the same.
    assert_eq!(capture_bytes(&captured).expect("a capture"), bytes);
    let mut archive = tar::Archive::new(bytes.as_slice());
    for entry in archive.entries().expect("entries") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path").display().to_string();
        let mut content = String::new();
        entry.read_to_string(&mut content).expect("text");
        assert!(!content.contains("SECRET") && !path.contains("900"), "{path}: {content}");
        // The one that stays is nobody's business either.
        assert!(!path.contains("proc/15"), "{path}");
    }
}

#[test]
fn an_older_capture_holds_none_of_it_and_says_so() {
    let mut older = machine();
    let is_new = |path: &str| {
        path.starts_with("proc/") || path.contains("/ksm/") || path.contains("workqueue")
    };
    older.retain(|path, _| !is_new(path));
    let found = read(&older);
    assert_eq!(found, Surroundings::unread(&Unread::NotInCapture));
    assert_eq!(found.not_looked_at().len(), 6);
}

/// Of a capture that holds the rest, what is missing was missing on the host.
#[test]
fn what_the_host_does_not_have_is_told_from_what_was_not_captured() {
    let mut without_ksm = machine();
    without_ksm.retain(|path, _| !path.contains("/ksm/"));
    assert_eq!(read(&without_ksm).ksm, Err(Unread::NotInCapture));
    without_ksm.insert("numawise/kernel-managed-interrupts".to_owned(), "Managed: 98\n".to_owned());
    let found = read(&without_ksm);
    assert_eq!(found.ksm, Err(Unread::NotOnHost));
    assert_eq!(found.not_looked_at(), []);
    assert!(found.interrupts.expect("seen")[2].kernel_managed);
}

#[test]
fn nonsense_is_named_and_stands_in_no_other_facts_way() {
    let cases = [
        ("proc/interrupts", "  CPU0 CPU1\n 5: 1 x IO-APIC 5-edge eth0\n", KernelFact::Interrupts),
        ("proc/irq/98/effective_affinity_list", "7-1\n", KernelFact::Interrupts),
        ("proc/40/status", "Name:\tkswapd0\nCpus_allowed_list:\ta\n", KernelFact::KernelThreads),
        ("sys/devices/virtual/workqueue/cpumask", "xyz\n", KernelFact::Workqueues),
        ("sys/kernel/mm/ksm/run", "on\n", KernelFact::Ksm),
        ("proc/sys/vm/zone_reclaim_mode", "-1\n", KernelFact::ZoneReclaim),
        ("proc/sys/kernel/numa_balancing", "\n", KernelFact::NumaBalancing),
    ];
    for (path, text, fact) in cases {
        let mut files = machine();
        files.insert(path.to_owned(), text.to_owned());
        let unseen = read(&files).not_looked_at();
        let [(seen, Unread::Nonsense { file, .. })] = unseen.as_slice() else {
            panic!("{path}: {unseen:?}")
        };
        assert_eq!((*seen, &**file), (fact, path));
    }
}

/// A file that cannot be read: a folder stands in its place.
#[test]
fn unreadable_is_told_from_absent() {
    let mut files = machine();
    files.remove("proc/sys/vm/zone_reclaim_mode");
    files.insert("proc/sys/vm/zone_reclaim_mode/".to_owned(), String::new());
    let found = read(&files).zone_reclaim_mode;
    assert!(
        matches!(&found, Err(Unread::Unreadable { file, .. }) if file.ends_with("reclaim_mode"))
    );
}

/// In a container nothing of the kernel is to be seen, and another process may have its number.
#[test]
fn a_process_with_the_number_of_kthreadd_is_not_it() {
    let mut files = machine();
    process(&mut files, 2, "bash", OTHERS, "0-1");
    assert_eq!(read(&files).kernel_threads, Err(Unread::NotInCapture));
}

#[test]
fn the_live_machine_and_its_capture_agree_on_what_is_there() {
    let live = read_surroundings(&Source::Live).expect("the live host");
    let bytes = capture_bytes(&Source::Live).expect("a capture");
    let source = Source::from_archive_bytes("live.tar", &bytes).expect("an archive");
    let captured = read_surroundings(&source).expect("read");
    let numbers = |all: &Surroundings| -> Option<Vec<(u32, bool)>> {
        let all = all.interrupts.as_ref().ok()?.iter();
        Some(all.map(|i| (i.number, i.kernel_managed)).collect())
    };
    // An interrupt may come for the first time in between.
    let (before, after) = (numbers(&live), numbers(&captured));
    let kept = |all: &(u32, bool)| after.as_ref().is_some_and(|after| after.contains(all));
    assert!(before.iter().flatten().all(kept), "{before:?} {after:?}");
    assert_eq!(live.kernel_threads.is_ok(), captured.kernel_threads.is_ok());
    assert_eq!(live.zone_reclaim_mode, captured.zone_reclaim_mode);
    assert_eq!(live.workqueue_cpus, captured.workqueue_cpus);
}
