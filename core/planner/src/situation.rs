//! The inputs made ready for looking up: where each pCPU lies, and what everybody else holds.
//!
//! [`Topology::node_of`] and its like walk lists, which is right for one question and too slow for
//! one per CPU of a machine with thousands; here every answer is one look into a vector.

use crate::Inputs;
use numawise_model::{
    CpuSet, Id, L3Id, Ledger, Mode, Node, NodeSet, Owner, Pcpu, Pnode, Request, Topology,
};
use std::collections::BTreeMap;

/// One request seen against its inputs.
pub struct Situation<'a> {
    pub inputs: &'a Inputs<'a>,
    pub topology: &'a Topology,
    pub places: Places,
    /// The ledger without the guest's own claims, which are given back.
    pub others: Ledger,
    /// `None` when only a size is planned for.
    pub owner: Option<Owner>,
    pub mode: Mode,
}

impl<'a> Situation<'a> {
    pub fn new(inputs: &'a Inputs<'a>, request: &Request) -> Self {
        let owner = inputs
            .stamp
            .guest
            .as_ref()
            .map(|guest| Owner::Guest { uuid: guest.uuid.clone(), name: guest.name.clone() });
        let uuid = match &owner {
            Some(Owner::Guest { uuid, .. }) => Some(uuid),
            _ => inputs.guest.and_then(|guest| guest.uuid.as_ref()),
        };
        let others = match uuid {
            Some(uuid) => inputs.ledger.without_guest(uuid),
            None => inputs.ledger.clone(),
        };
        Self::new_with(inputs, request, others, owner)
    }

    /// The same when others hold something else than the ledger says.
    pub fn with_others(inputs: &'a Inputs<'a>, request: &Request, others: Ledger) -> Self {
        let owner = Self::new(inputs, request).owner;
        Self::new_with(inputs, request, others, owner)
    }

    fn new_with(
        inputs: &'a Inputs<'a>,
        request: &Request,
        others: Ledger,
        owner: Option<Owner>,
    ) -> Self {
        Self {
            inputs,
            topology: &inputs.host.topology,
            places: Places::new(&inputs.host.topology),
            others,
            owner,
            mode: if request.shared { Mode::Shared } else { Mode::Exclusive },
        }
    }

    pub fn reserved(&self) -> &CpuSet {
        &self.inputs.pools.reserved
    }

    /// The pool that bindings of this mode must stay in, where the operator gave one.
    pub fn pool(&self) -> Option<&CpuSet> {
        match self.mode {
            Mode::Exclusive => self.inputs.pools.dedicated.as_ref(),
            Mode::Shared => self.inputs.pools.shared.as_ref(),
        }
    }

    /// What other owners hold in a way that stands against this mode, by owner and by how they hold
    /// it.
    pub fn held_against(&self) -> BTreeMap<(&Owner, Mode), CpuSet> {
        let mut held: BTreeMap<(&Owner, Mode), CpuSet> = BTreeMap::new();
        for claim in &self.others.claims {
            if self.mode == Mode::Exclusive || claim.mode == Mode::Exclusive {
                held.entry((&claim.owner, claim.mode)).or_default().extend(&claim.cpus);
            }
        }
        held
    }
}

/// Where each pCPU lies.
pub struct Places {
    by_cpu: Vec<Place>,
    /// The CPUs of each node that has any. Firmware may list a CPU in several nodes; it belongs to
    /// the first of them, as in [`Topology::node_of`].
    node_cpus: BTreeMap<Pnode, CpuSet>,
}

#[derive(Clone, Copy, Default)]
struct Place {
    node: Option<Pnode>,
    /// The lowest CPU of the core, and how many CPUs the core has.
    core: Option<(Pcpu, u32)>,
    l3: Option<L3Id>,
}

impl Places {
    pub fn new(topology: &Topology) -> Self {
        let highest = [topology.online.last(), topology.offline.last()];
        let length = highest.into_iter().flatten().map(|cpu| cpu.get() as usize + 1).max();
        let mut by_cpu = vec![Place::default(); length.into_iter().sum()];
        let mut node_cpus: BTreeMap<Pnode, CpuSet> = BTreeMap::new();
        let each =
            |by_cpu: &mut Vec<Place>, cpus: &CpuSet, set: &mut dyn FnMut(Pcpu, &mut Place)| {
                for cpu in cpus.iter() {
                    if let Some(place) = by_cpu.get_mut(cpu.get() as usize) {
                        set(cpu, place);
                    }
                }
            };
        for node in &topology.nodes {
            each(&mut by_cpu, &node.cpus, &mut |cpu, place| {
                if place.node.is_none() {
                    place.node = Some(node.id);
                    node_cpus.entry(node.id).or_default().insert(cpu);
                }
            });
        }
        for core in &topology.cores {
            let Some(first) = core.cpus.first() else { continue };
            let threads = core.cpus.len() as u32;
            each(&mut by_cpu, &core.cpus, &mut |_, place| {
                place.core.get_or_insert((first, threads));
            });
        }
        for (id, domain) in (0..).map(L3Id).zip(&topology.l3_domains) {
            each(&mut by_cpu, &domain.cpus, &mut |_, place| {
                place.l3.get_or_insert(id);
            });
        }
        Self { by_cpu, node_cpus }
    }

    fn at(&self, cpu: Pcpu) -> Option<&Place> {
        self.by_cpu.get(cpu.get() as usize)
    }

    pub fn node(&self, cpu: Pcpu) -> Option<Pnode> {
        self.at(cpu)?.node
    }

    pub fn l3(&self, cpu: Pcpu) -> Option<L3Id> {
        self.at(cpu)?.l3
    }

    /// The lowest CPU of the core it belongs to; a CPU that no core lists is a core by itself.
    pub fn core_start(&self, cpu: Pcpu) -> Pcpu {
        self.at(cpu).and_then(|place| place.core).map_or(cpu, |(first, _)| first)
    }

    /// The online threads of its core.
    pub fn core_threads(&self, cpu: Pcpu) -> u32 {
        self.at(cpu).and_then(|place| place.core).map_or(1, |(_, threads)| threads)
    }

    /// Nodes with CPUs, by ascending id.
    pub fn nodes(&self) -> &BTreeMap<Pnode, CpuSet> {
        &self.node_cpus
    }

    /// The nodes that a set of CPUs touches.
    pub fn nodes_of(&self, cpus: &CpuSet) -> NodeSet {
        match cpus.len() {
            // By far the most usual set.
            1 => cpus.iter().filter_map(|cpu| self.node(cpu)).collect(),
            _ => {
                let touched = self.node_cpus.iter().filter(|(_, own)| !own.is_disjoint(cpus));
                touched.map(|(node, _)| *node).collect()
            }
        }
    }
}

/// The nodes of the host, for messages.
pub fn node_ids(topology: &Topology) -> NodeSet {
    topology.nodes.iter().map(|node: &Node| node.id).collect()
}
