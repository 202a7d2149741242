//! Machines and requests whose right answer is known.

use super::small_host::SIZE;
use numawise_model::{CpuSet, L3Policy, PageSize, Pcpu, SmtPolicy};
use numawise_planner::fit::{
    Cells, Fit, GivenCell, Layout, NoFit, Parting, Proof, Stock, Wanted, fit,
};
use numawise_testkit::{Numbering, Shape};
use std::collections::BTreeMap;

/// Two packages of 96 cores in 12 L3 domains, two threads each.
fn genoa(nodes_per_package: u32) -> Shape {
    Shape {
        packages: 2,
        nodes_per_package,
        l3_per_node: 12 / nodes_per_package,
        cores_per_l3: 8,
        threads: 2,
        numbering: Numbering::SiblingsApart,
        node_bytes: 64 << 30,
        hugepages: BTreeMap::new(),
    }
}

fn guest(vcpus: u32, l3: L3Policy) -> Wanted {
    Wanted {
        vcpus,
        pages: u64::from(vcpus),
        page_size: SIZE,
        smt: SmtPolicy::Prefer,
        l3,
        cells: Cells::Free(Parting::EvenFirst),
        emulator_cpus: 0,
        devices: Vec::new(),
    }
}

struct Ready {
    layout: Layout,
    stock: Stock,
}

impl Ready {
    fn of(shape: &Shape) -> Self {
        let topology = shape.host().topology;
        let layout = Layout::of(&topology);
        let mut stock = Stock::new(&layout, &topology.online);
        stock.set_pages(SIZE, vec![Some(1 << 20); layout.pools()]);
        Self { layout, stock }
    }

    fn fit(&self, wanted: &Wanted) -> Fit {
        fit(&self.layout, &self.stock, wanted).expect("there is room")
    }
}

/// vCPUs on each L3 domain that is used, and distinct cores.
fn shape_of(fit: &Fit) -> (Vec<u32>, usize) {
    let shares = fit.parts.iter().flat_map(|part| part.by_segment.iter().map(|(_, n)| *n));
    let cores = fit.parts.iter().flat_map(|part| &part.pcpus).map(|cpu| cpu.0 % 192);
    (shares.collect(), cores.collect::<std::collections::BTreeSet<_>>().len())
}

#[test]
fn sixteen_vcpus_on_one_ccd_or_on_many() {
    let nps1 = Ready::of(&genoa(1));
    assert_eq!(shape_of(&nps1.fit(&guest(16, L3Policy::Compact))), (vec![16], 8));
    assert_eq!(shape_of(&nps1.fit(&guest(16, L3Policy::Spread))), (vec![2; 8], 8));
    for domains in [1, 2, 4] {
        let found = nps1.fit(&guest(16, L3Policy::Exactly(domains)));
        let each = 16 / domains;
        assert_eq!(shape_of(&found), (vec![each; domains as usize], 8), "--l3 {domains}");
    }
    let nps4 = Ready::of(&genoa(4));
    assert_eq!(shape_of(&nps4.fit(&guest(16, L3Policy::Compact))), (vec![16], 8));
    assert_eq!(shape_of(&nps4.fit(&guest(16, L3Policy::Spread))), (vec![6, 6, 4], 8));
}

#[test]
fn with_half_of_every_ccd_taken_the_fewest_that_exist() {
    let mut host = Ready::of(&genoa(1));
    let taken = (0..24).flat_map(|ccd| {
        (0..4).flat_map(move |core| {
            let core = ccd * 8 + core;
            [Pcpu(core), Pcpu(core + 192)]
        })
    });
    host.stock.take(&host.layout, &taken.collect());
    let found = host.fit(&guest(16, L3Policy::Compact));
    assert_eq!(shape_of(&found), (vec![8, 8], 8));
    assert_eq!(found.score.broken_cores, 0);
    assert_eq!(shape_of(&host.fit(&guest(16, L3Policy::Spread))), (vec![2; 8], 8));
}

/// Each L3 domain is a node of its own; the nodes of a package are 11 apart.
fn l3_as_numa(without_memory: bool) -> Ready {
    let mut topology = genoa(12).host().topology;
    for from in 0..24usize {
        for to in 0..24usize {
            let near = (from < 12) == (to < 12);
            let distance = if from == to {
                10
            } else if near {
                11
            } else {
                32
            };
            let to = topology.nodes[to].id;
            topology.nodes[from].distances.insert(to, distance);
        }
        if without_memory && from % 12 != 0 {
            topology.nodes[from].memory_total_bytes = Some(0);
        }
    }
    let layout = Layout::of(&topology);
    assert_eq!(layout.areas.len(), 2, "a package is an area");
    let mut stock = Stock::new(&layout, &topology.online);
    stock.set_pages(SIZE, vec![Some(1 << 20); layout.pools()]);
    Ready { layout, stock }
}

