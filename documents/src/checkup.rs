//! A check-up as it is written: `numawise.checkup`, one entry per thing that was tried.

use crate::error::{VERSION, pretty};
use crate::wire::{Wire, wire};
use numawise_model::checkup::{
    Accelerator, Check, CheckKind, DefectOutcome, HostSetting, Platform, ProbeOutcome, Verdict,
};
use numawise_model::database::{DatabaseCheck, DatabaseProduct, PoolPolicy, ServerUnseen};
use numawise_model::{CpuSet, NodeSet, Pnode};
use serde::Serialize;
use std::collections::BTreeMap;

wire! { enum VerdictDoc = Verdict { Good, Untried, Warning, Bad } }
wire! { enum AcceleratorDoc = Accelerator { Kvm, Software } }
wire! { enum HostSettingDoc = HostSetting { NumaBalancing, KsmAcrossNodes } }

wire! {
    struct PlatformDoc = Platform {
        libvirt_client: String,
        libvirt_daemon: String,
        hypervisor: String,
        remote: bool,
    }
}

wire! {
    #[serde(tag = "outcome")]
    enum ProbeOutcomeDoc = ProbeOutcome {
        Booted { took_msec: u64 },
        NotBooted { why: String },
        NotTried { why: String },
    }
}

wire! {
    #[serde(tag = "outcome")]
    enum DefectOutcomeDoc = DefectOutcome {
        Absent,
        Present { said: String },
        NotTried { why: String },
    }
}

wire! {
    enum DatabaseProductDoc = DatabaseProduct { MariaDb, MySql, TiDb, PostgreSql, Sqlite }
}

wire! {
    #[serde(tag = "unseen")]
    enum ServerUnseenDoc = ServerUnseen { NoServer, NotHere, NotFound, NoAccess { why: String } }
}

wire! {
    #[serde(tag = "policy")]
    enum PoolPolicyDoc = PoolPolicy {
        Default,
        Bound { nodes: NodeSet },
        Interleaved { nodes: NodeSet },
        Other,
    }
}

wire! {
    #[serde(tag = "found", content = "of")]
    enum DatabaseCheckDoc = DatabaseCheck {
        Answers { product: DatabaseProduct, version: String },
        DoesNotAnswer { why: String },
        Place {
            pid: u32,
            threads: u64,
            cpus: CpuSet,
            nodes: NodeSet,
            bytes_on: BTreeMap<Pnode, u64>,
        },
        Unseen { why: ServerUnseen },
        MemoryAway { bytes: u64, nodes: NodeSet },
        Interleaves { nodes: Option<NodeSet> },
        InterleavesNot,
        InterleaveUnknown { pool_policy: Option<PoolPolicy> },
        PoolTooLarge { setting: String, pool_bytes: u64, nodes: NodeSet, nodes_bytes: u64 },
        PoolFits { setting: String, pool_bytes: u64, nodes: NodeSet, nodes_bytes: u64 },
        ThroughPageCache { setting: String, value: String },
        TooManyThreadGroups { groups: u64, cpus: u64 },
        WatchesItself,
        SmallPages { setting: String, value: String, pool_bytes: u64 },
        NotDurable { setting: String, value: String },
        Differs { setting: String, values: BTreeMap<String, String> },
    }
}

wire! {
    #[serde(tag = "check", content = "fields")]
    enum CheckKindDoc = CheckKind {
        Connection { uri: String, answer: Option<Platform>, why: Option<String> },
        ProbeGuest { accelerator: Accelerator, outcome: ProbeOutcome },
        NoKvm { device_file: bool },
        EmulatorPinDefect { outcome: DefectOutcome },
        KernelFacts { why_not: Option<String> },
        Nodes { nodes: Vec<Pnode> },
        AgainstBinding { setting: HostSetting },
        Database { target: String, check: DatabaseCheck },
        State { folder: String, why_not: Option<String> },
    }
}

#[derive(Serialize)]
struct CheckDoc {
    verdict: VerdictDoc,
    #[serde(flatten)]
    kind: CheckKindDoc,
}

#[derive(Serialize)]
struct CheckupDoc {
    schema: &'static str,
    version: u32,
    checks: Vec<CheckDoc>,
}

pub fn checkup_to_json(checks: &[Check]) -> String {
    let one =
        |check: &Check| CheckDoc { verdict: check.verdict.to_doc(), kind: check.kind.to_doc() };
    pretty(&CheckupDoc {
        schema: "numawise.checkup",
        version: VERSION,
        checks: checks.iter().map(one).collect(),
    })
}
