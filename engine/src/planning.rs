//! From a guest and a wish to a plan that has been judged: gathers what the planner needs, and
//! never lets a plan out that the judge finds broken.

use crate::error::EngineError;
use crate::ledger_view::KnownGuest;
use crate::loop_parts::{Engine, Situation};
use crate::permission::foreign_owner;
use crate::ports::GuestSummary;
use crate::reconcile::planned_xml;
use numawise_audit::{judge_changes, judge_plan};
use numawise_documents::{frozen_digest, topology_digest};
use numawise_model::request::GuestCache;
use numawise_model::{
    ClaimId, CpuPools, Finding, FindingKind, GuestConfig, GuestRef, Host, HostId, HostRef, Ledger,
    Plan, PlanId, Refusal, Request, Severity, Subject,
};
use numawise_planner::{Inputs, Stamp};

/// Names that the caller makes up: the engine draws no random numbers.
#[derive(Clone, Debug)]
pub struct FreshIds {
    pub plan: PlanId,
    pub claims: [ClaimId; 2],
}

/// A plan and the XML it changes.
pub struct PlannedGuest {
    pub guest: GuestSummary,
    pub plan: Plan,
    pub before_xml: String,
    pub after_xml: String,
}

impl Engine<'_> {
    /// Plans for a guest of this hypervisor. `request` is made from what its XML says.
    pub fn plan_guest(
        &self,
        wanted: &str,
        pools: &CpuPools,
        ids: FreshIds,
        ignore_stopped: bool,
        request: impl FnOnce(&GuestConfig, &Situation) -> Result<Request, EngineError>,
    ) -> Result<PlannedGuest, EngineError> {
        let situation = self.situation(ignore_stopped)?;
        let known = situation.find(wanted, &self.hypervisor.uri())?;
        let (guest, config) = (&known.summary, &known.inactive);
        let request = request(config, &situation)?;
        let frozen = situation.frozen(&guest.uuid);
        let smp_cache = match request.guest_cache {
            Some(GuestCache::SmpCache) => Some(self.hypervisor.smp_cache(&known.xml)?),
            _ => None,
        };
        let held = self.held_pages(known)?;
        let record = situation.record(&guest.uuid);
        let cpu_before = match record {
            Some(record) if !config.cells.is_empty() => self.cpu_before_applied(record)?,
            _ => config.cpu_topology,
        };
        let inputs = Inputs {
            host: &situation.host,
            ledger: &situation.view.ledger,
            pools,
            guest: Some(config),
            live: known.live.as_ref(),
            cpu_before,
            frozen: frozen.as_ref(),
            held: &held,
            smp_cache: smp_cache.as_ref(),
            stamp: Stamp {
                plan: ids.plan,
                claims: ids.claims,
                host: host_ref(&situation.host_id, &situation.host),
                guest: Some(GuestRef {
                    name: guest.name.clone(),
                    uuid: guest.uuid.clone(),
                    digest: self.guest_digest(&known.xml)?,
                }),
                frozen_digest: frozen.as_ref().map(frozen_digest),
            },
        };
        let mut plan = judged(&inputs, &request)?;
        plan.findings
            .extend(situation.view.findings.iter().filter(|f| !f.is_about(&guest.uuid)).cloned());
        let after_xml = planned_xml(self.editor, &plan, &known.xml)?;
        plan.findings.extend(self.say_of_others(known, &after_xml)?);
        let (guest, before_xml) = (guest.clone(), known.xml.clone());
        Ok(PlannedGuest { guest, plan, before_xml, after_xml })
    }

    /// Whose the guest is and what stands in the way now: a plan can be made all the same.
    fn say_of_others(
        &self,
        known: &KnownGuest,
        after_xml: &str,
    ) -> Result<Vec<Finding>, EngineError> {
        let guest = &known.summary;
        let about = |kind| Finding {
            severity: Severity::Warning,
            subject: Subject::Guest { uuid: Some(guest.uuid.clone()), name: guest.name.clone() },
            kind,
        };
        let owner = foreign_owner(guest, &known.inactive);
        let owner = owner.map(|owner| FindingKind::ForeignGuest { owner });
        let obstacles = self.obstacles(known, after_xml)?.into_iter();
        let obstacles = obstacles.map(|obstacle| FindingKind::Obstructed { obstacle });
        Ok(owner.into_iter().chain(obstacles).map(about).collect())
    }
}

/// Plans for a size on a host, without any guest or store.
pub fn plan_size(
    host_id: &HostId,
    host: &Host,
    pools: &CpuPools,
    guest: Option<(&GuestConfig, GuestRef)>,
    ids: FreshIds,
    request: &Request,
) -> Result<Plan, EngineError> {
    let (guest, guest_ref) = guest.unzip();
    let ledger = Ledger::default();
    let inputs = Inputs {
        host,
        ledger: &ledger,
        pools,
        guest,
        live: None,
        cpu_before: guest.and_then(|guest| guest.cpu_topology),
        frozen: None,
        held: &numawise_model::PageCounts::new(),
        smp_cache: None,
        stamp: Stamp {
            plan: ids.plan,
            claims: ids.claims,
            host: host_ref(host_id, host),
            guest: guest_ref,
            frozen_digest: None,
        },
    };
    judged(&inputs, request)
}

fn host_ref(id: &HostId, host: &Host) -> HostRef {
    HostRef { id: id.clone(), topology_digest: topology_digest(&host.topology) }
}

fn judged(inputs: &Inputs<'_>, request: &Request) -> Result<Plan, EngineError> {
    judged_after(inputs, request, |_| Ok(()))
}

/// The same for a plan that is changed before the judge sees it.
pub(crate) fn judged_after(
    inputs: &Inputs<'_>,
    request: &Request,
    change: impl FnOnce(&mut Plan) -> Result<(), Vec<Refusal>>,
) -> Result<Plan, EngineError> {
    let mut plan = numawise_planner::plan(inputs, request).map_err(EngineError::Refused)?;
    change(&mut plan).map_err(EngineError::Refused)?;
    let uuid = plan.guest.as_ref().map(|guest| guest.uuid.clone());
    let others = match &uuid {
        Some(uuid) => inputs.ledger.without_guest(uuid),
        None => inputs.ledger.clone(),
    };
    let (host, pools, guest) = (inputs.host, inputs.pools, inputs.guest);
    let mut judged = judge_plan(host, &others, pools, guest, inputs.frozen, &plan);
    judged.extend(guest.into_iter().flat_map(|guest| judge_changes(&plan, guest)));
    let (broken, remarks): (Vec<_>, Vec<_>) =
        judged.into_iter().partition(|finding| finding.severity == Severity::Error);
    if !broken.is_empty() {
        return Err(EngineError::Judged(broken));
    }
    for remark in remarks {
        if !plan.findings.iter().any(|known| known.kind == remark.kind) {
            plan.findings.push(remark);
        }
    }
    Ok(plan)
}
