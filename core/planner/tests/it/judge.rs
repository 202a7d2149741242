//! What must be true of any plan, told from the inputs alone: plain sets and loops, nothing of the
//! planner's, so that a mistake there is not made here as well.

use crate::scene::Scene;
use numawise_model::{Mode, Plan, Policy, Vcpu, VnumaNode};
use std::collections::{BTreeMap, BTreeSet};

type Cpus = BTreeSet<u32>;

pub struct Judge {
    /// Free by the words of the essay, reserved CPUs among them.
    pub free: Cpus,
    /// What others hold alone; what others hold at all.
    exclusive: Cpus,
    claimed: Cpus,
    node_of: BTreeMap<u32, u32>,
    core_of: BTreeMap<u32, u32>,
}

impl Judge {
    pub fn of(scene: &Scene) -> Self {
        let topology = &scene.host.topology;
        let me = scene.guest.as_ref().and_then(|guest| guest.uuid.clone());
        let mut node_of = BTreeMap::new();
        for node in &topology.nodes {
            for cpu in node.cpus.iter() {
                node_of.entry(cpu.0).or_insert(node.id.0);
            }
        }
        let mut core_of = BTreeMap::new();
        for (number, core) in (0..).zip(&topology.cores) {
            core_of.extend(core.cpus.iter().map(|cpu| (cpu.0, number)));
        }
        let (mut exclusive, mut claimed) = (Cpus::new(), Cpus::new());
        for claim in &scene.ledger.claims {
            if me.as_ref().is_some_and(|me| claim.owner.is_guest(me)) {
                continue;
            }
            claimed.extend(claim.cpus.iter().map(|cpu| cpu.0));
            if claim.mode == Mode::Exclusive {
                exclusive.extend(claim.cpus.iter().map(|cpu| cpu.0));
            }
        }
        let (pool, against) = match scene.request.shared {
            true => (&scene.pools.shared, &exclusive),
            false => (&scene.pools.dedicated, &claimed),
        };
        let is_free = |cpu: &u32| {
            let id = numawise_model::Pcpu(*cpu);
            topology.allowed.cpus.contains(id)
                && node_of.contains_key(cpu)
                && pool.as_ref().is_none_or(|pool| pool.contains(id))
                && !against.contains(cpu)
        };
        let free = topology.online.iter().map(|cpu| cpu.0).filter(is_free).collect();
        Self { free, exclusive, claimed, node_of, core_of }
    }

    /// The order of the published rule, by sorting.
    pub fn smart_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = self.free.iter().copied().collect();
        order.sort_by_key(|cpu| {
            (std::cmp::Reverse(self.node_of[cpu]), self.core_of.get(cpu).copied(), *cpu)
        });
        order
    }

    pub fn no_cpu_is_given_twice(&self, plan: &Plan) {
        for claim in &plan.claims {
            for cpu in claim.cpus.iter() {
                assert!(!self.exclusive.contains(&cpu.0), "{cpu} is somebody's alone");
                if claim.mode == Mode::Exclusive {
                    assert!(!self.claimed.contains(&cpu.0), "{cpu} is in use by others");
                }
            }
        }
        let claimed: Cpus = plan.claims.iter().flat_map(|c| c.cpus.iter().map(|c| c.0)).collect();
        let helpers = plan.helpers.emulator.iter().chain(plan.helpers.iothreads.values());
        for cpus in plan.binding.cpus.values().chain(helpers) {
            assert!(cpus.iter().all(|cpu| claimed.contains(&cpu.0)), "{cpus} is used unclaimed");
        }
    }

    pub fn every_vcpu_is_bound(&self, plan: &Plan) {
        let bound: Vec<u32> = plan.binding.cpus.keys().map(|vcpu| vcpu.0).collect();
        assert_eq!(bound, (0..plan.request.vcpus).collect::<Vec<_>>());
        let mut in_cells = Cpus::new();
        for node in plan.vnuma.iter().flat_map(|vnuma| &vnuma.nodes) {
            for vcpu in node.vcpus.iter() {
                assert!(in_cells.insert(vcpu.0), "{vcpu} is in two vNUMA nodes");
                for cpu in plan.binding.cpus[&vcpu].iter() {
                    assert_eq!(self.node_of[&cpu.0], node.host_node().0, "{vcpu} strays");
                }
            }
        }
        assert!(plan.vnuma.is_none() || in_cells.len() == bound.len());
        for cpus in plan.binding.cpus.values() {
            assert!(!cpus.is_empty() && cpus.iter().all(|cpu| self.free.contains(&cpu.0)));
            let one_to_one = !matches!(plan.request.policy, Policy::Rules(_));
            assert!(!one_to_one || cpus.len() == 1);
        }
    }
}

