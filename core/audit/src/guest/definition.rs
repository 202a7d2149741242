//! A domain's definition, stored or live, against what the plan wrote into it.

use super::pinned_vcpus;
use numawise_model::guest::{Balloon, CacheLevel, GuestCell, GuestHugepages};
use numawise_model::{
    CpuSet, FindingKind, GuestConfig, GuestCpuTopology, GuestFix, MemoryMode, NodeSet, PageSize,
    Plan, VirtualTopology,
};
use std::collections::BTreeMap;

/// One way in which a definition is not what the plan wrote.
pub struct Difference {
    pub aspect: Aspect,
    pub kind: FindingKind,
}

/// Which part of a definition; what a restart would bring is said by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    VcpuPin,
    HelperPin,
    Vnuma,
    /// The number of vCPUs, the balloon and the like.
    Guest,
}

impl Aspect {
    pub fn word(self) -> &'static str {
        match self {
            Self::VcpuPin => "the binding of the vCPUs",
            Self::HelperPin => "the binding of the emulator and I/O threads",
            Self::Vnuma => "vNUMA",
            Self::Guest => "the guest's own settings",
        }
    }
}

pub fn differences(expect: &Plan, config: &GuestConfig) -> Vec<Difference> {
    let mut found = Found(Vec::new());
    found.vcpu_pins(expect, config);
    found.helper_pins(expect, config);
    found.guest(expect, config);
    match &expect.vnuma {
        Some(topology) => {
            found.cells(topology, config);
            found.shape(topology, config);
            found.memory_binding(expect, topology, config);
            found.hugepages(expect.request.page_size, topology, config);
        }
        None => found.no_vnuma(config),
    }
    found.0
}

struct Found(Vec<Difference>);

impl Found {
    fn add(&mut self, aspect: Aspect, kind: FindingKind) {
        self.0.push(Difference { aspect, kind });
    }

    fn vnuma(&mut self, what: &'static str, expected: String, seen: String) {
        if expected != seen {
            self.add(Aspect::Vnuma, FindingKind::StoredVnuma { what, expected, seen });
        }
    }

    /// A vCPU without a pin of its own has the default of all; an unbound guest has neither.
    fn vcpu_pins(&mut self, expect: &Plan, config: &GuestConfig) {
        for vcpu in pinned_vcpus(expect, config) {
            let expected = expect.binding.cpus.get(&vcpu).cloned().unwrap_or_default();
            let own = config.vcpu_pins.get(&vcpu);
            let seen = own.or(config.default_cpuset.as_ref()).cloned();
            if seen.as_ref() != Some(&expected) {
                self.add(Aspect::VcpuPin, FindingKind::StoredPin { vcpu, expected, seen });
            }
        }
    }

    fn helper_pins(&mut self, expect: &Plan, config: &GuestConfig) {
        if let Some(expected) = &expect.helpers.emulator
            && config.emulator_pin.as_ref() != Some(expected)
        {
            let (expected, seen) = (expected.clone(), config.emulator_pin.clone());
            self.add(Aspect::HelperPin, FindingKind::EmulatorAffinity { expected, seen });
        }
        if let (None, Some(seen)) = (&expect.helpers.emulator, &config.emulator_pin) {
            let kind = no_pin("the emulator's pin", seen);
            self.add(Aspect::HelperPin, kind);
        }
        for (iothread, expected) in &expect.helpers.iothreads {
            let seen = config.iothread_pins.get(iothread);
            if seen != Some(expected) {
                let (expected, seen) = (expected.clone(), seen.cloned());
                let kind = FindingKind::IothreadAffinity { iothread: *iothread, expected, seen };
                self.add(Aspect::HelperPin, kind);
            }
        }
        let surplus = |id: &&u32| !expect.helpers.iothreads.contains_key(id);
        if let Some(id) = config.iothread_pins.keys().find(surplus) {
            let kind = no_pin("an I/O thread's pin", &config.iothread_pins[id]);
            self.add(Aspect::HelperPin, kind);
        }
    }

    fn guest(&mut self, expect: &Plan, config: &GuestConfig) {
        let mut setting = |what, expected: String, seen: String| {
            if expected != seen {
                self.add(Aspect::Guest, FindingKind::StoredVnuma { what, expected, seen });
            }
        };
        if !expect.binding.cpus.is_empty() {
            let wanted = expect.request.vcpus.to_string();
            setting("the number of vCPUs", wanted, config.vcpus_max.to_string());
        }
        let balloon = match &config.balloon {
            Balloon::Off => "none".to_owned(),
            Balloon::Implicit => "the default one".to_owned(),
            Balloon::Model(model) => model.clone(),
        };
        let max_memory = config.max_memory.map(|m| format!("{} slots", m.slots));
        let placement = if config.placement_auto { "auto" } else { "static" };
        for fix in &expect.fixes {
            let none = "none".to_owned();
            match fix {
                GuestFix::BalloonOff => setting("the memory balloon", none, balloon.clone()),
                GuestFix::AllVcpusAtBoot => {
                    let (all, now) = (config.vcpus_max, config.vcpus_current);
                    setting("the number of vCPUs at boot", all.to_string(), now.to_string());
                }
                GuestFix::NoMemoryHotplug => {
                    let seen = max_memory.clone().unwrap_or_else(|| none.clone());
                    setting("memory hot-plug", none, seen);
                }
                GuestFix::StaticPlacement => {
                    setting("the placement of vCPUs", "static".to_owned(), placement.to_owned());
                }
            }
        }
    }

