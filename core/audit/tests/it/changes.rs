//! What a plan writes is among what it says that it changes.

use crate::case::{defined, good};
use numawise_audit::judge_changes;
use numawise_model::{Change, ChangedPart as Part, Effect, FindingKind};

fn missing(parts: &[Part]) -> Vec<String> {
    let mut plan = good().plan;
    plan.changes = parts.iter().map(|what| Change { what: *what, effect: Effect::Live }).collect();
    let mut guest = defined();
    guest.vcpu_pins.clear();
    guest.cells.clear();
    let found = judge_changes(&plan, &guest).into_iter();
    let detail = |kind| match kind {
        FindingKind::PlanBreaksRule { rule: "changes-cover", detail } => detail,
        other => panic!("{other:?}"),
    };
    found.map(|finding| detail(finding.kind)).collect()
}

#[test]
fn each_difference_is_among_the_changes() {
    assert_eq!(missing(&[Part::VcpuPins, Part::VnumaNodes]), Vec::<String>::new());
    assert_eq!(missing(&[Part::VcpuPins]), ["vNUMA changes, and the plan does not say so"]);
    assert_eq!(
        missing(&[]),
        [
            "the binding of the vCPUs changes, and the plan does not say so",
            "vNUMA changes, and the plan does not say so",
        ]
    );
}
