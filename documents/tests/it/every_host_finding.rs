//! Every kind of finding that only an audit of a whole host has.

use crate::every_variant::{cpus, guest, nodes, owners, vcpus};
use numawise_model::finding::{FrozenPart, Helper, PinnedThreads, Resizing, Unusable};
use numawise_model::{FindingKind, PageSize, Pnode, Vnode};

pub fn of_whole_hosts() -> Vec<FindingKind> {
    [placed(), kept(), of_kernels()].concat()
}

fn placed() -> Vec<FindingKind> {
    use FindingKind as K;
    let unusable = |threads, why| K::PinnedCpusUnusable { threads, cpus: cpus("9"), why };
    let helper = |helper| K::HelpersOnPinnedCpus { helper, cpus: cpus("0"), of: owners() };
    vec![
        K::VcpusSpanNodes { vcpus: vcpus("0-3"), cpus: cpus("2,10"), nodes: nodes("0-1") },
        K::CoresShared { cpus: cpus("1"), siblings: cpus("17"), with: guest() },
        K::GuestL3Spread { vcpus: vcpus("0-3"), host_domains: 2, guest_domains: 1 },
        helper(Helper::Emulator),
        helper(Helper::Iothread { id: 1 }),
        unusable(PinnedThreads::Vcpus { vcpus: vcpus("0") }, Unusable::Offline),
        unusable(PinnedThreads::Helper { helper: Helper::Emulator }, Unusable::NotThere),
        unusable(PinnedThreads::Vcpus { vcpus: vcpus("0-1") }, Unusable::OutsideCgroup),
        K::IsolatedCpusInMask { vcpus: vcpus("1"), cpus: cpus("4-5"), isolated: cpus("5") },
        K::DistancesTold { vnode: Vnode(1), told: vec![20, 10], host: vec![21, 10] },
    ]
}

fn kept() -> Vec<FindingKind> {
    use FindingKind as K;
    let parts =
        vec![FrozenPart::Nodes, FrozenPart::Memory, FrozenPart::Distances, FrozenPart::CpuTopology];
    vec![
        K::MemoryAwayFromVcpus {
            vnode: Some(Vnode(1)),
            cpu_nodes: nodes("0"),
            memory_nodes: nodes("1"),
        },
        K::PagesAwayFromVcpus {
            vnode: None,
            cpu_nodes: nodes("0"),
            seen: nodes("1"),
            away_bytes: 1 << 30,
            of_bytes: 4 << 30,
        },
        K::MemoryBoundToSlice { vnode: None, nodes: nodes("0"), of: nodes("0-1") },
        K::ResizingWithVnuma { what: Resizing::Balloon },
        K::ResizingWithVnuma { what: Resizing::MemoryHotplug },
        K::ResizingWithVnuma { what: Resizing::VcpuHotplug },
        K::PagesPromisedTwice {
            node: Pnode(0),
            page_size: PageSize::HUGE_2M,
            promised: 1024,
            total: 512,
            to: owners(),
        },
        K::MemoryLargerThanNode { node: Pnode(1), bound_bytes: 8 << 30, node_bytes: 4 << 30 },
        K::FrozenWithoutGuest,
        K::FrozenOtherwise { parts },
    ]
}

fn of_kernels() -> Vec<FindingKind> {
    use FindingKind as K;
    let threads = |confined| K::KernelThreadsOnPinnedCpus {
        cpus: cpus("0"),
        threads: vec!["kswapd0".to_owned()],
        confined,
    };
    vec![
        K::InterruptsOnPinnedCpus { cpus: cpus("0"), interrupts: vec!["40 (eth0-0)".to_owned()] },
        threads(true),
        threads(false),
        K::WorkqueuesOnPinnedCpus { cpus: cpus("0-3"), mask: cpus("0-63") },
        K::NumaBalancingOn,
        K::KsmMergesAcrossNodes,
        K::ZoneReclaimOn { mode: 3 },
    ]
}
