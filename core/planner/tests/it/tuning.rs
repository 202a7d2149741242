//! The properties of a tuning plan, over requests made at random on a kernel that takes every value.

use numawise_model::{
    CpuSet, Host, HostId, HostSettings, Isolation, Moment, PageSize, PathState, Pcpu, Place,
    PlanId, Pnode, Switch, TuningEntry, TuningPlan, TuningRefusal, TuningRequest, parse_mask,
};
use numawise_planner::tuning::{TuningInputs, plan_tuning, same_value, tuning_paths};
use numawise_testkit::{Shape, sysfs_tree};
use proptest::prelude::*;

const GIB: u64 = 1 << 30;
const WORKQUEUES: &str = "/sys/devices/virtual/workqueue/cpumask";
const PARTITION: &str = "/sys/fs/cgroup/machine/cpuset.cpus.partition";

fn host() -> Host {
    let mut shape = Shape::two_nodes(8, 16 * GIB);
    shape.hugepages = [(PageSize::HUGE_2M, 10), (PageSize::HUGE_1G, 0)].into();
    shape.host()
}

/// What the files say before anything is tuned.
fn start(host: &Host) -> HostSettings {
    let mut settings = HostSettings::default();
    for (path, text) in sysfs_tree::files(host) {
        settings.paths.insert(format!("/{path}"), PathState::Text(text));
    }
    for (path, text) in [
        (WORKQUEUES, "ffff\n"),
        ("/proc/irq/default_smp_affinity", "ffff\n"),
        ("/proc/sys/kernel/numa_balancing", "1\n"),
        ("/proc/sys/vm/zone_reclaim_mode", "0\n"),
        ("/sys/kernel/mm/ksm/merge_across_nodes", "1\n"),
        ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n"),
        ("/sys/fs/cgroup/cgroup.subtree_control", "cpuset\n"),
        ("/sys/fs/cgroup/machine/cpuset.cpus", "\n"),
        (PARTITION, "member\n"),
    ] {
        settings.paths.insert(path.to_owned(), PathState::Text(text.to_owned()));
    }
    for folder in ["/sys/fs/cgroup/machine", "/etc/sysctl.d"] {
        settings.paths.insert(folder.to_owned(), PathState::Folder);
    }
    settings
}

fn plan(
    host: &Host,
    settings: &HostSettings,
    request: &TuningRequest,
    in_force: &[TuningEntry],
) -> Result<TuningPlan, Vec<TuningRefusal>> {
    let host_id = HostId("h".to_owned());
    let id = PlanId("p".to_owned());
    plan_tuning(&TuningInputs { id, host_id: &host_id, host, settings, request, in_force })
}

/// A kernel that takes everything, and the entries that an engine would keep.
fn carry_out(settings: &mut HostSettings, plan: &TuningPlan, entries: &mut Vec<TuningEntry>) {
    for change in &plan.changes {
        assert_eq!(settings.at(&change.path), &change.before, "{}", change.path);
        settings.paths.insert(change.path.clone(), change.after.clone());
        let (path, after) = (change.path.clone(), change.after.clone());
        match entries.iter_mut().find(|entry| entry.path == path) {
            Some(entry) => entry.wrote = after,
            None => entries.push(TuningEntry {
                path,
                kind: change.kind,
                before: change.before.clone(),
                wrote: after.clone(),
                seen: after,
            }),
        }
    }
    entries.retain(|entry| !same_value(&entry.path, &entry.before, &entry.wrote));
}

/// Asks for nothing at all.
fn nothing() -> TuningRequest {
    TuningRequest {
        workqueues: Place::Keep,
        interrupts: Place::Keep,
        numa_balancing: Switch::Keep,
        ksm_across_nodes: Switch::Keep,
        zone_reclaim: Switch::Keep,
        ..TuningRequest::default()
    }
}

fn request() -> impl Strategy<Value = TuningRequest> {
    let switch = || prop_oneof![Just(Switch::On), Just(Switch::Off), Just(Switch::Keep)];
    let place = || prop_oneof![Just(Place::HostCpus), Just(Place::Keep)];
    let isolation = prop_oneof![
        Just(Isolation::None),
        Just(Isolation::Partition),
        Just(Isolation::PartitionIsolated),
    ];
    let moment = prop_oneof![Just(Moment::Both), Just(Moment::Now), Just(Moment::Boot)];
    let size = prop_oneof![Just(PageSize::HUGE_2M), Just(PageSize::HUGE_1G)];
    let pools = prop::collection::vec((size, 0u32..2, 0u64..9000), 0..4);
    let settings = (switch(), switch(), switch(), place(), place());
    (pools, 0u32..17, isolation, moment, settings).prop_map(
        |(pools, first, isolation, moment, (numa_balancing, ksm, zone, workqueues, interrupts))| {
            let mut request = TuningRequest {
                guest_cpus: (first..16).map(Pcpu).collect(),
                isolation,
                moment,
                numa_balancing,
                ksm_across_nodes: ksm,
                zone_reclaim: zone,
                workqueues,
                interrupts,
                ..TuningRequest::default()
            };
            for (size, node, pages) in pools {
                let pages = if size == PageSize::HUGE_1G { pages % 20 } else { pages };
                request.hugepages.entry(size).or_default().insert(Pnode(node), pages);
            }
            request
        },
    )
}

