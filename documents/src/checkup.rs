//! A check-up as it is written: `numawise.checkup`, one entry per thing that was tried.

use crate::error::{VERSION, pretty};
use crate::wire::{Wire, wire};
use numawise_model::Pnode;
use numawise_model::checkup::{
    Accelerator, Check, CheckKind, DefectOutcome, HostSetting, Platform, ProbeOutcome, Verdict,
};
use serde::Serialize;

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
    #[serde(tag = "check", content = "fields")]
    enum CheckKindDoc = CheckKind {
        Connection { uri: String, answer: Option<Platform>, why: Option<String> },
        ProbeGuest { accelerator: Accelerator, outcome: ProbeOutcome },
        NoKvm { device_file: bool },
        EmulatorPinDefect { outcome: DefectOutcome },
        KernelFacts { why_not: Option<String> },
        Nodes { nodes: Vec<Pnode> },
        AgainstBinding { setting: HostSetting },
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
