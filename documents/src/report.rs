//! What commands print with `--json` beside plans and hosts: outcomes, verdicts, lists. These are
//! printed and never read back.

use crate::error::{VERSION, compact, pretty};
use crate::finding::{FindingDoc, ForeignOwnerDoc};
use crate::guest::{FrozenDoc, GuestCellDoc, GuestCpuTopologyDoc};
use crate::wire::{IdDoc, ListDoc, Wire};
use numawise_model::event::WatchEvent;
use numawise_model::{
    Finding, FrozenTopology, GuestConfig, GuestUuid, Mode, NodeSet, Pcpu, Pnode, Sight, Unseen,
    Utilisation, Vcpu,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// What every report says first.
#[derive(Clone, Debug, Serialize)]
struct Headed<T: Serialize> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    body: T,
}

fn headed<T: Serialize>(schema: &'static str, body: T) -> String {
    pretty(&Headed { schema, version: VERSION, body })
}

/// Which guest of which kind of hypervisor a report is about.
#[derive(Clone, Debug, Serialize)]
pub struct ReportedGuest {
    pub name: String,
    pub uuid: String,
    pub running: bool,
    /// Its host is only modelled.
    pub simulated: bool,
}

impl ReportedGuest {
    pub fn new(name: &str, uuid: &GuestUuid, running: bool, simulated: bool) -> Self {
        Self { name: name.to_owned(), uuid: uuid.0.clone(), running, simulated }
    }
}

#[derive(Serialize)]
struct VerdictDoc {
    guest: ReportedGuest,
    agrees: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_restart: Option<bool>,
    /// What `agrees` says nothing about.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_looked_at: Option<Vec<UnseenDoc>>,
    findings: Vec<FindingDoc>,
}

#[derive(Serialize)]
struct UnseenDoc {
    what: &'static str,
    why: String,
}

/// `numawise.verdict`: what verify saw, and what it could not look at.
pub fn verdict_to_json(
    guest: ReportedGuest,
    agrees: bool,
    unseen: &[Unseen],
    findings: &[Finding],
) -> String {
    let findings = findings.iter().map(Wire::to_doc).collect();
    let doc = |u: &Unseen| UnseenDoc { what: sight_word(u.what), why: u.why.clone() };
    let not_looked_at = Some(unseen.iter().map(doc).collect());
    let pending_restart = None;
    headed(
        "numawise.verdict",
        VerdictDoc { guest, agrees, pending_restart, not_looked_at, findings },
    )
}

fn sight_word(what: Sight) -> &'static str {
    match what {
        Sight::Threads => "threads",
        Sight::Pages => "pages",
        Sight::GuestNodes => "guest-nodes",
    }
}

#[derive(Serialize)]
struct WatchDoc {
    schema: &'static str,
    version: u32,
    at_unix_sec: i64,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    guest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finding: Option<FindingDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    simulated: bool,
}

/// `numawise.watch`, on one line: `watch` prints one after the other.
pub fn watch_to_json(at_unix_sec: i64, event: &WatchEvent, simulated: bool) -> String {
    use WatchEvent as E;
    let (event, guest, finding, why) = match event {
        E::Appeared { guest } => ("appeared", Some(guest), None, None),
        E::Vanished { guest } => ("vanished", Some(guest), None, None),
        E::Started { guest } => ("started", Some(guest), None, None),
        E::Stopped { guest } => ("stopped", Some(guest), None, None),
        E::Found { finding } => ("found", None, Some(finding.to_doc()), None),
        E::Gone { finding } => ("gone", None, Some(finding.to_doc()), None),
        E::Blind { why } => ("blind", None, None, Some(why.clone())),
        E::SeesAgain => ("sees-again", None, None, None),
    };
    let (schema, version, guest) = ("numawise.watch", VERSION, guest.cloned());
    compact(&WatchDoc { schema, version, at_unix_sec, event, guest, finding, why, simulated })
}

/// `numawise.outcome`: how an apply or an undo ended.
pub fn outcome_to_json(
    guest: ReportedGuest,
    agrees: bool,
    pending_restart: bool,
    findings: &[Finding],
) -> String {
    let findings = findings.iter().map(Wire::to_doc).collect();
    let pending_restart = Some(pending_restart);
    headed(
        "numawise.outcome",
        VerdictDoc { guest, agrees, pending_restart, not_looked_at: None, findings },
    )
}

/// One line of the list of guests.
#[derive(Clone, Debug, Serialize)]
pub struct GuestLineDoc {
    #[serde(flatten)]
    pub guest: ReportedGuest,
    pub vcpus: u32,
    pub memory_bytes: u64,
    pub pcpus: ListDoc<Pcpu>,
    pub binding_mode: Option<&'static str>,
    pub host_nodes: ListDoc<Pnode>,
    pub vnuma_vcpus: Vec<u32>,
    /// How many findings are drift; null when no plan is in force.
    pub drift: Option<u32>,
    /// The running guest was started from an older definition.
    pub pending_restart: bool,
    /// Who else may change the guest, and numawise therefore not; null when nobody does.
    pub owner: Option<ForeignOwnerDoc>,
}

