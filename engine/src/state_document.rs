//! The engine's own values to and from the documents that a store keeps. The shapes and the texts
//! are those of the documents crate; here is only which field is which.

use crate::intent::{
    AppliedPlan, GuestRecord, HostState, Intent, IntentId, IntentKind, IntentStatus, Peer, Step,
};
use crate::usage::{CpuTicks, UsageSample};
use numawise_documents::state::{
    AppliedPlanDoc, CpuTicksDoc, GuestRecordDoc, HostStateDoc, IntentDoc, IntentKindDoc,
    IntentStatusDoc, PeerDoc, StepDoc, StepKindDoc, UsageSampleDoc,
};
use numawise_documents::{DocumentError, PlanDoc, Wire};
use numawise_model::{GuestUuid, HostId, Ledger, Pcpu};

pub fn host_state_to_json(state: &HostState) -> String {
    let HostState { revision, ledger, intents, guests } = state;
    let mut doc = HostStateDoc::new(*revision, ledger.to_doc());
    doc.intents = intents.iter().map(intent_doc).collect();
    doc.guests = guests.iter().map(|(uuid, record)| (uuid.0.clone(), record_doc(record))).collect();
    doc.to_json()
}

pub fn host_state_from_json(text: &str) -> Result<HostState, DocumentError> {
    let doc = HostStateDoc::parse(text)?;
    Ok(HostState {
        revision: doc.revision,
        ledger: Ledger::from_doc(doc.ledger),
        intents: doc.intents.into_iter().map(intent).collect::<Result<_, _>>()?,
        guests: doc
            .guests
            .into_iter()
            .map(|(uuid, doc)| Ok((GuestUuid(uuid), record(doc)?)))
            .collect::<Result<_, DocumentError>>()?,
    })
}

pub fn step_to_json(step: &Step) -> String {
    StepDoc::new(match step.clone() {
        Step::Backup { before_xml, after_xml, was_running } => {
            StepKindDoc::Backup { before_xml, after_xml, was_running }
        }
        Step::OwnerOverridden { owner } => StepKindDoc::OwnerOverridden { owner: owner.to_doc() },
        Step::LivePins { before } => StepKindDoc::LivePins { before: before.to_doc() },
        Step::PinnedLive => StepKindDoc::PinnedLive,
        Step::Defined => StepKindDoc::Defined,
        Step::ShutdownAsked => StepKindDoc::ShutdownAsked,
        Step::ShutDown => StepKindDoc::ShutDown,
        Step::Started => StepKindDoc::Started,
        Step::Verified { findings } => StepKindDoc::Verified { findings },
        Step::Finished => StepKindDoc::Finished,
        Step::RollBack { because } => StepKindDoc::RollBack { because },
        Step::RolledBack => StepKindDoc::RolledBack,
        Step::Moved { from_uri, to_uri } => StepKindDoc::Moved { from_uri, to_uri },
        Step::Arrived => StepKindDoc::Arrived,
        Step::SourceUndefined => StepKindDoc::SourceUndefined,
    })
    .to_json()
}

pub fn step_from_json(text: &str) -> Result<Step, DocumentError> {
    Ok(match StepDoc::parse(text)?.step {
        StepKindDoc::Backup { before_xml, after_xml, was_running } => {
            Step::Backup { before_xml, after_xml, was_running }
        }
        StepKindDoc::OwnerOverridden { owner } => {
            Step::OwnerOverridden { owner: Wire::from_doc(owner) }
        }
        StepKindDoc::LivePins { before } => Step::LivePins { before: Wire::from_doc(before) },
        StepKindDoc::PinnedLive => Step::PinnedLive,
        StepKindDoc::Defined => Step::Defined,
        StepKindDoc::ShutdownAsked => Step::ShutdownAsked,
        StepKindDoc::ShutDown => Step::ShutDown,
        StepKindDoc::Started => Step::Started,
        StepKindDoc::Verified { findings } => Step::Verified { findings },
        StepKindDoc::Finished => Step::Finished,
        StepKindDoc::RollBack { because } => Step::RollBack { because },
        StepKindDoc::RolledBack => Step::RolledBack,
        StepKindDoc::Moved { from_uri, to_uri } => Step::Moved { from_uri, to_uri },
        StepKindDoc::Arrived => Step::Arrived,
        StepKindDoc::SourceUndefined => Step::SourceUndefined,
    })
}

