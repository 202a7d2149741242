//! What a finding says. One function per rule: those of a host's firmware and kernel, of a plan, and
//! of a guest have a file each.

mod audit;
mod guest;
mod host;
mod plan;

use super::{Said, obstacles};
use numawise_model::finding::FindingKind as K;
use numawise_model::{Finding, Severity, Sight, Subject, Unseen};

pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// What stands before the sentence; a host and a plan are clear from where the finding is shown.
/// What is said of a finding, with the name of the guest that it is about where a remedy wants one.
pub fn of(finding: &Finding, simulated: bool) -> Said {
    let mut said = self::finding(&finding.kind, simulated);
    if let Subject::Guest { name, .. } = &finding.subject {
        for way in &mut said.ways {
            *way = way.replace("GUEST", name);
        }
    }
    said
}

pub fn subject(subject: &Subject) -> Option<String> {
    match subject {
        Subject::Host | Subject::Plan => None,
        Subject::Guest { name, .. } => Some(format!("guest {name}")),
    }
}

/// `agrees with its plan: stored XML, live XML and threads; not looked at: pages: ...`.
pub fn agreement(unseen: &[Unseen]) -> String {
    let is_unseen = |what: Sight| unseen.iter().any(|u| u.what == what);
    let mut looked_at = vec!["stored XML", "live XML"];
    let sights = [(Sight::Threads, "threads"), (Sight::Pages, "pages")];
    looked_at.extend(sights.iter().filter(|(what, _)| !is_unseen(*what)).map(|(_, word)| *word));
    let last = looked_at.pop().unwrap_or_default();
    let mut text = format!("agrees with its plan: {} and {last}", looked_at.join(", "));
    // What has one reason is told together.
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for Unseen { what, why } in unseen {
        let word = sight(*what);
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, words)) if words.contains(&word) => {}
            Some((_, words)) => words.push(word),
            None => reasons.push((why, vec![word])),
        }
    }
    for (why, words) in reasons {
        text += &format!("; not looked at: {}: {why}", words.join(" and "));
    }
    text
}

pub fn sight(what: Sight) -> &'static str {
    match what {
        Sight::Threads => "threads",
        Sight::Pages => "pages",
        Sight::GuestNodes => "what the guest sees",
    }
}

