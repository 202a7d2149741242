//! Plans that break no rule, in all the shapes that a planner may give them.

use crate::case::{Case, GIB, claim, good, other, pages, rules, set, uuid};
use numawise_model::guest::Balloon;
use numawise_model::placement::{Best, Split};
use numawise_model::{
    BindRule, CpuSet, FrozenTopology, GuestCpuTopology, GuestFix, MemoryMode, Mode, NodeSet,
    PageCounts, PageSize, Pcpu, Pnode, Policy, Predicate, Vcpu, Vnode,
};

/// What is still remarked on is named; it may not be an error.
fn check(change: impl Fn(&mut Case), remarks: &str) {
    let mut case = good();
    change(&mut case);
    let findings = case.judged();
    assert_eq!(rules(&findings), remarks, "{findings:#?}");
    assert!(!remarks.contains("Error"));
}

#[test]
fn the_plan_made_by_hand() {
    check(|_| {}, "");
}

#[test]
fn a_size_without_a_guest() {
    check(
        |case| {
            case.plan.guest = None;
            case.guest = None;
            case.plan.claims.clear();
            case.plan.requires.clear();
        },
        "",
    );
}

#[test]
fn vnuma_off_with_the_binding_kept() {
    check(
        |case| {
            case.plan.vnuma = None;
            case.plan.request.vnuma = false;
            case.plan.claims[0].pages = PageCounts::new();
        },
        "",
    );
}

#[test]
fn nothing_bound_as_asked() {
    check(
        |case| {
            case.plan.request.policy = Policy::Unbound;
            case.plan.request.vnuma = false;
            case.plan.vnuma = None;
            case.plan.binding.cpus.clear();
            case.plan.claims.clear();
            case.plan.requires.clear();
        },
        "",
    );
}

#[test]
fn rules_and_nodes_that_were_followed() {
    check(
        |case| {
            let node = |id, vcpus| (Pnode(id), set(vcpus));
            case.plan.request.policy = Policy::OnNode(vec![node(1, "0-15"), node(0, "16-23")]);
        },
        "",
    );
    check(
        |case| {
            let rule = |(vcpu, cpus): (&Vcpu, &CpuSet)| BindRule {
                vcpus: numawise_model::VcpuSet::single(*vcpu),
                pcpus: cpus.clone(),
            };
            let rules = case.plan.binding.cpus.iter().map(rule).collect();
            case.plan.request.policy = Policy::Rules(rules);
        },
        "",
    );
}

/// Each vCPU may run on both threads of its core, 24 vCPUs on 24 pCPUs: nobody is short.
#[test]
fn several_pcpus_for_a_vcpu() {
    check(
        |case| {
            for cpus in case.plan.binding.cpus.values_mut() {
                let core = cpus.first().expect("bound").0 % 16;
                *cpus = [core, core + 16].map(Pcpu).into_iter().collect();
            }
        },
        "",
    );
}

#[test]
fn shared_as_asked() {
    check(
        |case| {
            case.plan.request.shared = true;
            case.plan.binding.mode = Mode::Shared;
            case.plan.claims[0].mode = Mode::Shared;
            case.plan.requires[0] =
                Predicate::CpusUnclaimed { cpus: case.plan.binding.pcpus(), mode: Mode::Shared };
            case.others.claims.push(claim(other(), "8", Mode::Shared));
        },
        "Warning SharesCpus",
    );
}

#[test]
fn overcommit_as_asked() {
    check(
        |case| {
            case.plan.request.overcommit = true;
            case.plan.binding.cpus.insert(Vcpu(0), set("24"));
            case.plan.claims[0].cpus.remove(Pcpu(8));
            case.vnuma().cpu =
                GuestCpuTopology { sockets: 3, dies: 1, clusters: 1, cores: 8, threads: 1 };
        },
        "Warning Overcommitted",
    );
}

#[test]
fn reserved_and_isolated_are_remarked_on() {
    check(|case| case.pools.reserved = set("0-1"), "Warning UsesReservedCpus");
    check(|case| case.host.topology.isolated = Some(set("0-1")), "Info UsesIsolatedCpus");
}

#[test]
fn a_remark_that_the_plan_carries_is_not_repeated() {
    check(
        |case| {
            case.pools.reserved = set("0-1");
            let mut findings = case.judged();
            case.plan.findings.append(&mut findings);
        },
        "",
    );
}

#[test]
fn half_a_core_beside_somebody_else() {
    check(
        |case| {
            // Rebind vCPU 23 from pCPU 19 to 23, the sibling of 7, so that the other guest gets 19.
            case.plan.binding.cpus.insert(Vcpu(23), set("23"));
            case.plan.claims[0].cpus = case.plan.binding.pcpus();
            let Predicate::CpusUnclaimed { cpus, .. } = &mut case.plan.requires[0] else { return };
            *cpus = case.plan.binding.pcpus();
            case.others.claims.push(claim(other(), "19", Mode::Exclusive));
            case.vnuma().cpu =
                GuestCpuTopology { sockets: 3, dies: 1, clusters: 1, cores: 8, threads: 1 };
        },
        "Warning GuestL3Differs, Warning SmtSiblingOfAnother",
    );
}

#[test]
fn memory_that_nobody_can_count() {
    check(
        |case| {
            case.host.levels.nodes.clear();
            case.plan.requires.truncate(1);
            case.plan.requires.push(Predicate::FrozenTopology { digest: None });
            let mut remarks = case.judged();
            remarks.retain(|finding| finding.severity < numawise_model::Severity::Error);
            case.plan.findings = remarks;
        },
        "",
    );
}

