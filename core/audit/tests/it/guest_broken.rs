//! A guest that runs as planned, and with one thing changed at a time.

use crate::case::{Case, claim, defined, good, other, own, pages, rules, running, set};
use numawise_audit::{Seen, is_drift, judge_guest};
use numawise_model::guest::{Balloon, GuestHugepages};
use numawise_model::{
    CpuSet, FindingKind, GuestConfig, GuestFacts, GuestFix, Ledger, MemoryMode, Mode, NodeSet,
    Owner, PageSize, Pcpu, Pnode, Severity, Vcpu, Vnode,
};
use std::collections::BTreeMap;

/// A guest in all its forms.
struct Found {
    case: Case,
    stored: GuestConfig,
    live: Option<GuestConfig>,
    facts: Option<GuestFacts>,
    ledger: Ledger,
    /// The definition before the plan, where it is known.
    before: Option<GuestConfig>,
}

impl Found {
    fn as_planned() -> Self {
        let ledger = Ledger { claims: vec![claim(own(), "0-3,8-19,24-31", Mode::Exclusive)] };
        let (live, facts) = (Some(defined()), Some(running()));
        Self { case: good(), stored: defined(), live, facts, ledger, before: None }
    }

    fn live(&mut self) -> &mut GuestConfig {
        self.live.as_mut().expect("it runs")
    }

    fn facts(&mut self) -> &mut GuestFacts {
        self.facts.as_mut().expect("it runs")
    }

    fn memnode(&mut self, vnode: u32) -> &mut (MemoryMode, NodeSet) {
        let tuned = self.stored.numatune.as_mut().expect("memory is bound");
        tuned.memnodes.get_mut(&Vnode(vnode)).expect("a vNUMA node")
    }

    fn judged(&self) -> Vec<numawise_model::Finding> {
        let Self { case, stored, live, facts, ledger, before } = self;
        {
            let (live, facts) = (live.as_ref(), facts.as_ref());
            judge_guest(
                &case.plan,
                Seen { stored, live, facts, earlier: before.as_slice() },
                ledger,
                &case.host,
            )
        }
    }
}

type Change<T> = fn(&mut T);

fn check(change: Change<Found>, expected: &str) {
    let mut seen = Found::as_planned();
    change(&mut seen);
    let findings = seen.judged();
    assert_eq!(rules(&findings), expected, "{findings:#?}");
    let drift = findings.iter().any(is_drift);
    assert_eq!(drift, expected.contains("Error"), "drift is what is an error");
}

#[test]
fn a_guest_as_planned() {
    check(|_| {}, "");
    check(
        |seen| {
            seen.live = None;
            seen.facts = None;
        },
        "",
    );
    // Nobody looked inside, or can tell the pages of the vNUMA nodes apart.
    check(
        |seen| {
            seen.facts().guest_cells = None;
            seen.facts().pages_by_vnode = None;
        },
        "",
    );
}

#[test]
fn the_stored_definition() {
    const PIN: &str = "Error StoredPin";
    const VNUMA: &str = "Error StoredVnuma";
    const HELPER: &str = "Error EmulatorAffinity";
    let table: &[(Change<GuestConfig>, &str)] = &[
        (|g| drop(g.vcpu_pins.insert(Vcpu(3), set("4"))), PIN),
        (|g| drop(g.vcpu_pins.remove(&Vcpu(3))), PIN),
        (|g| drop(g.vcpu_pins.insert(Vcpu(24), set("4"))), PIN),
        (|g| g.emulator_pin = None, HELPER),
        (|g| g.emulator_pin = Some(set("7")), HELPER),
        (|g| drop(g.iothread_pins.insert(1, set("7"))), VNUMA),
        (|g| g.vcpus_max = 32, VNUMA),
        (|g| g.cells.clear(), VNUMA),
        (|g| g.cells[0].vcpus = set("0-14"), VNUMA),
        (|g| g.cells[0].memory_bytes += 4096, VNUMA),
        (|g| *g.cells[0].distances.entry(Vnode(1)).or_default() -= 1, VNUMA),
        (|g| g.cpu_topology = None, VNUMA),
        (|g| g.l3_cache_mode = Some("passthrough".to_owned()), VNUMA),
        (|g| g.l3_cache_mode = None, VNUMA),
        (|g| g.numatune = None, VNUMA),
        (|g| g.hugepages = None, VNUMA),
        (|g| g.hugepages = Some(Vec::new()), VNUMA),
        (
            |g| {
                let (size, vnodes) = (PageSize::HUGE_2M, Some(vec![Vnode(0)]));
                g.hugepages = Some(vec![GuestHugepages { size, vnodes }]);
            },
            VNUMA,
        ),
        (
            |g| g.hugepages = Some(vec![GuestHugepages { size: PageSize::HUGE_1G, vnodes: None }]),
            VNUMA,
        ),
    ];
    for (n, (change, expected)) in table.iter().enumerate() {
        let mut seen = Found::as_planned();
        change(&mut seen.stored);
        // The guest has not been restarted: its live definition is still the planned one.
        assert_eq!(rules(&seen.judged()), *expected, "change {n} to the stored definition");
        // Both have changed: it is said once.
        change(seen.live());
        assert_eq!(rules(&seen.judged()), *expected, "change {n} to both definitions");
    }
}

