//! How findings of a whole host are told: in which order, how gravely, once, and not where nobody
//! could look.

use crate::case::set;
use crate::host_changes::ksm;
use crate::host_scene::{bind_web, l3_as_numa, owner, quiet, rules};
use numawise_model::guest::Balloon;
use numawise_model::{
    AuditRule as R, FindingKind as K, Mode, Package, Severity, Surroundings, Unread,
};
use std::collections::BTreeSet;

#[test]
fn what_nobody_could_read_is_no_finding() {
    for why in [
        Unread::NotOnHost,
        Unread::NotInCapture,
        Unread::Elsewhere,
        Unread::Unreadable { file: "proc/interrupts".to_owned(), why: "denied".to_owned() },
    ] {
        let mut scene = quiet();
        scene.surroundings = Surroundings::unread(&why);
        assert_eq!(scene.judged(), [], "{why:?}");
        let told = scene.surroundings.not_looked_at();
        assert_eq!(told.len(), if why == Unread::NotOnHost { 0 } else { 6 }, "{why:?}");
    }
}

#[test]
fn the_gravest_come_first_and_the_host_before_its_guests() {
    let mut scene = quiet();
    ksm(&mut scene, true, Some(true));
    scene.claim(owner("web"), "0", Mode::Exclusive);
    scene.db_everywhere(|config| config.balloon = Balloon::Implicit);
    scene.pin_web(0, "2,10");
    scene.web.stored.cpu_topology = None;
    scene.surroundings.workqueue_cpus = Ok(set("0-31"));
    let order: Vec<&str> = scene
        .judged()
        .iter()
        .map(|finding| R::of(&finding.kind).expect("a rule of the host").name())
        .collect();
    let wanted = [
        "booked-twice",
        "ksm-across-nodes",
        "resizing-with-vnuma",
        "vcpu-spans-nodes",
        "workqueues-on-pinned-cpus",
    ];
    assert_eq!(order, wanted);
}

#[test]
fn two_owners_of_a_cpu_are_told_once() {
    let mut scene = quiet();
    scene.claim(owner("web"), "0", Mode::Exclusive);
    // As web's verification would tell it.
    scene.knows(Severity::Error, K::ExclusiveCpusShared { cpus: set("0"), with: owner("db") });
    let findings = scene.judged();
    assert_eq!(findings.len(), 1, "{findings:#?}");
}

#[test]
fn isolated_cpus_make_disturbance_graver() {
    for (isolated, wanted) in [("", Severity::Info), ("0-1,16-17", Severity::Warning)] {
        let mut scene = quiet();
        scene.host.topology.isolated = Some(set(isolated));
        scene.surroundings.workqueue_cpus = Ok(set("0-31"));
        let severities: Vec<Severity> = scene.judged().iter().map(|f| f.severity).collect();
        assert_eq!(severities, [wanted], "{isolated}");
    }
}

#[test]
fn a_helper_on_its_own_guests_cpus_is_a_remark_and_on_anothers_a_warning() {
    for (pin, wanted) in [("2", Severity::Info), ("0", Severity::Warning)] {
        let mut scene = quiet();
        scene.web.stored.emulator_pin = Some(set(pin));
        let severities: Vec<Severity> = scene.judged().iter().map(|f| f.severity).collect();
        assert_eq!(severities, [wanted], "{pin}");
    }
}

#[test]
fn a_node_of_one_l3_is_no_slice_where_quarters_are_farther() {
    // NPS2 beside L3-as-NUMA: nodes 0 and 1 share a memory, and 2 and 3 of the same package another.
    let mut scene = l3_as_numa();
    let topology = &mut scene.host.topology;
    let all = topology.packages[0].cpus.union(&topology.packages[1].cpus);
    topology.packages = vec![Package { cpus: all, firmware_id: Some(0) }];
    assert_eq!(rules(&scene.judged()), BTreeSet::new());
    bind_web(&mut scene, "0");
    assert_eq!(rules(&scene.judged()), BTreeSet::from(["memory-on-a-slice"]));
}
