//! A whole host as it stands: who has what, where guests run and have their memory, what they are
//! told, and what the host's kernel does beside them.
//!
//! The rules, by the names of [`numawise_model::AuditRule`]:
//!
//! Who has what (`host/owners.rs`)
//! - `booked-twice`: a pCPU has one exclusive owner or any number of shared ones ([`judge_ledger`]).
//! - `cpus-gone`: what is claimed or pinned is online, and within the cgroup's limit.
//! - `core-shared`: the threads of a core are not two owners' exclusive CPUs.
//!
//! Where guests run (`host/pins.rs`)
//! - `vcpu-spans-nodes`: a vCPU may run within one node.
//! - `isolated-in-mask`: a mask of several CPUs has no isolated one in it, where the scheduler does
//!   not balance.
//! - `helpers-on-pinned-cpus`: emulator and I/O threads keep off CPUs that vCPUs are pinned to.
//!
//! Where their memory is (`host/memory.rs`, `host/promises.rs`)
//! - `memory-away`: it is bound to, and is on, the nodes that the vCPUs run on; where such a node
//!   has no memory, the nearest that has. Memory-only nodes are somebody's choice and left alone.
//! - `memory-on-a-slice`: where firmware makes each L3 a node, memory is bound to all the nodes that
//!   share the same channels, since one of them is a slice of it.
//! - `pages-promised-twice`: what is promised on a node is there, for all together and for each.
//!
//! What guests are told (`host/picture.rs`)
//! - `guest-l3`: vCPUs that are told to share an L3 do.
//! - `distances-told`: distances are those of the nodes they are bound to now.
//! - `resizing-with-vnuma`: no balloon and no hot-plug beside vNUMA.
//! - `stale-topology`: a frozen topology has a guest, and the guest's definition says the same.
//!
//! What the kernel does beside them (`host/kernel.rs`)
//! - `interrupts-on-pinned-cpus`, `kernel-threads-on-pinned-cpus`, `workqueues-on-pinned-cpus`: what
//!   can be moved is not on CPUs that are one guest's alone.
//! - `numa-balancing`: automatic balancing is off on a host with pinned guests.
//! - `ksm-across-nodes`, `zone-reclaim`: pages of different nodes are not merged; a full node does
//!   not throw its cache away before it asks its neighbour.
//!
//! What was found before (a guest against its plan, definitions that cannot be read, firmware that
//! contradicts itself) is handed in and told with the rest. What nobody could look at is no finding.

mod kernel;
mod memory;
mod owners;
mod picture;
mod pins;
mod promises;

use numawise_model::{
    AuditRule, CpuSet, Finding, FindingKind, FrozenTopology, GuestConfig, GuestFacts, GuestUuid,
    Host, Ledger, Owner, Severity, Subject, Surroundings, Vcpu,
};
use std::collections::BTreeMap;

/// A host with all that is known of it.
#[derive(Clone, Copy, Debug)]
pub struct AuditedHost<'a> {
    pub host: &'a Host,
    pub surroundings: &'a Surroundings,
    pub ledger: &'a Ledger,
    pub guests: &'a [AuditedGuest<'a>],
    /// Guests that something is kept for and that are not defined any more.
    pub undefined: &'a [UndefinedGuest],
    /// What was found before, of guests and of the host's description.
    pub known: &'a [Finding],
}

/// A guest as it was found.
#[derive(Clone, Copy, Debug)]
pub struct AuditedGuest<'a> {
    pub uuid: &'a GuestUuid,
    pub name: &'a str,
    /// The definition that the next boot takes.
    pub stored: &'a GuestConfig,
    /// What the running guest was started from; `None` while it is off.
    pub live: Option<&'a GuestConfig>,
    pub facts: Option<&'a GuestFacts>,
    pub frozen: Option<&'a FrozenTopology>,
    /// A plan is in force that it was held against: its threads, pages and definition.
    pub is_planned: bool,
}

/// What is left of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndefinedGuest {
    pub uuid: GuestUuid,
    pub name: String,
    /// It still holds CPUs or memory; else only its frozen topology is kept.
    pub holds: bool,
}

