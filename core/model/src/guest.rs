//! A guest as its domain XML describes it, and what numawise would write into that XML.

use crate::id_set::{CpuSet, NodeSet, VcpuSet};
use crate::ids::{Vcpu, Vnode};
use crate::levels::PageSize;
use crate::obstacle::Manager;
use crate::plan::{MemoryMode, VirtualTopology};
use std::collections::BTreeMap;
use std::fmt;

/// A domain's UUID in its canonical lower-case form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuestUuid(pub String);

impl fmt::Display for GuestUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The parts of a domain XML that placement depends on. `None` means that the element is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestConfig {
    pub name: String,
    /// Absent only in files that no libvirt has defined yet.
    pub uuid: Option<GuestUuid>,
    /// `<vcpu>`: the most there can be.
    pub vcpus_max: u32,
    /// `<vcpu current=...>`, or `vcpus_max`.
    pub vcpus_current: u32,
    /// `<vcpu placement='auto'>`: numad chooses, so memnodes are not possible.
    pub placement_auto: bool,
    /// `<vcpu cpuset=...>`.
    pub default_cpuset: Option<CpuSet>,
    /// `<memory>`.
    pub memory_bytes: u64,
    /// `<currentMemory>`, or `memory_bytes`.
    pub current_memory_bytes: u64,
    /// `<maxMemory slots=...>`: memory hot-plug.
    pub max_memory: Option<MaxMemory>,
    pub balloon: Balloon,
    /// `<cputune><vcpupin>`.
    pub vcpu_pins: BTreeMap<Vcpu, CpuSet>,
    pub emulator_pin: Option<CpuSet>,
    pub iothread_pins: BTreeMap<u32, CpuSet>,
    /// Ids from `<iothreads>` and `<iothreadids>`.
    pub iothreads: Vec<u32>,
    pub cpu_topology: Option<GuestCpuTopology>,
    /// `<os><type arch=...>`.
    pub architecture: Option<String>,
    /// `<cpu mode=...>`; with no mode and no model libvirt takes no cache element.
    pub cpu_mode: Option<String>,
    /// `<cpu><cache level='3' mode=...>`.
    pub l3_cache_mode: Option<String>,
    /// QEMU's `smp-cache`, among the arguments that libvirt passes on.
    pub smp_cache: Option<SmpCache>,
    /// `<cpu><numa>`.
    pub cells: Vec<GuestCell>,
    pub numatune: Option<Numatune>,
    /// `<memoryBacking><hugepages>`; an empty list is the element without pages (the default size).
    pub hugepages: Option<Vec<GuestHugepages>>,
    /// `<memoryBacking><allocation mode='immediate'>`.
    pub immediate_allocation: bool,
    /// `<devices><memory>`: modules that are plugged in.
    pub memory_modules: u32,
    /// PCI addresses passed through, `0000:41:00.0`.
    pub host_devices: Vec<String>,
    /// Who else says that the guest is theirs, by a note in the metadata.
    pub manager: Option<Manager>,
    /// `<numawise:topology>` in the metadata, as text that `documents` reads.
    pub frozen_note: Option<String>,
}

impl GuestConfig {
    pub fn pins(&self) -> Pins {
        Pins {
            vcpus: self.vcpu_pins.clone(),
            emulator: self.emulator_pin.clone(),
            iothreads: self.iothread_pins.clone(),
        }
    }

    /// The level of the L3 that numawise has written, or would have.
    pub fn l3_level(&self) -> Option<CacheLevel> {
        self.smp_cache.as_ref().and_then(SmpCache::l3)
    }

    /// QEMU knows dies on x86 alone. A file that names no architecture is taken for x86.
    pub fn takes_dies(&self) -> bool {
        self.architecture.as_deref().is_none_or(|arch| matches!(arch, "x86_64" | "i686"))
    }

    pub fn takes_l3_cache(&self) -> bool {
        takes_l3_cache(self.cpu_mode.as_deref(), self.architecture.as_deref())
    }
}

/// Whether libvirt takes `<cache level='3' mode='emulate'/>`: beside a CPU mode or model, and for
/// x86 alone. A file that names no architecture is taken for x86.
pub fn takes_l3_cache(cpu_mode: Option<&str>, architecture: Option<&str>) -> bool {
    cpu_mode.is_some() && architecture.is_none_or(|arch| matches!(arch, "x86_64" | "i686"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxMemory {
    pub bytes: u64,
    pub slots: u32,
}

/// `<memballoon>`. libvirt adds a virtio balloon where the element is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Balloon {
    #[default]
    Implicit,
    Off,
    Model(String),
}

/// One `<cell>` of `<cpu><numa>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestCell {
    pub id: Vnode,
    pub vcpus: VcpuSet,
    pub memory_bytes: u64,
    /// Siblings as written; empty when the element is absent.
    pub distances: BTreeMap<Vnode, u32>,
}

/// `<numatune>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numatune {
    pub memory_mode: Option<MemoryMode>,
    pub memory_nodeset: Option<NodeSet>,
    pub memnodes: BTreeMap<Vnode, (MemoryMode, NodeSet)>,
}

