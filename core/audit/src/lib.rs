//! The judge: it knows the rules, not the planner's code, and shares nothing with it but the model.
//!
//! [`judge_plan`] holds a plan against the host and what is given away there; [`judge_guest`] holds a
//! guest as it is against its plan; [`judge_ledger`] holds the claims of a host against one another;
//! [`judge_host`] looks at a whole host, whoever placed its guests. Each gives findings. A rule that is broken is an error; what works, but not as well as it could,
//! is a warning or a remark.

use numawise_model::{Finding, Severity};

mod database;
mod guest;
mod host;
mod ledger;
mod plan;
mod slices;

pub use database::{COMPARED, judge_databases};
pub use guest::{Seen, judge_guest};
pub use host::{AuditedGuest, AuditedHost, UndefinedGuest, judge_host};
pub use ledger::judge_ledger;
pub use plan::{judge_changes, judge_plan};

/// Whether a finding means that a guest is not as it should be (exit code 5), rather than something
/// to know of it.
pub fn is_drift(finding: &Finding) -> bool {
    finding.severity == Severity::Error
}
