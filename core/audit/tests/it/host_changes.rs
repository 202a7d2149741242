//! Changes to the quiet scene that take more than a line.

use crate::case::{GIB, pages, set};
use crate::host_scene::{Scene, bind_web, interrupt, owner};
use numawise_audit::UndefinedGuest;
use numawise_model::{
    FrozenTopology, GuestCpuTopology, GuestUuid, Interrupt, Ksm, MemoryMode, Mode, Node, PageSize,
    Pcpu, Pnode, Vcpu, Vnode,
};

pub fn goes_offline(scene: &mut Scene, cpu: u32) {
    let topology = &mut scene.host.topology;
    topology.online.remove(Pcpu(cpu));
    topology.allowed.cpus.remove(Pcpu(cpu));
    topology.offline.insert(Pcpu(cpu));
}

/// `db` has promised 2,048 pages of node 0, which has 16,384.
pub fn promise(scene: &mut Scene, count: u64) {
    scene.claim(owner("other"), "", Mode::Shared);
    let claim = scene.ledger.claims.last_mut().expect("just made");
    claim.pages = pages(&[(0, PageSize::HUGE_2M, count)]);
}

/// Memory that may go elsewhere is promised nowhere.
pub fn prefer_node_0_for_65_gib(scene: &mut Scene) {
    scene.web.stored.memory_bytes = 65 * GIB;
    let numatune = scene.web.stored.numatune.as_mut().expect("web is bound");
    numatune.memory_mode = Some(MemoryMode::Preferred);
}

pub fn gone(holds: bool) -> UndefinedGuest {
    UndefinedGuest { uuid: GuestUuid("uuid-of-old".to_owned()), name: "old".to_owned(), holds }
}

pub fn frozen_of_db(scene: &Scene) -> FrozenTopology {
    let stored = &scene.db.stored;
    let cpu = stored.cpu_topology.expect("db has a topology");
    FrozenTopology { cells: stored.cells.clone(), cpu, cpu_before: None }
}

/// Where the thread of `db`'s first vCPU may run; without a topology nothing is said of caches.
pub fn affinity(scene: &mut Scene, cpus: &str) {
    scene.db_everywhere(|config| config.cpu_topology = None);
    let facts = scene.db.facts.as_mut().expect("db runs");
    facts.vcpu_affinity.insert(Vcpu(0), set(cpus));
}

pub fn bind_web_to_memory_only_node(scene: &mut Scene) {
    scene.host.topology.nodes.push(Node {
        id: Pnode(2),
        cpus: set(""),
        memory_total_bytes: Some(64 * GIB),
        distances: [(Pnode(0), 14), (Pnode(1), 24), (Pnode(2), 10)].into(),
    });
    bind_web(scene, "2");
}

/// Pages of `db`'s first vNUMA node on node 1.
pub fn stray_pages(scene: &mut Scene, size: PageSize, count: u64) {
    let facts = scene.db.facts.as_mut().expect("db runs");
    let of_first = facts.pages_by_vnode.as_mut().and_then(|by| by.get_mut(&Vnode(0)));
    of_first.expect("told apart").entry(Pnode(1)).or_default().insert(size, count);
}

/// Takes a pCPU out of `db`'s claim.
pub fn give_away(scene: &mut Scene, cpu: u32) {
    scene.ledger.claims[0].cpus.remove(Pcpu(cpu));
}

pub fn isolate(scene: &mut Scene, cpus: &str) {
    scene.host.topology.isolated = Some(set(cpus));
    scene.pin_web(0, cpus);
    scene.web.stored.cpu_topology = None;
}

pub fn dies(dies: u32) -> GuestCpuTopology {
    GuestCpuTopology { sockets: 1, dies, clusters: 1, cores: 2 / dies, threads: 2 }
}

pub fn tell_distance(scene: &mut Scene, distance: u32) {
    scene.db_everywhere(|config| {
        config.cells[0].distances.insert(Vnode(1), distance);
    });
}

pub fn only_allowed(cpus: &str) -> Interrupt {
    let (allowed, effective) = (Some(set(cpus)), None);
    Interrupt { allowed, effective, ..interrupt(44, "old-kernel", "0") }
}

pub fn ksm(scene: &mut Scene, is_running: bool, merges_across_nodes: Option<bool>) {
    scene.surroundings.ksm = Ok(Ksm { is_running, merges_across_nodes });
}
