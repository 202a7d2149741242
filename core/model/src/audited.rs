//! What an audit of a whole host came to.

use crate::finding::{Finding, Severity};
use crate::observed::Sight;
use crate::plan::HostId;
use crate::surroundings::{KernelFact, Unread};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    pub host: HostId,
    /// The host is only modelled.
    pub simulated: bool,
    pub guests: u32,
    /// The gravest first.
    pub findings: Vec<Finding>,
    /// What the findings say nothing about.
    pub not_looked_at: Vec<NotLookedAt>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLookedAt {
    Kernel { fact: KernelFact, why: Unread },
    Guest { name: String, what: Sight, why: String },
}

impl Audit {
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}