    fn cells(&mut self, topology: &VirtualTopology, config: &GuestConfig) {
        let (wanted, seen) = (topology.cells(), &config.cells);
        self.vnuma("the number of vNUMA nodes", wanted.len().to_string(), seen.len().to_string());
        if wanted.len() != seen.len() {
            return;
        }
        type Show = fn(&GuestCell) -> String;
        let aspects: [(&'static str, Show); 3] = [
            ("the vCPUs of the vNUMA nodes", |cell| cell.vcpus.to_string()),
            ("the memory of the vNUMA nodes", |cell| format!("{} B", cell.memory_bytes)),
            ("the distances of the vNUMA nodes", |cell| distances(cell)),
        ];
        for (what, show) in aspects {
            let each = |cells: &[GuestCell]| {
                let one = |cell: &GuestCell| format!("{}: {}", cell.id, show(cell));
                cells.iter().map(one).collect::<Vec<_>>().join("; ")
            };
            self.vnuma(what, each(&wanted), each(seen));
        }
    }

    fn shape(&mut self, topology: &VirtualTopology, config: &GuestConfig) {
        let seen = config.cpu_topology.as_ref().map_or_else(|| "none".to_owned(), shape);
        self.vnuma("the guest's topology", shape(&topology.cpu), seen);
        let possible = config.takes_l3_cache() || config.l3_cache_mode.is_some();
        if topology.emulate_l3 && possible {
            let seen = config.l3_cache_mode.clone().unwrap_or_else(|| "none".to_owned());
            self.vnuma("the L3 cache mode", "emulate".to_owned(), seen);
        }
        let word = |level: Option<CacheLevel>| level.map_or("none", CacheLevel::as_str).to_owned();
        self.vnuma("the level of the L3", word(topology.l3_level), word(config.l3_level()));
    }

    fn memory_binding(&mut self, expect: &Plan, topology: &VirtualTopology, config: &GuestConfig) {
        let tuned = config.numatune.clone().unwrap_or_default();
        let mode = expect.request.memory_mode;
        let nodes = topology.memory_nodes();
        if mode == MemoryMode::Interleave {
            // Interleaving is over all nodes at once: libvirt has one element for it.
            let seen = tuned.memory_nodeset.map(|set| binding(tuned.memory_mode, &set));
            let seen = seen.unwrap_or_else(|| "none".to_owned());
            self.vnuma("the memory binding", binding(Some(mode), &nodes), seen);
            return;
        }
        let wanted = topology
            .nodes
            .iter()
            .map(|node| format!("{}: {}", node.id, binding(Some(mode), &node.memory_nodes)));
        let seen =
            tuned.memnodes.iter().map(|(id, (m, set))| format!("{id}: {}", binding(Some(*m), set)));
        let (wanted, seen): (Vec<_>, Vec<_>) = (wanted.collect(), seen.collect());
        let seen = if seen.is_empty() { "none".to_owned() } else { seen.join("; ") };
        self.vnuma("the memory binding", wanted.join("; "), seen);
    }

    fn hugepages(&mut self, size: PageSize, topology: &VirtualTopology, config: &GuestConfig) {
        let wanted = if size.is_huge() { size.to_string() } else { "none".to_owned() };
        let all = |pages: &GuestHugepages| {
            let covers = |ids: &Vec<_>| topology.nodes.iter().all(|node| ids.contains(&node.id));
            pages.vnodes.as_ref().is_none_or(covers)
        };
        let seen = match config.hugepages.as_deref() {
            None => "none".to_owned(),
            Some([]) => "the default size".to_owned(),
            Some([one]) if all(one) => one.size.to_string(),
            Some(several) => {
                let one = |pages: &GuestHugepages| match &pages.vnodes {
                    None => pages.size.to_string(),
                    Some(ids) => format!("{} on {ids:?}", pages.size),
                };
                several.iter().map(one).collect::<Vec<_>>().join("; ")
            }
        };
        self.vnuma("hugepages", wanted, seen);
    }

    fn no_vnuma(&mut self, config: &GuestConfig) {
        let cells = config.cells.len();
        if cells > 0 {
            self.vnuma("the number of vNUMA nodes", "0".to_owned(), cells.to_string());
        }
    }
}

fn no_pin(what: &'static str, seen: &CpuSet) -> FindingKind {
    FindingKind::StoredVnuma { what, expected: "none".to_owned(), seen: seen.to_string() }
}

fn shape(cpu: &GuestCpuTopology) -> String {
    let GuestCpuTopology { sockets, dies, clusters, cores, threads } = cpu;
    format!(
        "{sockets} sockets x {dies} dies x {clusters} clusters x {cores} cores x {threads} threads"
    )
}

fn binding(mode: Option<MemoryMode>, nodes: &NodeSet) -> String {
    let word = mode.map_or("strict", MemoryMode::as_str);
    format!("{word} on node {nodes}")
}

fn distances(cell: &GuestCell) -> String {
    let to: &BTreeMap<_, _> = &cell.distances;
    let each: Vec<String> = to.iter().map(|(to, distance)| format!("{to}={distance}")).collect();
    each.join(" ")
}
