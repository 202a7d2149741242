//! Any shape of host, written as a kernel's files, reads back as itself.

use crate::scene::{FAST, STRICT, pack, read_archive, read_files};
use numawise_model::{CpuSet, Host, NodeSet, PageSize, Pcpu, Pnode};
use numawise_sysfs::{Source, read_host};
use numawise_testkit::sysfs_tree::files;
use numawise_testkit::{Numbering, Shape};
use proptest::prelude::*;

fn shapes() -> impl Strategy<Value = Shape> {
    let sizes = (1..=4_u32, 1..=4_u32, 1..=4_u32, 1..=6_u32, 1..=4_u32);
    (sizes, any::<bool>(), 1..=64_u64, 0..=8_u64).prop_map(|(sizes, adjacent, gib, pages)| {
        let (packages, nodes_per_package, l3_per_node, cores_per_l3, threads) = sizes;
        let numbering =
            if adjacent { Numbering::SiblingsAdjacent } else { Numbering::SiblingsApart };
        Shape {
            packages,
            nodes_per_package,
            l3_per_node,
            cores_per_l3,
            threads,
            numbering,
            node_bytes: gib << 30,
            hugepages: [(PageSize::HUGE_2M, pages), (PageSize::HUGE_1G, 0)].into(),
        }
    })
}

/// Renumbers the nodes with gaps, as firmware does.
fn with_gaps(mut host: Host, gap: u32) -> Host {
    let renumber = |id: Pnode| Pnode(id.0 * gap + gap - 1);
    for node in &mut host.topology.nodes {
        node.id = renumber(node.id);
        node.distances = std::mem::take(&mut node.distances)
            .into_iter()
            .map(|(id, d)| (renumber(id), d))
            .collect();
    }
    host.levels.nodes = std::mem::take(&mut host.levels.nodes)
        .into_iter()
        .map(|(id, l)| (renumber(id), l))
        .collect();
    host.topology.allowed.memory_nodes =
        host.topology.nodes.iter().map(|node| node.id).collect::<NodeSet>();
    host
}

/// Switches CPUs off: they leave every set, as in a kernel.
fn without(mut host: Host, off: &CpuSet) -> Host {
    let topology = &mut host.topology;
    let cut = |cpus: &mut CpuSet| *cpus = cpus.difference(off);
    topology.offline = topology.online.intersection(off);
    cut(&mut topology.online);
    cut(&mut topology.allowed.cpus);
    topology.nodes.iter_mut().for_each(|node| cut(&mut node.cpus));
    topology.packages.iter_mut().for_each(|package| cut(&mut package.cpus));
    topology.packages.retain(|package| !package.cpus.is_empty());
    topology.packages.sort_by_key(|package| package.cpus.first());
    topology.l3_domains.iter_mut().for_each(|domain| cut(&mut domain.cpus));
    topology.l3_domains.retain(|domain| !domain.cpus.is_empty());
    topology.l3_domains.sort_by_key(|domain| domain.cpus.first());
    topology.cores.iter_mut().for_each(|core| cut(&mut core.cpus));
    topology.cores.retain(|core| !core.cpus.is_empty());
    topology.cores.sort_by_key(|core| core.cpus.first());
    host
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_written_shape_reads_back_as_itself(
        shape in shapes(),
        gap in 1..=9_u32,
        off in proptest::collection::btree_set(1..96_u32, 0..8),
    ) {
        let off: CpuSet = off.into_iter().map(Pcpu).collect();
        let host = without(with_gaps(shape.host(), gap), &off);
        let bytes = pack("any/", &files(&host));
        let source = Source::from_archive_bytes("shape.tar", &bytes).expect("an archive");
        let read = read_host(&source, &FAST).expect("a host");
        prop_assert_eq!(&read.topology, &host.topology);
        prop_assert_eq!(&read.levels, &host.levels);
        let strict = read_host(&source, &STRICT).expect("a host");
        prop_assert_eq!(strict, read);
    }
}

/// The same through a directory: one shape is enough, both roots take the same path.
#[test]
fn a_directory_reads_as_its_archive() {
    let host = Shape::two_nodes(4, 1 << 30).host();
    let files = files(&host);
    let from_directory = read_files(&files).expect("a host");
    assert_eq!(from_directory, read_archive(&pack("", &files)).expect("a host"));
    assert_eq!(from_directory.topology, host.topology);
    assert_eq!(from_directory.findings, []);
}
