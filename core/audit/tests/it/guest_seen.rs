//! What the guest itself sees, what its cgroups leave it, and what nobody looked at.

use crate::case::{claim, defined, good, own, rules, running, set};
use numawise_audit::{Seen, is_drift, judge_guest};
use numawise_model::{
    Finding, FindingKind, GuestConfig, GuestFacts, Ledger, Mode, Sight, Unseen, Vcpu, Vnode,
};

fn judged(facts: &GuestFacts, live: &GuestConfig) -> Vec<Finding> {
    let case = good();
    let ledger = Ledger { claims: vec![claim(own(), "0-3,8-19,24-31", Mode::Exclusive)] };
    let stored = defined();
    let seen = Seen { stored: &stored, live: Some(live), facts: Some(facts), earlier: &[] };
    judge_guest(&case.plan, seen, &ledger, &case.host)
}

/// The facts with one thing changed, judged.
fn changed(change: impl FnOnce(&mut GuestFacts)) -> Vec<Finding> {
    let mut facts = running();
    change(&mut facts);
    judged(&facts, &defined())
}

fn check(change: impl FnOnce(&mut GuestFacts), expected: &str) {
    let findings = changed(change);
    assert_eq!(rules(&findings), expected, "{findings:#?}");
}

#[test]
fn the_guests_own_nodes() {
    type Change = fn(&mut Vec<numawise_model::guest::GuestCell>);
    let table: [(Change, &str); 7] = [
        (|cells| drop(cells.pop()), "Error GuestSeesOtherNodes"),
        (|cells| cells[1].id = Vnode(2), "Error GuestNodeVcpus"),
        (|cells| cells[1].vcpus.remove(Vcpu(23)), "Error GuestNodeVcpus"),
        (|cells| cells[0].distances.extend([(Vnode(1), 20)]), "Error GuestNodeDistances"),
        (|cells| cells[0].distances.retain(|to, _| *to != Vnode(1)), "Error GuestNodeDistances"),
        (|cells| cells[1].memory_bytes += 4096, "Error GuestNodeMemory"),
        (|cells| cells[1].memory_bytes /= 2, "Error GuestNodeMemory"),
    ];
    for (change, expected) in table {
        check(|facts| change(facts.guest_cells.as_mut().expect("asked")), expected);
    }
}

/// The plan shows an L3 to each die of the guest; where it names a level, to that.
#[test]
fn the_l3s_that_the_guest_sees() {
    let groups = |each: u32| {
        let firsts = (0..24).step_by(each as usize);
        firsts.map(|first| numawise_model::VcpuSet::range(first, first + each - 1)).collect()
    };
    let cpu = good().plan.vnuma.expect("vNUMA is on").cpu;
    let die = cpu.clusters * cpu.cores * cpu.threads;
    check(|facts| facts.guest_l3 = Some(groups(die)), "");
    check(|facts| facts.guest_l3 = Some(groups(2)), "Warning GuestSeesOtherL3");
    check(|facts| facts.guest_l3 = Some(Vec::new()), "Warning GuestSeesOtherL3");
    check(|facts| facts.guest_l3 = None, "");
}

/// 8 GiB: a 32nd (256 MiB) and 512 MiB may be the guest kernel's.
#[test]
fn a_guest_kernel_keeps_some_memory_for_itself() {
    let less = |bytes: u64| {
        move |facts: &mut GuestFacts| {
            facts.guest_cells.as_mut().expect("asked")[1].memory_bytes -= bytes;
        }
    };
    check(less(768 << 20), "");
    check(less((768 << 20) + 4096), "Error GuestNodeMemory");
}

#[test]
fn a_cgroup_without_the_bound_pcpus() {
    let in_cgroup = |cpus: &'static str| {
        move |facts: &mut GuestFacts| drop(facts.vcpu_cgroup.insert(Vcpu(3), set(cpus)))
    };
    // vCPU 3 is bound to pCPU 25.
    check(in_cgroup("25"), "");
    check(in_cgroup("0-31"), "");
    check(in_cgroup("0-15"), "Error CgroupKeepsOut");
    let findings = changed(in_cgroup("0-15"));
    let (expected, cgroup) = (set("25"), set("0-15"));
    let kind = FindingKind::CgroupKeepsOut { vcpu: Vcpu(3), expected, cgroup };
    assert_eq!(findings[0].kind, kind);

    // `virsh vcpupin --live` sets the cgroup too: that is told once, as the affinity that it is.
    let (mut live, mut facts) = (defined(), running());
    live.vcpu_pins.insert(Vcpu(3), set("5"));
    facts.vcpu_cgroup.insert(Vcpu(3), set("5"));
    facts.vcpu_affinity.insert(Vcpu(3), set("5"));
    assert_eq!(rules(&judged(&facts, &live)), "Error ThreadAffinity");
}

#[test]
fn what_nobody_looked_at_is_told_and_is_no_drift() {
    let blind = |facts: &mut GuestFacts| {
        let unseen = |what| Unseen { what, why: "from afar".to_owned() };
        let all = [Sight::Threads, Sight::Pages, Sight::GuestNodes];
        *facts = GuestFacts { unseen: all.map(unseen).into(), ..GuestFacts::default() };
    };
    check(blind, "Info NotVerified");
    let findings = changed(blind);
    assert_eq!(findings.len(), 3);
    assert!(!findings.iter().any(is_drift));
}
