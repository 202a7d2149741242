//! Every rule of an audit in a host where it is the only finding, and in one as near to that as can be
//! where it stays silent.

use crate::case::{GIB, set};
use crate::host_changes::{
    affinity, bind_web_to_memory_only_node, dies, frozen_of_db, give_away, goes_offline, gone,
    isolate, ksm, only_allowed, prefer_node_0_for_65_gib, promise, stray_pages, tell_distance,
};
use crate::host_scene::{
    HOUSEKEEPING, Scene, bind_web, interrupt, l3_as_numa, l3_with_memory, owner, quiet, rules,
    thread,
};
use numawise_model::guest::{Balloon, MaxMemory};
use numawise_model::{
    AuditRule as R, Finding, FindingKind as K, ForeignOwner, Manager, Mode, PageSize, Pcpu,
    Severity, Unread, Vcpu,
};
use std::collections::BTreeSet;

/// What is changed in the quiet scene so that the rule is the only one that finds something, and
/// what is changed instead so that it does not.
type Pair = (fn(&mut Scene), fn(&mut Scene));

/// A rule without a pair does not compile.
#[expect(clippy::too_many_lines, reason = "a table: one or more pairs for each rule")]
fn pairs(rule: R) -> Vec<Pair> {
    match rule {
        R::BookedTwice => vec![
            (
                |s| s.claim(owner("other"), "1", Mode::Shared),
                |s| s.claim(owner("other"), "4", Mode::Shared),
            ),
            (
                |s| s.claim(owner("db"), "2", Mode::Shared),
                |s| s.claim(owner("db"), "0", Mode::Shared),
            ),
        ],
        R::CpusGone => vec![
            (|s| goes_offline(s, 19), |s| goes_offline(s, 20)),
            (
                |s| {
                    s.host.topology.allowed.cpus.remove(Pcpu(30));
                    s.web.stored.emulator_pin = Some(set("7,30"));
                },
                |s| {
                    s.host.topology.allowed.cpus.remove(Pcpu(30));
                    s.web.stored.emulator_pin = Some(set("7,31"));
                },
            ),
            (
                |s| s.web.stored.emulator_pin = Some(set("7,40")),
                |s| s.web.stored.emulator_pin = Some(set("7,31")),
            ),
        ],
        R::PagesPromisedTwice => vec![
            (|s| promise(s, 14_337), |s| promise(s, 14_336)),
            (|s| s.web.stored.memory_bytes = 33 * GIB, |s| s.web.stored.memory_bytes = 32 * GIB),
            (|s| s.web.stored.memory_bytes = 65 * GIB, prefer_node_0_for_65_gib),
        ],
        R::Drift => vec![(
            |s| {
                s.knows(
                    Severity::Error,
                    K::StoredPin { vcpu: Vcpu(0), expected: set("2"), seen: None },
                )
            },
            // Said of a plan only.
            |s| s.knows(Severity::Warning, K::IsolatedInWideMask { vcpu: Vcpu(0), cpus: set("2") }),
        )],
        R::StaleTopology => vec![
            (|s| s.undefined.push(gone(false)), |s| s.web.frozen = Some(frozen_of_db(s))),
            (|s| s.undefined.push(gone(true)), |_| ()),
            (
                |s| {
                    let mut frozen = frozen_of_db(s);
                    frozen.cells[0].memory_bytes += GIB;
                    s.db.frozen = Some(frozen);
                },
                |s| s.db.frozen = Some(frozen_of_db(s)),
            ),
            (|s| s.knows(Severity::Error, K::HostTopologyChanged), |_| ()),
        ],
        R::UnreadableGuest => vec![(
            |s| s.knows(Severity::Error, K::GuestUnreadable { why: "line 3".to_owned() }),
            |_| (),
        )],
        R::VcpuSpansNodes => vec![
            (
                |s| {
                    s.pin_web(0, "2,10");
                    s.web.stored.cpu_topology = None;
                },
                |s| {
                    s.pin_web(0, "2,4-5");
                    s.web.stored.cpu_topology = None;
                },
            ),
            (
                // Moved by hand while it runs.
                |s| affinity(s, "0,8"),
                // A thread that may run everywhere is not pinned.
                |s| affinity(s, "0-31"),
            ),
        ],
        R::MemoryAway => vec![
            (|s| bind_web(s, "1"), bind_web_to_memory_only_node),
            (
                |s| stray_pages(s, PageSize::HUGE_2M, 1),
                |s| stray_pages(s, PageSize::BASE_4K, 16_384),
            ),
            (
                |s| stray_pages(s, PageSize::BASE_4K, 16_385),
                |s| {
                    // Held against its plan, which says so already.
                    s.db.is_planned = true;
                    stray_pages(s, PageSize::BASE_4K, 16_385);
                },
            ),
        ],
        R::MemoryOnASlice => vec![
            (
                |s| {
                    *s = l3_as_numa();
                    bind_web(s, "0");
                },
                |s| *s = l3_as_numa(),
            ),
            (
                |s| {
                    *s = l3_as_numa();
                    bind_web(s, "0");
                },
                |s| *s = l3_with_memory(),
            ),
        ],
        R::CoreShared => vec![
            (
                |s| {
                    give_away(s, 17);
                    s.claim(owner("web"), "17", Mode::Exclusive);
                },
                |s| {
                    give_away(s, 17);
                    s.claim(owner("web"), "20", Mode::Exclusive);
                },
            ),
            (
                |s| {
                    s.claim(owner("other"), "4-5", Mode::Exclusive);
                    s.claim(owner("third"), "20", Mode::Exclusive);
                },
                |s| s.claim(owner("other"), "4,20", Mode::Exclusive),
            ),
        ],
        R::HelpersOnPinnedCpus => vec![
            (
                |s| s.web.stored.emulator_pin = Some(set("0")),
                |s| s.web.stored.emulator_pin = Some(set("4")),
            ),
            (
                |s| s.web.stored.emulator_pin = Some(set("2")),
                |s| s.web.stored.emulator_pin = Some(set("20")),
            ),
            (
                |s| s.web.stored.iothreads = vec![1],
                |s| {
                    s.web.stored.iothreads = vec![1];
                    s.web.stored.iothread_pins.insert(1, set(HOUSEKEEPING));
                },
            ),
            (
                |s| s.web.stored.emulator_pin = None,
                |s| {
                    s.web.stored.emulator_pin = None;
                    s.web.stored.default_cpuset = Some(set("4-7"));
                },
            ),
        ],
        R::IsolatedInMask => vec![(|s| isolate(s, "4-5"), |s| isolate(s, "4"))],
        R::GuestL3 => vec![
            (
                |s| s.pin_web(0, "4"),
                |s| {
                    s.pin_web(0, "4");
                    s.web.stored.l3_cache_mode = Some("disable".to_owned());
                },
            ),
            (
                |s| {
                    s.pin_web(0, "4");
                    s.pin_web(1, "20");
                },
                |s| {
                    s.pin_web(0, "4");
                    s.pin_web(1, "20");
                    s.web.stored.cpu_topology = Some(dies(2));
                },
            ),
            // Passed through, two dies are one L3 all the same: its width is that of a host L3.
            (
                |s| {
                    s.pin_web(0, "4");
                    s.pin_web(1, "20");
                    s.web.stored.cpu_topology = Some(dies(2));
                    s.web.stored.l3_cache_mode = Some("passthrough".to_owned());
                },
                |s| {
                    s.web.stored.cpu_topology = Some(dies(2));
                    s.web.stored.l3_cache_mode = Some("passthrough".to_owned());
                },
            ),
        ],
        R::DistancesTold => vec![(
            |s| tell_distance(s, 20),
            |s| {
                tell_distance(s, 20);
                s.host.topology.nodes.iter_mut().for_each(|node| node.distances.clear());
            },
        )],
        R::ResizingWithVnuma => vec![
            (
                |s| s.db_everywhere(|c| c.balloon = Balloon::Implicit),
                |s| s.web.stored.balloon = Balloon::Implicit,
            ),
            (
                |s| {
                    s.db_everywhere(|c| {
                        c.max_memory = Some(MaxMemory { bytes: 16 * GIB, slots: 4 })
                    })
                },
                |s| s.web.stored.max_memory = Some(MaxMemory { bytes: 16 * GIB, slots: 4 }),
            ),
            (|s| s.db_everywhere(|c| c.vcpus_current = 4), |s| s.web.stored.vcpus_current = 2),
        ],
        R::UnpinnedGuest => {
            vec![(|s| s.knows(Severity::Info, K::UnpinnedGuest { name: "web".to_owned() }), |_| ())]
        }
        R::ForeignGuest => vec![(
            |s| {
                s.knows(
                    Severity::Info,
                    K::ForeignGuest { owner: ForeignOwner::Managed { by: Manager::Nova } },
                )
            },
            |_| (),
        )],
        R::InterruptsOnPinnedCpus => vec![
            (
                |s| s.interrupts().push(interrupt(40, "eth0-TxRx-1", "16")),
                |s| {
                    s.interrupts().push(interrupt(40, "eth0-TxRx-1", "4"));
                },
            ),
            (
                |s| s.interrupts().push(interrupt(41, "nvme0q0", "16")),
                |s| {
                    let kept = numawise_model::Interrupt {
                        kernel_managed: true,
                        ..interrupt(41, "nvme0q2", "16")
                    };
                    s.interrupts().push(kept);
                },
            ),
            (
                |s| s.interrupts().push(interrupt(42, "ahci", "16")),
                |s| {
                    let silent =
                        numawise_model::Interrupt { fired: 0, ..interrupt(42, "ahci", "16") };
                    s.interrupts().push(silent);
                },
            ),
            (
                |s| s.interrupts().push(interrupt(43, "vfio-msix[2](0000:41:00.0)", "16")),
                |s| {
                    s.interrupts().push(interrupt(43, "vfio-msix[2](0000:41:00.0)", "16"));
                    s.db_everywhere(|c| c.host_devices = vec!["0000:41:00.0".to_owned()]);
                },
            ),
            // Where only the mask is known: it can go nowhere else, or it can.
            (
                |s| s.interrupts().push(only_allowed("0-1")),
                |s| s.interrupts().push(only_allowed("0-7")),
            ),
        ],
        R::KernelThreadsOnPinnedCpus => vec![
            (
                |s| s.threads().push(thread("kswapd0", "0-1,16-17")),
                |s| {
                    s.threads().push(thread("kswapd0", "4-7"));
                },
            ),
            (
                |s| s.threads().push(thread("rcu_preempt", "0-31")),
                |s| {
                    s.threads().push(thread("irq/40-eth0-TxR", "0"));
                },
            ),
        ],
        R::WorkqueuesOnPinnedCpus => vec![(
            |s| s.surroundings.workqueue_cpus = Ok(set("0-31")),
            |s| s.surroundings.workqueue_cpus = Ok(set("4-7,10-15,20-23")),
        )],
        R::NumaBalancing => vec![
            (|s| s.surroundings.numa_balancing = Ok(1), |s| s.surroundings.numa_balancing = Ok(2)),
            (
                |s| s.surroundings.numa_balancing = Ok(3),
                |s| s.surroundings.numa_balancing = Err(Unread::NotOnHost),
            ),
        ],
        R::KsmAcrossNodes => vec![
            (|s| ksm(s, true, Some(true)), |s| ksm(s, true, Some(false))),
            (|s| ksm(s, true, None), |s| ksm(s, false, None)),
        ],
        R::ZoneReclaim => vec![(
            |s| s.surroundings.zone_reclaim_mode = Ok(1),
            |s| s.surroundings.zone_reclaim_mode = Err(Unread::NotInCapture),
        )],
        R::HostDescription => {
            vec![(|s| s.known.push(Finding::host(Severity::Info, K::DistancesMissing)), |_| ())]
        }
    }
}