pub fn usage_to_json(sample: &UsageSample) -> String {
    let UsageSample { at_unix_sec, boot_unix_sec, cpus } = sample;
    let ticks = |(cpu, ticks): (&Pcpu, &CpuTicks)| {
        let CpuTicks { busy, total } = *ticks;
        (cpu.to_doc(), CpuTicksDoc { busy_ticks: busy, total_ticks: total })
    };
    UsageSampleDoc::new(*at_unix_sec, *boot_unix_sec, cpus.iter().map(ticks).collect()).to_json()
}

pub fn usage_from_json(text: &str) -> Result<UsageSample, DocumentError> {
    let doc = UsageSampleDoc::parse(text)?;
    let ticks = |doc: CpuTicksDoc| CpuTicks { busy: doc.busy_ticks, total: doc.total_ticks };
    Ok(UsageSample {
        at_unix_sec: doc.at_unix_sec,
        boot_unix_sec: doc.boot_unix_sec,
        cpus: doc.cpus.into_iter().map(|(cpu, doc)| (cpu.0, ticks(doc))).collect(),
    })
}

fn intent_doc(intent: &Intent) -> IntentDoc {
    let Intent {
        id,
        guest,
        guest_name,
        kind,
        restart,
        live,
        overridden,
        base_revision,
        status,
        created_unix_sec,
    } = intent;
    IntentDoc {
        id: id.0.clone(),
        guest: guest.to_doc(),
        guest_name: guest_name.clone(),
        kind: kind_doc(kind),
        restart: *restart,
        live: *live,
        overridden: overridden.to_doc(),
        base_revision: *base_revision,
        status: match status {
            IntentStatus::Pending => IntentStatusDoc::Pending,
            IntentStatus::Done => IntentStatusDoc::Done,
            IntentStatus::RolledBack { because } => {
                IntentStatusDoc::RolledBack { because: because.clone() }
            }
        },
        created_unix_sec: *created_unix_sec,
    }
}

fn intent(doc: IntentDoc) -> Result<Intent, DocumentError> {
    Ok(Intent {
        id: IntentId(doc.id),
        guest: GuestUuid(doc.guest),
        guest_name: doc.guest_name,
        kind: kind(doc.kind)?,
        restart: doc.restart,
        live: doc.live,
        overridden: Wire::from_doc(doc.overridden),
        base_revision: doc.base_revision,
        status: match doc.status {
            IntentStatusDoc::Pending => IntentStatus::Pending,
            IntentStatusDoc::Done => IntentStatus::Done,
            IntentStatusDoc::RolledBack { because } => IntentStatus::RolledBack { because },
        },
        created_unix_sec: doc.created_unix_sec,
    })
}

fn kind_doc(kind: &IntentKind) -> IntentKindDoc {
    match kind {
        IntentKind::Apply { plan } => IntentKindDoc::Apply { plan: Box::new(PlanDoc::new(plan)) },
        IntentKind::Undo { applied } => IntentKindDoc::Undo { applied: applied.0.clone() },
        IntentKind::MoveOut { to, keep_source } => {
            IntentKindDoc::MoveOut { to: peer_doc(to), keep_source: *keep_source }
        }
        IntentKind::MoveIn { from, plan, frozen } => IntentKindDoc::MoveIn {
            from: peer_doc(from),
            plan: plan.as_ref().map(|plan| Box::new(PlanDoc::new(plan))),
            frozen: frozen.to_doc(),
        },
    }
}

