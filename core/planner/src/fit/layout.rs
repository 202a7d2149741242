//! What a host is, in the shape in which the search walks it: areas of segments of cores of threads.
//!
//! An **area** is what one vNUMA node may be made of: a pNUMA node with CPUs. Under L3-as-NUMA, where
//! firmware calls each L3 domain a node without dividing the memory, the nodes of a package are one
//! area: there an own node's memory means nothing, and the L3 domains are placed by as such.
//!
//! A **segment** is the part of an L3 domain that lies in one area. Where nodes hold whole domains
//! (EPYC) it is the domain; where a domain spans nodes (sub-NUMA clustering) each node has its part.
//! Where no L3 is described, the area is one segment.
//!
//! Hosts of one make share a layout: what changes is in [`super::Stock`].

use super::slices::areas;
use crate::memory_only;
use numawise_model::request::MemoryOnly;
use numawise_model::{CpuSet, Id, Node, NodeSet, Pcpu, Pnode, Topology};
use std::collections::BTreeSet;
use std::ops::Range;

/// The most threads of a core that are looked at together; a core that claims more (a firmware that
/// puts every CPU in one) is cut into several.
const WIDEST_CORE: usize = 16;

const LOCAL: u32 = 10;
/// What firmware does not tell is as far as Linux takes it to be.
const REMOTE: u32 = 20;

/// A host without its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub areas: Vec<Area>,
    pub segments: Vec<Segment>,
    pub cores: Vec<Core>,
    /// Threads by core: pCPU numbers.
    pub threads: Vec<u32>,
    /// From area to area, row by row.
    distance: Vec<u32>,
    /// By area, how much farther its memory is than its own would be.
    beyond_own: Vec<u32>,
    /// Areas that no distance tells apart have the same number.
    pub twins: Vec<u32>,
    /// The smallest distance between any two areas, there and back; 0 with one area.
    pub nearest: u64,
    /// Areas of the same shape, with ids that differ by one and the same number, have the same number.
    alike: Vec<u32>,
    /// By pCPU number, where it is: its core, the core's segment, its bit among the core's threads.
    spots: Vec<Option<(u32, u32, u8)>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// One node, or the nodes of a package under L3-as-NUMA.
    pub nodes: NodeSet,
    /// Where its memory is: of its own nodes those that have any, else the nearest that has.
    pub memory_nodes: NodeSet,
    /// Areas that draw on the same memory have the same pool, and no two pools share a node.
    pub pool: usize,
    pub segments: Range<usize>,
    pub package: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub area: usize,
    pub cores: Range<usize>,
    /// Online threads.
    pub width: u32,
    /// The same number of threads on every core, and ids in the order of the cores: then there is a
    /// shorter way to the cheapest threads.
    pub regular: bool,
    pub l3_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    pub threads: Range<usize>,
}

impl Core {
    pub fn width(&self) -> u32 {
        self.threads.len() as u32
    }

    /// A bit for each thread.
    pub fn all(&self) -> u16 {
        ((1u32 << self.threads.len()) - 1) as u16
    }
}

impl Layout {
    pub fn of(topology: &Topology) -> Self {
        Self::with_memory_only(topology, None)
    }

    /// With memory of the memory-only nodes that were asked for.
    pub fn with_memory_only(topology: &Topology, asked: Option<&MemoryOnly>) -> Self {
        let groups = areas(topology);
        let mut layout = Self {
            areas: Vec::new(),
            segments: Vec::new(),
            cores: Vec::new(),
            threads: Vec::new(),
            distance: distances(topology, &groups),
            beyond_own: Vec::new(),
            twins: Vec::new(),
            nearest: 0,
            alike: Vec::new(),
            spots: Vec::new(),
        };
        let memory =
            memory_nodes(topology, &groups).into_iter().zip(&groups).map(|(usual, group)| {
                let first = group.0.first().unwrap_or(Pnode(0));
                memory_only::serving(topology, first, usual, asked)
            });
        for ((nodes, cpus), memory_nodes) in groups.iter().zip(memory) {
            let first = layout.segments.len();
            for (cpus, l3_bytes) in segments(topology, cpus) {
                layout.add_segment(topology, first, cpus, l3_bytes);
            }
            layout.areas.push(Area {
                memory_nodes,
                nodes: nodes.clone(),
                pool: 0,
                segments: first..layout.segments.len(),
                package: cpus.first().and_then(|cpu| topology.package_of(cpu)).map(|id| id.0),
            });
        }
        for (index, area) in layout.areas.iter().enumerate() {
            layout.segments[area.segments.clone()].iter_mut().for_each(|s| s.area = index);
        }
        layout.number_pools();
        layout.beyond_own =
            (0..layout.areas.len()).map(|area| layout.way_to_memory(topology, area)).collect();
        layout.nearest = layout.smallest_distance();
        layout.alike = layout.number_alike();
        layout.twins = twins(layout.areas.len(), |a, b| match a == b {
            true => layout.beyond_own[a],
            false => layout.distance(a, b),
        });
        layout.note_spots();
        layout
    }

