//! One run as the judge sees it: which cell of the design it fills, its figures, and what was seen beside
//! them. What nobody looked at is `None`, and the judge then says nothing of it.

use crate::measured::Steadiness;
use crate::metric::Metric;
use crate::order::Arm;
use core::time::Duration;
use std::collections::BTreeMap;

/// What is held equal when two arms are compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    pub workload: String,
    pub threads: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub block: u32,
    pub arm: Arm,
    pub cell: Cell,
    /// `None` where it is not known, as with most logs.
    pub host: Option<String>,
    pub values: BTreeMap<Metric, f64>,
    pub conditions: Conditions,
}

/// Shares are of one: 0.7 is 70 %.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    pub steadiness: Steadiness,
    /// Of the CPUs that the generator may run on, the share it used.
    pub client_use: Option<f64>,
    /// How much of its limit each tier used. The generator's own is `client_use`.
    pub tiers: BTreeMap<Tier, f64>,
    /// Of the server's CPU time, what the hypervisor gave to somebody else.
    pub steal: Option<f64>,
    /// Transactions that failed or were tried again, of all.
    pub error_share: Option<f64>,
    pub lost_generators: Vec<LostGenerator>,
    pub mechanism: MechanismSeen,
    /// The server's variables, or any other setting that may matter.
    pub settings: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostGenerator {
    pub name: String,
    /// Since the start of the run.
    pub after: Duration,
}

/// What can be at its limit. Declared in the order in which a request meets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    Client,
    Nic,
    Proxy,
    SqlProcess,
    StorageProcess,
    Disk,
}

/// What a placement is there to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mechanism {
    /// Pages on another node than the CPU that uses them.
    RemotePages,
    /// Threads that went from one L3 domain to another.
    L3Crossings,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MechanismSeen {
    /// Share of the server's pages.
    pub remote_page_share: Option<f64>,
    pub l3_crossings_per_sec: Option<f64>,
}

impl MechanismSeen {
    pub fn of(&self, mechanism: Mechanism) -> Option<f64> {
        match mechanism {
            Mechanism::RemotePages => self.remote_page_share,
            Mechanism::L3Crossings => self.l3_crossings_per_sec,
        }
    }
}
