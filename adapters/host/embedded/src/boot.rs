//! Starting a guest: what its threads and its memory get, or why QEMU would not start.

use crate::domain::{Domain, Tuning};
use crate::memory::{Origin, Room, Shortage, base_page};
use crate::running::Running;
use numawise_model::guest::GuestCell;
use numawise_model::{
    CpuSet, Host, MemoryMode, NodeSet, PageCounts, PageSize, Topology, Vcpu, Vnode,
};
use std::collections::BTreeMap;

/// Starts the guest beside those that hold memory already. The error is what the hypervisor would
/// say.
pub fn boot(domain: &Domain, host: &Host, held: &PageCounts) -> Result<Running, String> {
    let cells = cells(domain)?;
    nodes_exist(domain, &host.topology)?;
    let threads = threads(domain, &host.topology)?;
    let mut room = Room::of(host, held)?;
    let mut pages = BTreeMap::new();
    for cell in &cells {
        let size = page_size(domain, cell.id, &host.topology)?;
        if size.is_huge() || domain.immediate {
            preallocation_allowed(domain, cell.id, &threads.emulator, &host.topology)?;
        }
        let origin = origin(domain, cell, size, &threads, &host.topology);
        let count = page_count(cell, size)?;
        let placed =
            room.take(&origin, size, count).map_err(|shortage| no_memory(cell.id, &shortage))?;
        let by_size = placed.into_iter().map(|(node, n)| (node, BTreeMap::from([(size, n)])));
        pages.insert(cell.id, by_size.collect::<PageCounts>());
    }
    Ok(Running {
        vcpus: threads.vcpus,
        emulator: threads.emulator,
        iothreads: threads.iothreads,
        pages,
    })
}

struct Threads {
    vcpus: BTreeMap<Vcpu, CpuSet>,
    emulator: CpuSet,
    iothreads: BTreeMap<u32, CpuSet>,
}

/// The guest's nodes; a guest without NUMA is one node with everything in it.
pub fn cells(domain: &Domain) -> Result<Vec<GuestCell>, String> {
    if domain.cells.is_empty() {
        return Ok(vec![GuestCell {
            id: Vnode(0),
            vcpus: (0..domain.vcpus_max).map(Vcpu).collect(),
            memory_bytes: domain.memory_bytes,
            distances: BTreeMap::from([(Vnode(0), 10)]),
        }]);
    }
    let in_cells: usize = domain.cells.iter().map(|cell| cell.vcpus.len()).sum();
    if in_cells != domain.vcpus_max as usize {
        return Err(format!(
            "all CPUs up to maxcpus must be described in NUMA config: the cells have {in_cells} \
             vCPUs and the guest has {}",
            domain.vcpus_max
        ));
    }
    Ok(domain.cells.clone())
}

fn nodes_exist(domain: &Domain, topology: &Topology) -> Result<(), String> {
    for tuning in domain.memory.iter().chain(domain.memnodes.values()) {
        if let Some(node) = tuning.nodes.iter().find(|node| topology.node(*node).is_none()) {
            return Err(format!("NUMA node {node} is unavailable"));
        }
    }
    Ok(())
}

/// A pin of its own, else the `<vcpu cpuset>`, else all online CPUs.
fn threads(domain: &Domain, topology: &Topology) -> Result<Threads, String> {
    let affinity = |thread: String, pin: Option<&CpuSet>| {
        let cpus = pin.or(domain.default_cpuset.as_ref()).unwrap_or(&topology.online);
        let absent = cpus.difference(&topology.online);
        if absent.is_empty() {
            return Ok(cpus.clone());
        }
        Err(format!(
            "cannot set CPU affinity of {thread}: Invalid argument: CPUs {absent} of {cpus} are \
             not online (the host has {})",
            topology.online
        ))
    };
    let mut vcpus = BTreeMap::new();
    for vcpu in &domain.vcpus {
        let pin = domain.vcpu_pins.get(vcpu);
        vcpus.insert(*vcpu, affinity(format!("vCPU {vcpu}"), pin)?);
    }
    let mut iothreads = BTreeMap::new();
    for id in &domain.iothreads {
        let pin = domain.iothread_pins.get(id);
        iothreads.insert(*id, affinity(format!("I/O thread {id}"), pin)?);
    }
    let emulator = affinity("the emulator".to_owned(), domain.emulator_pin.as_ref())?;
    Ok(Threads { vcpus, emulator, iothreads })
}

/// The host nodes QEMU binds a cell's memory to. Restrictive mode gives QEMU none: only a cgroup
/// holds the guest then.
fn bound(domain: &Domain, cell: Vnode) -> Option<&Tuning> {
    let tuning = domain.memnodes.get(&cell).or(domain.memory.as_ref())?;
    (tuning.mode != MemoryMode::Restrictive).then_some(tuning)
}