/// `<page size=... nodeset=...>`; the node set counts guest nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestHugepages {
    pub size: PageSize,
    pub vnodes: Option<Vec<Vnode>>,
}

/// `<topology sockets dies clusters cores threads>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestCpuTopology {
    pub sockets: u32,
    pub dies: u32,
    pub clusters: u32,
    pub cores: u32,
    pub threads: u32,
}

impl GuestCpuTopology {
    /// vCPUs it adds up to; `None` past 32 bits (a domain file may say anything).
    pub fn vcpus(&self) -> Option<u32> {
        [self.dies, self.clusters, self.cores, self.threads]
            .iter()
            .try_fold(self.sockets, |product, n| product.checked_mul(*n))
    }
}

/// A level of the guest's topology at which an L3 cache is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheLevel {
    Core,
    Cluster,
    Die,
    Socket,
}

impl CacheLevel {
    pub const ALL: [Self; 4] = [Self::Core, Self::Cluster, Self::Die, Self::Socket];

    /// QEMU's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Cluster => "cluster",
            Self::Die => "die",
            Self::Socket => "socket",
        }
    }

    /// vCPUs at this level; neighbouring vCPUs share it.
    pub fn vcpus(self, cpu: &GuestCpuTopology) -> u32 {
        let factors = match self {
            Self::Core => [1, 1, 1],
            Self::Cluster => [cpu.cores, 1, 1],
            Self::Die => [cpu.cores, cpu.clusters, 1],
            Self::Socket => [cpu.cores, cpu.clusters, cpu.dies],
        };
        factors.iter().fold(cpu.threads, |product, factor| product.saturating_mul(*factor))
    }
}

/// What a definition says by QEMU's `smp-cache`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SmpCache {
    /// As numawise writes it: the level of the L3 alone.
    L3(CacheLevel),
    /// Anything else, which is its owner's.
    Others(String),
}

impl SmpCache {
    pub fn l3(&self) -> Option<CacheLevel> {
        match self {
            Self::L3(level) => Some(*level),
            Self::Others(_) => None,
        }
    }
}

/// Whether the QEMU of a guest takes `smp-cache`, as tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SmpCacheAbility {
    Yes,
    No { why: String },
}

/// What the guest has been seen running with: its ABI. Where the host's nodes are is not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenTopology {
    pub cells: Vec<GuestCell>,
    pub cpu: GuestCpuTopology,
    /// The topology element before numawise's first switch-on, put back when vNUMA goes off.
    pub cpu_before: Option<GuestCpuTopology>,
}

impl FrozenTopology {
    /// Whether the guest would see the same: nodes, memory, distances, sockets.
    pub fn same_for_guest(&self, other: &VirtualTopology) -> bool {
        self.cpu == other.cpu && self.cells == other.cells()
    }
}

/// Where the threads of a guest may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    pub vcpus: BTreeMap<Vcpu, CpuSet>,
    pub emulator: Option<CpuSet>,
    pub iothreads: BTreeMap<u32, CpuSet>,
}

/// What an apply writes into the domain XML. Everything else stays byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestEdit {
    pub pins: PinEdit,
    pub vnuma: VnumaEdit,
    pub fixes: Vec<GuestFix>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinEdit {
    Keep,
    /// Takes out every vcpupin, emulatorpin and iothreadpin.
    Remove,
    Set {
        vcpus: BTreeMap<Vcpu, CpuSet>,
        /// `None` takes the element out.
        emulator: Option<CpuSet>,
        iothreads: BTreeMap<u32, CpuSet>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VnumaEdit {
    Keep,
    /// Takes out `cpu/numa`, `numatune` and numawise's L3 element; `cpu/topology` goes back to what
    /// stood there before (`None`: no element).
    Remove {
        cpu_topology: Option<GuestCpuTopology>,
    },
    Set {
        topology: VirtualTopology,
        mode: MemoryMode,
        /// A huge size writes `memoryBacking/hugepages`; the base size takes them out.
        page_size: PageSize,
    },
}

/// Edits that make a guest fit for vNUMA; only with `--fix-guest`, and visible in the diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuestFix {
    /// `<memballoon model='none'/>` and `<currentMemory>` = `<memory>`.
    BalloonOff,
    /// `<vcpu current=...>` goes: all vCPUs are there from the start.
    AllVcpusAtBoot,
    /// `<maxMemory slots=...>` goes.
    NoMemoryHotplug,
    /// `placement='auto'` becomes `static`.
    StaticPlacement,
}