/// Pages and bytes that a node would have in its pools.
fn asked_bytes(host: &Host, request: &TuningRequest, node: Pnode) -> u64 {
    let pools = &host.levels.nodes[&node].hugepages;
    let pages =
        |size: &PageSize| request.hugepages.get(size).and_then(|pools| pools.get(&node)).copied();
    pools.iter().map(|(size, pool)| pages(size).unwrap_or(pool.total) * size.bytes()).sum()
}

proptest! {
    #[test]
    fn plans_are_idempotent_reversible_and_never_too_large(first in request(), second in request()) {
        let host = host();
        let before = start(&host);
        let (mut settings, mut entries) = (before.clone(), Vec::new());
        for request in [&first, &second] {
            let fits = [Pnode(0), Pnode(1)].iter().all(|node| {
                request.hugepages.values().all(|pools| !pools.contains_key(node))
                    || asked_bytes(&host, request, *node) <= 16 * GIB
            });
            let guests = &request.guest_cpus;
            let apart = request.isolation == Isolation::None
                || (!guests.is_empty() && guests.len() < 16);
            let planned = plan(&host, &settings, request, &entries);
            // Pools of the first request that the second does not name stand only until then.
            if entries.is_empty() {
                prop_assert_eq!(planned.is_ok(), fits && apart, "{:?}", planned);
            }
            let Ok(planned) = planned else { continue };
            carry_out(&mut settings, &planned, &mut entries);
            let again = plan(&host, &settings, request, &entries).expect("it was planned before");
            prop_assert_eq!(again.changes, []);
            if request.workqueues == Place::HostCpus && request.moment.is_now() {
                let mask = settings.text(WORKQUEUES).expect("a mask");
                let cpus: CpuSet = parse_mask(mask).expect("a mask");
                prop_assert!(!cpus.is_empty());
                prop_assert!(guests.is_disjoint(&cpus) || guests.len() == 16);
            }
        }
        let back = plan(&host, &settings, &nothing(), &entries).expect("nothing is asked");
        carry_out(&mut settings, &back, &mut entries);
        prop_assert_eq!(&entries, &Vec::<TuningEntry>::new());
        settings.paths.retain(|_, state| *state != PathState::Absent);
        prop_assert!(settings.paths.keys().eq(before.paths.keys()), "{:?}", settings);
        for (path, state) in &before.paths {
            prop_assert!(same_value(path, state, settings.at(path)), "{}: {:?}", path, settings.at(path));
        }
    }
}

#[test]
fn a_partition_has_its_cpus_before_it_closes_and_opens_before_it_loses_them() {
    let (host, mut entries) = (host(), Vec::new());
    let mut settings = start(&host);
    let request = TuningRequest {
        guest_cpus: CpuSet::range(2, 15),
        isolation: Isolation::Partition,
        ..nothing()
    };
    let there = plan(&host, &settings, &request, &[]).expect("a plan");
    let order = |plan: &TuningPlan| -> Vec<String> {
        let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
        plan.changes.iter().filter_map(|change| name(&change.path)).collect()
    };
    assert_eq!(order(&there)[1..3], ["cpuset.cpus", "cpuset.cpus.partition"]);
    carry_out(&mut settings, &there, &mut entries);
    let back = plan(&host, &settings, &nothing(), &entries).expect("a plan");
    assert_eq!(order(&back)[..2], ["cpuset.cpus.partition", "cpuset.cpus"]);
}

#[test]
fn paths_that_a_plan_depends_on_hold_all_that_it_writes() {
    let host = host();
    let request = TuningRequest {
        hugepages: [(PageSize::HUGE_2M, [(Pnode(1), 5)].into())].into(),
        guest_cpus: CpuSet::range(2, 15),
        isolation: Isolation::Partition,
        ..TuningRequest::default()
    };
    let planned = plan(&host, &start(&host), &request, &[]).expect("a plan");
    let paths = tuning_paths(&host.topology, &request, &[]);
    for change in &planned.changes {
        assert!(paths.contains(&change.path), "{} is written and was never read", change.path);
    }
}
