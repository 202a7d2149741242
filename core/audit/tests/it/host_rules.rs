//! Every rule of an audit in a host where it is the only finding, and in one as near to that as can be
//! where it stays silent.

use crate::case::{GIB, pages, set};
use crate::host_scene::{
    HOUSEKEEPING, Scene, bind_web, interrupt, l3_as_numa, owner, quiet, rules, thread,
};
use numawise_audit::UndefinedGuest;
use numawise_model::guest::{Balloon, MaxMemory};
use numawise_model::{
    AuditRule as R, Finding, FindingKind as K, ForeignOwner, FrozenTopology, GuestCpuTopology,
    GuestUuid, Ksm, Manager, MemoryMode, Mode, Node, Owner, PageSize, Pcpu, Pnode, Severity,
    Unread, Vcpu, Vnode,
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
        R::MemoryOnASlice => vec![(
            |s| {
                *s = l3_as_numa();
                bind_web(s, "0");
            },
            |s| *s = l3_as_numa(),
        )],
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

fn goes_offline(scene: &mut Scene, cpu: u32) {
    let topology = &mut scene.host.topology;
    topology.online.remove(Pcpu(cpu));
    topology.allowed.cpus.remove(Pcpu(cpu));
    topology.offline.insert(Pcpu(cpu));
}

/// `db` has promised 2,048 pages of node 0, which has 16,384.
fn promise(scene: &mut Scene, count: u64) {
    scene.claim(owner("other"), "", Mode::Shared);
    let claim = scene.ledger.claims.last_mut().expect("just made");
    claim.pages = pages(&[(0, PageSize::HUGE_2M, count)]);
}

/// Memory that may go elsewhere is promised nowhere.
fn prefer_node_0_for_65_gib(scene: &mut Scene) {
    scene.web.stored.memory_bytes = 65 * GIB;
    let numatune = scene.web.stored.numatune.as_mut().expect("web is bound");
    numatune.memory_mode = Some(MemoryMode::Preferred);
}

fn gone(holds: bool) -> UndefinedGuest {
    UndefinedGuest { uuid: GuestUuid("uuid-of-old".to_owned()), name: "old".to_owned(), holds }
}

fn frozen_of_db(scene: &Scene) -> FrozenTopology {
    let stored = &scene.db.stored;
    let cpu = stored.cpu_topology.expect("db has a topology");
    FrozenTopology { cells: stored.cells.clone(), cpu, cpu_before: None }
}

/// Where the thread of `db`'s first vCPU may run; without a topology nothing is said of caches.
fn affinity(scene: &mut Scene, cpus: &str) {
    scene.db_everywhere(|config| config.cpu_topology = None);
    let facts = scene.db.facts.as_mut().expect("db runs");
    facts.vcpu_affinity.insert(Vcpu(0), set(cpus));
}

fn bind_web_to_memory_only_node(scene: &mut Scene) {
    scene.host.topology.nodes.push(Node {
        id: Pnode(2),
        cpus: set(""),
        memory_total_bytes: Some(64 * GIB),
        distances: [(Pnode(0), 14), (Pnode(1), 24), (Pnode(2), 10)].into(),
    });
    bind_web(scene, "2");
}

/// Pages of `db`'s first vNUMA node on node 1.
fn stray_pages(scene: &mut Scene, size: PageSize, count: u64) {
    let facts = scene.db.facts.as_mut().expect("db runs");
    let of_first = facts.pages_by_vnode.as_mut().and_then(|by| by.get_mut(&Vnode(0)));
    of_first.expect("told apart").entry(Pnode(1)).or_default().insert(size, count);
}

/// Takes a pCPU out of `db`'s claim.
fn give_away(scene: &mut Scene, cpu: u32) {
    scene.ledger.claims[0].cpus.remove(Pcpu(cpu));
}

fn isolate(scene: &mut Scene, cpus: &str) {
    scene.host.topology.isolated = Some(set(cpus));
    scene.pin_web(0, cpus);
    scene.web.stored.cpu_topology = None;
}

fn dies(dies: u32) -> GuestCpuTopology {
    GuestCpuTopology { sockets: 1, dies, clusters: 1, cores: 2 / dies, threads: 2 }
}

fn tell_distance(scene: &mut Scene, distance: u32) {
    scene.db_everywhere(|config| {
        config.cells[0].distances.insert(Vnode(1), distance);
    });
}

fn only_allowed(cpus: &str) -> numawise_model::Interrupt {
    let (allowed, effective) = (Some(set(cpus)), None);
    numawise_model::Interrupt { allowed, effective, ..interrupt(44, "old-kernel", "0") }
}

fn ksm(scene: &mut Scene, is_running: bool, merges_across_nodes: Option<bool>) {
    scene.surroundings.ksm = Ok(Ksm { is_running, merges_across_nodes });
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

#[test]
fn what_nobody_could_read_is_no_finding() {
    for why in [
        Unread::NotOnHost,
        Unread::NotInCapture,
        Unread::Elsewhere,
        Unread::Unreadable { file: "proc/interrupts".to_owned(), why: "denied".to_owned() },
    ] {
        let mut scene = quiet();
        scene.surroundings = numawise_model::Surroundings::unread(&why);
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
    let Owner::Guest { name, .. } = owner("db") else { panic!("a guest") };
    // As web's verification would tell it.
    scene.knows(Severity::Error, K::ExclusiveCpusShared { cpus: set("0"), with: owner("db") });
    let findings = scene.judged();
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(name, "db");
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
    topology.packages = vec![numawise_model::Package { cpus: all, firmware_id: Some(0) }];
    assert_eq!(rules(&scene.judged()), BTreeSet::new());
    bind_web(&mut scene, "0");
    assert_eq!(rules(&scene.judged()), BTreeSet::from(["memory-on-a-slice"]));
}
