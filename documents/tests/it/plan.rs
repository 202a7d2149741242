//! Plans come back exactly as they were, whatever is in them.

use crate::every_variant::{
    cells, claims, cpu_topology, cpus, findings, predicates, reasons, uuid, vcpus,
};
use expect_test::expect_file;
use numawise_documents::{parse_plan, plan_to_json};
use numawise_model::placement::{DevicePolicy, EmulatorPolicy, Split};
use numawise_model::{
    Best, BindRule, Binding, Change, ChangedPart, Effect, GuestFix, GuestRef, HelperPlacement,
    HostId, HostRef, HugepageLevels, L3Policy, Levels, MemoryMode, Mode, NodeLevels, NodeSet,
    PageSize, Pcpu, Plan, PlanId, Pnode, Policy, Request, SmtPolicy, Utilisation, Vcpu,
    VirtualTopology, VnumaNode,
};
use std::collections::{BTreeMap, BTreeSet};

/// 12 vCPUs, so that a text order of the keys would show.
pub fn plan_with_everything() -> Plan {
    Plan {
        id: PlanId("20260101-7f3a".to_owned()),
        host: HostRef { id: HostId("h-1".to_owned()), topology_digest: "ffee".to_owned() },
        guest: Some(GuestRef { name: "db".to_owned(), uuid: uuid(), digest: "1234".to_owned() }),
        request: request(Policy::Smart, MemoryMode::Strict),
        binding: Binding {
            cpus: (0..12).map(|n| (Vcpu(n), cpus(&format!("{}", 32 + n)))).collect(),
            mode: Mode::Exclusive,
        },
        vnuma: Some(VirtualTopology {
            nodes: cells().into_iter().map(vnuma_node).collect(),
            cpu: cpu_topology(),
            emulate_l3: true,
            l3_level: None,
        }),
        cpu_before: Some(cpu_topology()),
        helpers: HelperPlacement {
            emulator: Some(cpus("0-1")),
            iothreads: BTreeMap::from([(2, cpus("0")), (10, cpus("1"))]),
        },
        claims: claims(),
        changes: vec![
            Change { what: ChangedPart::VcpuPins, effect: Effect::Live },
            Change { what: ChangedPart::Fix(GuestFix::BalloonOff), effect: Effect::NextBoot },
        ],
        fixes: vec![
            GuestFix::BalloonOff,
            GuestFix::AllVcpusAtBoot,
            GuestFix::NoMemoryHotplug,
            GuestFix::StaticPlacement,
        ],
        requires: predicates(),
        levels: levels(),
        reasons: reasons(),
        findings: findings(),
    }
}

fn vnuma_node(cell: numawise_model::guest::GuestCell) -> VnumaNode {
    VnumaNode {
        id: cell.id,
        vcpus: cell.vcpus,
        memory_bytes: cell.memory_bytes,
        host_nodes: NodeSet::single(Pnode(1)),
        memory_nodes: NodeSet::single(Pnode(0)),
        distances: cell.distances,
    }
}

fn request(policy: Policy, memory_mode: MemoryMode) -> Request {
    Request {
        vcpus: 12,
        memory_bytes: u64::MAX,
        page_size: PageSize::HUGE_2M,
        policy,
        shared: false,
        overcommit: true,
        vnuma: true,
        cells_per_node: 1,
        max_sockets: Some(2),
        memory_mode,
        new_topology: true,
        fix_guest: false,
        memory_only: None,
        guest_cache: None,
    }
}

fn levels() -> Levels {
    let pool = HugepageLevels { total: 512, free: 100, reserved: Some(3) };
    let node = NodeLevels {
        memory_free_bytes: Some(1 << 40),
        memory_available_bytes: None,
        hugepages: BTreeMap::from([(PageSize::HUGE_2M, pool), (PageSize::HUGE_1G, pool)]),
    };
    Levels {
        nodes: BTreeMap::from([(Pnode(2), node), (Pnode(10), NodeLevels::default())]),
        utilisation: BTreeMap::from([(Pcpu(2), Utilisation(1000)), (Pcpu(10), Utilisation(0))]),
    }
}

fn comes_back(plan: &Plan) {
    let text = plan_to_json(plan);
    let back = parse_plan(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(back, *plan);
    assert_eq!(plan_to_json(&back), text, "the same value gives the same bytes");
}

#[test]
fn a_plan_with_everything_comes_back() {
    comes_back(&plan_with_everything());
}

#[test]
fn the_written_form_is_the_one_on_file() {
    expect_file!["plan_with_everything.json"].assert_eq(&plan_to_json(&plan_with_everything()));
}

#[test]
fn a_plan_with_nothing_comes_back() {
    let mut plan = plan_with_everything();
    plan.guest = None;
    plan.binding = Binding { cpus: BTreeMap::new(), mode: Mode::Shared };
    plan.vnuma = None;
    plan.cpu_before = None;
    plan.request.max_sockets = None;
    plan.helpers = HelperPlacement::default();
    plan.levels = Levels::default();
    plan.claims.clear();
    plan.fixes.clear();
    plan.requires.clear();
    plan.reasons.clear();
    plan.findings.clear();
    comes_back(&plan);
}

#[test]
fn every_policy_and_memory_mode_comes_back() {
    let rule = |v, p| BindRule { vcpus: vcpus(v), pcpus: cpus(p) };
    let policies = [
        Policy::Smart,
        Policy::OnNode(vec![(Pnode(1), vcpus("0-31")), (Pnode(0), vcpus("32-47"))]),
        Policy::Rules(vec![rule("0-15", "32-47"), rule("16-20", "0-3"), rule("", "")]),
        Policy::Unbound,
        Policy::Best(Best::default()),
        Policy::Best(Best {
            l3: L3Policy::Exactly(4),
            smt: SmtPolicy::Isolate,
            split: Split::Exact(vec![8, 4]),
            vnodes: Some(2),
            emulator: EmulatorPolicy::Isolate,
            devices: DevicePolicy::Socket,
            near: vec!["0000:41:00.0".to_owned()],
        }),
    ];
    for policy in policies {
        for mode in MemoryMode::ALL {
            let mut plan = plan_with_everything();
            plan.request = request(policy.clone(), mode);
            comes_back(&plan);
        }
    }
}

/// The examples are only worth something while they hold every variant: the schema, which is made
/// from the types, says which there are.
#[test]
fn the_examples_hold_every_variant() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../schemas/plan.schema.json")).expect("JSON");
    let document: serde_json::Value =
        serde_json::from_str(&plan_to_json(&plan_with_everything())).expect("JSON");
    for (tag, list) in [("rule", "findings"), ("reason", "reasons"), ("predicate", "requires")] {
        let mut known = BTreeSet::new();
        constants_of(&schema, tag, &mut known);
        let shown: BTreeSet<String> = document[list]
            .as_array()
            .expect("an array")
            .iter()
            .map(|entry| entry[tag].as_str().expect("a tag").to_owned())
            .collect();
        assert_eq!(shown, known, "{list}");
        assert!(known.len() >= 3, "{list}: {known:?}");
    }
}

/// Every `const` that a property of this name can have, anywhere in a schema.
fn constants_of(schema: &serde_json::Value, property: &str, found: &mut BTreeSet<String>) {
    match schema {
        serde_json::Value::Object(map) => {
            if let Some(text) = map.get(property).and_then(|p| p.get("const")?.as_str()) {
                found.insert(text.to_owned());
            }
            map.values().for_each(|value| constants_of(value, property, found));
        }
        serde_json::Value::Array(values) => {
            values.iter().for_each(|value| constants_of(value, property, found));
        }
        _ => {}
    }
}
