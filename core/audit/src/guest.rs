//! A guest as it is against its plan: the definition, what it was started from, its threads, its
//! memory, and who else uses what is its alone.
//!
//! The rules:
//! - The stored definition says what the plan wrote: pins, vNUMA nodes, topology, memory binding,
//!   hugepages, fixes. What numawise does not write is nobody's business here.
//! - Where the definition is right and the running guest was started from another one, the guest is
//!   from before: that waits for a restart and is a warning, and its threads and memory are held
//!   against what it was started with, not against the plan.
//! - A guest that was started from the plan runs where the plan says: each thread's affinity is the
//!   binding, and memory is on the node that it is bound to. With the `preferred` and `interleave`
//!   modes memory may go elsewhere, so that is a warning.
//! - pCPUs that are the guest's alone are used by nobody else.
//! - What nobody could look at is told, and is neither right nor wrong.
//!
//! A live change of some pins (`virsh vcpupin --live`) shows in the live definition too. It is told
//! from a definition that waits for a restart by what the guest had before the plan. Where that is
//! not known, by how much differs: a guest from before was started with other vNUMA or with other
//! pins throughout; one that differs in fewer than half of its pins has been moved. Where it is
//! known and the guest does not run so, it has been moved when any pin is as planned.

pub(crate) mod definition;
mod own_view;
mod running;

use definition::{Aspect, Difference, differences};
use numawise_model::{
    Finding, FindingKind, GuestConfig, GuestFacts, Host, Ledger, Mode, Owner, Plan, Severity,
    Subject, Unseen, Vcpu,
};

/// A guest as it was found.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The definition that the next boot takes.
    pub stored: &'a GuestConfig,
    /// What the running guest was started from; `None` while it is off.
    pub live: Option<&'a GuestConfig>,
    pub facts: Option<&'a GuestFacts>,
    /// The definitions that stood before the plan, as far back as they are known.
    pub earlier: &'a [GuestConfig],
}

/// What differs between the plan in force and the guest. `ledger` is that of the whole host.
pub fn judge_guest(expect: &Plan, seen: Seen<'_>, ledger: &Ledger, host: &Host) -> Vec<Finding> {
    let Seen { stored, live, facts, earlier } = seen;
    let mut kinds = Vec::new();
    let in_definition = differences(expect, stored);
    let in_live = live.map(|live| differences(expect, live)).unwrap_or_default();
    let waits = live.is_some_and(|live| {
        (!in_live.is_empty() && runs_as_before(live, earlier))
            || is_from_before(expect, live, earlier, &in_definition, &in_live)
    });

    if facts.is_none() && !waits {
        kinds.extend(moved_pins(&in_definition, &in_live));
    }
    kinds.extend(in_definition.into_iter().map(|d| (Severity::Error, d.kind)));
    if let Some(live) = live.filter(|_| waits) {
        kinds.extend(pending(expect, stored, live));
    }
    if let Some(facts) = facts {
        // What a guest from before was started with is not planned; its threads can only be held
        // against its own definition, and its memory against nothing.
        let started_from = if waits { live } else { None };
        let plugged = live.unwrap_or(stored).vcpus_current;
        kinds.extend(running::threads(expect, started_from, plugged, facts, host));
        let pinned_to = started_from.map_or(&expect.binding.cpus, |config| &config.vcpu_pins);
        kinds.extend(running::cgroups(pinned_to, live, facts, host));
        if !waits {
            kinds.extend(running::memory(expect, facts));
        }
        kinds.extend(facts.unseen.iter().cloned().map(not_verified));
    }
    kinds.extend(others_on_its_cpus(expect, ledger));

    let subject = Subject::Guest { uuid: stored.uuid.clone(), name: stored.name.clone() };
    kinds
        .into_iter()
        .map(|(severity, kind)| Finding { severity, subject: subject.clone(), kind })
        .collect()
}