#[test]
fn the_memory_binding() {
    check(|seen| seen.memnode(0).1 = NodeSet::single(Pnode(0)), "Error StoredVnuma");
    check(|seen| seen.memnode(1).0 = MemoryMode::Preferred, "Error StoredVnuma");
    check(
        |seen| {
            seen.case.plan.request.memory_mode = MemoryMode::Interleave;
            for config in [&mut seen.stored, seen.live.as_mut().expect("it runs")] {
                let tuned = config.numatune.as_mut().expect("memory is bound");
                tuned.memnodes.clear();
                tuned.memory_mode = Some(MemoryMode::Interleave);
                tuned.memory_nodeset = Some(set("0-1"));
            }
            let even = pages(&[(0, PageSize::HUGE_2M, 6144), (1, PageSize::HUGE_2M, 6144)]);
            seen.facts().pages = even;
        },
        "",
    );
}

/// What a fix took out, and what somebody put back.
#[test]
fn fixes_stay() {
    check(
        |seen| {
            seen.case.plan.fixes = vec![
                GuestFix::BalloonOff,
                GuestFix::AllVcpusAtBoot,
                GuestFix::NoMemoryHotplug,
                GuestFix::StaticPlacement,
            ];
        },
        "",
    );
    let put_back: [fn(&mut GuestConfig); 3] = [
        |g| g.balloon = Balloon::Model("virtio".to_owned()),
        |g| g.vcpus_current = 2,
        |g| g.placement_auto = true,
    ];
    for change in put_back {
        let mut seen = Found::as_planned();
        seen.case.plan.fixes =
            vec![GuestFix::BalloonOff, GuestFix::AllVcpusAtBoot, GuestFix::StaticPlacement];
        change(&mut seen.stored);
        assert_eq!(rules(&seen.judged()), "Error StoredVnuma");
    }
}

/// Started before the plan: without pins, without vNUMA, its memory and threads anywhere.
#[test]
fn a_guest_from_before_waits_for_a_restart() {
    check(
        |seen| {
            seen.live = good().guest;
            let anywhere = set("0-31");
            for cpus in seen.facts().vcpu_affinity.values_mut() {
                cpus.clone_from(&anywhere);
            }
            seen.facts().emulator_affinity = Some(anywhere);
            seen.facts().pages_by_vnode = None;
            seen.facts().pages = pages(&[(0, PageSize::BASE_4K, 6 << 20)]);
            seen.facts().guest_cells = Some(Vec::new());
        },
        "Warning PendingRestart",
    );
}

