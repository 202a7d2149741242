//! A plan for a guest on a host that it is not on yet: the planner's, by that host's ledger, with
//! what the guest sees kept as it is. Writes nothing, so it can be asked for many guests: whoever does
//! adds each plan's claims to the situation that the next one is planned in.

use super::requests::{no_nodes_for, requests};
use crate::error::{EngineError, Staleness};
use crate::intent::{GuestRecord, Intent, IntentKind, IntentStatus};
use crate::ledger_view::KnownGuest;
use crate::loop_parts::{Engine, Situation};
use crate::planning::{FreshIds, judged_after};
use crate::ports::pick_guest;
use crate::reconcile::planned_xml;
use numawise_documents::{frozen_digest, topology_digest};
use numawise_model::refusal::TopologyDifference;
use numawise_model::{
    ChangedPart, CpuPools, FrozenTopology, GuestConfig, GuestCpuTopology, GuestRef, HostId,
    HostRef, PageCounts, PageSize, Plan, Policy, Reason, Refusal, Request,
};
use numawise_planner::{Inputs, Stamp};

/// All of a guest that matters on another host.
pub struct MovingGuest {
    pub known: KnownGuest,
    pub record: Option<GuestRecord>,
    /// What it must go on seeing.
    pub frozen: Option<FrozenTopology>,
    /// By the store's word or the note's; goes with the guest.
    pub(super) told_frozen: Option<FrozenTopology>,
    /// What the XML that it runs with there is made of.
    pub live_xml: Option<String>,
    pub autostart: bool,
    pub host: HostId,
    pub(super) cpu_before: Option<GuestCpuTopology>,
    pub(super) base_page: PageSize,
}

/// A guest, and what it would be on the other host.
pub struct PlannedMove {
    pub guest: MovingGuest,
    pub to: HostId,
    /// `None` for a guest whose definition names nothing of its host: it goes as it is.
    pub plan: Option<Plan>,
    /// The stored definition there.
    pub after_xml: String,
    /// What it runs with there.
    pub after_live_xml: Option<String>,
}