    fn note_spots(&mut self) {
        let most = self.threads.iter().max().map_or(0, |thread| *thread as usize + 1);
        self.spots = vec![None; most];
        for (number, segment) in (0..).zip(&self.segments) {
            for core in segment.cores.clone() {
                let threads = self.threads[self.cores[core].threads.clone()].iter();
                for (bit, thread) in (0..).zip(threads) {
                    self.spots[*thread as usize] = Some((core as u32, number, bit));
                }
            }
        }
    }

    /// Of a pCPU: its core, the core's segment, its bit among the core's threads.
    pub fn spot_of(&self, cpu: Pcpu) -> Option<(usize, usize, u8)> {
        let (core, segment, bit) = self.spots.get(cpu.get() as usize).copied().flatten()?;
        Some((core as usize, segment as usize, bit))
    }

    fn number_alike(&self) -> Vec<u32> {
        let of = |area: usize| {
            (0..area).find(|earlier| self.is_shifted(*earlier, area)).unwrap_or(area) as u32
        };
        (0..self.areas.len()).map(of).collect()
    }

    fn is_shifted(&self, a: usize, b: usize) -> bool {
        let widths = |area| self.cores[self.cores_of_area(area)].iter().map(Core::width);
        let (ids_a, ids_b) = (self.threads_of_area(a), self.threads_of_area(b));
        let shapes = self.segments_of(a).iter().zip(self.segments_of(b));
        let shift = self.id_shift(a, b);
        self.segments_of(a).len() == self.segments_of(b).len()
            && shapes.into_iter().all(|(a, b)| a.cores.len() == b.cores.len())
            && widths(a).eq(widths(b))
            && ids_a.iter().zip(ids_b).all(|(a, b)| i64::from(*b) - i64::from(*a) == shift)
    }

    /// How much higher the ids of `b` are, where they are alike.
    pub fn id_shift(&self, a: usize, b: usize) -> i64 {
        let first = |area| self.threads_of_area(area).first().copied().map_or(0, i64::from);
        first(b) - first(a)
    }

    pub fn are_alike(&self, a: usize, b: usize) -> bool {
        self.alike[a] == self.alike[b]
    }

    /// Segments of an area follow each other, and so do their cores and threads.
    pub fn cores_of_area(&self, area: usize) -> Range<usize> {
        match self.segments_of(area) {
            [first, .., last] => first.cores.start..last.cores.end,
            [only] => only.cores.clone(),
            [] => 0..0,
        }
    }

    fn threads_of_area(&self, area: usize) -> &[u32] {
        match &self.cores[self.cores_of_area(area)] {
            [first, .., last] => &self.threads[first.threads.start..last.threads.end],
            [only] => &self.threads[only.threads.clone()],
            [] => &[],
        }
    }

    fn smallest_distance(&self) -> u64 {
        let pairs = (0..self.areas.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs.map(|(a, b)| self.between(a, b)).min().unwrap_or(0)
    }

    fn number_pools(&mut self) {
        let mut pools: Vec<NodeSet> = Vec::new();
        for area in &mut self.areas {
            area.pool =
                pools.iter().position(|nodes| *nodes == area.memory_nodes).unwrap_or_else(|| {
                    pools.push(area.memory_nodes.clone());
                    pools.len() - 1
                });
        }
    }

    pub fn pools(&self) -> usize {
        self.areas.iter().map(|area| area.pool + 1).max().unwrap_or(0)
    }

    fn add_segment(
        &mut self,
        topology: &Topology,
        area: usize,
        cpus: CpuSet,
        l3_bytes: Option<u64>,
    ) {
        let first = self.cores.len();
        for core in cores(topology, &cpus) {
            for part in core.chunks(WIDEST_CORE) {
                let start = self.threads.len();
                self.threads.extend(part);
                self.cores.push(Core { threads: start..self.threads.len() });
            }
        }
        let cores = first..self.cores.len();
        let regular = self.cores[cores.clone()].windows(2).all(|pair| {
            let [a, b] =
                [&self.threads[pair[0].threads.clone()], &self.threads[pair[1].threads.clone()]];
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a < b)
        });
        let width = cpus.len() as u32;
        self.segments.push(Segment { area, cores, width, regular, l3_bytes });
    }

    pub fn distance(&self, from: usize, to: usize) -> u32 {
        self.distance[from * self.areas.len() + to]
    }

    /// There and back: firmware tables need not be symmetric.
    pub fn between(&self, a: usize, b: usize) -> u64 {
        u64::from(self.distance(a, b)) + u64::from(self.distance(b, a))
    }

    /// How much farther an area's memory is than memory of its own would be: 0 where it has some.
    pub fn beyond_own(&self, area: usize) -> u64 {
        u64::from(self.beyond_own[area])
    }

    fn way_to_memory(&self, topology: &Topology, area: usize) -> u32 {
        let Area { nodes, memory_nodes, .. } = &self.areas[area];
        if memory_nodes.is_empty() || !memory_nodes.is_disjoint(nodes) {
            return 0;
        }
        let told = nodes.first().zip(memory_nodes.first());
        let told = told.and_then(|(from, to)| topology.distance(from, to));
        told.unwrap_or(REMOTE).saturating_sub(LOCAL)
    }

