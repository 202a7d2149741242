//! Small hosts of every shape: nodes, caches and cores of unequal size, threads of one, two and four
//! and mixed, anything taken, memory short to the page.

use numawise_model::{
    Core, CpuSet, L3Domain, L3Policy, Node, NodeSet, Package, PageSize, Pcpu, Pnode, SmtPolicy,
    Topology, Utilisation,
};
use numawise_planner::fit::{Cells, DeviceNear, GivenCell, Layout, Parting, Stock, Wanted};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

pub const SIZE: PageSize = PageSize::HUGE_2M;

#[derive(Clone)]
pub struct Case {
    pub topology: Topology,
    pub free: CpuSet,
    /// By node.
    pub pages: BTreeMap<Pnode, u64>,
    pub utilisation: BTreeMap<Pcpu, Utilisation>,
    pub wanted: Wanted,
}

/// A host in a few lines: what a failing case prints.
impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let topology = &self.topology;
        for node in &topology.nodes {
            let distances: Vec<u32> = node.distances.values().copied().collect();
            let (id, cpus, pages) = (node.id, &node.cpus, self.pages[&node.id]);
            let memory = node.memory_total_bytes;
            writeln!(f, "node {id}: {cpus}, {pages} pages of {memory:?}, distances {distances:?}")?;
        }
        let sets = |sets: &mut dyn Iterator<Item = &CpuSet>| {
            sets.map(|cpus| format!("[{cpus}]")).collect::<Vec<_>>().join(" ")
        };
        writeln!(f, "L3: {}", sets(&mut topology.l3_domains.iter().map(|l3| &l3.cpus)))?;
        writeln!(f, "cores: {}", sets(&mut topology.cores.iter().map(|core| &core.cpus)))?;
        let use_of: Vec<u16> = self.utilisation.values().map(|level| level.0).collect();
        writeln!(f, "free: {}\nuse: {use_of:?}\n{:?}", self.free, self.wanted)
    }
}

impl Case {
    pub fn layout(&self) -> Layout {
        Layout::of(&self.topology)
    }

    pub fn stock(&self, layout: &Layout) -> Stock {
        let mut stock = Stock::new(layout, &self.free);
        stock.set_use(layout, &self.utilisation);
        let mut pools = vec![None; layout.pools()];
        for area in &layout.areas {
            let pages = area.memory_nodes.iter().map(|node| self.pages[&node]).sum();
            pools[area.pool] = Some(pages);
        }
        stock.set_pages(SIZE, pools);
        stock
    }
}

/// The numbers that make a host: for each node its L3 domains, for each of those its cores' widths.
type Widths = Vec<Vec<Vec<u32>>>;

fn widths() -> impl Strategy<Value = Widths> {
    let width = prop_oneof![4 => Just(1u32), 5 => Just(2), 1 => Just(4)];
    let uniform = (1u32..=2).prop_flat_map(|w| vec(vec(vec(Just(w), 1..4), 1..4), 1..5));
    let mixed = vec(vec(vec(width, 1..4), 1..4), 1..5);
    prop_oneof![3 => uniform, 1 => mixed].prop_filter("at most 16 pCPUs", |widths| {
        let all: u32 = widths.iter().flatten().flatten().sum();
        all <= 16
    })
}

/// Nodes of one package or two, L3 domains inside nodes or over two of them, pCPUs numbered with
/// siblings adjacent or apart.
pub fn topology() -> impl Strategy<Value = Topology> {
    let flags = (any::<[bool; 2]>(), prop::bool::weighted(0.15), prop::bool::weighted(0.1));
    let distances = vec(prop::sample::select(vec![11u32, 12, 20, 21, 32]), 16);
    (widths(), flags, distances, prop::bool::weighted(0.3), prop::option::weighted(0.15, 0usize..4))
        .prop_map(|(widths, ([adjacent, two_packages], spanning, no_l3), distances, odd, bare)| {
            build(&widths, Shape { adjacent, two_packages, spanning, no_l3, distances, odd, bare })
        })
}