impl Engine<'_> {
    /// Reads a guest of this host that is to leave it.
    pub fn moving(&self, situation: &Situation, wanted: &str) -> Result<MovingGuest, EngineError> {
        let found = self.read_moving(situation, wanted);
        let host = &situation.host_id;
        found.map_err(|error| self.unless_moved(host, wanted, error))
    }

    /// While somebody else moves the guest, whatever fails fails for that; and so it does when the
    /// guest has just gone.
    pub(super) fn unless_moved(
        &self,
        host: &HostId,
        wanted: &str,
        error: EngineError,
    ) -> EngineError {
        let Ok(state) = self.store.load(host) else { return error };
        match moved_by_another(&state.intents, wanted) {
            Some(moved @ Staleness::BeingMoved { .. }) => EngineError::Stale(moved),
            Some(moved) => match self.hypervisor.guests() {
                Ok(guests) if pick_guest(&guests, wanted, "").is_err() => EngineError::Stale(moved),
                _ => error,
            },
            None => error,
        }
    }

    fn read_moving(&self, situation: &Situation, wanted: &str) -> Result<MovingGuest, EngineError> {
        let known = situation.find(wanted, &self.hypervisor.uri())?.clone();
        let uuid = &known.summary.uuid;
        if let Some(moved @ Staleness::BeingMoved { .. }) =
            moved_by_another(&situation.state.intents, &uuid.0)
        {
            return Err(EngineError::Stale(moved));
        }
        let record = situation.record(uuid).cloned();
        let applied = record.as_ref().is_some_and(|record| record.applied.is_some());
        let told_frozen = situation.frozen(uuid);
        let frozen = told_frozen.clone().or_else(|| match applied {
            // Its own plan may still be changed: nobody has seen it run.
            true => None,
            false => seen_in(&known.inactive),
        });
        let cpu_before = match &record {
            Some(record) if !known.inactive.cells.is_empty() => self.cpu_before_applied(record)?,
            _ => known.inactive.cpu_topology,
        };
        let sizes = &situation.host.topology.page_sizes;
        Ok(MovingGuest {
            frozen,
            told_frozen,
            live_xml: self.hypervisor.migratable_xml(uuid)?,
            autostart: known.summary.persistent && self.hypervisor.autostarts(uuid)?,
            host: situation.host_id.clone(),
            cpu_before,
            base_page: sizes.first().copied().unwrap_or(PageSize::BASE_4K),
            record,
            known,
        })
    }

    /// Plans for a guest of another host on this one.
    pub fn plan_arrival(
        &self,
        situation: &Situation,
        guest: MovingGuest,
        pools: &CpuPools,
        ids: FreshIds,
    ) -> Result<PlannedMove, EngineError> {
        let to = situation.host_id.clone();
        let before = &guest.known.xml;
        if guest.is_tied_to_nothing() {
            let (after_xml, after_live_xml) = (before.clone(), guest.live_xml.clone());
            return Ok(PlannedMove { guest, to, plan: None, after_xml, after_live_xml });
        }
        let plan = self.arrival(situation, &guest, pools, ids)?;
        let after_xml = planned_xml(self.editor, &plan, before)?;
        let after_live_xml = match &guest.live_xml {
            Some(live) => Some(planned_xml(self.editor, &plan, live)?),
            None => None,
        };
        Ok(PlannedMove { guest, to, plan: Some(plan), after_xml, after_live_xml })
    }

    fn arrival(
        &self,
        situation: &Situation,
        guest: &MovingGuest,
        pools: &CpuPools,
        ids: FreshIds,
    ) -> Result<Plan, EngineError> {
        let (summary, config) = (&guest.known.summary, &guest.known.inactive);
        let inputs = Inputs {
            host: &situation.host,
            ledger: &situation.view.ledger,
            pools,
            guest: Some(config),
            live: None,
            cpu_before: guest.cpu_before,
            frozen: guest.frozen.as_ref(),
            held: &PageCounts::new(),
            stamp: Stamp {
                plan: ids.plan,
                claims: ids.claims,
                host: HostRef {
                    id: situation.host_id.clone(),
                    topology_digest: topology_digest(&situation.host.topology),
                },
                guest: Some(GuestRef {
                    name: summary.name.clone(),
                    uuid: summary.uuid.clone(),
                    digest: self.guest_digest(&guest.known.xml)?,
                }),
                frozen_digest: guest.frozen.as_ref().map(frozen_digest),
            },
        };
        let ways = requests(guest, situation, pools);
        // Rules name pCPUs of the host that it leaves: that they do not fit says little.
        let named = |request: &Request| !matches!(request.policy, Policy::Smart | Policy::Best(_));
        let mut why = Vec::new();
        for request in &ways {
            match try_way(&inputs, request) {
                Ok(mut plan) => {
                    let others = situation.view.findings.iter();
                    plan.findings.extend(others.filter(|f| !f.is_about(&summary.uuid)).cloned());
                    return Ok(plan);
                }
                Err(EngineError::Refused(refusals)) => {
                    if why.is_empty() || named(&ways[0]) {
                        why = refusals;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        if why.iter().all(|refusal| matches!(refusal, Refusal::TopologyFrozen { .. })) {
            // That it would be split otherwise there is no reason: that it cannot be split so is.
            why = vec![Refusal::CannotMove(no_nodes_for(guest, &ways[0], situation, pools))];
        }
        let (guest, at) = (summary.name.clone(), self.hypervisor.uri());
        Err(EngineError::NoRoomThere { guest, at, refusals: why })
    }
}

/// Where a topology is kept, the planner is let free: its own would have this host's distances and
/// sockets, and is replaced before it is judged.
fn try_way(inputs: &Inputs<'_>, request: &Request) -> Result<Plan, EngineError> {
    match (inputs.frozen, inputs.guest) {
        (Some(frozen), Some(config)) if request.vnuma => {
            let free = Request { new_topology: true, ..request.clone() };
            judged_after(inputs, &free, |plan| {
                plan.request.clone_from(request);
                keep(plan, frozen, config)
            })
        }
        _ => judged_after(inputs, request, |_| Ok(())),
    }
}

impl MovingGuest {
    /// Nothing in its definition names a CPU or a node of a host.
    pub fn is_tied_to_nothing(&self) -> bool {
        let config = &self.known.inactive;
        let applied = self.record.as_ref().is_some_and(|record| record.applied.is_some());
        let free = |config: &GuestConfig| {
            config.pins() == numawise_model::Pins::default()
                && config.default_cpuset.is_none()
                && config.numatune.is_none()
        };
        !applied && free(config) && self.known.live.as_ref().is_none_or(free)
    }
}

fn moved_by_another(intents: &[Intent], wanted: &str) -> Option<Staleness> {
    let is_it = |intent: &&Intent| intent.guest_name == wanted || intent.guest.0 == wanted;
    let newest = intents.iter().rfind(is_it)?;
    let IntentKind::MoveOut { to, .. } = &newest.kind else { return None };
    let (guest, to) = (newest.guest_name.clone(), to.uri.clone());
    match newest.status {
        IntentStatus::Done => Some(Staleness::MovedAway { guest, to }),
        IntentStatus::Pending => Some(Staleness::BeingMoved { guest, to }),
        IntentStatus::RolledBack { .. } => None,
    }
}

/// The topology of a definition that others wrote, as it is: a guest that has nodes sees them.
fn seen_in(config: &GuestConfig) -> Option<FrozenTopology> {
    if config.cells.is_empty() {
        return None;
    }
    // Without the element libvirt gives each vCPU a socket.
    let one_each =
        GuestCpuTopology { sockets: config.vcpus_max, dies: 1, clusters: 1, cores: 1, threads: 1 };
    let cpu = config.cpu_topology.unwrap_or(one_each);
    Some(FrozenTopology { cells: config.cells.clone(), cpu, cpu_before: config.cpu_topology })
}

/// Shows the guest what it has been seeing: distances and sockets of another host, which are its ABI.
/// Nodes must have the same vCPUs and memory, or nothing of it would be true.
fn keep(
    plan: &mut Plan,
    frozen: &FrozenTopology,
    config: &GuestConfig,
) -> Result<(), Vec<Refusal>> {
    let Some(topology) = plan.vnuma.as_mut() else { return Ok(()) };
    let mut differences = Vec::new();
    if topology.nodes.len() != frozen.cells.len() {
        let (frozen, planned) = (frozen.cells.len() as u32, topology.nodes.len() as u32);
        differences.push(TopologyDifference::NodeCount { frozen, planned });
    }
    for (node, cell) in topology.nodes.iter_mut().zip(&frozen.cells) {
        let vnode = node.id;
        if node.vcpus != cell.vcpus {
            let (frozen, planned) = (cell.vcpus.clone(), node.vcpus.clone());
            differences.push(TopologyDifference::Vcpus { vnode, frozen, planned });
        } else if node.memory_bytes != cell.memory_bytes {
            let (frozen_bytes, planned_bytes) = (cell.memory_bytes, node.memory_bytes);
            differences.push(TopologyDifference::Memory { vnode, frozen_bytes, planned_bytes });
        }
        node.distances.clone_from(&cell.distances);
    }
    if !differences.is_empty() {
        return Err(vec![Refusal::TopologyFrozen { differences }]);
    }
    topology.cpu = frozen.cpu;
    topology.emulate_l3 = config.l3_cache_mode.as_deref() == Some("emulate");
    let (same_nodes, same_cpu) =
        (topology.cells() == config.cells, Some(topology.cpu) == config.cpu_topology);
    plan.changes.retain(|change| match change.what {
        ChangedPart::VnumaNodes => !same_nodes,
        ChangedPart::GuestCpuTopology => !same_cpu,
        _ => true,
    });
    if !plan.reasons.contains(&Reason::KeepsFrozenTopology) {
        plan.reasons.push(Reason::KeepsFrozenTopology);
    }
    Ok(())
}
