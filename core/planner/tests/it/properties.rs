//! The properties of the essay, over hosts, ledgers and requests made at random.

use crate::judge::{Judge, memory_is_shared_fairly, the_cpu_topology_is_true};
use crate::scene::{Scene, cpus};
use numawise_model::placement::EmulatorPolicy;
use numawise_model::{
    Best, BindRule, CpuSet, L3Policy, Mode, PageSize, Pcpu, Plan, Pnode, Policy, Refusal,
    SmtPolicy, Vcpu, VcpuSet,
};
use numawise_testkit::{Numbering, Shape};
use proptest::collection::vec;
use proptest::prelude::*;

const NODE_BYTES: u64 = 64 << 20;

/// Small hosts of every nesting, some CPUs offline or forbidden, some nodes without memory.
fn host() -> impl Strategy<Value = numawise_model::Host> {
    let counts = (1u32..3, 1u32..4, 1u32..3, 1u32..5, 1u32..4);
    let gone = (vec(0u32..64, 0..3), vec(0u32..64, 0..3), prop::option::of(0usize..4));
    (counts, any::<bool>(), gone).prop_map(|(counts, apart, (offline, forbidden, bare))| {
        let (packages, nodes_per_package, l3_per_node, cores_per_l3, threads) = counts;
        let numbering = if apart { Numbering::SiblingsApart } else { Numbering::SiblingsAdjacent };
        let hugepages = [(PageSize::HUGE_2M, 16)].into();
        let shape = Shape {
            packages,
            nodes_per_package,
            l3_per_node,
            cores_per_l3,
            threads,
            numbering,
            node_bytes: NODE_BYTES,
            hugepages,
        };
        let mut host = shape.host();
        let topology = &mut host.topology;
        for cpu in offline.into_iter().map(Pcpu).filter(|cpu| cpu.0 > 0) {
            if topology.online.contains(cpu) {
                topology.online.remove(cpu);
                topology.offline.insert(cpu);
                topology.nodes.iter_mut().for_each(|node| node.cpus.remove(cpu));
                topology.cores.iter_mut().for_each(|core| core.cpus.remove(cpu));
                topology.l3_domains.iter_mut().for_each(|domain| domain.cpus.remove(cpu));
                topology.allowed.cpus.remove(cpu);
            }
        }
        topology.cores.retain(|core| !core.cpus.is_empty());
        topology.cores.sort_by_key(|core| core.cpus.first());
        topology.l3_domains.retain(|domain| !domain.cpus.is_empty());
        forbidden.into_iter().for_each(|cpu| topology.allowed.cpus.remove(Pcpu(cpu)));
        if let Some(node) = bare.and_then(|index| topology.nodes.get_mut(index)) {
            node.memory_total_bytes = Some(0);
        }
        host
    })
}

fn some_cpus(most: usize) -> impl Strategy<Value = CpuSet> + Clone {
    vec((0u32..64).prop_map(Pcpu), 0..most).prop_map(|cpus| cpus.into_iter().collect())
}

fn policy(vcpus: u32) -> impl Strategy<Value = Policy> {
    let by_node = vec(0u32..4, vcpus as usize).prop_map(|nodes| {
        let of = |wanted: u32| -> VcpuSet {
            let own = (0..).zip(&nodes).filter(move |(_, node)| **node == wanted);
            own.map(|(vcpu, _)| Vcpu(vcpu)).collect()
        };
        Policy::OnNode((0..4).map(|node| (Pnode(node), of(node))).collect())
    });
    let rules = vec((0u32..16, 1u32..3), vcpus as usize).prop_map(|places| {
        let rule = |(vcpu, (first, count)): (u32, (u32, u32))| BindRule {
            vcpus: VcpuSet::single(Vcpu(vcpu)),
            pcpus: CpuSet::range(first, first + count - 1),
        };
        Policy::Rules((0..).zip(places).map(rule).collect())
    });
    let l3 =
        prop_oneof![Just(L3Policy::Compact), Just(L3Policy::Spread), Just(L3Policy::Exactly(2))];
    let smt = prop::sample::select(vec![
        SmtPolicy::Prefer,
        SmtPolicy::Require,
        SmtPolicy::Isolate,
        SmtPolicy::Avoid,
    ]);
    let vnodes = prop::option::weighted(0.3, 1u32..4);
    let best = (l3, smt, vnodes, any::<bool>()).prop_map(|(l3, smt, vnodes, alone)| {
        let emulator = if alone { EmulatorPolicy::Isolate } else { EmulatorPolicy::Housekeeping };
        Policy::Best(Best { l3, smt, vnodes, emulator, ..Best::default() })
    });
    prop_oneof![3 => Just(Policy::Smart), 1 => by_node, 2 => rules, 3 => best]
}