/// Not drift: what nobody looked at may be as it should.
fn not_verified(unseen: Unseen) -> (Severity, FindingKind) {
    let Unseen { what, why } = unseen;
    (Severity::Info, FindingKind::NotVerified { what, why })
}

/// Whether the guest still has, pin for pin, what a definition before the plan gave it: it was not
/// restarted since.
fn runs_as_before(live: &GuestConfig, earlier: &[GuestConfig]) -> bool {
    earlier.iter().any(|old| old.vcpu_pins == live.vcpu_pins && old.cells == live.cells)
}

/// Whether the running guest was started from something else than today's definition.
fn is_from_before(
    expect: &Plan,
    live: &GuestConfig,
    earlier: &[GuestConfig],
    in_definition: &[Difference],
    in_live: &[Difference],
) -> bool {
    let only_live = |d: &&Difference| !in_definition.iter().any(|s| s.kind == d.kind);
    let new: Vec<&Difference> = in_live.iter().filter(only_live).collect();
    if new.iter().any(|d| matches!(d.aspect, Aspect::Vnuma | Aspect::Guest)) {
        return true;
    }
    let pins = new.iter().filter(|d| d.aspect == Aspect::VcpuPin).count();
    if pins > 0 {
        // One that runs as no known definition would have it was moved.
        let all = expect.binding.cpus.len().max(live.vcpu_pins.len());
        return earlier.is_empty() && pins * 2 >= all;
    }
    false
}

/// What waits for a restart: the parts in which the running guest differs from its definition.
fn pending(
    expect: &Plan,
    stored: &GuestConfig,
    live: &GuestConfig,
) -> Vec<(Severity, FindingKind)> {
    let in_definition = differences(expect, stored);
    let mut whats: Vec<&'static str> = Vec::new();
    for difference in differences(expect, live) {
        let known = in_definition.iter().any(|d| d.kind == difference.kind);
        let what = difference.aspect.word();
        if !known && !whats.contains(&what) {
            whats.push(what);
        }
    }
    whats
        .into_iter()
        .map(|what| (Severity::Warning, FindingKind::PendingRestart { what }))
        .collect()
}

/// Where nobody looked at the threads, the live definition is the best word there is on them.
fn moved_pins(
    in_definition: &[Difference],
    in_live: &[Difference],
) -> Vec<(Severity, FindingKind)> {
    let moved = in_live.iter().filter(|d| !in_definition.iter().any(|s| s.kind == d.kind));
    moved
        .map(|difference| match difference.kind.clone() {
            FindingKind::StoredPin { vcpu, expected, seen } => {
                (Severity::Error, FindingKind::ThreadAffinity { vcpu, expected, seen })
            }
            other => (Severity::Error, other),
        })
        .collect()
}

fn others_on_its_cpus(expect: &Plan, ledger: &Ledger) -> Vec<(Severity, FindingKind)> {
    let used = expect.binding.pcpus();
    let own = |owner: &Owner| match (&expect.guest, owner) {
        (Some(guest), Owner::Guest { uuid, .. }) => guest.uuid == *uuid,
        _ => false,
    };
    let mut kinds = Vec::new();
    for claim in ledger.claims.iter().filter(|claim| !own(&claim.owner)) {
        let cpus = claim.cpus.intersection(&used);
        let alone = expect.binding.mode == Mode::Exclusive || claim.mode == Mode::Exclusive;
        if !cpus.is_empty() && alone {
            let with = claim.owner.clone();
            kinds.push((Severity::Error, FindingKind::ExclusiveCpusShared { cpus, with }));
        }
    }
    kinds
}

/// vCPUs that the plan binds, and those that only the definition pins.
fn pinned_vcpus(expect: &Plan, config: &GuestConfig) -> Vec<Vcpu> {
    let mut vcpus: Vec<Vcpu> = expect.binding.cpus.keys().copied().collect();
    vcpus.extend(config.vcpu_pins.keys().filter(|v| !expect.binding.cpus.contains_key(v)));
    vcpus
}
