//! The hosts and guests that both are asked about.
//!
//! Cells stand for vNUMA nodes. Hosts have an L3 domain for eight cores (six, where a node has twelve),
//! which ours weighs and the peer does not see.

use numawise_model::{CpuSet, Id, L3Policy, PageSize, Pcpu, SmtPolicy};
use numawise_planner::fit::{Cells, GivenCell, Layout, Parting, Stock, Wanted};
use numawise_testkit::{Numbering, Shape};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Pages of 2 MiB in a GiB.
const GIB: u64 = 512;
/// Of a node's memory, what is hugepages: nine tenths.
const BIG_NODE: u64 = 96 * GIB * 9 / 10;

/// Nodes alike, and the cores of each as lists of pCPUs.
pub struct Make {
    pub shape: Shape,
    pub layout: Layout,
    pub nodes: Vec<Vec<Vec<u32>>>,
    pub pages: u64,
}

pub struct Host {
    pub make: Rc<Make>,
    /// By node.
    pub taken: Vec<CpuSet>,
    pub free_pages: Vec<u64>,
}

pub struct Row {
    pub name: String,
    pub host: Host,
    pub cells: Vec<GivenCell>,
}

impl Make {
    fn of(packages: u32, nodes_per_package: u32, l3: (u32, u32), threads: u32, pages: u64) -> Self {
        let shape = Shape {
            packages,
            nodes_per_package,
            l3_per_node: l3.0,
            cores_per_l3: l3.1,
            threads,
            numbering: Numbering::SiblingsApart,
            node_bytes: pages * PageSize::HUGE_2M.bytes() * 10 / 9,
            hugepages: BTreeMap::from([(PageSize::HUGE_2M, pages)]),
        };
        let topology = shape.host().topology;
        let cores_of = |cpus: &CpuSet| {
            let inside = topology.cores.iter().filter(|core| core.cpus.is_subset(cpus));
            inside.map(|core| core.cpus.iter().map(Pcpu::get).collect()).collect()
        };
        let nodes = topology.nodes.iter().map(|node| cores_of(&node.cpus)).collect();
        Self { layout: Layout::of(&topology), shape, nodes, pages }
    }

    /// Eight nodes of 32 threads.
    pub fn eight_nodes() -> Self {
        Self::of(2, 4, (2, 8), 2, BIG_NODE)
    }

    fn two_nodes(threads: u32) -> Self {
        let l3 = if threads == 1 { (3, 8) } else { (2, 6) };
        Self::of(2, 1, l3, threads, 192 * GIB * 9 / 10)
    }
}

impl Host {
    /// So many pCPUs of each node taken, whole cores first.
    pub fn with(make: &Rc<Make>, taken: impl Fn(usize) -> u32) -> Self {
        let of = |(node, cores): (usize, &Vec<Vec<u32>>)| {
            cores.iter().flatten().take(taken(node) as usize).map(|cpu| Pcpu::new(*cpu)).collect()
        };
        Self {
            make: Rc::clone(make),
            taken: make.nodes.iter().enumerate().map(of).collect(),
            free_pages: vec![make.pages; make.nodes.len()],
        }
    }

    fn with_pages(mut self, free: impl Fn(usize) -> u64) -> Self {
        self.free_pages = (0..self.free_pages.len()).map(free).collect();
        self
    }

    pub fn free_cpus(&self, node: usize) -> CpuSet {
        let all: CpuSet =
            self.make.nodes[node].iter().flatten().map(|cpu| Pcpu::new(*cpu)).collect();
        all.difference(&self.taken[node])
    }

    pub fn all_free_cpus(&self) -> CpuSet {
        let mut all = CpuSet::new();
        (0..self.taken.len()).for_each(|node| all.extend(&self.free_cpus(node)));
        all
    }

    pub fn stock(&self) -> Stock {
        let mut stock = Stock::new(&self.make.layout, &self.all_free_cpus());
        let pages = self.free_pages.iter().map(|pages| Some(*pages)).collect();
        stock.set_pages(PageSize::HUGE_2M, pages);
        stock
    }

    /// As the peer's driver reads it.
    pub fn as_json(&self) -> Value {
        let node = |(node, cores): (usize, &Vec<Vec<u32>>)| {
            let taken: Vec<u32> = self.taken[node].iter().map(Pcpu::get).collect();
            let (pages, free) = (self.make.pages, self.free_pages[node]);
            json!({"cores": cores, "taken": taken, "pages": pages, "free": free})
        };
        self.make.nodes.iter().enumerate().map(node).collect()
    }
}

/// As the peer's driver reads it.
pub fn guest_json(cells: &[GivenCell]) -> Value {
    cells.iter().map(|cell| json!({"vcpus": cell.vcpus, "pages": cell.pages})).collect()
}