/// Every finding of a host: the gravest first, those of the host before those of its guests.
pub fn judge_host(audited: &AuditedHost<'_>) -> Vec<Finding> {
    let mut case = Case { audited, findings: Vec::new() };
    case.owners();
    case.undefined();
    for guest in audited.guests {
        case.pins(guest);
        case.memory(guest);
        case.picture(guest);
    }
    case.promises();
    case.kernel();
    let mut findings = case.findings;
    findings.extend(audited.known.iter().filter(|f| AuditRule::of(&f.kind).is_some()).cloned());
    sorted(findings)
}

fn sorted(findings: Vec<Finding>) -> Vec<Finding> {
    let mut once: Vec<Finding> = Vec::new();
    for finding in findings {
        if !once.contains(&finding) && !once.iter().any(|known| is_mirror(known, &finding)) {
            once.push(finding);
        }
    }
    once.sort_by_cached_key(|finding| {
        let subject = match &finding.subject {
            Subject::Host | Subject::Plan => None,
            Subject::Guest { uuid, name } => Some((name.clone(), uuid.clone())),
        };
        (std::cmp::Reverse(finding.severity), subject, AuditRule::of(&finding.kind))
    });
    once
}

/// Two owners of one CPU are one finding, whichever of the two it is told of.
fn is_mirror(a: &Finding, b: &Finding) -> bool {
    let parts = |finding: &Finding| match (&finding.kind, &finding.subject) {
        (FindingKind::ExclusiveCpusShared { cpus, with }, subject) => {
            Some((cpus.clone(), with.clone(), subject.clone()))
        }
        _ => None,
    };
    let (Some((cpus, with, subject)), Some((other_cpus, other_with, other))) = (parts(a), parts(b))
    else {
        return false;
    };
    let is = |subject: &Subject, owner: &Owner| match (subject, owner) {
        (Subject::Guest { uuid: Some(a), .. }, Owner::Guest { uuid: b, .. }) => a == b,
        _ => false,
    };
    let same_pair = is(&subject, &other_with) && is(&other, &with);
    let same_way = subject == other && with == other_with;
    (same_pair || same_way) && other_cpus.is_subset(&cpus)
}

struct Case<'a> {
    audited: &'a AuditedHost<'a>,
    findings: Vec<Finding>,
}

impl Case<'_> {
    fn on_host(&mut self, severity: Severity, kind: FindingKind) {
        self.findings.push(Finding::host(severity, kind));
    }

    fn on(&mut self, guest: &AuditedGuest<'_>, severity: Severity, kind: FindingKind) {
        self.findings.push(Finding { severity, subject: guest.subject(), kind });
    }

    fn host(&self) -> &Host {
        self.audited.host
    }
}

impl AuditedGuest<'_> {
    fn subject(&self) -> Subject {
        Subject::Guest { uuid: Some(self.uuid.clone()), name: self.name.to_owned() }
    }

    fn owner(&self) -> Owner {
        Owner::Guest { uuid: self.uuid.clone(), name: self.name.to_owned() }
    }

    /// What it runs from, or will.
    fn config(&self) -> &GuestConfig {
        self.live.unwrap_or(self.stored)
    }

    /// Where each vCPU may run, without those that may run everywhere. Of a guest with a plan the
    /// definition is taken: where its threads are instead is told as drift. Of others the kernel's
    /// word counts before the definition.
    fn masks(&self, host: &Host) -> BTreeMap<Vcpu, CpuSet> {
        let config = self.config();
        let seen = self.facts.filter(|_| !self.is_planned).map(|facts| &facts.vcpu_affinity);
        let topology = &host.topology;
        let mut masks = BTreeMap::new();
        for vcpu in (0..config.vcpus_max).map(Vcpu) {
            let pin = config.vcpu_pins.get(&vcpu).or(config.default_cpuset.as_ref());
            let kernel = seen.and_then(|seen| seen.get(&vcpu));
            let Some(mask) = kernel.or(pin) else { continue };
            let is_free = topology.online.is_subset(mask)
                || (pin.is_none() && topology.allowed.cpus.is_subset(mask));
            if !is_free && !mask.is_empty() {
                masks.insert(vcpu, mask.clone());
            }
        }
        masks
    }
}

fn union<'s>(sets: impl IntoIterator<Item = &'s CpuSet>) -> CpuSet {
    let mut all = CpuSet::new();
    for set in sets {
        all.extend(set);
    }
    all
}