fn scene() -> impl Strategy<Value = Scene> {
    let claims = vec((0usize..3, some_cpus(8), any::<bool>(), 0u64..8), 0..3);
    let pools = (some_cpus(6), prop::option::weighted(0.2, some_cpus(60)));
    let flags = (any::<[bool; 3]>(), 1u32..3, prop::option::weighted(0.3, 1u32..5));
    (host(), 1u32..12).prop_flat_map(move |(host, vcpus)| {
        let rest = (claims.clone(), pools.clone(), flags.clone(), policy(vcpus), 1u64..20);
        (Just(host), Just(vcpus), rest).prop_map(|(host, vcpus, rest)| {
            let (claims, (reserved, pool), flags, policy, pages) = rest;
            let ([shared, overcommit, huge], cells_per_node, max_sockets) = flags;
            let size = if huge { PageSize::HUGE_2M } else { PageSize::BASE_4K };
            let mut scene = Scene::new(host, vcpus, pages * size.bytes());
            for (who, cpus, exclusive, promised) in claims {
                let mode = if exclusive { Mode::Exclusive } else { Mode::Shared };
                let pages = crate::scene::pages(0, size, promised);
                scene.claim(["db", "web", "mail"][who], &cpus.to_string(), mode, pages);
            }
            scene.pools.reserved = reserved;
            (scene.pools.dedicated, scene.pools.shared) = (pool.clone(), pool);
            let request = &mut scene.request;
            (request.page_size, request.policy) = (size, policy);
            (request.shared, request.overcommit) = (shared, overcommit);
            (request.cells_per_node, request.max_sockets) = (cells_per_node, max_sockets);
            scene
        })
    })
}

impl std::fmt::Debug for Scene {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (nodes, claims) = (&self.host.topology.nodes, &self.ledger.claims);
        write!(f, "{nodes:?}\n{claims:?}\n{:?}\n{:?}", self.pools, self.request)
    }
}

