//! Hosts of up to 64 nodes and 1,024 pCPUs: whether there is a place at all, against a solver that
//! knows nothing of areas, twins or bounds.

use numawise_model::{CpuSet, L3Policy, PageSize, Pcpu, SmtPolicy};
use numawise_planner::fit::{Cells, GivenCell, Layout, NoFit, Parting, Stock, Wanted, fit};
use numawise_testkit::{Numbering, Shape};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const SIZE: PageSize = PageSize::HUGE_1G;

#[derive(Clone, Debug)]
struct Host {
    nodes: u32,
    cores_per_node: u32,
    threads: u32,
    /// Free threads of each node.
    free: Vec<u32>,
    pages: Vec<u64>,
}

fn host() -> impl Strategy<Value = Host> {
    (2u32..=64, 1u32..=8, 1u32..=2).prop_flat_map(|(nodes, cores_per_node, threads)| {
        let each = cores_per_node * threads;
        let free = vec(prop_oneof![3 => 0..=each, 1 => Just(each)], nodes as usize);
        let pages = vec(0u64..24, nodes as usize);
        (free, pages).prop_map(move |(free, pages)| Host {
            nodes,
            cores_per_node,
            threads,
            free,
            pages,
        })
    })
}

impl Host {
    fn ready(&self) -> (Layout, Stock) {
        let shape = Shape {
            packages: if self.nodes.is_multiple_of(2) { 2 } else { 1 },
            nodes_per_package: if self.nodes.is_multiple_of(2) {
                self.nodes / 2
            } else {
                self.nodes
            },
            l3_per_node: 1,
            cores_per_l3: self.cores_per_node,
            threads: self.threads,
            numbering: Numbering::SiblingsAdjacent,
            node_bytes: 64 << 30,
            hugepages: BTreeMap::new(),
        };
        let layout = Layout::of(&shape.host().topology);
        let each = self.cores_per_node * self.threads;
        let mut free = CpuSet::new();
        for (node, count) in (0..).zip(&self.free) {
            free.extend(&(0..*count).map(|cpu| Pcpu(node * each + cpu)).collect());
        }
        let mut stock = Stock::new(&layout, &free);
        stock.set_pages(SIZE, self.pages.iter().map(|pages| Some(*pages)).collect());
        (layout, stock)
    }
}

fn wanted(vcpus: u32, pages: u64, cells: Cells) -> Wanted {
    Wanted {
        vcpus,
        pages,
        page_size: SIZE,
        smt: SmtPolicy::Prefer,
        l3: L3Policy::Compact,
        cells,
        emulator_cpus: 0,
        devices: Vec::new(),
    }
}

/// Cells one after the other, into nodes by what they have left; states seen before are not gone
/// through again.
fn can_pack(
    cells: &[(u32, u64)],
    left: &mut Vec<(u32, u64)>,
    seen: &mut BTreeSet<(usize, Vec<(u32, u64)>)>,
) -> bool {
    let Some(((vcpus, pages), rest)) = cells.split_first() else { return true };
    let mut sorted = left.clone();
    sorted.sort_unstable();
    if !seen.insert((cells.len(), sorted)) {
        return false;
    }
    for node in 0..left.len() {
        let (free, memory) = left[node];
        if free >= *vcpus && memory >= *pages {
            left[node] = (free - vcpus, memory - pages);
            let packed = can_pack(rest, left, seen);
            left[node] = (free, memory);
            if packed {
                return true;
            }
        }
    }
    false
}

/// Whether some number of vCPUs on each node, with each node's pages within one of its due, adds up:
/// node by node, the sums of vCPUs and pages that can be reached.
fn can_divide(host: &Host, vcpus: u32, pages: u64) -> bool {
    let mut reached: BTreeSet<(u32, u64)> = [(0, 0)].into();
    for (free, memory) in host.free.iter().zip(&host.pages) {
        let mut next = reached.clone();
        for (sum, sum_pages) in &reached {
            for here in 1..=(*free).min(vcpus - sum) {
                let due = pages * u64::from(here);
                let low = (due / u64::from(vcpus)).max(1);
                let high = due.div_ceil(u64::from(vcpus)).max(1);
                for share in low..=high.min(*memory) {
                    if sum_pages + share <= pages {
                        next.insert((sum + here, sum_pages + share));
                    }
                }
            }
        }
        reached = next;
    }
    reached.contains(&(vcpus, pages))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn given_cells_fit_when_they_can_be_packed(
        host in host(),
        cells in vec((1u32..=16, 1u64..16), 1..6),
    ) {
        let (layout, stock) = host.ready();
        let vcpus = cells.iter().map(|cell| cell.0).sum();
        let pages = cells.iter().map(|cell| cell.1).sum();
        let given = cells.iter().map(|(vcpus, pages)| GivenCell { vcpus: *vcpus, pages: *pages });
        let found = fit(&layout, &stock, &wanted(vcpus, pages, Cells::Given(given.collect())));
        let mut sorted = cells.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let mut left: Vec<(u32, u64)> = host.free.iter().copied().zip(host.pages.iter().copied()).collect();
        let possible = can_pack(&sorted, &mut left, &mut BTreeSet::new());
        prop_assert_ne!(found.as_ref().err(), Some(&NoFit::GaveUp));
        prop_assert_eq!(found.is_ok(), possible);
        if let Ok(found) = found {
            for (cell, (vcpus, pages)) in found.cells.iter().zip(&cells) {
                prop_assert_eq!((cell.vcpus, cell.pages), (*vcpus, *pages));
            }
            for part in &found.parts {
                prop_assert!(part.pcpus.len() as u32 <= host.free[part.area]);
                prop_assert!(part.pages <= host.pages[part.area]);
            }
        }
    }

    #[test]
    fn a_guest_fits_when_it_can_be_divided(host in host(), vcpus in 1u32..=32, pages in 1u64..40) {
        let (layout, stock) = host.ready();
        let cells = Cells::Free(Parting::EvenFirst);
        let found = fit(&layout, &stock, &wanted(vcpus, pages, cells));
        prop_assert_ne!(found.as_ref().err(), Some(&NoFit::GaveUp));
        prop_assert_eq!(found.is_ok(), can_divide(&host, vcpus, pages), "{:?}", found);
    }

    /// Larger than any other: only that there is an answer, and that it is sound.
    #[test]
    fn large_guests_are_answered(host in host(), vcpus in 33u32..=1024) {
        let (layout, mut stock) = host.ready();
        stock.set_pages(SIZE, vec![None; layout.pools()]);
        let found = fit(&layout, &stock, &wanted(vcpus, 2048, Cells::Free(Parting::EvenFirst)));
        let free: u32 = host.free.iter().sum();
        prop_assert_eq!(found.is_ok(), free >= vcpus);
        let pcpus = |part: &numawise_planner::fit::Part| part.pcpus.len() as u32;
        if let Ok(found) = found {
            prop_assert_eq!(found.parts.iter().map(pcpus).sum::<u32>(), vcpus);
            prop_assert!(found.parts.iter().all(|part| pcpus(part) <= host.free[part.area]));
        }
    }
}
