//! A plan in short: who goes where, what the guest will see, what to know about it; and its reasons.

use super::frame::wrap;
use super::said::findings;
use super::simulated_suffix;
use super::tables::{drawn, plain_table};
use crate::captions::{cut, guest as captions};
use crate::en::{self, labels};
use crate::look::{Look, PlanView};
use crate::quantity::bytes;
use crate::style::Meaning;
use numawise_model::{Plan, Reason, VirtualTopology};

pub fn plan(plan: &Plan, view: &PlanView<'_>) -> String {
    told(plan, view, plan.guest.is_some())
}

/// A plan for a guest that comes from another host. When its changes take effect is no question: on a
/// host that is new to it everything is there from its first moment.
pub fn arrival(plan: &Plan, view: &PlanView<'_>) -> String {
    told(plan, view, false)
}

fn told(plan: &Plan, view: &PlanView<'_>, with_changes: bool) -> String {
    let width = view.look.width.max(60);
    let title = labels::title_plan(&plan.id.0, &plan.host.id.0) + &simulated_suffix(&view.look);
    let mut text = view.look.paint(Meaning::Title, &cut(&title, width)) + "\n";
    text += &lines_of(&summary(plan, view), width);
    text += &virtual_topology(plan, width);
    text += &lines_of(&comparisons(plan), width);
    if with_changes {
        text += &format!("\n{}", changes(plan, &view.look));
    }
    if !plan.findings.is_empty() {
        let look = Look { simulated: false, ..view.look };
        text += &format!("\n{}", findings(&plan.findings, &look));
    }
    text
}

fn summary(plan: &Plan, view: &PlanView<'_>) -> Vec<String> {
    let request = &plan.request;
    let guest = plan.guest.as_ref().map(|g| labels::title_guest(&g.name) + ": ");
    let size = labels::guest_size(request.vcpus, &bytes(request.memory_bytes));
    let mut lines =
        vec![format!("{}{size}; {}", guest.unwrap_or_default(), labels::policy(request))];
    if plan.guest.is_none() {
        lines.push(labels::PLAN_NO_GUEST.to_owned());
    }
    if plan.binding.cpus.is_empty() {
        lines.push(labels::PLAN_UNBOUND.to_owned());
    } else {
        lines.push(labels::plan_memory(request.page_size, request.memory_mode.as_str()));
        lines.extend(captions::binding(&plan.binding.cpus, request.vcpus, view.topology));
        lines.extend(captions::helpers(&plan.helpers));
    }
    lines
}

/// What every plan tells beside its own choice: both ways to use the L3 domains, and how far memory
/// is.
fn comparisons(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for reason in &plan.reasons {
        match reason {
            Reason::SideBySide { compact, spread } => {
                lines.push(labels::side(labels::COMPACT, *compact));
                lines.push(labels::side(labels::SPREAD, *spread));
            }
            Reason::MemoryReach { .. } => lines.push(en::reasons::reason(reason)),
            _ => {}
        }
    }
    lines
}

fn lines_of(lines: &[String], width: usize) -> String {
    lines.iter().flat_map(|line| wrap(line, width, 4)).map(|line| line + "\n").collect()
}

fn virtual_topology(plan: &Plan, width: usize) -> String {
    let mut lines = Vec::new();
    let mut text = String::new();
    match &plan.vnuma {
        Some(vnuma) => {
            text = format!("\n{}", vnuma_table(vnuma, width));
            lines.push(labels::plan_cpu(&vnuma.cpu));
        }
        None => {
            lines.push(labels::PLAN_VNUMA_OFF.to_owned());
            lines.extend(plan.cpu_before.as_ref().map(labels::plan_cpu_back));
        }
    }
    if !plan.fixes.is_empty() {
        lines.push(labels::plan_fixes(&plan.fixes));
    }
    text + &lines_of(&lines, width)
}

fn vnuma_table(vnuma: &VirtualTopology, width: usize) -> String {
    let mut table = plain_table(width);
    table.set_header(labels::VNUMA_TABLE);
    for node in &vnuma.nodes {
        let mut host_node = node.host_nodes.to_string();
        if node.memory_nodes != node.host_nodes {
            host_node += &format!(" ({})", labels::memory_from(&node.memory_nodes));
        }
        table.add_row([
            node.id.to_string(),
            labels::vcpus(&node.vcpus),
            bytes(node.memory_bytes),
            host_node,
            labels::distances(node.distances.values().copied()),
        ]);
    }
    drawn(table)
}

/// What changes of the guest as it is, and when. A plan for a size changes nobody.
pub fn changes(plan: &Plan, look: &Look) -> String {
    if plan.guest.is_none() {
        return String::new();
    }
    if plan.changes.is_empty() {
        return format!("{}\n", labels::NO_CHANGES);
    }
    let mut table = plain_table(look.width);
    table.set_header(labels::CHANGE_TABLE);
    for change in &plan.changes {
        table.add_row([labels::changed_part(change.what), labels::effect(change.effect)]);
    }
    drawn(table)
}

/// Every decision of a plan and what decided it, in order.
pub fn reasons(plan: &Plan, look: &Look) -> String {
    let mut text = look.paint(Meaning::Title, labels::REASONS) + &simulated_suffix(look) + "\n";
    for (index, reason) in plan.reasons.iter().enumerate() {
        let said = match reason {
            Reason::NodeCannot { lack } => {
                en::placement::cannot(lack, Some(plan.request.page_size))
            }
            reason => en::reasons::reason(reason),
        };
        text += &format!("{:>3}. {said}\n", index + 1);
    }
    text
}
