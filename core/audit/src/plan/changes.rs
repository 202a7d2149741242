//! What a plan says that it changes, and when.

use super::Case;
use crate::guest::definition::{Aspect, differences};
use numawise_model::{
    ChangedPart as Part, Effect, Finding, FindingKind, GuestConfig, Plan, Severity,
};

impl Case<'_> {
    pub(super) fn effects(&mut self) {
        let changes = &self.plan.changes;
        for (at, change) in changes.iter().enumerate() {
            let number = at + 1;
            let is_pin =
                matches!(change.what, Part::VcpuPins | Part::EmulatorPin | Part::IothreadPins);
            let wanted = if is_pin { Effect::Live } else { Effect::NextBoot };
            if change.effect != wanted {
                let when = if is_pin { "may be live" } else { "waits for the next boot" };
                self.broken("change-effect", format!("change {number} {when}, and is said not to"));
            }
            if changes[..at].iter().any(|earlier| earlier.what == change.what) {
                self.broken("change-effect", format!("change {number} is named twice"));
            }
        }
    }
}

/// Whether each difference between the plan and the definition that it was made from is among its
/// changes. Apart from [`super::judge_plan`], since a definition may have moved on when a plan in
/// force is looked at again.
pub fn judge_changes(plan: &Plan, guest: &GuestConfig) -> Vec<Finding> {
    let named = |parts: &[Part]| plan.changes.iter().any(|change| parts.contains(&change.what));
    let mut findings = Vec::new();
    let mut missing: Vec<&'static str> = Vec::new();
    for difference in differences(plan, guest) {
        let covered = match difference.aspect {
            Aspect::VcpuPin => named(&[Part::VcpuPins]),
            Aspect::HelperPin => named(&[Part::EmulatorPin, Part::IothreadPins]),
            Aspect::Vnuma => named(&[
                Part::VnumaNodes,
                Part::GuestCpuTopology,
                Part::MemoryBinding,
                Part::Hugepages,
            ]),
            Aspect::Guest => plan.changes.iter().any(|c| matches!(c.what, Part::Fix(_))),
        };
        if !covered && !missing.contains(&difference.aspect.word()) {
            missing.push(difference.aspect.word());
        }
    }
    for word in missing {
        let detail = format!("{word} changes, and the plan does not say so");
        let kind = FindingKind::PlanBreaksRule { rule: "changes-cover", detail };
        findings.push(Finding::plan(Severity::Error, kind));
    }
    findings
}