struct Shape {
    adjacent: bool,
    two_packages: bool,
    /// The first L3 domain of node 1 is part of the first of node 0.
    spanning: bool,
    no_l3: bool,
    distances: Vec<u32>,
    /// Any distance between any two nodes, one way unlike the other.
    odd: bool,
    /// A node without memory.
    bare: Option<usize>,
}

fn build(widths: &Widths, shape: Shape) -> Topology {
    let all: u32 = widths.iter().flatten().flatten().sum();
    let cores: Vec<u32> = widths.iter().flatten().flatten().copied().collect();
    // Apart: first the first thread of every core, then the second ones.
    let mut ids: Vec<Vec<u32>> = vec![Vec::new(); cores.len()];
    let mut next = 0;
    if shape.adjacent {
        for (core, width) in cores.iter().enumerate() {
            ids[core] = (next..next + width).collect();
            next += width;
        }
    } else {
        for thread in 0..4 {
            for (core, _) in cores.iter().enumerate().filter(|(_, width)| **width > thread) {
                ids[core].push(next);
                next += 1;
            }
        }
    }
    let mut topology = Topology { online: CpuSet::range(0, all - 1), ..Topology::default() };
    topology.allowed.cpus = topology.online.clone();
    let mut core = 0;
    for (index, domains) in widths.iter().enumerate() {
        let mut node = CpuSet::new();
        for (place, domain) in domains.iter().enumerate() {
            let mut l3 = CpuSet::new();
            for _ in domain {
                let cpus: CpuSet = ids[core].iter().map(|id| Pcpu(*id)).collect();
                l3.extend(&cpus);
                topology.cores.push(Core { cpus });
                core += 1;
            }
            node.extend(&l3);
            if shape.spanning && index == 1 && place == 0 {
                topology.l3_domains[0].cpus.extend(&l3);
            } else {
                topology.l3_domains.push(L3Domain { cpus: l3, size_bytes: None, kernel_id: None });
            }
        }
        let memory_total_bytes = Some(if shape.bare == Some(index) { 0 } else { 1 << 30 });
        let distances = BTreeMap::new();
        let id = Pnode(index as u32);
        topology.nodes.push(Node { id, cpus: node, memory_total_bytes, distances });
    }
    if shape.no_l3 {
        topology.l3_domains.clear();
    }
    topology.l3_domains.sort_by_key(|domain| domain.cpus.first());
    topology.cores.sort_by_key(|core| core.cpus.first());
    let nodes = topology.nodes.len();
    for from in 0..nodes {
        for to in 0..nodes {
            let near = shape.two_packages && (from < nodes / 2) == (to < nodes / 2);
            let distance = match (from == to, shape.odd, near) {
                (true, ..) => 10,
                (_, true, _) => shape.distances[from * 4 + to],
                (_, _, true) => 12,
                _ => 32,
            };
            topology.nodes[from].distances.insert(Pnode(to as u32), distance);
        }
    }
    topology.allowed.memory_nodes = topology.nodes.iter().map(|n| n.id).collect::<NodeSet>();
    topology.packages = packages(&topology, shape.two_packages);
    topology
}

fn packages(topology: &Topology, two: bool) -> Vec<Package> {
    let half = if two { topology.nodes.len() / 2 } else { 0 };
    let parts = [&topology.nodes[..half], &topology.nodes[half..]];
    let cpus = |nodes: &[Node]| {
        let mut cpus = CpuSet::new();
        nodes.iter().for_each(|node| cpus.extend(&node.cpus));
        Package { cpus, firmware_id: None }
    };
    let parts = parts.into_iter().filter(|nodes| !nodes.is_empty());
    parts.map(cpus).collect()
}

