//! What else a host's kernel does that guests feel: interrupts, its own threads, and the switches
//! that move memory about. Read apart from [`crate::Host`]: nobody plans on it, the judge looks at it.
//!
//! Each fact is read or has a reason why not. A kernel without a switch, a capture that does not
//! hold it, a file that may not be read and a file that makes no sense are four different reasons,
//! and none of them is a finding.

use crate::id_set::CpuSet;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// By number. Only those of devices: what has no number belongs to the processor.
    pub interrupts: Result<Vec<Interrupt>, Unread>,
    /// By id. Only those that somebody may move: the kernel's per-CPU threads are none of them.
    pub kernel_threads: Result<Vec<KernelThread>, Unread>,
    /// Where workers of unbound workqueues may run.
    pub workqueue_cpus: Result<CpuSet, Unread>,
    pub ksm: Result<Ksm, Unread>,
    /// `vm.zone_reclaim_mode`.
    pub zone_reclaim_mode: Result<u32, Unread>,
    /// `kernel.numa_balancing`: bit 0 moves pages and tasks, bit 1 only demotes cold pages.
    pub numa_balancing: Result<u32, Unread>,
}

/// An interrupt line of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupt {
    pub number: u32,
    /// As the kernel lists it: `nvme0q3`, `eth0-TxRx-7`, `vfio-msix[2](0000:41:00.0)`.
    pub name: String,
    /// How often it came since boot, over all CPUs.
    pub fired: u64,
    /// Where it may go; `None` where the kernel tells of it in no file.
    pub allowed: Option<CpuSet>,
    /// Where it really goes; kernels before 4.13 do not say.
    pub effective: Option<CpuSet>,
    /// The kernel keeps it where it is, so nobody else can move it.
    pub kernel_managed: bool,
}

impl Interrupt {
    /// Where it goes, as far as that is known.
    pub fn cpus(&self) -> Option<&CpuSet> {
        self.effective.as_ref().filter(|cpus| !cpus.is_empty()).or(self.allowed.as_ref())
    }
}

/// A thread of the kernel that may be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelThread {
    pub pid: u32,
    pub name: String,
    pub cpus: CpuSet,
}

/// Kernel samepage merging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ksm {
    pub is_running: bool,
    /// Pages of different nodes become one; `None` on kernels before 3.9, which always do so.
    pub merges_across_nodes: Option<bool>,
}

/// Why a fact is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// There is no such thing on this host: that is known, and nothing to look for.
    NotOnHost,
    /// The capture does not hold it; older ones do not.
    NotInCapture,
    /// The host is not this machine, and nobody there was asked.
    Elsewhere,
    Unreadable {
        file: String,
        why: String,
    },
    Nonsense {
        file: String,
        value: String,
        wanted: &'static str,
    },
}

/// One of the facts, for telling that it was not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KernelFact {
    Interrupts,
    KernelThreads,
    Workqueues,
    Ksm,
    ZoneReclaim,
    NumaBalancing,
}

impl Surroundings {
    /// Nothing is known, for one reason.
    pub fn unread(why: &Unread) -> Self {
        Self {
            interrupts: Err(why.clone()),
            kernel_threads: Err(why.clone()),
            workqueue_cpus: Err(why.clone()),
            ksm: Err(why.clone()),
            zone_reclaim_mode: Err(why.clone()),
            numa_balancing: Err(why.clone()),
        }
    }

    /// What was not looked at, and why. What the host does not have was looked at.
    pub fn not_looked_at(&self) -> Vec<(KernelFact, Unread)> {
        let all = [
            (KernelFact::Interrupts, self.interrupts.as_ref().err()),
            (KernelFact::KernelThreads, self.kernel_threads.as_ref().err()),
            (KernelFact::Workqueues, self.workqueue_cpus.as_ref().err()),
            (KernelFact::Ksm, self.ksm.as_ref().err()),
            (KernelFact::ZoneReclaim, self.zone_reclaim_mode.as_ref().err()),
            (KernelFact::NumaBalancing, self.numa_balancing.as_ref().err()),
        ];
        all.into_iter()
            .filter_map(|(fact, why)| Some((fact, why?.clone())))
            .filter(|(_, why)| *why != Unread::NotOnHost)
            .collect()
    }
}