fn kind(doc: IntentKindDoc) -> Result<IntentKind, DocumentError> {
    Ok(match doc {
        IntentKindDoc::Apply { plan } => IntentKind::Apply { plan: Box::new(plan.into_plan()?) },
        IntentKindDoc::Undo { applied } => IntentKind::Undo { applied: IntentId(applied) },
        IntentKindDoc::MoveOut { to, keep_source } => {
            IntentKind::MoveOut { to: peer(to), keep_source }
        }
        IntentKindDoc::MoveIn { from, plan, frozen } => IntentKind::MoveIn {
            from: peer(from),
            plan: plan.map(|plan| plan.into_plan().map(Box::new)).transpose()?,
            frozen: Wire::from_doc(frozen),
        },
    })
}

fn peer_doc(peer: &Peer) -> PeerDoc {
    PeerDoc { host: peer.host.0.clone(), uri: peer.uri.clone() }
}

fn peer(doc: PeerDoc) -> Peer {
    Peer { host: HostId(doc.host), uri: doc.uri }
}

fn record_doc(record: &GuestRecord) -> GuestRecordDoc {
    let GuestRecord { name, frozen, applied } = record;
    let newest_first = std::iter::successors(applied.as_ref(), |a| a.previous.as_deref());
    GuestRecordDoc {
        name: name.clone(),
        frozen: frozen.to_doc(),
        applied: newest_first
            .map(|applied| AppliedPlanDoc {
                intent: applied.intent.0.clone(),
                plan: PlanDoc::new(&applied.plan),
            })
            .collect(),
    }
}

fn record(doc: GuestRecordDoc) -> Result<GuestRecord, DocumentError> {
    let mut applied: Option<AppliedPlan> = None;
    for doc in doc.applied.into_iter().rev() {
        applied = Some(AppliedPlan {
            intent: IntentId(doc.intent),
            plan: Box::new(doc.plan.into_plan()?),
            previous: applied.map(Box::new),
        });
    }
    Ok(GuestRecord { name: doc.name, frozen: Wire::from_doc(doc.frozen), applied })
}

#[cfg(test)]
mod tests {
    use super::*;
    use numawise_model::{
        Binding, CpuSet, ForeignOwner, FrozenTopology, GuestCpuTopology, HelperPlacement, HostRef,
        Levels, Manager, MemoryMode, Mode, PageSize, Pins, Plan, PlanId, Policy, Request, Vcpu,
    };
    use std::collections::BTreeMap;

    fn plan(id: &str) -> Box<Plan> {
        Box::new(Plan {
            id: PlanId(id.to_owned()),
            host: HostRef { id: HostId("h".to_owned()), topology_digest: "d".to_owned() },
            guest: None,
            request: Request {
                vcpus: 11,
                memory_bytes: 1 << 30,
                page_size: PageSize::BASE_4K,
                policy: Policy::Smart,
                shared: false,
                overcommit: false,
                vnuma: false,
                cells_per_node: 1,
                max_sockets: None,
                memory_mode: MemoryMode::Strict,
                new_topology: false,
                fix_guest: false,
                memory_only: None,
                guest_cache: None,
            },
            binding: Binding {
                cpus: (0..11).map(|n| (Vcpu(n), CpuSet::single(Pcpu(n)))).collect(),
                mode: Mode::Exclusive,
            },
            vnuma: None,
            cpu_before: None,
            helpers: HelperPlacement::default(),
            claims: Vec::new(),
            fixes: Vec::new(),
            changes: Vec::new(),
            requires: Vec::new(),
            levels: Levels::default(),
            reasons: Vec::new(),
            findings: Vec::new(),
        })
    }

    fn intent(id: &str, kind: IntentKind, status: IntentStatus) -> Intent {
        Intent {
            id: IntentId(id.to_owned()),
            guest: GuestUuid("u".to_owned()),
            guest_name: "db".to_owned(),
            kind,
            restart: true,
            live: true,
            overridden: Some(ForeignOwner::Managed { by: Manager::Nova }),
            base_revision: 7,
            status,
            created_unix_sec: -1,
        }
    }

    /// A guest that was planned for as often as `depth` says, the last time at the top.
    fn applied(depth: u32) -> Option<AppliedPlan> {
        (0..depth).fold(None, |previous, n| {
            Some(AppliedPlan {
                intent: IntentId(format!("intent {n}")),
                plan: plan(&format!("plan {n}")),
                previous: previous.map(Box::new),
            })
        })
    }

