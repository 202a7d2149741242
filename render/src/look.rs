//! What the drawing functions are told besides the value itself.

use numawise_model::finding::Finding;
use numawise_model::guest::GuestCell;
use numawise_model::{
    CpuSet, ForeignOwner, GuestConfig, GuestCpuTopology, GuestUuid, HelperPlacement, Host, Ledger,
    Mode, NodeSet, Plan, Topology, Vcpu, Vnode,
};
use std::collections::BTreeMap;

/// How to draw: for a terminal of some width, in colour or not, and whether the host is only
/// modelled (then every output carries the words "simulated host").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns. Pictures keep to it from 60 upwards; sentences are left to the terminal to wrap, so
    /// that one finding stays one line for grep.
    pub width: usize,
    pub colour: bool,
    pub simulated: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self { width: 80, colour: false, simulated: false }
    }
}

/// What a host's picture shows beside the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostView<'a> {
    /// The host's name or id, for the title.
    pub name: &'a str,
    pub ledger: Option<&'a Ledger>,
    /// CPUs the operator keeps for the host, where the ledger does not say so.
    pub reserved: Option<&'a CpuSet>,
    /// How long the averages in `Levels::utilisation` were made over.
    pub usage_window_sec: Option<i64>,
    pub look: Look,
}

/// What a plan's summary shows beside the plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanView<'a> {
    /// With it a binding without vNUMA is shown by node.
    pub topology: Option<&'a Topology>,
    pub look: Look,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestState {
    Running,
    Off,
    /// Only planned: nobody has defined it.
    Planned,
}

/// A guest on its host, drawn by [`crate::text::guest`] and [`crate::svg::guest`].
#[derive(Clone, Debug)]
pub struct GuestView<'a> {
    pub name: &'a str,
    pub uuid: Option<&'a GuestUuid>,
    pub state: GuestState,
    pub host_name: &'a str,
    pub host: &'a Host,
    pub ledger: Option<&'a Ledger>,
    pub vcpus: u32,
    pub memory_bytes: u64,
    /// vCPUs that are missing here are not bound.
    pub binding: BTreeMap<Vcpu, CpuSet>,
    /// Whether others may use the same pCPUs; `None` where nobody has said.
    pub mode: Option<Mode>,
    /// Empty: the guest sees no NUMA.
    pub cells: Vec<GuestCell>,
    /// Where each vNUMA node's memory comes from, where that is fixed.
    pub memory_nodes: BTreeMap<Vnode, NodeSet>,
    pub cpu: Option<GuestCpuTopology>,
    pub helpers: HelperPlacement,
    /// What does not agree: drawn as marks and listed below.
    pub drift: Vec<Finding>,
    pub look: Look,
}

impl<'a> GuestView<'a> {
    /// The guest as its domain XML has it.
    pub fn of_config(config: &'a GuestConfig, host: &'a Host) -> Self {
        let bound = (0..config.vcpus_max).map(Vcpu).filter_map(|vcpu| {
            let cpus = config.vcpu_pins.get(&vcpu).or(config.default_cpuset.as_ref())?;
            Some((vcpu, cpus.clone()))
        });
        let numatune = config.numatune.as_ref();
        let memnodes = numatune.map(|n| &n.memnodes).into_iter().flatten();
        Self {
            name: &config.name,
            uuid: config.uuid.as_ref(),
            state: GuestState::Off,
            host_name: "",
            host,
            ledger: None,
            vcpus: config.vcpus_max,
            memory_bytes: config.memory_bytes,
            binding: bound.collect(),
            mode: None,
            cells: config.cells.clone(),
            memory_nodes: memnodes.map(|(vnode, (_, nodes))| (*vnode, nodes.clone())).collect(),
            cpu: config.cpu_topology,
            helpers: HelperPlacement {
                emulator: config.emulator_pin.clone(),
                iothreads: config.iothread_pins.clone(),
            },
            drift: Vec::new(),
            look: Look::default(),
        }
    }

    /// The guest as a plan wants it.
    pub fn of_plan(plan: &'a Plan, host: &'a Host) -> Self {
        let nodes = plan.vnuma.iter().flat_map(|v| &v.nodes);
        Self {
            name: plan.guest.as_ref().map_or("", |g| &g.name),
            uuid: plan.guest.as_ref().map(|g| &g.uuid),
            state: GuestState::Planned,
            host_name: &plan.host.id.0,
            host,
            ledger: None,
            vcpus: plan.request.vcpus,
            memory_bytes: plan.request.memory_bytes,
            binding: plan.binding.cpus.clone(),
            mode: Some(plan.binding.mode),
            cells: plan.vnuma.as_ref().map(|v| v.cells()).unwrap_or_default(),
            memory_nodes: nodes.map(|n| (n.id, n.memory_nodes.clone())).collect(),
            cpu: plan.vnuma.as_ref().map(|v| v.cpu).or(plan.cpu_before),
            helpers: plan.helpers.clone(),
            drift: Vec::new(),
            look: Look::default(),
        }
    }
}

/// One line of the `list` table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestRow {
    pub name: String,
    pub state: GuestState,
    pub vcpus: u32,
    pub memory_bytes: u64,
    /// The pCPUs bound; empty when the guest is not bound.
    pub pcpus: CpuSet,
    pub mode: Option<Mode>,
    pub nodes: NodeSet,
    /// vCPUs of each vNUMA node; empty when vNUMA is off.
    pub vnuma: Vec<u32>,
    /// Findings of a verify that are no mere remarks; `None` when nobody looked.
    pub drift: Option<u32>,
    /// The running guest was started from an older definition.
    pub pending_restart: bool,
    /// Who else may change it, and numawise therefore not.
    pub owner: Option<ForeignOwner>,
}