/// Runs `judge` on every plan there is, and makes sure that there are enough of them.
fn on_every_plan(judge: impl Fn(&Scene, &Plan)) {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let counted = std::cell::Cell::new(0);
    let result = runner.run(&scene(), |scene| {
        if let Ok(plan) = scene.plan() {
            counted.set(counted.get() + 1);
            judge(&scene, &plan);
        }
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    let planned = counted.get();
    assert!(planned > 400, "only {planned} of 2000 were planned: nothing was tested");
}

#[test]
fn no_exclusive_pcpu_is_given_twice() {
    on_every_plan(|scene, plan| Judge::of(scene).no_cpu_is_given_twice(plan));
}

#[test]
fn every_vcpu_is_bound_within_one_node() {
    on_every_plan(|scene, plan| Judge::of(scene).every_vcpu_is_bound(plan));
}

#[test]
fn memory_sums_exactly_and_follows_the_vcpus() {
    on_every_plan(|_, plan| memory_is_shared_fairly(plan));
}

#[test]
fn sockets_cross_no_node() {
    on_every_plan(the_cpu_topology_is_true);
}

#[test]
fn the_same_input_gives_the_same_plan() {
    on_every_plan(|scene, plan| assert_eq!(scene.plan().as_ref(), Ok(plan)));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// The pins are the published order, begun again as often as needed; the refusal is there when
    /// the order is too short, and only then.
    #[test]
    fn smart_refuses_if_and_only_if_pcpus_are_short(mut scene in scene()) {
        scene.request.policy = Policy::Smart;
        let order = Judge::of(&scene).smart_order();
        let short = order.len() < scene.request.vcpus as usize;
        let refuse = order.is_empty() || (short && !scene.request.overcommit);
        match scene.plan() {
            Err(refusals) => {
                let told = |r: &Refusal| matches!(r, Refusal::NotEnoughCpus { .. });
                prop_assert_eq!(refusals.iter().any(told), refuse);
            }
            Ok(plan) => {
                prop_assert!(!refuse);
                for (index, cpus) in plan.binding.cpus.values().enumerate() {
                    let expected = Pcpu(order[index % order.len()]);
                    prop_assert_eq!(cpus, &CpuSet::single(expected));
                }
            }
        }
    }

    /// A refusal for memory is a refusal of what is not there, and what is granted is.
    #[test]
    fn memory_is_refused_if_and_only_if_it_is_short(scene in scene()) {
        let size = scene.request.page_size;
        let promised = |node: u32| -> u64 {
            let me = crate::scene::uuid("db");
            let others = scene.ledger.claims.iter().filter(|claim| !claim.owner.is_guest(&me));
            others.filter_map(|claim| claim.pages.get(&Pnode(node))?.get(&size)).sum()
        };
        // 64 MiB a node, of which 16 pages of 2 MiB are a pool: 32 MiB of base pages, all free.
        let total = if size.is_huge() { 16 } else { (NODE_BYTES - (32 << 20)) / 4096 };
        match scene.plan() {
            Err(refusals) => for refusal in refusals {
                if let Refusal::NotEnoughMemory { node, wanted_pages, available_pages, .. } = refusal {
                    prop_assert_eq!(available_pages, total - promised(node.0));
                    prop_assert!(wanted_pages > available_pages);
                }
            }
            Ok(plan) => for (node, sizes) in plan.claims.iter().flat_map(|claim| &claim.pages) {
                prop_assert!(sizes[&size] <= total - promised(node.0));
            }
        }
    }

    /// Hall's theorem by trying every group of vCPUs: over-commit is told if and only if some group
    /// has fewer pCPUs than vCPUs, and every group that is told is one.
    #[test]
    fn over_commit_is_told_if_and_only_if_a_group_is_too_large(
        sets in vec(vec(0u32..6, 1..4), 1..8)
    ) {
        let rules: Vec<CpuSet> =
            sets.iter().map(|set| set.iter().copied().map(Pcpu).collect()).collect();
        let union = |group: u32| {
            let mut cpus = CpuSet::new();
            let chosen = (0..).zip(&rules).filter(|(index, _)| group & (1 << index) != 0);
            chosen.for_each(|(_, rule)| cpus.extend(rule));
            cpus
        };
        let is_overload = |group: u32| group.count_ones() as usize > union(group).len();
        let expected = (1u32..1 << rules.len()).any(is_overload);

        let host = Shape { packages: 1, ..Shape::two_nodes(6, 1 << 40) }.host();
        let mut scene = Scene::new(host, rules.len() as u32, 1 << 30);
        let rule = |(vcpu, pcpus): (u32, &CpuSet)| BindRule {
            vcpus: VcpuSet::single(Vcpu(vcpu)),
            pcpus: pcpus.clone(),
        };
        scene.request.policy = Policy::Rules((0..).zip(&rules).map(rule).collect());
        let refusals = scene.plan().err().into_iter().flatten();
        let mut told = 0;
        for refusal in refusals {
            let Refusal::OvercommitNotAsked { cpus, vcpus } = &refusal else {
                panic!("{refusal:?}");
            };
            told += 1;
            let group = vcpus.iter().fold(0, |group, vcpu| group | 1 << vcpu.0);
            prop_assert!(is_overload(group));
            prop_assert_eq!(cpus, &union(group));
        }
        prop_assert_eq!(told > 0, expected);
    }
}

/// The judges can say no: a plan bent by hand is caught by each of them.
#[test]
fn the_judges_catch_bent_plans() {
    let caught = |bend: &dyn Fn(&mut Scene, &mut Plan), judge: &dyn Fn(&Scene, &Plan)| {
        let mut scene = Scene::new(crate::binding::two_by(4), 6, 6 << 30);
        let mut plan = scene.planned();
        judge(&scene, &plan);
        bend(&mut scene, &mut plan);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| judge(&scene, &plan))).is_err()
    };
    let twice: &dyn Fn(&Scene, &Plan) = &|s, p| Judge::of(s).no_cpu_is_given_twice(p);
    let bound: &dyn Fn(&Scene, &Plan) = &|s, p| Judge::of(s).every_vcpu_is_bound(p);
    let memory: &dyn Fn(&Scene, &Plan) = &|_, p| memory_is_shared_fairly(p);
    let shape: &dyn Fn(&Scene, &Plan) = &the_cpu_topology_is_true;
    let intruder = &|s: &mut Scene, _: &mut Plan| {
        s.held_by("web", "4", Mode::Shared);
    };
    assert!(caught(intruder, twice));
    assert!(caught(&|_, p| drop(p.binding.cpus.insert(Vcpu(0), cpus("0"))), bound));
    assert!(caught(&|_, p| drop(p.binding.cpus.remove(&Vcpu(5))), bound));
    assert!(caught(&|_, p| p.vnuma.as_mut().unwrap().nodes[0].memory_bytes += 4096, memory));
    assert!(caught(
        &|_, p| {
            let nodes = &mut p.vnuma.as_mut().unwrap().nodes;
            nodes[0].memory_bytes -= 1 << 30;
            nodes[1].memory_bytes += 1 << 30;
        },
        memory
    ));
    let two_sockets = &|_: &mut Scene, p: &mut Plan| {
        let cpu = &mut p.vnuma.as_mut().unwrap().cpu;
        (cpu.sockets, cpu.cores) = (2, 3);
    };
    assert!(caught(two_sockets, shape));
}
