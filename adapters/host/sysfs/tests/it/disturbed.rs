//! The fixture `disturbed-64`: a host on which everything disturbs guests.

use crate::fixtures::{put, set};
use numawise_model::{PageSize, Pcpu};
use numawise_testkit::Shape;
use numawise_testkit::sysfs_tree::{Files, files as files_of};

/// Two nodes of 16 cores with two threads and two L3s each, as a distribution leaves it: interrupts,
/// threads of the kernel and workqueues go everywhere, NUMA balancing and KSM are on.
pub fn disturbed_64() -> Files {
    let shape = Shape { threads: 2, l3_per_node: 2, ..Shape::two_nodes(8, 256 << 30) };
    let hugepages = [(PageSize::HUGE_2M, 16_384), (PageSize::HUGE_1G, 0)].into();
    let mut files = files_of(&Shape { hugepages, ..shape }.host());
    let switches = [
        ("sys/devices/virtual/workqueue/cpumask", "ffffffff,ffffffff"),
        ("sys/kernel/mm/ksm/run", "1"),
        ("sys/kernel/mm/ksm/merge_across_nodes", "1"),
        ("proc/sys/vm/zone_reclaim_mode", "0"),
        ("proc/sys/kernel/numa_balancing", "1"),
        ("numawise/kernel-managed-interrupts", "Managed: 64"),
    ];
    for (path, value) in switches {
        put(&mut files, path.to_owned(), value);
    }
    // Number, times it came, name, where it may go, where it goes.
    let interrupts = [
        (8, 1, "IO-APIC   8-edge      rtc0", "0-63", "0"),
        (64, 88_001, "PCI-MSIX-0000:01:00.0   3-edge      nvme0q3", "2,34", "2"),
        (70, 0, "PCI-MSIX-0000:41:00.0   0-edge      eth0-event", "0-63", "1"),
        (71, 1_207_331, "PCI-MSIX-0000:41:00.0   1-edge      eth0-TxRx-0", "0-63", "1"),
        (72, 998_102, "PCI-MSIX-0000:41:00.0   2-edge      eth0-TxRx-1", "0-63", "33"),
        (73, 1_000_400, "PCI-MSIX-0000:41:00.0   3-edge      eth0-TxRx-2", "0-63", "30"),
    ];
    let heads: Vec<String> = (0..64).map(|cpu| format!("CPU{cpu}")).collect();
    let mut table = heads.join(" ");
    for (number, fired, tail, allowed, effective) in interrupts {
        let count = |cpu| if set(effective).contains(Pcpu(cpu)) { fired } else { 0 };
        let counts: Vec<String> = (0..64).map(|cpu| count(cpu).to_string()).collect();
        table.push_str(&format!("\n{number:>4}: {}  {tail}", counts.join(" ")));
        let folder = format!("proc/irq/{number}");
        put(&mut files, format!("{folder}/smp_affinity_list"), allowed);
        put(&mut files, format!("{folder}/effective_affinity_list"), effective);
    }
    put(&mut files, "proc/interrupts".to_owned(), &table);
    // Threads of the kernel; the one of CPU 0 cannot be moved.
    let threads = [
        (2, "kthreadd", 0x20_8040, "0-63"),
        (17, "rcu_preempt", 0x20_8040, "0-63"),
        (21, "cpuhp/0", 0x420_8040, "0"),
        (240, "kswapd0", 0x20_8040, "0-15,32-47"),
        (241, "kswapd1", 0x20_8040, "16-31,48-63"),
    ];
    for (pid, name, flags, cpus) in threads {
        put(
            &mut files,
            format!("proc/{pid}/stat"),
            &format!("{pid} ({name}) S 2 0 0 0 -1 {flags}"),
        );
        let status = format!("Name:\t{name}\nCpus_allowed_list:\t{cpus}");
        put(&mut files, format!("proc/{pid}/status"), &status);
    }
    files
}