/// `simulated`: what to do is said for the simulated host, where virsh finds nobody.
#[expect(
    clippy::too_many_lines,
    reason = "one line for each kind; cut in two, the compiler would no longer see that none is missing"
)]
pub fn finding(kind: &K, simulated: bool) -> Said {
    match kind {
        K::ListMapMismatch { file, list, map } => host::list_map_mismatch(file, list, map),
        K::CpusInSeveralNodes { cpus, nodes } => host::cpus_in_several_nodes(cpus, nodes),
        K::CpusInNoNode { cpus } => host::cpus_in_no_node(cpus),
        K::DistanceColumns { node, columns, online_nodes } => {
            host::distance_columns(*node, *columns, *online_nodes)
        }
        K::SelfDistanceNotSmallest { node } => host::self_distance_not_smallest(*node),
        K::DistanceAsymmetric { a, b, there, back } => {
            host::distance_asymmetric(*a, *b, *there, *back)
        }
        K::DistancesMissing => host::distances_missing(),
        K::NodeMemoryUnknown { nodes } => host::node_memory_unknown(nodes),
        K::CpuNodeWithoutMemory { nodes } => host::cpu_node_without_memory(nodes),
        K::MemoryOnlyNodes { nodes } => host::memory_only_nodes(nodes),
        K::MaskNamesOffline { file, cpus } => host::mask_names_offline(file, cpus),
        K::BadMask { file, cpu } => host::bad_mask(file, *cpu),
        K::OverlappingSets { what, a, b } => host::overlapping_sets(*what, a, b),
        K::NoL3 { cpus } => host::no_l3(cpus),
        K::L3SpansNodes { cpus, nodes } => host::l3_spans_nodes(cpus, nodes),
        K::NodeSpansPackages { node, packages } => host::node_spans_packages(*node, *packages),
        K::MixedSmtWidths { widths } => host::mixed_smt_widths(widths),
        K::UnequalL3 { sizes } => host::unequal_l3(sizes),
        K::NodesAreL3Domains => host::nodes_are_l3_domains(),
        K::RunsUnderHypervisor { vendor } => host::runs_under_hypervisor(vendor.as_deref()),
        K::FakeNuma { argument } => host::fake_numa(argument),
        K::AllowedCpusOutsideAllowedNodes { cpus, memory_nodes } => {
            host::allowed_cpus_outside_allowed_nodes(cpus, memory_nodes)
        }
        K::OnlineWithoutDirectory { cpus } => host::online_without_directory(cpus),
        K::NotBelieved { file, value, wanted } => host::not_believed(file, value, wanted),
        K::UsesReservedCpus { cpus } => plan::uses_reserved_cpus(cpus),
        K::UsesIsolatedCpus { cpus } => plan::uses_isolated_cpus(cpus),
        K::IsolatedInWideMask { vcpu, cpus } => plan::isolated_in_wide_mask(*vcpu, cpus),
        K::Overcommitted { cpus, vcpus } => plan::overcommitted(cpus, vcpus),
        K::SharesCpus { cpus, with } => plan::shares_cpus(cpus, with),
        K::SmtNotAvoided { nodes } => plan::smt_not_avoided(nodes),
        K::L3SharesUnequal { vcpus } => plan::l3_shares_unequal(vcpus),
        K::NotProvenBest { distance, bound } => plan::not_proven_best(*distance, *bound),
        K::EmulatorBesideVcpus { cpus } => plan::emulator_beside_vcpus(cpus),
        K::EmulatorOnVcpuCpus { cpus } => plan::emulator_on_vcpu_cpus(cpus),
        K::EmulatorLacksMemoryNode { node } => plan::emulator_lacks_memory_node(*node),
        K::PrefillWithoutCpus { node } => plan::prefill_without_cpus(*node),
        K::MaxSocketsCrossesNodes { sockets, vnode } => plan::max_sockets(*sockets, *vnode),
        K::GuestL3Differs { host_domains: h, guest_domains: g } => plan::guest_l3_differs(*h, *g),
        K::GuestL3Untold { why } => plan::guest_l3_untold(why),
        K::GuestSmtHidden { host_threads } => plan::guest_smt_hidden(*host_threads),
        K::VcpusInterleaved { vnode } => plan::vcpus_interleaved(*vnode),
        K::CellsShareNode { node, cells } => plan::cells_share_node(*node, *cells),
        K::MemoryUnchecked { node } => plan::memory_unchecked(*node),
        K::MemoryOnOtherNode { vnode, cpu_node, memory_node } => {
            plan::memory_on_other_node(*vnode, *cpu_node, *memory_node)
        }
        K::RuleOrder { rule, cpus } => plan::rule_order(rule, cpus),
        K::SmtSiblingOfAnother { cpu, sibling, owner } => plan::sibling(*cpu, *sibling, owner),
        K::UnpinnedGuest { name } => plan::unpinned_guest(name),
        K::PlanBreaksRule { rule, detail } => plan::plan_breaks_rule(rule, detail),
        K::StoredPin { vcpu, expected, seen } => guest::stored_pin(*vcpu, expected, seen.as_ref()),
        K::StoredVnuma { what, expected, seen } => guest::stored_vnuma(what, expected, seen),
        K::PendingRestart { what } => guest::pending_restart(what),
        K::ThreadAffinity { vcpu, expected, seen } => {
            guest::thread_affinity(*vcpu, expected, seen.as_ref(), simulated)
        }
        K::EmulatorAffinity { expected, seen } => {
            guest::emulator(expected, seen.as_ref(), simulated)
        }
        K::IothreadAffinity { iothread, expected, seen } => {
            guest::iothread(*iothread, expected, seen.as_ref(), simulated)
        }
        K::MemoryElsewhere { expected, seen, page_size, pages, of } => {
            guest::Elsewhere { expected: *expected, seen: *seen, size: *page_size, pages: *pages }
                .said(*of, simulated)
        }
        K::GuestSeesOtherNodes { expected, seen } => guest::sees_other_nodes(*expected, *seen),
        K::GuestNodeVcpus { vnode, expected, seen } => {
            guest::sees_other_vcpus(*vnode, expected, seen)
        }
        K::GuestNodeDistances { vnode, expected, seen } => {
            guest::sees_other_distances(*vnode, expected, seen)
        }
        K::GuestSeesOtherL3 { expected, seen } => guest::other_l3(expected, seen),
        K::GuestNodeMemory { vnode, expected_bytes, seen_bytes } => {
            guest::sees_other_memory(*vnode, *expected_bytes, *seen_bytes)
        }
        K::GuestUndefined => guest::undefined(),
        K::GuestUnreadable { why } => guest::guest_unreadable(why),
        K::HostTopologyChanged => guest::host_topology_changed(),
        K::ClaimedCpusGone { cpus } => guest::claimed_cpus_gone(cpus),
        K::ExclusiveCpusShared { cpus, with } => guest::exclusive_cpus_shared(cpus, with),
        K::VnodeWithoutMemory { vnode } => guest::vnode_without_memory(*vnode),
        K::NotVerified { what, why } => guest::not_verified(*what, why),
        K::CgroupKeepsOut { vcpu, expected, cgroup } => {
            guest::cgroup_keeps_out(*vcpu, expected, cgroup)
        }
        K::MemoryStaysBehind { vnode, mode, memory_nodes, cpu_node } => {
            guest::memory_stays_behind(*vnode, *mode, memory_nodes, *cpu_node)
        }
        K::ForeignGuest { owner } => obstacles::foreign_guest(*owner),
        K::Obstructed { obstacle } => obstacles::obstacle(obstacle),
        K::VcpusSpanNodes { vcpus, cpus, nodes } => audit::vcpus_span_nodes(vcpus, cpus, nodes),
        K::CoresShared { cpus, siblings, with } => audit::cores_shared(cpus, siblings, with),
        K::MemoryAwayFromVcpus { vnode, cpu_nodes, memory_nodes } => {
            audit::memory_away(*vnode, cpu_nodes, memory_nodes)
        }
        K::PagesAwayFromVcpus { vnode, cpu_nodes, seen, away_bytes, of_bytes } => {
            audit::PagesAway { away_bytes: *away_bytes, of_bytes: *of_bytes }
                .said(*vnode, cpu_nodes, seen)
        }
        K::MemoryBoundToSlice { vnode, nodes, of } => audit::memory_on_slice(*vnode, nodes, of),
        K::ResizingWithVnuma { what } => audit::resizing(*what),
        K::GuestL3Spread { vcpus, host_domains: h, guest_domains: g } => {
            audit::guest_l3_spread(vcpus, *h, *g)
        }
        K::HelpersOnPinnedCpus { helper, cpus, of } => {
            audit::helpers_on_pinned(*helper, cpus, of, simulated)
        }
        K::PinnedCpusUnusable { threads, cpus, why } => audit::pins_unusable(threads, cpus, *why),
        K::PagesPromisedTwice { node, page_size, promised, total, to } => {
            audit::pages_promised(*node, *page_size, *promised, *total, to)
        }
        K::MemoryLargerThanNode { node, bound_bytes, node_bytes } => {
            audit::memory_larger_than_node(*node, *bound_bytes, *node_bytes)
        }
        K::IsolatedCpusInMask { vcpus, cpus, isolated } => {
            audit::isolated_in_mask(vcpus, cpus, isolated)
        }
        K::DistancesTold { vnode, told, host } => audit::distances_told(*vnode, told, host),
        K::FrozenWithoutGuest => audit::frozen_without_guest(),
        K::FrozenOtherwise { parts } => audit::frozen_otherwise(parts),
        K::InterruptsOnPinnedCpus { cpus, interrupts } => audit::interrupts(cpus, interrupts),
        K::KernelThreadsOnPinnedCpus { cpus, threads, confined } => {
            audit::kernel_threads(cpus, threads, *confined)
        }
        K::WorkqueuesOnPinnedCpus { cpus, mask } => audit::workqueues(cpus, mask),
        K::NumaBalancingOn => audit::numa_balancing(),
        K::KsmMergesAcrossNodes => audit::ksm(),
        K::ZoneReclaimOn { mode } => audit::zone_reclaim(*mode),
    }
}
