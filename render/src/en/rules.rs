//! The rules of an audit, for whoever asks what one is about: what is looked at, why it costs, what
//! to do, and where that is written.

use numawise_model::AuditRule as R;

/// What there is to say of a rule.
pub struct Essay {
    pub looks_at: &'static str,
    /// Also said below each finding.
    pub costs: &'static str,
    pub to_do: &'static str,
    /// Where to read more.
    pub source: &'static str,
}

const LIBVIRT_TUNING: &str = "libvirt: Domain XML format, CPU Tuning and NUMA Node Tuning";
const KERNEL_IRQ: &str = "Linux: Documentation/core-api/irq/irq-affinity.rst, proc(5)";
const KERNEL_NUMA: &str = "Linux: Documentation/admin-guide/mm/numa_memory_policy.rst";

pub const LOOKS_AT: &str = "looks at";
pub const COSTS: &str = "costs";
pub const DO: &str = "to do";
pub const SOURCE: &str = "source";

#[expect(
    clippy::too_many_lines,
    reason = "one essay for each rule; cut in two, the compiler would no longer see that none is missing"
)]
pub fn essay(rule: R) -> Essay {
    match rule {
        R::BookedTwice => Essay {
            looks_at: "the claims of this host's ledger and the pins of guests that others placed: a pin \
                       on one pCPU counts as exclusive, a wider one as shared. A pCPU has one exclusive \
                       owner or any number of shared ones",
            costs: "vCPUs take turns on a pCPU: a guest waits for another one's time slice, with a lock in \
                    its hand",
            to_do: "bind one of the two elsewhere (numawise bind GUEST), or both with --shared",
            source: LIBVIRT_TUNING,
        },
        R::CpusGone => Essay {
            looks_at: "the pCPUs of claims and pins against those that are online, and against what the \
                       cgroup of guests leaves them",
            costs: "a thread whose pCPUs are gone runs somewhere else, or the guest does not start",
            to_do: "bring the CPUs online again, widen the cgroup, or bind the guest anew",
            source: "Linux: Documentation/core-api/cpu_hotplug.rst, Documentation/admin-guide/cgroup-v2.rst",
        },
        R::PagesPromisedTwice => Essay {
            looks_at: "the pages that claims and definitions bind to each node, guests that are off \
                       included, against all the pages of that size that the node has",
            costs: "the guest that comes last does not start, or is killed for want of memory while other \
                    nodes are empty",
            to_do: "enlarge the node's pool (numawise host tune), bind a guest to another node, or release \
                    what a guest no longer needs (numawise unbind GUEST)",
            source: "Linux: Documentation/admin-guide/mm/hugetlbpage.rst",
        },
        R::Drift => Essay {
            looks_at: "each guest with a plan in force: its definition, the affinity of its threads, what \
                       its kernel shows; the same as numawise verify",
            costs: "what was planned and paid for is not what runs",
            to_do: "numawise verify GUEST tells each difference and how to mend it",
            source: "docs/verify.md",
        },
        R::StaleTopology => Essay {
            looks_at: "what is kept of guests: claims and frozen topologies whose guest is not defined any \
                       more, frozen topologies that the definition contradicts, plans made for a host \
                       that had other nodes or caches",
            costs: "CPUs stay taken for nobody, or a guest boots with another topology than its system \
                    has sized itself by",
            to_do: "numawise unbind GUEST gives back what is held; bind the guest anew after a change of \
                    the host or of its definition",
            source: "docs/vnuma.md",
        },
        R::UnreadableGuest => Essay {
            looks_at: "the definition of each guest",
            costs: "what the guest holds is not known, so others may be placed upon it",
            to_do: "mend its definition (virsh edit GUEST)",
            source: "libvirt: Domain XML format",
        },
        R::VcpuSpansNodes => Essay {
            looks_at: "where each vCPU that is pinned may run: by the kernel's word while the guest runs, \
                       else by its definition",
            costs: "the scheduler moves the vCPU away from its memory and its warm cache, and no vNUMA \
                    node can tell the guest where it is",
            to_do: "bind each vCPU within one node: numawise bind GUEST --policy smart, or --on-node NODE:VCPUS",
            source: "Linux: Documentation/scheduler/sched-domains.rst",
        },
        R::MemoryAway => Essay {
            looks_at: "the nodes that memory is bound to, and the nodes that its pages are on, against the \
                       nodes that the vCPUs run on. Up to 64 MiB in small pages may be the emulator's own",
            costs: "each cache miss crosses the link between the nodes: more latency, less bandwidth",
            to_do: "bind memory and vCPUs to the same node: numawise bind GUEST; pages that are there already \
                    move when the guest is started anew, or with migratepages PID FROM TO",
            source: KERNEL_NUMA,
        },
        R::MemoryOnASlice => Essay {
            looks_at: "hosts whose firmware makes every L3 a node (L3-as-NUMA): memory that is tied to some \
                       of the nodes that share the same memory channels",
            costs: "the guest is refused memory, or killed, when its slice is full, while the other slices \
                    are as near and empty; nothing is gained",
            to_do: "bind the memory to all nodes of the package's region, and only the vCPUs to the L3",
            source: "AMD: BIOS and workload tuning guides for EPYC, ACPI SRAT L3 cache as NUMA domain",
        },
        R::CoreShared => Essay {
            looks_at: "cores with several threads that are exclusively two owners'",
            costs: "each gets about half a core while the other is busy, and sees the other's caches fill: \
                    neighbours are felt, and side channels are open",
            to_do: "give each guest whole cores: bind one of them anew",
            source: "Linux: Documentation/admin-guide/hw-vuln/core-scheduling.rst",
        },
        R::HelpersOnPinnedCpus => Essay {
            looks_at: "where emulator and I/O threads may run against the CPUs that vCPUs are pinned to one \
                       by one; a guest whose vCPUs are pinned and whose emulator is not has one that may \
                       run everywhere",
            costs: "a vCPU stops for as long as a helper thread runs on its CPU: device work shows as \
                    latency in the guest",
            to_do: "pin helper threads to CPUs that no vCPU has (virsh emulatorpin, virsh iothreadpin), and keep a \
                    core of each node free for them: reserved in /etc/numawise/config.toml",
            source: LIBVIRT_TUNING,
        },
        R::IsolatedInMask => Essay {
            looks_at: "pins over several pCPUs of which some are isolated (isolcpus)",
            costs: "the scheduler does not balance there: vCPUs pile up on one of the CPUs and the others \
                    stay idle",
            to_do: "pin each vCPU to one isolated pCPU, or leave these out of wider pins",
            source: "Linux: Documentation/admin-guide/kernel-parameters.txt, isolcpus",
        },
        R::GuestL3 => Essay {
            looks_at: "vCPUs that the guest is told share an L3, against the L3 domains that they run on. \
                       QEMU shows one L3 for each die of the guest's topology; with cache mode \
                       'passthrough' the guest counts off its own vCPUs by the width of a host L3",
            costs: "the guest's scheduler moves tasks between these vCPUs as if their data came along",
            to_do: "let numawise choose the topology (numawise vnuma on GUEST), or give the guest as many dies \
                    or sockets as it has L3 domains, each with the vCPUs of one",
            source: "libvirt: Domain XML format, CPU model and topology, cache",
        },
        R::DistancesTold => Essay {
            looks_at: "the distances between vNUMA nodes against those between the nodes that their vCPUs \
                       are pinned to now",
            costs: "the guest's kernel and its databases prefer the wrong node when theirs is full",
            to_do: "numawise bind GUEST --new-topology writes the host's distances; they count from the next \
                    full start on",
            source: "ACPI: System Locality Information Table (SLIT)",
        },
        R::ResizingWithVnuma => Essay {
            looks_at: "guests with vNUMA nodes that also have a memory balloon, memory hot-plug, or vCPUs \
                       that are plugged in later",
            costs: "a balloon takes pages from any node and knows none, so a node runs dry while the other \
                    has room; what is plugged in later lies where there is room",
            to_do: "numawise bind GUEST --fix-guest takes them out",
            source: "libvirt: Domain XML format, memballoon, maxMemory, vcpu current",
        },
        R::UnpinnedGuest => Essay {
            looks_at: "guests without any pin",
            costs: "its vCPUs run on everybody's CPUs, also on those that another guest was given alone",
            to_do: "bind it too: numawise bind GUEST, with --shared where it need not have CPUs of its own",
            source: LIBVIRT_TUNING,
        },
        R::ForeignGuest => Essay {
            looks_at: "the notes of other managers in definitions, and guests without a stored one",
            costs: "nothing by itself: numawise leaves it alone, and its manager may move it any moment",
            to_do: "place it by its manager's own means",
            source: "docs/plan-and-apply.md",
        },
        R::InterruptsOnPinnedCpus => Essay {
            looks_at: "/proc/interrupts and where each interrupt that ever came really goes \
                       (effective_affinity_list), against CPUs that are one guest's alone. Left out: those \
                       of the guest's own passed-through devices, and those that the kernel keeps where \
                       they are (the queues of disks, the processor's own)",
            costs: "each interrupt throws the guest's vCPU out, and the work behind it (softirq) follows on \
                    the same CPU",
            to_do: "move them to housekeeping CPUs: write the list to /proc/irq/N/smp_affinity_list, and keep \
                    irqbalance off the guests' CPUs (IRQBALANCE_BANNED_CPULIST, which has to name the isolated \
                    ones too)",
            source: KERNEL_IRQ,
        },
        R::KernelThreadsOnPinnedCpus => Essay {
            looks_at: "the affinity of the kernel's threads that can be moved; those of one CPU (ksoftirqd, \
                       migration, cpuhp, kworker/N) and the workers of workqueues cannot",
            costs: "what they do (writing back, compacting, RCU) runs in the guest's time",
            to_do: "taskset -pc LIST PID, or start the kernel with isolcpus= or kthread_cpus= where there is one",
            source: "Linux: Documentation/admin-guide/kernel-per-CPU-kthreads.rst",
        },
        R::WorkqueuesOnPinnedCpus => Essay {
            looks_at: "the mask of unbound workqueues (/sys/devices/virtual/workqueue/cpumask)",
            costs: "the kernel's deferred work runs on the guest's CPUs when others are busy",
            to_do: "numawise host tune writes a mask of the housekeeping CPUs",
            source: "Linux: Documentation/core-api/workqueue.rst",
        },
        R::NumaBalancing => Essay {
            looks_at: "kernel.numa_balancing on a host of several nodes with pinned guests. The value 2 alone \
                       only demotes cold pages, and is left alone",
            costs: "the kernel unmaps guest memory to see who touches it, and each touch is a fault; pinned \
                    guests have nothing to win by it",
            to_do: "sysctl kernel.numa_balancing=0, or numawise host tune",
            source: "Linux: Documentation/admin-guide/sysctl/kernel.rst, numa_balancing",
        },
        R::KsmAcrossNodes => Essay {
            looks_at: "/sys/kernel/mm/ksm: run and merge_across_nodes",
            costs: "equal pages of guests on different nodes become one page on one of them: memory that \
                    was bound near is far, without any sign of it in the definitions",
            to_do: "switch it off, or echo 2 > run, echo 0 > merge_across_nodes and echo 1 > run again",
            source: "Linux: Documentation/admin-guide/mm/ksm.rst",
        },
        R::ZoneReclaim => Essay {
            looks_at: "vm.zone_reclaim_mode on a host of several nodes",
            costs: "a node that is full throws its file cache away, or writes it back, before it takes a \
                    page of the next node: allocations stall",
            to_do: "sysctl vm.zone_reclaim_mode=0",
            source: "Linux: Documentation/admin-guide/sysctl/vm.rst, zone_reclaim_mode",
        },
        R::HostDescription => Essay {
            looks_at: "what firmware and kernel say of the host: nodes, distances, caches, cores, limits",
            costs: "what is said wrongly, or not at all, is planned with wrongly",
            to_do: "each finding says what can be done; most are for the firmware's vendor",
            source: "docs/read-a-host.md",
        },
    }
}