/// Bound elsewhere before: every pin is another one, and the threads are where those say.
#[test]
fn an_old_binding_waits_for_a_restart() {
    let old = |seen: &mut Found| {
        let moved: BTreeMap<Vcpu, _> = (0..24)
            .map(|n| (Vcpu(n), numawise_model::CpuSet::single(Pcpu((n + 4) % 32))))
            .collect();
        seen.live().vcpu_pins.clone_from(&moved);
        seen.facts().vcpu_affinity = moved;
    };
    let mut seen = Found::as_planned();
    old(&mut seen);
    assert_eq!(rules(&seen.judged()), "Warning PendingRestart");
    // And even such a guest can be moved away from what it was started with.
    seen.facts().vcpu_affinity.insert(Vcpu(3), set("0"));
    assert_eq!(rules(&seen.judged()), "Error ThreadAffinity, Warning PendingRestart");
}

#[test]
fn threads_that_were_moved() {
    let table: [(Change<Found>, &str); 5] = [
        (|s| drop(s.facts().vcpu_affinity.insert(Vcpu(3), set("4"))), "Error ThreadAffinity"),
        (|s| drop(s.facts().vcpu_affinity.insert(Vcpu(3), set("4,25"))), "Error ThreadAffinity"),
        (|s| drop(s.facts().vcpu_affinity.remove(&Vcpu(3))), "Error ThreadAffinity"),
        (|s| s.facts().emulator_affinity = Some(set("0-31")), "Error EmulatorAffinity"),
        (
            // `virsh vcpupin --live`: the live definition says so too.
            |s| {
                s.live().vcpu_pins.insert(Vcpu(3), set("4"));
                s.facts().vcpu_affinity.insert(Vcpu(3), set("4"));
            },
            "Error ThreadAffinity",
        ),
    ];
    for (change, expected) in table {
        check(change, expected);
    }
    // Nobody looked at the threads; the live definition is enough.
    check(
        |seen| {
            seen.live().vcpu_pins.insert(Vcpu(3), set("4"));
            seen.facts = None;
        },
        "Error ThreadAffinity",
    );
}

#[test]
fn iothreads() {
    let with_iothread = |seen: &mut Found| {
        seen.case.plan.helpers.iothreads.insert(1, set("7"));
        seen.stored.iothread_pins.insert(1, set("7"));
        seen.live().iothread_pins.insert(1, set("7"));
        seen.facts().iothread_affinity.insert(1, set("7"));
    };
    let mut seen = Found::as_planned();
    with_iothread(&mut seen);
    assert_eq!(rules(&seen.judged()), "");
    seen.facts().iothread_affinity.insert(1, set("0-31"));
    assert_eq!(rules(&seen.judged()), "Error IothreadAffinity");
}

/// libvirt takes no cache element in a `<cpu>` without mode and model, so the plan could write none.
#[test]
fn a_guest_that_cannot_be_shown_its_l3() {
    check(
        |seen| {
            for config in [&mut seen.stored, seen.live.as_mut().expect("it runs")] {
                config.cpu_mode = None;
                config.l3_cache_mode = None;
            }
        },
        "",
    );
}

/// With vNUMA off a guest may have vCPUs that are not plugged in: bound, and without a thread.
#[test]
fn vcpus_that_are_not_plugged_in() {
    let unplug = |seen: &mut Found| {
        seen.stored.vcpus_current = 22;
        seen.live().vcpus_current = 22;
        seen.facts().vcpu_affinity.retain(|vcpu, _| vcpu.0 < 22);
    };
    check(unplug, "");
    let mut seen = Found::as_planned();
    unplug(&mut seen);
    seen.facts().vcpu_affinity.remove(&Vcpu(0));
    assert_eq!(rules(&seen.judged()), "Error ThreadAffinity");
}

/// A pCPU went offline: the kernel let the thread run anywhere.
#[test]
fn a_cpu_that_went_away() {
    check(
        |seen| {
            seen.case.host.topology.online.remove(Pcpu(8));
            let anywhere = seen.case.host.topology.online.clone();
            seen.facts().vcpu_affinity.insert(Vcpu(0), anywhere);
        },
        "Error ThreadAffinity",
    );
    check(
        |seen| {
            seen.case.host.topology.online.remove(Pcpu(8));
        },
        "Error ThreadAffinity",
    );
}