#[test]
fn l3_as_numa_is_placed_by_l3_with_the_memory_of_the_package() {
    for without_memory in [false, true] {
        let host = l3_as_numa(without_memory);
        assert_eq!(shape_of(&host.fit(&guest(16, L3Policy::Compact))), (vec![16], 8));
        assert_eq!(shape_of(&host.fit(&guest(16, L3Policy::Spread))), (vec![2; 8], 8));
        let nodes = if without_memory { 1 } else { 12 };
        assert_eq!(host.layout.areas[1].memory_nodes.len(), nodes);
        // More than one CCD, still one area.
        let found = host.fit(&guest(64, L3Policy::Compact));
        assert_eq!((found.parts.len(), shape_of(&found).0), (1, vec![16; 4]));
    }
}

/// Hosts of nodes with single-thread cores; the first CPUs of each node are taken.
fn nodes(cpus: &[u32], taken: &[u32], pages: &[u64]) -> Ready {
    let shape = Shape {
        packages: 1,
        nodes_per_package: cpus.len() as u32,
        l3_per_node: 1,
        cores_per_l3: 10,
        threads: 1,
        numbering: Numbering::SiblingsApart,
        node_bytes: 1 << 30,
        hugepages: BTreeMap::new(),
    };
    let layout = Layout::of(&shape.host().topology);
    let mut free = CpuSet::new();
    for (node, (have, taken)) in cpus.iter().zip(taken).enumerate() {
        let first = node as u32 * 10;
        free.extend(&CpuSet::range(first + taken, first + have - 1));
    }
    let mut stock = Stock::new(&layout, &free);
    stock.set_pages(PageSize::HUGE_1G, pages.iter().map(|pages| Some(*pages)).collect());
    Ready { layout, stock }
}

fn given(cells: &[(u32, u64)]) -> Wanted {
    let cell = |(vcpus, pages): &(u32, u64)| GivenCell { vcpus: *vcpus, pages: *pages };
    Wanted {
        vcpus: cells.iter().map(|cell| cell.0).sum(),
        pages: cells.iter().map(|cell| cell.1).sum(),
        page_size: PageSize::HUGE_1G,
        cells: Cells::Given(cells.iter().map(cell).collect()),
        ..guest(1, L3Policy::Compact)
    }
}

/// Cells of unequal size, where a search that remembers cells by the node it tried them on refuses
/// what fits or accepts what does not.
#[test]
fn unequal_cells() {
    // 8 CPUs a node, 0, 0 and 4 of them pinned; 16, 16 and 2 GiB free: cells of 2, 4 and 6 CPUs.
    let host = nodes(&[8, 8, 8], &[0, 0, 4], &[16, 16, 2]);
    let found = host.fit(&given(&[(2, 2), (4, 8), (6, 4)]));
    assert_eq!(found.proof, Proof::Optimal);
    let areas: Vec<usize> = found.cells.iter().map(|cell| found.parts[cell.part].area).collect();
    assert_eq!(areas[0], 2, "only the small cell fits on the small node: {areas:?}");
    assert_ne!(areas[1], areas[2]);

    // 1, 3, 2 and 2 CPUs free: cells of 1, 1 and 4 CPUs fit nowhere, though 6 of 8 CPUs are asked.
    let host = nodes(&[1, 3, 2, 2], &[0, 0, 0, 0], &[9, 9, 9, 9]);
    let wanted = given(&[(1, 1), (1, 1), (4, 1)]);
    assert_eq!(fit(&host.layout, &host.stock, &wanted), Err(NoFit::NoWay));

    // Eight cells and one legal assignment: the largest cell's memory fits on the first node alone.
    let pages: Vec<u64> = (0..8).map(|node| 15 - node).collect();
    let host = nodes(&[8; 8], &[0; 8], &pages);
    let cells: Vec<(u32, u64)> = (0..8).map(|cell| (8, 8 + cell)).collect();
    let found = host.fit(&given(&cells));
    let areas: Vec<usize> = found.cells.iter().map(|cell| found.parts[cell.part].area).collect();
    assert_eq!(areas, [7, 6, 5, 4, 3, 2, 1, 0]);
    // A page less, and none.
    let mut pages = pages;
    pages[0] -= 1;
    let host = nodes(&[8; 8], &[0; 8], &pages);
    assert_eq!(fit(&host.layout, &host.stock, &given(&cells)), Err(NoFit::NoWay));
}

/// Fewer nodes than cells is no refusal where CPUs and memory are there.
#[test]
fn cells_share_a_node_only_where_they_must() {
    let host = nodes(&[8, 8], &[0, 0], &[16, 16]);
    let cells = [(2, 4), (2, 4), (2, 4)];
    let found = host.fit(&given(&cells));
    assert_eq!((found.parts.len(), found.score.sharing_cells), (2, 1));
    let wanted = Wanted { cells: Cells::Count(2, Parting::EvenFirst), ..given(&cells[..2]) };
    assert_eq!(host.fit(&wanted).parts.len(), 2);
}
