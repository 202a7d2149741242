//! Who has what, as it is now: numawise's own claims, and the pins of guests that others placed.
//!
//! Pins of others are read afresh each time. A pin on one pCPU counts as exclusive, a wider one as
//! shared. A running guest whose definition is newer than itself still runs on its old pCPUs, so
//! its live pins count beside its claims until it is restarted. A guest without pins claims nothing
//! here and gets a finding: it may run anywhere.

use crate::intent::{HostState, IntentStatus};
use crate::ports::{DomainEditor, GuestSummary, Hypervisor, PortError};
use numawise_model::{
    Claim, ClaimId, CpuSet, Finding, FindingKind, GuestConfig, GuestUuid, Ledger, Mode, Owner,
    PageCounts, PageSize, Purpose, Severity, Source, Subject,
};
use std::collections::BTreeMap;

/// One guest with the XML it has now.
#[derive(Clone)]
pub struct KnownGuest {
    pub summary: GuestSummary,
    /// The definition that `inactive` was read from.
    pub xml: String,
    pub inactive: GuestConfig,
    pub live: Option<GuestConfig>,
}

/// What is given away, and what is odd about it.
#[derive(Default)]
pub struct LedgerView {
    pub ledger: Ledger,
    pub findings: Vec<Finding>,
    /// Guests with stored claims that no longer exist.
    pub undefined: Vec<GuestUuid>,
}

/// All guests of a hypervisor. One that cannot be read does not stand in the others' way.
#[derive(Default)]
pub struct Guests {
    pub known: Vec<KnownGuest>,
    pub unreadable: Vec<(GuestSummary, String)>,
}

pub fn read_guests(
    hypervisor: &dyn Hypervisor,
    editor: &dyn DomainEditor,
) -> Result<Guests, PortError> {
    let mut guests = Guests::default();
    for summary in hypervisor.guests()? {
        match read_guest(hypervisor, editor, &summary) {
            Ok(guest) => guests.known.push(guest),
            Err(PortError::Unreadable(why)) => guests.unreadable.push((summary, why)),
            Err(error) => return Err(error),
        }
    }
    Ok(guests)
}

pub(crate) fn read_guest(
    hypervisor: &dyn Hypervisor,
    editor: &dyn DomainEditor,
    summary: &GuestSummary,
) -> Result<KnownGuest, PortError> {
    let xml = hypervisor.inactive_xml(&summary.uuid)?;
    let inactive = editor.read(&xml)?;
    let live = match summary.running {
        true => hypervisor.live_xml(&summary.uuid)?.map(|xml| editor.read(&xml)).transpose()?,
        false => None,
    };
    Ok(KnownGuest { summary: summary.clone(), xml, inactive, live })
}

/// With `ignore_stopped`, guests that are off hold nothing. `online` are all pCPUs of the host.
pub fn view(
    state: &HostState,
    guests: &Guests,
    online: &CpuSet,
    ignore_stopped: bool,
) -> LedgerView {
    let mut view = LedgerView::default();
    for (guest, why) in &guests.unreadable {
        view.findings.push(unreadable(guest, why));
    }
    let is_coming = |uuid: &GuestUuid| {
        let mut pending = state.intents.iter().filter(|i| i.status == IntentStatus::Pending);
        pending.any(|intent| &intent.guest == uuid)
    };
    let is_unreadable = |uuid: &GuestUuid| guests.unreadable.iter().any(|(g, _)| &g.uuid == uuid);
    for claim in &state.ledger.claims {
        match claim_guest(claim).map(|uuid| find(&guests.known, uuid)) {
            Some(None) if claim_guest(claim).is_some_and(|g| is_unreadable(g) || is_coming(g)) => {
                view.ledger.claims.push(claim.clone());
            }
            Some(None) => {
                let uuid = claim_guest(claim).cloned();
                view.undefined.extend(uuid.filter(|u| !view.undefined.contains(u)));
            }
            Some(Some(guest)) if ignore_stopped && !guest.summary.running => {}
            _ => view.ledger.claims.push(claim.clone()),
        }
    }
    for guest in &guests.known {
        observe(&mut view, guest, online, ignore_stopped);
    }
    view
}

fn claim_guest(claim: &Claim) -> Option<&GuestUuid> {
    match &claim.owner {
        Owner::Guest { uuid, .. } => Some(uuid),
        _ => None,
    }
}

