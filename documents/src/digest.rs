//! Digests: SHA-256 over a canonical text, in lower-case hexadecimal.

use crate::error::compact;
use crate::host::{CoreDoc, L3DomainDoc, PackageDoc, cores, distances, l3_domains, packages};
use crate::wire::{IdDoc, ListDoc, PageSizeDoc, Wire};
use numawise_model::{FrozenTopology, Pcpu, Pnode, Topology};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Of the facts that a placement rests on: CPUs, nodes with their memory and distances, packages,
/// caches, cores. What cgroups leave of them is left out: it changes with every isolation, and a plan
/// is tested for whether it still gets what it names. So are devices: virtual functions come and go,
/// and a card handed to a guest loses its name; what a plan needs of a device it says in a predicate.
/// So are the model's name and who runs below: they say how far to believe, not where things are.
pub fn topology_digest(topology: &Topology) -> String {
    text_digest(&compact(&Lasting {
        of: "numawise.topology/2",
        cpus: LastingCpus {
            online: topology.online.to_doc(),
            offline: topology.offline.to_doc(),
            possible: topology.possible.to_doc(),
            isolated: topology.isolated.to_doc(),
            nohz_full: topology.nohz_full.to_doc(),
        },
        page_sizes_bytes: topology.page_sizes.to_doc(),
        nodes: topology
            .nodes
            .iter()
            .map(|node| LastingNode {
                id: node.id.to_doc(),
                cpus: node.cpus.to_doc(),
                memory_total_bytes: node.memory_total_bytes,
                distances: distances(node, topology),
            })
            .collect(),
        packages: packages(topology),
        l3_domains: l3_domains(topology),
        cores: cores(topology),
    }))
}

/// Of what the guest keeps, and of what is put back when vNUMA goes off.
pub fn frozen_digest(frozen: &FrozenTopology) -> String {
    text_digest(&compact(&frozen.to_doc()))
}

/// Of a text as it is.
pub fn text_digest(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::digest(text.as_bytes());
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[derive(Serialize)]
struct Lasting {
    of: &'static str,
    cpus: LastingCpus,
    page_sizes_bytes: Vec<PageSizeDoc>,
    nodes: Vec<LastingNode>,
    packages: Vec<PackageDoc>,
    l3_domains: Vec<L3DomainDoc>,
    cores: Vec<CoreDoc>,
}

#[derive(Serialize)]
struct LastingCpus {
    online: ListDoc<Pcpu>,
    offline: ListDoc<Pcpu>,
    possible: Option<ListDoc<Pcpu>>,
    isolated: Option<ListDoc<Pcpu>>,
    nohz_full: Option<ListDoc<Pcpu>>,
}

#[derive(Serialize)]
struct LastingNode {
    id: IdDoc<Pnode>,
    cpus: ListDoc<Pcpu>,
    memory_total_bytes: Option<u64>,
    distances: Vec<Option<u32>>,
}
