//! What numawise's own planner placed, applied on the embedded hypervisor, is nothing that the audit
//! of the host finds fault with: whatever it finds, the plans have said themselves.

use crate::bench::domain;
use numawise_embedded::EmbeddedHypervisor;
use numawise_engine::apply::ApplyOptions;
use numawise_engine::error::EngineError;
use numawise_engine::intent::{IntentId, Manner};
use numawise_engine::loop_parts::Engine;
use numawise_engine::planning::FreshIds;
use numawise_engine::ports::{Cancel, Clock, DomainEditor, Hypervisor, ShutdownOptions};
use numawise_libvirt::DomainXmlEditor;
use numawise_model::finding::Helper;
use numawise_model::{
    Audit, AuditRule, ClaimId, CpuPools, CpuSet, Finding, FindingKind as K, GuestConfig, Host,
    HostId, MemoryMode, Owner, PageSize, Plan, PlanId, Policy, Request, Surroundings, Unread,
};
use numawise_store::SqliteStore;
use numawise_testkit::{Numbering, Shape};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

struct Noon;

impl Clock for Noon {
    fn now_unix_sec(&self) -> i64 {
        1_800_000_000
    }
}

#[derive(Clone, Debug)]
struct Wanted {
    vcpus: u32,
    memory_gib: u32,
    huge: bool,
    runs_before: bool,
    max_sockets: Option<u32>,
}

/// Nodes are not made to be single L3s: there memory on one node is a slice, whoever bound it.
fn shape() -> impl Strategy<Value = Shape> {
    (1..=2_u32, 1..=2_u32, 2..=3_u32, 1..=3_u32, 1..=2_u32, any::<bool>()).prop_map(
        |(packages, nodes_per_package, l3_per_node, cores_per_l3, threads, apart)| Shape {
            packages,
            nodes_per_package,
            l3_per_node,
            cores_per_l3,
            threads,
            numbering: if apart { Numbering::SiblingsApart } else { Numbering::SiblingsAdjacent },
            node_bytes: 16 << 30,
            hugepages: BTreeMap::from([(PageSize::HUGE_2M, 3072)]),
        },
    )
}

fn wanted() -> impl Strategy<Value = Wanted> {
    (1..=8_u32, 1..=4_u32, any::<bool>(), any::<bool>(), prop::option::of(1..=2_u32)).prop_map(
        |(vcpus, memory_gib, huge, runs_before, max_sockets)| Wanted {
            vcpus,
            memory_gib,
            huge,
            runs_before,
            max_sockets,
        },
    )
}

fn request(config: &GuestConfig, wanted: &Wanted) -> Request {
    Request {
        vcpus: config.vcpus_max,
        memory_bytes: config.memory_bytes,
        page_size: if wanted.huge { PageSize::HUGE_2M } else { PageSize::BASE_4K },
        policy: Policy::Smart,
        shared: false,
        overcommit: false,
        vnuma: true,
        cells_per_node: 1,
        max_sockets: wanted.max_sockets,
        memory_mode: MemoryMode::Strict,
        new_topology: false,
        fix_guest: true,
        memory_only: None,
        guest_cache: None,
    }
}

