//! The same question to the whole planner, which also gives its reasons.

use super::rows::Row;
use numawise_model::guest::Balloon;
use numawise_model::placement::Split;
use numawise_model::plan::HeldPages;
use numawise_model::{
    Best, ClaimId, CpuPools, GuestConfig, Host, HostId, HostRef, Ledger, MemoryMode, PageSize,
    Plan, PlanId, Policy, Refusal, Request,
};
use numawise_planner::{Inputs, Stamp, plan};

pub struct Planned {
    host: Host,
    pools: CpuPools,
    guest: GuestConfig,
    request: Request,
    ledger: Ledger,
    held: HeldPages,
}

impl Planned {
    /// `None` for cells that a request cannot name: unequal memory.
    pub fn of(row: &Row) -> Option<Self> {
        if row.cells.windows(2).any(|pair| pair[0] != pair[1]) {
            return None;
        }
        let mut shape = row.host.make.shape.clone();
        shape.hugepages.insert(PageSize::HUGE_2M, row.host.free_pages[0]);
        let vcpus = row.cells.iter().map(|cell| cell.vcpus).sum();
        let pages: u64 = row.cells.iter().map(|cell| cell.pages).sum();
        let memory_bytes = pages * PageSize::HUGE_2M.bytes();
        let best =
            Best { split: Split::Even, vnodes: Some(row.cells.len() as u32), ..Best::default() };
        Some(Self {
            host: shape.host(),
            pools: CpuPools { dedicated: Some(row.host.all_free_cpus()), ..CpuPools::default() },
            guest: GuestConfig {
                name: "guest".to_owned(),
                vcpus_max: vcpus,
                vcpus_current: vcpus,
                memory_bytes,
                current_memory_bytes: memory_bytes,
                balloon: Balloon::Off,
                ..GuestConfig::default()
            },
            request: Request {
                vcpus,
                memory_bytes,
                page_size: PageSize::HUGE_2M,
                policy: Policy::Best(best),
                shared: false,
                overcommit: false,
                vnuma: true,
                cells_per_node: 1,
                max_sockets: None,
                memory_mode: MemoryMode::Strict,
                new_topology: false,
                fix_guest: false,
                memory_only: None,
                guest_cache: None,
            },
            ledger: Ledger::default(),
            held: HeldPages::new(),
        })
    }

    pub fn plan(&self) -> Result<Plan, Vec<Refusal>> {
        let inputs = Inputs {
            host: &self.host,
            ledger: &self.ledger,
            pools: &self.pools,
            guest: Some(&self.guest),
            live: None,
            cpu_before: None,
            frozen: None,
            held: &self.held,
            smp_cache: None,
            stamp: Stamp {
                plan: PlanId("plan".to_owned()),
                claims: [ClaimId("vcpus".to_owned()), ClaimId("helpers".to_owned())],
                host: HostRef { id: HostId("host".to_owned()), topology_digest: "t".to_owned() },
                guest: None,
                frozen_digest: None,
            },
        };
        plan(&inputs, &self.request)
    }
}