/// Node 0 has no memory: its vCPUs take theirs from node 1.
#[test]
fn memory_from_the_neighbour() {
    check(
        |case| {
            case.host.topology.nodes[0].memory_total_bytes = Some(0);
            case.vnuma().nodes[1].memory_nodes = NodeSet::single(Pnode(1));
            case.plan.claims[0].pages = pages(&[(1, PageSize::HUGE_2M, 12_288)]);
            case.plan.requires[1] = Predicate::PagesAvailable {
                node: Pnode(1),
                size: PageSize::HUGE_2M,
                pages: 12_288,
            };
            case.plan.requires.remove(2);
        },
        "Warning MemoryOnOtherNode",
    );
}

/// vNUMA node 0 cut into two on the same node.
fn two_cells(case: &mut Case) {
    let mut half = case.vnuma().nodes[0].clone();
    half.vcpus = set("8-15");
    half.memory_bytes = 8 * GIB;
    half.id = Vnode(1);
    half.distances = [10, 10, 21].into_iter().zip(0..).map(|(d, n)| (Vnode(n), d)).collect();
    let nodes = &mut case.vnuma().nodes;
    nodes[0].vcpus = set("0-7");
    nodes[0].memory_bytes = 8 * GIB;
    nodes[0].distances = half.distances.clone();
    nodes[1].id = Vnode(2);
    nodes[1].distances = [21, 21, 10].into_iter().zip(0..).map(|(d, n)| (Vnode(n), d)).collect();
    nodes.insert(1, half);
}

#[test]
fn two_cells_on_a_node_as_asked() {
    check(
        |case| {
            case.plan.request.cells_per_node = 2;
            two_cells(case);
        },
        "Warning CellsShareNode",
    );
}

/// Their number or their sizes were asked for, and there are fewer nodes.
#[test]
fn two_cells_on_a_node_where_so_many_were_asked_for() {
    let exact = |parts: &[u32]| Best { split: Split::Exact(parts.to_vec()), ..Best::default() };
    for best in [Best { vnodes: Some(3), ..Best::default() }, exact(&[8, 8, 8])] {
        check(
            |case| {
                case.plan.request.policy = Policy::Best(best.clone());
                two_cells(case);
            },
            "Warning CellsShareNode",
        );
    }
}

/// One package of two dies on one node: each die is an L3 domain, and the package may hold both.
#[test]
fn dies_that_are_l3_domains() {
    check(
        |case| {
            case.plan.request.vcpus = 16;
            case.plan.request.memory_bytes = 16 * GIB;
            case.guest = None;
            case.plan.binding.cpus.retain(|vcpu, _| vcpu.0 < 16);
            let bound = case.plan.binding.pcpus();
            case.plan.claims[0].cpus.clone_from(&bound);
            case.plan.claims[0].pages = pages(&[(1, PageSize::HUGE_2M, 8192)]);
            case.vnuma().nodes.pop();
            case.vnuma().nodes[0].distances.remove(&Vnode(1));
            case.vnuma().cpu =
                GuestCpuTopology { sockets: 1, dies: 2, clusters: 1, cores: 4, threads: 2 };
        },
        "",
    );
}

/// Two sockets of 12: the first is within vNUMA node 0, the second crosses.
#[test]
fn a_cap_on_sockets() {
    check(
        |case| {
            case.plan.request.max_sockets = Some(2);
            case.vnuma().cpu =
                GuestCpuTopology { sockets: 2, dies: 1, clusters: 1, cores: 6, threads: 2 };
        },
        "Warning GuestL3Differs, Warning MaxSocketsCrossesNodes",
    );
}

/// A frozen topology stays, though today's rules would have made another: one socket, memory not
/// by vCPU count, and distances of the host it came from.
#[test]
fn a_frozen_topology_that_is_kept() {
    check(
        |case| {
            case.vnuma().cpu =
                GuestCpuTopology { sockets: 1, dies: 1, clusters: 1, cores: 24, threads: 1 };
            case.vnuma().nodes[0].memory_bytes = 12 * GIB;
            case.vnuma().nodes[1].memory_bytes = 12 * GIB;
            case.vnuma().nodes[0].distances.insert(Vnode(1), 32);
            let (cells, cpu) = (case.vnuma().cells(), case.vnuma().cpu);
            case.frozen = Some(FrozenTopology { cells, cpu, cpu_before: None });
            case.plan.claims[0].pages =
                pages(&[(1, PageSize::HUGE_2M, 6144), (0, PageSize::HUGE_2M, 6144)]);
            case.plan.requires[2] =
                Predicate::PagesAvailable { node: Pnode(0), size: PageSize::HUGE_2M, pages: 6144 };
            case.plan.requires[3] = Predicate::FrozenTopology { digest: Some("d".to_owned()) };
        },
        "Warning GuestL3Differs, Warning MaxSocketsCrossesNodes",
    );
}

#[test]
fn a_guest_that_the_plan_makes_fit() {
    check(
        |case| {
            case.guest().balloon = Balloon::Implicit;
            case.guest().vcpus_current = 2;
            case.plan.fixes = vec![GuestFix::BalloonOff, GuestFix::AllVcpusAtBoot];
        },
        "",
    );
}

/// With a preference, the pages are not promised anywhere.
#[test]
fn memory_that_is_only_preferred() {
    check(
        |case| {
            case.plan.request.memory_mode = MemoryMode::Preferred;
            case.plan.claims[0].pages = PageCounts::new();
            case.plan.requires.truncate(1);
            case.plan.requires.push(Predicate::FrozenTopology { digest: None });
        },
        "",
    );
}

/// What the guest itself holds does not stand in its way.
#[test]
fn its_own_claims() {
    check(
        |case| {
            let owner = numawise_model::Owner::Guest { uuid: uuid(), name: "renamed".to_owned() };
            case.others.claims.push(claim(owner, "0-31", Mode::Exclusive));
        },
        "",
    );
}