/// Cells alike are a number, others are given.
pub fn wanted(cells: &[GivenCell]) -> Wanted {
    let alike = cells.windows(2).all(|pair| pair[0] == pair[1]);
    Wanted {
        vcpus: cells.iter().map(|cell| cell.vcpus).sum(),
        pages: cells.iter().map(|cell| cell.pages).sum(),
        page_size: PageSize::HUGE_2M,
        smt: SmtPolicy::Prefer,
        l3: L3Policy::Compact,
        cells: match alike {
            true => Cells::Count(cells.len() as u32, Parting::Even),
            false => Cells::Given(cells.to_vec()),
        },
        emulator_cpus: 0,
        devices: Vec::new(),
    }
}

pub fn alike(vcpus: u32, pages: u64, cells: u32) -> Vec<GivenCell> {
    let cell = GivenCell { vcpus: vcpus / cells, pages: pages / u64::from(cells) };
    vec![cell; cells as usize]
}

pub fn all() -> Vec<Row> {
    let mut rows = Vec::new();
    for threads in [1, 2] {
        on_two_nodes(threads, &mut rows);
    }
    let make = Rc::new(Make::eight_nodes());
    for vcpus in [8, 64] {
        for cells in [1, 2, 8] {
            on_eight_nodes(&make, vcpus, cells, &mut rows);
        }
    }
    unequal(&make, &mut rows);
    rows
}

fn on_two_nodes(threads: u32, rows: &mut Vec<Row>) {
    let make = Rc::new(Make::two_nodes(threads));
    let cells = alike(24, 64 * GIB, 2);
    let mut add = |what: &str, host: Host| {
        let name = format!("2 x 24, SMT{threads}: 24 on 2, {what}");
        rows.push(Row { name, host, cells: cells.clone() });
    };
    add("empty", Host::with(&make, |_| 0));
    add("one node short", Host::with(&make, |node| node as u32 * 16));
    add("CPUs full", Host::with(&make, |_| 16));
    add("no hugepages", Host::with(&make, |_| 0).with_pages(|_| 1000));
}

fn on_eight_nodes(make: &Rc<Make>, vcpus: u32, cells: u32, rows: &mut Vec<Row>) {
    let wanted = alike(vcpus, u64::from(vcpus) * 2 * GIB, cells);
    let mut add = |what: &str, host: Host| {
        let name = format!("8 x 32: {vcpus} on {cells}, {what}");
        rows.push(Row { name, host, cells: wanted.clone() });
    };
    let each = vcpus / cells;
    if each > 32 {
        add("never fits", Host::with(make, |_| 0));
        return;
    }
    add("empty", Host::with(make, |_| 0));
    add("just fits", Host::with(make, |_| 32 - each));
    add("CPUs full", Host::with(make, |_| 33 - each));
    add("no hugepages", Host::with(make, |_| 0).with_pages(|_| 8));
    if cells > 1 {
        let open = cells as usize - 1;
        // Where cells may share a node they still fit; in the second they do not.
        add("one node short", Host::with(make, |node| if node < open { 0 } else { 32 }));
        let taken = move |node| if node < open { 32 - each } else { 32 };
        add("one node short, rest just fits", Host::with(make, taken));
    }
}

/// Cells of 16, 18, ... 30 GiB on nodes with as much left, in the opposite order.
fn unequal(make: &Rc<Make>, rows: &mut Vec<Row>) {
    let cells: Vec<GivenCell> =
        (8..16).map(|n| GivenCell { vcpus: 8, pages: n * 2 * GIB }).collect();
    let left = |node: usize| (15 - node as u64) * 2 * GIB;
    let mut add = |what: &str, host: Host, cells: &[GivenCell]| {
        let name = format!("8 x 32: 64 on 8 unequal, {what}");
        rows.push(Row { name, host, cells: cells.to_vec() });
    };
    add("one way", Host::with(make, |_| 0).with_pages(left), &cells);
    let short = |node| left(node) - u64::from(node == 0);
    add("a page short", Host::with(make, |_| 0).with_pages(short), &cells);
    let mut large = alike(64, 128 * GIB, 8);
    large[7].pages = 95 * GIB;
    add("last fits nowhere", Host::with(make, |_| 0), &large);
}

/// Of ten hosts four empty, three a quarter full, three full.
pub fn mixed(count: usize) -> Vec<Host> {
    let make = Rc::new(Make::eight_nodes());
    let taken = |host: usize| match host % 10 {
        0..=3 => 0,
        4..=6 => 8,
        _ => 32,
    };
    (0..count).map(|host| Host::with(&make, |_| taken(host))).collect()
}