fn cells(vcpus: u32, pages: u64) -> impl Strategy<Value = Cells> {
    let parting = || {
        prop::sample::select(vec![
            Parting::EvenFirst,
            Parting::EvenFirst,
            Parting::Even,
            Parting::Uneven,
        ])
    };
    let given = vec(1u32..4, 1..4).prop_map(move |weights| {
        let sum: u32 = weights.iter().sum();
        let mut cells: Vec<GivenCell> = weights
            .iter()
            .map(|weight| GivenCell {
                vcpus: (vcpus * weight / sum).max(1),
                pages: (pages * u64::from(*weight) / u64::from(sum)).max(1),
            })
            .collect();
        // What rounding left over goes to the first; too many vCPUs are taken from it again.
        let rest: u32 = cells.iter().skip(1).map(|cell| cell.vcpus).sum();
        cells[0].vcpus = vcpus.saturating_sub(rest).max(1);
        Cells::Given(cells)
    });
    prop_oneof![
        5 => parting().prop_map(Cells::Free),
        2 => (1u32..4, parting()).prop_map(|(count, parting)| Cells::Count(count, parting)),
        3 => given,
    ]
}

pub fn case() -> impl Strategy<Value = Case> {
    topology()
        .prop_flat_map(|topology| {
            let cpus = topology.online.len();
            let nodes = topology.nodes.len();
            let state = (
                vec(prop::bool::weighted(0.7), cpus),
                any::<bool>(),
                vec(0u64..12, nodes),
                prop::option::weighted(0.3, vec(0u16..1000, cpus)),
            );
            let smt = prop::sample::select(vec![
                SmtPolicy::Prefer,
                SmtPolicy::Prefer,
                SmtPolicy::Require,
                SmtPolicy::Isolate,
                SmtPolicy::Avoid,
            ]);
            let l3 = prop_oneof![
                3 => Just(L3Policy::Compact),
                2 => Just(L3Policy::Spread),
                1 => (1u32..5).prop_map(L3Policy::Exactly),
            ];
            let asked = (1u32..=8, 1u64..10, smt, l3, prop::bool::weighted(0.15));
            let device = prop::option::weighted(0.2, (any::<bool>(), 0usize..4));
            (Just(topology), state, asked, device).prop_flat_map(
                |(topology, state, asked, device)| {
                    let cells = cells(asked.0, asked.1);
                    (Just((topology, state, asked, device)), cells)
                },
            )
        })
        .prop_map(|((topology, state, asked, device), cells)| {
            let (free, all_free, pages, utilisation) = state;
            let free: CpuSet = topology
                .online
                .iter()
                .zip(free)
                .filter(|(_, free)| all_free || *free)
                .map(|(cpu, _)| cpu)
                .collect();
            let utilisation = utilisation.unwrap_or_default();
            let utilisation = topology.online.iter().zip(utilisation.into_iter().map(Utilisation));
            let utilisation = utilisation.collect();
            let pages = topology.nodes.iter().map(|node| node.id).zip(pages).collect();
            let (mut vcpus, mut wanted_pages, smt, l3, emulator) = asked;
            if let Cells::Given(cells) = &cells {
                vcpus = cells.iter().map(|cell| cell.vcpus).sum();
                wanted_pages = cells.iter().map(|cell| cell.pages).sum();
            }
            let layout = Layout::of(&topology);
            let devices = device.into_iter().map(|(required, at)| {
                let at = at % layout.areas.len();
                DeviceNear {
                    required,
                    near: (0..layout.areas.len()).map(|area| area == at).collect(),
                    distance: (0..layout.areas.len())
                        .map(|area| layout.distance(at, area))
                        .collect(),
                }
            });
            let wanted = Wanted {
                vcpus,
                pages: wanted_pages,
                page_size: SIZE,
                smt,
                l3,
                cells,
                emulator_cpus: emulator.into(),
                devices: devices.collect(),
            };
            Case { topology, free, pages, utilisation, wanted }
        })
}
