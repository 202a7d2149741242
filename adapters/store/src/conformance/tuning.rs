//! The tuning of a host: one record, every byte of it, and plans that never change.

use super::{Open, ok};
use numawise_model::{
    ChangeKind, CpuSet, Expectation, HostId, Isolation, Moment, PageSize, PathState, Place, PlanId,
    Pnode, Setting, Switch, TuningChange, TuningEntry, TuningFinding, TuningOperation, TuningPlan,
    TuningReason, TuningRecord, TuningRequest,
};
use std::collections::BTreeMap;

pub fn records_come_back_whole(open: Open<'_>) {
    let (host, other) = (HostId("tuned".to_owned()), HostId("not-tuned".to_owned()));
    let mut record = TuningRecord {
        plan: Some(PlanId("tuning-1".to_owned())),
        in_force: vec![TuningEntry {
            path: "/etc/sysctl.d/60-numawise.conf".to_owned(),
            kind: ChangeKind::Persistent,
            before: text("no line end, \r\n, 'quotes', \u{1f40b}\t"),
            wrote: text("kernel.numa_balancing = 0\n"),
            seen: PathState::Absent,
        }],
        operation: Some(TuningOperation {
            undo: true,
            plan: PlanId("tuning-2".to_owned()),
            changes: plan().changes,
            begun: 2,
        }),
    };
    ok(open().save_tuning(&host, &record));
    assert_eq!(ok(open().tuning(&host)), record);
    assert_eq!(ok(open().tuning(&other)), TuningRecord::default());
    record.operation = None;
    ok(open().save_tuning(&host, &record));
    assert_eq!(ok(open().tuning(&host)), record);
    ok(open().save_tuning(&host, &TuningRecord::default()));
    assert_eq!(ok(open().tuning(&host)), TuningRecord::default());
}

pub fn plans_never_change(open: Open<'_>) {
    let plan = plan();
    ok(open().save_tuning_plan(&plan));
    assert_eq!(ok(open().tuning_plan(&plan.id)), Some(plan.clone()));
    ok(open().save_tuning_plan(&plan));
    let other = TuningPlan { changes: Vec::new(), ..plan.clone() };
    let error = open().save_tuning_plan(&other).expect_err("a plan was overwritten").to_string();
    assert!(error.contains("tuning-kept"), "{error}");
    assert_eq!(ok(open().tuning_plan(&plan.id)), Some(plan));
}

fn text(text: &str) -> PathState {
    PathState::Text(text.to_owned())
}

fn plan() -> TuningPlan {
    let path = "/sys/fs/cgroup/machine".to_owned();
    let change = |before, after, why| {
        let (path, kind) = (path.clone(), ChangeKind::Runtime);
        TuningChange { path, kind, before, after, why }
    };
    let (node, size) = (Pnode(3), PageSize::HUGE_2M);
    TuningPlan {
        id: PlanId("tuning-kept".to_owned()),
        host: HostId("tuned".to_owned()),
        request: TuningRequest {
            hugepages: BTreeMap::from([(size, BTreeMap::from([(node, u64::from(u32::MAX) * 4)]))]),
            guest_cpus: CpuSet::range(2, 8191),
            isolation: Isolation::PartitionIsolated,
            guest_cgroup: Some("machine".to_owned()),
            workqueues: Place::Keep,
            interrupts: Place::HostCpus,
            numa_balancing: Switch::Keep,
            ksm_across_nodes: Switch::On,
            zone_reclaim: Switch::Off,
            moment: Moment::Boot,
        },
        changes: vec![
            change(PathState::Absent, PathState::Folder, TuningReason::GuestCgroup),
            change(text("0\n"), text("7"), TuningReason::Hugepages { node, size, pages: 7 }),
        ],
        expects: vec![Expectation { path: path.clone(), cpus: CpuSet::range(0, 1) }],
        findings: vec![
            TuningFinding::Missing { path: path.clone(), what: Setting::ZoneReclaim },
            TuningFinding::HugepagesShort { node, size, wanted: 7, got: 5 },
            TuningFinding::NotInEffect { path, wanted: CpuSet::range(0, 1), seen: None },
        ],
    }
}