/// Plans and applies each guest that is not refused, and looks at the host.
fn placed(host: Host, all: &[Wanted], reserve: bool) -> (Audit, Vec<Plan>) {
    let folder = tempfile::tempdir().expect("a folder");
    let id = HostId("simulated".to_owned());
    let first_of_nodes = host.topology.nodes.iter().filter_map(|node| node.cpus.first());
    let reserved = if reserve { first_of_nodes.collect() } else { CpuSet::new() };
    let pools = CpuPools { reserved, ..CpuPools::default() };
    let hypervisor =
        EmbeddedHypervisor::open(&folder.path().join("host"), host, id).expect("it opens");
    let store = SqliteStore::open(&folder.path().join("state")).expect("it opens");
    let cancel = Cancel::default();
    let engine = Engine {
        hypervisor: &hypervisor,
        store: &store,
        editor: &DomainXmlEditor,
        clock: &Noon,
        cancel: &cancel,
        settle: Duration::ZERO,
        shutdown: ShutdownOptions { timeout: Duration::from_secs(1), force: true },
        emit: RefCell::new(Box::new(|_| ())),
        probe: Box::new(|_| ()),
        open_peer: Box::new(|uri| Err(numawise_engine::ports::PortError::NotFound(uri.to_owned()))),
    };
    let mut plans = Vec::new();
    for (n, wanted) in all.iter().enumerate() {
        let name = format!("g{n}");
        let xml = domain(&name, wanted.vcpus, wanted.memory_gib);
        hypervisor.define(&xml).expect("it is defined");
        let uuid = DomainXmlEditor.read(&xml).expect("well formed").uuid.expect("it has one");
        // Without room it does not start, and is placed while it is off.
        let runs = wanted.runs_before && hypervisor.start(&uuid).is_ok();
        let ids = FreshIds {
            plan: PlanId(format!("plan-{n}")),
            claims: [ClaimId(format!("claim-{n}-a")), ClaimId(format!("claim-{n}-b"))],
        };
        let planned =
            engine.plan_guest(&name, &pools, ids, false, |config, _| Ok(request(config, wanted)));
        let planned = match planned {
            Ok(planned) => planned,
            Err(EngineError::Refused(_)) => continue,
            Err(error) => panic!("{error:?}"),
        };
        let manner = Manner { restart: runs, ..Manner::default() };
        let intent = IntentId(format!("intent-{n}"));
        let options = ApplyOptions { intent, manner, ignore_stopped: false, pools: pools.clone() };
        engine.apply(&planned.plan, &options).expect("a fresh plan is applied");
        if !runs {
            hypervisor.start(&uuid).expect("there is room for it");
        }
        plans.push(planned.plan);
    }
    let unread = Surroundings::unread(&Unread::NotInCapture);
    (engine.audit(&unread).expect("the host is looked at"), plans)
}

/// What a plan has said that it costs, as the audit calls it.
fn said(plans: &[Plan]) -> BTreeSet<AuditRule> {
    let rule = |finding: &Finding| match finding.kind {
        K::GuestL3Differs { .. } | K::MaxSocketsCrossesNodes { .. } => Some(AuditRule::GuestL3),
        K::SmtSiblingOfAnother { .. } => Some(AuditRule::CoreShared),
        _ => None,
    };
    plans.iter().flat_map(|plan| &plan.findings).filter_map(rule).collect()
}

fn is_own_emulator(finding: &Finding) -> bool {
    let K::HelpersOnPinnedCpus { helper: Helper::Emulator, of, .. } = &finding.kind else {
        return false;
    };
    matches!(of.as_slice(), [Owner::Guest { uuid, .. }] if finding.is_about(uuid))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_planned_and_applied_has_no_findings(
        shape in shape(),
        all in prop::collection::vec(wanted(), 1..5),
        reserve in any::<bool>(),
    ) {
        let (audit, plans) = placed(shape.host(), &all, reserve);
        let said = said(&plans);
        let emulator_said = plans.iter().flat_map(|plan| &plan.findings)
            .any(|finding| matches!(finding.kind, K::EmulatorOnVcpuCpus { .. }));
        let surprising: Vec<&Finding> = audit.findings.iter().filter(|finding| {
            let rule = AuditRule::of(&finding.kind).expect("of a host");
            // A guest that was refused is left as it was: unpinned.
            let is_left = rule == AuditRule::UnpinnedGuest && plans.len() < all.len();
            let is_emulator = emulator_said && is_own_emulator(finding);
            !is_left && !is_emulator && !said.contains(&rule)
        }).collect();
        prop_assert!(surprising.is_empty(), "{surprising:#?}\n{plans:#?}");
    }
}

/// The property above would hold of a planner that refuses everything.
#[test]
fn guests_that_fit_are_placed_and_seen() {
    let shape = Shape { threads: 2, l3_per_node: 2, ..Shape::two_nodes(4, 16 << 30) };
    let wanted =
        Wanted { vcpus: 4, memory_gib: 2, huge: false, runs_before: true, max_sockets: None };
    let (audit, plans) = placed(shape.host(), &[wanted.clone(), wanted], true);
    assert_eq!((audit.guests, plans.len()), (2, 2));
    assert!(audit.findings.iter().all(is_own_emulator), "{:#?}", audit.findings);
    assert_eq!(audit.not_looked_at.len(), 6, "{:#?}", audit.not_looked_at);
}
