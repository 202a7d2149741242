//! What a refusal names would really fit; where it names nothing, nothing of the kinds it looks
//! at would.

use crate::fit::small_host::{SIZE, topology};
use crate::scene::{Scene, owner};
use numawise_model::placement::{Best, EmulatorPolicy, Split, WouldFit};
use numawise_model::{
    Claim, ClaimId, Host, HugepageLevels, L3Policy, Levels, Mode, NodeLevels, PageCounts, Pcpu,
    Policy, Purpose, Refusal, SmtPolicy, Source,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;

fn best() -> impl Strategy<Value = Best> {
    let smt = prop::sample::select(vec![
        SmtPolicy::Prefer,
        SmtPolicy::Prefer,
        SmtPolicy::Require,
        SmtPolicy::Isolate,
        SmtPolicy::Avoid,
    ]);
    let l3 = prop_oneof![
        3 => Just(L3Policy::Compact),
        1 => Just(L3Policy::Spread),
        1 => (1u32..4).prop_map(L3Policy::Exactly),
    ];
    let split = prop::sample::select(vec![Split::EvenFirst, Split::Even, Split::Even]);
    let rest = (prop::option::weighted(0.3, 1u32..4), prop::bool::weighted(0.2));
    (smt, l3, split, rest).prop_map(|(smt, l3, split, (vnodes, alone))| Best {
        l3,
        smt,
        split,
        vnodes,
        emulator: if alone { EmulatorPolicy::Isolate } else { EmulatorPolicy::Housekeeping },
        ..Best::default()
    })
}

/// A crowded host: up to three guests, pages of two sizes.
fn scene() -> impl Strategy<Value = Scene> {
    let guests = vec((0usize..3, vec(0u32..16, 0..8), 0u64..6), 0..4);
    let pages = vec((0u64..10, 0u64..10), 4);
    (topology(), guests, pages, 1u32..10, 1u64..12, best()).prop_map(
        |(topology, guests, pages, vcpus, wanted, best)| {
            let mut host = Host { topology, ..Host::default() };
            host.levels = Levels::default();
            for (node, (free, base)) in host.topology.nodes.iter().zip(&pages) {
                let pool = HugepageLevels { total: *free, free: *free, reserved: None };
                let levels = NodeLevels {
                    memory_free_bytes: Some(base << 21),
                    hugepages: [(SIZE, pool)].into(),
                    ..NodeLevels::default()
                };
                host.levels.nodes.insert(node.id, levels);
            }
            host.topology.page_sizes = vec![numawise_model::PageSize::BASE_4K, SIZE];
            let online = host.topology.online.clone();
            let first = host.topology.nodes[0].id;
            let mut scene = Scene::new(host, vcpus, wanted * SIZE.bytes());
            scene.guest = None;
            scene.request.page_size = SIZE;
            scene.request.policy = Policy::Best(best);
            for (who, cpus, promised) in guests {
                let taken = scene.ledger.claimed_cpus();
                let cpus = cpus.into_iter().map(Pcpu).filter(|cpu| online.contains(*cpu));
                let cpus = cpus.filter(|cpu| !taken.contains(*cpu)).collect();
                let pages = PageCounts::from([(first, [(SIZE, promised)].into())]);
                scene.ledger.claims.push(Claim {
                    id: ClaimId(format!("{who}")),
                    owner: owner(["web", "mail", "old"][who]),
                    cpus,
                    mode: Mode::Exclusive,
                    purpose: Purpose::Vcpus,
                    pages,
                    source: Source::Numawise,
                });
            }
            scene
        },
    )
}

fn with(scene: &Scene, change: impl FnOnce(&mut Scene, &mut Best)) -> bool {
    let mut changed = Scene {
        smp_cache: None,
        host: scene.host.clone(),
        ledger: scene.ledger.clone(),
        pools: scene.pools.clone(),
        guest: None,
        live: None,
        frozen: None,
        held: scene.held.clone(),
        request: scene.request.clone(),
    };
    let Policy::Best(mut best) = scene.request.policy.clone() else { panic!("a search") };
    change(&mut changed, &mut best);
    changed.request.policy = Policy::Best(best);
    changed.plan().is_ok()
}

/// Whether the request is met after one change.
fn is_met(scene: &Scene, change: &WouldFit) -> bool {
    with(scene, |scene, best| match change {
        WouldFit::FewerVcpus(vcpus) => scene.request.vcpus = *vcpus,
        WouldFit::LessMemory(bytes) => scene.request.memory_bytes = *bytes,
        WouldFit::PageSize(size) => scene.request.page_size = *size,
        WouldFit::UnevenSplit => best.split = Split::EvenFirst,
        WouldFit::AnyVnodes => best.vnodes = None,
        WouldFit::Smt(smt) => best.smt = *smt,
        WouldFit::DevicesPreferred => {
            best.devices = numawise_model::placement::DevicePolicy::Preferred
        }
        WouldFit::L3Compact => best.l3 = L3Policy::Compact,
        WouldFit::SharedEmulator => best.emulator = EmulatorPolicy::Housekeeping,
        WouldFit::WithoutGuest { name } => {
            let gone = owner(name);
            for claim in scene.ledger.claims.iter().filter(|claim| claim.owner == gone) {
                for (node, sizes) in &claim.pages {
                    let levels = scene.host.levels.nodes.get_mut(node).expect("a node");
                    let pool = levels.hugepages.get_mut(&SIZE).expect("a pool");
                    pool.free = (pool.free + sizes[&SIZE]).min(pool.total);
                }
            }
            scene.ledger.claims.retain(|claim| claim.owner != gone);
        }
    })
}

/// Larger sizes than the one that is named.
fn nearer(scene: &Scene, change: &WouldFit) -> Vec<WouldFit> {
    let size = scene.request.page_size.bytes();
    match change {
        WouldFit::FewerVcpus(most) => {
            (most + 1..scene.request.vcpus).map(WouldFit::FewerVcpus).collect()
        }
        WouldFit::LessMemory(most) => {
            let larger = most / size + 1..scene.request.memory_bytes / size;
            larger.map(|pages| WouldFit::LessMemory(pages * size)).collect()
        }
        _ => Vec::new(),
    }
}

/// Every change of the kinds that a refusal may name.
fn every_change(scene: &Scene) -> Vec<WouldFit> {
    let size = scene.request.page_size.bytes();
    let mut all: Vec<WouldFit> = (1..scene.request.vcpus).map(WouldFit::FewerVcpus).collect();
    let pages = scene.request.memory_bytes / size;
    all.extend((1..pages).map(|pages| WouldFit::LessMemory(pages * size)));
    all.push(WouldFit::PageSize(numawise_model::PageSize::BASE_4K));
    all.push(WouldFit::UnevenSplit);
    for name in ["web", "mail", "old"] {
        if scene.ledger.claims.iter().any(|claim| claim.owner == owner(name)) {
            all.push(WouldFit::WithoutGuest { name: name.to_owned() });
        }
    }
    all
}

#[test]
fn what_a_refusal_names_is_accepted_and_none_means_none() {
    let refused = Cell::new(0);
    let without_a_way = Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 40_000,
        failure_persistence: None,
        max_shrink_iters: 5_000,
        max_local_rejects: 1_000_000,
        ..ProptestConfig::default()
    });
    let result = runner.run(&scene(), |scene| {
        if refused.get() >= 10_000 {
            return Ok(());
        }
        let Err(refusals) = scene.plan() else { return Ok(()) };
        let named = refusals.iter().find_map(|refusal| match refusal {
            Refusal::NoPlace { would_fit, .. } => Some(would_fit),
            _ => None,
        });
        let Some(named) = named else { return Ok(()) };
        refused.set(refused.get() + 1);
        for change in named {
            prop_assert!(is_met(&scene, change), "{change:?} is named and does not help");
            for nearer in nearer(&scene, change) {
                prop_assert!(!is_met(&scene, &nearer), "{nearer:?} is nearer than {change:?}");
            }
        }
        if named.is_empty() {
            without_a_way.set(without_a_way.get() + 1);
            for change in every_change(&scene) {
                prop_assert!(!is_met(&scene, &change), "{change:?} would have helped");
            }
        }
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    let (refused, none) = (refused.get(), without_a_way.get());
    assert!(refused >= 10_000 && none > 20, "{refused} refusals, {none} without a way");
}