fn find<'g>(guests: &'g [KnownGuest], uuid: &GuestUuid) -> Option<&'g KnownGuest> {
    guests.iter().find(|g| &g.summary.uuid == uuid)
}

fn observe(view: &mut LedgerView, guest: &KnownGuest, online: &CpuSet, ignore_stopped: bool) {
    let uuid = &guest.summary.uuid;
    let mut claimed = CpuSet::new();
    let mut has_claims = false;
    for claim in view.ledger.of_guest(uuid) {
        has_claims = true;
        claimed.extend(&claim.cpus);
    }
    if guest.live.is_none() && ignore_stopped {
        return;
    }
    // Where it runs, and where it will: the next boot may be any moment.
    let config = guest.live.as_ref().unwrap_or(&guest.inactive);
    let (mut exclusive, mut shared) = pinned_cpus(config, online);
    if guest.live.is_some() {
        let (next_exclusive, next_shared) = pinned_cpus(&guest.inactive, online);
        exclusive.extend(&next_exclusive);
        shared.extend(&next_shared);
        shared = shared.difference(&exclusive);
    }
    if exclusive.is_empty() && shared.is_empty() && !has_claims {
        view.findings.push(unpinned(guest));
    }
    let owner = Owner::Guest { uuid: uuid.clone(), name: guest.summary.name.clone() };
    let pages = if has_claims { PageCounts::new() } else { bound_pages(config) };
    for (mode, cpus, pages) in
        [(Mode::Exclusive, exclusive, pages), (Mode::Shared, shared, PageCounts::new())]
    {
        let cpus = cpus.difference(&claimed);
        if !cpus.is_empty() || !pages.is_empty() {
            view.ledger.claims.push(Claim {
                id: ClaimId(format!(
                    "observed-{uuid}-{}",
                    if pages.is_empty() { "s" } else { "m" }
                )),
                owner: owner.clone(),
                cpus,
                mode,
                purpose: Purpose::Vcpus,
                pages,
                source: Source::Observed,
            });
        }
    }
}

fn unreadable(guest: &GuestSummary, why: &str) -> Finding {
    Finding {
        severity: Severity::Error,
        subject: Subject::Guest { uuid: Some(guest.uuid.clone()), name: guest.name.clone() },
        kind: FindingKind::GuestUnreadable { why: why.to_owned() },
    }
}

fn unpinned(guest: &KnownGuest) -> Finding {
    let name = guest.summary.name.clone();
    Finding {
        severity: if guest.summary.running { Severity::Warning } else { Severity::Info },
        subject: Subject::Guest { uuid: Some(guest.summary.uuid.clone()), name: name.clone() },
        kind: FindingKind::UnpinnedGuest { name },
    }
}

/// pCPUs pinned one by one, and the rest that pins name. A pin to every CPU there is is none: a
/// thread that was moved back to where it may run everywhere has one in the XML of what runs.
fn pinned_cpus(config: &GuestConfig, online: &CpuSet) -> (CpuSet, CpuSet) {
    let mut exclusive = CpuSet::new();
    let mut shared = CpuSet::new();
    let pins = config.vcpu_pins.values().chain(&config.default_cpuset);
    for cpus in pins.filter(|cpus| !online.is_subset(cpus)) {
        if cpus.len() == 1 {
            exclusive.extend(cpus);
        } else {
            shared.extend(cpus);
        }
    }
    let shared = shared.difference(&exclusive);
    (exclusive, shared)
}

/// Memory that a guest of others has bound to one node each; memory that floats is not promised to
/// any node, and shows in what is free while the guest runs.
fn bound_pages(config: &GuestConfig) -> PageCounts {
    let size = config
        .hugepages
        .as_ref()
        .map_or(Some(PageSize::BASE_4K), |pages| pages.first().map(|p| p.size));
    let Some(size) = size else { return PageCounts::new() };
    let mut pages = PageCounts::new();
    for cell in &config.cells {
        let bound = config.numatune.as_ref().and_then(|n| n.memnodes.get(&cell.id));
        if let Some((_, nodes)) = bound
            && nodes.len() == 1
            && let Some(node) = nodes.first()
        {
            let sizes: &mut BTreeMap<_, _> = pages.entry(node).or_default();
            *sizes.entry(size).or_insert(0) += cell.memory_bytes / size.bytes();
        }
    }
    pages
}