#[derive(Serialize)]
struct GuestsDoc<'a> {
    guests: &'a [GuestLineDoc],
    /// About the claims of the host as a whole.
    findings: Vec<FindingDoc>,
}

/// `numawise.guests`.
pub fn guests_to_json(guests: &[GuestLineDoc], findings: &[Finding]) -> String {
    let findings = findings.iter().map(Wire::to_doc).collect();
    headed("numawise.guests", GuestsDoc { guests, findings })
}

pub fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "exclusive",
        Mode::Shared => "shared",
    }
}

/// What a domain XML says, as far as placement goes.
#[derive(Clone, Debug, Serialize)]
pub struct GuestConfigDoc {
    pub vcpus: u32,
    pub memory_bytes: u64,
    pub binding: BTreeMap<IdDoc<Vcpu>, ListDoc<Pcpu>>,
    pub emulator: Option<ListDoc<Pcpu>>,
    pub iothreads: BTreeMap<u32, ListDoc<Pcpu>>,
    pub guest_topology: Option<GuestCpuTopologyDoc>,
    pub vnuma: Vec<GuestCellDoc>,
    /// For each vNUMA node the pNUMA nodes that its memory is tied to.
    pub memory_nodes: Vec<Option<ListDoc<Pnode>>>,
}

impl GuestConfigDoc {
    pub fn new(config: &GuestConfig) -> Self {
        let memnode = |cell: &numawise_model::guest::GuestCell| -> Option<&NodeSet> {
            config.numatune.as_ref()?.memnodes.get(&cell.id).map(|(_, nodes)| nodes)
        };
        Self {
            vcpus: config.vcpus_max,
            memory_bytes: config.memory_bytes,
            binding: config.vcpu_pins.to_doc(),
            emulator: config.emulator_pin.to_doc(),
            iothreads: config.iothread_pins.to_doc(),
            guest_topology: config.cpu_topology.to_doc(),
            vnuma: config.cells.to_doc(),
            memory_nodes: config.cells.iter().map(|c| memnode(c).map(Wire::to_doc)).collect(),
        }
    }
}

#[derive(Serialize)]
struct GuestReportDoc {
    guest: ReportedGuest,
    /// The plan in force.
    plan_id: Option<String>,
    stored: GuestConfigDoc,
    live: Option<GuestConfigDoc>,
    frozen: Option<FrozenDoc>,
    findings: Vec<FindingDoc>,
}

/// What `show` knows of a guest.
pub struct GuestReport<'a> {
    pub guest: ReportedGuest,
    pub plan_id: Option<String>,
    pub stored: &'a GuestConfig,
    pub live: Option<&'a GuestConfig>,
    pub frozen: Option<&'a FrozenTopology>,
    pub findings: &'a [Finding],
}

/// `numawise.guest`.
pub fn guest_to_json(report: GuestReport<'_>) -> String {
    headed(
        "numawise.guest",
        GuestReportDoc {
            guest: report.guest,
            plan_id: report.plan_id,
            stored: GuestConfigDoc::new(report.stored),
            live: report.live.map(GuestConfigDoc::new),
            frozen: report.frozen.map(Wire::to_doc),
            findings: report.findings.iter().map(Wire::to_doc).collect(),
        },
    )
}

#[derive(Serialize)]
struct ChangeDoc<'a> {
    guest: &'a str,
    before_xml: &'a str,
    after_xml: &'a str,
}

/// `numawise.change`: a domain XML as it is and as it would be, secrets masked.
pub fn change_to_json(guest: &str, before_xml: &str, after_xml: &str) -> String {
    headed("numawise.change", ChangeDoc { guest, before_xml, after_xml })
}

#[derive(Serialize)]
struct DoneDoc<'a> {
    done: &'a str,
    simulated: bool,
}

/// `numawise.done`: what a small command did, in a sentence.
pub fn done_to_json(done: &str, simulated: bool) -> String {
    headed("numawise.done", DoneDoc { done, simulated })
}

#[derive(Serialize)]
struct UsageDoc<'a> {
    schema: &'static str,
    version: u32,
    window_sec: i64,
    busy_permille: &'a BTreeMap<IdDoc<Pcpu>, u16>,
}

/// `numawise.usage`, on one line: `--watch` prints one after the other.
pub fn usage_to_json(window_sec: i64, use_: &BTreeMap<Pcpu, Utilisation>) -> String {
    let busy: BTreeMap<IdDoc<Pcpu>, u16> =
        use_.iter().map(|(cpu, share)| (cpu.to_doc(), share.0)).collect();
    let schema = "numawise.usage";
    compact(&UsageDoc { schema, version: VERSION, window_sec, busy_permille: &busy })
}

#[derive(Serialize)]
struct CpusetDoc {
    cpus: String,
    count: usize,
    excluded_before_included: String,
}

/// `numawise.cpuset`.
pub fn cpuset_to_json(rule: &numawise_model::Rule<Pcpu>) -> String {
    headed(
        "numawise.cpuset",
        CpusetDoc {
            cpus: rule.set.to_string(),
            count: rule.set.len(),
            excluded_before_included: rule.excluded_before_included.to_string(),
        },
    )
}