    /// 300 plans in a chain: more than a parser takes when they stand inside one another.
    #[test]
    fn a_host_state_comes_back() {
        let undo = IntentKind::Undo { applied: IntentId("i-1".to_owned()) };
        let rolled_back = IntentStatus::RolledBack { because: "it did not start".to_owned() };
        let apply = || IntentKind::Apply { plan: plan("p") };
        let frozen = FrozenTopology {
            cells: Vec::new(),
            cpu: GuestCpuTopology { sockets: 1, dies: 1, clusters: 1, cores: 11, threads: 1 },
            cpu_before: None,
        };
        let peer = || Peer { host: HostId("h2".to_owned()), uri: "qemu+ssh://b/system".to_owned() };
        let move_out = IntentKind::MoveOut { to: peer(), keep_source: true };
        let (plan, frozen_there) = (Some(plan("p")), Some(frozen.clone()));
        let move_in = IntentKind::MoveIn { from: peer(), plan, frozen: frozen_there };
        let record =
            |depth, frozen| GuestRecord { name: "db".to_owned(), frozen, applied: applied(depth) };
        let state = HostState {
            revision: u64::MAX,
            ledger: Ledger::default(),
            intents: vec![
                intent("i-1", apply(), IntentStatus::Pending),
                intent("i-2", apply(), rolled_back),
                intent("i-3", undo, IntentStatus::Done),
                intent("i-4", move_out, IntentStatus::Pending),
                intent("i-4", move_in, IntentStatus::Pending),
            ],
            guests: BTreeMap::from([
                (GuestUuid("u".to_owned()), record(300, Some(frozen))),
                (GuestUuid("v".to_owned()), record(0, None)),
            ]),
        };
        let text = host_state_to_json(&state);
        assert_eq!(host_state_from_json(&text).expect("the same state"), state);
    }

    #[test]
    fn every_step_comes_back() {
        let text = |s: &str| s.to_owned();
        let steps = [
            Step::Backup {
                before_xml: text("<domain a=\"1\">\n"),
                after_xml: text("é"),
                was_running: true,
            },
            Step::OwnerOverridden { owner: ForeignOwner::Managed { by: Manager::Nova } },
            Step::LivePins {
                before: Pins {
                    vcpus: BTreeMap::from([(Vcpu(0), CpuSet::range(3, 7))]),
                    emulator: Some(CpuSet::single(Pcpu(1))),
                    iothreads: BTreeMap::from([(1, CpuSet::single(Pcpu(2)))]),
                },
            },
            Step::Defined,
            Step::PinnedLive,
            Step::ShutdownAsked,
            Step::ShutDown,
            Step::Started,
            Step::Verified { findings: 3 },
            Step::Finished,
            Step::RollBack { because: text("no") },
            Step::RolledBack,
            Step::Moved { from_uri: text("a"), to_uri: text("b") },
            Step::Arrived,
            Step::SourceUndefined,
        ];
        for step in steps {
            assert_eq!(step_from_json(&step_to_json(&step)).expect("the same step"), step);
        }
    }

    #[test]
    fn a_usage_sample_comes_back() {
        let sample = UsageSample {
            at_unix_sec: 1_700_000_000,
            boot_unix_sec: 5,
            cpus: BTreeMap::from([
                (Pcpu(2), CpuTicks { busy: 1, total: 2 }),
                (Pcpu(10), CpuTicks { busy: 0, total: u64::MAX }),
            ]),
        };
        assert_eq!(usage_from_json(&usage_to_json(&sample)).expect("the same sample"), sample);
    }

    #[test]
    fn errors_name_the_field() {
        let good = usage_to_json(&UsageSample {
            at_unix_sec: 1,
            boot_unix_sec: 1,
            cpus: BTreeMap::from([(Pcpu(3), CpuTicks { busy: 1, total: 2 })]),
        });
        let error = usage_from_json(&good.replace("\"total_ticks\":2", "\"total_ticks\":-2"))
            .expect_err("no counter is negative");
        assert!(error.to_string().contains("cpus.3.total_ticks: invalid value"), "{error}");
    }
}