    pub fn segments_of(&self, area: usize) -> &[Segment] {
        &self.segments[self.areas[area].segments.clone()]
    }

    pub fn cores_of(&self, segment: &Segment) -> &[Core] {
        &self.cores[segment.cores.clone()]
    }

    pub fn area_of_node(&self, node: Pnode) -> Option<usize> {
        self.areas.iter().position(|area| area.nodes.contains(node))
    }

    /// The most threads that a core of the host has.
    pub fn smt_width(&self) -> u32 {
        self.cores.iter().map(Core::width).max().unwrap_or(1)
    }
}

/// For each area the nodes of its own that have memory to give; where it has none, all of those of
/// the area that the nearest such node belongs to.
fn memory_nodes(topology: &Topology, areas: &[(NodeSet, CpuSet)]) -> Vec<NodeSet> {
    let allowed = &topology.allowed.memory_nodes;
    let serves =
        |node: &&Node| !node.is_memory_only() && node.has_memory() && allowed.contains(node.id);
    let serving: Vec<&Node> = topology.nodes.iter().filter(serves).collect();
    let own = |nodes: &NodeSet| -> NodeSet {
        serving.iter().map(|node| node.id).filter(|id| nodes.contains(*id)).collect()
    };
    let of_nearest = |nodes: &NodeSet| {
        let first = nodes.first()?;
        let nearest = serving.iter().min_by_key(|node| {
            let distance = topology.distance(first, node.id);
            (distance.is_none(), distance, node.id)
        })?;
        let served = areas.iter().map(|(nodes, _)| nodes).find(|nodes| nodes.contains(nearest.id));
        Some(served.map_or_else(|| NodeSet::single(nearest.id), own))
    };
    let of = |(nodes, _): &(NodeSet, CpuSet)| match own(nodes) {
        own if own.is_empty() => of_nearest(nodes).unwrap_or_default(),
        own => own,
    };
    areas.iter().map(of).collect()
}

/// The L3 domains within an area, then what no domain holds.
fn segments(topology: &Topology, cpus: &CpuSet) -> Vec<(CpuSet, Option<u64>)> {
    let mut left = cpus.clone();
    let mut segments = Vec::new();
    for domain in &topology.l3_domains {
        let part = domain.cpus.intersection(&left);
        if !part.is_empty() {
            left = left.difference(&part);
            segments.push((part, domain.size_bytes));
        }
    }
    if !left.is_empty() {
        segments.push((left, None));
    }
    segments.sort_by_key(|(cpus, _)| cpus.first());
    segments
}

/// Cores by their lowest CPU; a CPU that no core lists is a core by itself.
fn cores(topology: &Topology, cpus: &CpuSet) -> Vec<Vec<u32>> {
    let mut left = cpus.clone();
    let mut cores: Vec<Vec<u32>> = Vec::new();
    for core in &topology.cores {
        let part = core.cpus.intersection(&left);
        if !part.is_empty() {
            left = left.difference(&part);
            cores.push(part.iter().map(Pcpu::get).collect());
        }
    }
    cores.extend(left.iter().map(|cpu| vec![cpu.get()]));
    cores.sort();
    cores
}

/// Distances between areas: those of their first nodes.
fn distances(topology: &Topology, areas: &[(NodeSet, CpuSet)]) -> Vec<u32> {
    let firsts: Vec<Option<Pnode>> = areas.iter().map(|(nodes, _)| nodes.first()).collect();
    let mut table = Vec::with_capacity(areas.len() * areas.len());
    for (row, from) in firsts.iter().enumerate() {
        for (column, to) in firsts.iter().enumerate() {
            let told = from.zip(*to).and_then(|(from, to)| topology.distance(from, to));
            table.push(if row == column { LOCAL } else { told.unwrap_or(REMOTE) });
        }
    }
    table
}

/// Numbers areas such that two have the same number when each is as far from its memory (which is what
/// is asked of an area and itself), and every third area as far from the one as from the other.
fn twins(areas: usize, distance: impl Fn(usize, usize) -> u32) -> Vec<u32> {
    let alike = |a: usize, b: usize| {
        distance(a, b) == distance(b, a)
            && distance(a, a) == distance(b, b)
            && (0..areas)
                .filter(|c| *c != a && *c != b)
                .all(|c| distance(a, c) == distance(b, c) && distance(c, a) == distance(c, b))
    };
    let mut numbers: Vec<u32> = Vec::new();
    let mut firsts: Vec<usize> = Vec::new();
    for area in 0..areas {
        match firsts.iter().position(|first| alike(*first, area)) {
            Some(number) => numbers.push(number as u32),
            None => {
                numbers.push(firsts.len() as u32);
                firsts.push(area);
            }
        }
    }
    debug_assert!(numbers.iter().collect::<BTreeSet<_>>().len() == firsts.len());
    numbers
}