/// Sums, whole pages, none empty; each less than a page from its due, but that a node due less than
/// one has one, and others gave for it.
pub fn memory_is_shared_fairly(plan: &Plan) {
    let Some(vnuma) = &plan.vnuma else { return };
    let size = plan.request.page_size.bytes();
    let total: u64 = vnuma.nodes.iter().map(|node| node.memory_bytes).sum();
    assert_eq!(total, plan.request.memory_bytes);
    let vcpus = u64::from(plan.request.vcpus);
    // In parts of a page: a whole one has as many parts as the guest has vCPUs.
    let due = |node: &VnumaNode| total / size * node.vcpus.len() as u64;
    let too_little = vnuma.nodes.iter().filter(|node| due(node) < vcpus).count() as u64;
    for node in &vnuma.nodes {
        assert!(node.memory_bytes > 0 && node.memory_bytes.is_multiple_of(size));
        let (has, due) = (node.memory_bytes / size * vcpus, due(node));
        assert!(has < due + vcpus || (due < vcpus && has == vcpus), "{node:?} has too much");
        assert!(has + (1 + too_little) * vcpus > due, "{node:?} has too little");
    }
    let mut claimed: BTreeMap<u32, u64> = BTreeMap::new();
    for node in &vnuma.nodes {
        *claimed.entry(node.memory_node().0).or_default() += node.memory_bytes / size;
    }
    let promised = plan.claims[0].pages.iter();
    let promised: BTreeMap<u32, u64> =
        promised.map(|(node, sizes)| (node.0, sizes.values().sum())).collect();
    assert_eq!(promised, claimed);
}

/// Packages within vNUMA nodes unless capped; a shape that adds up; dies and threads that are true.
pub fn the_cpu_topology_is_true(scene: &Scene, plan: &Plan) {
    let Some(vnuma) = &plan.vnuma else { return };
    let cpu = vnuma.cpu;
    assert_eq!(cpu.vcpus(), Some(plan.request.vcpus));
    let per_die = cpu.cores * cpu.threads;
    let cell_of = |vcpu: u32| {
        let holds = |node: &&numawise_model::VnumaNode| node.vcpus.contains(Vcpu(vcpu));
        vnuma.nodes.iter().find(holds).expect("every vCPU has a node").id
    };
    let vcpus = plan.request.vcpus;
    let crosses_none = |sockets: &u32| {
        let each = vcpus / sockets;
        vcpus.is_multiple_of(*sockets) && (0..vcpus).all(|v| cell_of(v) == cell_of(v / each * each))
    };
    let fewest = (1..=vcpus).find(crosses_none).expect("a socket each crosses nothing");
    if plan.request.max_sockets.is_none_or(|most| most >= fewest) {
        assert_eq!(cpu.sockets, fewest);
    }
    assert!(plan.request.max_sockets.is_none_or(|most| cpu.sockets <= most));
    let pins: Vec<_> = plan.binding.cpus.values().collect();
    let topology = &scene.host.topology;
    for (a, on_a) in pins.iter().enumerate() {
        for (b, on_b) in pins.iter().enumerate() {
            let (Some(cpu_a), Some(cpu_b)) = (on_a.first(), on_b.first()) else { continue };
            if cpu.dies > 1 {
                let same_die = a as u32 / per_die == b as u32 / per_die;
                assert_eq!(same_die, topology.l3_of(cpu_a) == topology.l3_of(cpu_b), "{a} {b}");
            }
            if cpu.threads > 1 {
                let same_core = a as u32 / cpu.threads == b as u32 / cpu.threads;
                assert_eq!(same_core, topology.core_of(cpu_a) == topology.core_of(cpu_b));
                assert!(a == b || cpu_a != cpu_b);
            }
        }
    }
}
