//! A guest as it is against its plan.

use numawise_model::{Finding, GuestConfig, GuestFacts, Host, Ledger, Plan};

pub fn judge_guest(
    _expect: &Plan,
    _stored: &GuestConfig,
    _live: Option<&GuestConfig>,
    _facts: Option<&GuestFacts>,
    _ledger: &Ledger,
    _host: &Host,
) -> Vec<Finding> {
    Vec::new()
}