/// The scene with one change has findings of one rule, or of none.
fn check(what: &str, change: fn(&mut Scene), wanted: &[R]) {
    let mut scene = quiet();
    change(&mut scene);
    let findings = scene.judged();
    let wanted: BTreeSet<&str> = wanted.iter().map(|rule| rule.name()).collect();
    assert_eq!(rules(&findings), wanted, "{what}: {findings:#?}");
}

#[test]
fn each_rule_finds_alone_and_is_silent_beside_it() {
    check("the quiet scene", |_| (), &[]);
    check("slices of a memory", |scene| *scene = l3_as_numa(), &[]);
    for rule in R::ALL {
        let pairs = pairs(rule);
        assert!(!pairs.is_empty(), "{rule:?}");
        for (n, (breaks, near)) in pairs.into_iter().enumerate() {
            check(&format!("{rule:?} {n}"), breaks, &[rule]);
            check(&format!("near {rule:?} {n}"), near, &[]);
        }
    }
}

#[test]
fn names_are_for_ever_and_lead_back() {
    let names: BTreeSet<&str> = R::ALL.iter().map(|rule| rule.name()).collect();
    assert_eq!(names.len(), R::ALL.len());
    for rule in R::ALL {
        assert_eq!(R::from_name(rule.name()), Some(rule));
        let is_kebab = |c: char| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit();
        assert!(rule.name().chars().all(is_kebab), "{rule:?}");
    }
    assert_eq!(R::from_name("Booked-Twice"), None);
}

#[test]
fn the_essay_of_the_judge_names_every_rule() {
    let essay = include_str!("../../src/host.rs");
    let lines: String = essay.lines().take_while(|line| line.starts_with("//!")).collect();
    // What is handed in is told of in the last paragraph.
    let handed_in =
        [R::Drift, R::UnreadableGuest, R::UnpinnedGuest, R::ForeignGuest, R::HostDescription];
    for rule in R::ALL.into_iter().filter(|rule| !handed_in.contains(rule)) {
        assert!(lines.contains(&format!("`{}`", rule.name())), "{rule:?}");
    }
}