#[test]
fn pages_elsewhere() {
    let mut seen = Found::as_planned();
    let moved = pages(&[(1, PageSize::HUGE_2M, 8185), (0, PageSize::HUGE_2M, 7)]);
    seen.facts().pages_by_vnode.as_mut().expect("by vNUMA node").insert(Vnode(0), moved);
    let findings = seen.judged();
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(finding.severity, Severity::Error);
    let (page_size, pages, of) = (PageSize::HUGE_2M, 7, 8192);
    let (expected, seen_on) = (Pnode(1), Pnode(0));
    let kind = FindingKind::MemoryElsewhere { expected, seen: seen_on, page_size, pages, of };
    assert_eq!(finding.kind, kind);

    seen.case.plan.request.memory_mode = MemoryMode::Preferred;
    for vnode in 0..2 {
        seen.memnode(vnode).0 = MemoryMode::Preferred;
    }
    seen.live.clone_from(&Some(seen.stored.clone()));
    assert_eq!(rules(&seen.judged()), "Warning MemoryElsewhere");
}

/// Pages by node alone: what is too much on node 0 is missing on node 1.
#[test]
fn pages_elsewhere_in_all() {
    let mut seen = Found::as_planned();
    seen.facts().pages_by_vnode = None;
    seen.facts().pages = pages(&[(1, PageSize::HUGE_2M, 8185), (0, PageSize::HUGE_2M, 4103)]);
    let findings = seen.judged();
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    let (page_size, pages_moved, of) = (PageSize::HUGE_2M, 7, 12_288);
    let (expected, seen_on) = (Pnode(1), Pnode(0));
    let kind =
        FindingKind::MemoryElsewhere { expected, seen: seen_on, page_size, pages: pages_moved, of };
    assert_eq!(finding.kind, kind);
    // Half of it touched so far: nothing is wrong.
    seen.facts().pages = pages(&[(1, PageSize::HUGE_2M, 100), (0, PageSize::HUGE_2M, 4096)]);
    assert_eq!(rules(&seen.judged()), "");
}

#[test]
fn others_on_its_pcpus() {
    let shared = "Error ExclusiveCpusShared";
    check(|seen| seen.ledger.claims.push(claim(other(), "3", Mode::Shared)), shared);
    check(|seen| seen.ledger.claims.push(claim(Owner::Reserved, "3", Mode::Exclusive)), shared);
    check(|seen| seen.ledger.claims.push(claim(other(), "4", Mode::Exclusive)), "");
}

#[test]
fn vnuma_off_and_unbound() {
    let off = |seen: &mut Found| {
        seen.case.plan.vnuma = None;
        seen.case.plan.request.vnuma = false;
        seen.stored.cells.clear();
        seen.stored.numatune = None;
    };
    let mut seen = Found::as_planned();
    off(&mut seen);
    assert_eq!(rules(&seen.judged()), "Warning PendingRestart", "it still runs with vNUMA");
    seen.live = Some(seen.stored.clone());
    assert_eq!(rules(&seen.judged()), "");

    seen.case.plan.binding.cpus.clear();
    seen.case.plan.helpers.emulator = None;
    seen.stored.emulator_pin = None;
    seen.live = None;
    seen.facts = None;
    assert_eq!(rules(&seen.judged()), "Error StoredPin");
    seen.stored.vcpu_pins.clear();
    assert_eq!(rules(&seen.judged()), "");
}

/// One pin of many differs: a guest that has just the pins from before the plan waits for its
/// restart; the same pin without such a past has been moved.
#[test]
fn a_small_change_that_waits_is_no_drift() {
    fn moved(found: &mut Found) {
        let live = found.live();
        live.vcpu_pins.insert(Vcpu(0), CpuSet::single(Pcpu(5)));
        let pin = live.vcpu_pins[&Vcpu(0)].clone();
        found.facts().vcpu_affinity.insert(Vcpu(0), pin);
    }
    let mut found = Found::as_planned();
    moved(&mut found);
    assert!(found.judged().iter().any(is_drift), "{:#?}", found.judged());
    found.before = found.live.clone();
    assert!(!found.judged().iter().any(is_drift), "{:#?}", found.judged());
    let waits = |f: &numawise_model::Finding| matches!(f.kind, FindingKind::PendingRestart { .. });
    assert!(found.judged().iter().any(waits), "{:#?}", found.judged());
}
