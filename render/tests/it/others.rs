//! What is said of others who have a say in a guest, and of drift and what mends it.

use crate::hosts::*;
use numawise_model::{
    Finding, FindingKind as F, ForeignOwner, Manager, MemoryMode, Obstacle, Pnode, Severity, Vcpu,
    Vnode,
};
use numawise_render::{Look, text};

fn others_findings() -> Vec<(F, Vec<&'static str>)> {
    let behind = |mode| F::MemoryStaysBehind {
        vnode: Vnode(1),
        mode,
        memory_nodes: nodes("0"),
        cpu_node: Pnode(3),
    };
    let snapshot = Obstacle::SnapshotOfOtherTopology { name: "before".to_owned() };
    vec![
        (
            behind(MemoryMode::Strict),
            vec!["vNUMA node 1", "node 3", "node 0", "strict memory cannot", "--restart"],
        ),
        (behind(MemoryMode::Restrictive), vec!["virsh numatune GUEST --nodeset 3 --live"]),
        (F::ForeignGuest { owner: ForeignOwner::Managed { by: Manager::Nova } }, vec!["Nova"]),
        (F::ForeignGuest { owner: ForeignOwner::Transient }, vec!["transient"]),
        (F::Obstructed { obstacle: Obstacle::ManagedSave }, vec!["saved state"]),
        (F::Obstructed { obstacle: snapshot }, vec!["'before'", "reverting"]),
    ]
}

#[test]
fn findings_about_others_name_their_values() {
    for (kind, values) in others_findings() {
        let said = text::findings(&[Finding::host(Severity::Warning, kind)], &Look::default());
        for value in values {
            assert!(said.contains(value), "'{value}' is missing in: {said}");
        }
    }
}

/// The first way is the same everywhere; virsh finds nobody on a simulated host.
#[test]
fn drift_is_mended_by_the_plan_in_force() {
    let cpus = || Some(cpus("5"));
    let affinity =
        F::ThreadAffinity { vcpu: Vcpu(3), expected: crate::hosts::cpus("35"), seen: cpus() };
    let finding = [Finding::host(Severity::Error, affinity)];
    let real = text::findings(&finding, &Look::default());
    let simulated = text::findings(&finding, &Look { simulated: true, ..Look::default() });
    for said in [&real, &simulated] {
        let first = said.lines().nth(1).expect("a way");
        assert!(first.contains("numawise apply GUEST --live"), "{said}");
    }
    assert!(real.contains("virsh vcpupin GUEST 3 35 --live"), "{real}");
    assert!(simulated.contains("numawise embedded repin GUEST --vcpu 3 --cpus 35"), "{simulated}");
    assert!(!simulated.contains("virsh"), "{simulated}");
}
