//! A plan against the host it is for.

use numawise_model::{CpuPools, Finding, FrozenTopology, GuestConfig, Host, Ledger, Plan};

pub fn judge_plan(
    _host: &Host,
    _others: &Ledger,
    _pools: &CpuPools,
    _guest: Option<&GuestConfig>,
    _frozen: Option<&FrozenTopology>,
    _plan: &Plan,
) -> Vec<Finding> {
    Vec::new()
}
