//! Runs of the loads that measure more than [`measured`](crate::measured): TPC-C's and the CPUs'.

use crate::error::{VERSION, pretty};
use crate::wire::{Wire, wire};
use core::time::Duration;
use numawise_experiment::{
    CpuRun, CpuThread, Frequency, FrequencySource, Measured, Mix, NoFrequency, NoServerCounters,
    Orders, RandomChoice, Route, ServerTransactions, TpccRun,
};
use numawise_model::Pcpu;
use serde::Serialize;

wire! { enum RandomChoiceDoc = RandomChoice { HammerDb, Specification } }
wire! { enum MixDoc = Mix { Drawn, Dealt } }
wire! { enum RouteDoc = Route { Procedures, Statements } }
wire! { enum NoServerCountersDoc = NoServerCounters { NoServer, NotTold, Restarted, Unanswered } }
wire! { struct OrdersDoc = Orders { growth: Option<u64>, committed: u64, unknown: u64 } }
wire! { enum NoFrequencyDoc = NoFrequency { NominalOnly, NothingTold } }

wire! {
    #[serde(tag = "counters")]
    enum ServerTransactionsDoc = ServerTransactions {
        Counted { commits: u64, rollbacks: u64 },
        NotAvailable { why: NoServerCounters },
    }
}

wire! {
    struct TpccRunDoc = TpccRun {
        measured: Measured,
        warehouses: u32,
        users: u32,
        choice: RandomChoice,
        mix: Mix,
        route: Route,
        all_warehouses: bool,
        waits: bool,
        ramp_up: Duration,
        orders: Orders,
        server: ServerTransactions,
        unknown: u64,
        besides: u64,
    }
}

wire! {
    struct FrequencyDoc = Frequency { lowest_khz: u64, mean_khz: u64, highest_khz: u64, samples: u32 }
}

wire! {
    struct CpuThreadDoc = CpuThread { pinned: Option<Pcpu>, events: u64, frequency: Option<Frequency> }
}

wire! {
    #[serde(tag = "from")]
    enum FrequencySourceDoc = FrequencySource {
        CpuFreq,
        CpuInfo,
        NotAvailable { why: NoFrequency },
    }
}

wire! {
    struct CpuRunDoc = CpuRun {
        measured: Measured,
        max_prime: u64,
        threads: Vec<CpuThread>,
        source: FrequencySource,
    }
}

/// The two figures stand beside the run that they are worked out from.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TpccFileDoc {
    schema: &'static str,
    version: u32,
    /// Absent where the database did not answer at the end.
    nopm: Option<f64>,
    /// Absent where the server has no counters of the whole time.
    tpm: Option<f64>,
    run: TpccRunDoc,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuFileDoc {
    schema: &'static str,
    version: u32,
    run: CpuRunDoc,
}

pub fn tpcc_run_to_json(run: &TpccRun) -> String {
    pretty(&TpccFileDoc {
        schema: "numawise.tpcc-run",
        version: VERSION,
        nopm: run.nopm(),
        tpm: run.tpm(),
        run: run.to_doc(),
    })
}

pub fn cpu_run_to_json(run: &CpuRun) -> String {
    pretty(&CpuFileDoc { schema: "numawise.cpu-run", version: VERSION, run: run.to_doc() })
}
