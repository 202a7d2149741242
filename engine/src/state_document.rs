//! The engine's own values to and from the documents that a store keeps. The shapes and the texts
//! are those of the documents crate; here is only which field is which.

use crate::intent::{
    AppliedPlan, GuestRecord, HostState, Intent, IntentId, IntentKind, IntentStatus, Step,
};
use crate::usage::{CpuTicks, UsageSample};
use numawise_documents::state::{
    AppliedPlanDoc, CpuTicksDoc, GuestRecordDoc, HostStateDoc, IntentDoc, IntentKindDoc,
    IntentStatusDoc, StepDoc, StepKindDoc, UsageSampleDoc,
};
use numawise_documents::{DocumentError, PlanDoc, Wire};
use numawise_model::{GuestUuid, Ledger, Pcpu};

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
        Step::Defined => StepKindDoc::Defined,
        Step::ShutDown => StepKindDoc::ShutDown,
        Step::Started => StepKindDoc::Started,
        Step::Verified { findings } => StepKindDoc::Verified { findings },
        Step::Finished => StepKindDoc::Finished,
        Step::RollBack { because } => StepKindDoc::RollBack { because },
        Step::RolledBack => StepKindDoc::RolledBack,
    })
    .to_json()
}

pub fn step_from_json(text: &str) -> Result<Step, DocumentError> {
    Ok(match StepDoc::parse(text)?.step {
        StepKindDoc::Backup { before_xml, after_xml, was_running } => {
            Step::Backup { before_xml, after_xml, was_running }
        }
        StepKindDoc::Defined => Step::Defined,
        StepKindDoc::ShutDown => Step::ShutDown,
        StepKindDoc::Started => Step::Started,
        StepKindDoc::Verified { findings } => Step::Verified { findings },
        StepKindDoc::Finished => Step::Finished,
        StepKindDoc::RollBack { because } => Step::RollBack { because },
        StepKindDoc::RolledBack => Step::RolledBack,
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
    let Intent { id, guest, guest_name, kind, restart, base_revision, status, created_unix_sec } =
        intent;
    IntentDoc {
        id: id.0.clone(),
        guest: guest.to_doc(),
        guest_name: guest_name.clone(),
        kind: match kind {
            IntentKind::Apply { plan } => {
                IntentKindDoc::Apply { plan: Box::new(PlanDoc::new(plan)) }
            }
            IntentKind::Undo { applied } => IntentKindDoc::Undo { applied: applied.0.clone() },
        },
        restart: *restart,
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
        kind: match doc.kind {
            IntentKindDoc::Apply { plan } => {
                IntentKind::Apply { plan: Box::new(plan.into_plan()?) }
            }
            IntentKindDoc::Undo { applied } => IntentKind::Undo { applied: IntentId(applied) },
        },
        restart: doc.restart,
        base_revision: doc.base_revision,
        status: match doc.status {
            IntentStatusDoc::Pending => IntentStatus::Pending,
            IntentStatusDoc::Done => IntentStatus::Done,
            IntentStatusDoc::RolledBack { because } => IntentStatus::RolledBack { because },
        },
        created_unix_sec: doc.created_unix_sec,
    })
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