fn origin(
    domain: &Domain,
    cell: &GuestCell,
    size: PageSize,
    threads: &Threads,
    topology: &Topology,
) -> Origin {
    if let Some(Tuning { mode, nodes }) = bound(domain, cell.id) {
        return match mode {
            MemoryMode::Strict | MemoryMode::Restrictive => Origin::Bind(nodes.clone()),
            MemoryMode::Preferred => Origin::Preferred(nodes.clone()),
            MemoryMode::Interleave => Origin::Interleave(nodes.clone()),
        };
    }
    // Preallocated memory is touched by the emulator's threads, other memory by the vCPUs that it
    // belongs to (a cell without vCPUs: by any of them).
    let preallocated = size.is_huge() || domain.immediate;
    let mut touching = CpuSet::new();
    if preallocated {
        touching.extend(&threads.emulator);
    } else {
        for (vcpu, cpus) in &threads.vcpus {
            if cell.vcpus.is_empty() || cell.vcpus.contains(*vcpu) {
                touching.extend(cpus);
            }
        }
    }
    Origin::FirstTouch {
        near: topology.nodes_of(&touching),
        within: cgroup_nodes(domain, topology),
    }
}

/// One cgroup holds the whole guest, so restrictive cells share the union of their nodes: a
/// restrictive memnode is no promise for its cell.
fn cgroup_nodes(domain: &Domain, topology: &Topology) -> NodeSet {
    let mut nodes = NodeSet::new();
    for tuning in domain.memory.iter().chain(domain.memnodes.values()) {
        if tuning.mode == MemoryMode::Restrictive {
            nodes.extend(&tuning.nodes);
        }
    }
    if nodes.is_empty() { topology.nodes.iter().map(|node| node.id).collect() } else { nodes }
}

/// The size named for the cell, else the one named for all others, else (hugepages without a size)
/// the host's usual huge page.
fn page_size(domain: &Domain, cell: Vnode, topology: &Topology) -> Result<PageSize, String> {
    let base = base_page(topology);
    let Some(pages) = &domain.hugepages else { return Ok(base) };
    let named = pages
        .iter()
        .find(|page| page.vnodes.as_ref().is_some_and(|vnodes| vnodes.contains(&cell)))
        .or_else(|| pages.iter().find(|page| page.vnodes.is_none()));
    let huge: Vec<PageSize> = topology.page_sizes.iter().copied().filter(|s| s.is_huge()).collect();
    let size = match named {
        Some(page) => page.size,
        None if !pages.is_empty() => return Ok(base),
        None if huge.contains(&PageSize::HUGE_2M) => PageSize::HUGE_2M,
        None => *huge.first().ok_or("hugepages are asked for and the host has none")?,
    };
    if size != base && !huge.contains(&size) {
        let known: Vec<String> = huge.iter().map(PageSize::to_string).collect();
        return Err(format!(
            "Unable to find any usable hugetlbfs mount for {} KiB; the host has {}",
            size.bytes() >> 10,
            if known.is_empty() { "no hugepages".to_owned() } else { known.join(", ") }
        ));
    }
    Ok(size)
}

fn page_count(cell: &GuestCell, size: PageSize) -> Result<u64, String> {
    if size.is_huge() && !cell.memory_bytes.is_multiple_of(size.bytes()) {
        return Err(format!(
            "memory of guest node {} is {} bytes, no whole number of {size} pages",
            cell.id, cell.memory_bytes
        ));
    }
    Ok(cell.memory_bytes.div_ceil(size.bytes()))
}

/// QEMU touches preallocated memory from threads that it sets to the CPUs of the memory's nodes,
/// which fails when the emulator may run on none of these.
fn preallocation_allowed(
    domain: &Domain,
    cell: Vnode,
    emulator: &CpuSet,
    topology: &Topology,
) -> Result<(), String> {
    let Some(tuning) = bound(domain, cell) else { return Ok(()) };
    let mut cpus = CpuSet::new();
    for node in tuning.nodes.iter().filter_map(|id| topology.node(id)) {
        cpus.extend(&node.cpus);
    }
    if cpus.is_empty() || !cpus.is_disjoint(emulator) {
        return Ok(());
    }
    Err(format!(
        "Setting CPU affinity failed: Invalid argument: memory of guest node {cell} is preallocated \
         from the CPUs {cpus} of node {}, and the emulator may run on {emulator} alone",
        tuning.nodes
    ))
}

fn no_memory(cell: Vnode, shortage: &Shortage) -> String {
    let Shortage { nodes, size, wanted, free } = shortage;
    let what = if size.is_huge() {
        "preallocating memory failed: Bad address"
    } else {
        "cannot set up guest memory 'pc.ram': Cannot allocate memory"
    };
    format!(
        "{what}: guest node {cell} wants {wanted} pages of {size}, and node {nodes} has {free} free"
    )
}
